package bookings

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
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
	References
	Times
	Values
	Texts
	Order
	WithMeta bool
}

// References filter by what a booking is of. 0 is none.
type References struct{ CustomerID, AgentID, ServiceID, LocationID *int64 }

// Times filter by when a booking is and when it was made.
type Times struct {
	DateFrom, DateTo           *session.Date // both inclusive
	CreatedFrom, CreatedBefore *time.Time
	UpdatedFrom, UpdatedBefore *time.Time
	Upcoming, Past             bool // by the site's clock
}

// Values filter by status, duration and price.
type Values struct {
	Status, PaymentStatus    *string
	DurationMin, DurationMax *int64 // minutes
	PriceMin, PriceMax       *decimal.Decimal
}

// Texts filter by parts of texts.
type Texts struct {
	Code                         *string
	CustomerEmail, CustomerPhone *string
	MetaKey, MetaValue           *string // together; the key is whole
	Search                       *string // customer name, e-mail or booking code
}

// Order is how bookings are sorted.
type Order struct {
	Sort       Sort
	Descending bool
}

// List returns one page of the bookings that match the filter. Its rows are found by one statement, see
// rowsInOrder, or by start, see rowsByStart.
func List(ctx context.Context, s *session.Session, f Filter) (page records.Page[records.Booking], err error) {
	defer records.EmptyIfUnmatchable(f.Paging, &page, &err)
	if err := f.checkMetaKey(ctx, s); err != nil {
		return page, err
	}
	l := records.List{Op: "list bookings", Filter: filtered(s, f)}
	var rows []listedRow
	switch {
	case s.Export != nil:
		rows, err = rowsOfChunk(ctx, s, l, f)
	case f.Sort == ByStart && f.Texts == (Texts{}): // few bookings match a text: finding them all is faster than a walk
		rows, err = rowsByStart(ctx, s, l, f)
	default:
		rows, err = rowsInOrder(ctx, s, l, f, l.Filter.OrderBy(f.order().Terms()...).Limit(f.Limit()).Offset(f.Offset()))
	}
	if err != nil {
		return page, err
	}
	return records.ReadPage(ctx, s, l, f.Paging, rows, func(rows []listedRow, size *records.Total) ([]records.Booking, error) {
		return load(ctx, s, rows, f.WithMeta, size)
	})
}

// First returns the first bookings that match the filter, by start, without counting the rest.
func First(ctx context.Context, s *session.Session, f Filter, limit int64) ([]records.Booking, error) {
	f.Paging, f.Sort = session.Paging{Page: 1, PerPage: limit}, ByStart
	rows, err := rowsByStart(ctx, s, records.List{Op: "list bookings", Filter: filtered(s, f)}, f)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return load(ctx, s, rows[:min(len(rows), int(limit))], f.WithMeta, new(records.Total))
}

// filtered selects the bookings, b, that match the filter. It joins customers, c, if the order needs them.
func filtered(s *session.Session, f Filter) sq.SelectBuilder {
	q := sq.Select().From(s.DB.As(wpdb.Bookings, "b"))
	if f.Sort == ByCustomerName {
		q = q.LeftJoin(session.JoinCustomer(s))
	}
	q = f.References.filter(q)
	q = f.Times.filter(s, q)
	q = f.Values.filter(s, q)
	return f.Texts.filter(s, q)
}

func (r References) filter(q sq.SelectBuilder) sq.SelectBuilder {
	q = records.FilterReference(q, "b.customer_id", r.CustomerID)
	q = records.FilterReference(q, "b.agent_id", r.AgentID)
	q = records.FilterReference(q, "b.service_id", r.ServiceID)
	return records.FilterReference(q, "b.location_id", r.LocationID)
}

func (t Times) filter(s *session.Session, q sq.SelectBuilder) sq.SelectBuilder {
	q = records.FilterRange(q, "b.start_date", t.DateFrom, t.DateTo)
	q = records.FilterInstant(q, "b.created_at", t.CreatedFrom, t.CreatedBefore)
	q = records.FilterInstant(q, s.Schema.Expr(wpdb.Bookings, "b", "updated_at"), t.UpdatedFrom, t.UpdatedBefore)
	switch active := q.Where(sq.NotEq{"b.status": "cancelled"}); {
	case t.Upcoming:
		return active.Where(records.StartsAfterNow(s))
	case t.Past:
		return active.Where(records.HasBegun(s))
	default:
		return q
	}
}

// filter joins order items, i, and orders, o, if they are needed.
func (v Values) filter(s *session.Session, q sq.SelectBuilder) sq.SelectBuilder {
	if v.PriceMin != nil || v.PriceMax != nil || v.PaymentStatus != nil {
		q = q.Join(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id")
	}
	if v.PaymentStatus != nil {
		q = records.FilterPaymentStatus(s, q.Join(s.DB.As(wpdb.Orders, "o")+" ON o.id = i.order_id"), v.PaymentStatus)
	}
	q = records.FilterEqual(q, "b.status", v.Status)
	q = records.FilterRange(q, shownDuration(s), v.DurationMin, v.DurationMax)
	return records.FilterRange(q, "i.total", v.PriceMin, v.PriceMax)
}

func (t Texts) filter(s *session.Session, q sq.SelectBuilder) sq.SelectBuilder {
	q = records.FilterSearch(q, t.Code, "b.booking_code")
	if t.CustomerEmail != nil {
		q = q.Where(session.OfCustomers(s, records.ContainsAny(*t.CustomerEmail, "c.email")))
	}
	if phone := records.ContainsPhone(t.CustomerPhone, "c.phone"); phone != nil {
		q = q.Where(session.OfCustomers(s, phone))
	}
	if t.Search != nil {
		customers := records.ContainsAny(*t.Search, "c.first_name", "c.last_name", records.FullName("c"), "c.email")
		q = q.Where(sq.Or{session.OfCustomers(s, customers), records.ContainsAny(*t.Search, "b.booking_code")})
	}
	if t.MetaKey != nil && t.MetaValue != nil {
		meta := sq.Select("1").From(s.DB.As(wpdb.BookingMeta, "m")).Where("m.object_id = b.id").
			Where(sq.Eq{"m.meta_key": *t.MetaKey}).Where(records.NotSecret("m.meta_key")).
			Where(sq.Like{"m.meta_value": wpdb.Contains(*t.MetaValue)})
		q = q.Where(sq.Expr("EXISTS (?)", meta))
	}
	return q
}

// shownDuration returns the duration of bookings, b, as an expression, see records.Booking.SetTimes. The
// service's is used only if the booking has none; no index serves the column in any case.
func shownDuration(s *session.Session) string {
	return "COALESCE(b.duration, (SELECT ds.duration FROM " + s.DB.As(wpdb.Services, "ds") + " WHERE ds.id = b.service_id), 0)"
}

// checkMetaKey returns a CodeInvalidRequest for a meta key that is not shown: finding a value would reveal
// it.
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

// order returns the order of the list.
func (o Order) order() records.SortOrder {
	return records.SortOrder{Columns: sortColumns[o.Sort], Descending: o.Descending}
}
