package payments

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Patch changes a payment. A nil field stays as it is. Validation holds the problems found so far; its
// fields are not checked again.
type Patch struct {
	Amount                                         *decimal.Decimal
	Processor, PaymentMethod, PaymentPortion, Kind *string
	Status                                         *string // succeeded, processing, failed or refunded
	Token, Notes, ReceiptNumber                    *string
	Nulls                                          []string // columns of an existing payment to clear
	Force                                          bool     // give back more than was taken
	domain.Validation
}

// New is a payment to create, for an order or for a booking's order. The amount is required; any other nil
// field gets its default.
type New struct {
	OrderID, BookingID *int64
	CustomerID         int64 // that of the order or the booking, or 0; any for an order without a customer
	Patch
}

// Create adds a payment to an order, settles the invoice that it pays, and updates the order's payment
// status. The plugin does so only for payments through its own links, and leaves other payments to people.
// A payment with the status refunded is a refund.
//
// If anything is wrong with the payment, it returns a CodeInvalidRequest or CodeValidationFailed that names
// every field; if the refunded payment takes no money, or the order is another customer's, a
// CodePaymentRefused; if more would be given back than was taken, a CodeRefundTooLarge.
func Create(ctx context.Context, tx *session.Tx, n New) (records.Payment, error) {
	p := n.Problems()
	order, err := lockOrderToPay(ctx, tx, n, &p)
	if err != nil {
		return records.Payment{}, err
	}
	p.Require("amount", n.Amount != nil)
	n.Patch = sanitizePayment(tx.Session, n.Patch, &p)
	if n.CustomerID != 0 {
		if _, err := records.LockCustomer(ctx, tx, &n.CustomerID, &p); err != nil {
			return records.Payment{}, err
		}
	}
	if err := p.Err(); err != nil {
		return records.Payment{}, err
	}
	if domain.ValueOr(n.Status, "") == records.StatusRefunded {
		if kind := domain.ValueOr(n.Kind, ""); !records.IsRefund(kind) && !records.TakesMoney(kind) {
			return records.Payment{}, domain.PaymentRefused("kind", takesNoMoney)
		}
		n.Status, n.Kind = new(records.PaymentSucceeded), new(records.KindRefund)
	}
	if n.CustomerID != 0 && order.CustomerID != 0 && n.CustomerID != order.CustomerID {
		// A booking may have moved to a customer without its order.
		ofBooking, err := bookingIsOf(ctx, tx, n.BookingID, n.CustomerID)
		if err != nil {
			return records.Payment{}, err
		}
		if !ofBooking {
			return records.Payment{}, domain.PaymentRefused("customer_id", "the order is another customer's")
		}
	}
	n.CustomerID = cmp.Or(order.CustomerID, n.CustomerID)
	money, err := records.LoadLedger(ctx, tx.Session, sq.Eq{"t.order_id": order.ID})
	if err != nil {
		return records.Payment{}, err
	}
	id, err := insertPayment(ctx, tx, n, &order.ID)
	if err != nil {
		return records.Payment{}, err
	}
	notify.Announce(tx, notify.Event{Kind: notify.TransactionCreated, Payment: &records.Payment{ID: id}}) // before that the order was updated
	created, err := applyPayment(ctx, tx, paymentWrite{order: &order, money: money, force: n.Force}, id)
	if err != nil {
		return records.Payment{}, err
	}
	return created, notifyPayment(ctx, tx, created)
}

// bookingIsOf reports whether a booking, if one is named, belongs to a customer.
func bookingIsOf(ctx context.Context, tx *session.Tx, booking *int64, customer int64) (bool, error) {
	if booking == nil {
		return false, nil
	}
	stmt := sq.Select("1").From(tx.DB.Name(wpdb.Bookings)).Where(sq.Eq{"id": *booking, "customer_id": customer})
	_, found, err := wpdb.One(ctx, tx.DB, "read customer of booking", stmt, wpdb.Value[int64])
	return found, err
}

