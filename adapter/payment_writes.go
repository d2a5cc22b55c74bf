package adapter

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// PaymentPatch changes a payment. A nil field stays as it is. Validation has the problems
// found so far; fields named there are not checked again.
type PaymentPatch struct {
	Amount                                         *decimal.Decimal
	Processor, PaymentMethod, PaymentPortion, Kind *string
	Status                                         *string // succeeded, processing or failed; refunded makes it a successful refund
	Token, Notes, ReceiptNumber                    *string
	Nulls                                          []string // columns of an existing payment to clear
	Validation                                     domain.Validation
}

// NewPayment is a payment to create, of an order or of a booking's order. The amount is
// required; any other nil field gets its default.
type NewPayment struct {
	OrderID, BookingID *int64
	CustomerID         int64 // 0 for that of the order
	PaymentPatch
}

// CreatePayment adds a payment to an order, settles the invoice that it pays, and updates
// the order's payment status. The plugin does so only for payments through its own links,
// and leaves other payments to people.
//
// If anything is wrong with the payment, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field.
func (tx *Tx) CreatePayment(ctx context.Context, n NewPayment) (Payment, error) {
	p := n.Validation.Clone()
	order, err := tx.lockOrderToPay(ctx, n, &p)
	if err != nil {
		return Payment{}, err
	}
	p.Require("amount", n.Amount != nil)
	n.PaymentPatch = tx.sanitizePayment(n.PaymentPatch, Payment{}, &p)
	if n.CustomerID != 0 {
		if _, err := tx.lockCustomer(ctx, &n.CustomerID, &p); err != nil {
			return Payment{}, err
		}
	}
	if err := p.Err(); err != nil {
		return Payment{}, err
	}
	n.CustomerID = cmp.Or(n.CustomerID, order.CustomerID)
	id, err := tx.insertPayment(ctx, n, order.ID)
	if err != nil {
		return Payment{}, err
	}
	created, err := tx.applyPayment(ctx, &order, nil, id)
	if err != nil {
		return Payment{}, err
	}
	if err := tx.remember(ctx, journal.Payments, id); err != nil {
		return Payment{}, err
	}
	return created, tx.notifyPayment(ctx, created)
}

// notifyPayment sends what automations say of a new payment, with its order as the payment
// left it.
func (tx *Tx) notifyPayment(ctx context.Context, payment Payment) error {
	if !tx.hasAutomations() {
		return nil
	}
	// Most sites have no automations for payments, and need none of what follows.
	automations, err := tx.processes(ctx, eventTypes[transactionCreated])
	if err != nil || len(automations) == 0 {
		return err
	}
	order, err := tx.storedOrder(ctx, *payment.OrderID)
	if err != nil {
		return err
	}
	stored, err := tx.orderWithBookings(ctx, order)
	if err != nil {
		return err
	}
	after := stored.snapshot()
	if payment.CustomerID != 0 && payment.CustomerID != order.CustomerID {
		if after.customer, _, err = tx.orderCustomer(ctx, payment.CustomerID); err != nil {
			return err
		}
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return err
	}
	_, err = tx.notify(ctx, w, []event{{kind: transactionCreated, after: after, payment: &payment}}, true)
	return err
}

// lockOrderToPay finds and locks the order of a payment, and takes the lock of the payer:
// deleting a customer counts their payments.
func (tx *Tx) lockOrderToPay(ctx context.Context, n NewPayment, p *domain.Validation) (Order, error) {
	if p.Has("order_id") || p.Has("booking_id") {
		return Order{}, nil
	}
	id := n.OrderID
	if n.BookingID != nil {
		found, err := tx.Shown().bookingsByID(ctx, []int64{*n.BookingID}, false)
		switch {
		case err != nil:
			return Order{}, err
		case len(found) == 0:
			p.Invalid("booking_id", "Booking not found")
		case found[0].Order == nil:
			p.Invalid("booking_id", "This booking has no order")
		case id == nil:
			id = &found[0].Order.ID
		case *id != found[0].Order.ID:
			p.Invalid("booking_id", "This booking belongs to another order")
		}
	}
	if id == nil {
		if !p.Has("booking_id") {
			p.Invalid("order_id", "Required")
		}
		return Order{}, nil
	}
	locks := []lock{lockOf(orderLock, *id)}
	if n.CustomerID != 0 {
		locks = append(locks, lockOf(customerLock, n.CustomerID))
	}
	if err := tx.lock(ctx, locks...); err != nil {
		return Order{}, err
	}
	order, err := tx.lockOrderRow(ctx, *id)
	if seen, failed := tx.sees(ctx, wpdb.Orders, *id); err == nil && (failed != nil || !seen) {
		err = cmp.Or[error](failed, domain.NotFound(domain.OrderResource, *id))
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		p.Invalid("order_id", "Order not found")
		return Order{}, nil
	}
	return order, err
}

