package bookings

import (
	"context"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/lists"
	"bookside/adapter/records"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// Sort is a sort order of bookings.
type Sort int

// The sort orders of bookings. Ties are broken by id, in the same direction.
const (
	ByStart        Sort = iota // date, then time
	ByCreation                 //
	ByCustomerName             // first name, then last name
	ByStatus                   //
	ByID                       //
)

// Filter filters and sorts a list of bookings. A nil field does not filter.
type Filter struct {
	session.Paging
	Status                                     *string
	CustomerID, AgentID, ServiceID, LocationID *int64        // 0 for none
	DateFrom, DateTo                           *session.Date // both inclusive
	CreatedFrom, CreatedBefore                 *time.Time
	UpdatedFrom, UpdatedBefore                 *time.Time
	Code, PaymentStatus                        *string
	DurationMin, DurationMax                   *int64 // minutes
	PriceMin, PriceMax                         *decimal.Decimal
	CustomerEmail, CustomerPhone               *string // partial
	MetaKey, MetaValue                         *string // together; the value is partial
	Search                                     *string // customer name, e-mail or booking code
	Upcoming, Past                             bool    // by the site's clock
	WithMeta                                   bool
	Sort                                       Sort
	Descending                                 bool
}

// List returns one page of the bookings that match the filter.
func List(ctx context.Context, s *session.Session, f Filter) (lists.Page[records.Booking], error) {
	l := lists.List{Op: "list bookings"}
	var err error
	if l.Filter, err = bookingFilter(ctx, s, f, false); err != nil {
		return lists.EmptyIfUnmatchable(lists.Page[records.Booking]{Paging: f.Paging}, err)
	}
	if l, err = narrowToIDs(ctx, s, l, f); err != nil {
		return lists.EmptyIfUnmatchable(lists.Page[records.Booking]{Paging: f.Paging}, err)
	}
	if l.Size == nil {
		l = lists.WithLength(s, l, f.Paging, severalIndexes(s, f))
	}
	find := func(ctx context.Context) ([]foundBooking, error) { return findBookings(ctx, s, l, f) }
	return lists.Read(ctx, s, l, f.Paging, find, func(ctx context.Context, found []foundBooking, size *lists.Total) ([]records.Booking, error) {
		return foundBookings(ctx, s, found, f.WithMeta, size)
	})
}

// bookingFilter returns the filter as SQL, but for the search: see narrowToIDs. InOrder is whether the
// bookings are read in the order of the list, without the indexes of the filters; see HideFromIndex.
func bookingFilter(ctx context.Context, s *session.Session, f Filter, inOrder bool) (sq.SelectBuilder, error) {
	q := sq.Select().From(s.DB.As(wpdb.Bookings, "b"))
	if f.CustomerEmail != nil || f.CustomerPhone != nil || f.Search != nil || f.Sort == ByCustomerName {
		q = q.LeftJoin(s.DB.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return filterBookings(ctx, s, q, f, inOrder)
}

// filterBookings adds the filter, but for the search, to a statement on bookings, b, and
// where it needs them customers, c.
func filterBookings(ctx context.Context, s *session.Session, q sq.SelectBuilder, f Filter, inOrder bool) (sq.SelectBuilder, error) {
	if f.PriceMin != nil || f.PriceMax != nil || f.PaymentStatus != nil {
		q = q.Join(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id")
	}
	if f.PaymentStatus != nil {
		q = q.Join(s.DB.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
	}
	column := func(name string) string {
		if inOrder {
			return session.HideFromIndex(name)
		}
		return name
	}
	q = lists.FilterEqual(q, column("b.status"), f.Status)
	q = lists.FilterReference(q, "b.customer_id", f.CustomerID)
	q = lists.FilterReference(q, column("b.agent_id"), f.AgentID)
	q = lists.FilterReference(q, column("b.service_id"), f.ServiceID)
	q = lists.FilterReference(q, column("b.location_id"), f.LocationID)
	q, err := records.FilterPaymentStatus(ctx, s, q, f.PaymentStatus)
	if err != nil {
		return q, err
	}
	q = lists.FilterRange(q, "b.start_date", f.DateFrom, f.DateTo)
	q = lists.FilterInstant(q, "b.created_at", f.CreatedFrom, f.CreatedBefore)
	q = lists.FilterInstant(q, s.Schema.Expr(wpdb.Bookings, "b", "updated_at"), f.UpdatedFrom, f.UpdatedBefore)
	q = lists.FilterRange(q, records.ShownDuration(s), f.DurationMin, f.DurationMax)
	q = lists.FilterRange(q, "i.total", f.PriceMin, f.PriceMax)
	q = lists.FilterSearch(q, f.Code, "b.booking_code")
	q = lists.FilterSearch(q, f.CustomerEmail, "c.email")
	q = lists.FilterPhone(q, f.CustomerPhone, "c.phone")
	if f.MetaKey != nil && f.MetaValue != nil {
		meta := sq.Select("1").From(s.DB.As(wpdb.BookingMeta, "m")).Where("m.object_id = b.id").
			Where(sq.Eq{"m.meta_key": *f.MetaKey}).Where(records.NotSecret("m.meta_key")).
			Where(sq.Like{"m.meta_value": wpdb.Contains(*f.MetaValue)})
		q = q.Where(sq.Expr("EXISTS (?)", meta))
	}
	if f.MetaKey != nil {
		shown := records.VisibleMeta{Site: s}
		visible, err := shown.Has(ctx, *f.MetaKey)
		if err != nil {
			return q, err
		}
		if !visible { // finding a value reveals it
			return q, domain.InvalidParameters(map[string]string{"meta_key": records.HiddenMeta})
		}
	}
	if f.Upcoming || f.Past {
		q = q.Where(records.StartsAfterNow(s, "b", f.Upcoming)).Where(sq.NotEq{"b.status": "cancelled"})
	}
	return q, nil
}

// narrowToIDs adds the search to a list. A search, and a payment status, which has no index, would make
// the server scan the whole table in the order of the list, once for the page and once for the total. If only few
// bookings match, they are found once, in whatever order is quickest, and the list is that of their ids: a
// first search takes half of the time. A search looks through the customers and goes from there to
// their bookings, and then through the codes of the bookings.
func narrowToIDs(ctx context.Context, s *session.Session, l lists.List, f Filter) (lists.List, error) {
	if f.Search == nil && f.PaymentStatus == nil {
		return l, nil
	}
	searched := lists.FilterSearch(l.Filter, f.Search, append(records.SearchedColumns("c"), "b.booking_code")...)
	if s.Export != nil { // which looks for all of them
		l.Filter = searched
		return l, nil
	}
	many := l // the list if many match
	many.Filter, many.ManyMatches = searched, true
	queries := []sq.SelectBuilder{l.Filter}
	if f.Search != nil {
		queries = []sq.SelectBuilder{l.Filter.Where(session.In("b.customer_id", records.SearchedCustomers(s, *f.Search))), lists.FilterSearch(l.Filter, f.Search, "b.booking_code")}
		many.Counts = records.CountSearched(s, l.Filter, *f.Search)
	}
	many = lists.WithLength(s, many, f.Paging, false)
	began := s.Totals.Now()
	ids, more, err := matchingIDs(ctx, l.Op, lists.ListDB(s, many), queries, f.Search == nil || lists.KnownToBeLong(s, many))
	if err != nil {
		return l, err
	}
	lists.RememberOrderedScan(s, many, began)
	if more {
		return many, nil
	}
	if many.Key != "" {
		s.Totals.RememberSize(many.Key, int64(len(ids)))
	}
	l.Size = new(int64(len(ids)))
	l.Filter = sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids})
	if f.Sort == ByCustomerName {
		l.Filter = l.Filter.LeftJoin(s.DB.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return l, nil
}

// matchingIDs returns the ids of the bookings that are found by any of some queries. more reports whether
// these are more than a few. One statement runs all queries, or each query has a statement of its
// own, which is quicker if the first one finds enough.
func matchingIDs(ctx context.Context, op string, db *wpdb.DB, queries []sq.SelectBuilder, sequential bool) (ids []int64, more bool, err error) {
	stmts := make([]sq.SelectBuilder, len(queries))
	for i, query := range queries {
		stmts[i] = query.Column("b.id").Limit(session.MaxIDList + 1)
	}
	if !sequential {
		for i := range stmts {
			stmts[i] = stmts[i].Prefix("(").Suffix(")")
		}
		stmts = []sq.SelectBuilder{lists.UnionAll(stmts[0], stmts[1:]...)}
	}
	for _, stmt := range stmts {
		found, err := wpdb.All(ctx, db, op+": find few", stmt, wpdb.Value[int64])
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, found...)
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > session.MaxIDList {
			return nil, true, nil
		}
	}
	return ids, false, nil
}

var sortColumns = map[Sort][]string{
	ByCreation:     {"b.created_at", "b.id"},
	ByCustomerName: {"COALESCE(c.first_name, '')", "COALESCE(c.last_name, '')", "b.id"},
	ByStatus:       {"b.status", "b.id"},
	ByID:           {"b.id"},
	ByStart:        {"b.start_date", "b.start_time", "b.id"},
}

// foundBooking is a booking of a page, before it is read.
type foundBooking struct {
	id    int64
	date  string // on which it starts; "" for NULL
	order int64  // 0 for none
}

// findBookings finds the bookings of a page and, if there is one, the first booking of the next page.
func findBookings(ctx context.Context, s *session.Session, l lists.List, f Filter) ([]foundBooking, error) {
	order := lists.SortOrder{Columns: sortColumns[f.Sort], Descending: f.Descending}
	if s.Export != nil {
		ids, err := lists.Next(ctx, s.Export, s, l, f.Paging, order)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return sortedBookings(ctx, s, l, f, sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids}))
	}
	if l.Size != nil && f.Offset() >= uint64(*l.Size) {
		return nil, nil
	}
	simple := l.Size == nil && f.PaymentStatus == nil && f.Search == nil
	byName := f.Sort == ByCustomerName && simple && lists.KnownToBeLong(s, l) && (l.OrderedScanIsCheap || s.Scope().Unlimited())
	if l.OrderedScanIsCheap && simple && !byName && severalIndexes(s, f) {
		if f.Status != nil && f.Sort == ByStatus { // all have the same
			f.Sort = ByID
		}
		var err error
		if l.Filter, err = bookingFilter(ctx, s, f, true); err != nil {
			return nil, err
		}
	}
	if l.ManyMatches { // otherwise the server may find all matches by another index, and sort them
		l.Filter = l.Filter.Options("STRAIGHT_JOIN")
	}
	began := s.Totals.Now()
	defer func() { lists.RememberOrderedScan(s, l, began) }()
	switch {
	case f.Sort == ByStart:
		return findBookingsByStart(ctx, s, l, f)
	case byName:
		return findBookingsByName(ctx, s, l, f)
	default:
		return bookingsInWindow(ctx, s, l, f, f.Window(), order.Terms()...)
	}
}

// severalIndexes reports whether several indexes serve the filters and the scope of the caller. An
// index on customers finds few bookings, and is best used alone.
func severalIndexes(s *session.Session, f Filter) bool {
	scope, n := s.Scope(), 0
	for _, used := range []bool{f.AgentID != nil, f.ServiceID != nil, f.LocationID != nil, f.Status != nil, len(scope.Agents) > 0, len(scope.Services) > 0, len(scope.Locations) > 0} {
		if used {
			n++
		}
	}
	return n > 1 && f.CustomerID == nil
}

// sortedBookings finds the few bookings that a statement with a limit selects, in the order
// of the filter. The statement itself reads nothing but ids, and may thus need no more
// than an index.
func sortedBookings(ctx context.Context, s *session.Session, l lists.List, f Filter, few sq.SelectBuilder) ([]foundBooking, error) {
	stmt := sq.Select("b.id", "b.start_date", "i.order_id").FromSelect(few.Column("b.id"), "few").
		Join(s.DB.As(wpdb.Bookings, "b") + " ON b.id = few.id").
		LeftJoin(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		OrderBy(lists.SortColumns(sortColumns[f.Sort], f.Descending)...)
	if f.Sort == ByCustomerName {
		stmt = stmt.LeftJoin(s.DB.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return wpdb.All(ctx, lists.ListDB(s, l), l.Op, stmt, func(row wpdb.Scanner) (b foundBooking, err error) {
		err = row.Scan(wpdb.OrZero(&b.id), wpdb.OrZero(&b.date), wpdb.OrZero(&b.order))
		return b, err
	})
}

// bookingsInWindow finds the bookings of a window of the list in an order, and sorts these in the order
// of the list.
func bookingsInWindow(ctx context.Context, s *session.Session, l lists.List, f Filter, w session.Window, order ...string) ([]foundBooking, error) {
	return sortedBookings(ctx, s, l, f, l.Filter.OrderBy(order...).Limit(w.Rows).Offset(w.First))
}

// foundBookings reads bookings like LoadBookings, with the payment status that the API shows. It
// counts the list where size asks for it.
func foundBookings(ctx context.Context, s *session.Session, found []foundBooking, withMeta bool, size *lists.Total) ([]records.Booking, error) {
	ids, orders := make([]int64, len(found)), make([]int64, 0, len(found))
	for i, b := range found {
		ids[i] = b.id
		if b.order != 0 {
			orders = append(orders, b.order)
		}
	}
	shown := func(stmt sq.SelectBuilder) sq.SelectBuilder {
		return records.JoinRefunds(s, stmt, orders).Column(records.DisplayPaymentStatus)
	}
	return records.ReadBookings(ctx, s, ids, shown, withMeta, size)
}

// First returns the first bookings that match the filter, without counting the
// rest.
func First(ctx context.Context, s *session.Session, f Filter, limit int64) ([]records.Booking, error) {
	f.Paging = session.Paging{Page: 1, PerPage: limit}
	filter, err := bookingFilter(ctx, s, f, false)
	if err != nil {
		return nil, err
	}
	found, err := findBookings(ctx, s, lists.List{Op: "list bookings", Filter: filter}, f)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return foundBookings(ctx, s, found[:min(len(found), int(limit))], f.WithMeta, new(lists.Total))
}
