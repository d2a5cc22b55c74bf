package orders

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// CouponOrders returns the latest orders with the coupon's code, newest first: those of CouponUsage, and
// cancelled ones.
func CouponOrders(ctx context.Context, s *session.Session, code string) ([]records.Order, error) {
	stmt := sq.Select("o.id").From(s.DB.As(wpdb.Orders, "o")).Where(sq.Eq{"o.coupon_code": code}).
		OrderBy(records.SortColumns(sortColumns[ByCreation], true)...).Limit(payments.RecentOrders)
	ids, err := wpdb.All(ctx, s.DB, "list orders of coupon", stmt, wpdb.Value[int64])
	if err != nil {
		return nil, err
	}
	return records.LoadOrders(ctx, s, ids)
}

// Sort is a sort order of orders.
type Sort int

// The sort orders of orders. Ties are broken by id, in the same direction.
const (
	ByCreation Sort = iota
	ByID
	ByTotal
	ByStatus
)

var sortColumns = map[Sort][]string{
	ByCreation: {"o.created_at", "o.id"},
	ByID:       {"o.id"},
	ByTotal:    {"o.total", "o.id"},
	ByStatus:   {"o.status", "o.id"},
}

// Filter filters and sorts a list of orders. A nil field does not filter.
type Filter struct {
	session.Paging
	CustomerID                               *int64 // 0 for none
	Status, PaymentStatus, FulfillmentStatus *string
	CouponCode                               *string
	TotalMin, TotalMax                       *decimal.Decimal
	CreatedFrom, CreatedBefore               *time.Time
	UpdatedFrom, UpdatedBefore               *time.Time
	Search                                   *string // confirmation code, customer comment or coupon code
	Sort                                     Sort
	Descending                               bool
}

// List returns one page of the orders that match the filter.
func List(ctx context.Context, s *session.Session, f Filter) (page records.Page[records.Order], err error) {
	defer records.EmptyIfUnmatchable(f.Paging, &page, &err)
	q := sq.Select().From(s.DB.As(wpdb.Orders, "o"))
	q = records.FilterReference(q, "o.customer_id", f.CustomerID)
	q = records.FilterPaymentStatus(s, q, f.PaymentStatus)
	q = records.FilterEqual(q, "o.fulfillment_status", f.FulfillmentStatus)
	q = records.FilterText(q, "o.coupon_code", f.CouponCode)
	q = records.FilterRange(q, "o.total", f.TotalMin, f.TotalMax)
	q = records.FilterInstant(q, "o.created_at", f.CreatedFrom, f.CreatedBefore)
	q = records.FilterInstant(q, "o.updated_at", f.UpdatedFrom, f.UpdatedBefore)
	q = records.FilterSearch(q, f.Search, "o.confirmation_code", "o.customer_comment", "o.coupon_code")
	l := records.List{Op: "list orders", Filter: records.FilterEqual(q, "o.status", f.Status)}
	order := records.SortOrder{Columns: sortColumns[f.Sort], Descending: f.Descending}
	ids, err := records.FindSorted(ctx, s, l, f.Paging, l.Filter.Column("o.id"), order, wpdb.Value[int64])
	if err != nil {
		return page, err
	}
	return records.ReadPage(ctx, s, l, f.Paging, ids, func(ids []int64, size *records.Total) ([]records.Order, error) {
		return records.ListedOrders(ctx, s, ids, size)
	})
}
