package records

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Payment is a row of the platform's transactions, which the API calls a
// payment.
type Payment struct {
	ID                   int64
	Token                *string
	InvoiceID            *int64
	OrderID              *int64
	BookingID            *int64 // the one with the lowest id that the items of its order name; nil if none does
	CustomerID           int64  // 0 if unset
	Processor            string
	PaymentMethod        string
	PaymentPortion       string
	Kind                 string
	Amount               decimal.Decimal // as stored; see DisplayAmount
	RefundRows           decimal.Decimal // refunds with rows of their own; set only when all payments of an order are read
	Status               string
	Notes                *string
	ReceiptNumber        *string
	AccessKey            *string
	CreatedAt, UpdatedAt domain.Timestamp
}

// DisplayAmount is the amount as the API shows it: a refund's is positive. It is stored as negative,
// because the plugin adds up all transactions of an order
// (OsOrderModel::get_total_amount_paid_from_transactions, LatePoint 5.6.5); stored positive amounts come
// from others.
func (p Payment) DisplayAmount() decimal.Decimal {
	if IsRefund(p.Kind) {
		return p.Amount.Abs()
	}
	return p.Amount
}

// StoredAmount returns an amount with the sign in which its column stores that kind of payment.
func StoredAmount(kind string, amount decimal.Decimal) decimal.Decimal {
	if IsRefund(kind) {
		return amount.Abs().Neg()
	}
	return amount
}

// IsRefund reports whether a kind of payment gives money back. The column compares case-insensitively.
func IsRefund(kind string) bool { return strings.EqualFold(kind, KindRefund) }

// FilterDisplayAmount adds the bounds of DisplayAmount. They are compared with the column itself, because
// servers compare other expressions with a text as floating-point numbers.
func FilterDisplayAmount(q sq.SelectBuilder, least, most *decimal.Decimal) sq.SelectBuilder {
	if least != nil {
		q = q.Where(sq.Or{sq.GtOrEq{"t.amount": *least}, sq.And{sq.Eq{"t.kind": KindRefund}, sq.LtOrEq{"t.amount": least.Neg()}}})
	}
	if most != nil {
		q = q.Where(sq.LtOrEq{"t.amount": *most}).Where(sq.Or{sq.NotEq{"COALESCE(t.kind, '')": KindRefund}, sq.GtOrEq{"t.amount": most.Neg()}})
	}
	return q
}

// LoadPayment returns one payment, or a CodeNotFound.
func LoadPayment(ctx context.Context, s *session.Session, id int64) (Payment, error) {
	records, err := LoadPayments(ctx, s, sq.Eq{"t.id": id})
	return Only(records, err, domain.PaymentResource, id)
}

// LoadOrderPayments returns the payments of an order, oldest first.
func LoadOrderPayments(ctx context.Context, s *session.Session, orderID int64) ([]Payment, error) {
	return AddPayments(ctx, s, &Order{ID: orderID})
}

// LoadOrderPayment returns one payment of an order, or a CodeNotFound.
func LoadOrderPayment(ctx context.Context, s *session.Session, orderID, id int64) (Payment, error) {
	if err := RequireOrder(ctx, s, orderID); err != nil {
		return Payment{}, err
	}
	records, err := LoadPayments(ctx, s, sq.Eq{"t.id": id, "t.order_id": orderID})
	return Only(records, err, domain.TransactionResource, id)
}

// LoadPayments returns the payments for which a condition on "t" holds, by id.
func LoadPayments(ctx context.Context, s *session.Session, which sq.Eq) ([]Payment, error) {
	stmt := PaymentColumns(s, sq.Select().From(s.DB.As(wpdb.Transactions, "t")).Where(which).OrderBy("t.id"))
	records, err := wpdb.All(ctx, s.DB, "read payments", stmt, ScanPayment)
	if err != nil {
		return nil, err
	}
	return records, AddFirstBookings(ctx, s, records)
}

// AddPayments reads the payments of an order, oldest first, and sets the payment status that the API shows
// for the order: one scan of payments serves both.
func AddPayments(ctx context.Context, s *session.Session, order *Order) ([]Payment, error) {
	var found []Payment
	var items []itemBooking
	if err := wpdb.Together(ctx, s.DB, queryPaymentsOf(s, &found, order.ID), queryItemBookings(s, &items, []int64{order.ID})); err != nil {
		return nil, err
	}
	order.showPaymentStatus(found)
	return found, addItemBookings(ctx, s, found, items)
}

