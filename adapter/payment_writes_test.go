package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// newTransaction returns the row of a payment of order 1403, which is customer 153's, for which only the
// amount was sent.
func newTransaction(amount string, other map[string]any) fixtures.Change {
	values := map[string]any{
		"id": "<id:transaction:1>", "token": nil, "invoice_id": nil, "order_id": "1403", "customer_id": "153", "processor": "manual",
		"payment_method": "other", "payment_portion": "full", "kind": "capture", "status": "succeeded", "amount": amount,
		"receipt_number": "<code8:transaction.receipt_number:1>", "access_key": "<uuid:transaction.access_key:1>", "notes": nil,
	}
	maps.Copy(values, other)
	return insertedRow("latepoint_transactions", values)
}

// paymentStatusChange returns the changes of an order whose payment status is updated.
func paymentStatusChange(order int64, from, to string) []fixtures.Change {
	return []fixtures.Change{updatedRow("latepoint_orders", order, "payment_status", from, to), orderUpdateEntry(order)}
}

// TestCreatePayment: order 1403 costs 135 and is not paid; invoice 1270 covers all of it and is open, and
// booking 1441 is its only one.
func TestCreatePayment(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	create := creates(payments.Create, func(p records.Payment) int64 { return p.ID }, records.LoadPayment)
	order := func(patch payments.Patch) payments.New { return payments.New{OrderID: new(int64(1403)), Patch: patch} }
	part := paymentStatusChange(1403, records.OrderNotPaid, records.OrderPartiallyPaid)
	paid := paymentStatusChange(1403, records.OrderNotPaid, records.OrderFullyPaid)
	invoice := updatedRow("latepoint_order_invoices", 1270, "status", "open", "paid")
	settled := map[string]any{"invoice_id": "1270"}

	s.try("an amount is enough", nil, create(order(payments.Patch{Amount: euros("0.5")})), append(part, newTransaction("0.5000", nil))...)
	s.try("everything", nil, create(payments.New{OrderID: new(int64(1403)), BookingID: new(int64(1441)), CustomerID: 153, Patch: payments.Patch{
		Amount: euros("12.3456"), Processor: new("stripe"), PaymentMethod: new(" card "), PaymentPortion: new("deposit"), Kind: new("capture"),
		Status: new("failed"), Token: new("tok_<b>1</b>"), Notes: new("a\r\nb"), ReceiptNumber: new("R-1"),
	}}), newTransaction("12.3456", map[string]any{
		"processor": "stripe", "payment_method": "card", "payment_portion": "deposit", "status": "failed", "token": "tok_1",
		"notes": "a\r\nb", "receipt_number": "R-1",
	}))
	s.try("empty texts are none", nil, create(order(payments.Patch{
		Amount: euros("1"), Processor: new(""), PaymentMethod: new(" "), PaymentPortion: new(""), Kind: new(""), ReceiptNumber: new(""), Token: new(""),
	})), append(part, newTransaction("1.0000", map[string]any{"token": ""}))...)
	s.try("by the booking", nil, create(payments.New{BookingID: new(int64(1441)), Patch: payments.Patch{Amount: euros("1")}}),
		append(part, newTransaction("1.0000", nil))...)
	s.try("all", nil, create(order(payments.Patch{Amount: euros("135")})), append(paid, newTransaction("135.0000", settled), invoice)...)
	s.try("more than all settles nothing", nil, create(order(payments.Patch{Amount: euros("135.0001")})), append(paid, newTransaction("135.0001", nil))...)
	s.try("all of a part", []string{
		"INSERT INTO wp_latepoint_order_invoices (id, order_id, status, charge_amount) VALUES" +
			" (9001, 1403, 'draft', 35), (9002, 1402, 'open', 35), (9003, 1403, 'open', 35), (9004, 1403, 'open', 35), (9005, 1403, 'open', NULL)",
		"UPDATE wp_latepoint_order_invoices SET updated_at = '2026-01-01 00:00:00' WHERE id > 9000",
	}, create(order(payments.Patch{Amount: euros("35")})), append(part, newTransaction("35.0000", map[string]any{"invoice_id": "9003"}),
		updatedRow("latepoint_order_invoices", 9003, "status", "open", "paid"))...)
	s.try("a large amount to the last digit", []string{
		"UPDATE wp_latepoint_order_invoices SET charge_amount = 9999999999999999.9999 WHERE id = 1270",
		"UPDATE wp_latepoint_orders SET total = 9999999999999999.9999 WHERE id = 1403",
	}, create(order(payments.Patch{Amount: euros("9999999999999999.9998")})), append(part, newTransaction("9999999999999999.9998", nil))...)
	s.try("under way", nil, create(order(payments.Patch{Amount: euros("135"), Status: new("processing")})),
		append(paymentStatusChange(1403, records.OrderNotPaid, records.OrderProcessing), newTransaction("135.0000", map[string]any{"status": "processing"}))...)
	s.try("a refund settles nothing", nil, create(order(payments.Patch{Amount: euros("135"), Kind: new("refund"), Force: true})),
		newTransaction("-135.0000", map[string]any{"kind": "refund"}))
	s.try("an authorisation changes nothing", nil, create(order(payments.Patch{Amount: euros("135"), Kind: new("authorization")})),
		newTransaction("135.0000", map[string]any{"kind": "authorization"}))
	s.try("for a free order", []string{"UPDATE wp_latepoint_orders SET total = 0 WHERE id = 1403"}, create(order(payments.Patch{Amount: euros("1")})),
		newTransaction("1.0000", nil))
	s.try("with refunds of the gateway", []string{
		"INSERT INTO wp_latepoint_transactions (id, order_id, kind, status, amount) VALUES (9001, 1403, 'capture', 'succeeded', 50)",
		"INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES (9001, 20), (8000, 500)",
	}, create(order(payments.Patch{Amount: euros("1")})), append(part, newTransaction("1.0000", nil))...)
	s.try("without invoices", []string{"DELETE FROM wp_latepoint_order_invoices WHERE order_id = 1403"}, create(order(payments.Patch{Amount: euros("135")})),
		append(paid, newTransaction("135.0000", nil))...)
	s.try("nothing where the transaction fails later", nil, func(t *testing.T, site *session.Session) {
		failed := errors.New("no")
		err := site.Transact(t.Context(), "create", func(tx *session.Tx) error {
			created, err := payments.Create(t.Context(), tx, order(payments.Patch{Amount: euros("135")}))
			if err != nil {
				return err
			}
			if created.InvoiceID == nil || *created.InvoiceID != 1270 {
				t.Errorf("invoice %v, want 1270", created.InvoiceID)
			}
			return failed
		})
		expect.Error(t, failed, err)
	})
}

