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
	Status                                         *string // succeeded, processing, failed or refunded
	Token, Notes, ReceiptNumber                    *string
	Nulls                                          []string // columns of an existing payment to clear
	Force                                          bool     // give back more than was taken
	Validation                                     domain.Validation
}

// NewPayment is a payment to create, of an order or of a booking's order. The amount is
// required; any other nil field gets its default.
type NewPayment struct {
	OrderID, BookingID *int64
	CustomerID         int64 // that of the order or the booking, or 0; of an order without a customer, any
	PaymentPatch
}

// CreatePayment adds a payment to an order, settles the invoice that it pays, and updates
// the order's payment status. The plugin does so only for payments through its own links,
// and leaves other payments to people. One with the status refunded is a refund.
//
// If anything is wrong with the payment, it returns a CodeInvalidRequest or
// CodeValidationFailed that names every field; if what is refunded takes no money, or the order
// is another customer's, a CodePaymentRefused; if more would be given back than was taken, a
// CodeRefundTooLarge.
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
	if domain.ValueOr(n.Status, "") == statusRefunded {
		if kind := domain.ValueOr(n.Kind, ""); !isRefund(kind) && !takesMoney(kind) {
			return Payment{}, domain.PaymentRefused("kind", takesNoMoney)
		}
		n.Status, n.Kind = new(paymentSucceeded), new(kindRefund)
	}
	if n.CustomerID != 0 && order.CustomerID != 0 && n.CustomerID != order.CustomerID {
		// A booking can be moved to a customer without its order.
		ofBooking, err := tx.bookingIsOf(ctx, n.BookingID, n.CustomerID)
		if err != nil {
			return Payment{}, err
		}
		if !ofBooking {
			return Payment{}, domain.PaymentRefused("customer_id", "the order is another customer's")
		}
	}
	n.CustomerID = cmp.Or(order.CustomerID, n.CustomerID)
	money, err := tx.ledger(ctx, sq.Eq{"t.order_id": order.ID})
	if err != nil {
		return Payment{}, err
	}
	id, err := tx.insertPayment(ctx, n, &order.ID)
	if err != nil {
		return Payment{}, err
	}
	created, err := tx.applyPayment(ctx, paymentWrite{order: &order, money: money, force: n.Force}, id)
	if err != nil {
		return Payment{}, err
	}
	if err := tx.remember(ctx, journal.Payments, id); err != nil {
		return Payment{}, err
	}
	return created, tx.notifyPayment(ctx, created)
}

// bookingIsOf reports whether a booking, if one is named, is a customer's.
func (tx *Tx) bookingIsOf(ctx context.Context, booking *int64, customer int64) (bool, error) {
	if booking == nil {
		return false, nil
	}
	stmt := sq.Select("1").From(tx.db.Name(wpdb.Bookings)).Where(sq.Eq{"id": *booking, "customer_id": customer})
	_, found, err := wpdb.One(ctx, tx.db, "read customer of booking", stmt, wpdb.Value[int64])
	return found, err
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
		found, err := tx.AsCaller().bookingsByID(ctx, []int64{*n.BookingID}, false)
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
	checkWord(p, "status", patch.Status, before.Status, paymentSucceeded, paymentProcessing, "failed", statusRefunded)
	s.sanitizeField(p, "token", &patch.Token, sanitize.TextField, wpdb.Transactions, "token")
	s.sanitizeField(p, "notes", &patch.Notes, sanitize.TextareaField, wpdb.Transactions, "notes")
	s.sanitizeField(p, "receipt_number", &patch.ReceiptNumber, sanitize.TextField, wpdb.Transactions, "receipt_number")
	return patch
}

// receiptNumberLength is the length of generated receipt numbers.
const receiptNumberLength = 8

// insertPayment inserts a payment of an order; nil for none.
func (tx *Tx) insertPayment(ctx context.Context, n NewPayment, order *int64) (int64, error) {
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

// UpdatePayment changes a payment, with the same effects on its order and invoices as
// CreatePayment. One that took money and becomes refunded, or a refund, stays, and is
// refunded, see refund. Errors are those of CreatePayment, and a CodeNotFound if the
// payment does not exist.
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
	money, err := tx.ledgerAround(ctx, before)
	if err != nil {
		return Payment{}, err
	}
	if err := p.Err(); err != nil {
		return Payment{}, err
	}
	refund, err := money.refund(&patch, before)
	if err != nil {
		return Payment{}, err
	}
	columns := patch.changeset(before)
	if len(columns) == 0 && refund.IsZero() {
		return before, nil
	}
	if err := tx.update(ctx, wpdb.Transactions, id, append(row(columns), tx.updateTimestamp())); err != nil {
		return Payment{}, err
	}
	return tx.applyPayment(ctx, paymentWrite{order: order, money: money, refund: refund, force: sent.Force}, id)
}

