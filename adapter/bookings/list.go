package bookings

import (
	"context"
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

// List returns one page of the bookings that match the filter. The default plan is one statement, see
// rowsInOrder; search_by_ids.go, ordered_scan.go, by_start.go and by_customer_name.go have the others.
func List(ctx context.Context, s *session.Session, f Filter) (page lists.Page[records.Booking], err error) {
	defer lists.EmptyIfUnmatchable(f.Paging, &page, &err)
	if err := f.checkMetaKey(ctx, s); err != nil {
		return page, err
	}
	l := lists.List{Op: "list bookings", Filter: filtered(s, f, fromBookings(s, f), indexed)}
	if f.Search != nil || f.PaymentStatus != nil {
		l, err = searchByIDs(ctx, s, l, f)
	} else {
		l, f = scanInOrder(s, l, f)
	}
	if err != nil {
		return page, err
	}
	rows, err := find(ctx, s, l, f)
	if err != nil {
		return page, err
	}
	return lists.Read(ctx, s, l, f.Paging, rows, func(rows []listedRow, size *lists.Total) ([]records.Booking, error) {
		return load(ctx, s, rows, f.WithMeta, size)
	})
}

// First returns the first bookings that match the filter, which is neither a search nor by payment
// status, without counting the rest.
func First(ctx context.Context, s *session.Session, f Filter, limit int64) ([]records.Booking, error) {
	f.Paging = session.Paging{Page: 1, PerPage: limit}
	rows, err := find(ctx, s, lists.List{Op: "list bookings", Filter: filtered(s, f, fromBookings(s, f), indexed)}, f)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return load(ctx, s, rows[:min(len(rows), int(limit))], f.WithMeta, new(lists.Total))
}

// fromBookings selects from bookings, b, and customers, c, where the filter or the order needs them.
func fromBookings(s *session.Session, f Filter) sq.SelectBuilder {
	q := sq.Select().From(s.DB.As(wpdb.Bookings, "b"))
	if f.CustomerEmail != nil || f.CustomerPhone != nil || f.Search != nil || f.Sort == ByCustomerName {
		q = q.LeftJoin(s.DB.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return q
}

// filtered adds the filter to a statement on bookings, b, and customers, c, but for the search and the
// payment status: see searchByIDs. column is indexed, or hides columns from their indexes.
func filtered(s *session.Session, f Filter, q sq.SelectBuilder, column func(string) string) sq.SelectBuilder {
	if f.PriceMin != nil || f.PriceMax != nil || f.PaymentStatus != nil {
		q = q.Join(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id")
	}
	q = lists.FilterEqual(q, column("b.status"), f.Status)
	q = lists.FilterReference(q, "b.customer_id", f.CustomerID)
	q = lists.FilterReference(q, column("b.agent_id"), f.AgentID)
	q = lists.FilterReference(q, column("b.service_id"), f.ServiceID)
	q = lists.FilterReference(q, column("b.location_id"), f.LocationID)
	q = lists.FilterRange(q, "b.start_date", f.DateFrom, f.DateTo)
	q = lists.FilterInstant(q, "b.created_at", f.CreatedFrom, f.CreatedBefore)
	q = lists.FilterInstant(q, s.Schema.Expr(wpdb.Bookings, "b", "updated_at"), f.UpdatedFrom, f.UpdatedBefore)
	q = lists.FilterRange(q, shownDuration(s), f.DurationMin, f.DurationMax)
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
	if f.Upcoming || f.Past {
		q = q.Where(records.StartsAfterNow(s, "b", f.Upcoming)).Where(sq.NotEq{"b.status": "cancelled"})
	}
	return q
}

// shownDuration returns the duration of bookings, b, as an expression, see records.Booking.SetTimes. The
// service is read only where the booking has none; no index serves the column in any case.
func shownDuration(s *session.Session) string {
	return "COALESCE(b.duration, (SELECT ds.duration FROM " + s.DB.As(wpdb.Services, "ds") + " WHERE ds.id = b.service_id), 0)"
}

// indexed leaves a column as it is.
func indexed(column string) string { return column }

// checkMetaKey returns a CodeInvalidRequest for meta that is not shown: finding a value reveals it.
func (f Filter) checkMetaKey(ctx context.Context, s *session.Session) error {
	if f.MetaKey == nil {
		return nil
	}
	shown := records.VisibleMeta{Site: s}
	visible, err := shown.Has(ctx, *f.MetaKey)
	if err == nil && !visible {
		return domain.InvalidParameters(map[string]string{"meta_key": records.HiddenMeta})
	}
	return err
}

var sortColumns = map[Sort][]string{
	ByCreation:     {"b.created_at", "b.id"},
	ByCustomerName: {"COALESCE(c.first_name, '')", "COALESCE(c.last_name, '')", "b.id"},
	ByStatus:       {"b.status", "b.id"},
	ByID:           {"b.id"},
	ByStart:        {"b.start_date", "b.start_time", "b.id"},
}

// order is the order of the list.
func (f Filter) order() lists.SortOrder {
	return lists.SortOrder{Columns: sortColumns[f.Sort], Descending: f.Descending}
}

// listedRow is a booking of a page, before its record is read.
type listedRow struct {
	id    int64
	date  string // on which it starts; "" for NULL
	order int64  // 0 for none
}

// find finds the bookings of a page and, if there is one, the first booking of the next page.
func find(ctx context.Context, s *session.Session, l lists.List, f Filter) ([]listedRow, error) {
	began := s.Totals.Now()
	defer func() { lists.RememberOrderedScan(s, l, began) }()
	switch {
	case s.Export != nil:
		ids, err := lists.Next(ctx, s.Export, s, l, f.Paging, f.order())
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return rowsInOrder(ctx, s, l, f, sq.Select().From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{"b.id": ids}))
	case l.Size != nil && f.Offset() >= uint64(*l.Size):
		return nil, nil
	case f.Sort == ByStart:
		return rowsByStart(ctx, s, l, f)
	case scansNames(s, l, f):
		return rowsByCustomerName(ctx, s, l, f)
	default:
		return rowsInOrder(ctx, s, l, f, l.Filter.OrderBy(f.order().Terms()...).Limit(f.Limit()).Offset(f.Offset()))
	}
}

// rowsInOrder finds the bookings that a statement with a limit selects, in the order of the list: for the
// latest bookings of agent 3,
//
//	SELECT b.id, b.start_date, i.order_id
//	FROM (SELECT b.id FROM bookings b WHERE b.agent_id = 3 ORDER BY b.created_at DESC, b.id DESC LIMIT 21) page
//	JOIN bookings b ON b.id = page.id LEFT JOIN order_items i ON i.id = b.order_item_id
//	ORDER BY b.created_at DESC, b.id DESC
//
// The statement itself reads nothing but ids, and may thus need no more than an index.
func rowsInOrder(ctx context.Context, s *session.Session, l lists.List, f Filter, page sq.SelectBuilder) ([]listedRow, error) {
	stmt := sq.Select("b.id", "b.start_date", "i.order_id").FromSelect(page.Column("b.id"), "page").
		Join(s.DB.As(wpdb.Bookings, "b") + " ON b.id = page.id").
		LeftJoin(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		OrderBy(f.order().Terms()...)
	if f.Sort == ByCustomerName {
		stmt = stmt.LeftJoin(s.DB.As(wpdb.Customers, "c") + " ON c.id = b.customer_id")
	}
	return wpdb.All(ctx, lists.ListDB(s, l), l.Op, stmt, func(row wpdb.Scanner) (b listedRow, err error) {
		err = row.Scan(wpdb.OrZero(&b.id), wpdb.OrZero(&b.date), wpdb.OrZero(&b.order))
		return b, err
	})
}

// load reads the bookings of a page, with the payment status that the API shows. It counts the list
// where size asks for it.
func load(ctx context.Context, s *session.Session, rows []listedRow, withMeta bool, size *lists.Total) ([]records.Booking, error) {
	ids, orders := make([]int64, len(rows)), make([]int64, 0, len(rows))
	for i, b := range rows {
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
