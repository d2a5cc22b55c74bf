package customers

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Filter filters a list of customers. A nil field does not filter.
type Filter struct {
	session.Paging
	Status                            *string
	CreatedFrom, CreatedBefore        *time.Time
	UpdatedFrom, UpdatedBefore        *time.Time
	CreatedWithin, UpdatedWithin      *records.TimeSpan
	HasBookings                       *bool
	FirstName, LastName, Email, Phone *string // partial
	IsGuest                           *bool
	WordPressUserID                   *int64
	Search                            *string // name or e-mail
}

// List returns one page of the customers that match the filter, newest first.
func List(ctx context.Context, s *session.Session, f Filter) (page records.Page[records.Customer], err error) {
	defer records.EmptyIfUnmatchable(f.Paging, &page, &err)
	q := sq.Select().From(s.DB.As(wpdb.Customers, "c"))
	q = records.FilterEqual(q, "c.status", f.Status)
	q = records.FilterEqual(q, "c.wordpress_user_id", f.WordPressUserID)
	q = records.FilterInstant(q, "c.created_at", f.CreatedFrom, f.CreatedBefore)
	q = records.FilterInstant(q, "c.updated_at", f.UpdatedFrom, f.UpdatedBefore)
	q = records.FilterSpan(q, "c.created_at", f.CreatedWithin)
	q = records.FilterSpan(q, "c.updated_at", f.UpdatedWithin)
	q = records.FilterSearch(q, f.FirstName, "c.first_name")
	q = records.FilterSearch(q, f.LastName, "c.last_name")
	q = records.FilterSearch(q, f.Email, "c.email")
	q = records.FilterPhone(q, f.Phone, "c.phone")
	q = records.FilterSearch(q, f.Search, "c.first_name", "c.last_name", records.FullName("c"), "c.email")
	if f.IsGuest != nil {
		q = q.Where(sq.Expr("(COALESCE(c.is_guest, 0) <> 0) = ?", *f.IsGuest))
	}
	if f.HasBookings != nil {
		// Servers would turn EXISTS into a join, which may start with all bookings.
		bookings := sq.Select("1").From(s.DB.As(wpdb.Bookings, "b")).Where("b.customer_id = c.id")
		if *f.HasBookings {
			q = q.Where(sq.ConcatExpr("(", bookings.Limit(1), ") IS NOT NULL"))
		} else {
			q = q.Where(sq.ConcatExpr("(", bookings.Limit(1), ") IS NULL"))
		}
	}
	l := records.List{Op: "list customers", Filter: q}
	newest := records.SortOrder{Columns: []string{"c.created_at", "c.id"}, Descending: true}
	found, err := records.FindSorted(ctx, s, l, f.Paging, q.Columns(records.CustomerColumns...), newest, records.ScanCustomer)
	if err != nil {
		return page, err
	}
	return records.ReadPage(ctx, s, l, f.Paging, found, func(found []records.Customer, size *records.Total) ([]records.Customer, error) {
		return records.WholeCustomers(ctx, s, found, size)
	})
}