func TestInvalidPaymentNamesEveryField(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings(), "UPDATE wp_latepoint_bookings SET order_item_id = NULL WHERE id = 5")
	one, order := payments.Patch{Amount: euros("1")}, new(int64(1403))
	known := payments.Patch{Amount: euros("1")}
	known.Invalid("order_id", "Must be an id")
	known.Invalid("customer_id", "Must be an id")
	long := strings.Repeat("x", 101)
	for name, c := range map[string]struct {
		payment payments.New
		code    domain.Code
		want    map[string]string
	}{
		"nothing":          {payments.New{}, domain.CodeInvalidRequest, map[string]string{"order_id": "Required", "amount": "Required"}},
		"unknown order":    {payments.New{OrderID: new(int64(99999)), Patch: one}, domain.CodeInvalidRequest, map[string]string{"order_id": "Order not found"}},
		"unknown booking":  {payments.New{BookingID: new(int64(99999)), Patch: one}, domain.CodeInvalidRequest, map[string]string{"booking_id": "Booking not found"}},
		"lonely booking":   {payments.New{BookingID: new(int64(5)), Patch: one}, domain.CodeInvalidRequest, map[string]string{"booking_id": "This booking has no order"}},
		"another order":    {payments.New{OrderID: order, BookingID: new(int64(10)), Patch: one}, domain.CodeInvalidRequest, map[string]string{"booking_id": "This booking belongs to another order"}},
		"unknown customer": {payments.New{OrderID: order, CustomerID: 99999, Patch: one}, domain.CodeInvalidRequest, map[string]string{"customer_id": "Customer not found"}},
		"known before":     {payments.New{CustomerID: 99999, Patch: known}, domain.CodeInvalidRequest, map[string]string{"order_id": "Must be an id", "customer_id": "Must be an id"}},
		"not allowed": {payments.New{OrderID: order, Patch: payments.Patch{
			Amount: euros("-1"), Processor: &long, PaymentMethod: &long, PaymentPortion: &long, Kind: &long, Status: new("completed"), ReceiptNumber: &long,
		}}, domain.CodeValidationFailed, map[string]string{
			"amount": session.NotNegative, "processor": "Too long", "payment_method": "Too long", "payment_portion": "Too long", "kind": "Too long",
			"status": "Unknown status", "receipt_number": "Too long",
		}},
		"both": {payments.New{OrderID: new(int64(99999)), Patch: payments.Patch{Amount: euros("0.00001")}}, domain.CodeInvalidRequest, map[string]string{
			"order_id": "Order not found", "amount": "May have at most 4 decimals",
		}},
	} {
		s.try(name, nil, func(t *testing.T, site *session.Session) {
			_, err := txCreate(t.Context(), site, payments.Create, c.payment)
			wantFields(t, err, c.code, c.want)
		})
	}
	s.try("changes that are not allowed", nil, func(t *testing.T, site *session.Session) {
		_, err := txUpdate(t.Context(), site, payments.Update, 7, payments.Patch{Amount: euros("-1"), Status: new("cancelled"), ReceiptNumber: new("")})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"amount": session.NotNegative, "status": "Unknown status", "receipt_number": "May not be empty"})
	})
}

