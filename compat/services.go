package compat

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
)

// service is a service. Lists, single reads and writes differ in the types of its values.
type service[ID, Number, Price, Text, Category any] struct {
	ID               ID       `json:"id"`
	Name             string   `json:"name"`
	ShortDescription string   `json:"short_description"`
	Description      Text     `json:"description"`
	Duration         Number   `json:"duration"`
	PriceMin         Price    `json:"price_min"`
	PriceMax         Price    `json:"price_max"`
	ChargeAmount     Price    `json:"charge_amount"`
	DepositAmount    Price    `json:"deposit_amount"`
	CapacityMin      Number   `json:"capacity_min"`
	CapacityMax      Number   `json:"capacity_max"`
	OrderNumber      Number   `json:"order_number"`
	SelectionImageID Number   `json:"selection_image_id"`
	Status           string   `json:"status"`
	Visibility       string   `json:"visibility"`
	CategoryID       Category `json:"category_id"`
	CustomerLimit    string   `json:"customer_limit"`
	CreatedAt        string   `json:"created_at"`
	UpdatedAt        string   `json:"updated_at"`
}

// serviceParts are what is included with a service, if requested.
type serviceParts[ID string | int64] struct {
	Category  **ServiceCategoryName[ID] `json:"category,omitempty"`
	Agents    []AgentName[ID]           `json:"agents,omitzero"`
	Locations []LocationName            `json:"locations,omitzero"`
	Extras    []ServiceExtra            `json:"extras,omitzero"`
	MinExtras int                       `json:"min_extras,omitzero"`
	MaxExtras int                       `json:"max_extras,omitzero"`
}

// Service is a service as lists return it: its id, prices and customer limit are strings, its other numbers
// are numbers.
type Service struct {
	service[string, int64, string, *string, *int64]
	serviceParts[string]
}

// ServiceDetail is a service as a single read returns it: every scalar is a string, but the ids of its
// category and agents are numbers.
type ServiceDetail struct {
	service[string, string, string, *string, *string]
	serviceParts[int64]
}

// WrittenService is a service as writes return it: numbers are numbers, and a missing category is null.
type WrittenService service[int64, int64, json.Number, string, *int64]

// ServiceCategoryName is the category of a service; its id is a string in lists and a number in single
// reads.
type ServiceCategoryName[ID string | int64] struct {
	ID               ID     `json:"id"`
	Name             string `json:"name"`
	ShortDescription string `json:"short_description"`
}

// AgentName is an agent of a service; its id is a string in lists and a number in single reads.
type AgentName[ID string | int64] struct {
	ID          ID     `json:"id"`
	FirstName   string `json:"first_name"`
	LastName    string `json:"last_name"`
	DisplayName string `json:"display_name"`
}

// ServiceList is a page of services, with all categories if requested.
type ServiceList struct {
	List[Service]
	Categories []ServiceCategory `json:"categories,omitzero"`
}

var serviceSorts = map[string]catalog.ServiceSort{
	"id":            catalog.ServicesByID,
	"name":          catalog.ServicesByName,
	"price":         catalog.ServicesByChargeAmount,
	"charge_amount": catalog.ServicesByChargeAmount,
	"duration":      catalog.ServicesByDuration,
	"created_date":  catalog.ServicesByCreation,
	"updated_date":  catalog.ServicesByUpdate,
}

var visibilities = sameWords("visible", "hidden")

const visibilityMessage = "Must be visible or hidden"

// ServiceIncludes are the associations requested with services.
type ServiceIncludes struct {
	catalog.ServiceIncludes
	Categories bool // all of them, at the root of a list
}

// ServiceQuery is the query of the service list.
type ServiceQuery struct {
	catalog.ServiceFilter
	Include ServiceIncludes
}

