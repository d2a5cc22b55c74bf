package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// A key may be limited to agents, services and locations. This file defines what it sees of the site's
// tables, and wpdb restricts every SELECT of its requests to that, on every route:
//
//   - bookings in scope, and their customers: the key's own customers as any key sees them,
//     of others no more than their names and the contact that the key itself sent, see ownCustomer;
//   - orders all of whose bookings are within the scope, with their payments and invoices;
//     an order without bookings, or with a hidden one, is hidden, because its sums and its
//     payments would tell of others; so is one with an item whose booking does not exist (any
//     more), because nobody knows whose it was;
//   - connections in scope, and the agents, services and locations of these and of
//     the bookings: a booking must not lose the name of its service when nobody offers it there
//     any more;
//   - no coupons, which concern everybody.
//
// Writes see everything, because what they write and announce must be what the plugin would; see Tx. They
// first read the record as the key sees it, and end with checkScope. Slots are also computed from all
// bookings; otherwise they could be booked twice.

// restrict restricts what a session shows to what a key may see.
func restrict(ctx context.Context, s *Session, key *keys.Key) error {
	s.caller = key
	if key.Scope.Unlimited() {
		return nil
	}
	s.NoSharing = true // other requests' statements see more, or less
	indexed, err := s.Shared.scopeIndexes.find(ctx, s)
	if err != nil {
		return err
	}
	views, err := s.Shared.views.get(s, key, indexed)
	if err == nil {
		s.DB = s.DB.WithViews(views)
	}
	return err
}

// builtViews are the views of keys. They depend on the keys' scope and on what they wrote themselves.
type builtViews struct {
	mu    sync.Mutex
	built map[string]wpdb.Views
}

// maxBuiltViews limits the memory of builtViews.
const maxBuiltViews = 100

func (v *builtViews) get(s *Session, key *keys.Key, indexed scopeIndexesFound) (wpdb.Views, error) {
	cacheKey := fmt.Sprint(key.ID, key.Scope, indexed, s.Schema.Has(wpdb.KeyRecords), s.Schema.ColumnNames(wpdb.Customers), s.Schema.ColumnNames(wpdb.OrderInvoices))
	v.mu.Lock()
	defer v.mu.Unlock()
	if views, ok := v.built[cacheKey]; ok {
		return views, nil
	}
	views, err := s.DB.BuildViews(views(s, key, indexed))
	if err != nil {
		return wpdb.Views{}, err
	}
	if v.built == nil || len(v.built) >= maxBuiltViews {
		v.built = map[string]wpdb.Views{}
	}
	v.built[cacheKey] = views
	return views, nil
}

// scopeIndexes remembers which indexes the site has that make it quick to decide whether a key sees a
// record. `bookside indexes` creates them.
type scopeIndexes struct {
	mu    sync.Mutex
	found scopeIndexesFound
	at    time.Time // when they were looked up; zero for never
}

// scopeIndexesFound are the indexes that exist.
type scopeIndexesFound struct {
	orders   bool // on the items of bookings and on the orders of transactions
	payments bool // on the customers of transactions, too
}

// scopeIndexesAge is how long scopeIndexes remembers them.
const scopeIndexesAge = time.Minute

func (x *scopeIndexes) last() (found scopeIndexesFound, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.found, x.at
}

func (x *scopeIndexes) set(found scopeIndexesFound, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found, x.at = found, at
}

// forget makes the next request look again: if an index was dropped, statements that rely on it
// take too long.
func (x *scopeIndexes) forget() { x.set(scopeIndexesFound{}, time.Time{}) }

// find returns which of them exist. Requests may look them up at the same time.
func (x *scopeIndexes) find(ctx context.Context, s *Session) (scopeIndexesFound, error) {
	if found, at := x.last(); !at.IsZero() && s.Now.Sub(at) < scopeIndexesAge {
		return found, nil
	}
	indexes, err := s.DB.Indexes(ctx)
	if err != nil {
		return scopeIndexesFound{}, err
	}
	serves := func(t wpdb.Table, column string) bool {
		return slices.ContainsFunc(indexes, func(i wpdb.Index) bool { return i.Serves(wpdb.OwnIndex(t, column)) })
	}
	var found scopeIndexesFound
	found.orders = serves(wpdb.Bookings, "order_item_id") && serves(wpdb.Transactions, "order_id")
	found.payments = found.orders && serves(wpdb.Transactions, "customer_id")
	x.set(found, s.Now)
	return found, nil
}