// TestUpdatePayment: payment 7 paid order 10 and its invoice 10, 85 euros.
func TestUpdatePayment(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	update := updates(payments.Update, records.LoadPayment)
	pending := "INSERT INTO wp_latepoint_transactions (id, order_id, invoice_id, kind, status, amount, updated_at) VALUES (9001, 1403, %s, 'capture', 'processing', 135, '2026-01-01 00:00:00')"
	another := "INSERT INTO wp_latepoint_order_invoices (id, order_id, status, charge_amount, updated_at) VALUES (9001, 1403, 'open', 135, '2026-01-01 00:00:00')"

	s.try("nothing sent", nil, update(7, payments.Patch{}))
	s.try("nothing new", nil, update(7, payments.Patch{Amount: euros("85.00"), Processor: new("paypal"), Status: new("succeeded"), Notes: new(""), ReceiptNumber: new("NUJPRRWR")}))
	s.try("words alone", nil, update(7, payments.Patch{Notes: new("Thanks"), ReceiptNumber: new("R-1"), Token: new("")}),
		updatedRow("latepoint_transactions", 7, "notes", "", "Thanks", "receipt_number", "NUJPRRWR", "R-1", "token", "TX8R5CKI27HT", ""))
	s.try("less", nil, update(7, payments.Patch{Amount: euros("80")}),
		append(paymentStatusChange(10, records.OrderFullyPaid, records.OrderPartiallyPaid), updatedRow("latepoint_transactions", 7, "amount", "85.0000", "80.0000"),
			updatedRow("latepoint_order_invoices", 10, "status", "paid", "open"))...)
	s.try("failed after all, and the invoice is open again", nil, update(7, payments.Patch{Status: new("failed")}),
		append(paymentStatusChange(10, records.OrderFullyPaid, records.OrderNotPaid), updatedRow("latepoint_transactions", 7, "status", "succeeded", "failed"),
			updatedRow("latepoint_order_invoices", 10, "status", "paid", "open"))...)
	s.try("succeeded at last", []string{fmt.Sprintf(pending, "NULL")}, update(9001, payments.Patch{Status: new("succeeded")}),
		append(paymentStatusChange(1403, records.OrderNotPaid, records.OrderFullyPaid), updatedRow("latepoint_transactions", 9001, "status", "processing", "succeeded", "invoice_id", nil, "1270"),
			updatedRow("latepoint_order_invoices", 1270, "status", "open", "paid"))...)
	s.try("succeeded for the invoice that it names", []string{another, fmt.Sprintf(pending, "9001")}, update(9001, payments.Patch{Status: new("succeeded")}),
		append(paymentStatusChange(1403, records.OrderNotPaid, records.OrderFullyPaid), updatedRow("latepoint_transactions", 9001, "status", "processing", "succeeded"),
			updatedRow("latepoint_order_invoices", 9001, "status", "open", "paid"))...)
	s.try("what paid once pays no second invoice", []string{
		"INSERT INTO wp_latepoint_order_invoices (id, order_id, status, charge_amount) VALUES (9001, 10, 'open', 85)", "UPDATE wp_latepoint_transactions SET invoice_id = NULL WHERE id = 7",
	}, update(7, payments.Patch{Notes: new("x")}), updatedRow("latepoint_transactions", 7, "notes", "", "x"))
	s.try("a status that is there already", []string{"UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = 7"},
		update(7, payments.Patch{Status: new("refunded"), Notes: new("x")}),
		append(paymentStatusChange(10, records.OrderFullyPaid, records.OrderNotPaid), updatedRow("latepoint_transactions", 7, "notes", "", "x"),
			updatedRow("latepoint_order_invoices", 10, "status", "paid", "open"))...)
	s.try("of an order that is gone", []string{"DELETE FROM wp_latepoint_orders WHERE id = 10"}, update(7, payments.Patch{Amount: euros("1")}),
		updatedRow("latepoint_transactions", 7, "amount", "85.0000", "1.0000"), updatedRow("latepoint_order_invoices", 10, "status", "paid", "open"))
	s.try("of no order", []string{"UPDATE wp_latepoint_transactions SET order_id = NULL WHERE id = 7"}, update(7, payments.Patch{Amount: euros("1")}),
		updatedRow("latepoint_transactions", 7, "amount", "85.0000", "1.0000"))
}

