package records

import (
	"context"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Ledger is the money of an order: its payments and refunds, oldest first.
type Ledger []LedgerEntry

// LedgerEntry is a row of the order's transactions, with the refunds of it that have rows of their own.
type LedgerEntry struct {
	ID, Invoice         int64 // 0 for none
	token, Status, Kind string
	Amount, Refunds     decimal.Decimal
}

// Entry returns the entry of a payment as it is now, with the refund rows that it had.
func (l Ledger) Entry(p Payment) LedgerEntry {
	refunds := decimal.Zero
	if at := slices.IndexFunc(l, func(e LedgerEntry) bool { return e.ID == p.ID }); at >= 0 {
		refunds = l[at].Refunds
	}
	return EntryOf(p, refunds)
}

// EntryOf returns the entry of a payment. refunds is the sum of those with rows of their own.
func EntryOf(p Payment, refunds decimal.Decimal) LedgerEntry {
	return LedgerEntry{p.ID, domain.ValueOr(p.InvoiceID, 0), domain.ValueOr(p.Token, ""), p.Status, p.Kind, p.Amount, refunds}
}

// LoadLedger reads the payments that a condition selects, and their refunds.
// transactions.order_id has no index: one scan.
func LoadLedger(ctx context.Context, s *session.Session, which sq.Sqlizer) (Ledger, error) {
	stmt := sq.Select(s.Schema.Columns(wpdb.Transactions, "t", "id", "invoice_id", "token", "status", "kind", "amount")...).
		From(s.DB.As(wpdb.Transactions, "t")).Where(which).OrderBy("t.id")
	entries, err := wpdb.All(ctx, s.DB, "read money of order", stmt, wpdb.Into(func(e *LedgerEntry) []any {
		return []any{&e.ID, wpdb.OrZero(&e.Invoice), wpdb.OrZero(&e.token), &e.Status, wpdb.OrZero(&e.Kind), wpdb.OrZero(&e.Amount)}
	}))
	if err != nil || len(entries) == 0 || !s.Schema.Has(wpdb.TransactionRefunds) {
		return entries, err
	}
	ids := IDsOf(entries, func(e LedgerEntry) int64 { return e.ID })
	stmt = sq.Select("transaction_id", "SUM(amount)").From(s.DB.Name(wpdb.TransactionRefunds)).Where(sq.Eq{"transaction_id": ids}).GroupBy("transaction_id")
	refunds, err := wpdb.Map[int64, decimal.Decimal](ctx, s.DB, "sum up refunds of order", stmt)
	for i, e := range entries {
		entries[i].Refunds = refunds[e.ID]
	}
	return entries, err
}

// LoadLedgerAround reads the payments of a payment's order. For a payment without an order, it reads the
// payment itself and the refunds that name it.
func LoadLedgerAround(ctx context.Context, s *session.Session, p Payment) (Ledger, error) {
	if domain.ValueOr(p.OrderID, 0) == 0 {
		named := sq.And{sq.Eq{"t.token": RefundToken + domain.IDText(p.ID)}, sq.Or{sq.Eq{"t.order_id": nil}, sq.Eq{"t.order_id": 0}}}
		return LoadLedger(ctx, s, sq.Or{sq.Eq{"t.id": p.ID}, named})
	}
	return LoadLedger(ctx, s, sq.Eq{"t.order_id": *p.OrderID})
}

// takes reports whether the entry is of a kind that takes money. The columns compare case-insensitively.
func (e LedgerEntry) takes() bool { return TakesMoney(e.Kind) }

// Has reports whether the payment has a status.
func (e LedgerEntry) Has(status string) bool { return strings.EqualFold(e.Status, status) }

// Captured reports whether the payment is a successful capture.
func (e LedgerEntry) Captured() bool {
	return strings.EqualFold(e.Kind, KindCapture) && e.Has(PaymentSucceeded)
}

// IsRefunded reports whether the payment took money and gave all of it back, which the plugin's ability
// refund-transaction expresses by the status alone. This includes refunds with rows of their own.
func (e LedgerEntry) IsRefunded() bool { return e.takes() && e.Has(StatusRefunded) }

// Took returns what the payment took, before refunds.
func (e LedgerEntry) Took() decimal.Decimal {
	if !e.takes() || !e.Has(PaymentSucceeded) && !e.Has(StatusRefunded) {
		return decimal.Zero
	}
	return decimal.Max(decimal.Zero, e.Amount)
}

// GaveBack returns what the payment itself gave back. It is never more than the payment took, although
// wp-admin can reduce its amount or change its status after a refund.
func (e LedgerEntry) GaveBack() decimal.Decimal {
	if e.IsRefunded() {
		return e.Took()
	}
	return decimal.Max(decimal.Zero, decimal.Min(e.Refunds, e.Took()))
}

// GivesBack returns what the entry gives back of other payments: for a refund, stored with either sign, its
// amount; likewise for a negative payment, which reduces the plugin's sum of transactions.
func (e LedgerEntry) GivesBack() decimal.Decimal {
	refund := IsRefund(e.Kind) && (e.Has(PaymentSucceeded) || e.Has(StatusRefunded))
	if refund || e.takes() && e.Has(PaymentSucceeded) && e.Amount.IsNegative() {
		return e.Amount.Abs()
	}
	return decimal.Zero
}

// Totals sums up the ledger of an order with the given total.
func (l Ledger) Totals(total decimal.Decimal) PaymentTotals {
	b := PaymentTotals{total: total}
	for _, e := range l {
		b.paid = b.paid.Add(e.Took())
		b.refunded = b.refunded.Add(e.GaveBack()).Add(e.GivesBack())
		b.processing = b.processing || e.Has(PaymentProcessing)
	}
	return b
}

// Net returns payments less refunds.
func (l Ledger) Net() decimal.Decimal { return l.Totals(decimal.Zero).Net() }

// BeforeRefunds returns the ledger as if nothing had been given back.
func (l Ledger) BeforeRefunds() Ledger {
	gross := make(Ledger, 0, len(l))
	for _, e := range l {
		if e.Took().IsPositive() {
			e.Status, e.Refunds = PaymentSucceeded, decimal.Zero
			gross = append(gross, e)
		}
	}
	return gross
}

// With returns the ledger with an entry added or changed.
func (l Ledger) With(e LedgerEntry) Ledger {
	changed := slices.Clone(l)
	if at := slices.IndexFunc(l, func(old LedgerEntry) bool { return old.ID == e.ID }); at >= 0 {
		changed[at] = e
		return changed
	}
	return append(changed, e)
}

// Without returns the ledger with entries deleted.
func (l Ledger) Without(ids []int64) Ledger {
	return slices.DeleteFunc(slices.Clone(l), func(e LedgerEntry) bool { return slices.Contains(ids, e.ID) })
}

// Given is what was given back of a payment.
type Given struct {
	amount decimal.Decimal // at most what it took
	Sent   decimal.Decimal // the same, plus the excess of the refunds that name it
	by     []int64         // the transactions that refund it
	shared bool            // one of these also refunds another payment
}

// Given returns, for each payment that took money, how much of it was given back: by itself, by the refunds
// that name it, and by a share of the others. A refund of exactly its amount is taken to be for it;
// otherwise the newest payment is given back first, among those made before the refund if they suffice.
func (l Ledger) Given() map[int64]Given {
	shares, named, lefts := map[int64]Given{}, l.refundsByPayment(), make([]decimal.Decimal, len(l))
	for i, e := range l {
		if took := e.Took(); took.IsPositive() {
			own := e.GaveBack()
			shares[e.ID] = Given{amount: own, Sent: e.refundRows().Add(named[e.ID])}
			lefts[i] = took.Sub(own)
		}
	}
	for _, refund := range l {
		open := refund.GivesBack()
		if !open.IsPositive() {
			continue // most entries are payments, and an order may have hundreds
		}
		for _, fits := range []func(e LedgerEntry, left decimal.Decimal) bool{
			func(e LedgerEntry, _ decimal.Decimal) bool { return e.ID == refundOf(refund.token) },
			func(e LedgerEntry, left decimal.Decimal) bool { return e.ID < refund.ID && left.Equal(open) },
			func(e LedgerEntry, _ decimal.Decimal) bool { return e.ID < refund.ID },
			func(LedgerEntry, decimal.Decimal) bool { return true },
		} {
			for i, e := range slices.Backward(l) {
				if !open.IsPositive() {
					break
				}
				if !lefts[i].IsPositive() || !fits(e, lefts[i]) {
					continue
				}
				g, part := shares[e.ID], decimal.Min(lefts[i], open)
				lefts[i] = lefts[i].Sub(part)
				g.amount, g.by = g.amount.Add(part), append(g.by, refund.ID)
				g.shared = g.shared || !IsRefund(refund.Kind) || !part.Equal(refund.GivesBack())
				if refundOf(refund.token) != e.ID {
					g.Sent = g.Sent.Add(part)
				}
				shares[e.ID], open = g, open.Sub(part)
			}
		}
	}
	return shares
}

// Left returns what each payment that took money has left after refunds.
func (l Ledger) Left() map[int64]decimal.Decimal {
	left, shares := map[int64]decimal.Decimal{}, l.Given()
	for _, e := range l {
		if e.Took().IsPositive() {
			left[e.ID] = e.Took().Sub(shares[e.ID].amount)
		}
	}
	return left
}

// RefundsInFull returns the transactions that gave back all of a successful payment; it may also have
// refunds with rows of their own. If not all of it was given back, or a refund of another payment was
// involved, it returns a CodePaymentCompleted.
func (l Ledger) RefundsInFull(payment Payment) ([]int64, error) {
	back := l.Given()[payment.ID]
	if !back.amount.IsPositive() || back.amount.LessThan(payment.Amount) || back.shared {
		return nil, domain.PaymentCompleted()
	}
	return back.by, nil
}

// RefundsOf returns the sum of the refunds that are for this payment alone.
func (l Ledger) RefundsOf(e LedgerEntry) decimal.Decimal {
	return e.refundRows().Add(l.refundsByPayment()[e.ID])
}

// refundRows returns the sum of the payment's rows in the table of refunds.
func (e LedgerEntry) refundRows() decimal.Decimal { return decimal.Max(decimal.Zero, e.Refunds) }

// refundsByPayment sums up the refunds among the transactions by the payment that they name.
func (l Ledger) refundsByPayment() map[int64]decimal.Decimal {
	sums := map[int64]decimal.Decimal{}
	for _, refund := range l {
		if payment := refundOf(refund.token); payment != 0 {
			sums[payment] = sums[payment].Add(refund.GivesBack())
		}
	}
	return sums
}

// Missing returns by how much the refunds of the order, or of one of its payments, exceed what was taken.
func (l Ledger) Missing(payment int64) decimal.Decimal {
	sums := l.Totals(decimal.Zero)
	missing := decimal.Max(decimal.Zero, sums.refunded.Sub(sums.paid))
	for _, e := range l {
		if e.ID == payment {
			missing = decimal.Max(missing, l.RefundsOf(e).Sub(e.Took()))
		}
	}
	return missing
}

// RefundToken begins the token of a refund that is stored among the transactions because the site has no
// table of refunds. The rest names the payment.
const RefundToken = "refund-of-"

// refundOf returns the payment that a refund's token names, or 0 for none.
func refundOf(token string) int64 {
	text, ok := strings.CutPrefix(token, RefundToken)
	if !ok {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
