package adapter

import (
	"context"
	"slices"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/wpdb"
)

// Booking is a booking with the records it refers to. A dangling reference
// keeps its id and has empty texts.
type Booking struct {
	ID           int64
	Code         string
	Status       string
	StartDate    Date
	EndDate      Date
	StartTime    *Minutes // as stored, which may not be a time: see IsTime
	EndTime      *Minutes // likewise, on EndDate; 1440 for an end at midnight; nil if there is no start
	EndCorrected bool     // another end is stored, which cannot be right
	Duration     int64    // minutes
	BufferBefore int64    // minutes
	BufferAfter  int64    // minutes
	Attendees    int64
	Customer     BookingCustomer
	Agent        BookingAgent
	Service      *BookingService // nil where none exists
	Location     BookingLocation
	OrderItemID  int64           // 0 where none is stored
	Order        *BookingOrder   // nil where none exists
	Price        decimal.Decimal // the order item's total; 0 without an order item
	CreatedAt    domain.Timestamp
	UpdatedAt    domain.Timestamp
	Meta         map[string]string // nil unless asked for
}

// BookingCustomer is the part of a customer that bookings show.
type BookingCustomer struct {
	ID                                int64
	FirstName, LastName, Email, Phone string
}

// BookingAgent is the part of an agent that bookings show.
type BookingAgent struct {
	ID                     int64
	FullName, Email, Phone string
}

// BookingService is the part of a service that bookings and agents show.
type BookingService struct {
	ID                             int64
	Name, ShortDescription, Status string
	Duration                       int64 // minutes
	PriceMin, PriceMax             decimal.Decimal
}

// BookingLocation is the part of a location that bookings show.
type BookingLocation struct {
	ID                *int64 // nil where the booking has none
	Name, FullAddress string
	Category          *CategoryName // nil where it has none
}

// CategoryName is the id and name of a category.
type CategoryName struct {
	ID   int64
	Name string
}

// BookingOrder is the part of an order that bookings show.
type BookingOrder struct {
	ID              int64
	PaymentStatus   string // in lists as the API shows it; a single booking's Order has both
	CustomerComment *string
}

// Assignment is to what the booking belongs.
func (b Booking) Assignment() journal.Assignment {
	return journal.Assignment{AgentID: b.Agent.ID, ServiceID: b.serviceID(), LocationID: b.locationID(), CustomerID: b.Customer.ID}
}

// agentFullName mirrors OsAgentModel::get_full_name, LatePoint 5.6.5.
func agentFullName(first, last string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return "Agent"
}

// BookingSort is a sort order of bookings.
type BookingSort int

// The sort orders of bookings. Ties are broken by id, in the same direction.
const (
	BookingsByStart        BookingSort = iota // date, then time
	BookingsByCreation                        //
	BookingsByCustomerName                    // first name, then last name
	BookingsByStatus                          //
	BookingsByID                              //
)

// BookingFilter filters and sorts a list of bookings. A nil field does not filter.
type BookingFilter struct {
	Paging
	Status                                     *string
	CustomerID, AgentID, ServiceID, LocationID *int64 // 0 for none
	DateFrom, DateTo                           *Date  // both inclusive
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
	Sort                                       BookingSort
	Descending                                 bool
}

// Bookings returns one page of the bookings that match the filter.
func (s *Site) Bookings(ctx context.Context, f BookingFilter) (Page[Booking], error) {
	l := list{op: "list bookings"}
	var err error
	if l.filter, err = s.bookingFilter(ctx, f, false); err != nil {
		return emptyIfUnmatchable(Page[Booking]{Paging: f.Paging}, err)
	}
	if l, err = s.narrowToIDs(ctx, l, f); err != nil {
		return emptyIfUnmatchable(Page[Booking]{Paging: f.Paging}, err)
	}
	if l.size == nil {
		l = s.withLength(l, f.Paging, s.severalIndexes(f))
	}
	find := func(ctx context.Context) ([]foundBooking, error) { return s.findBookings(ctx, l, f) }
	return readPage(ctx, s, l, f.Paging, find, func(ctx context.Context, found []foundBooking, size *total) ([]Booking, error) {
		return s.foundBookings(ctx, found, f.WithMeta, size)
	})
}

