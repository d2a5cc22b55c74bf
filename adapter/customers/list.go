package customers

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/lists"
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
	CreatedWithin, UpdatedWithin      *lists.Span
	HasBookings                       *bool
	FirstName, LastName, Email, Phone *string // partial
	IsGuest                           *bool
	WordPressUserID                   *int64
	Search                            *string // name or e-mail
}

// List returns one page of the customers that match the filter, newest first.
func List(ctx context.Context, s *session.Session, f Filter) (page lists.Page[records.Customer], err error) {
	defer lists.EmptyIfUnmatchable(f.Paging, &page, &err)
	q := sq.Select().From(s.DB.As(wpdb.Customers, "c"))
	q = lists.FilterEqual(q, "c.status", f.Status)
	q = lists.FilterEqual(q, "c.wordpress_user_id", f.WordPressUserID)
	q = lists.FilterInstant(q, "c.created_at", f.CreatedFrom, f.CreatedBefore)
	q = lists.FilterInstant(q, "c.updated_at", f.UpdatedFrom, f.UpdatedBefore)
	q = lists.FilterSpan(q, "c.created_at", f.CreatedWithin)
	q = lists.FilterSpan(q, "c.updated_at", f.UpdatedWithin)
	q = lists.FilterSearch(q, f.FirstName, "c.first_name")
	q = lists.FilterSearch(q, f.LastName, "c.last_name")
	q = lists.FilterSearch(q, f.Email, "c.email")
	q = lists.FilterPhone(q, f.Phone, "c.phone")
	q = lists.FilterSearch(q, f.Search, "c.first_name", "c.last_name", lists.FullName("c"), "c.email")
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
	l := lists.List{Op: "list customers", Filter: q}
	newest := lists.SortOrder{Columns: []string{"c.created_at", "c.id"}, Descending: true}
	found, err := lists.FindSorted(ctx, s, l, f.Paging, q.Columns(records.CustomerColumns...), newest, records.ScanCustomer)
	if err != nil {
		return page, err
	}
	return lists.Read(ctx, s, l, f.Paging, found, func(found []records.Customer, size *lists.Total) ([]records.Customer, error) {
		return records.WholeCustomers(ctx, s, found, size)
	})
}
