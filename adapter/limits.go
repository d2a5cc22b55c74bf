package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/keys"
	"bookside/wpdb"
)

// A key may be limited to agents, services and locations. What it sees of the site's tables
// is defined here, and every SELECT of its requests is restricted to that by wpdb, whatever
// route it serves:
//
//   - bookings within the limits, and their customers;
//   - orders all of whose bookings are within the limits, with their payments and invoices;
//     an order without bookings, or with a hidden one, is hidden, because its sums and its
//     payments would tell of others; so is one with an item whose booking does not exist (any
//     more), because nobody knows whose it was;
//   - connections within the limits, and the agents, services and locations of these and of
//     the bookings: a booking must not lose the name of its service when nobody offers it there
//     any more;
//   - no coupons, which concern everybody.
//
// Writes see everything, because what they write and announce must be what the plugin would;
// see Tx. They begin with a look at the record as the key sees it, and end with checkLimits.
// Slots are computed from all bookings too, or else they could be booked twice.

// limitTo restricts what the site shows to what a key may see.
func (s *Site) limitTo(key *keys.Key) (err error) {
	s.caller = key
	if !key.Limits.None() {
		s.alone = true // statements of others see more, or less
		s.db, err = s.db.WithViews(s.views(key.Limits))
	}
	return err
}

// limits returns the limits of the caller.
func (s *Site) limits() domain.Limits {
	if s.caller == nil {
		return domain.Limits{}
	}
	return s.caller.Limits
}

