package compat

import (
	"encoding/json"

	"bookside/adapter/domain"

	"github.com/shopspring/decimal"

	"bookside/adapter/catalog"
)

// WrittenService is a service as writes return it: numbers as numbers, and null
// where it has no category.
type WrittenService struct {
	ID               int64       `json:"id"`
	Name             string      `json:"name"`
	ShortDescription string      `json:"short_description"`
	Description      string      `json:"description"`
	Duration         int64       `json:"duration"`
	PriceMin         json.Number `json:"price_min"`
	PriceMax         json.Number `json:"price_max"`
	ChargeAmount     json.Number `json:"charge_amount"`
	DepositAmount    json.Number `json:"deposit_amount"`
	CapacityMin      int64       `json:"capacity_min"`
	CapacityMax      int64       `json:"capacity_max"`
	OrderNumber      int64       `json:"order_number"`
	SelectionImageID int64       `json:"selection_image_id"`
	Status           string      `json:"status"`
	Visibility       string      `json:"visibility"`
	CategoryID       *int64      `json:"category_id"`
	CustomerLimit    string      `json:"customer_limit"`
	CreatedAt        string      `json:"created_at"`
	UpdatedAt        string      `json:"updated_at"`
}

// ServiceFields are those of PUT /services/{id}.
var ServiceFields = serviceFields.changing("name")

var serviceFields = Fields[catalog.ServicePatch]{
	optional("name", anyText(), func(s *catalog.ServicePatch) **string { return &s.Name }),
	optional("short_description", anyText(), func(s *catalog.ServicePatch) **string { return &s.ShortDescription }),
	optional("description", anyText(), func(s *catalog.ServicePatch) **string { return &s.Description }).
		orNull(func(s *catalog.ServicePatch) { s.Description = new(string) }),
	optional("duration", integer(1, maxInt), func(s *catalog.ServicePatch) **int64 { return &s.Duration }),
	optional("price_min", price(), func(s *catalog.ServicePatch) **decimal.Decimal { return &s.PriceMin }),
	optional("price_max", price(), func(s *catalog.ServicePatch) **decimal.Decimal { return &s.PriceMax }),
	optional("charge_amount", price(), func(s *catalog.ServicePatch) **decimal.Decimal { return &s.ChargeAmount }),
	optional("deposit_amount", price(), func(s *catalog.ServicePatch) **decimal.Decimal { return &s.DepositAmount }),
	optional("capacity_min", integer(0, maxCapacity), func(s *catalog.ServicePatch) **int64 { return &s.CapacityMin }),
	optional("capacity_max", integer(1, maxCapacity), func(s *catalog.ServicePatch) **int64 { return &s.CapacityMax }),
	optional("order_number", integer(0, maxInt), func(s *catalog.ServicePatch) **int64 { return &s.OrderNumber }),
	optional("selection_image_id", idOrNone(), func(s *catalog.ServicePatch) **int64 { return &s.SelectionImageID }).
		orNull(func(s *catalog.ServicePatch) { s.SelectionImageID = new(int64) }),
	optional("status", word(enabledStatuses, enabledMessage), func(s *catalog.ServicePatch) **string { return &s.Status }),
	optional("visibility", word(visibilities, visibilityMessage), func(s *catalog.ServicePatch) **string { return &s.Visibility }),
	optional("category_id", idOrNone(), func(s *catalog.ServicePatch) **int64 { return &s.CategoryID }).
		orNull(func(s *catalog.ServicePatch) { s.CategoryID = new(int64) }),
	optional("customer_limit", anyText(), func(s *catalog.ServicePatch) **string { return &s.CustomerLimit }),
}

// NewServiceFields are those of POST /services.
var NewServiceFields = within(serviceFields, func(s *catalog.NewService) *catalog.ServicePatch { return &s.ServicePatch }).requiring("name")

// NewService reads the body of POST /services. What is wrong with it is in the
// service's Validation.
func NewService(b *Body) catalog.NewService {
	var service catalog.NewService
	NewServiceFields.read(b, &service)
	service.Validation = *b.validation
	return service
}

// ServicePatch reads the body of PUT /services/{id}. What is wrong with it is in
// the patch's Validation.
func ServicePatch(b *Body) catalog.ServicePatch {
	var patch catalog.ServicePatch
	ServiceFields.read(b, &patch)
	patch.Validation = *b.validation
	return patch
}

// maxCapacity is beyond any number of seats, and within every column of seats.
const maxCapacity = 9999

// ServiceCreated is the answer to POST /services, without its record.
var ServiceCreated = successMessage[WrittenService]("Service created successfully")

// ServiceCreated is the answer to POST /services.
func (v View) ServiceCreated(s catalog.Service) SuccessMessage[WrittenService] {
	return ServiceCreated.about(v.writtenService(s))
}

// ServiceUpdated is the answer to PUT /services/{id}, without its record.
var ServiceUpdated = successMessage[WrittenService]("Service updated successfully")

// ServiceUpdated is the answer to PUT /services/{id}.
func (v View) ServiceUpdated(s catalog.Service) SuccessMessage[WrittenService] {
	return ServiceUpdated.about(v.writtenService(s))
}

func (v View) writtenService(s catalog.Service) WrittenService {
	record := WrittenService{
		ID: s.ID, Name: s.Name, ShortDescription: s.ShortDescription, Description: domain.ValueOr(s.Description, ""), Duration: s.Duration,
		PriceMin: jsonNumber(s.PriceMin), PriceMax: jsonNumber(s.PriceMax), ChargeAmount: jsonNumber(s.ChargeAmount), DepositAmount: jsonNumber(s.DepositAmount),
		CapacityMin: s.CapacityMin, CapacityMax: s.CapacityMax, OrderNumber: s.OrderNumber, SelectionImageID: s.SelectionImageID,
		Status: s.Status, Visibility: s.Visibility, CustomerLimit: s.CustomerLimit,
		CreatedAt: v.timestamp(s.CreatedAt), UpdatedAt: v.timestamp(s.UpdatedAt),
	}
	if s.CategoryID != nil && *s.CategoryID != 0 {
		record.CategoryID = s.CategoryID
	}
	return record
}
