package session

import (
	"cmp"
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// A key may be limited to agents, services and locations. Its permissions then reach no customers, orders,
// payments and coupons, see keys.Key.Require. This file defines what it sees of the other tables, and wpdb
// restricts every SELECT of its requests to that, on every route:
//
//   - bookings in scope; their customers are those that JoinCustomer finds;
//   - connections in scope, and the agents, services and locations of these and of
//     the bookings: a booking must not lose the name of its service when nobody offers it there
//     any more.
//
// Writes see everything, because what they write and announce must be what the plugin would; see Tx. They
// first read the record as the key sees it, and end with checkScope. Slots are also computed from all
// bookings; otherwise they could be booked twice.

// restrict restricts what a session shows to what a key may see.
func restrict(s *Session, key *keys.Key) error {
	s.caller = key
	if key.Scope.Unlimited() {
		return nil
	}
	s.NoSharing = true // other requests' statements see more, or less
	scope := key.Scope
	views, err := s.DB.BuildViews([]wpdb.View{ // those whose conditions name other tables come first
		{Table: wpdb.Agents, Rows: visibleResources(s, scope, scope.Agents, len(scope.Services)+len(scope.Locations), "agent_id")},
		{Table: wpdb.Services, Rows: visibleResources(s, scope, scope.Services, len(scope.Agents)+len(scope.Locations), "service_id")},
		{Table: wpdb.Locations, Rows: visibleResources(s, scope, scope.Locations, len(scope.Agents)+len(scope.Services), "location_id")},
		{Table: wpdb.AgentsServices, Rows: inScope(scope, "")},
		{Table: wpdb.Bookings, Rows: inScope(scope, "")},
	})
	if err == nil {
		s.DB = s.DB.WithViews(views)
	}
	return err
}

// Scope returns the scope of the caller.
func (s *Session) Scope() domain.Scope {
	if s.caller == nil {
		return domain.Scope{}
	}
	return s.caller.Scope
}

// inScope returns the condition that a row with an agent, a service and a location is within the scope, which
// must have limits.
func inScope(scope domain.Scope, alias string) sq.And {
	var all sq.And
	for _, part := range []struct {
		column string
		ids    []int64
	}{{"agent_id", scope.Agents}, {"service_id", scope.Services}, {"location_id", scope.Locations}} {
		if len(part.ids) > 0 {
			all = append(all, sq.Eq{alias + part.column: part.ids})
		}
	}
	return all
}

// visibleResources returns the condition that an agent, service or location is one of the ids, if there are
// any. If the scope has other limits, a connection or a booking in scope must also name it in a column.
func visibleResources(s *Session, scope domain.Scope, ids []int64, others int, column string) sq.Sqlizer {
	all := sq.And{}
	if len(ids) > 0 {
		all = append(all, sq.Eq{"id": ids})
	}
	if others > 0 {
		having := func(table wpdb.Table) sq.Sqlizer {
			return In("id", sq.Select("x."+column).From(s.DB.As(table, "x")).Where(inScope(scope, "x.")))
		}
		all = append(all, sq.Or{having(wpdb.AgentsServices), having(wpdb.Bookings)})
	}
	return all
}

// In returns the condition that a column has one of the values that a SELECT finds.
func In(column string, values sq.SelectBuilder) sq.Sqlizer {
	return sq.ConcatExpr(column+" IN (", values, ")")
}

// sentCollation makes texts comparable, whatever the collations of the site's tables and of ours are.
const sentCollation = "utf8mb4_unicode_ci"

// JoinCustomer returns what to join for the customer, c, of each booking, b.
func JoinCustomer(s *Session) string {
	customers, key, reference := customersOfBookings(s)
	return customers + " ON " + key + " = " + reference
}

// OfCustomers returns the condition that the customer, c, of a booking, b, meets a condition. The server checks the customers
// once, and not for each of their bookings.
func OfCustomers(s *Session, condition sq.Sqlizer) sq.Sqlizer {
	customers, key, reference := customersOfBookings(s)
	return sq.Expr(reference+" IN (?)", sq.Select(key).From(customers).Where(condition))
}

// customersOfBookings returns a table of customers, c, its key, and what refers to it in bookings, b. Anybody can be made the
// customer of a booking by their e-mail address, so a limited key sees them in a booking that such a key made as that
// key described them.
func customersOfBookings(s *Session) (customers, key, reference string) {
	if !s.DB.HasViews() || !s.Schema.Has(wpdb.BookingCustomers) {
		return s.DB.As(wpdb.Customers, "c"), "c.id", "b.customer_id"
	}
	columns := ""
	for _, name := range []string{"first_name", "last_name", "email", "phone"} {
		text := func(alias string) string {
			return "CONVERT(" + alias + "." + name + " USING utf8mb4) COLLATE " + sentCollation
		}
		columns += ", CASE WHEN sent.id IS NULL THEN " + text("p") + " ELSE " + text("sent") + " END AS " + name
	}
	return "(SELECT k.id AS booking_id, p.id, sent.id IS NOT NULL AS sent" + columns + " FROM " + s.DB.As(wpdb.Bookings, "k") +
		" LEFT JOIN " + s.DB.As(wpdb.Customers, "p") + " ON p.id = k.customer_id" +
		" LEFT JOIN " + s.DB.As(wpdb.BookingCustomers, "sent") + " ON sent.id = k.id) AS c", "c.booking_id", "b.id"
}

// ResourcesInScope returns the resources that are in the caller's scope.
func ResourcesInScope(s *Session, resources []availability.Resource) []availability.Resource {
	scope := s.Scope()
	if scope.Unlimited() {
		return resources
	}
	var within []availability.Resource
	for _, r := range resources {
		if scope.Covers(r.Agent, r.Service, r.Location) {
			within = append(within, r)
		}
	}
	return within
}

// Sees reports whether the caller sees a record. For an unlimited caller it makes no query.
func (s *Session) Sees(ctx context.Context, table wpdb.Table, id int64) (bool, error) {
	if s.Scope().Unlimited() {
		return true, nil
	}
	_, found, err := wpdb.One(ctx, s.AsCaller().DB, "look for a record within limits", sq.Select("id").From(s.DB.Name(table)).Where(sq.Eq{"id": id}), wpdb.Value[int64])
	return found, err
}

// AsCaller returns the session as the caller sees the site, also within a transaction.
func (s *Session) AsCaller() *Session {
	if s.asCaller == nil {
		return s
	}
	return s.asCaller
}

// checkScope returns a CodeOutsideScope if the transaction has changed a booking outside the caller's scope, or
// moved one out of it. Whatever check a route forgets, nothing of that is committed.
func checkScope(ctx context.Context, tx *Tx) error {
	if tx.Scope().Unlimited() {
		return nil
	}
	for _, c := range tx.Changes.List {
		if c.Resource != journal.Bookings || c.Kind == journal.Deleted {
			continue
		}
		if seen, err := tx.Sees(ctx, wpdb.Bookings, c.ID); err != nil || !seen {
			return cmp.Or(err, domain.OutsideScope())
		}
	}
	return nil
}

// minEntries is how many entries of the journal are read at once for a limited key, which may see few of
// them.
const minEntries = 100

// Changes reads the journal as a key sees it; see journal.Journal.Read.
func (p *Platform) Changes(ctx context.Context, key *keys.Key, cursor journal.Cursor, resources []journal.Resource, limit int) (journal.Page, error) {
	if key.Scope.Unlimited() {
		return p.Journal.Read(ctx, cursor, resources, limit)
	}
	page, err := p.Journal.Read(ctx, cursor, resources, max(limit, minEntries))
	if err != nil {
		return page, err
	}
	page.Entries = journal.Visible(page.Entries, key.Scope)
	if len(page.Entries) > limit {
		page.Entries = page.Entries[:limit]
		page.Cursor, page.More = page.Cursor.At(page.Entries[limit-1].Number), true
	}
	return page, nil
}
