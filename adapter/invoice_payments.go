package adapter

import (
	"context"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/wpdb"
)

// payableInvoice is an open or paid invoice.
type payableInvoice struct {
	id     int64
	amount decimal.Decimal
	paid   bool
}

// payableInvoices are those of an order, oldest first.
type payableInvoices []payableInvoice

// payableInvoices reads the open and paid invoices of an order, of which those without an
// amount are left out.
func (s *Site) payableInvoices(ctx context.Context, order int64) (payableInvoices, error) {
	stmt := sq.Select("id", "charge_amount", "status = '"+invoicePaid+"'").From(s.db.Name(wpdb.OrderInvoices)).
		Where(sq.Eq{"order_id": order, "status": []string{invoiceOpen, invoicePaid}}).Where(sq.NotEq{"charge_amount": nil}).OrderBy("id")
	return wpdb.All(ctx, s.db, "read invoices of order", stmt, func(row wpdb.Scanner) (i payableInvoice, err error) {
		err = row.Scan(&i.id, &i.amount, &i.paid)
		return i, err
	})
}

// adjustInvoices marks the invoices of an order as paid and as open again that a write of its
// payments pays or leaves uncovered, and returns the invoice that a payment of the order came
// to pay, by payment.
//
// A paid invoice opens if the captures that name it, less refunds, do not cover it. Money of
// the order that no other paid invoice needs makes up for what others took away, or what never
// was there, because staff can mark an invoice as paid that is covered so; it does not make up
// for what this write takes away. An invoice that no payment names opens if that money, before
// refunds, covered it, and no longer does; else it was marked by force, and stays. So it does
// if somebody else made its payments less or deleted them, which cannot be told from force.
//
// An open invoice is paid if this write makes the captures that name it cover it; or if it
// makes a capture that names none whole, the oldest of exactly its amount.
func (tx *Tx) adjustInvoices(ctx context.Context, order *int64, before, now ledger) (named map[int64]int64, err error) {
	if order == nil || !tx.invoicesHaveAmounts() {
		return nil, nil
	}
	stored, err := tx.payableInvoices(ctx, *order)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	invoices, named := stored.after(before, now)
	for i, invoice := range invoices {
		if invoice.paid == stored[i].paid {
			continue
		}
		status := invoiceOpen
		if invoice.paid {
			status = invoicePaid
		}
		if err := tx.update(ctx, wpdb.OrderInvoices, invoice.id, row{{"status", status}, tx.updateTimestamp()}); err != nil {
			return nil, err
		}
	}
	for _, e := range now {
		if id, ok := named[e.id]; ok {
			if err := tx.update(ctx, wpdb.Transactions, e.id, row{{"invoice_id", id}}); err != nil {
				return nil, err
			}
		}
	}
	return named, nil
}

// after returns the invoices as a write leaves them, and which payments come to name one.
func (invoices payableInvoices) after(before, now ledger) (payableInvoices, map[int64]int64) {
	stored := invoices.open(invoices, before, before) // what others took away
	invoices = slices.Clone(stored)
	first, last := before.forInvoices(), now.forInvoices()
	for i, invoice := range invoices {
		if first[invoice.id].LessThan(invoice.amount) && last[invoice.id].GreaterThanOrEqual(invoice.amount) {
			invoices[i].paid = true
		}
	}
	now = slices.Clone(now)
	named, was, has := map[int64]int64{}, before.left(), now.left()
	for i, e := range now {
		at := slices.IndexFunc(invoices, func(invoice payableInvoice) bool { return !invoice.paid && invoice.amount.Equal(e.amount) })
		if at < 0 || e.invoice != 0 || !e.captured() || !has[e.id].Equal(e.amount) || was[e.id].Equal(e.amount) {
			continue
		}
		invoices[at].paid, named[e.id], now[i].invoice = true, invoices[at].id, invoices[at].id
	}
	return invoices.open(stored, before, now), named
}

// open returns the invoices with those marked as open that a write leaves uncovered. They were
// stored as given, and some of them may have been paid by the write.
func (invoices payableInvoices) open(stored payableInvoices, before, now ledger) payableInvoices {
	gross := before.beforeRefunds()
	first, last := before.forInvoices(), now.forInvoices()
	covered, was, could := invoices.coveredBy(now), stored.coveredBy(before), stored.coveredBy(gross)
	opened := slices.Clone(invoices)
	for i, invoice := range invoices {
		_, namedBefore := first[invoice.id]
		_, namedNow := last[invoice.id]
		switch {
		case !invoice.paid:
		case namedBefore || namedNow:
			lost := first[invoice.id].GreaterThanOrEqual(invoice.amount) && last[invoice.id].LessThan(invoice.amount)
			opened[i].paid = covered[invoice.id] && !lost
		case was[invoice.id], could[invoice.id], invoice.amount.LessThanOrEqual(gross.net()) && invoice.amount.GreaterThan(now.net()):
			opened[i].paid = covered[invoice.id]
		}
	}
	return opened
}

// coveredBy tells which of the paid invoices the payments of an order cover: those that name
// an invoice first, and then the rest, the oldest invoice first.
func (invoices payableInvoices) coveredBy(l ledger) map[int64]bool {
	free, named, missing := l.net(), l.forInvoices(), map[int64]decimal.Decimal{}
	for _, invoice := range invoices {
		if invoice.paid {
			part := decimal.Min(invoice.amount, named[invoice.id])
			missing[invoice.id], free = invoice.amount.Sub(part), free.Sub(part)
		}
	}
	covered := map[int64]bool{}
	for _, invoice := range invoices {
		if invoice.paid && missing[invoice.id].LessThanOrEqual(free) {
			covered[invoice.id], free = true, free.Sub(missing[invoice.id])
		}
	}
	return covered
}

// forInvoices returns what the payments that name an invoice have for it, less refunds. One
// that failed, or of which somebody made a void or a refund, has nothing, but is told. An
// authorisation is not: it may be all that the plugin wants of an invoice.
func (l ledger) forInvoices() map[int64]decimal.Decimal {
	sums, left := map[int64]decimal.Decimal{}, l.left()
	for _, e := range l {
		if e.invoice != 0 && !strings.EqualFold(e.kind, kindAuthorization) {
			sums[e.invoice] = sums[e.invoice].Add(left[e.id])
		}
	}
	return sums
}