func TestDeletePayment(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	remove := func(id int64, code domain.Code) func(*testing.T, *session.Session) {
		return func(t *testing.T, site *session.Session) {
			err := txDelete(t.Context(), site, payments.Delete, id)
			if domain.CodeOf(err) != code || code == "" && err != nil {
				t.Errorf("error %v, want code %q", err, code)
			}
		}
	}
	gone := fixtures.Change{Table: "latepoint_transactions", Op: fixtures.Delete, Key: "3"}
	s.try("one that failed", nil, remove(3, ""), gone)
	s.try("one under way", []string{
		"UPDATE wp_latepoint_transactions SET status = 'processing' WHERE id = 3", "UPDATE wp_latepoint_orders SET payment_status = 'processing' WHERE id = 4",
		"INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES (3, 1)",
	}, remove(3, ""), append(paymentStatusChange(4, records.OrderProcessing, records.OrderNotPaid), gone)...)
	s.try("of an order that is gone", []string{"DELETE FROM wp_latepoint_orders WHERE id = 4"}, remove(3, ""), gone)
	s.try("one that succeeded", nil, remove(7, domain.CodePaymentCompleted))
	s.try("unknown", nil, remove(99999, domain.CodeNotFound))
}

// TestPaymentsOfEarlierVersions: columns that were added later are left out, and no invoice has an amount
// to settle.
func TestPaymentsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.Legacy())
	updated := orderUpdateEntry(1)
	delete(updated.Values, "coupon_id")
	s.try("made and changed", nil, func(t *testing.T, site *session.Session) {
		created, err := txCreate(t.Context(), site, payments.Create, payments.New{OrderID: new(int64(1)), Patch: payments.Patch{Amount: euros("30"), ReceiptNumber: new("R-1")}})
		expect.NoError(t, err)
		if created.ReceiptNumber != nil || created.AccessKey != nil || created.InvoiceID != nil {
			t.Errorf("payment %+v has what it has no column for", created)
		}
		order, err := records.LoadOrder(t.Context(), site, 1)
		if err != nil || order.PaymentStatus != records.OrderFullyPaid {
			t.Errorf("payment status %q, want %s (%v)", order.PaymentStatus, records.OrderFullyPaid, err)
		}
		_, err = txUpdate(t.Context(), site, payments.Update, created.ID, payments.Patch{Status: new("failed"), ReceiptNumber: new("R-2")})
		expect.NoError(t, err)
		expect.NoError(t, txDelete(t.Context(), site, payments.Delete, created.ID))
	}, updatedRow("latepoint_orders", 1), updated, updated)
}

