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

// takesMoney reports whether payments of a kind take money, rather than give it back, or
// move none.
func takesMoney(kind string) bool {
	return !isRefund(kind) && !strings.EqualFold(kind, kindAuthorization) && !strings.EqualFold(kind, kindVoid)
}

// paymentTotals are the sums of an order's payments and refunds.
type paymentTotals struct {
	total, paid, refunded decimal.Decimal
	processing            bool // a payment is being processed
}

// net returns payments less refunds. It is 0 if somebody recorded more refunds than payments.
func (b paymentTotals) net() decimal.Decimal {
	return decimal.Max(decimal.Zero, b.paid.Sub(b.refunded))
}

// ledgerOf returns the ledger of payments that were read with their refund rows.
func ledgerOf(payments []Payment) ledger {
	l := make(ledger, len(payments))
	for i, p := range payments {
		l[i] = entryOf(p, p.RefundRows)
	}
	return l
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

// What a transaction, t, took and gave back, as took, gaveBack and givesBack of a ledgerEntry
// say. Authorisations and voids move no money.
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
	transactions, refunded := s.joinRefundRows(transactions)
	return transactions.Columns("t.order_id", "SUM("+paidAmount+") AS paid", "SUM("+refunded+") AS refunded").GroupBy("t.order_id")
}

// joinRefundRows joins the refunds with rows of their own to a statement that selects from
// transactions, t, and returns what these gave back.
func (s *Site) joinRefundRows(stmt sq.SelectBuilder) (joined sq.SelectBuilder, refunded string) {
	if !s.schema.Has(wpdb.TransactionRefunds) {
		return stmt, refundedAmount("0")
	}
	rows := sq.Select("transaction_id", "SUM(amount) AS amount").From(s.db.Name(wpdb.TransactionRefunds)).GroupBy("transaction_id")
	return stmt.JoinClause(sq.ConcatExpr("LEFT JOIN (", rows, ") AS r ON r.transaction_id = t.id")), refundedAmount("r.amount")
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

// ordersOf selects the orders of the transactions, t, that a condition holds for.
func (s *Site) ordersOf(transactions sq.Sqlizer) sq.SelectBuilder {
	return sq.Select("t.order_id").From(s.db.As(wpdb.Transactions, "t")).Where(transactions)
}

// filterPaymentStatus keeps the orders, o, that are shown with a payment status. The orders
// with refunds are few: they are found first, and then compared by their ids.
func (s *Site) filterPaymentStatus(ctx context.Context, filter sq.SelectBuilder, status *string) (sq.SelectBuilder, error) {
	if status == nil {
		return filter, nil
	}
	// bookside indexes makes an index for each part, and they are few: the sums tell which gave something back.
	parts := []any{s.ordersOf(sq.Eq{"t.kind": kindRefund, "t.status": []string{paymentSucceeded, statusRefunded}}),
		" UNION ", s.ordersOf(sq.Eq{"t.status": statusRefunded}), " UNION ", s.ordersOf(sq.Lt{"t.amount": 0})}
	if s.schema.Has(wpdb.TransactionRefunds) {
		rows := sq.Select("t.order_id").From(s.db.As(wpdb.TransactionRefunds, "r")).Join(s.db.As(wpdb.Transactions, "t") + " ON t.id = r.transaction_id")
		parts = append(parts, " UNION ", rows)
	}
	refunded := sq.ConcatExpr(parts...)
	transactions := sq.Select().From(s.db.As(wpdb.Transactions, "t")).
		JoinClause(sq.ConcatExpr("JOIN (", refunded, ") AS x ON x.order_id = t.order_id"))
	shown := sq.Select("m.order_id").Column(refundStatus+" = ?", *status).FromSelect(s.paymentSums(transactions), "m").Where("m.refunded > 0").Limit(maxIDList + 1)
	type order struct {
		id   int64
		same bool
	}
	orders, more, err := wpdb.First(ctx, s.db.Gathered(), "find orders with refunds", shown, maxIDList, func(row wpdb.Scanner) (o order, err error) {
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
