package compat

import (
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
)

// Agent is an agent.
type Agent struct {
	ID          string           `json:"id"`
	FirstName   string           `json:"first_name"`
	LastName    string           `json:"last_name"`
	DisplayName string           `json:"display_name"`
	Email       string           `json:"email" needs:"read_agents" mask:"email"`
	Phone       string           `json:"phone" needs:"read_agents" mask:"phone"`
	Bio         string           `json:"bio"`
	Features    string           `json:"features"`
	Status      string           `json:"status"`
	CreatedAt   string           `json:"created_at"`
	UpdatedAt   string           `json:"updated_at"`
	Services    []ServiceSummary `json:"services"`
	Locations   []LocationName   `json:"locations"`
}

// LocationName is a location in an agent or a service.
type LocationName struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	FullAddress string `json:"full_address"`
	Status      string `json:"status"`
}

var agentSorts = map[string]catalog.AgentSort{
	"first_name": catalog.AgentsByFirstName,
	"id":         catalog.AgentsByID,
	"last_name":  catalog.AgentsByLastName,
	"email":      catalog.AgentsByEmail,
	"created_at": catalog.AgentsByCreation,
	"updated_at": catalog.AgentsByUpdate,
	"status":     catalog.AgentsByStatus,
}

// enabledStatuses are the statuses of agents and services.
var enabledStatuses = sameWords("active", "disabled")

const enabledMessage = "Must be active or disabled"

// AgentParameters are those of the agent list. Services and locations are
// always included, so include has no effect.
var AgentParameters = parameters("GET /agents", domain.InvalidParameters, func(f *catalog.AgentFilter) Fields {
	return Fields{
		custom(IncludeParameter, words("services", "locations"), func(map[string]bool) {}),
		page(&f.Page),
		perPage(10, &f.PerPage),
		optional("status", word(enabledStatuses, enabledMessage), &f.Status),
		optional("search", text, &f.Search),
		optional("email", text, &f.Email),
		optional("phone", text, &f.Phone),
		optional("location_id", id(maxInt), &f.LocationID),
		optional("service_id", id(maxInt), &f.ServiceID),
		optional("created_after", beginning, &f.CreatedFrom),
		optional("created_before", end, &f.CreatedBefore),
		choice("order_by", agentSorts, unknownSort, "first_name", &f.Sort),
		descending("asc", &f.Descending),
	}
})

// AgentList returns a page of agents.
func (v View) AgentList(page records.Page[catalog.Agent]) List[Agent] { return list(page, v.agent) }

// AgentDetail returns one agent.
func (v View) AgentDetail(a catalog.Agent) BothSingle[Agent] { return bothSingle(v.agent(a)) }

func (v View) agent(a catalog.Agent) Agent {
	return Agent{
		ID: domain.IDText(a.ID), FirstName: a.FirstName, LastName: a.LastName, DisplayName: a.DisplayName,
		Email: a.Email, Phone: a.Phone, Bio: a.Bio, Features: a.Features, Status: a.Status,
		CreatedAt: v.timestamp(a.CreatedAt), UpdatedAt: v.timestamp(a.UpdatedAt),
		Services: each(a.Services, serviceSummary), Locations: each(a.Locations, locationName),
	}
}

func locationName(l slots.LocationName) LocationName {
	return LocationName{ID: domain.IDText(l.ID), Name: l.Name, FullAddress: l.FullAddress, Status: shownStatus(l.Status)}
}
