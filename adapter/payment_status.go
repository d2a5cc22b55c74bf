package adapter

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/wpdb"
)

// The statuses of payments that count, and their kinds.
const (
	paymentSucceeded  = "succeeded"
	paymentProcessing = "processing"

	kindCapture       = "capture"
	kindRefund        = "refund"
	kindAuthorization = "authorization"
	kindVoid          = "void"
)

// The payment statuses of orders.
const (
	orderNotPaid           = "not_paid"
	orderPartiallyPaid     = "partially_paid"
	orderFullyPaid         = "fully_paid"
	orderProcessing        = "processing"
	orderRefunded          = "refunded"
	orderPartiallyRefunded = "partially_refunded"
)

// captured reports whether a payment took money.
func (p Payment) captured() bool {
	return strings.EqualFold(p.Kind, kindCapture) && strings.EqualFold(p.Status, paymentSucceeded)
}

// paymentTotals are the sums of an order's payments and refunds.
type paymentTotals struct {
	total, paid, refunded decimal.Decimal
	processing            bool // a payment is being processed
}

// add adds a payment, as paidSum does. The columns compare without regard to case.
func (b *paymentTotals) add(status, kind string, amount decimal.Decimal) {
	switch status, kind = strings.ToLower(status), strings.ToLower(kind); {
	case status == paymentProcessing:
		b.processing = true
	case status != paymentSucceeded, kind == kindAuthorization, kind == kindVoid:
	case kind == kindRefund:
		b.refunded = b.refunded.Add(amount)
	default:
		b.paid = b.paid.Add(amount)
	}
}

// net returns payments less refunds.
func (b paymentTotals) net() decimal.Decimal { return b.paid.Sub(b.refunded) }

// netPaid returns the sum of a list of payments, less refunds.
func netPaid(payments []Payment) decimal.Decimal {
	var b paymentTotals
	for _, p := range payments {
		b.add(p.Status, p.Kind, p.Amount)
	}
	return b.net()
}

// paymentStatus returns the payment status that the order should have. A free order keeps
// its status.
func (b paymentTotals) paymentStatus(present string) string {
	net := b.net()
	switch {
	case b.total.IsZero():
		return present
	case b.refunded.IsPositive() && !net.IsPositive():
		return orderRefunded
	case b.refunded.IsPositive():
		return orderPartiallyRefunded
	case net.GreaterThanOrEqual(b.total):
		return orderFullyPaid
	case net.IsPositive():
		return orderPartiallyPaid
	case b.processing:
		return orderProcessing
	default:
		return orderNotPaid
	}
}

// paymentTotals sums up the payments of an order. transactions.order_id has no index: one
// scan.
func (s *Site) paymentTotals(ctx context.Context, order Order) (paymentTotals, error) {
	type movement struct {
		id           int64
		status, kind string
		amount       decimal.NullDecimal
	}
	b := paymentTotals{total: order.Total}
	stmt := sq.Select("id", "status", "kind", "amount").From(s.db.Name(wpdb.Transactions)).Where(sq.Eq{"order_id": order.ID}).OrderBy("id")
	movements, err := wpdb.All(ctx, s.db, "sum up payments of order", stmt, func(row wpdb.Scanner) (m movement, err error) {
		err = row.Scan(&m.id, &m.status, wpdb.OrZero(&m.kind), &m.amount)
		return m, err
	})
	if err != nil || len(movements) == 0 {
		return b, err
	}
	ids := make([]int64, len(movements))
	for i, m := range movements {
		ids[i] = m.id
		b.add(m.status, m.kind, m.amount.Decimal)
	}
	if !s.schema.Has(wpdb.TransactionRefunds) {
		return b, nil
	}
	stmt = sq.Select("SUM(amount)").From(s.db.Name(wpdb.TransactionRefunds)).Where(sq.Eq{"transaction_id": ids})
	refunds, _, err := wpdb.One(ctx, s.db, "sum up refunds of order", stmt, wpdb.Value[decimal.NullDecimal])
	b.refunded = b.refunded.Add(refunds.Decimal)
	return b, err
}

// paidSum returns the SQL sum of the successful transactions of an alias, less refunds.
// Authorisations and voids move no money.
func paidSum(alias string) string {
	kind := "COALESCE(" + alias + ".kind, '')"
	return "SUM(CASE WHEN " + alias + ".status <> 'succeeded' OR " + kind + " IN ('authorization', 'void') THEN 0" +
		" WHEN " + kind + " = 'refund' THEN -" + alias + ".amount ELSE " + alias + ".amount END)"
}