// sanitizePayment validates a patch by itself and sanitizes its texts.
func (s *Site) sanitizePayment(patch PaymentPatch, before Payment, p *domain.Validation) PaymentPatch {
	checkAmount(p, "amount", patch.Amount)
	s.sanitizeField(p, "processor", &patch.Processor, sanitize.TextField, wpdb.Transactions, "processor")
	s.sanitizeField(p, "payment_method", &patch.PaymentMethod, sanitize.TextField, wpdb.Transactions, "payment_method")
	s.sanitizeField(p, "payment_portion", &patch.PaymentPortion, sanitize.TextField, wpdb.Transactions, "payment_portion")
	s.sanitizeField(p, "kind", &patch.Kind, sanitize.TextField, wpdb.Transactions, "kind")
	if domain.ValueOr(patch.Status, "") == statusRefunded && before.Status != statusRefunded {
		patch.Status, patch.Kind = new(paymentSucceeded), new(kindRefund)
	}
	checkWord(p, "status", patch.Status, before.Status, paymentSucceeded, paymentProcessing, "failed")
	s.sanitizeField(p, "token", &patch.Token, sanitize.TextField, wpdb.Transactions, "token")
	s.sanitizeField(p, "notes", &patch.Notes, sanitize.TextareaField, wpdb.Transactions, "notes")
	s.sanitizeField(p, "receipt_number", &patch.ReceiptNumber, sanitize.TextField, wpdb.Transactions, "receipt_number")
	return patch
}

// receiptNumberLength is the length of generated receipt numbers.
const receiptNumberLength = 8

func (tx *Tx) insertPayment(ctx context.Context, n NewPayment, order int64) (int64, error) {
	receipt := domain.ValueOr(n.ReceiptNumber, "")
	if receipt == "" {
		var err error
		if receipt, err = tx.code(receiptNumberLength); err != nil {
			return 0, err
		}
	}
	key, err := tx.uuid()
	if err != nil {
		return 0, err
	}
	return tx.insert(ctx, wpdb.Transactions, append(row{
		{"token", n.Token}, {"invoice_id", nil}, {"order_id", order}, {"customer_id", n.CustomerID},
		{"processor", orDefault(n.Processor, "manual")}, {"payment_method", orDefault(n.PaymentMethod, "other")},
		{"payment_portion", orDefault(n.PaymentPortion, "full")}, {"kind", orDefault(n.Kind, kindCapture)},
		{"status", orDefault(n.Status, paymentSucceeded)}, {"amount", domain.AmountText(storedAmount(domain.ValueOr(n.Kind, ""), *n.Amount))},
		{"receipt_number", receipt}, {"access_key", key}, {"notes", n.Notes},
	}, tx.newTimestamps()...))
}

// orDefault returns the text that was sent, or the fallback if there is none or it is
// empty.
func orDefault(sent *string, fallback string) string {
	return cmp.Or(domain.ValueOr(sent, ""), fallback)
}

