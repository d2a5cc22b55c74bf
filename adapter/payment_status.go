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
	// statusRefunded is what clients send for a successful refund, and what the plugin's
	// ability refund-transaction stores.
	statusRefunded = "refunded"

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

// refundedInFull reports whether a payment took money and gave all of it back, as the
// plugin's ability refund-transaction says. Refunds with rows of their own are part of it.
func refundedInFull(status, kind string) bool {
	return strings.EqualFold(status, statusRefunded) && (kind == "" || strings.EqualFold(kind, kindCapture))
}

// paymentTotals are the sums of an order's payments and refunds.
type paymentTotals struct {
	total, paid, refunded decimal.Decimal
	processing            bool // a payment is being processed
}

// add adds a payment, as paidAmount and refundedAmount do. The columns compare without regard to case.
func (b *paymentTotals) add(status, kind string, amount decimal.Decimal) {
	switch status, kind = strings.ToLower(status), strings.ToLower(kind); {
	case status == paymentProcessing:
		b.processing = true
	case refundedInFull(status, kind):
		b.paid, b.refunded = b.paid.Add(amount), b.refunded.Add(amount)
	case status != paymentSucceeded, kind == kindAuthorization, kind == kindVoid:
	case kind == kindRefund:
		b.refunded = b.refunded.Add(amount.Abs())
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
		b.refunded = b.refunded.Add(p.RefundRows)
	}
	return b.net()
}