// Scope returns the scope of the caller.
func (s *Session) Scope() domain.Scope {
	if s.caller == nil {
		return domain.Scope{}
	}
	return s.caller.Scope
}

// views returns what a key sees of each table. Views whose conditions name other tables come first, see
// wpdb.BuildViews. indexed are the scopeIndexes that exist.
func views(s *Session, key *keys.Key, indexed scopeIndexesFound) []wpdb.View {
	scope := key.Scope
	own := ownership{s, scope, key.ID, indexed}
	customers := own.viewOfCustomers()
	if key.Details != "" { // a calendar shows what its owner chose, also for others' customers
		customers = own.viewOfCalendarCustomers()
	}
	return []wpdb.View{
		customers,
		own.viewOfCustomerMeta(),
		own.viewOfInvoices(),
		viewOfOrders(s, scope, wpdb.Transactions, "order_id", indexed.orders),
		viewOfOrders(s, scope, wpdb.Orders, "id", indexed.orders),
		viewOfItems(s, scope, indexed.orders),
		{Table: wpdb.Agents, Rows: visibleResources(s, scope, scope.Agents, len(scope.Services)+len(scope.Locations), "agent_id")},
		{Table: wpdb.Services, Rows: visibleResources(s, scope, scope.Services, len(scope.Agents)+len(scope.Locations), "service_id")},
		{Table: wpdb.Locations, Rows: visibleResources(s, scope, scope.Locations, len(scope.Agents)+len(scope.Services), "location_id")},
		{Table: wpdb.AgentsServices, Rows: bookingsInScope(scope, "")},
		{Table: wpdb.Bookings, Rows: bookingsInScope(scope, ""), Each: columnsWithin(scope, HideFromIndex)},
		{Table: wpdb.Coupons, Rows: sq.Expr("FALSE")},
	}
}

// viewOfBookedCustomers is the view of the customers of bookings in scope.
func viewOfBookedCustomers(s *Session, scope domain.Scope) wpdb.View {
	table, bookings := s.DB.Name(wpdb.Customers), bookingsSeen(s, scope)
	return wpdb.View{
		Table: wpdb.Customers, Rows: In(table+".id", bookings.Column("b.customer_id")), Each: ExistsPerRow(bookings.Column("1").Where("b.customer_id = " + table + ".id")),
	}
}

// bookingsSeen selects from the bookings, b, within the scope.
func bookingsSeen(s *Session, scope domain.Scope) sq.SelectBuilder {
	return sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(bookingsInScope(scope, "b."))
}

