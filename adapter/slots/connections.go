package slots

import (
	"cmp"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Connection is a column of agents_services and the id that it must contain; nil matches
// any.
type Connection struct {
	Column string
	ID     *int64
}

// WhereConnected keeps the records for which one row of agents_services contains all the given
// ids.
func WhereConnected(s *session.Session, q sq.SelectBuilder, column, record string, to ...Connection) sq.SelectBuilder {
	exists := sq.Select("1").From(s.DB.As(wpdb.AgentsServices, "x")).Where("x." + column + " = " + record)
	narrowed := false
	for _, c := range to {
		if c.ID != nil {
			exists = exists.Where(sq.Eq{"x." + c.Column: *c.ID})
			narrowed = true
		}
	}
	if !narrowed {
		return q
	}
	return q.Where(sq.Expr("EXISTS (?)", exists))
}

// pairs adds the distinct pairs of two columns of agents_services to a SELECT, as a table x. Because they
// are distinct before the join, no temporary table has to hold texts.
func pairs(s *session.Session, stmt sq.SelectBuilder, column, other string, owners []int64) sq.SelectBuilder {
	distinct := sq.Select(column, other).Distinct().From(s.DB.Name(wpdb.AgentsServices)).Where(sq.Eq{column: owners})
	return stmt.FromSelect(distinct, "x")
}

// ByOwner returns connected records by what they belong to, in the order of their ids.
func ByOwner[T any](rows []session.Member[T], id func(T) int64) map[int64][]T {
	groups := session.GroupMembers(rows)
	for _, members := range groups {
		slices.SortFunc(members, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	}
	return groups
}

// QueryServices reads the services of agents, whatever their status
// (OsAgentModel::get_services, LatePoint 5.6.5).
func QueryServices(s *session.Session, into *[]session.Member[records.BookingService], agents []int64) wpdb.Query {
	stmt := pairs(s, sq.Select("x.agent_id", "s.id", "s.name", "s.short_description", "s.status", "s.duration", "s.price_min", "s.price_max"),
		"agent_id", "service_id", agents).
		Join(s.DB.As(wpdb.Services, "s") + " ON s.id = x.service_id")
	return wpdb.Rows(into, "read services of agents", stmt, wpdb.Into(func(c *session.Member[records.BookingService]) []any {
		v := &c.Record
		return []any{&c.Owner, &v.ID, &v.Name, wpdb.OrZero(&v.ShortDescription), &v.Status, &v.Duration, wpdb.OrZero(&v.PriceMin), wpdb.OrZero(&v.PriceMax)}
	}))
}

// QueryLocations reads the locations of agents (column agent_id) or services (service_id).
func QueryLocations(s *session.Session, into *[]session.Member[LocationName], column string, owners []int64) wpdb.Query {
	stmt := pairs(s, sq.Select("x."+column, "l.id", "l.name", "l.full_address", "l.status"), column, "location_id", owners).
		Join(s.DB.As(wpdb.Locations, "l") + " ON l.id = x.location_id")
	return wpdb.Rows(into, "read connected locations", stmt, wpdb.Into(func(c *session.Member[LocationName]) []any {
		v := &c.Record
		return []any{&c.Owner, &v.ID, &v.Name, wpdb.OrZero(&v.FullAddress), &v.Status}
	}))
}

// QueryAgents reads the agents who provide each of some services.
func QueryAgents(s *session.Session, into *[]session.Member[AgentName], services []int64) wpdb.Query {
	stmt := pairs(s, sq.Select("x.service_id", "a.id", "a.first_name", "a.last_name", "a.display_name"), "service_id", "agent_id", services).
		Join(s.DB.As(wpdb.Agents, "a") + " ON a.id = x.agent_id")
	return wpdb.Rows(into, "read agents of services", stmt, wpdb.Into(func(c *session.Member[AgentName]) []any {
		v := &c.Record
		return []any{&c.Owner, &v.ID, &v.FirstName, wpdb.OrZero(&v.LastName), wpdb.OrZero(&v.DisplayName)}
	}))
}

// LocationName is the part of a location that agents and services show.
type LocationName struct {
	ID                        int64
	Name, FullAddress, Status string
}

// AgentName is the part of an agent that services show.
type AgentName struct {
	ID                               int64
	FirstName, LastName, DisplayName string
}
