package catalog

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Agent is an agent with the services and locations they are connected to.
type Agent struct {
	ID                               int64
	FirstName, LastName, DisplayName string
	Email, Phone                     string
	Bio                              string
	Features                         string // JSON text as stored
	Status                           string
	CreatedAt, UpdatedAt             domain.Timestamp
	Services                         []records.BookingService
	Locations                        []slots.LocationName
}

// AgentSort is a sort order of agents.
type AgentSort int

// The sort orders of agents. Ties are broken by id, in the same direction.
const (
	AgentsByFirstName AgentSort = iota
	AgentsByID
	AgentsByLastName
	AgentsByEmail
	AgentsByCreation
	AgentsByUpdate
	AgentsByStatus
)

var agentOrder = map[AgentSort][]string{
	AgentsByFirstName: {"a.first_name", "a.id"},
	AgentsByID:        {"a.id"},
	AgentsByLastName:  {"a.last_name", "a.id"},
	AgentsByEmail:     {"a.email", "a.id"},
	AgentsByCreation:  {"a.created_at", "a.id"},
	AgentsByUpdate:    {"a.updated_at", "a.id"},
	AgentsByStatus:    {"a.status", "a.id"},
}

// AgentFilter filters and sorts a list of agents. A nil field does not filter.
type AgentFilter struct {
	session.Paging
	Status                     *string
	Search                     *string // name or e-mail
	Email                      *string
	Phone                      *string // partial
	LocationID, ServiceID      *int64  // together: the service at that location
	CreatedFrom, CreatedBefore *time.Time
	Sort                       AgentSort
	Descending                 bool
}

// ListAgents returns one page of the agents that match the filter.
func ListAgents(ctx context.Context, s *session.Session, f AgentFilter) (records.Page[Agent], error) {
	q := sq.Select().From(s.DB.As(wpdb.Agents, "a"))
	q = records.FilterEqual(q, "a.status", f.Status)
	q = records.FilterText(q, "a.email", f.Email)
	q = records.FilterPhone(q, f.Phone, "a.phone")
	q = records.FilterSearch(q, f.Search, "a.first_name", "a.last_name", records.FullName("a"), "a.email")
	q = records.FilterInstant(q, "a.created_at", f.CreatedFrom, f.CreatedBefore)
	q = slots.WhereConnected(s, q, "agent_id", "a.id", slots.Connection{Column: "location_id", ID: f.LocationID}, slots.Connection{Column: "service_id", ID: f.ServiceID})
	l := records.List{Op: "list agents", Filter: q}
	page, err := records.ReadSmallPage(ctx, s, l, f.Paging, q.Columns(agentColumns...), records.SortOrder{Columns: agentOrder[f.Sort], Descending: f.Descending}, scanAgent)
	if err != nil {
		return page, err
	}
	return page, connectAgents(ctx, s, page.Records)
}

// LoadAgent returns one agent, or a CodeNotFound.
func LoadAgent(ctx context.Context, s *session.Session, id int64) (Agent, error) {
	found, err := LoadAgents(ctx, s, []int64{id})
	return records.Only(found, err, domain.AgentResource, id)
}

// LoadAgents returns agents by their ids, as lists show them.
func LoadAgents(ctx context.Context, s *session.Session, ids []int64) ([]Agent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := sq.Select(agentColumns...).From(s.DB.As(wpdb.Agents, "a")).Where(sq.Eq{"a.id": ids})
	found, err := wpdb.All(ctx, s.DB, "read agents", stmt, scanAgent)
	if err != nil {
		return nil, err
	}
	found = records.InOrder(ids, records.ByID(found, Agent.agentID))
	return found, connectAgents(ctx, s, found)
}

func (a Agent) agentID() int64 { return a.ID }

// agentColumns are what scanAgent reads of agents, a.
var agentColumns = []string{
	"a.id", "a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.bio", "a.features", "a.status", "a.created_at", "a.updated_at",
}

var scanAgent = wpdb.Into(func(a *Agent) []any {
	return []any{&a.ID, &a.FirstName, wpdb.OrZero(&a.LastName), wpdb.OrZero(&a.DisplayName), &a.Email, wpdb.OrZero(&a.Phone),
		wpdb.OrZero(&a.Bio), wpdb.OrZero(&a.Features), &a.Status, wpdb.OrZero((*string)(&a.CreatedAt)), wpdb.OrZero((*string)(&a.UpdatedAt))}
})

// connectAgents reads the services and locations that agents are connected to.
func connectAgents(ctx context.Context, s *session.Session, found []Agent) error {
	ids := records.IDsOf(found, Agent.agentID)
	if len(ids) == 0 {
		return nil
	}
	var services []session.Member[records.BookingService]
	var locations []session.Member[slots.LocationName]
	err := wpdb.Together(ctx, s.DB, slots.QueryServices(s, &services, ids), slots.QueryLocations(s, &locations, "agent_id", ids))
	servicesOf := slots.ByOwner(services, func(v records.BookingService) int64 { return v.ID })
	locationsOf := slots.ByOwner(locations, func(v slots.LocationName) int64 { return v.ID })
	for i := range found {
		found[i].Services, found[i].Locations = servicesOf[found[i].ID], locationsOf[found[i].ID]
	}
	return err
}

// FreeAgents returns the agents who can provide a service at a start of its grid, by id; for any service,
// those who work then and have no booking. It returns a CodeInvalidRequest if the service or location does
// not exist.
func FreeAgents(ctx context.Context, s *session.Session, q slots.AgentQuery) ([]Agent, error) {
	free, err := slots.FreeAgents(ctx, s, q)
	if err != nil {
		return nil, err
	}
	return LoadAgents(ctx, s, free)
}