// TestConcurrentPaymentsSettleDistinctInvoices: of many concurrent payments, each settles a different
// invoice, and the order's payment status is right in the end.
func TestConcurrentPaymentsSettleDistinctInvoices(t *testing.T) {
	t.Parallel()
	count := 25
	if fixtures.Thorough() {
		count = 100
	}
	invoices := make([]string, count)
	for i := range invoices {
		invoices[i] = fmt.Sprintf("(%d, 1403, 'open', 1)", 9001+i)
	}
	r := newRivals(t, "INSERT INTO wp_latepoint_order_invoices (id, order_id, status, charge_amount) VALUES "+strings.Join(invoices, ", "),
		fmt.Sprintf("UPDATE wp_latepoint_orders SET total = %d WHERE id = 1403", count))
	var tries []func(context.Context, *session.Session) error
	for range count {
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			_, err := txCreate(ctx, s, payments.Create, payments.New{OrderID: new(int64(1403)), Patch: payments.Patch{Amount: euros("1")}})
			return err
		})
	}
	expect.Equal(t, count, r.run(tries), "payments made")
	r.wantCounts(map[string]int{
		"SELECT COUNT(*) FROM wp_latepoint_order_invoices WHERE id > 9000 AND status = 'paid'":                   count,
		"SELECT COUNT(DISTINCT invoice_id) FROM wp_latepoint_transactions WHERE order_id = 1403":                 count,
		"SELECT COUNT(*) FROM wp_latepoint_orders WHERE id = 1403 AND payment_status = 'fully_paid'":             1,
		"SELECT COUNT(*) FROM wp_latepoint_activities WHERE order_id = 1403 AND code = 'order_updated'":          2,
		"SELECT COUNT(*) FROM wp_latepoint_order_invoices WHERE id = 1270 AND status = 'open'":                   1,
		"SELECT COUNT(DISTINCT receipt_number, access_key) FROM wp_latepoint_transactions WHERE order_id = 1403": count,
	})
}

// TestConcurrentPaymentsKeepThePaymentStatus: payments are created, changed and deleted concurrently with
// the order and its invoice, without deadlocks. The payment status matches the remaining payments.
func TestConcurrentPaymentsKeepThePaymentStatus(t *testing.T) {
	t.Parallel()
	r := newRivals(t, "UPDATE wp_latepoint_orders SET payment_status = 'processing' WHERE id = 1403",
		"INSERT INTO wp_latepoint_transactions (id, order_id, kind, status, amount)"+
			" SELECT 9000 + id, 1403, 'capture', 'processing', 3 FROM wp_latepoint_bookings WHERE id <= 40")
	var tries []func(context.Context, *session.Session) error
	for i := range int64(20) {
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			_, err := txCreate(ctx, s, payments.Create, payments.New{OrderID: new(int64(1403)), Patch: payments.Patch{Amount: euros("1")}})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			_, err := txUpdate(ctx, s, payments.Update, 9001+i, payments.Patch{Status: new("succeeded")})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			return txDelete(ctx, s, payments.Delete, 9021+i)
		}, func(ctx context.Context, s *session.Session) error {
			_, err := updateInvoice(ctx, s, 1403, 1270, payments.InvoicePatch{ChargeAmount: euros(fmt.Sprint(200 + i))})
			return err
		}, func(ctx context.Context, s *session.Session) error {
			_, err := txUpdate(ctx, s, orders.Update, 1403, orders.Patch{CustomerComment: new(fmt.Sprint(i))})
			return err
		})
	}
	expect.Equal(t, len(tries), r.run(tries), "succeeded")
	r.wantCounts(map[string]int{
		"SELECT SUM(amount) FROM wp_latepoint_transactions WHERE order_id = 1403 AND status = 'succeeded'": 80,
		"SELECT COUNT(*) FROM wp_latepoint_transactions WHERE order_id = 1403":                             40,
		"SELECT COUNT(*) FROM wp_latepoint_orders WHERE id = 1403 AND payment_status = 'partially_paid'":   1,
		"SELECT COUNT(*) FROM wp_latepoint_order_invoices WHERE id = 1270 AND status = 'open'":             1,
	})
}

// wantCounts checks the results of counting queries.
func (r rivals) wantCounts(want map[string]int) {
	r.t.Helper()
	for query, n := range want {
		var got float64
		if err := r.database.SQL.QueryRowContext(r.t.Context(), query).Scan(&got); err != nil || got != float64(n) {
			r.t.Errorf("%s: %v, want %d (%v)", query, got, n, err)
		}
	}
}