// views returns what a key sees of each table. Those whose conditions name other tables come
// first, see wpdb.View.
func (s *Site) views(l domain.Limits) []wpdb.View {
	within, without := bookingsWithin(l, "b."), sq.Expr("(?) IS NOT TRUE", bookingsWithin(l, "b."))
	bookings := sq.Select().From(s.db.As(wpdb.Bookings, "b"))
	hidden := bookings.Column("b.order_item_id").Where(without).Where(sq.NotEq{"b.order_item_id": nil})
	some := bookings.Column("i.order_id").Join(s.db.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").Where(within)
	// Derived, so that either server computes it once, from all bookings. MySQL would look for those of each
	// item anew, which takes a scan each time unless `bookside indexes` has added the index on order_item_id.
	items := bookings.Column("b.order_item_id").Column(sq.Alias(sq.ConcatExpr("MAX(", without, ")"), "hidden")).
		Where(sq.NotEq{"b.order_item_id": nil}).GroupBy("b.order_item_id")
	mixed := sq.Select("i.order_id").From(s.db.As(wpdb.OrderItems, "i")).JoinClause(sq.ConcatExpr("LEFT JOIN (", items, ") AS k ON k.order_item_id = i.id")).
		Where("COALESCE(k.hidden, 1) = 1").Where(sq.NotEq{"i.order_id": nil})
	orders := func(column string) sq.Sqlizer { return sq.And{in(column, some), sq.Expr("NOT ?", in(column, mixed))} }
	return []wpdb.View{
		{Table: wpdb.Transactions, Rows: orders("order_id")},
		{Table: wpdb.OrderInvoices, Rows: orders("order_id")},
		{Table: wpdb.Orders, Rows: orders("id")},
		{Table: wpdb.OrderItems, Rows: sq.And{in("id", bookings.Column("b.order_item_id").Where(within)), sq.Expr("NOT ?", in("id", hidden))}},
		{Table: wpdb.Customers, Rows: in("id", sq.Select("b.customer_id").From(s.db.As(wpdb.Bookings, "b")).Where(within))},
		{Table: wpdb.Agents, Rows: s.catalogue(l, l.Agents, len(l.Services)+len(l.Locations), "agent_id")},
		{Table: wpdb.Services, Rows: s.catalogue(l, l.Services, len(l.Agents)+len(l.Locations), "service_id")},
		{Table: wpdb.Locations, Rows: s.catalogue(l, l.Locations, len(l.Agents)+len(l.Services), "location_id")},
		{Table: wpdb.AgentsServices, Rows: bookingsWithin(l, "")},
		{Table: wpdb.Bookings, Rows: bookingsWithin(l, "")},
		{Table: wpdb.Coupons, Rows: sq.Expr("FALSE")},
	}
}

// in returns the condition that a column has one of the values that a SELECT finds.
func in(column string, values sq.SelectBuilder) sq.Sqlizer {
	return sq.ConcatExpr(column+" IN (", values, ")")
}

// bookingsWithin returns the condition that a row with an agent, a service and a location is
// within the limits, of which there are some.
func bookingsWithin(l domain.Limits, alias string) sq.And {
	var all sq.And
	for _, of := range []struct {
		column string
		ids    []int64
	}{{"agent_id", l.Agents}, {"service_id", l.Services}, {"location_id", l.Locations}} {
		if len(of.ids) > 0 {
			all = append(all, sq.Eq{alias + of.column: of.ids})
		}
	}
	return all
}

// catalogue returns the condition that an agent, service or location is one of the ids, if
// there are any, and that, if there are other limits, a connection or a booking within the
// limits has it in a column.
func (s *Site) catalogue(l domain.Limits, ids []int64, others int, column string) sq.Sqlizer {
	all := sq.And{}
	if len(ids) > 0 {
		all = append(all, sq.Eq{"id": ids})
	}
	if others > 0 {
		having := func(table wpdb.Table) sq.Sqlizer {
			return in("id", sq.Select("x."+column).From(s.db.As(table, "x")).Where(bookingsWithin(l, "x.")))
		}
		all = append(all, sq.Or{having(wpdb.AgentsServices), having(wpdb.Bookings)})
	}
	return all
}

// limitResources returns the resources within the limits of the caller.
func (s *Site) limitResources(resources []availability.Resource) []availability.Resource {
	limits := s.limits()
	if limits.None() {
		return resources
	}
	var within []availability.Resource
	for _, r := range resources {
		if limits.Cover(r.Agent, r.Service, r.Location) {
			within = append(within, r)
		}
	}
	return within
}

// sees reports whether the caller sees a record. Without limits that is not looked up.
func (s *Site) sees(ctx context.Context, table wpdb.Table, id int64) (bool, error) {
	if s.limits().None() {
		return true, nil
	}
	_, found, err := wpdb.One(ctx, s.Shown().db, "look for a record within limits", sq.Select("id").From(s.db.Name(table)).Where(sq.Eq{"id": id}), wpdb.Value[int64])
	return found, err
}

// Shown returns the site as the caller sees it, in a transaction too.
func (s *Site) Shown() *Site {
	if s.shown == nil {
		return s
	}
	return s.shown
}

// refuseUnseen returns a CodeOutsideLimits to a caller with limits, for a new record that belongs
// to no booking and would thus be hidden. checkLimits would refuse it too, but after an id of
// the site's table was spent on it, and what else is wrong with it tells of hidden records.
func (s *Site) refuseUnseen() error {
	if s.limits().None() {
		return nil
	}
	return domain.OutsideLimits()
}

// checkLimits returns a CodeOutsideLimits if the transaction has written a record that is not
// within the limits of the caller. Whatever a route forgets, nothing else is committed.
func (tx *Tx) checkLimits(ctx context.Context) error {
	limits := tx.limits()
	if limits.None() {
		return nil
	}
	ids := map[journal.Resource][]int64{}
	for _, c := range tx.changes.list {
		if c.Kind != journal.Deleted {
			ids[c.Resource] = append(ids[c.Resource], c.ID)
		}
	}
	if len(ids[journal.Services]) > 0 && len(limits.Services) == 0 {
		return domain.OutsideLimits() // services concern all agents and locations
	}
	seen, err := tx.Shown().Seen(ctx, ids)
	if err != nil {
		return err
	}
	for resource, ids := range ids {
		for _, id := range ids {
			if !seen[resource][id] {
				return domain.OutsideLimits()
			}
		}
	}
	return nil
}

// Seen returns which of the records with the given ids the caller sees.
func (s *Site) Seen(ctx context.Context, ids map[journal.Resource][]int64) (map[journal.Resource]map[int64]bool, error) {
	seen := map[journal.Resource]map[int64]bool{}
	for resource, ids := range ids {
		seen[resource] = map[int64]bool{}
		table := journal.TableOf(resource)
		if len(ids) == 0 || !s.schema.Has(table) {
			continue
		}
		found, err := wpdb.All(ctx, s.db, "look for records", sq.Select("id").From(s.db.Name(table)).Where(sq.Eq{"id": ids}), wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			seen[resource][id] = true
		}
	}
	return seen, nil
}

// fewestEntries is how many entries of the journal are read at a time for a limited key, which
// may see few of them.
const fewestEntries = 100

// Changes reads the journal as a key sees it; see journal.Journal.Read.
func (p *Platform) Changes(ctx context.Context, key *keys.Key, cursor int64, resources []journal.Resource, limit int) (journal.Page, error) {
	if key.Limits.None() {
		return p.Journal.Read(ctx, cursor, resources, limit)
	}
	page, err := p.Journal.Read(ctx, cursor, resources, max(limit, fewestEntries))
	if err != nil {
		return page, err
	}
	if page.Entries, err = p.VisibleChanges(ctx, key, page.Entries); err != nil {
		return journal.Page{}, err
	}
	if len(page.Entries) > limit {
		page.Entries = page.Entries[:limit]
		page.Cursor, page.More = page.Entries[limit-1].Number, true
	}
	return page, nil
}

// VisibleChanges returns those entries of the journal that a key sees: of bookings, those that
// were within its limits when they changed; of other records, those that it sees now.
func (p *Platform) VisibleChanges(ctx context.Context, key *keys.Key, entries []journal.Entry) ([]journal.Entry, error) {
	if key.Limits.None() || len(entries) == 0 {
		return entries, nil
	}
	site, err := p.SiteOf(ctx, key)
	if err != nil {
		return nil, err
	}
	ids := map[journal.Resource][]int64{}
	for _, e := range entries {
		if e.Resource != journal.Bookings {
			ids[e.Resource] = append(ids[e.Resource], e.ID)
		}
	}
	seen, err := site.Seen(ctx, ids)
	if err != nil {
		return nil, err
	}
	visible := []journal.Entry{}
	for _, e := range entries {
		facts := e.Booking
		if seen[e.Resource][e.ID] || facts != nil && key.Limits.Cover(facts.AgentID, facts.ServiceID, facts.LocationID) {
			visible = append(visible, e)
		}
	}
	return visible, nil
}
