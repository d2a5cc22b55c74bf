package adapter

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Order is an order.
type Order struct {
	ID                                        int64
	ConfirmationCode                          string
	Subtotal, Total, TaxTotal, CouponDiscount decimal.Decimal
	DiscountTotal                             decimal.Decimal // stored in order_meta
	CouponCode                                *string
	Status, PaymentStatus, FulfillmentStatus  string
	// DisplayPaymentStatus is the payment status shown by the API: refunded or
	// partially_refunded if something was refunded, else PaymentStatus.
	DisplayPaymentStatus           string
	CustomerID                     int64
	CustomerComment                *string
	Notes                          string // stored in order_meta
	IPAddress, SourceID, SourceURL *string
	CreatedAt, UpdatedAt           domain.Timestamp
}

// The variants of order items.
const (
	bookingItem = "booking"
	bundleItem  = "bundle" // for several bookings
)

// OrderItem is an item of an order: a booking or a bundle.
type OrderItem struct {
	ID              int64
	Variant         string
	ItemData        string // JSON text as stored
	Subtotal, Total decimal.Decimal
}

// OrderSort is a sort order of orders.
type OrderSort int

// The sort orders of orders. Ties are broken by id, in the same direction.
const (
	OrdersByCreation OrderSort = iota
	OrdersByID
	OrdersByTotal
	OrdersByStatus
)

var orderOrder = map[OrderSort][]string{
	OrdersByCreation: {"o.created_at", "o.id"},
	OrdersByID:       {"o.id"},
	OrdersByTotal:    {"o.total", "o.id"},
	OrdersByStatus:   {"o.status", "o.id"},
}

// OrderFilter filters and sorts a list of orders. A nil field does not filter.
type OrderFilter struct {
	Paging
	CustomerID                               *int64 // 0 for none
	Status, PaymentStatus, FulfillmentStatus *string
	CouponCode                               *string
	TotalMin, TotalMax                       *decimal.Decimal
	CreatedFrom, CreatedBefore               *time.Time
	UpdatedFrom, UpdatedBefore               *time.Time
	Search                                   *string // confirmation code, customer comment or coupon code
	Sort                                     OrderSort
	Descending                               bool
}

// Orders returns one page of the orders that match the filter.
func (s *Site) Orders(ctx context.Context, f OrderFilter) (Page[Order], error) {
	q := sq.Select().From(s.db.As(wpdb.Orders, "o"))
	q = filterReference(q, "o.customer_id", f.CustomerID)
	q, err := s.filterPaymentStatus(ctx, q, f.PaymentStatus)
	if err != nil {
		return Page[Order]{}, err
	}
	q = filterEqual(q, "o.fulfillment_status", f.FulfillmentStatus)
	q = filterText(q, "o.coupon_code", f.CouponCode)
	q = filterRange(q, "o.total", f.TotalMin, f.TotalMax)
	q = filterInstant(q, "o.created_at", f.CreatedFrom, f.CreatedBefore)
	q = filterInstant(q, "o.updated_at", f.UpdatedFrom, f.UpdatedBefore)
	q = filterSearch(q, f.Search, "o.confirmation_code", "o.customer_comment", "o.coupon_code")
	several := f.Status != nil && (f.PaymentStatus != nil || f.CouponCode != nil) && f.CustomerID == nil
	l := s.withLength(list{op: "list orders", filter: filterEqual(q, "o.status", f.Status)}, f.Paging, several)
	page := l.filter
	if l.orderedScanIsCheap && several && f.Sort != OrdersByStatus {
		page = filterEqual(q, hideFromIndex("o.status"), f.Status)
	}
	order := sortOrder{orderOrder[f.Sort], f.Descending}
	find := func(ctx context.Context) ([]int64, error) {
		return findSorted(ctx, s, l, f.Paging, page.Column("o.id"), order, wpdb.Value[int64])
	}
	return readPage(ctx, s, l, f.Paging, find, func(ctx context.Context, ids []int64, size *total) ([]Order, error) {
		return s.listedOrders(ctx, ids, size)
	})
}

// Order returns one order; a CodeNotFound if it does not exist.
func (s *Site) Order(ctx context.Context, id int64) (Order, error) {
	records, err := s.ordersByID(ctx, []int64{id})
	return onlyOrder(records, id, err)
}