// Why a payment is not refunded, or no longer.
const (
	refundStays   = "a refund does not become a payment"
	takesNoMoney  = "only a payment that takes money can be refunded"
	notSuccessful = "only a successful payment can be refunded"
	staysRefunded = "a refunded payment stays refunded, or is successful with its refund"
)

// refund decides whether a patch refunds a payment, and returns the amount to give back: all
// that was not given back yet, or up to the amount that was sent, so that the same patch does
// it once. Of the patch it leaves what changes the payment itself. A patch by which a payment
// would become a refund, or a refund a payment, is a CodePaymentRefused.
func (l ledger) refund(patch *PaymentPatch, before Payment) (decimal.Decimal, error) {
	entry, status := l.entry(before), domain.ValueOr(patch.Status, before.Status)
	refunds := strings.EqualFold(status, statusRefunded) // what it is to be, or was already
	becomes := refunds && !entry.has(statusRefunded)
	toRefund := patch.Kind != nil && isRefund(*patch.Kind)
	switch {
	case isRefund(before.Kind) && patch.Kind != nil && !toRefund:
		return decimal.Zero, domain.PaymentRefused("kind", refundStays)
	case isRefund(before.Kind):
		if becomes {
			patch.Status = new(paymentSucceeded)
		}
		return decimal.Zero, nil
	case toRefund:
		if !entry.took().IsPositive() || !refunds && !strings.EqualFold(status, paymentSucceeded) {
			return decimal.Zero, domain.PaymentRefused("kind", notSuccessful)
		}
		patch.Kind = nil
	case !becomes && !entry.isRefunded():
		return decimal.Zero, nil
	}
	if kind := domain.ValueOr(patch.Kind, before.Kind); !takesMoney(kind) {
		field := "status"
		if patch.Kind != nil {
			field = "kind"
		}
		return decimal.Zero, domain.PaymentRefused(field, takesNoMoney)
	}
	if entry.isRefunded() {
		return l.keepRefunded(patch, entry, status, toRefund)
	}
	if becomes && !entry.has(paymentSucceeded) {
		return decimal.Zero, domain.PaymentRefused("status", notSuccessful)
	}
	if becomes {
		patch.Status = new(paymentSucceeded)
	}
	entry.status, entry.kind = paymentSucceeded, domain.ValueOr(patch.Kind, before.Kind)
	after, sent := l.with(entry), patch.Amount
	patch.Amount = nil
	if sent == nil {
		return after.left()[entry.id], nil
	}
	more := sent.Sub(after.given()[entry.id].sent)
	if more.GreaterThan(after.left()[entry.id]) && !patch.Force {
		return decimal.Zero, domain.RefundTooLarge()
	}
	return decimal.Max(decimal.Zero, more), nil
}

// keepRefunded is refund for a payment with the status that the plugin gives to one that was
// refunded in full. Another status does not bring the money back: with succeeded, the payment
// gets the refunds that its status stood for.
func (l ledger) keepRefunded(patch *PaymentPatch, entry ledgerEntry, status string, again bool) (decimal.Decimal, error) {
	again = again || patch.Status != nil && strings.EqualFold(status, statusRefunded)
	if again && patch.Amount != nil {
		if patch.Amount.GreaterThan(entry.amount) {
			return decimal.Zero, domain.RefundTooLarge()
		}
		patch.Amount = nil
	}
	switch {
	case strings.EqualFold(status, statusRefunded):
		return decimal.Zero, nil
	case status != paymentSucceeded:
		return decimal.Zero, domain.PaymentRefused("status", staysRefunded)
	}
	return decimal.Max(decimal.Zero, domain.ValueOr(patch.Amount, entry.amount).Sub(l.refundsOf(entry))), nil
}