// bookingFilter returns the filter as SQL, but for the search: see narrowToIDs. inOrder is whether the
// bookings are read in the order of the list, without the indexes of the filters; see hideFromIndex.
func (s *Site) bookingFilter(ctx context.Context, f BookingFilter, inOrder bool) (sq.SelectBuilder, error) {
	q := sq.Select().From(s.db.As(wpdb.Bookings, "b"))
	if f.CustomerEmail != nil || f.CustomerPhone != nil || f.Search != nil || f.Sort == BookingsByCustomerName {
		q = q.LeftJoin(s.db.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return s.filterBookings(ctx, q, f, inOrder)
}

// filterBookings adds the filter, but for the search, to a statement on bookings, b, and
// where it needs them customers, c.
func (s *Site) filterBookings(ctx context.Context, q sq.SelectBuilder, f BookingFilter, inOrder bool) (sq.SelectBuilder, error) {
	if f.PriceMin != nil || f.PriceMax != nil || f.PaymentStatus != nil {
		q = q.Join(s.db.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id")
	}
	if f.PaymentStatus != nil {
		q = q.Join(s.db.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
	}
	column := func(name string) string {
		if inOrder {
			return hideFromIndex(name)
		}
		return name
	}
	q = filterEqual(q, column("b.status"), f.Status)
	q = filterReference(q, "b.customer_id", f.CustomerID)
	q = filterReference(q, column("b.agent_id"), f.AgentID)
	q = filterReference(q, column("b.service_id"), f.ServiceID)
	q = filterReference(q, column("b.location_id"), f.LocationID)
	q, err := s.filterPaymentStatus(ctx, q, f.PaymentStatus)
	if err != nil {
		return q, err
	}
	q = filterRange(q, "b.start_date", f.DateFrom, f.DateTo)
	q = filterInstant(q, "b.created_at", f.CreatedFrom, f.CreatedBefore)
	q = filterInstant(q, s.schema.Expr(wpdb.Bookings, "b", "updated_at"), f.UpdatedFrom, f.UpdatedBefore)
	q = filterRange(q, s.shownDuration(), f.DurationMin, f.DurationMax)
	q = filterRange(q, "i.total", f.PriceMin, f.PriceMax)
	q = filterSearch(q, f.Code, "b.booking_code")
	q = filterSearch(q, f.CustomerEmail, "c.email")
	q = filterPhone(q, f.CustomerPhone, "c.phone")
	if f.MetaKey != nil && f.MetaValue != nil {
		meta := sq.Select("1").From(s.db.As(wpdb.BookingMeta, "m")).Where("m.object_id = b.id").
			Where(sq.Eq{"m.meta_key": *f.MetaKey}).Where(notSecret("m.meta_key")).
			Where(sq.Like{"m.meta_value": wpdb.Contains(*f.MetaValue)})
		q = q.Where(sq.Expr("EXISTS (?)", meta))
	}
	if f.MetaKey != nil {
		shown := visibleMeta{site: s}
		visible, err := shown.has(ctx, *f.MetaKey)
		if err != nil {
			return q, err
		}
		if !visible { // finding a value reveals it
			return q, domain.InvalidParameters(map[string]string{"meta_key": hiddenMeta})
		}
	}
	if f.Upcoming || f.Past {
		q = q.Where(s.startsAfterNow("b", f.Upcoming)).Where(sq.NotEq{"b.status": "cancelled"})
	}
	return q, nil
}

// shownDuration returns the duration of bookings, b, as an expression, see Booking.setTimes. The
// service is read only where the booking has none; no index serves the column in any case.
func (s *Site) shownDuration() string {
	return "COALESCE(b.duration, (SELECT ds.duration FROM " + s.db.As(wpdb.Services, "ds") + " WHERE ds.id = b.service_id), 0)"
}

// searchedColumns are the expressions in which a search looks for customers.
func searchedColumns(alias string) []string {
	return []string{alias + ".first_name", alias + ".last_name", fullName(alias), alias + ".email"}
}

// maxIDList is how many records are so few that a list is better read by their ids.
const maxIDList = 1000

// narrowToIDs adds the search to a list. A filter that no index serves would make the
// server scan the whole table in the order of the list, once for the page and once
// for the total. If only few bookings match, they are found once, in whatever order is
// quickest, and the list is that of their ids. A search looks through the customers and
// goes from there to their bookings, and then through the codes of the bookings.
func (s *Site) narrowToIDs(ctx context.Context, l list, f BookingFilter) (list, error) {
	noIndex := f.PaymentStatus != nil || f.PriceMin != nil || f.PriceMax != nil || f.CustomerEmail != nil || f.CustomerPhone != nil ||
		f.UpdatedFrom != nil || f.UpdatedBefore != nil || f.Code != nil || f.DurationMin != nil || f.DurationMax != nil
	if !noIndex && f.Search == nil {
		return l, nil
	}
	searched := filterSearch(l.filter, f.Search, append(searchedColumns("c"), "b.booking_code")...)
	if s.export != nil { // which looks for all of them
		l.filter = searched
		return l, nil
	}
	many := l // the list if many match
	many.filter, many.manyMatches = searched, true
	queries := []sq.SelectBuilder{l.filter}
	if f.Search != nil {
		queries = []sq.SelectBuilder{l.filter.Where(in("b.customer_id", s.searchedCustomers(*f.Search))), filterSearch(l.filter, f.Search, "b.booking_code")}
		many.counts = s.countSearched(l.filter, *f.Search)
	}
	many = s.withLength(many, f.Paging, false)
	began := s.totals.now()
	ids, more, err := matchingIDs(ctx, l.op, s.listDB(many), queries, f.Search == nil || s.knownToBeLong(many))
	if err != nil {
		return l, err
	}
	s.rememberOrderedScan(many, began)
	if more {
		return many, nil
	}
	if many.key != "" {
		s.totals.rememberSize(many.key, int64(len(ids)))
	}
	l.size = new(int64(len(ids)))
	l.filter = sq.Select().From(s.db.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids})
	if f.Sort == BookingsByCustomerName {
		l.filter = l.filter.LeftJoin(s.db.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return l, nil
}

// matchingIDs returns the ids of the bookings that are found by any of some queries. more reports whether
// these are more than a few. One statement runs all queries, or each query has a statement of its
// own, which is quicker if the first one finds enough.
func matchingIDs(ctx context.Context, op string, db *wpdb.DB, queries []sq.SelectBuilder, sequential bool) (ids []int64, more bool, err error) {
	stmts := make([]sq.SelectBuilder, len(queries))
	for i, query := range queries {
		stmts[i] = query.Column("b.id").Limit(maxIDList + 1)
	}
	if !sequential {
		for i := range stmts {
			stmts[i] = stmts[i].Prefix("(").Suffix(")")
		}
		stmts = []sq.SelectBuilder{unionAll(stmts[0], stmts[1:]...)}
	}
	for _, stmt := range stmts {
		found, err := wpdb.All(ctx, db, op+": find few", stmt, wpdb.Value[int64])
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, found...)
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > maxIDList {
			return nil, true, nil
		}
	}
	return ids, false, nil
}

// searchedCustomers selects the customers whom a search for bookings finds. As a join, servers
// would read all bookings and the customer of each.
func (s *Site) searchedCustomers(text string) sq.SelectBuilder {
	return sq.Select("k.id").From(s.db.As(wpdb.Customers, "k")).Where(containsAny(text, searchedColumns("k")...))
}

// countSearched counts the bookings of a search: those of customers who match, and those of
// others whose code matches. To ask both at once would take a look at the customer of each
// booking.
func (s *Site) countSearched(filter sq.SelectBuilder, text string) sq.Sqlizer {
	byCustomer := filter.Where(in("b.customer_id", s.searchedCustomers(text)))
	byCode := filterContains(filter, text, "b.booking_code").Where(sq.Expr("(?) IS NOT TRUE", containsAny(text, searchedColumns("c")...)))
	return sq.ConcatExpr("SELECT (", byCustomer.Column("COUNT(*)"), ") + (", byCode.Column("COUNT(*)"), ")")
}

// startsAfterNow returns the condition that a booking begins after the present minute of
// the site, or that it does not (OsCustomerModel::get_future_bookings, LatePoint 5.6.5).
func (s *Site) startsAfterNow(alias string, after bool) sq.Sqlizer {
	condition := "(" + alias + ".start_date > ? OR " + alias + ".start_date = ? AND " + alias + ".start_time > ?)"
	if !after {
		condition = "NOT COALESCE(" + condition + ", FALSE)"
	}
	return sq.Expr(condition, s.Today(), s.Today(), s.minuteOfDay())
}

var bookingOrder = map[BookingSort][]string{
	BookingsByCreation:     {"b.created_at", "b.id"},
	BookingsByCustomerName: {"COALESCE(c.first_name, '')", "COALESCE(c.last_name, '')", "b.id"},
	BookingsByStatus:       {"b.status", "b.id"},
	BookingsByID:           {"b.id"},
	BookingsByStart:        {"b.start_date", "b.start_time", "b.id"},
}

// foundBooking is a booking of a page, before it is read.
type foundBooking struct {
	id    int64
	date  string // on which it starts; "" for NULL
	order int64  // 0 for none
}

// findBookings finds the bookings of a page and, if there is one, the first booking of the next page.
func (s *Site) findBookings(ctx context.Context, l list, f BookingFilter) ([]foundBooking, error) {
	order := sortOrder{bookingOrder[f.Sort], f.Descending}
	if s.export != nil {
		ids, err := s.export.next(ctx, s, l, f.Paging, order)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return s.sortedBookings(ctx, l, f, sq.Select().From(s.db.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids}))
	}
	if l.size != nil && f.offset() >= uint64(*l.size) {
		return nil, nil
	}
	simple := l.size == nil && f.PaymentStatus == nil && f.Search == nil
	byName := f.Sort == BookingsByCustomerName && simple && s.knownToBeLong(l) && (l.orderedScanIsCheap || s.limits().None())
	if l.orderedScanIsCheap && simple && !byName && s.severalIndexes(f) {
		if f.Status != nil && f.Sort == BookingsByStatus { // all have the same
			f.Sort = BookingsByID
		}
		var err error
		if l.filter, err = s.bookingFilter(ctx, f, true); err != nil {
			return nil, err
		}
	}
	if l.manyMatches { // otherwise the server may find all matches by another index, and sort them
		l.filter = l.filter.Options("STRAIGHT_JOIN")
	}
	began := s.totals.now()
	defer func() { s.rememberOrderedScan(l, began) }()
	switch {
	case f.Sort == BookingsByStart:
		return s.findBookingsByStart(ctx, l, f)
	case byName:
		return s.findBookingsByName(ctx, l, f)
	default:
		return s.bookingsInWindow(ctx, l, f, f.window(), order.terms()...)
	}
}

// severalIndexes reports whether several indexes serve the filters and the limits of the caller. An
// index on customers finds few bookings, and is best used alone.
func (s *Site) severalIndexes(f BookingFilter) bool {
	l, n := s.limits(), 0
	for _, used := range []bool{f.AgentID != nil, f.ServiceID != nil, f.LocationID != nil, f.Status != nil, len(l.Agents) > 0, len(l.Services) > 0, len(l.Locations) > 0} {
		if used {
			n++
		}
	}
	return n > 1 && f.CustomerID == nil
}

// sortedBookings finds the few bookings that a statement with a limit selects, in the order
// of the filter. The statement itself reads nothing but ids, and may thus need no more
// than an index.
func (s *Site) sortedBookings(ctx context.Context, l list, f BookingFilter, few sq.SelectBuilder) ([]foundBooking, error) {
	stmt := sq.Select("b.id", "b.start_date", "i.order_id").FromSelect(few.Column("b.id"), "few").
		Join(s.db.As(wpdb.Bookings, "b") + " ON b.id = few.id").
		LeftJoin(s.db.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		OrderBy(sortColumns(bookingOrder[f.Sort], f.Descending)...)
	if f.Sort == BookingsByCustomerName {
		stmt = stmt.LeftJoin(s.db.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return wpdb.All(ctx, s.listDB(l), l.op, stmt, func(row wpdb.Scanner) (b foundBooking, err error) {
		err = row.Scan(wpdb.OrZero(&b.id), wpdb.OrZero(&b.date), wpdb.OrZero(&b.order))
		return b, err
	})
}

// bookingsInWindow finds the bookings of a window of the list in an order, and sorts these in the order
// of the list.
func (s *Site) bookingsInWindow(ctx context.Context, l list, f BookingFilter, w window, order ...string) ([]foundBooking, error) {
	return s.sortedBookings(ctx, l, f, l.filter.OrderBy(order...).Limit(w.rows).Offset(w.first))
}

// bookingsByID reads bookings with their to-one associations, each by primary key, in the
// order of the ids. Their payment status is the stored one.
func (s *Site) bookingsByID(ctx context.Context, ids []int64, withMeta bool) ([]Booking, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stored := func(stmt sq.SelectBuilder) sq.SelectBuilder { return stmt.Column("o.payment_status") }
	return s.readBookings(ctx, ids, stored, withMeta, new(total))
}

// foundBookings reads bookings like bookingsByID, with the payment status that the API shows. It
// counts the list where size asks for it.
func (s *Site) foundBookings(ctx context.Context, found []foundBooking, withMeta bool, size *total) ([]Booking, error) {
	ids, orders := make([]int64, len(found)), make([]int64, 0, len(found))
	for i, b := range found {
		ids[i] = b.id
		if b.order != 0 {
			orders = append(orders, b.order)
		}
	}
	shown := func(stmt sq.SelectBuilder) sq.SelectBuilder {
		return s.joinRefunds(stmt, orders).Column(displayPaymentStatus)
	}
	return s.readBookings(ctx, ids, shown, withMeta, size)
}

// readBookings reads bookings in the order of their ids. Those deleted in the meantime are left out.
// withStatus adds the payment status of their orders, o.
func (s *Site) readBookings(ctx context.Context, ids []int64, withStatus func(sq.SelectBuilder) sq.SelectBuilder, withMeta bool, size *total) ([]Booking, error) {
	stmt := withStatus(s.bookingRecords().From(s.db.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids})).Column(size.column())
	found, err := wpdb.All(ctx, s.db, "read bookings", stmt, newListedRow(size).scan)
	s.rememberCount(size, err)
	if err != nil {
		return nil, err
	}
	records := make([]Booking, 0, len(found))
	for _, b := range inOrder(ids, byID(found, func(b *Booking) int64 { return b.ID })) {
		s.correctEnd(b)
		records = append(records, *b)
	}
	if !withMeta || len(records) == 0 {
		return records, nil
	}
	return records, s.addBookingMeta(ctx, records)
}

// bookingRecords selects bookings, b, and the records that they refer to. The caller adds the
// payment status of their orders, o, and the total, and then listedRow scans the rows.
func (s *Site) bookingRecords() sq.SelectBuilder {
	return sq.Select(s.schema.Columns(wpdb.Bookings, "b", "id", "booking_code", "status", "start_date", "end_date", "start_time", "end_time",
		"duration", "buffer_before", "buffer_after", "total_attendees", "customer_id", "agent_id", "location_id", "created_at", "updated_at")...).
		Columns("c.first_name", "c.last_name", "c.email", "c.phone",
			"a.id", "a.first_name", "a.last_name", "a.email", "a.phone",
			"s.id", "s.name", "s.short_description", "s.status", "s.duration", "s.price_min", "s.price_max",
			"l.name", "l.full_address", "lc.id", "lc.name",
			"b.order_item_id", "i.total", "o.id", "o.customer_comment").
		LeftJoin(s.db.As(wpdb.Customers, "c") + " ON c.id = b.customer_id").
		LeftJoin(s.db.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.db.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.db.As(wpdb.Locations, "l") + " ON l.id = b.location_id").
		LeftJoin(s.db.As(wpdb.LocationCategories, "lc") + " ON lc.id = l.category_id").
		LeftJoin(s.db.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		LeftJoin(s.db.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
}

// listedRow has the variables into which the rows of readBookings are scanned, one after the
// other: variables of its own for each row would cost more than all else.
type listedRow struct {
	Booking
	service                   BookingService
	category                  CategoryName
	order                     BookingOrder
	agentID                   int64 // 0 where there is none; the ids of the others too
	agentFirst, agentLast     string
	duration                  *int64
	price, priceMin, priceMax decimal.NullDecimal
	columns                   []any
}

// newListedRow returns a row to be scanned, with the total of the list where the statement has it.
func newListedRow(size *total) *listedRow {
	r := new(listedRow)
	r.columns = []any{wpdb.OrZero(&r.ID), wpdb.OrZero(&r.Code), &r.Status, wpdb.OrZero((*string)(&r.StartDate)), wpdb.OrZero((*string)(&r.EndDate)), &r.StartTime, &r.EndTime,
		&r.duration, wpdb.OrZero(&r.BufferBefore), wpdb.OrZero(&r.BufferAfter), wpdb.OrZero(&r.Attendees),
		wpdb.OrZero(&r.Customer.ID), wpdb.OrZero(&r.Agent.ID), &r.Location.ID, wpdb.OrZero((*string)(&r.CreatedAt)), wpdb.OrZero((*string)(&r.UpdatedAt)),
		wpdb.OrZero(&r.Customer.FirstName), wpdb.OrZero(&r.Customer.LastName), wpdb.OrZero(&r.Customer.Email), wpdb.OrZero(&r.Customer.Phone),
		wpdb.OrZero(&r.agentID), wpdb.OrZero(&r.agentFirst), wpdb.OrZero(&r.agentLast), wpdb.OrZero(&r.Agent.Email), wpdb.OrZero(&r.Agent.Phone),
		wpdb.OrZero(&r.service.ID), wpdb.OrZero(&r.service.Name), wpdb.OrZero(&r.service.ShortDescription), wpdb.OrZero(&r.service.Status), wpdb.OrZero(&r.service.Duration), &r.priceMin, &r.priceMax,
		wpdb.OrZero(&r.Location.Name), wpdb.OrZero(&r.Location.FullAddress), wpdb.OrZero(&r.category.ID), wpdb.OrZero(&r.category.Name),
		wpdb.OrZero(&r.OrderItemID), &r.price, wpdb.OrZero(&r.order.ID), &r.order.CustomerComment,
		wpdb.OrZero(&r.order.PaymentStatus), size.dest()}
	return r
}

// scan reads a row. All columns are scanned, so that nothing is left of the row before.
func (r *listedRow) scan(row wpdb.Scanner) (*Booking, error) {
	if err := row.Scan(r.columns...); err != nil {
		return nil, err
	}
	b := r.Booking
	b.Price = orZeroAmount(r.price)
	if b.Attendees == 0 {
		b.Attendees = 1
	}
	if r.agentID != 0 {
		b.Agent.FullName = agentFullName(r.agentFirst, r.agentLast)
	}
	if r.service.ID != 0 {
		service := r.service
		service.PriceMin, service.PriceMax = orZeroAmount(r.priceMin), orZeroAmount(r.priceMax)
		b.Service = &service
	}
	if r.category.ID != 0 {
		category := r.category
		b.Location.Category = &category
	}
	if r.order.ID != 0 {
		order := r.order
		b.Order = &order
	}
	b.setTimes(r.duration)
	return &b, nil
}

// orZeroAmount returns an amount, 0 for NULL, of which a scan leaves the amount that was there.
func orZeroAmount(amount decimal.NullDecimal) decimal.Decimal {
	if !amount.Valid {
		return decimal.Decimal{}
	}
	return amount.Decimal
}

// minutesPerDay is also the end time stored for an end at midnight.
const minutesPerDay = 24 * 60

// IsTime reports whether a stored number is a time of day. Work past midnight goes on to
// the end of the next day.
func IsTime(m *Minutes) bool { return m != nil && *m >= 0 && *m <= 2*minutesPerDay }

// setTimes fills in what the plugin's abilities interface leaves NULL: the duration from
// the service, the end from start and duration.
func (b *Booking) setTimes(duration *int64) {
	switch {
	case duration != nil:
		b.Duration = *duration
	case b.Service != nil:
		b.Duration = b.Service.Duration
	}
	if b.EndTime != nil || !IsTime(b.StartTime) {
		return
	}
	end := *b.StartTime + Minutes(b.Duration)
	if end > minutesPerDay {
		end %= minutesPerDay
	}
	b.EndTime = &end
}

// Booking returns one booking with its meta; a CodeNotFound if it does not exist.
func (s *Site) Booking(ctx context.Context, id int64) (Booking, error) {
	records, err := s.bookingsByID(ctx, []int64{id}, true)
	if err != nil {
		return Booking{}, err
	}
	if len(records) == 0 {
		return Booking{}, domain.NotFound(domain.BookingResource, id)
	}
	return records[0], nil
}

// Start returns the instant at which the booking begins, in the site's zone. ok is false
// if no date or time is stored.
func (s *Site) Start(b Booking) (instant time.Time, ok bool) {
	if !IsTime(b.StartTime) {
		return time.Time{}, false
	}
	return s.Zone.Instant(b.StartDate, *b.StartTime)
}

// End returns the instant at which the booking ends, in the site's zone: when the clock
// shows the stored end, if that can be right. It does not use the stored UTC columns, which
// the plugin leaves NULL or a day late around midnight.
func (s *Site) End(b Booking) (instant time.Time, ok bool) {
	_, end, ok := s.span(b)
	if !ok {
		return time.Time{}, false
	}
	return s.Zone.clock().Instant(end), true
}

// span returns when the booking takes place; see availability.Clock. ok is false if no date
// or time is stored.
func (s *Site) span(b Booking) (start, end availability.Moment, ok bool) {
	start, ok = storedMoment(b.StartDate, b.StartTime)
	if !ok {
		return start, end, false
	}
	stored, known := storedMoment(b.EndDate, b.EndTime)
	if !known {
		return start, s.Zone.clock().End(start, Minutes(b.Duration)), true
	}
	return start, s.Zone.clock().StoredEnd(start, stored, Minutes(b.Duration)), true
}

// storedMoment returns a stored date and time; ok is false if either is no such thing.
func storedMoment(date Date, minutes *Minutes) (m availability.Moment, ok bool) {
	day, known := availability.ParseDay(string(date))
	if !known || !IsTime(minutes) {
		return m, false
	}
	return availability.Moment{Day: day, Minutes: *minutes}, true
}

// correctEnd replaces a stored end that cannot be right by the one that counts, in the form in which
// the plugin stores ends.
func (s *Site) correctEnd(b *Booking) {
	start, known := storedMoment(b.StartDate, b.StartTime)
	stored, complete := storedMoment(b.EndDate, b.EndTime)
	if !known || complete && availability.CanEnd(start, stored) {
		return
	}
	_, end, _ := s.span(*b)
	right := s.spanUntil(start, end).end
	b.EndDate, b.EndTime, b.EndCorrected = Date(right.Day.String()), &right.Minutes, true
}

// length returns how many minutes the booking takes, by the same end as End.
func (s *Site) length(b Booking) Minutes {
	if start, end, ok := s.span(b); ok {
		return s.Zone.clock().Length(start, end)
	}
	return Minutes(b.Duration)
}

// bookingStatuses are the booking statuses of every site.
var bookingStatuses = []string{"pending", "approved", "cancelled", "completed", "no_show", "payment_pending"}

// KnowsBookingStatus reports whether a status is the platform's or one of the
// site's own (OsBookingHelper::get_statuses_list, LatePoint 5.6.5).
func (s *Site) KnowsBookingStatus(ctx context.Context, status string) (bool, error) {
	for _, known := range bookingStatuses {
		if status == known {
			return true, nil
		}
	}
	settings, err := s.db.SettingValues(ctx, settingOwnStatuses)
	if err != nil {
		return false, err
	}
	return slices.Contains(ownStatuses(settings[settingOwnStatuses]), status), nil
}

// ownStatuses returns the codes of a site's own booking statuses, from the setting
// with their labels.
func ownStatuses(labels string) []string {
	var codes []string
	for label := range strings.SplitSeq(labels, ",") {
		if code := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(label)), " ", "_"); code != "" {
			codes = append(codes, code)
		}
	}
	return codes
}

// FirstBookings returns the first bookings that match the filter, without counting the
// rest.
func (s *Site) FirstBookings(ctx context.Context, f BookingFilter, limit int64) ([]Booking, error) {
	f.Paging = Paging{Page: 1, PerPage: limit}
	filter, err := s.bookingFilter(ctx, f, false)
	if err != nil {
		return nil, err
	}
	found, err := s.findBookings(ctx, list{op: "list bookings", filter: filter}, f)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return s.foundBookings(ctx, found[:min(len(found), int(limit))], f.WithMeta, new(total))
}

// serviceID returns the id of the service; 0 for none.
func (b Booking) serviceID() int64 {
	if b.Service == nil {
		return 0
	}
	return b.Service.ID
}

// locationID returns the id of the location; 0 for none.
func (b Booking) locationID() int64 { return domain.ValueOr(b.Location.ID, 0) }

// location returns the id of the location; nil where none is stored.
func (b Booking) location() *int64 {
	if b.locationID() == 0 {
		return nil
	}
	return b.Location.ID
}

// addBookingMeta reads the visible meta of bookings.
func (s *Site) addBookingMeta(ctx context.Context, records []Booking) error {
	ids := idsOf(records, func(b Booking) int64 { return b.ID })
	metas, err := s.metas(ctx, wpdb.BookingMeta, ids, notSecret("meta_key"))
	if err != nil {
		return err
	}
	shown := visibleMeta{site: s}
	for i := range records {
		records[i].Meta = map[string]string{}
		for key, value := range metas[records[i].ID] {
			visible, err := shown.has(ctx, key)
			if err != nil {
				return err
			}
			if visible {
				records[i].Meta[key] = value
			}
		}
	}
	return nil
}
