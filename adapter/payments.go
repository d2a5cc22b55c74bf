package adapter

import (
	"context"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Payment is a row of the platform's transactions, which the API calls a
// payment.
type Payment struct {
	ID                   int64
	Token                *string
	InvoiceID            *int64
	OrderID              *int64
	BookingID            *int64 // the first booking that the items of its order name; nil where none does
	CustomerID           int64  // 0 where unset
	Processor            string
	PaymentMethod        string
	PaymentPortion       string
	Kind                 string
	Amount               decimal.Decimal // as stored; see DisplayAmount
	RefundRows           decimal.Decimal // refunds with rows of their own; read with all payments of an order only
	Status               string
	Notes                *string
	ReceiptNumber        *string
	AccessKey            *string
	CreatedAt, UpdatedAt domain.Timestamp
}

// DisplayAmount is the amount as the API shows it: that of a refund is positive.
// It is stored negative, because the plugin adds up all transactions of an order
// (OsOrderModel::get_total_amount_paid_from_transactions, LatePoint 5.6.5);
// positive ones are of others.
func (p Payment) DisplayAmount() decimal.Decimal {
	if isRefund(p.Kind) {
		return p.Amount.Abs()
	}
	return p.Amount
}

// storedAmount is an amount of a kind of payment as its column holds it.
func storedAmount(kind string, amount decimal.Decimal) decimal.Decimal {
	if isRefund(kind) {
		return amount.Abs().Neg()
	}
	return amount
}

// isRefund reports whether a kind of payment gives money back. The column
// compares without regard to case.
func isRefund(kind string) bool { return strings.EqualFold(kind, kindRefund) }

// PaymentSort is a sort order of payments.
type PaymentSort int

// The sort orders of payments. Ties are broken by id, in the same direction.
const (
	PaymentsByCreation PaymentSort = iota
	PaymentsByID
	PaymentsByAmount
	PaymentsByStatus
)

var paymentOrder = map[PaymentSort][]string{
	PaymentsByCreation: {"t.created_at", "t.id"},
	PaymentsByID:       {"t.id"},
	PaymentsByAmount:   {"CASE WHEN t.kind = 'refund' THEN ABS(t.amount) ELSE t.amount END", "t.id"},
	PaymentsByStatus:   {"t.status", "t.id"},
}

// PaymentFilter filters and sorts a list of payments. A nil field does not filter.
type PaymentFilter struct {
	Paging
	CustomerID, OrderID        *int64 // 0 for none
	Status                     *string
	PaymentMethod, Processor   *string
	AmountMin, AmountMax       *decimal.Decimal
	CreatedFrom, CreatedBefore *time.Time
	UpdatedFrom, UpdatedBefore *time.Time
	Search                     *string // token, notes or receipt number
	Sort                       PaymentSort
	Descending                 bool
}

// Payments returns one page of the payments that match the filter.
func (s *Site) Payments(ctx context.Context, f PaymentFilter) (Page[Payment], error) {
	q := sq.Select().From(s.db.As(wpdb.Transactions, "t"))
	q = filterReference(q, "t.customer_id", f.CustomerID)
	q = filterReference(q, "t.order_id", f.OrderID)
	q = filterEqual(q, "t.status", f.Status)
	q = filterText(q, "t.payment_method", f.PaymentMethod)
	q = filterText(q, "t.processor", f.Processor)
	q = filterDisplayAmount(q, f.AmountMin, f.AmountMax)
	q = filterInstant(q, "t.created_at", f.CreatedFrom, f.CreatedBefore)
	q = filterInstant(q, s.schema.Expr(wpdb.Transactions, "t", "updated_at"), f.UpdatedFrom, f.UpdatedBefore)
	q = filterSearch(q, f.Search, s.schema.Columns(wpdb.Transactions, "t", "token", "notes", "receipt_number")...)
	l := s.withLength(list{op: "list payments", filter: q}, f.Paging, false)
	byAmount := f.Sort == PaymentsByAmount && s.export == nil && (s.limits().None() || l.orderedScanIsCheap)
	order := sortOrder{paymentOrder[f.Sort], f.Descending}
	find := func(ctx context.Context) ([]Payment, error) {
		within := q
		if end := f.offset() + f.limit(); byAmount && end <= maxIDList {
			within = q.Where(firstByAmount(q, f.Descending, end))
		}
		return findSorted(ctx, s, l, f.Paging, s.paymentColumns(within), order, scanPayment)
	}
	return readPage(ctx, s, l, f.Paging, find, func(ctx context.Context, found []Payment, size *total) ([]Payment, error) {
		if err := s.countNow(ctx, l, size); err != nil {
			return nil, err
		}
		return found, s.addFirstBookings(ctx, found)
	})
}

// firstByAmount returns the condition that a payment may be among the first of a list, because it is
// among the first of the refunds or of the others: DisplayAmount has no index, but the amount has.
// For a limited key with few payments, it would find these three times.
func firstByAmount(q sq.SelectBuilder, descending bool, most uint64) sq.Sqlizer {
	first := func(which sq.Sqlizer, amount string) sq.SelectBuilder {
		return q.Column("t.id").Where(which).OrderBy(sortColumns([]string{amount, "t.id"}, descending)...).Limit(most)
	}
	refunds := first(sq.Eq{"t.kind": kindRefund}, "ABS(t.amount)")
	others := first(sq.NotEq{"COALESCE(t.kind, '')": kindRefund}, "t.amount")
	return sq.ConcatExpr("t.id IN (SELECT id FROM ((", refunds, ") UNION ALL (", others, ")) AS ends)")
}

// filterDisplayAmount adds the bounds of DisplayAmount. They are compared with
// the column itself, because servers compare other expressions with texts as
// floating-point numbers.
func filterDisplayAmount(q sq.SelectBuilder, least, most *decimal.Decimal) sq.SelectBuilder {
	if least != nil {
		q = q.Where(sq.Or{sq.GtOrEq{"t.amount": *least}, sq.And{sq.Eq{"t.kind": kindRefund}, sq.LtOrEq{"t.amount": least.Neg()}}})
	}
	if most != nil {
		q = q.Where(sq.LtOrEq{"t.amount": *most}).Where(sq.Or{sq.NotEq{"COALESCE(t.kind, '')": kindRefund}, sq.GtOrEq{"t.amount": most.Neg()}})
	}
	return q
}

// Payment returns one payment; a CodeNotFound if it does not exist.
func (s *Site) Payment(ctx context.Context, id int64) (Payment, error) {
	records, err := s.payments(ctx, sq.Eq{"t.id": id})
	if err != nil {
		return Payment{}, err
	}
	if len(records) == 0 {
		return Payment{}, domain.NotFound(domain.PaymentResource, id)
	}
	return records[0], nil
}

// OrderPayments returns the payments of an order, oldest first.
func (s *Site) OrderPayments(ctx context.Context, orderID int64) ([]Payment, error) {
	return s.addPayments(ctx, &Order{ID: orderID})
}

// OrderPayment returns one payment of an order; a CodeNotFound if the order has no such
// payment.
func (s *Site) OrderPayment(ctx context.Context, orderID, id int64) (Payment, error) {
	if err := s.requireOrder(ctx, orderID); err != nil {
		return Payment{}, err
	}
	records, err := s.payments(ctx, sq.Eq{"t.id": id, "t.order_id": orderID})
	if err != nil {
		return Payment{}, err
	}
	if len(records) == 0 {
		return Payment{}, domain.NotFound(domain.TransactionResource, id)
	}
	return records[0], nil
}

// payments returns the payments for which a condition on "t" holds, by id.
func (s *Site) payments(ctx context.Context, which sq.Eq) ([]Payment, error) {
	stmt := s.paymentColumns(sq.Select().From(s.db.As(wpdb.Transactions, "t")).Where(which).OrderBy("t.id"))
	records, err := wpdb.All(ctx, s.db, "read payments", stmt, scanPayment)
	if err != nil {
		return nil, err
	}
	return records, s.addFirstBookings(ctx, records)
}

// addPayments reads the payments of an order, oldest first, and sets the payment status of
// the order that the API shows: one scan of payments for both.
func (s *Site) addPayments(ctx context.Context, order *Order) ([]Payment, error) {
	rows := "0"
	if s.schema.Has(wpdb.TransactionRefunds) {
		rows = "(SELECT SUM(r.amount) FROM " + s.db.As(wpdb.TransactionRefunds, "r") + " WHERE r.transaction_id = t.id)"
	}
	stmt := s.paymentColumns(sq.Select().From(s.db.As(wpdb.Transactions, "t")).Where(sq.Eq{"t.order_id": order.ID}).OrderBy("t.id")).Column(rows)
	records, err := wpdb.All(ctx, s.db, "read payments of order", stmt, func(row wpdb.Scanner) (Payment, error) {
		var rows decimal.NullDecimal
		p, err := scanPaymentAnd(row, &rows)
		p.RefundRows = rows.Decimal
		return p, err
	})
	if err != nil {
		return nil, err
	}
	order.DisplayPaymentStatus = ledgerOf(records).totals(order.Total).displayStatus(order.PaymentStatus)
	return records, s.addFirstBookings(ctx, records)
}

// paymentColumns selects what scanPayment reads of payments, t.
func (s *Site) paymentColumns(stmt sq.SelectBuilder) sq.SelectBuilder {
	return stmt.Columns(s.schema.Columns(wpdb.Transactions, "t", "id", "token", "invoice_id", "order_id", "customer_id", "processor", "payment_method",
		"payment_portion", "kind", "amount", "status", "notes", "receipt_number", "access_key", "created_at", "updated_at")...)
}

// scanPayment reads a payment without its booking.
func scanPayment(row wpdb.Scanner) (Payment, error) { return scanPaymentAnd(row) }

// scanPaymentAnd is scanPayment with columns that the caller selected after those of the
// payment.
func scanPaymentAnd(row wpdb.Scanner, behind ...any) (p Payment, err error) {
	var amount decimal.NullDecimal
	err = row.Scan(append([]any{&p.ID, &p.Token, &p.InvoiceID, &p.OrderID, wpdb.OrZero(&p.CustomerID), wpdb.OrZero(&p.Processor), wpdb.OrZero(&p.PaymentMethod),
		wpdb.OrZero(&p.PaymentPortion), wpdb.OrZero(&p.Kind), &amount, &p.Status, &p.Notes, &p.ReceiptNumber, &p.AccessKey,
		wpdb.OrZero((*string)(&p.CreatedAt)), wpdb.OrZero((*string)(&p.UpdatedAt))}, behind...)...)
	p.Amount = amount.Decimal
	return p, err
}

// addFirstBookings adds the first booking of each payment's order.
func (s *Site) addFirstBookings(ctx context.Context, records []Payment) error {
	orders := make([]int64, 0, len(records))
	for _, p := range records {
		if p.OrderID != nil {
			orders = append(orders, *p.OrderID)
		}
	}
	bookings, err := s.firstBookings(ctx, orders)
	for i, p := range records {
		if id, ok := bookings[domain.ValueOr(p.OrderID, 0)]; ok {
			records[i].BookingID = &id
		}
	}
	return err
}

// firstBookings finds the first booking of each order. Where `bookside indexes` has not added
// an index on bookings.order_item_id, going from an order to its bookings would be a scan: the
// JSON of the items names the booking, and the booking confirms it.
func (s *Site) firstBookings(ctx context.Context, orders []int64) (map[int64]int64, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	type item struct{ id, order, booking int64 }
	stmt := sq.Select("id", "order_id", "item_data").From(s.db.Name(wpdb.OrderItems)).Where(sq.Eq{"order_id": orders}).OrderBy("id")
	items, err := wpdb.All(ctx, s.db, "read items of orders", stmt, func(row wpdb.Scanner) (i item, err error) {
		var data string
		err = row.Scan(&i.id, &i.order, wpdb.OrZero(&data))
		i.booking = itemBooking(data)
		return i, err
	})
	if err != nil {
		return nil, err
	}
	named := make([]int64, 0, len(items))
	for _, i := range items {
		if i.booking > 0 {
			named = append(named, i.booking)
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	confirmed, err := grouped(ctx, s, "read bookings of orders",
		sq.Select("order_item_id", "id").From(s.db.Name(wpdb.Bookings)).Where(sq.Eq{"id": named}).Where(sq.NotEq{"order_item_id": nil}).OrderBy("id"),
		func(row wpdb.Scanner, item *int64) (id int64, err error) {
			err = row.Scan(item, &id)
			return id, err
		})
	if err != nil {
		return nil, err
	}
	first := make(map[int64]int64, len(orders))
	for _, i := range items {
		for _, id := range confirmed[i.id] {
			if known, ok := first[i.order]; !ok || id < known {
				first[i.order] = id
			}
		}
	}
	return first, nil
}

// OrderTransactions returns one page of an order's payments, oldest first.
func (s *Site) OrderTransactions(ctx context.Context, orderID int64, p Paging) (Page[Payment], error) {
	if err := s.requireOrder(ctx, orderID); err != nil {
		return Page[Payment]{}, err
	}
	return s.Payments(ctx, PaymentFilter{Paging: p, OrderID: &orderID, Sort: PaymentsByID})
}
