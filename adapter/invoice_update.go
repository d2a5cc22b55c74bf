package adapter

import (
	"context"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// InvoicePatch changes an invoice. A nil field stays as it is. Validation holds
// what is known to be wrong with it; a field named there is not looked at again.
type InvoicePatch struct {
	Status       *string // open, paid, partially_paid, draft, void or uncollectible
	ChargeAmount *decimal.Decimal
	Validation   domain.Validation
}

// The statuses of invoices that payments lead from and to.
const (
	invoiceOpen = "open"
	invoicePaid = "paid"
)

// UpdateInvoice changes an invoice of an order, and nothing else
// (OsInvoiceModel::change_status, LatePoint 5.6.5). Without force it is not paid
// while what was paid for the order, less what was refunded, does not cover it.
//
// What is wrong with the patch is a CodeInvalidRequest or CodeValidationFailed
// naming every field; an order or invoice that does not exist, or an invoice of
// another order, is a CodeNotFound.
func (tx *Tx) UpdateInvoice(ctx context.Context, orderID, id int64, patch InvoicePatch, force bool) (Invoice, error) {
	order, err := tx.lockOrder(ctx, orderID)
	if err != nil {
		return Invoice{}, err
	}
	if err := tx.lockRows(ctx, wpdb.OrderInvoices, []int64{id}); err != nil {
		return Invoice{}, err
	}
	before, err := tx.invoiceOf(ctx, orderID, id)
	if err != nil {
		return Invoice{}, err
	}
	p := patch.Validation.Clone()
	tx.checkInvoice(patch, before, &p)
	var columns changeset
	columns.text("status", patch.Status, before.Status)
	columns.amount("charge_amount", patch.ChargeAmount, before.ChargeAmount)
	if !force && len(columns) > 0 {
		if err := tx.checkPaidInvoice(ctx, order, patch, before, &p); err != nil {
			return Invoice{}, err
		}
	}
	if err := p.Err(); err != nil || len(columns) == 0 {
		return before, err
	}
	if err := tx.update(ctx, wpdb.OrderInvoices, id, append(row(columns), tx.updateTimestamp())); err != nil {
		return Invoice{}, err
	}
	return tx.invoiceOf(ctx, orderID, id)
}

// checkInvoice finds out all that is wrong with a patch by itself.
func (s *Site) checkInvoice(patch InvoicePatch, before Invoice, p *domain.Validation) {
	checkWord(p, "status", patch.Status, before.Status, invoiceOpen, invoicePaid, "partially_paid", "draft", "void", "uncollectible")
	checkAmount(p, "charge_amount", patch.ChargeAmount)
	if patch.ChargeAmount != nil && !s.invoicesHaveAmounts() {
		p.Reject("charge_amount", "Invoices of this version of LatePoint have no amount")
	}
}

// invoicesHaveAmounts returns false before LatePoint 5.1, where an invoice is over
// the whole order.
func (s *Site) invoicesHaveAmounts() bool {
	_, ok := s.schema.Column(wpdb.OrderInvoices, "charge_amount")
	return ok
}

// checkPaidInvoice notes an invoice that would be paid and is not.
func (s *Site) checkPaidInvoice(ctx context.Context, order Order, patch InvoicePatch, before Invoice, p *domain.Validation) error {
	field := "charge_amount"
	if patch.Status != nil {
		field = "status"
	}
	amount := before.ChargeAmount
	switch {
	case domain.ValueOr(patch.Status, before.Status) != invoicePaid, p.Has("status"), p.Has("charge_amount"):
		return nil
	case patch.ChargeAmount != nil:
		amount = *patch.ChargeAmount
	case !s.invoicesHaveAmounts():
		amount = order.Total
	}
	b, err := s.paymentTotals(ctx, order)
	if err == nil && b.net().LessThan(amount) {
		p.Reject(field, "The order's payments do not cover this invoice: record them first, or send force=true")
	}
	return err
}
