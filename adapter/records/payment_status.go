package records

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// The payment statuses that count, and the kinds of payments.
const (
	PaymentSucceeded  = "succeeded"
	PaymentProcessing = "processing"
	// StatusRefunded is what clients send for a successful refund, and what the plugin's
	// ability refund-transaction stores.
	StatusRefunded = "refunded"

	KindCapture       = "capture"
	KindRefund        = "refund"
	KindAuthorization = "authorization"
	KindVoid          = "void"
)

// The payment statuses of orders.
const (
	OrderNotPaid           = "not_paid"
	OrderPartiallyPaid     = "partially_paid"
	OrderFullyPaid         = "fully_paid"
	OrderProcessing        = "processing"
	OrderRefunded          = "refunded"
	OrderPartiallyRefunded = "partially_refunded"
)

// TakesMoney reports whether payments of a kind take money, as opposed to giving it back or moving none.
func TakesMoney(kind string) bool {
	return !IsRefund(kind) && !strings.EqualFold(kind, KindAuthorization) && !strings.EqualFold(kind, KindVoid)
}

// PaymentTotals are the sums of an order's payments and refunds.
type PaymentTotals struct {
	total, paid, refunded decimal.Decimal
	processing            bool // a payment is being processed
}

// Net returns payments less refunds, or 0 if more refunds than payments were recorded.
func (b PaymentTotals) Net() decimal.Decimal {
	return decimal.Max(decimal.Zero, b.paid.Sub(b.refunded))
}

// LedgerOf returns the ledger of payments that were read with their refund rows.
func LedgerOf(payments []Payment) Ledger {
	l := make(Ledger, len(payments))
	for i, p := range payments {
		l[i] = EntryOf(p, p.RefundRows)
	}
	return l
}

// PaymentStatus returns the payment status to store for the order: one of the plugin's own, which cannot
// express refunds. A free order keeps its status.
func (b PaymentTotals) PaymentStatus(present string) string {
	net := b.Net()
	switch {
	case !b.total.IsPositive():
		return present
	case net.GreaterThanOrEqual(b.total):
		return OrderFullyPaid
	case net.IsPositive():
		return OrderPartiallyPaid
	case b.processing:
		return OrderProcessing
	default:
		return OrderNotPaid
	}
}

// LoadPaymentTotals sums up the payments of an order.
func LoadPaymentTotals(ctx context.Context, s *session.Session, order Order) (PaymentTotals, error) {
	money, err := LoadLedger(ctx, s, sq.Eq{"t.order_id": order.ID})
	return money.Totals(order.Total), err
}

// What a transaction, t, took and gave back, by the rules of Took, GaveBack and GivesBack of a LedgerEntry.
// Authorisations and voids move no money.
const (
	takesAmount = "COALESCE(t.kind, '') NOT IN ('refund', 'authorization', 'void')"
	paidAmount  = "CASE WHEN t.status IN ('succeeded', 'refunded') AND " + takesAmount + " AND t.amount > 0 THEN t.amount ELSE 0 END"
)

// refundedAmount is what a transaction, t, gave back. rows is the sum of its refunds with rows
// of their own.
func refundedAmount(rows string) string {
	return "CASE WHEN t.kind = 'refund' AND t.status IN ('succeeded', 'refunded') THEN ABS(t.amount)" +
		" WHEN t.status = 'succeeded' AND t.amount < 0 AND " + takesAmount + " THEN -t.amount" +
		" WHEN t.status = 'refunded' THEN " + paidAmount +
		" WHEN COALESCE(" + rows + ", 0) <= 0 THEN 0 WHEN " + rows + " < (" + paidAmount + ") THEN " + rows + " ELSE " + paidAmount + " END"
}

// JoinRefunds joins what was paid and refunded for some orders, o, as m. Unless the site's administrator
// added an index, transactions.order_id has none: one scan then compares with the ids themselves, because a
// join would cost twice as much.
func JoinRefunds(s *session.Session, stmt sq.SelectBuilder, orders []int64) sq.SelectBuilder {
	return joinSums(s, stmt, sq.Select().From(s.DB.As(wpdb.Transactions, "t")).Where(sq.Eq{"t.order_id": orders}), "t.order_id")
}

