package adapter

import (
	"cmp"
	"context"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

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

// LocationName is what an agent or a service shows of a location.
type LocationName struct {
	ID                        int64
	Name, FullAddress, Status string
}

// AgentSort names an order of agents.
type AgentSort int

// The orders of agents. Each ends in the id, in the same direction.
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

// AgentFilter narrows and orders a list of agents. A nil field narrows nothing.
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

// Agents is one page of the agents that pass the filter.
func (s *Site) Agents(ctx context.Context, f AgentFilter) (Page[Agent], error) {
	q := sq.Select().From(s.db.As(wpdb.Agents, "a"))
	q = filterEqual(q, "a.status", f.Status)
	q = filterText(q, "a.email", f.Email)
	q = filterSearch(q, f.Phone, "a.phone")
	q = filterSearch(q, f.Search, "a.first_name", "a.last_name", fullName("a"), "a.email")
	q = filterCreated(q, "a.created_at", f.CreatedFrom, f.CreatedBefore)
	q = s.connected(q, "agent_id", "a.id", connection{"location_id", f.LocationID}, connection{"service_id", f.ServiceID})
	ids, total, err := s.pageIDs(ctx, "list agents", list{id: "a.id", filter: q}, f.Paging, sortColumns(agentOrder[f.Sort], f.Descending)...)
	if err != nil {
		return Page[Agent]{}, err
	}
	records, err := s.agentsByID(ctx, ids)
	return Page[Agent]{Paging: f.Paging, Records: records, Total: total}, err
}

// Agent is one agent; a CodeNotFound where it does not exist.
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

func (s *Site) agentsByID(ctx context.Context, ids []int64) ([]Agent, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "first_name", "last_name", "display_name", "email", "phone", "bio", "features", "status", "created_at", "updated_at").
		From(s.db.Name(wpdb.Agents)).Where(sq.Eq{"id": ids})
	records, err := wpdb.All(ctx, s.db, "read agents", stmt, func(row wpdb.Scanner) (a Agent, err error) {
		err = row.Scan(&a.ID, &a.FirstName, wpdb.OrZero(&a.LastName), wpdb.OrZero(&a.DisplayName), &a.Email, wpdb.OrZero(&a.Phone),
			wpdb.OrZero(&a.Bio), wpdb.OrZero(&a.Features), &a.Status, wpdb.OrZero((*string)(&a.CreatedAt)), wpdb.OrZero((*string)(&a.UpdatedAt)))
		return a, err
	})
	if err != nil {
		return nil, err
	}
	services, err := s.connectedServices(ctx, ids)
	if err != nil {
		return nil, err
	}
	locations, err := s.connectedLocations(ctx, "agent_id", ids)
	if err != nil {
		return nil, err
	}
	records = inOrder(ids, records, func(a Agent) int64 { return a.ID })
	for i := range records {
		records[i].Services, records[i].Locations = services[records[i].ID], locations[records[i].ID]
	}
	return records, nil
}

// connection is a column of agents_services and the id it must hold; nil
// narrows nothing.
type connection struct {
	column string
	id     *int64
}

// connected keeps the records that agents_services connects to all the given
// ids in one and the same row.
func (s *Site) connected(q sq.SelectBuilder, column, record string, to ...connection) sq.SelectBuilder {
	exists := sq.Select("1").From(s.db.As(wpdb.AgentsServices, "x")).Where("x." + column + " = " + record)
	narrowed := false
	for _, c := range to {
		if c.id != nil {
			exists = exists.Where(sq.Eq{"x." + c.column: *c.id})
			narrowed = true
		}
	}
	if !narrowed {
		return q
	}
	return q.Where(sq.Expr("EXISTS (?)", exists))
}

// pairs are the distinct pairs of two columns of agents_services, as a table x.
// Made distinct before the join, they need no temporary table of texts.
func (s *Site) pairs(stmt sq.SelectBuilder, column, other string, owners []int64) sq.SelectBuilder {
	distinct := sq.Select(column, other).Distinct().From(s.db.Name(wpdb.AgentsServices)).Where(sq.Eq{column: owners})
	return stmt.FromSelect(distinct, "x")
}

// ordered sorts the members of each group by id.
func ordered[T any](groups map[int64][]T, id func(T) int64) map[int64][]T {
	for _, members := range groups {
		slices.SortFunc(members, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	}
	return groups
}

// connectedServices are the services of agents, whatever their status
// (OsAgentModel::get_services, LatePoint 5.6.5).
func (s *Site) connectedServices(ctx context.Context, agents []int64) (map[int64][]BookingService, error) {
	stmt := s.pairs(sq.Select("x.agent_id", "s.id", "s.name", "s.short_description", "s.status", "s.duration", "s.price_min", "s.price_max"),
		"agent_id", "service_id", agents).
		Join(s.db.As(wpdb.Services, "s") + " ON s.id = x.service_id")
	services, err := grouped(ctx, s, "read services of agents", stmt, func(row wpdb.Scanner, owner *int64) (v BookingService, err error) {
		var priceMin, priceMax decimal.NullDecimal
		err = row.Scan(owner, &v.ID, &v.Name, wpdb.OrZero(&v.ShortDescription), &v.Status, &v.Duration, &priceMin, &priceMax)
		v.PriceMin, v.PriceMax = priceMin.Decimal, priceMax.Decimal
		return v, err
	})
	return ordered(services, func(v BookingService) int64 { return v.ID }), err
}

// connectedLocations are the locations of agents (column agent_id) or services
// (service_id).
func (s *Site) connectedLocations(ctx context.Context, column string, owners []int64) (map[int64][]LocationName, error) {
	stmt := s.pairs(sq.Select("x."+column, "l.id", "l.name", "l.full_address", "l.status"), column, "location_id", owners).
		Join(s.db.As(wpdb.Locations, "l") + " ON l.id = x.location_id")
	locations, err := grouped(ctx, s, "read connected locations", stmt, func(row wpdb.Scanner, owner *int64) (v LocationName, err error) {
		err = row.Scan(owner, &v.ID, &v.Name, wpdb.OrZero(&v.FullAddress), &v.Status)
		return v, err
	})
	return ordered(locations, func(v LocationName) int64 { return v.ID }), err
}
