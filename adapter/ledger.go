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
func (s *Site) ledger(ctx context.Context, which sq.Eq) (ledger, error) {
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

// takes reports whether the payment is of a kind that takes money.
func (e ledgerEntry) takes() bool {
	return !slices.Contains([]string{kindRefund, kindAuthorization, kindVoid}, strings.ToLower(e.kind))
}

// tookMoney reports whether the payment took money that it has, less its refunds.
func (e ledgerEntry) tookMoney() bool {
	return e.takes() && strings.EqualFold(e.status, paymentSucceeded)
}

// totals sums up the ledger of an order with a total.
func (l ledger) totals(total decimal.Decimal) paymentTotals {
	b := paymentTotals{total: total}
	for _, e := range l {
		b.add(e.status, e.kind, e.amount)
		if !refundedInFull(e.status, e.kind) {
			b.refunded = b.refunded.Add(e.refunds)
		}
	}
	return b
}

// net returns payments less refunds.
func (l ledger) net() decimal.Decimal { return l.totals(decimal.Zero).net() }

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
	amount decimal.Decimal
	by     []int64 // the refunds among the transactions that give it back
	shared bool    // one of these also gives back another payment
}

// given tells of each payment that took money what was given back of it: its own refund
// rows, the refunds that name it, and a part of the others. One of exactly its amount is
// taken to be for it; else the newest payment is given back first, of those made before the
// refund if they suffice.
func (l ledger) given() map[int64]given {
	shares := map[int64]given{}
	for _, e := range l {
		if e.tookMoney() {
			shares[e.id] = given{amount: e.refunds}
		}
	}
	take := func(id int64, refund ledgerEntry, amount decimal.Decimal) {
		g := shares[id]
		g.amount, g.by, g.shared = g.amount.Add(amount), append(g.by, refund.id), g.shared || !isRefund(refund.kind) || !amount.Equal(refund.back())
		shares[id] = g
	}
	for _, refund := range l {
		open := refund.back()
		if _, took := shares[refundOf(refund.token)]; took {
			take(refundOf(refund.token), refund, open)
			continue
		}
		for _, fits := range []func(e ledgerEntry, left decimal.Decimal) bool{
			func(e ledgerEntry, left decimal.Decimal) bool { return e.id < refund.id && left.Equal(open) },
			func(e ledgerEntry, _ decimal.Decimal) bool { return e.id < refund.id },
			func(ledgerEntry, decimal.Decimal) bool { return true },
		} {
			for _, e := range slices.Backward(l) {
				left := e.amount.Sub(shares[e.id].amount)
				if !e.tookMoney() || !left.IsPositive() || !open.IsPositive() || !fits(e, left) {
					continue
				}
				part := decimal.Min(left, open)
				take(e.id, refund, part)
				open = open.Sub(part)
			}
		}
	}
	return shares
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

// back returns what the entry gives back of other payments: a refund its amount, and one
// that took nothing, its refund rows.
func (e ledgerEntry) back() decimal.Decimal {
	switch {
	case isRefund(e.kind) && strings.EqualFold(e.status, paymentSucceeded):
		return e.amount.Abs().Add(e.refunds)
	case e.tookMoney(), refundedInFull(e.status, e.kind):
		return decimal.Zero
	default:
		return e.refunds
	}
}

// refundable returns what of a payment was not given back yet.
func (l ledger) refundable(e ledgerEntry) decimal.Decimal {
	return decimal.Max(decimal.Zero, decimal.Min(e.amount.Sub(l.given()[e.id].amount), l.net()))
}

// missing returns by how much the refunds of the order, or those of one of its payments,
// exceed what was taken.
func (l ledger) missing(payment int64) decimal.Decimal {
	took, back := decimal.Zero, decimal.Zero
	for _, e := range l {
		switch {
		case e.id == payment && e.tookMoney():
			took, back = took.Add(e.amount), back.Add(e.refunds)
		case e.id == payment && !refundedInFull(e.status, e.kind):
			back = back.Add(e.refunds)
		case refundOf(e.token) == payment:
			back = back.Add(e.back())
		}
	}
	return decimal.Max(l.net().Neg(), back.Sub(took), decimal.Zero)
}

// covered returns by how much the payments that name an invoice, less what was given back
// of them, cover it.
func (l ledger) covered() map[int64]decimal.Decimal {
	sums, shares := map[int64]decimal.Decimal{}, l.given()
	for _, e := range l {
		if e.invoice == 0 {
			continue
		}
		sums[e.invoice] = sums[e.invoice].Add(decimal.Zero)
		if e.tookMoney() {
			sums[e.invoice] = sums[e.invoice].Add(e.amount.Sub(shares[e.id].amount))
		}
	}
	return sums
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
