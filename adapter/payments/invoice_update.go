package payments

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// InvoicePatch changes an invoice. A nil field stays as it is. Validation holds the problems found so far;
// its fields are not checked again.
type InvoicePatch struct {
	Status       *string // open, paid, partially_paid, draft, void or uncollectible
	ChargeAmount *decimal.Decimal
	Force        bool // mark an uncovered invoice as paid
	domain.Validation
}

// UpdateInvoice changes an invoice of an order, and nothing else (OsInvoiceModel::change_status, LatePoint
// 5.6.5). Without Force, it can become paid only if the order's payments, less refunds, cover it.
//
// If anything is wrong with the patch, it returns a CodeInvalidRequest or CodeValidationFailed that names
// every field; if the order or invoice does not exist, or the invoice belongs to another order, a
// CodeNotFound.
func UpdateInvoice(ctx context.Context, tx *session.Tx, orderID, id int64, patch InvoicePatch) (Invoice, error) {
	order, err := records.LockOrder(ctx, tx, orderID)
	if err != nil {
		return Invoice{}, err
	}
	if err := tx.LockRows(ctx, wpdb.OrderInvoices, []int64{id}); err != nil {
		return Invoice{}, err
	}
	before, err := invoiceOf(ctx, tx.Session, orderID, id)
	if err != nil {
		return Invoice{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return Invoice{}, err
	}
	p := patch.Problems()
	checkInvoice(tx.Session, patch, &p)
	var columns session.Changeset
	columns.Text("status", patch.Status, before.Status)
	columns.Amount("charge_amount", patch.ChargeAmount, before.ChargeAmount)
	if !patch.Force && len(columns) > 0 {
		if err := checkPaidInvoice(ctx, tx.Session, order, patch, before, &p); err != nil {
			return Invoice{}, err
		}
	}
	if err := p.Err(); err != nil || len(columns) == 0 {
		return before, err
	}
	if err := tx.Update(ctx, wpdb.OrderInvoices, id, append(session.Row(columns), tx.UpdateTimestamp())); err != nil {
		return Invoice{}, err
	}
	return invoiceOf(ctx, tx.Session, orderID, id)
}

// checkInvoice validates a patch by itself.
func checkInvoice(s *session.Session, patch InvoicePatch, p *domain.Validation) {
	session.CheckWord(p, "status", patch.Status, InvoiceOpen, InvoicePaid, "partially_paid", "draft", "void", "uncollectible")
	session.CheckAmount(p, "charge_amount", patch.ChargeAmount)
	if patch.ChargeAmount != nil && !invoicesHaveAmounts(s) {
		p.Reject("charge_amount", "Invoices of this version of LatePoint have no amount")
	}
}

// invoicesHaveAmounts reports whether invoices have amounts. Before LatePoint 5.1 an invoice covered the
// whole order.
func invoicesHaveAmounts(s *session.Session) bool {
	_, ok := s.Schema.Column(wpdb.OrderInvoices, "charge_amount")
	return ok
}

// checkPaidInvoice rejects the status paid for an invoice that the payments do not cover.
func checkPaidInvoice(ctx context.Context, s *session.Session, order records.Order, patch InvoicePatch, before Invoice, p *domain.Validation) error {
	field := "charge_amount"
	if patch.Status != nil {
		field = "status"
	}
	amount := before.ChargeAmount
	switch {
	case domain.ValueOr(patch.Status, before.Status) != InvoicePaid, p.Has("status"), p.Has("charge_amount"):
		return nil
	case patch.ChargeAmount != nil:
		amount = *patch.ChargeAmount
	case !invoicesHaveAmounts(s):
		amount = order.Total
	}
	b, err := records.LoadPaymentTotals(ctx, s, order)
	if err == nil && b.Net().LessThan(amount) {
		p.Reject(field, "The order's payments do not cover this invoice: record them first, or send force=true")
	}
	return err
}
