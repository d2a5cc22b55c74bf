package payments

import (
	"context"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// payableInvoice is an open or paid invoice.
type payableInvoice struct {
	ID     int64
	Amount decimal.Decimal
	paid   bool
}

// PayableInvoices are the payable invoices of an order, oldest first.
type PayableInvoices []payableInvoice

// LoadPayableInvoices reads the open and paid invoices of an order, except those without an amount.
func LoadPayableInvoices(ctx context.Context, s *session.Session, order int64) (PayableInvoices, error) {
	stmt := sq.Select("id", "charge_amount", "status = '"+InvoicePaid+"'").From(s.DB.Name(wpdb.OrderInvoices)).
		Where(sq.Eq{"order_id": order, "status": []string{InvoiceOpen, InvoicePaid}}).Where(sq.NotEq{"charge_amount": nil}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "read invoices of order", stmt, wpdb.Into(func(i *payableInvoice) []any {
		return []any{&i.ID, &i.Amount, &i.paid}
	}))
}

// adjustInvoices marks invoices of an order as paid if a write of its payments pays them, and as open again
// if it leaves them uncovered. It returns the invoices that payments came to pay, by payment.
//
// A paid invoice opens if the captures that name it, less refunds, do not cover it. Money of the order that
// no other paid invoice needs makes up for what others took away or what was never there, because staff can
// mark an invoice covered in that way as paid; it does not make up for what this write takes away. An
// invoice that no payment names opens if that money, before refunds, covered it and no longer does;
// otherwise it was marked by force, and stays paid. It also stays if somebody else reduced or deleted its
// payments, because that cannot be told from force.
//
// An open invoice is paid if this write makes the captures that name it cover it. If the write completes a
// capture that names none, it pays the oldest invoice of exactly its amount.
func adjustInvoices(ctx context.Context, tx *session.Tx, order *int64, before, now records.Ledger) (named map[int64]int64, err error) {
	if order == nil || !invoicesHaveAmounts(tx.Session) {
		return nil, nil
	}
	stored, err := LoadPayableInvoices(ctx, tx.Session, *order)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	invoices, named := stored.after(before, now)
	for i, invoice := range invoices {
		if invoice.paid == stored[i].paid {
			continue
		}
		status := InvoiceOpen
		if invoice.paid {
			status = InvoicePaid
		}
		if err := tx.Update(ctx, wpdb.OrderInvoices, invoice.ID, session.Row{{Name: "status", Value: status}, tx.UpdateTimestamp()}); err != nil {
			return nil, err
		}
	}
	for _, e := range now {
		if id, ok := named[e.ID]; ok {
			if err := tx.Update(ctx, wpdb.Transactions, e.ID, session.Row{{Name: "invoice_id", Value: id}}); err != nil {
				return nil, err
			}
		}
	}
	return named, nil
}

// after returns the invoices as a write leaves them, and the payments that come to name one.
func (invoices PayableInvoices) after(before, now records.Ledger) (PayableInvoices, map[int64]int64) {
	stored := invoices.open(invoices, before, before) // leaves out what others took away
	invoices = slices.Clone(stored)
	first, last := forInvoices(before), forInvoices(now)
	for i, invoice := range invoices {
		if first[invoice.ID].LessThan(invoice.Amount) && last[invoice.ID].GreaterThanOrEqual(invoice.Amount) {
			invoices[i].paid = true
		}
	}
	now = slices.Clone(now)
	named, was, has := map[int64]int64{}, before.Left(), now.Left()
	for i, e := range now {
		at := slices.IndexFunc(invoices, func(invoice payableInvoice) bool { return !invoice.paid && invoice.Amount.Equal(e.Amount) })
		if at < 0 || e.Invoice != 0 || !e.Captured() || !has[e.ID].Equal(e.Amount) || was[e.ID].Equal(e.Amount) {
			continue
		}
		invoices[at].paid, named[e.ID], now[i].Invoice = true, invoices[at].ID, invoices[at].ID
	}
	return invoices.open(stored, before, now), named
}

// open returns the invoices, with those opened that a write leaves uncovered. stored are the invoices
// before the write; some of the others may have been paid by it.
func (invoices PayableInvoices) open(stored PayableInvoices, before, now records.Ledger) PayableInvoices {
	gross := before.BeforeRefunds()
	first, last := forInvoices(before), forInvoices(now)
	covered, was, could := invoices.coveredBy(now), stored.coveredBy(before), stored.coveredBy(gross)
	opened := slices.Clone(invoices)
	for i, invoice := range invoices {
		_, namedBefore := first[invoice.ID]
		_, namedNow := last[invoice.ID]
		switch {
		case !invoice.paid:
		case namedBefore || namedNow:
			lost := first[invoice.ID].GreaterThanOrEqual(invoice.Amount) && last[invoice.ID].LessThan(invoice.Amount)
			opened[i].paid = covered[invoice.ID] && !lost
		case was[invoice.ID], could[invoice.ID], invoice.Amount.LessThanOrEqual(gross.Net()) && invoice.Amount.GreaterThan(now.Net()):
			opened[i].paid = covered[invoice.ID]
		}
	}
	return opened
}

// coveredBy returns which of the paid invoices the payments of an order cover: first payments that name an
// invoice, and then the rest, oldest invoice first.
func (invoices PayableInvoices) coveredBy(l records.Ledger) map[int64]bool {
	free, named, missing := l.Net(), forInvoices(l), map[int64]decimal.Decimal{}
	for _, invoice := range invoices {
		if invoice.paid {
			part := decimal.Min(invoice.Amount, named[invoice.ID])
			missing[invoice.ID], free = invoice.Amount.Sub(part), free.Sub(part)
		}
	}
	covered := map[int64]bool{}
	for _, invoice := range invoices {
		if invoice.paid && missing[invoice.ID].LessThanOrEqual(free) {
			covered[invoice.ID], free = true, free.Sub(missing[invoice.ID])
		}
	}
	return covered
}

// forInvoices returns what the payments that name an invoice provide for it, less refunds. A payment that
// failed, or that was voided or refunded by another transaction, provides nothing but is listed. An
// authorisation is not listed: it may be all that the plugin wants for an invoice.
func forInvoices(l records.Ledger) map[int64]decimal.Decimal {
	sums, left := map[int64]decimal.Decimal{}, l.Left()
	for _, e := range l {
		if e.Invoice != 0 && !strings.EqualFold(e.Kind, records.KindAuthorization) {
			sums[e.Invoice] = sums[e.Invoice].Add(left[e.ID])
		}
	}
	return sums
}