// UpdatePayment changes a payment, with the same effects on its order and invoice as
// CreatePayment. The invoice that it had settled is open again once it is no longer
// captured, and stays settled otherwise. Errors are those of CreatePayment, and
// a CodeNotFound if the payment does not exist.
func (tx *Tx) UpdatePayment(ctx context.Context, id int64, sent PaymentPatch) (Payment, error) {
	before, order, err := tx.lockPayment(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	if err := tx.checkPrecondition(); err != nil {
		return Payment{}, err
	}
	p := sent.Validation.Clone()
	patch := tx.sanitizePayment(sent, before, &p)
	if patch.ReceiptNumber != nil && *patch.ReceiptNumber == "" && before.ReceiptNumber != nil {
		p.Reject("receipt_number", "May not be empty")
	}
	if err := p.Err(); err != nil {
		return Payment{}, err
	}
	columns := patch.changeset(before)
	if len(columns) == 0 {
		return before, nil
	}
	if err := tx.update(ctx, wpdb.Transactions, id, append(row(columns), tx.updateTimestamp())); err != nil {
		return Payment{}, err
	}
	return tx.applyPayment(ctx, order, &before, id)
}

// changeset returns the changed columns.
func (patch PaymentPatch) changeset(v Payment) changeset {
	var e changeset
	kind, amount := domain.ValueOr(patch.Kind, v.Kind), domain.ValueOr(patch.Amount, v.DisplayAmount())
	if !amount.Equal(v.DisplayAmount()) || isRefund(kind) != isRefund(v.Kind) {
		e.amount("amount", new(storedAmount(kind, amount)), v.Amount)
	}
	e.text("processor", patch.Processor, v.Processor)
	e.text("payment_method", patch.PaymentMethod, v.PaymentMethod)
	e.text("payment_portion", patch.PaymentPortion, v.PaymentPortion)
	e.text("kind", patch.Kind, v.Kind)
	e.text("status", patch.Status, v.Status)
	e.nullable("token", patch.Token, v.Token, patch.Nulls)
	e.nullable("notes", patch.Notes, v.Notes, patch.Nulls)
	e.text("receipt_number", patch.ReceiptNumber, domain.ValueOr(v.ReceiptNumber, ""))
	return e
}

// DeletePayment deletes a payment and updates its order's payment status. Its refunds
// stay in their table, as in the plugin. A successful payment is a CodePaymentCompleted,
// one that does not exist a CodeNotFound.
func (tx *Tx) DeletePayment(ctx context.Context, id int64) error {
	payment, order, err := tx.lockPayment(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.checkPrecondition(); err != nil {
		return err
	}
	if strings.EqualFold(payment.Status, paymentSucceeded) {
		return domain.PaymentCompleted()
	}
	if err := tx.delete(ctx, wpdb.Transactions, id); err != nil {
		return err
	}
	return tx.updatePaymentStatus(ctx, order)
}

// lockPayment makes other writers of a payment and of its order wait, and reads both as
// they are now. The order is nil where none exists.
func (tx *Tx) lockPayment(ctx context.Context, id int64) (Payment, *Order, error) {
	found, err := tx.Payment(ctx, id)
	if err != nil {
		return Payment{}, nil, err
	}
	var order *Order
	if found.OrderID != nil {
		locked, err := tx.lockOrder(ctx, *found.OrderID)
		switch {
		case err == nil:
			order = &locked
		case domain.CodeOf(err) != domain.CodeNotFound:
			return Payment{}, nil, err
		}
	}
	if err := tx.lockRows(ctx, wpdb.Transactions, []int64{id}); err != nil {
		return Payment{}, nil, err
	}
	payment, err := tx.Payment(ctx, id)
	if err == nil && domain.ValueOr(payment.OrderID, 0) != domain.ValueOr(found.OrderID, 0) {
		err = fmt.Errorf("payment %d changed its order meanwhile: %w", id, wpdb.ErrConflict)
	}
	return payment, order, err
}

// applyPayment brings invoice and order in step with a payment that was just written, and
// reads the payment back. order is nil where there is none, before is nil for a new payment.
func (tx *Tx) applyPayment(ctx context.Context, order *Order, before *Payment, id int64) (Payment, error) {
	payment, err := tx.Payment(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	settled, err := tx.settleInvoice(ctx, before, payment)
	if err != nil {
		return Payment{}, err
	}
	if settled != nil {
		payment.InvoiceID = settled
	}
	if err := tx.reopenInvoice(ctx, before, payment); err != nil {
		return Payment{}, err
	}
	return payment, tx.updatePaymentStatus(ctx, order)
}

// settleInvoice marks the invoice that a payment pays as paid, and returns its id, or nil
// for none: the oldest open invoice of the order with exactly that amount, or the one that
// the payment names. A payment pays once.
func (tx *Tx) settleInvoice(ctx context.Context, before *Payment, now Payment) (*int64, error) {
	again := before != nil && before.captured() && before.Amount.Equal(now.Amount)
	if !now.captured() || again || now.OrderID == nil || !tx.invoicesHaveAmounts() {
		return nil, nil
	}
	// As a decimal: the server compares it with a text as floating-point numbers.
	stmt := sq.Select("id").From(tx.db.Name(wpdb.OrderInvoices)).Where(sq.Eq{"order_id": *now.OrderID, "status": invoiceOpen}).
		Where("charge_amount = CAST(? AS DECIMAL(20,4))", domain.AmountText(now.Amount)).OrderBy("id").Limit(1)
	if now.InvoiceID != nil && *now.InvoiceID != 0 {
		stmt = stmt.Where(sq.Eq{"id": *now.InvoiceID})
	}
	id, found, err := wpdb.One(ctx, tx.db, "find invoice to settle", stmt, wpdb.Value[int64])
	if err != nil || !found {
		return nil, err
	}
	if err := tx.update(ctx, wpdb.OrderInvoices, id, row{{"status", invoicePaid}, tx.updateTimestamp()}); err != nil {
		return nil, err
	}
	return &id, tx.update(ctx, wpdb.Transactions, now.ID, row{{"invoice_id", id}})
}

// reopenInvoice marks the invoice that a payment had settled as open again, once the
// payment is no longer captured and others do not cover the invoice.
func (tx *Tx) reopenInvoice(ctx context.Context, before *Payment, now Payment) error {
	if before == nil || !before.captured() || now.captured() || domain.ValueOr(now.InvoiceID, 0) == 0 || !tx.invoicesHaveAmounts() {
		return nil
	}
	others := sq.Select("COALESCE(SUM(t.amount), 0)").From(tx.db.As(wpdb.Transactions, "t")).
		Where(sq.Eq{"t.invoice_id": *now.InvoiceID, "t.status": paymentSucceeded, "t.kind": kindCapture}).Where(sq.NotEq{"t.id": now.ID})
	stmt := sq.Select("i.id").From(tx.db.As(wpdb.OrderInvoices, "i")).
		Where(sq.Eq{"i.id": *now.InvoiceID, "i.order_id": now.OrderID, "i.status": invoicePaid}).Where(sq.Expr("i.charge_amount > (?)", others))
	id, found, err := wpdb.One(ctx, tx.db, "find invoice to reopen", stmt, wpdb.Value[int64])
	if err != nil || !found {
		return err
	}
	return tx.update(ctx, wpdb.OrderInvoices, id, row{{"status", invoiceOpen}, tx.updateTimestamp()})
}

// adjustPaymentStatus stores the payment status that an order has to have after a change
// of its total. The caller has changed the order, so its row is locked.
func (tx *Tx) adjustPaymentStatus(ctx context.Context, id int64) error {
	order, err := tx.storedOrder(ctx, id)
	if err != nil {
		return err
	}
	totals, err := tx.paymentTotals(ctx, order)
	if err != nil {
		return err
	}
	status := totals.paymentStatus(order.PaymentStatus)
	if status == order.PaymentStatus {
		return nil
	}
	return tx.update(ctx, wpdb.Orders, id, row{{"payment_status", status}})
}

// updatePaymentStatus brings an order's payment status in step with its payments. The
// order is locked, or nil for none.
func (tx *Tx) updatePaymentStatus(ctx context.Context, order *Order) error {
	if order == nil {
		return nil
	}
	totals, err := tx.paymentTotals(ctx, *order)
	if err != nil {
		return err
	}
	status := totals.paymentStatus(order.PaymentStatus)
	if status == order.PaymentStatus {
		return nil
	}
	if err := tx.update(ctx, wpdb.Orders, order.ID, row{{"payment_status", status}, tx.updateTimestamp()}); err != nil {
		return err
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return err
	}
	_, err = tx.notifyOrderUpdate(ctx, w, *order, nil)
	return err
}