// joinSums joins the sums of the transactions, t, that a statement selects, by a column with their order, as m.
func joinSums(s *session.Session, stmt, transactions sq.SelectBuilder, order string) sq.SelectBuilder {
	sums, refunded := joinRefundRows(s, transactions)
	sums = sums.Columns(order, "SUM("+paidAmount+") AS paid", "SUM("+refunded+") AS refunded").GroupBy(order)
	return stmt.JoinClause(sq.ConcatExpr("LEFT JOIN (", sums, ") AS m ON m.order_id = o.id"))
}

// joinRefundRows joins the refunds that have rows of their own to a statement that selects from
// transactions, t, and returns what these gave back.
func joinRefundRows(s *session.Session, stmt sq.SelectBuilder) (joined sq.SelectBuilder, refunded string) {
	if !s.Schema.Has(wpdb.TransactionRefunds) {
		return stmt, refundedAmount("0")
	}
	rows := sq.Select("transaction_id", "SUM(amount) AS amount").From(s.DB.Name(wpdb.TransactionRefunds)).GroupBy("transaction_id")
	return stmt.JoinClause(sq.ConcatExpr("LEFT JOIN (", rows, ") AS r ON r.transaction_id = t.id")), refundedAmount("r.amount")
}

// DisplayPaymentStatus is the payment status of an order, o, as the API shows it: the stored one, or one of
// two words for refunds, which the plugin does not know and loses when its form is saved. It needs
// joinSums.
const DisplayPaymentStatus = "(CASE WHEN COALESCE(m.refunded, 0) <= 0 THEN o.payment_status ELSE " + refundStatus + " END)"

// refundStatus is the payment status of an order with refunds.
const refundStatus = "(CASE WHEN m.paid > m.refunded THEN '" + OrderPartiallyRefunded + "' ELSE '" + OrderRefunded + "' END)"

// displayStatus is DisplayPaymentStatus for an order whose payments were read.
func (b PaymentTotals) displayStatus(stored string) string {
	switch {
	case !b.refunded.IsPositive():
		return stored
	case b.paid.GreaterThan(b.refunded):
		return OrderPartiallyRefunded
	default:
		return OrderRefunded
	}
}

// showPaymentStatus sets DisplayPaymentStatus by the order's payments, read with their refund rows.
func (o *Order) showPaymentStatus(payments []Payment) {
	o.DisplayPaymentStatus = LedgerOf(payments).Totals(o.Total).displayStatus(o.PaymentStatus)
}

// ordersOf selects the orders of the transactions, t, for which a condition holds.
func ordersOf(s *session.Session, transactions sq.Sqlizer) sq.SelectBuilder {
	return sq.Select("t.order_id").From(s.DB.As(wpdb.Transactions, "t")).Where(transactions)
}

// FilterPaymentStatus keeps the orders, o, that are shown with a payment status. Sums are made for orders
// that may have refunds; `bookside indexes` has an index for each part.
func FilterPaymentStatus(s *session.Session, filter sq.SelectBuilder, status *string) sq.SelectBuilder {
	if status == nil {
		return filter
	}
	parts := []any{ordersOf(s, sq.Eq{"t.kind": KindRefund, "t.status": []string{PaymentSucceeded, StatusRefunded}}),
		" UNION ", ordersOf(s, sq.Eq{"t.status": StatusRefunded}), " UNION ", ordersOf(s, sq.Lt{"t.amount": 0})}
	if s.Schema.Has(wpdb.TransactionRefunds) {
		rows := sq.Select("t.order_id").From(s.DB.As(wpdb.TransactionRefunds, "r")).Join(s.DB.As(wpdb.Transactions, "t") + " ON t.id = r.transaction_id")
		parts = append(parts, " UNION ", rows)
	}
	refunded := sq.ConcatExpr(parts...)
	transactions := sq.Select().From(s.DB.As(wpdb.Transactions, "t")).
		JoinClause(sq.ConcatExpr("JOIN (", refunded, ") AS x ON x.order_id = t.order_id"))
	// Grouped by t.order_id, if that has an index, MariaDB would read all that may have refunds again for each order.
	return FilterEqual(joinSums(s, filter, transactions, "x.order_id"), DisplayPaymentStatus, status)
}
