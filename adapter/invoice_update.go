package adapter

import (
	"context"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// InvoicePatch changes an invoice. A nil field stays as it is. Validation has the
// problems found so far; fields named there are not checked again.
type InvoicePatch struct {
	Status       *string // open, paid, partially_paid, draft, void or uncollectible
	ChargeAmount *decimal.Decimal
	Validation   domain.Validation
}

// UpdateInvoice changes an invoice of an order, and nothing else
// (OsInvoiceModel::change_status, LatePoint 5.6.5). Without force, it becomes paid only
// if the payments for the order, less refunds, cover it.
//
// If anything is wrong with the patch, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if the order or invoice does not exist, or
// the invoice belongs to another order, a CodeNotFound.
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
	if err := tx.checkPrecondition(); err != nil {
		return Invoice{}, err
	}
	p := patch.Validation.Clone()
	tx.checkInvoice(patch, before, &p)
	var columns changeset
	columns.text("status", patch.Status, before.Status)
	columns.amount("charge_amount", patch.ChargeAmount, before.ChargeAmount)
	if !force && (len(columns) > 0 || patch.Status != nil) { // paid may be stored without being so any more
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

// checkInvoice validates a patch by itself.
func (s *Site) checkInvoice(patch InvoicePatch, before Invoice, p *domain.Validation) {
	checkWord(p, "status", patch.Status, before.Status, invoiceOpen, invoicePaid, "partially_paid", "draft", "void", "uncollectible")
	checkAmount(p, "charge_amount", patch.ChargeAmount)
	if patch.ChargeAmount != nil && !s.invoicesHaveAmounts() {
		p.Reject("charge_amount", "Invoices of this version of LatePoint have no amount")
	}
}

// invoicesHaveAmounts reports whether invoices have amounts. Before LatePoint 5.1 an
// invoice was for the whole order.
func (s *Site) invoicesHaveAmounts() bool {
	_, ok := s.schema.Column(wpdb.OrderInvoices, "charge_amount")
	return ok
}

// checkPaidInvoice rejects the status paid for an invoice that the payments do not cover.
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
