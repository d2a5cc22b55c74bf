package adapter

import (
	"context"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// ledger is the money of an order: its payments and refunds, oldest first.
type ledger []ledgerEntry

// ledgerEntry is a row of the order's transactions, with its refunds that have rows of
// their own.
type ledgerEntry struct {
	id, invoice         int64 // 0 for none
	token, status, kind string
	amount, refunds     decimal.Decimal
}

// entry returns the entry of a payment as it is now, with the refund rows that it had.
func (l ledger) entry(p Payment) ledgerEntry {
	refunds := decimal.Zero
	if at := slices.IndexFunc(l, func(e ledgerEntry) bool { return e.id == p.ID }); at >= 0 {
		refunds = l[at].refunds
	}
	return entryOf(p, refunds)
}

// entryOf returns the entry of a payment. refunds are those with rows of their own.
func entryOf(p Payment, refunds decimal.Decimal) ledgerEntry {
	return ledgerEntry{p.ID, domain.ValueOr(p.InvoiceID, 0), domain.ValueOr(p.Token, ""), p.Status, p.Kind, p.Amount, refunds}
}

// ledger reads the payments that a condition selects, and their refunds.
// transactions.order_id has no index: one scan.
func (s *Site) ledger(ctx context.Context, which sq.Sqlizer) (ledger, error) {
	stmt := sq.Select(s.schema.Columns(wpdb.Transactions, "t", "id", "invoice_id", "token", "status", "kind", "amount")...).
		From(s.db.As(wpdb.Transactions, "t")).Where(which).OrderBy("t.id")
	entries, err := wpdb.All(ctx, s.db, "read money of order", stmt, func(row wpdb.Scanner) (e ledgerEntry, err error) {
		var amount decimal.NullDecimal
		err = row.Scan(&e.id, wpdb.OrZero(&e.invoice), wpdb.OrZero(&e.token), &e.status, wpdb.OrZero(&e.kind), &amount)
		e.amount = amount.Decimal
		return e, err
	})
	if err != nil || len(entries) == 0 || !s.schema.Has(wpdb.TransactionRefunds) {
		return entries, err
	}
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	stmt = sq.Select("transaction_id", "SUM(amount)").From(s.db.Name(wpdb.TransactionRefunds)).Where(sq.Eq{"transaction_id": ids}).GroupBy("transaction_id")
	refunds, err := wpdb.Map[int64, decimal.NullDecimal](ctx, s.db, "sum up refunds of order", stmt)
	for i, e := range entries {
		entries[i].refunds = refunds[e.id].Decimal
	}
	return entries, err
}

// ledgerAround reads the payments of a payment's order; of a payment without an order, itself
// and the refunds that name it.
func (s *Site) ledgerAround(ctx context.Context, p Payment) (ledger, error) {
	if domain.ValueOr(p.OrderID, 0) == 0 {
		named := sq.And{sq.Eq{"t.token": refundToken + domain.IDText(p.ID)}, sq.Or{sq.Eq{"t.order_id": nil}, sq.Eq{"t.order_id": 0}}}
		return s.ledger(ctx, sq.Or{sq.Eq{"t.id": p.ID}, named})
	}
	return s.ledger(ctx, sq.Eq{"t.order_id": *p.OrderID})
}

// takes reports whether the payment is of a kind that takes money. The columns compare
// without regard to case.
func (e ledgerEntry) takes() bool { return takesMoney(e.kind) }

// has reports whether the payment has a status.
func (e ledgerEntry) has(status string) bool { return strings.EqualFold(e.status, status) }

// captured reports whether the payment is a capture that succeeded.
func (e ledgerEntry) captured() bool {
	return strings.EqualFold(e.kind, kindCapture) && e.has(paymentSucceeded)
}

// isRefunded reports whether the payment took money and gave all of it back, as the plugin's
// ability refund-transaction says with the status alone. Refunds with rows of their own are
// part of it.
func (e ledgerEntry) isRefunded() bool { return e.takes() && e.has(statusRefunded) }

// took returns what the payment took, before refunds.
func (e ledgerEntry) took() decimal.Decimal {
	if !e.takes() || !e.has(paymentSucceeded) && !e.has(statusRefunded) {
		return decimal.Zero
	}
	return decimal.Max(decimal.Zero, e.amount)
}

// gaveBack returns what the payment gave back of itself: never more than it took, although
// wp-admin can make less of it, or change its status, after a refund.
func (e ledgerEntry) gaveBack() decimal.Decimal {
	if e.isRefunded() {
		return e.took()
	}
	return decimal.Max(decimal.Zero, decimal.Min(e.refunds, e.took()))
}

// givesBack returns what the entry gives back of other payments: a refund its amount, by
// either word, and so does a negative payment, by which the plugin's sum of transactions
// becomes less.
func (e ledgerEntry) givesBack() decimal.Decimal {
	refund := isRefund(e.kind) && (e.has(paymentSucceeded) || e.has(statusRefunded))
	if refund || e.takes() && e.has(paymentSucceeded) && e.amount.IsNegative() {
		return e.amount.Abs()
	}
	return decimal.Zero
}

// totals sums up the ledger of an order with a total.
func (l ledger) totals(total decimal.Decimal) paymentTotals {
	b := paymentTotals{total: total}
	for _, e := range l {
		b.paid = b.paid.Add(e.took())
		b.refunded = b.refunded.Add(e.gaveBack()).Add(e.givesBack())
		b.processing = b.processing || e.has(paymentProcessing)
	}
	return b
}

// net returns payments less refunds.
func (l ledger) net() decimal.Decimal { return l.totals(decimal.Zero).net() }

// beforeRefunds returns the ledger as if nothing had been given back.
func (l ledger) beforeRefunds() ledger {
	gross := make(ledger, 0, len(l))
	for _, e := range l {
		if e.took().IsPositive() {
			e.status, e.refunds = paymentSucceeded, decimal.Zero
			gross = append(gross, e)
		}
	}
	return gross
}

// with returns the ledger after an entry was added or changed.
func (l ledger) with(e ledgerEntry) ledger {
	changed := slices.Clone(l)
	if at := slices.IndexFunc(l, func(old ledgerEntry) bool { return old.id == e.id }); at >= 0 {
		changed[at] = e
		return changed
	}
	return append(changed, e)
}

// without returns the ledger after entries were deleted.
func (l ledger) without(ids []int64) ledger {
	return slices.DeleteFunc(slices.Clone(l), func(e ledgerEntry) bool { return slices.Contains(ids, e.id) })
}

// given is what was given back of a payment that took money.
type given struct {
	amount decimal.Decimal // at most what it took
	sent   decimal.Decimal // the same, and what the refunds that name it are more than it took
	by     []int64         // the refunds among the transactions that give it back
	shared bool            // one of these also gives back another payment
}

// given tells of each payment that took money what was given back of it: by itself, by the
// refunds that name it, and a part of the others. One of exactly its amount is taken to be for
// it; else the newest payment is given back first, of those made before the refund if they
// suffice.
func (l ledger) given() map[int64]given {
	shares := map[int64]given{}
	for _, e := range l {
		if e.took().IsPositive() {
			shares[e.id] = given{amount: e.gaveBack(), sent: l.refundsOf(e)}
		}
	}
	for _, refund := range l {
		open := refund.givesBack()
		for _, fits := range []func(e ledgerEntry, left decimal.Decimal) bool{
			func(e ledgerEntry, _ decimal.Decimal) bool { return e.id == refundOf(refund.token) },
			func(e ledgerEntry, left decimal.Decimal) bool { return e.id < refund.id && left.Equal(open) },
			func(e ledgerEntry, _ decimal.Decimal) bool { return e.id < refund.id },
			func(ledgerEntry, decimal.Decimal) bool { return true },
		} {
			for _, e := range slices.Backward(l) {
				g := shares[e.id]
				left := e.took().Sub(g.amount)
				if !left.IsPositive() || !open.IsPositive() || !fits(e, left) {
					continue
				}
				part := decimal.Min(left, open)
				g.amount, g.by = g.amount.Add(part), append(g.by, refund.id)
				g.shared = g.shared || !isRefund(refund.kind) || !part.Equal(refund.givesBack())
				if refundOf(refund.token) != e.id {
					g.sent = g.sent.Add(part)
				}
				shares[e.id], open = g, open.Sub(part)
			}
		}
	}
	return shares
}

// left tells of each payment that took money what it has of it, after refunds.
func (l ledger) left() map[int64]decimal.Decimal {
	left, shares := map[int64]decimal.Decimal{}, l.given()
	for _, e := range l {
		if e.took().IsPositive() {
			left[e.id] = e.took().Sub(shares[e.id].amount)
		}
	}
	return left
}

// refundsInFull returns the refunds among the entries that gave back a successful payment,
// which may have others with rows of their own. Unless all of it was given back, and by no
// refund of another payment as well, it is a CodePaymentCompleted.
func (l ledger) refundsInFull(payment Payment) ([]int64, error) {
	back := l.given()[payment.ID]
	if !back.amount.IsPositive() || back.amount.LessThan(payment.Amount) || back.shared {
		return nil, domain.PaymentCompleted()
	}
	return back.by, nil
}

// refundsOf returns the sum of the refunds that are for a payment alone.
func (l ledger) refundsOf(e ledgerEntry) decimal.Decimal {
	sum := decimal.Max(decimal.Zero, e.refunds)
	for _, refund := range l {
		if refundOf(refund.token) == e.id {
			sum = sum.Add(refund.givesBack())
		}
	}
	return sum
}

// missing returns by how much the refunds of the order, or those of one of its payments,
// exceed what was taken.
func (l ledger) missing(payment int64) decimal.Decimal {
	sums := l.totals(decimal.Zero)
	missing := decimal.Max(decimal.Zero, sums.refunded.Sub(sums.paid))
	for _, e := range l {
		if e.id == payment {
			missing = decimal.Max(missing, l.refundsOf(e).Sub(e.took()))
		}
	}
	return missing
}

// refundToken begins the token of a refund that stands among the transactions, where the
// site has no table of refunds, and tells whose it is.
const refundToken = "refund-of-"

// refundOf returns the payment that a refund names in its token; 0 for none.
func refundOf(token string) int64 {
	text, ok := strings.CutPrefix(token, refundToken)
	if !ok {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