// viewOfOrders is the view of a table that has an order's id in a column. With the indexes, each order that
// has a booking in scope is checked by itself. When all rows are wanted the check is part of the subquery,
// because servers would otherwise check every order.
func viewOfOrders(s *Session, scope domain.Scope, t wpdb.Table, column string, indexed bool) wpdb.View {
	seen := bookingsSeen(s, scope).Column("i.order_id").Join(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id")
	if !indexed {
		return wpdb.View{Table: t, Rows: sq.And{In(column, seen), sq.Expr("NOT ?", In(column, mixedOrders(s, scope)))}}
	}
	order := s.DB.Name(t) + "." + column
	return wpdb.View{Table: t, Rows: In(column, seen.Where(noneHidden(s, scope, "i.order_id"))), Each: sq.And{ExistsPerRow(itemsOf(s, order)), noneHidden(s, scope, order)}}
}

// itemsOf selects the items, j, of the order with an id.
func itemsOf(s *Session, order string) sq.SelectBuilder {
	return sq.Select("1").From(s.DB.As(wpdb.OrderItems, "j")).Where("j.order_id = " + order)
}

// noneHidden returns the condition that all items of the order with an id have bookings in scope.
func noneHidden(s *Session, scope domain.Scope, order string) sq.Sqlizer {
	return NotExistsPerRow(itemsOf(s, order).LeftJoin(s.DB.As(wpdb.Bookings, "k") + " ON k.order_item_id = j.id").Where(sq.Or{sq.Eq{"k.id": nil}, bookingsOutside(scope, "k.")}))
}

// viewOfItems is the view of the items of orders whose bookings are all within the scope.
func viewOfItems(s *Session, scope domain.Scope, indexed bool) wpdb.View {
	seen := In("id", bookingsSeen(s, scope).Column("b.order_item_id"))
	if !indexed {
		hidden := sq.Select("b.order_item_id").From(s.DB.As(wpdb.Bookings, "b")).Where(bookingsOutside(scope, "b.")).Where(sq.NotEq{"b.order_item_id": nil})
		return wpdb.View{Table: wpdb.OrderItems, Rows: sq.And{seen, sq.Expr("NOT ?", In("id", hidden))}}
	}
	bookings := sq.Select("1").From(s.DB.As(wpdb.Bookings, "k")).Where("k.order_item_id = " + s.DB.Name(wpdb.OrderItems) + ".id")
	pure := NotExistsPerRow(bookings.Where(bookingsOutside(scope, "k.")))
	return wpdb.View{Table: wpdb.OrderItems, Rows: sq.And{seen, pure}, Each: sq.And{ExistsPerRow(bookings), pure}}
}

// mixedOrders selects the orders with an item that has a hidden booking, or none. The bookings are a
// derived table, which either server computes once: without an index on order_item_id, MySQL would look for
// those of each item by a scan.
func mixedOrders(s *Session, scope domain.Scope) sq.SelectBuilder {
	items := sq.Select("b.order_item_id").Column(sq.Alias(sq.ConcatExpr("MAX(", bookingsOutside(scope, "b."), ")"), "hidden")).From(s.DB.As(wpdb.Bookings, "b")).
		Where(sq.NotEq{"b.order_item_id": nil}).GroupBy("b.order_item_id")
	return sq.Select("i.order_id").From(s.DB.As(wpdb.OrderItems, "i")).JoinClause(sq.ConcatExpr("LEFT JOIN (", items, ") AS k ON k.order_item_id = i.id")).
		Where("COALESCE(k.hidden, 1) = 1").Where(sq.NotEq{"i.order_id": nil})
}

// ExistsPerRow returns the condition that a SELECT finds a row, evaluated for each row of the statement
// around it. Servers would turn EXISTS into a join, which may start with everything that the SELECT finds.
func ExistsPerRow(rows sq.SelectBuilder) sq.Sqlizer {
	return sq.ConcatExpr("(", rows.Limit(1), ") IS NOT NULL")
}

// NotExistsPerRow is the opposite of ExistsPerRow.
func NotExistsPerRow(rows sq.SelectBuilder) sq.Sqlizer {
	return sq.ConcatExpr("(", rows.Limit(1), ") IS NULL")
}

// In returns the condition that a column has one of the values that a SELECT finds.
func In(column string, values sq.SelectBuilder) sq.Sqlizer {
	return sq.ConcatExpr(column+" IN (", values, ")")
}

// bookingsInScope returns the condition that a row with an agent, a service and a location is within the
// scope, which must have limits.
func bookingsInScope(scope domain.Scope, alias string) sq.And {
	return columnsWithin(scope, func(column string) string { return alias + column })
}

// bookingsOutside returns the condition that bookingsInScope does not hold.
func bookingsOutside(scope domain.Scope, alias string) sq.Sqlizer {
	return sq.Expr("(?) IS NOT TRUE", bookingsInScope(scope, alias))
}

// columnsWithin is bookingsInScope for expressions of the columns.
func columnsWithin(scope domain.Scope, expression func(column string) string) sq.And {
	var all sq.And
	for _, part := range []struct {
		column string
		ids    []int64
	}{{"agent_id", scope.Agents}, {"service_id", scope.Services}, {"location_id", scope.Locations}} {
		if len(part.ids) > 0 {
			all = append(all, sq.Eq{expression(part.column): part.ids})
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
			return In("id", sq.Select("x."+column).From(s.DB.As(table, "x")).Where(bookingsInScope(scope, "x.")))
		}
		all = append(all, sq.Or{having(wpdb.AgentsServices), having(wpdb.Bookings)})
	}
	return all
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

// RefuseUnseen returns a CodeOutsideScope to a limited caller for a new record that belongs to no booking
// and would thus be hidden. checkScope would refuse it too, but only after it has used up an id of the
// site's table, and after other errors may have revealed hidden records.
func (s *Session) RefuseUnseen() error {
	if s.Scope().Unlimited() {
		return nil
	}
	return domain.OutsideScope()
}

// checkScope returns a CodeOutsideScope if the transaction has written a record outside the caller's scope.
// Whatever check a route forgets, nothing of that is committed.
func checkScope(ctx context.Context, tx *Tx) error {
	scope := tx.Scope()
	if scope.Unlimited() {
		return nil
	}
	ids := map[journal.Resource][]int64{}
	for _, c := range tx.Changes.List {
		if c.Kind != journal.Deleted {
			ids[c.Resource] = append(ids[c.Resource], c.ID)
		}
	}
	if len(ids[journal.Services]) > 0 && len(scope.Services) == 0 {
		return domain.OutsideScope() // services concern all agents and locations
	}
	seen, err := tx.AsCaller().Seen(ctx, ids)
	if err != nil {
		return err
	}
	for resource, ids := range ids {
		for _, id := range ids {
			if !seen[resource][id] {
				return domain.OutsideScope()
			}
		}
	}
	return nil
}

// Seen returns which of the given records the caller sees.
func (s *Session) Seen(ctx context.Context, ids map[journal.Resource][]int64) (map[journal.Resource]map[int64]bool, error) {
	seen := map[journal.Resource]map[int64]bool{}
	for resource, ids := range ids {
		seen[resource] = map[int64]bool{}
		table := journal.TableOf(resource)
		if len(ids) == 0 || !s.Schema.Has(table) {
			continue
		}
		found, err := wpdb.All(ctx, s.DB, "look for records", sq.Select("id").From(s.DB.Name(table)).Where(sq.Eq{"id": ids}), wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			seen[resource][id] = true
		}
	}
	return seen, nil
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
	if page.Entries, err = p.VisibleChanges(ctx, key, page.Entries); err != nil {
		return journal.Page{}, err
	}
	if len(page.Entries) > limit {
		page.Entries = page.Entries[:limit]
		page.Cursor, page.More = page.Cursor.At(page.Entries[limit-1].Number), true
	}
	return page, nil
}

// VisibleChanges returns the entries of the journal that a key sees: changes of bookings that were in its
// scope before or after the change, see journal.Entry.Within; changes of other records that it sees now, or
// saw until they were deleted.
func (p *Platform) VisibleChanges(ctx context.Context, key *keys.Key, entries []journal.Entry) ([]journal.Entry, error) {
	if key.Scope.Unlimited() || len(entries) == 0 {
		return entries, nil
	}
	site, err := p.SessionOf(ctx, key)
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
		within, ok := e.Within(func(a journal.Assignment) bool { return key.Scope.Covers(a.AgentID, a.ServiceID, a.LocationID) })
		if ok || seen[e.Resource][e.ID] || e.Kind == journal.Deleted && scopeNames(key.Scope, e.Resource, e.ID) {
			visible = append(visible, within)
		}
	}
	return visible, nil
}

// scopeNames reports whether a scope names an agent, a service or a location.
func scopeNames(scope domain.Scope, r journal.Resource, id int64) bool {
	switch r {
	case journal.Agents:
		return slices.Contains(scope.Agents, id)
	case journal.Services:
		return slices.Contains(scope.Services, id)
	case journal.Locations:
		return slices.Contains(scope.Locations, id)
	default:
		return false
	}
}

// HideFromIndex returns a column as an expression that no index serves. Where several columns of a long
// list have indexes, servers collect all records with the values in two of them and sort these, although a
// scan in the order of the list soon finds a page.
func HideFromIndex(column string) string { return "COALESCE(" + column + ")" }
