package adapter

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
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
	Services                         []BookingService
	Locations                        []LocationName
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
	Paging
	Status                     *string
	Search                     *string // name or e-mail
	Email                      *string
	Phone                      *string // partial
	LocationID, ServiceID      *int64  // together: the service at that location
	CreatedFrom, CreatedBefore *time.Time
	Sort                       AgentSort
	Descending                 bool
}

// Agents returns one page of the agents that match the filter.
func (s *Site) Agents(ctx context.Context, f AgentFilter) (Page[Agent], error) {
	q := sq.Select().From(s.db.As(wpdb.Agents, "a"))
	q = filterEqual(q, "a.status", f.Status)
	q = filterText(q, "a.email", f.Email)
	q = filterPhone(q, f.Phone, "a.phone")
	q = filterSearch(q, f.Search, "a.first_name", "a.last_name", fullName("a"), "a.email")
	q = filterInstant(q, "a.created_at", f.CreatedFrom, f.CreatedBefore)
	q = s.whereConnected(q, "agent_id", "a.id", connection{"location_id", f.LocationID}, connection{"service_id", f.ServiceID})
	l := list{op: "list agents", filter: q}
	stmt, err := s.onPage(ctx, l, q.Columns(agentColumns...), f.Paging, sortOrder{agentOrder[f.Sort], f.Descending})
	if err != nil {
		return emptyIfUnmatchable(Page[Agent]{Paging: f.Paging}, err)
	}
	page, err := smallPage(ctx, s, l, f.Paging, stmt, scanAgent)
	if err != nil {
		return page, err
	}
	return page, s.connectAgents(ctx, page.Records)
}

// Agent returns one agent; a CodeNotFound where it does not exist.
func (s *Site) Agent(ctx context.Context, id int64) (Agent, error) {
	records, err := s.agentsByID(ctx, []int64{id})
	if err != nil {
		return Agent{}, err
	}
	if len(records) == 0 {
		return Agent{}, domain.NotFound(domain.AgentResource, id)
	}
	return records[0], nil
}

// agentsByID returns agents by their ids, as their list shows them.
func (s *Site) agentsByID(ctx context.Context, ids []int64) ([]Agent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := sq.Select(agentColumns...).Column("NULL").From(s.db.As(wpdb.Agents, "a")).Where(sq.Eq{"a.id": ids})
	records, err := wpdb.All(ctx, s.db, "read agents", stmt, func(row wpdb.Scanner) (Agent, error) { return scanAgent(row, new(any)) })
	if err != nil {
		return nil, err
	}
	records = inOrder(ids, byID(records, Agent.id))
	return records, s.connectAgents(ctx, records)
}

func (a Agent) id() int64 { return a.ID }

// agentColumns are what scanAgent reads of agents, a.
var agentColumns = []string{
	"a.id", "a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.bio", "a.features", "a.status", "a.created_at", "a.updated_at",
}

func scanAgent(row wpdb.Scanner, last any) (a Agent, err error) {
	err = row.Scan(&a.ID, &a.FirstName, wpdb.OrZero(&a.LastName), wpdb.OrZero(&a.DisplayName), &a.Email, wpdb.OrZero(&a.Phone),
		wpdb.OrZero(&a.Bio), wpdb.OrZero(&a.Features), &a.Status, wpdb.OrZero((*string)(&a.CreatedAt)), wpdb.OrZero((*string)(&a.UpdatedAt)), last)
	return a, err
}

// connectAgents reads the services and locations that agents are connected to.
func (s *Site) connectAgents(ctx context.Context, records []Agent) error {
	ids := idsOf(records, Agent.id)
	if len(ids) == 0 {
		return nil
	}
	services, err := s.connectedServices(ctx, ids)
	if err != nil {
		return err
	}
	locations, err := s.connectedLocations(ctx, "agent_id", ids)
	if err != nil {
		return err
	}
	for i := range records {
		records[i].Services, records[i].Locations = services[records[i].ID], locations[records[i].ID]
	}
	return nil
}

// FreeAgents returns the agents who can provide a service at a start of its grid, by id;
// for any service, those who work then and have no booking. It returns a
// CodeInvalidRequest if the service or location does not exist.
func (s *Site) FreeAgents(ctx context.Context, q AgentSlotQuery) ([]Agent, error) {
	free, err := s.freeAgents(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.agentsByID(ctx, free)
}
