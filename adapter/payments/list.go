package payments

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Sort is a sort order of payments.
type Sort int

// The sort orders of payments. Ties are broken by id, in the same direction.
const (
	ByCreation Sort = iota
	ByID
	ByAmount
	ByStatus
)

var sortColumns = map[Sort][]string{
	ByCreation: {"t.created_at", "t.id"},
	ByID:       {"t.id"},
	ByAmount:   {"CASE WHEN t.kind = 'refund' THEN ABS(t.amount) ELSE t.amount END", "t.id"},
	ByStatus:   {"t.status", "t.id"},
}

// Filter filters and sorts a list of payments. A nil field does not filter.
type Filter struct {
	session.Paging
	CustomerID, OrderID        *int64 // 0 for none
	Status                     *string
	PaymentMethod, Processor   *string
	AmountMin, AmountMax       *decimal.Decimal
	CreatedFrom, CreatedBefore *time.Time
	UpdatedFrom, UpdatedBefore *time.Time
	Search                     *string // token, notes or receipt number
	Sort                       Sort
	Descending                 bool
}

// List returns one page of the payments that match the filter.
func List(ctx context.Context, s *session.Session, f Filter) (page records.Page[records.Payment], err error) {
	defer records.EmptyIfUnmatchable(f.Paging, &page, &err)
	q := sq.Select().From(s.DB.As(wpdb.Transactions, "t"))
	q = records.FilterReference(q, "t.customer_id", f.CustomerID)
	q = records.FilterReference(q, "t.order_id", f.OrderID)
	q = records.FilterEqual(q, "t.status", f.Status)
	q = records.FilterText(q, "t.payment_method", f.PaymentMethod)
	q = records.FilterText(q, "t.processor", f.Processor)
	q = records.FilterDisplayAmount(q, f.AmountMin, f.AmountMax)
	q = records.FilterInstant(q, "t.created_at", f.CreatedFrom, f.CreatedBefore)
	q = records.FilterInstant(q, s.Schema.Expr(wpdb.Transactions, "t", "updated_at"), f.UpdatedFrom, f.UpdatedBefore)
	q = records.FilterSearch(q, f.Search, s.Schema.Columns(wpdb.Transactions, "t", "token", "notes", "receipt_number")...)
	l := records.List{Op: "list payments", Filter: q}
	order := records.SortOrder{Columns: sortColumns[f.Sort], Descending: f.Descending}
	found, err := records.FindSorted(ctx, s, l, f.Paging, records.PaymentColumns(s, l.Filter), order, records.ScanPayment)
	if err != nil {
		return page, err
	}
	return records.ReadPage(ctx, s, l, f.Paging, found, func(found []records.Payment, size *records.Total) ([]records.Payment, error) {
		if err := records.CountNow(ctx, s, l, size); err != nil {
			return nil, err
		}
		return found, records.AddFirstBookings(ctx, s, found)
	})
}

// ListOfOrder returns one page of an order's payments, oldest first.
func ListOfOrder(ctx context.Context, s *session.Session, orderID int64, p session.Paging) (records.Page[records.Payment], error) {
	if err := records.RequireOrder(ctx, s, orderID); err != nil {
		return records.Page[records.Payment]{}, err
	}
	return List(ctx, s, Filter{Paging: p, OrderID: &orderID, Sort: ByID})
}