// ServiceParameters are the parameters of the service list.
var ServiceParameters = parameters("GET /services", domain.InvalidParameters, func(s *ServiceQuery) Fields {
	return Fields{
		serviceIncludes(&s.Include, "category", "agents", "locations", "categories", "extras"),
		page(&s.Page),
		perPage(10, &s.PerPage),
		optional("search", plainText, &s.Search),
		optional("name", plainText, &s.Name),
		optional("status", word(enabledStatuses, enabledMessage), &s.Status),
		optional("visibility", word(visibilities, visibilityMessage), &s.Visibility),
		optional("category_id", idOrNone, &s.CategoryID),
		optional("location_id", id(maxInt), &s.LocationID),
		optional("agent_id", id(maxInt), &s.AgentID),
		optional("price_min", amount, &s.PriceMin),
		optional("price_max", amount, &s.PriceMax),
		optional("duration_min", integer(0, maxInt), &s.DurationMin),
		optional("duration_max", integer(0, maxInt), &s.DurationMax),
		optional("created_after", beginning, &s.CreatedFrom),
		optional("created_before", end, &s.CreatedBefore),
		optional("updated_after", beginning, &s.UpdatedFrom),
		optional("updated_before", end, &s.UpdatedBefore),
		choice("order_by", serviceSorts, unknownSort, "id", &s.Sort),
		descending("asc", &s.Descending),
	}
})

// ServiceFilter reads the parameters of the service list.
func (v View) ServiceFilter(q *Query) (catalog.ServiceFilter, ServiceIncludes, error) {
	var s ServiceQuery
	ServiceParameters.read(v, q, &s)
	s.ServiceFilter.Include = s.Include.ServiceIncludes
	return s.ServiceFilter, s.Include, ServiceParameters.err(q)
}

// ServiceIncludeParameters are the parameters of a single service.
var ServiceIncludeParameters = parameters("", domain.InvalidParameters, func(s *ServiceIncludes) Fields {
	return Fields{serviceIncludes(s, "category", "agents", "locations", "extras")}
})

func serviceIncludes(to *ServiceIncludes, known ...string) Field {
	return custom(IncludeParameter, words(known...), func(words map[string]bool) {
		*to = ServiceIncludes{
			ServiceIncludes: catalog.ServiceIncludes{Category: words["category"], Agents: words["agents"], Locations: words["locations"], Extras: words["extras"]},
			Categories:      words["categories"],
		}
	})
}

// ServiceList returns a page of services, with the categories if they were requested.
func (v View) ServiceList(page records.Page[catalog.Service], include ServiceIncludes, categories []catalog.ServiceCategory) ServiceList {
	shown := ServiceList{List: list(page, func(s catalog.Service) Service { return v.service(s, include) })}
	if include.Categories {
		shown.Categories = each(categories, serviceCategory)
	}
	return shown
}

func (v View) service(s catalog.Service, include ServiceIncludes) Service {
	values := serviceWith[string, int64, string, *string, *int64](v, s, domain.IDText, itself, domain.AmountText)
	values.Description, values.CategoryID = s.Description, s.CategoryID
	return Service{values, partsOf(s, include, domain.IDText)}
}

// ServiceDetail returns one service.
func (v View) ServiceDetail(s catalog.Service, include ServiceIncludes) Single[ServiceDetail] {
	values := serviceWith[string, string, string, *string, *string](v, s, domain.IDText, domain.IDText, domain.AmountText)
	values.Description, values.CategoryID = s.Description, domain.OptionalIDText(s.CategoryID)
	return single(ServiceDetail{values, partsOf(s, include, itself)})
}

// serviceWith returns a service without its description and category.
func serviceWith[ID, Number, Price, Text, Category any](v View, s catalog.Service, id func(int64) ID, number func(int64) Number, price func(decimal.Decimal) Price) service[ID, Number, Price, Text, Category] {
	return service[ID, Number, Price, Text, Category]{
		ID: id(s.ID), Name: s.Name, ShortDescription: s.ShortDescription, Duration: number(s.Duration),
		PriceMin: price(s.PriceMin), PriceMax: price(s.PriceMax), ChargeAmount: price(s.ChargeAmount), DepositAmount: price(s.DepositAmount),
		CapacityMin: number(s.CapacityMin), CapacityMax: number(s.CapacityMax), OrderNumber: number(s.OrderNumber), SelectionImageID: number(s.SelectionImageID),
		Status: s.Status, Visibility: s.Visibility, CustomerLimit: s.CustomerLimit,
		CreatedAt: v.timestamp(s.CreatedAt), UpdatedAt: v.timestamp(s.UpdatedAt),
	}
}

