package adapter

import (
	"cmp"
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/wpdb"
)

// connection is a column of agents_services and the id that it must contain; nil matches
// any.
type connection struct {
	column string
	id     *int64
}

// whereConnected keeps the records for which one row of agents_services contains all the given
// ids.
func (s *Site) whereConnected(q sq.SelectBuilder, column, record string, to ...connection) sq.SelectBuilder {
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

// pairs adds the distinct pairs of two columns of agents_services to a SELECT, as a table
// x. Because they are made distinct before the join, no temporary table has to hold
// texts.
func (s *Site) pairs(stmt sq.SelectBuilder, column, other string, owners []int64) sq.SelectBuilder {
	distinct := sq.Select(column, other).Distinct().From(s.db.Name(wpdb.AgentsServices)).Where(sq.Eq{column: owners})
	return stmt.FromSelect(distinct, "x")
}

// connected runs a SELECT for what some records are connected to, and sorts the members of each
// group by id.
func connected[T any](ctx context.Context, s *Site, op string, stmt sq.Sqlizer, scan func(wpdb.Scanner, *int64) (T, error), id func(T) int64) (map[int64][]T, error) {
	return readStatement(ctx, s, stmt, func(ctx context.Context, stmt sq.Sqlizer) (map[int64][]T, error) {
		groups, err := grouped(ctx, s, op, stmt, scan)
		for _, members := range groups {
			slices.SortFunc(members, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
		}
		return groups, err
	})
}

// connectedServices returns the services of agents, whatever their status
// (OsAgentModel::get_services, LatePoint 5.6.5).
func (s *Site) connectedServices(ctx context.Context, agents []int64) (map[int64][]BookingService, error) {
	stmt := s.pairs(sq.Select("x.agent_id", "s.id", "s.name", "s.short_description", "s.status", "s.duration", "s.price_min", "s.price_max"),
		"agent_id", "service_id", agents).
		Join(s.db.As(wpdb.Services, "s") + " ON s.id = x.service_id")
	return connected(ctx, s, "read services of agents", stmt, func(row wpdb.Scanner, owner *int64) (v BookingService, err error) {
		var priceMin, priceMax decimal.NullDecimal
		err = row.Scan(owner, &v.ID, &v.Name, wpdb.OrZero(&v.ShortDescription), &v.Status, &v.Duration, &priceMin, &priceMax)
		v.PriceMin, v.PriceMax = priceMin.Decimal, priceMax.Decimal
		return v, err
	}, func(v BookingService) int64 { return v.ID })
}

// connectedLocations returns the locations of agents (column agent_id) or services
// (service_id).
func (s *Site) connectedLocations(ctx context.Context, column string, owners []int64) (map[int64][]LocationName, error) {
	stmt := s.pairs(sq.Select("x."+column, "l.id", "l.name", "l.full_address", "l.status"), column, "location_id", owners).
		Join(s.db.As(wpdb.Locations, "l") + " ON l.id = x.location_id")
	return connected(ctx, s, "read connected locations", stmt, func(row wpdb.Scanner, owner *int64) (v LocationName, err error) {
		err = row.Scan(owner, &v.ID, &v.Name, wpdb.OrZero(&v.FullAddress), &v.Status)
		return v, err
	}, func(v LocationName) int64 { return v.ID })
}

// connectedAgents returns the agents who provide each of some services.
func (s *Site) connectedAgents(ctx context.Context, services []int64) (map[int64][]AgentName, error) {
	stmt := s.pairs(sq.Select("x.service_id", "a.id", "a.first_name", "a.last_name", "a.display_name"), "service_id", "agent_id", services).
		Join(s.db.As(wpdb.Agents, "a") + " ON a.id = x.agent_id")
	return connected(ctx, s, "read agents of services", stmt, func(row wpdb.Scanner, owner *int64) (v AgentName, err error) {
		err = row.Scan(owner, &v.ID, &v.FirstName, wpdb.OrZero(&v.LastName), wpdb.OrZero(&v.DisplayName))
		return v, err
	}, func(v AgentName) int64 { return v.ID })
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