// notifyPayment sends what automations say about a new payment and its updated order.
func notifyPayment(ctx context.Context, tx *session.Tx, payment records.Payment) error {
	if !notify.HasAutomations(tx.Session) {
		return nil
	}
	// Most sites have no automations for payments, and need nothing of the rest.
	automations, err := notify.LoadProcesses(ctx, tx.Session, notify.EventTypes[notify.TransactionCreated])
	if err != nil || len(automations) == 0 {
		return err
	}
	order, err := records.LoadStoredOrder(ctx, tx.Session, *payment.OrderID)
	if err != nil {
		return err
	}
	stored, err := notify.LoadOrderWithBookings(ctx, tx.Session, order)
	if err != nil {
		return err
	}
	after := stored.Snapshot()
	if payment.CustomerID != 0 && payment.CustomerID != order.CustomerID {
		if after.Customer, _, err = records.OrderCustomer(ctx, tx.Session, payment.CustomerID); err != nil {
			return err
		}
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return err
	}
	_, err = notify.Notify(ctx, tx, w, []notify.Event{{Kind: notify.TransactionCreated, After: after, Payment: &payment}}, extensions.AllMessages)
	return err
}

// lockOrderToPay finds and locks the order of a payment, and takes the lock of the payer:
// deleting a customer counts their payments.
func lockOrderToPay(ctx context.Context, tx *session.Tx, n New, p *domain.Validation) (records.Order, error) {
	if p.Has("order_id") || p.Has("booking_id") {
		return records.Order{}, nil
	}
	id := n.OrderID
	if n.BookingID != nil {
		found, err := records.LoadBookings(ctx, tx.Session, []int64{*n.BookingID})
		switch {
		case err != nil:
			return records.Order{}, err
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
		return records.Order{}, nil
	}
	locks := []session.Lock{session.LockOf(session.OrderLock, *id)}
	if n.CustomerID != 0 {
		locks = append(locks, session.LockOf(session.CustomerLock, n.CustomerID))
	}
	if err := tx.Lock(ctx, locks...); err != nil {
		return records.Order{}, err
	}
	order, err := records.LockOrderRow(ctx, tx, *id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		p.Invalid("order_id", "Order not found")
		return records.Order{}, nil
	}
	return order, err
}

// sanitizePayment validates a patch by itself and sanitizes its texts.
func sanitizePayment(s *session.Session, patch Patch, p *domain.Validation) Patch {
	session.CheckAmount(p, "amount", patch.Amount)
	session.SanitizeField(s, p, "processor", &patch.Processor, text.Field, wpdb.Transactions, "processor")
	session.SanitizeField(s, p, "payment_method", &patch.PaymentMethod, text.Field, wpdb.Transactions, "payment_method")
	session.SanitizeField(s, p, "payment_portion", &patch.PaymentPortion, text.Field, wpdb.Transactions, "payment_portion")
	session.SanitizeField(s, p, "kind", &patch.Kind, text.Field, wpdb.Transactions, "kind")
	session.CheckWord(p, "status", patch.Status, records.PaymentSucceeded, records.PaymentProcessing, "failed", records.StatusRefunded)
	session.SanitizeField(s, p, "token", &patch.Token, text.Field, wpdb.Transactions, "token")
	session.SanitizeField(s, p, "notes", &patch.Notes, text.TextareaField, wpdb.Transactions, "notes")
	session.SanitizeField(s, p, "receipt_number", &patch.ReceiptNumber, text.Field, wpdb.Transactions, "receipt_number")
	return patch
}

// receiptNumberLength is the length of generated receipt numbers.
const receiptNumberLength = 8

// insertPayment inserts a payment of an order; nil for none.
func insertPayment(ctx context.Context, tx *session.Tx, n New, order *int64) (int64, error) {
	receipt := domain.ValueOr(n.ReceiptNumber, "")
	if receipt == "" {
		var err error
		if receipt, err = session.NewCode(tx.Session, receiptNumberLength); err != nil {
			return 0, err
		}
	}
	key, err := session.NewUUID(tx.Session)
	if err != nil {
		return 0, err
	}
	return tx.Insert(ctx, wpdb.Transactions, append(session.Row{
		{Name: "token", Value: n.Token}, {Name: "invoice_id", Value: nil}, {Name: "order_id", Value: order}, {Name: "customer_id", Value: n.CustomerID},
		{Name: "processor", Value: orDefault(n.Processor, "manual")}, {Name: "payment_method", Value: orDefault(n.PaymentMethod, "other")},
		{Name: "payment_portion", Value: orDefault(n.PaymentPortion, "full")}, {Name: "kind", Value: orDefault(n.Kind, records.KindCapture)},
		{Name: "status", Value: orDefault(n.Status, records.PaymentSucceeded)}, {Name: "amount", Value: domain.AmountText(records.StoredAmount(domain.ValueOr(n.Kind, ""), *n.Amount))},
		{Name: "receipt_number", Value: receipt}, {Name: "access_key", Value: key}, {Name: "notes", Value: n.Notes},
	}, tx.NewTimestamps()...))
}

// orDefault returns the sent text, or the fallback if none was sent or it is empty.
func orDefault(sent *string, fallback string) string {
	return cmp.Or(domain.ValueOr(sent, ""), fallback)
}

// Update changes a payment, with the same effects on its order and invoices as Create. A payment that took
// money and is set to refunded, or to a refund, stays as it is and is refunded, see refund. It returns the
// errors of Create, and a CodeNotFound if the payment does not exist.
func Update(ctx context.Context, tx *session.Tx, id int64, sent Patch) (records.Payment, error) {
	before, order, err := lockPayment(ctx, tx, id)
	if err != nil {
		return records.Payment{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return records.Payment{}, err
	}
	p := sent.Problems()
	patch := sanitizePayment(tx.Session, sent, &p)
	if patch.ReceiptNumber != nil && *patch.ReceiptNumber == "" {
		p.Reject("receipt_number", "May not be empty")
	}
	money, err := records.LoadLedgerAround(ctx, tx.Session, before)
	if err != nil {
		return records.Payment{}, err
	}
	if err := p.Err(); err != nil {
		return records.Payment{}, err
	}
	patch, amount, err := refund(money, patch, before)
	if err != nil {
		return records.Payment{}, err
	}
	columns := patch.changeset(before)
	if len(columns) == 0 && amount.IsZero() {
		return before, nil
	}
	if err := tx.Update(ctx, wpdb.Transactions, id, append(session.Row(columns), tx.UpdateTimestamp())); err != nil {
		return records.Payment{}, err
	}
	return applyPayment(ctx, tx, paymentWrite{order: order, money: money, refund: amount, force: sent.Force}, id)
}

// Why a payment is not refunded, or can no longer be changed.
const (
	refundStays   = "a refund does not become a payment"
	takesNoMoney  = "only a payment that takes money can be refunded"
	notSuccessful = "only a successful payment can be refunded"
	staysRefunded = "a refunded payment stays refunded, or is successful with its refund"
)

// refund decides whether a patch refunds a payment, and returns the amount to give back: all that was not
// given back yet, or up to the sent amount, so that repeating the patch refunds once. The patch that it returns has
// what changes the payment itself. A patch that would turn a payment into a refund, or a refund into
// a payment, is a CodePaymentRefused.
func refund(l records.Ledger, patch Patch, before records.Payment) (Patch, decimal.Decimal, error) {
	entry, status := l.Entry(before), domain.ValueOr(patch.Status, before.Status)
	refunds := strings.EqualFold(status, records.StatusRefunded) // what it will be, or already was
	becomes := refunds && !entry.Has(records.StatusRefunded)
	toRefund := patch.Kind != nil && records.IsRefund(*patch.Kind)
	switch {
	case records.IsRefund(before.Kind) && patch.Kind != nil && !toRefund:
		return patch, decimal.Zero, domain.PaymentRefused("kind", refundStays)
	case records.IsRefund(before.Kind):
		if becomes {
			patch.Status = new(records.PaymentSucceeded)
		}
		return patch, decimal.Zero, nil
	case toRefund:
		if !entry.Took().IsPositive() || !refunds && !strings.EqualFold(status, records.PaymentSucceeded) {
			return patch, decimal.Zero, domain.PaymentRefused("kind", notSuccessful)
		}
		patch.Kind = nil
	case !becomes && !entry.IsRefunded():
		return patch, decimal.Zero, nil
	}
	if kind := domain.ValueOr(patch.Kind, before.Kind); !records.TakesMoney(kind) {
		field := "status"
		if patch.Kind != nil {
			field = "kind"
		}
		return patch, decimal.Zero, domain.PaymentRefused(field, takesNoMoney)
	}
	if entry.IsRefunded() {
		return keepRefunded(l, patch, entry, status, toRefund)
	}
	if becomes && !entry.Has(records.PaymentSucceeded) {
		return patch, decimal.Zero, domain.PaymentRefused("status", notSuccessful)
	}
	if becomes {
		patch.Status = new(records.PaymentSucceeded)
	}
	entry.Status, entry.Kind = records.PaymentSucceeded, domain.ValueOr(patch.Kind, before.Kind)
	after, sent := l.With(entry), patch.Amount
	patch.Amount = nil
	if sent == nil {
		return patch, after.Left()[entry.ID], nil
	}
	more := sent.Sub(after.Given()[entry.ID].Sent)
	if more.GreaterThan(after.Left()[entry.ID]) && !patch.Force {
		return patch, decimal.Zero, domain.RefundTooLarge()
	}
	return patch, decimal.Max(decimal.Zero, more), nil
}

// keepRefunded is refund for a payment that has the status that the plugin gives to fully refunded ones.
// Another status does not bring the money back: with succeeded, the payment gets the refunds that its
// status stood for.
func keepRefunded(l records.Ledger, patch Patch, entry records.LedgerEntry, status string, again bool) (Patch, decimal.Decimal, error) {
	again = again || patch.Status != nil && strings.EqualFold(status, records.StatusRefunded)
	if again && patch.Amount != nil {
		if patch.Amount.GreaterThan(entry.Amount) {
			return patch, decimal.Zero, domain.RefundTooLarge()
		}
		patch.Amount = nil
	}
	switch {
	case strings.EqualFold(status, records.StatusRefunded):
		return patch, decimal.Zero, nil
	case status != records.PaymentSucceeded:
		return patch, decimal.Zero, domain.PaymentRefused("status", staysRefunded)
	}
	return patch, decimal.Max(decimal.Zero, domain.ValueOr(patch.Amount, entry.Amount).Sub(l.RefundsOf(entry))), nil
}

// changeset returns the changed columns.
func (patch Patch) changeset(v records.Payment) session.Changeset {
	var e session.Changeset
	if amount := domain.ValueOr(patch.Amount, v.DisplayAmount()); !amount.Equal(v.DisplayAmount()) {
		e.Amount("amount", new(records.StoredAmount(v.Kind, amount)), v.Amount)
	}
	e.Text("processor", patch.Processor, v.Processor)
	e.Text("payment_method", patch.PaymentMethod, v.PaymentMethod)
	e.Text("payment_portion", patch.PaymentPortion, v.PaymentPortion)
	e.Text("kind", patch.Kind, v.Kind)
	e.Text("status", patch.Status, v.Status)
	e.Nullable("token", patch.Token, v.Token, patch.Nulls)
	e.Nullable("notes", patch.Notes, v.Notes, patch.Nulls)
	e.Text("receipt_number", patch.ReceiptNumber, domain.ValueOr(v.ReceiptNumber, ""))
	return e
}

// Delete deletes a payment and updates its order's payment status. As in the plugin, its refunds stay in
// their table, unless they gave back all of it: then they are deleted too. Any other successful payment is
// a CodePaymentCompleted, and one that does not exist a CodeNotFound.
func Delete(ctx context.Context, tx *session.Tx, id int64) error {
	payment, order, err := lockPayment(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	money, err := records.LoadLedgerAround(ctx, tx.Session, payment)
	if err != nil {
		return err
	}
	entry, ids := money.Entry(payment), []int64{id}
	if entry.Has(records.PaymentSucceeded) || entry.GivesBack().IsPositive() {
		refunds, err := money.RefundsInFull(payment)
		if err != nil {
			return err
		}
		ids = append(ids, refunds...)
	}
	if entry.GaveBack().IsPositive() && tx.Schema.Has(wpdb.TransactionRefunds) {
		if err := tx.DeleteWhere(ctx, wpdb.TransactionRefunds, sq.Eq{"transaction_id": id}); err != nil {
			return err
		}
	}
	if err := tx.Delete(ctx, wpdb.Transactions, ids...); err != nil {
		return err
	}
	// Refunds that name no payment may now count against another one.
	left := money.Without(ids)
	if _, err := adjustInvoices(ctx, tx, payment.OrderID, money, left); err != nil {
		return err
	}
	return storePaymentStatus(ctx, tx, order, left)
}

// lockPayment makes other writers of a payment and of its order wait, and reads their present state. The
// order is nil if there is none.
func lockPayment(ctx context.Context, tx *session.Tx, id int64) (records.Payment, *records.Order, error) {
	found, err := records.LoadPayment(ctx, tx.Session, id)
	if err != nil {
		return records.Payment{}, nil, err
	}
	var order *records.Order
	if found.OrderID != nil {
		locked, err := records.LockOrder(ctx, tx, *found.OrderID)
		switch {
		case err == nil:
			order = &locked
		case domain.CodeOf(err) != domain.CodeNotFound:
			return records.Payment{}, nil, err
		}
	}
	if err := tx.LockRows(ctx, wpdb.Transactions, []int64{id}); err != nil {
		return records.Payment{}, nil, err
	}
	payment, err := records.LoadPayment(ctx, tx.Session, id)
	if err == nil && domain.ValueOr(payment.OrderID, 0) != domain.ValueOr(found.OrderID, 0) {
		err = fmt.Errorf("payment %d changed its order meanwhile: %w", id, wpdb.ErrConflict)
	}
	return payment, order, err
}

// paymentWrite is a write of a payment: its row was written, its refund was not yet.
type paymentWrite struct {
	order  *records.Order // nil if there is none
	money  records.Ledger // before the write
	refund decimal.Decimal
	force  bool // give back more than was taken
}

// applyPayment refunds a payment that was just written, updates invoices and order, and reads the payment
// back.
func applyPayment(ctx context.Context, tx *session.Tx, w paymentWrite, id int64) (records.Payment, error) {
	payment, err := records.LoadPayment(ctx, tx.Session, id)
	if err != nil {
		return records.Payment{}, err
	}
	money, err := refundPayment(ctx, tx, w, payment)
	if err != nil {
		return records.Payment{}, err
	}
	if !w.force && money.Missing(id).GreaterThan(w.money.Missing(id)) {
		return records.Payment{}, domain.RefundTooLarge()
	}
	named, err := adjustInvoices(ctx, tx, payment.OrderID, w.money, money)
	if err != nil {
		return records.Payment{}, err
	}
	if invoice, ok := named[id]; ok {
		payment.InvoiceID = &invoice
	}
	return payment, storePaymentStatus(ctx, tx, w.order, money)
}

// refundPayment gives back money of a payment, as the plugin's gateways do (OsTransactionRefundModel,
// LatePoint 5.6.5), and returns the ledger afterwards. Earlier versions have no table for refunds: there a
// refund is a transaction.
func refundPayment(ctx context.Context, tx *session.Tx, w paymentWrite, payment records.Payment) (records.Ledger, error) {
	entry := w.money.Entry(payment)
	if w.refund.IsZero() {
		return w.money.With(entry), nil
	}
	if tx.Schema.Has(wpdb.TransactionRefunds) {
		entry.Refunds = entry.Refunds.Add(w.refund)
		_, err := tx.Insert(ctx, wpdb.TransactionRefunds, append(session.Row{
			{Name: "token", Value: payment.Token}, {Name: "transaction_id", Value: payment.ID}, {Name: "amount", Value: domain.AmountText(w.refund)},
		}, tx.NewTimestamps()...))
		tx.Changes.Update(wpdb.Transactions, payment.ID, nil, nil) // a change, although its row stays as it is
		return w.money.With(entry), err
	}
	refund := New{CustomerID: payment.CustomerID, Patch: Patch{
		Amount: &w.refund, Processor: &payment.Processor, PaymentMethod: &payment.PaymentMethod, PaymentPortion: &payment.PaymentPortion,
		Kind: new(records.KindRefund), Token: new(records.RefundToken + domain.IDText(payment.ID)),
	}}
	id, err := insertPayment(ctx, tx, refund, payment.OrderID)
	if err != nil {
		return nil, err
	}
	stored, err := records.LoadPayment(ctx, tx.Session, id)
	return w.money.With(entry).With(records.EntryOf(stored, decimal.Zero)), err
}

// AdjustPaymentStatus stores the payment status of an order whose total changed. The caller has changed the
// order, so its row is locked.
func AdjustPaymentStatus(ctx context.Context, tx *session.Tx, id int64) error {
	order, err := records.LoadStoredOrder(ctx, tx.Session, id)
	if err != nil {
		return err
	}
	totals, err := records.LoadPaymentTotals(ctx, tx.Session, order)
	if err != nil {
		return err
	}
	status := totals.PaymentStatus(order.PaymentStatus)
	if status == order.PaymentStatus {
		return nil
	}
	return tx.Update(ctx, wpdb.Orders, id, session.Row{{Name: "payment_status", Value: status}})
}

// storePaymentStatus updates an order's payment status from its payments. The order must be locked; nil for
// none.
func storePaymentStatus(ctx context.Context, tx *session.Tx, order *records.Order, money records.Ledger) error {
	if order == nil {
		return nil
	}
	status := money.Totals(order.Total).PaymentStatus(order.PaymentStatus)
	if status == order.PaymentStatus {
		return nil
	}
	if err := tx.Update(ctx, wpdb.Orders, order.ID, session.Row{{Name: "payment_status", Value: status}, tx.UpdateTimestamp()}); err != nil {
		return err
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return err
	}
	_, err = notify.OrderUpdate(ctx, tx, w, *order, nil)
	return err
}
