package compat

import (
	"encoding/json"

	"bookside/adapter"
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

// ServicePatch reads the body of POST /services and PUT /services/{id}. What is
// wrong with it is in the patch's Validation.
func ServicePatch(b *Body) adapter.ServicePatch {
	patch := adapter.ServicePatch{
		Name: b.Text("name"), ShortDescription: b.Text("short_description"), Description: b.Text("description"),
		Duration: b.Integer("duration", 1, maxInt),
		PriceMin: b.price("price_min"), PriceMax: b.price("price_max"), ChargeAmount: b.price("charge_amount"), DepositAmount: b.price("deposit_amount"),
		CapacityMin: b.Integer("capacity_min", 0, maxCapacity), CapacityMax: b.Integer("capacity_max", 1, maxCapacity),
		OrderNumber: b.Integer("order_number", 0, maxInt), SelectionImageID: b.IDOrNone("selection_image_id", maxInt),
		Status:     Word(b, "status", enabledStatuses, enabledMessage),
		Visibility: Word(b, "visibility", visibilities, visibilityMessage),
		CategoryID: b.IDOrNone("category_id", maxInt), CustomerLimit: b.Text("customer_limit"),
	}
	patch.Validation = *b.problems
	return patch
}

// maxCapacity is beyond any number of seats, and within every column of seats.
const maxCapacity = 9999

// ServiceCreated is the answer to POST /services.
func (v View) ServiceCreated(s adapter.Service) SuccessMessage {
	return successMessage("Service created successfully", v.writtenService(s))
}

// ServiceUpdated is the answer to PUT /services/{id}.
func (v View) ServiceUpdated(s adapter.Service) SuccessMessage {
	return successMessage("Service updated successfully", v.writtenService(s))
}

func (v View) writtenService(s adapter.Service) WrittenService {
	record := WrittenService{
		ID: s.ID, Name: s.Name, ShortDescription: s.ShortDescription, Description: valueOr(s.Description, ""), Duration: s.Duration,
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