// storedOrder is an Order that is not looked at for refunds, which cost a scan:
// its DisplayPaymentStatus is the stored one.
func (s *Site) storedOrder(ctx context.Context, id int64) (Order, error) {
	records, err := s.readOrders(ctx, []int64{id}, sq.Select("o.payment_status"), new(total))
	return onlyOrder(records, id, err)
}

// onlyOrder returns the order that was read by its id.
func onlyOrder(records []Order, id int64, err error) (Order, error) {
	if err != nil {
		return Order{}, err
	}
	if len(records) == 0 {
		return Order{}, domain.NotFound(domain.OrderResource, id)
	}
	return records[0], nil
}

// ordersByID returns orders by their ids, as their list shows them.
func (s *Site) ordersByID(ctx context.Context, ids []int64) ([]Order, error) {
	return s.listedOrders(ctx, ids, new(total))
}

// listedOrders reads orders with the payment status that the API shows. It counts the list
// where size asks for it.
func (s *Site) listedOrders(ctx context.Context, ids []int64, size *total) ([]Order, error) {
	return s.readOrders(ctx, ids, s.joinRefunds(sq.Select(displayPaymentStatus), ids), size)
}

// readOrders reads orders, o, in the order of their ids with a statement that selects the payment
// status to be shown.
func (s *Site) readOrders(ctx context.Context, ids []int64, stmt sq.SelectBuilder, size *total) ([]Order, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt = stmt.Columns("o.id", "o.confirmation_code", "o.subtotal", "o.total", "o.tax_total", "o.coupon_discount", "o.coupon_code", "o.status",
		"o.payment_status", "o.fulfillment_status", "o.customer_id", "o.customer_comment", "o.ip_address", "o.source_id", "o.source_url",
		"o.created_at", "o.updated_at").
		Column(s.metaValue(wpdb.OrderMeta, "o.id", "discount_total")).Column(s.metaValue(wpdb.OrderMeta, "o.id", "notes")).
		Column(size.column()).From(s.db.As(wpdb.Orders, "o")).Where(sq.Eq{"o.id": ids})
	records, err := wpdb.All(ctx, s.db, "read orders", stmt, func(row wpdb.Scanner) (o Order, err error) {
		var subtotal, total, tax, discount decimal.NullDecimal
		var discountTotal string
		err = row.Scan(&o.DisplayPaymentStatus, &o.ID, wpdb.OrZero(&o.ConfirmationCode), &subtotal, &total, &tax, &discount, &o.CouponCode, &o.Status, &o.PaymentStatus,
			&o.FulfillmentStatus, &o.CustomerID, &o.CustomerComment, &o.IPAddress, &o.SourceID, &o.SourceURL,
			wpdb.OrZero((*string)(&o.CreatedAt)), wpdb.OrZero((*string)(&o.UpdatedAt)), wpdb.OrZero(&discountTotal), wpdb.OrZero(&o.Notes), size.dest())
		o.Subtotal, o.Total, o.TaxTotal, o.CouponDiscount = subtotal.Decimal, total.Decimal, tax.Decimal, discount.Decimal
		if amount, err := decimal.NewFromString(discountTotal); err == nil {
			o.DiscountTotal = amount
		}
		return o, err
	})
	s.rememberCount(size, err)
	return inOrder(ids, byID(records, func(o Order) int64 { return o.ID })), err
}

// OrderItems returns the items of an order, oldest first. Uses the index on
// order_id.
func (s *Site) OrderItems(ctx context.Context, orderID int64) ([]OrderItem, error) {
	stmt := sq.Select("id", "variant", "item_data", "subtotal", "total").
		From(s.db.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orderID}).OrderBy("id")
	return wpdb.All(ctx, s.db, "read items of order", stmt, func(row wpdb.Scanner) (i OrderItem, err error) {
		var subtotal, total decimal.NullDecimal
		err = row.Scan(&i.ID, wpdb.OrZero(&i.Variant), wpdb.OrZero(&i.ItemData), &subtotal, &total)
		i.Subtotal, i.Total = subtotal.Decimal, total.Decimal
		return i, err
	})
}

// requireOrder returns a CodeNotFound if the order does not exist.
func (s *Site) requireOrder(ctx context.Context, id int64) error {
	stmt := sq.Select("1").From(s.db.Name(wpdb.Orders)).Where(sq.Eq{"id": id})
	_, found, err := wpdb.One(ctx, s.db, "find order", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	if !found {
		return domain.NotFound(domain.OrderResource, id)
	}
	return nil
}