// queryPaymentsOf reads the payments of an order with their refund rows, oldest first.
func queryPaymentsOf(s *session.Session, into *[]Payment, orderID int64) wpdb.Query {
	rows := "0"
	if s.Schema.Has(wpdb.TransactionRefunds) {
		rows = "(SELECT SUM(r.amount) FROM " + s.DB.As(wpdb.TransactionRefunds, "r") + " WHERE r.transaction_id = t.id)"
	}
	stmt := PaymentColumns(s, sq.Select().From(s.DB.As(wpdb.Transactions, "t")).Where(sq.Eq{"t.order_id": orderID}).OrderBy("t.id")).Column(rows)
	return wpdb.Rows(into, "read payments of order", stmt, wpdb.Into(func(p *Payment) []any {
		return append(paymentVariables(p), wpdb.OrZero(&p.RefundRows))
	}))
}

// PaymentColumns selects what ScanPayment reads of payments, t.
func PaymentColumns(s *session.Session, stmt sq.SelectBuilder) sq.SelectBuilder {
	return stmt.Columns(s.Schema.Columns(wpdb.Transactions, "t", "id", "token", "invoice_id", "order_id", "customer_id", "processor", "payment_method",
		"payment_portion", "kind", "amount", "status", "notes", "receipt_number", "access_key", "created_at", "updated_at")...)
}

// ScanPayment reads a payment without its booking.
var ScanPayment = wpdb.Into(paymentVariables)

func paymentVariables(p *Payment) []any {
	return []any{&p.ID, &p.Token, &p.InvoiceID, &p.OrderID, wpdb.OrZero(&p.CustomerID), wpdb.OrZero(&p.Processor), wpdb.OrZero(&p.PaymentMethod),
		wpdb.OrZero(&p.PaymentPortion), wpdb.OrZero(&p.Kind), wpdb.OrZero(&p.Amount), &p.Status, &p.Notes, &p.ReceiptNumber, &p.AccessKey,
		wpdb.OrZero((*string)(&p.CreatedAt)), wpdb.OrZero((*string)(&p.UpdatedAt))}
}

// AddFirstBookings reads the items of the payments' orders, and adds the first booking of each payment's order.
func AddFirstBookings(ctx context.Context, s *session.Session, records []Payment) error {
	orders := make([]int64, 0, len(records))
	for _, p := range records {
		if p.OrderID != nil {
			orders = append(orders, *p.OrderID)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	var items []itemBooking
	if err := wpdb.Together(ctx, s.DB, queryItemBookings(s, &items, orders)); err != nil {
		return err
	}
	return addItemBookings(ctx, s, records, items)
}

// itemBooking is an item of an order, with the booking that its data, which are JSON, name; 0 for none.
type itemBooking struct{ item, order, booking int64 }

// queryItemBookings reads the items of orders with the bookings that they name.
func queryItemBookings(s *session.Session, into *[]itemBooking, orders []int64) wpdb.Query {
	stmt := sq.Select("id", "order_id", "item_data").From(s.DB.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orders}).OrderBy("id")
	return wpdb.Rows(into, "read items of orders", stmt, func(row wpdb.Scanner) (n itemBooking, err error) {
		var data string
		err = row.Scan(&n.item, &n.order, wpdb.OrZero(&data))
		n.booking = session.ItemBooking(data)
		return n, err
	})
}

// addItemBookings adds to each payment the first booking of its order's items, the one with the lowest id. Unless
// `bookside indexes` has added an index on bookings.order_item_id, going from an order to its bookings would be a
// scan: the JSON of the items names the booking, and the booking confirms it.
func addItemBookings(ctx context.Context, s *session.Session, records []Payment, items []itemBooking) error {
	named := make([]int64, 0, len(items))
	for _, i := range items {
		if i.booking > 0 {
			named = append(named, i.booking)
		}
	}
	if len(named) == 0 || len(records) == 0 {
		return nil
	}
	confirmed, err := session.Grouped(ctx, s, "read bookings of orders",
		sq.Select("order_item_id", "id").From(s.DB.Name(wpdb.Bookings)).Where(sq.Eq{"id": named}).Where(sq.NotEq{"order_item_id": nil}).OrderBy("id"),
		func(row wpdb.Scanner, item *int64) (id int64, err error) {
			err = row.Scan(item, &id)
			return id, err
		})
	first := map[int64]int64{}
	for _, n := range items {
		for _, id := range confirmed[n.item] {
			if known, ok := first[n.order]; !ok || id < known {
				first[n.order] = id
			}
		}
	}
	for i, p := range records {
		if id, ok := first[domain.ValueOr(p.OrderID, 0)]; ok {
			records[i].BookingID = &id
		}
	}
	return err
}