func partsOf[ID string | int64](s catalog.Service, include ServiceIncludes, id func(int64) ID) (parts serviceParts[ID]) {
	if include.Category {
		parts.Category = categoryName(s.Category, id)
	}
	if include.Agents {
		parts.Agents = agentNames(s.Agents, id)
	}
	if include.Locations {
		parts.Locations = each(s.Locations, locationName)
	}
	if e := s.Extras; e != nil {
		parts.Extras, parts.MinExtras, parts.MaxExtras = each(e.Offered, serviceExtra), e.Least, e.Most
	}
	return parts
}

func itself(id int64) int64 { return id }

// categoryName returns the requested category: null if the service has none. The outer pointer
// distinguishes that from not requested.
func categoryName[ID string | int64](c *catalog.ServiceCategoryName, id func(int64) ID) **ServiceCategoryName[ID] {
	var shown *ServiceCategoryName[ID]
	if c != nil {
		shown = &ServiceCategoryName[ID]{ID: id(c.ID), Name: c.Name, ShortDescription: c.ShortDescription}
	}
	return &shown
}

func agentNames[ID string | int64](agents []slots.AgentName, id func(int64) ID) []AgentName[ID] {
	return each(agents, func(a slots.AgentName) AgentName[ID] {
		return AgentName[ID]{ID: id(a.ID), FirstName: a.FirstName, LastName: a.LastName, DisplayName: a.DisplayName}
	})
}

// ServiceFields are the fields of PUT /services/{id}.
var ServiceFields = declare("", func(s *catalog.ServicePatch) Fields { return serviceFields(s).changing() })

// NewServiceFields are the fields of POST /services.
var NewServiceFields = declare("", func(s *catalog.NewService) Fields { return serviceFields(&s.ServicePatch).requiring("name") })

func serviceFields(s *catalog.ServicePatch) Fields {
	return Fields{
		optional("name", fixedText, &s.Name),
		optional("short_description", anyText, &s.ShortDescription),
		clearable("description", anyText, &s.Description),
		optional("duration", integer(1, maxInt), &s.Duration),
		optional("price_min", price, &s.PriceMin),
		optional("price_max", price, &s.PriceMax),
		optional("charge_amount", price, &s.ChargeAmount),
		optional("deposit_amount", price, &s.DepositAmount),
		optional("capacity_min", integer(0, maxCapacity), &s.CapacityMin),
		optional("capacity_max", integer(1, maxCapacity), &s.CapacityMax),
		optional("order_number", integer(0, maxInt), &s.OrderNumber),
		clearable("selection_image_id", idOrNone, &s.SelectionImageID),
		optional("status", word(enabledStatuses, enabledMessage), &s.Status),
		optional("visibility", word(visibilities, visibilityMessage), &s.Visibility),
		clearable("category_id", idOrNone, &s.CategoryID),
		optional("customer_limit", anyText, &s.CustomerLimit),
	}
}

// maxCapacity exceeds any real number of seats, and fits every column of seats.
const maxCapacity = 9999

// ServiceCreated is the response to POST /services, without its record.
var ServiceCreated = successMessage[WrittenService]("Service created successfully")

// ServiceCreated returns the response to POST /services.
func (v View) ServiceCreated(s catalog.Service) SuccessMessage[WrittenService] {
	return ServiceCreated.about(v.writtenService(s))
}

// ServiceUpdated is the response to PUT /services/{id}, without its record.
var ServiceUpdated = successMessage[WrittenService]("Service updated successfully")

// ServiceUpdated returns the response to PUT /services/{id}.
func (v View) ServiceUpdated(s catalog.Service) SuccessMessage[WrittenService] {
	return ServiceUpdated.about(v.writtenService(s))
}

func (v View) writtenService(s catalog.Service) WrittenService {
	values := serviceWith[int64, int64, json.Number, string, *int64](v, s, itself, itself, jsonNumber)
	values.Description = domain.ValueOr(s.Description, "")
	if s.CategoryID != nil && *s.CategoryID != 0 {
		values.CategoryID = s.CategoryID
	}
	return WrittenService(values)
}
