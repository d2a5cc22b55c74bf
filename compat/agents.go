package compat

import "bookside/adapter"

// Agent is an agent.
type Agent struct {
	ID          string           `json:"id"`
	FirstName   string           `json:"first_name"`
	LastName    string           `json:"last_name"`
	DisplayName string           `json:"display_name"`
	Email       string           `json:"email" needs:"read_agents"`
	Phone       string           `json:"phone" needs:"read_agents"`
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

var agentSorts = map[string]adapter.AgentSort{
	"first_name": adapter.AgentsByFirstName,
	"id":         adapter.AgentsByID,
	"last_name":  adapter.AgentsByLastName,
	"email":      adapter.AgentsByEmail,
	"created_at": adapter.AgentsByCreation,
	"updated_at": adapter.AgentsByUpdate,
	"status":     adapter.AgentsByStatus,
}

// enabledStatuses are the statuses of agents and services.
var enabledStatuses = sameWords("active", "disabled")

const enabledMessage = "Must be active or disabled"

// AgentFilter reads the parameters of the agent list. Services and locations
// are always included, so that include changes nothing.
func (v View) AgentFilter(q *Query) (adapter.AgentFilter, error) {
	q.words("include", "services", "locations")
	f := adapter.AgentFilter{
		Paging:        q.Paging(10),
		Status:        Word(q, "status", enabledStatuses, enabledMessage),
		Search:        q.Text("search"),
		Email:         q.Text("email"),
		Phone:         q.Text("phone"),
		LocationID:    q.ID("location_id", maxInt),
		ServiceID:     q.ID("service_id", maxInt),
		CreatedFrom:   v.from(q, "created_after"),
		CreatedBefore: v.through(q, "created_before"),
		Sort:          wordOr(q, "order_by", agentSorts, adapter.AgentsByFirstName, unknownSort),
		Descending:    q.descending(false),
	}
	return f, q.Err()
}

// AgentList is a page of agents.
func (v View) AgentList(page adapter.Page[adapter.Agent]) List { return list(page, v.agent) }

// AgentDetail is one agent.
func (v View) AgentDetail(a adapter.Agent) BothSingle { return bothSingle(v.agent(a)) }

func (v View) agent(a adapter.Agent) Agent {
	return Agent{
		ID: number(a.ID), FirstName: a.FirstName, LastName: a.LastName, DisplayName: a.DisplayName,
		Email: a.Email, Phone: a.Phone, Bio: a.Bio, Features: a.Features, Status: a.Status,
		CreatedAt: v.timestamp(a.CreatedAt), UpdatedAt: v.timestamp(a.UpdatedAt),
		Services: each(a.Services, serviceSummary), Locations: each(a.Locations, locationName),
	}
}

func locationName(l adapter.LocationName) LocationName {
	return LocationName{ID: number(l.ID), Name: l.Name, FullAddress: l.FullAddress, Status: shownStatus(l.Status)}
}