// paymentStatus returns the payment status to store for the order: one of the plugin's own,
// which do not tell refunds. A free order keeps its status.
func (b paymentTotals) paymentStatus(present string) string {
	net := b.net()
	switch {
	case !b.total.IsPositive():
		return present
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

// paymentTotals sums up the payments of an order.
func (s *Site) paymentTotals(ctx context.Context, order Order) (paymentTotals, error) {
	money, err := s.ledger(ctx, sq.Eq{"t.order_id": order.ID})
	return money.totals(order.Total), err
}

// What a transaction, t, took and gave back, as paymentTotals.add does. Authorisations and
// voids move no money.
const (
	isRefundedInFull = "(t.status = 'refunded' AND COALESCE(t.kind, '') IN ('', 'capture'))"
	paidAmount       = "CASE WHEN t.status = 'succeeded' AND COALESCE(t.kind, '') NOT IN ('refund', 'authorization', 'void') OR " + isRefundedInFull + " THEN t.amount ELSE 0 END"
	refundedAmount   = "CASE WHEN t.status = 'succeeded' AND t.kind = 'refund' THEN ABS(t.amount) WHEN " + isRefundedInFull + " THEN t.amount ELSE 0 END"
)

// joinRefunds joins what was paid and refunded for some orders, o, as m. transactions.order_id
// has no index unless the site's administrator added one: one scan, which compares with
// the ids themselves, because a join would cost it twice as much.
func (s *Site) joinRefunds(stmt sq.SelectBuilder, orders []int64) sq.SelectBuilder {
	return s.joinSums(stmt, sq.Select().From(s.db.As(wpdb.Transactions, "t")).Where(sq.Eq{"t.order_id": orders}))
}

// joinSums joins the sums of the transactions, t, that a statement selects, by order, as m.
func (s *Site) joinSums(stmt, transactions sq.SelectBuilder) sq.SelectBuilder {
	return stmt.JoinClause(sq.ConcatExpr("LEFT JOIN (", s.paymentSums(transactions), ") AS m ON m.order_id = o.id"))
}

// paymentSums sums up the transactions, t, that a statement selects, by order.
func (s *Site) paymentSums(transactions sq.SelectBuilder) sq.SelectBuilder {
	refunded := "SUM(" + refundedAmount + ")"
	if s.schema.Has(wpdb.TransactionRefunds) {
		rows := sq.Select("transaction_id", "SUM(amount) AS amount").From(s.db.Name(wpdb.TransactionRefunds)).GroupBy("transaction_id")
		transactions = transactions.JoinClause(sq.ConcatExpr("LEFT JOIN (", rows, ") AS r ON r.transaction_id = t.id"))
		refunded = "SUM(" + refundedAmount + " + CASE WHEN " + isRefundedInFull + " THEN 0 ELSE COALESCE(r.amount, 0) END)"
	}
	return transactions.Columns("t.order_id", "SUM("+paidAmount+") AS paid", refunded+" AS refunded").GroupBy("t.order_id")
}

// displayPaymentStatus is the payment status of an order, o, as the API shows
// it: beside what is stored, the two words for refunds, which the plugin does not
// know and loses when its form is saved. It needs joinSums.
const displayPaymentStatus = "(CASE WHEN COALESCE(m.refunded, 0) <= 0 THEN o.payment_status ELSE " + refundStatus + " END)"

// refundStatus is the payment status of an order with refunds.
const refundStatus = "(CASE WHEN m.paid > m.refunded THEN '" + orderPartiallyRefunded + "' ELSE '" + orderRefunded + "' END)"

// displayStatus is displayPaymentStatus of an order whose payments were read.
func (b paymentTotals) displayStatus(stored string) string {
	switch {
	case !b.refunded.IsPositive():
		return stored
	case b.paid.GreaterThan(b.refunded):
		return orderPartiallyRefunded
	default:
		return orderRefunded
	}
}

// filterPaymentStatus keeps the orders, o, that are shown with a payment status. The orders
// with refunds are few: they are found first, and then compared by their ids.
func (s *Site) filterPaymentStatus(ctx context.Context, filter sq.SelectBuilder, status *string) (sq.SelectBuilder, error) {
	if status == nil {
		return filter, nil
	}
	refunded := sq.Select("t.order_id").From(s.db.As(wpdb.Transactions, "t")).Where(sq.Or{
		sq.Eq{"t.kind": kindRefund, "t.status": paymentSucceeded},
		sq.Eq{"t.kind": []string{"", kindCapture}, "t.status": statusRefunded}, sq.Eq{"t.kind": nil, "t.status": statusRefunded},
	})
	if s.schema.Has(wpdb.TransactionRefunds) {
		rows := sq.Select("t.order_id").From(s.db.As(wpdb.TransactionRefunds, "r")).Join(s.db.As(wpdb.Transactions, "t") + " ON t.id = r.transaction_id")
		refunded = refunded.SuffixExpr(sq.ConcatExpr("UNION ", rows))
	} else {
		refunded = refunded.GroupBy("t.order_id")
	}
	transactions := sq.Select().From(s.db.As(wpdb.Transactions, "t")).
		JoinClause(sq.ConcatExpr("JOIN (", refunded, ") AS x ON x.order_id = t.order_id"))
	shown := sq.Select("m.order_id").Column(refundStatus+" = ?", *status).FromSelect(s.paymentSums(transactions), "m").Where("m.refunded > 0").Limit(few + 1)
	type order struct {
		id   int64
		same bool
	}
	orders, more, err := wpdb.First(ctx, s.db.Gathered(), "find orders with refunds", shown, few, func(row wpdb.Scanner) (o order, err error) {
		err = row.Scan(&o.id, &o.same)
		return o, err
	})
	if err != nil {
		return filter, err
	}
	if more {
		return filterEqual(s.joinSums(filter, transactions), displayPaymentStatus, status), nil
	}
	all, same := make([]int64, 0, len(orders)), make([]int64, 0, len(orders))
	for _, o := range orders {
		all = append(all, o.id)
		if o.same {
			same = append(same, o.id)
		}
	}
	stored := sq.And{sq.Eq{"o.payment_status": *status}, sq.NotEq{"o.id": all}}
	if len(same) == 0 {
		return filter.Where(stored), nil
	}
	return filter.Where(sq.Or{stored, sq.Eq{"o.id": same}}), nil
}