// changeset returns the changed columns.
func (patch PaymentPatch) changeset(v Payment) changeset {
	var e changeset
	if amount := domain.ValueOr(patch.Amount, v.DisplayAmount()); !amount.Equal(v.DisplayAmount()) {
		e.amount("amount", new(storedAmount(v.Kind, amount)), v.Amount)
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
// stay in their table, as in the plugin, unless they gave all of it back: then they are
// deleted with it. Any other successful payment is a CodePaymentCompleted, one that does not
// exist a CodeNotFound.
func (tx *Tx) DeletePayment(ctx context.Context, id int64) error {
	payment, order, err := tx.lockPayment(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.checkPrecondition(); err != nil {
		return err
	}
	money, err := tx.ledgerAround(ctx, payment)
	if err != nil {
		return err
	}
	entry, ids := money.entry(payment), []int64{id}
	if entry.has(paymentSucceeded) || entry.givesBack().IsPositive() {
		refunds, err := money.refundsInFull(payment)
		if err != nil {
			return err
		}
		ids = append(ids, refunds...)
	}
	if entry.gaveBack().IsPositive() && tx.schema.Has(wpdb.TransactionRefunds) {
		if err := tx.deleteWhere(ctx, wpdb.TransactionRefunds, sq.Eq{"transaction_id": id}); err != nil {
			return err
		}
	}
	if err := tx.delete(ctx, wpdb.Transactions, ids...); err != nil {
		return err
	}
	// Refunds that name no payment may now give back another one.
	left := money.without(ids)
	if _, err := tx.adjustInvoices(ctx, payment.OrderID, money, left); err != nil {
		return err
	}
	return tx.storePaymentStatus(ctx, order, left)
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

// paymentWrite is what was done to a payment. The payment was written, its refund was not.
type paymentWrite struct {
	order  *Order // nil where there is none
	money  ledger // as it was before
	refund decimal.Decimal
	force  bool // give back more than was taken
}

// applyPayment refunds a payment that was just written, brings invoices and order in step,
// and reads the payment back.
func (tx *Tx) applyPayment(ctx context.Context, w paymentWrite, id int64) (Payment, error) {
	payment, err := tx.Payment(ctx, id)
	if err != nil {
		return Payment{}, err
	}
	money, err := tx.refundPayment(ctx, w, payment)
	if err != nil {
		return Payment{}, err
	}
	if !w.force && money.missing(id).GreaterThan(w.money.missing(id)) {
		return Payment{}, domain.RefundTooLarge()
	}
	named, err := tx.adjustInvoices(ctx, payment.OrderID, w.money, money)
	if err != nil {
		return Payment{}, err
	}
	if invoice, ok := named[id]; ok {
		payment.InvoiceID = &invoice
	}
	return payment, tx.storePaymentStatus(ctx, w.order, money)
}

// refundPayment gives money of a payment back, as the plugin's gateways do
// (OsTransactionRefundModel, LatePoint 5.6.5), and returns the ledger afterwards. Earlier
// versions have no table for it: there a refund is a transaction.
func (tx *Tx) refundPayment(ctx context.Context, w paymentWrite, payment Payment) (ledger, error) {
	entry := w.money.entry(payment)
	if w.refund.IsZero() {
		return w.money.with(entry), nil
	}
	if tx.schema.Has(wpdb.TransactionRefunds) {
		entry.refunds = entry.refunds.Add(w.refund)
		_, err := tx.insert(ctx, wpdb.TransactionRefunds, append(row{
			{"token", payment.Token}, {"transaction_id", payment.ID}, {"amount", domain.AmountText(w.refund)},
		}, tx.newTimestamps()...))
		tx.changes.update(wpdb.Transactions, payment.ID, nil, nil) // whose row stays as it is
		return w.money.with(entry), err
	}
	refund := NewPayment{CustomerID: payment.CustomerID, PaymentPatch: PaymentPatch{
		Amount: &w.refund, Processor: &payment.Processor, PaymentMethod: &payment.PaymentMethod, PaymentPortion: &payment.PaymentPortion,
		Kind: new(kindRefund), Token: new(refundToken + domain.IDText(payment.ID)),
	}}
	id, err := tx.insertPayment(ctx, refund, payment.OrderID)
	if err != nil {
		return nil, err
	}
	stored, err := tx.Payment(ctx, id)
	return w.money.with(entry).with(entryOf(stored, decimal.Zero)), err
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

// storePaymentStatus brings an order's payment status in step with its payments. The
// order is locked, or nil for none.
func (tx *Tx) storePaymentStatus(ctx context.Context, order *Order, money ledger) error {
	if order == nil {
		return nil
	}
	status := money.totals(order.Total).paymentStatus(order.PaymentStatus)
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
