package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Order is an order.
type Order struct {
	ID                                        int64
	ConfirmationCode                          string
	Subtotal, Total, TaxTotal, CouponDiscount decimal.Decimal
	DiscountTotal                             decimal.Decimal // stored in order_meta
	CouponCode                                *string
	Status, PaymentStatus, FulfillmentStatus  string
	// DisplayPaymentStatus is the payment status shown by the API: refunded or partially_refunded if
	// something was refunded, otherwise PaymentStatus.
	DisplayPaymentStatus           string
	CustomerID                     int64
	CustomerComment                *string
	Notes                          string // stored in order_meta
	IPAddress, SourceID, SourceURL *string
	CreatedAt, UpdatedAt           domain.Timestamp
}

// The variants of order items.
const (
	BookingItem = "booking"
	BundleItem  = "bundle" // for several bookings
)

// OrderItem is an item of an order: a booking or a bundle.
type OrderItem struct {
	ID              int64
	Variant         string
	ItemData        string // JSON text as stored
	Subtotal, Total decimal.Decimal
}

// LoadOrder returns one order, or a CodeNotFound.
func LoadOrder(ctx context.Context, s *session.Session, id int64) (Order, error) {
	records, err := LoadOrders(ctx, s, []int64{id})
	return Only(records, err, domain.OrderResource, id)
}

// LoadStoredOrder is like LoadOrder, without the scan for refunds: its DisplayPaymentStatus is the stored
// one.
func LoadStoredOrder(ctx context.Context, s *session.Session, id int64) (Order, error) {
	records, err := readOrders(ctx, s, []int64{id}, sq.Select("o.payment_status"), new(Total))
	return Only(records, err, domain.OrderResource, id)
}

// LoadOrders returns orders by their ids, as lists show them.
func LoadOrders(ctx context.Context, s *session.Session, ids []int64) ([]Order, error) {
	return ListedOrders(ctx, s, ids, new(Total))
}

// ListedOrders reads orders with the payment status that the API shows. It counts the list if size asks for
// it.
func ListedOrders(ctx context.Context, s *session.Session, ids []int64, size *Total) ([]Order, error) {
	return readOrders(ctx, s, ids, JoinRefunds(s, sq.Select(DisplayPaymentStatus), ids), size)
}

// readOrders reads orders, o, in the order of their ids, with a statement that selects the payment status
// to show.
func readOrders(ctx context.Context, s *session.Session, ids []int64, stmt sq.SelectBuilder, size *Total) ([]Order, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var found []Order
	err := wpdb.Together(ctx, s.DB, queryOrders(s, &found, ids, stmt, size))
	return InOrder(ids, ByID(found, func(o Order) int64 { return o.ID })), err
}

// queryOrders returns the query of readOrders.
func queryOrders(s *session.Session, into *[]Order, ids []int64, stmt sq.SelectBuilder, size *Total) wpdb.Query {
	stmt = stmt.Columns("o.id", "o.confirmation_code", "o.subtotal", "o.total", "o.tax_total", "o.coupon_discount", "o.coupon_code", "o.status",
		"o.payment_status", "o.fulfillment_status", "o.customer_id", "o.customer_comment", "o.ip_address", "o.source_id", "o.source_url",
		"o.created_at", "o.updated_at").
		Column(session.LoadMeta(s, wpdb.OrderMeta, "o.id", "discount_total")).Column(session.LoadMeta(s, wpdb.OrderMeta, "o.id", "notes")).
		Column(size.Column()).From(s.DB.As(wpdb.Orders, "o")).Where(sq.Eq{"o.id": ids})
	return wpdb.Rows(into, "read orders", stmt, func(row wpdb.Scanner) (o Order, err error) {
		var discountTotal string
		err = row.Scan(&o.DisplayPaymentStatus, &o.ID, wpdb.OrZero(&o.ConfirmationCode), wpdb.OrZero(&o.Subtotal), wpdb.OrZero(&o.Total), wpdb.OrZero(&o.TaxTotal), wpdb.OrZero(&o.CouponDiscount), &o.CouponCode, &o.Status, &o.PaymentStatus,
			&o.FulfillmentStatus, &o.CustomerID, &o.CustomerComment, &o.IPAddress, &o.SourceID, &o.SourceURL,
			wpdb.OrZero((*string)(&o.CreatedAt)), wpdb.OrZero((*string)(&o.UpdatedAt)), wpdb.OrZero(&discountTotal), wpdb.OrZero(&o.Notes), size.Dest())
		if amount, err := decimal.NewFromString(discountTotal); err == nil {
			o.DiscountTotal = amount
		}
		return o, err
	})
}

// LoadOrderItems returns the items of an order, oldest first.
func LoadOrderItems(ctx context.Context, s *session.Session, orderID int64) (items []OrderItem, err error) {
	err = wpdb.Together(ctx, s.DB, queryOrderItems(s, &items, orderID))
	return items, err
}

// LoadOrderWithItems returns one order and its items, or a CodeNotFound.
func LoadOrderWithItems(ctx context.Context, s *session.Session, id int64) (Order, []OrderItem, error) {
	var orders []Order
	var items []OrderItem
	ids := []int64{id}
	err := wpdb.Together(ctx, s.DB, queryOrders(s, &orders, ids, JoinRefunds(s, sq.Select(DisplayPaymentStatus), ids), new(Total)), queryOrderItems(s, &items, id))
	order, err := Only(orders, err, domain.OrderResource, id)
	return order, items, err
}

// queryOrderItems returns the query of LoadOrderItems. Uses the index on order_id.
func queryOrderItems(s *session.Session, into *[]OrderItem, orderID int64) wpdb.Query {
	stmt := sq.Select("id", "variant", "item_data", "subtotal", "total").
		From(s.DB.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orderID}).OrderBy("id")
	return wpdb.Rows(into, "read items of order", stmt, wpdb.Into(func(i *OrderItem) []any {
		return []any{&i.ID, wpdb.OrZero(&i.Variant), wpdb.OrZero(&i.ItemData), wpdb.OrZero(&i.Subtotal), wpdb.OrZero(&i.Total)}
	}))
}

// RequireOrder returns a CodeNotFound if the order does not exist.
func RequireOrder(ctx context.Context, s *session.Session, id int64) error {
	stmt := sq.Select("1").From(s.DB.Name(wpdb.Orders)).Where(sq.Eq{"id": id})
	_, found, err := wpdb.One(ctx, s.DB, "find order", stmt, wpdb.Value[int64])
	if err != nil {
		return err
	}
	if !found {
		return domain.NotFound(domain.OrderResource, id)
	}
	return nil
}

// OrderCancelled is the status of orders that do not count as a use of their coupon.
const OrderCancelled = "cancelled"

// OrderCustomer reads the customer with an id. If there is none, the record has only the id.
func OrderCustomer(ctx context.Context, s *session.Session, id int64) (c BookingCustomer, exists bool, err error) {
	found, exists, err := CustomerRow(ctx, s, sq.Eq{"id": id})
	found.ID = id
	return found.BookingCustomer, exists, err
}
