package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestPaymentsFollowTheirOrder: a payment belongs to its order's customer, and moves with it to another
// one. Merging two customers, by moving everything of the duplicate and then deleting it, loses no payment.
func TestPaymentsFollowTheirOrder(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	customer := func(name string) string {
		return fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"`+name+`","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
	}
	of := func(customer, payment string) bool {
		return slices.Contains(idsOf(s.get("/payments?customer_id="+customer).want(http.StatusOK).at("data")), payment)
	}
	for name, move := range map[string]func(booking, order, to string) answer{
		"with its booking": func(booking, _, to string) answer {
			return s.write(http.MethodPut, "/bookings/"+booking, `{"customer_id":`+to+`}`)
		},
		"with its order": func(_, order, to string) answer {
			return s.write(http.MethodPut, "/orders/"+order, `{"customer_id":`+to+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: they share the slot
			duplicate, kept := customer("X"), customer("Y")
			made := s.write(http.MethodPost, "/bookings", friday("customer_id", duplicate, "price", `"40"`)).want(http.StatusCreated)
			booking, order := fmt.Sprint(made.at("data", "id")), fmt.Sprint(made.at("data", "order", "id"))
			paid := s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":40}`).want(http.StatusCreated)
			payment := fmt.Sprint(paid.at("data", "id"))
			if got := paid.at("data", "customer_id"); got != duplicate || !of(duplicate, payment) {
				t.Errorf("the payment is customer %v's, want the order's %s", got, duplicate)
			}
			move(booking, order, kept).want(http.StatusOK)
			if !of(kept, payment) || of(duplicate, payment) {
				t.Error("the payment stayed with the customer of before")
			}
			if s.count("bookside_change_inbox", "resource = 'payments' AND kind = 'updated' AND resource_id = "+payment) != 1 {
				t.Error("the journal does not have the payment")
			}
			s.write(http.MethodDelete, "/customers/"+duplicate, "").want(http.StatusOK)
			if got := s.get("/orders/" + order).want(http.StatusOK).at("payment_status"); got != "fully_paid" {
				t.Errorf("the order is %v", got)
			}
			s.wantFields(t, "/payments/"+payment, map[string]any{"amount": "40.0000", "customer_id": kept})
			if got := s.get("/customers/"+kept).at("data", "stats", "total_spent"); got != "40.00" {
				t.Errorf("spent %v", got)
			}
			s.write(http.MethodDelete, "/bookings/"+booking+"?force=true", "").want(http.StatusOK)
		})
	}
}

// TestDeletedCustomerLeavesOrdersOfOthers: wp-admin moves an order without its payments. Successful
// payments keep their customer from being deleted, and no others are deleted.
func TestDeletedCustomerLeavesOrdersOfOthers(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	left := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"X","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
	pay := func(status string) string {
		id := fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":10,"status":"`+status+`"}`).want(http.StatusCreated).at("data", "id"))
		s.database.Execute(t, "UPDATE wp_latepoint_transactions SET customer_id = "+left+" WHERE id = "+id)
		return id
	}
	succeeded, failed, lost := pay("succeeded"), pay("failed"), pay("failed")
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET order_id = 8000000 WHERE id = "+lost)
	if a := s.write(http.MethodDelete, "/customers/"+left, "").want(http.StatusBadRequest); a.at("code") != "customer_has_payments" {
		t.Errorf("%s", a.body)
	}
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'processing' WHERE id = "+succeeded)
	s.write(http.MethodDelete, "/customers/"+left, "").want(http.StatusOK)
	for id, want := range map[string]int{succeeded: http.StatusOK, failed: http.StatusOK, lost: http.StatusNotFound} {
		s.get("/payments/" + id).want(want)
	}
}

// TestPaymentIsOfTheOrdersCustomer: another customer is refused, unless the order has none.
func TestPaymentIsOfTheOrdersCustomer(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for body, want := range map[string]string{
		`"customer_id":12,"amount":10`:                     `Invalid customer ID provided: the order is another customer's`,
		`"customer_id":"12","amount":10,"booking_id":1441`: `Invalid customer ID provided: the order is another customer's`,
	} {
		if a := s.write(http.MethodPost, "/payments", `{"order_id":1403,`+body+`}`).want(http.StatusUnprocessableEntity); a.at("error") != want {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	if a := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":10,"customer_id":99999}`).want(http.StatusBadRequest); a.at("error") != "Invalid customer ID provided" {
		t.Errorf("%s", a.body)
	}
	wantNoWrites(t, "refused", before)
	for sent, want := range map[string]string{"153": "153", "0": "153", `""`: "153"} {
		paid := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":10,"customer_id":`+sent+`}`).want(http.StatusCreated)
		if got := paid.at("data", "customer_id"); got != want {
			t.Errorf("%s: the payment is customer %v's", sent, got)
		}
	}
	// For a booking that was moved to another customer without its order.
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET customer_id = 12 WHERE id = 1441")
	if got := s.write(http.MethodPost, "/payments", `{"booking_id":1441,"amount":10,"customer_id":12}`).want(http.StatusCreated).at("data", "customer_id"); got != "153" {
		t.Errorf("the payment is customer %v's", got)
	}
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET customer_id = 0 WHERE id = 1403")
	if got := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":10,"customer_id":12}`).want(http.StatusCreated).at("data", "customer_id"); got != "12" {
		t.Errorf("the payment is customer %v's", got)
	}
}

// TestRefundedPaymentsKeepTheirCustomer: a refunded payment counts as a payment, however it was refunded,
// with an order or without, until it is deleted, which deletes its refunds too.
func TestRefundedPaymentsKeepTheirCustomer(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	for name, c := range map[string]struct{ order, refund string }{
		"by the plugin":                       {"%s", "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = "},
		"by the plugin, without an order":     {"NULL", "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = "},
		"with a row":                          {"%s", "INSERT INTO wp_latepoint_transaction_refunds (amount, transaction_id) SELECT 10, "},
		"with a row, without an order":        {"NULL", "INSERT INTO wp_latepoint_transaction_refunds (amount, transaction_id) SELECT 10, "},
		"with both, of an order that is gone": {"8000000", "UPDATE wp_latepoint_transactions t, wp_latepoint_transaction_refunds r SET t.status = 'refunded', r.transaction_id = t.id WHERE r.amount = 1 AND t.id = "},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: they count all refunds
			customer := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
			order := fmt.Sprint(s.write(http.MethodPost, "/orders", `{"customer_id":`+customer+`,"subtotal":10,"total":10}`).want(http.StatusCreated).at("id"))
			payment := fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":10}`).want(http.StatusCreated).at("data", "id"))
			s.database.Execute(t, "DELETE FROM wp_latepoint_transaction_refunds", "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES (8000000, 1)",
				"UPDATE wp_latepoint_transactions SET order_id = "+strings.ReplaceAll(c.order, "%s", order)+" WHERE id = "+payment, c.refund+payment)
			before := s.database.Snapshot(t)
			if a := s.write(http.MethodDelete, "/customers/"+customer, "").want(http.StatusBadRequest); a.at("code") != "customer_has_payments" {
				t.Errorf("%s", a.body)
			}
			wantNoWrites(t, "refused", before)
			s.write(http.MethodDelete, "/payments/"+payment, "").want(http.StatusOK)
			if n := s.count("latepoint_transaction_refunds", "transaction_id = "+payment); n != 0 {
				t.Errorf("%d refunds are left", n)
			}
			s.write(http.MethodDelete, "/customers/"+customer, "").want(http.StatusOK)
		})
	}
}

// paidOrder returns a server on which order 1403, which costs 135, was paid in full, and the path of its
// payment. Invoice 1270 covers the full amount.
func paidOrder(t *testing.T) (s *server, path string) {
	t.Helper()
	s = newWriter(t, fixtures.SiteA().WithFewBookings())
	moneyOf(t, s, "not_paid")
	payer := s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).want(http.StatusCreated).at("data", "id")
	s.database.Execute(t, fmt.Sprint("UPDATE wp_latepoint_orders SET customer_id = ", payer, " WHERE id = 1403"))
	created := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).want(http.StatusCreated)
	return s, fmt.Sprintf("/payments/%v", created.at("data", "id"))
}

// wantMoney checks what every place says about order 1403.
func wantMoney(t *testing.T, s *server, step, spent, status, invoice string) {
	t.Helper()
	order := s.get("/orders/1403").want(http.StatusOK)
	got := []string{
		fmt.Sprint(s.get(fmt.Sprintf("/customers/%v", order.at("customer_id"))).at("data", "stats", "total_spent")),
		fmt.Sprint(order.at("payment_status")), fmt.Sprint(s.get("/bookings/1441").at("data", "payment_status")),
		fmt.Sprint(s.get("/orders/1403/invoices/1270").at("data", "status")),
	}
	if want := []string{spent, status, status, invoice}; !slices.Equal(got, want) {
		t.Errorf("%s: spent, order, booking and invoice are %v, want %v", step, got, want)
	}
	if !slices.Contains(idsOf(s.get("/orders?payment_status="+status+"&per_page=100&sort=id").at("data")), "1403") {
		t.Errorf("%s: the filter does not find the order", step)
	}
}

// TestRefundedPaymentKeepsItsCapture: an existing payment that is refunded stays what it was, and gets a
// refund beside it.
func TestRefundedPaymentKeepsItsCapture(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, body := range map[string]string{"by its status": `{"status":"refunded"}`, "by its kind": `{"kind":"refund"}`, "with its amount": `{"status":"refunded","kind":"refund","amount":"135.00"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := paidOrder(t)
			wantMoney(t, s, "paid", "135.00", "fully_paid", "paid")
			refunded := s.write(http.MethodPut, path, body).want(http.StatusOK)
			wantFieldsOf(t, refunded, map[string]any{"amount": "string 135", "status": "string succeeded", "kind": "string capture"})
			wantMoney(t, s, "refunded", "0.00", "refunded", "open")
			before := s.database.Snapshot(t)
			s.write(http.MethodPut, path, body).want(http.StatusOK)
			s.write(http.MethodPut, path, `{"status":"succeeded"}`).want(http.StatusOK)
			wantNoWrites(t, "refunded again, and succeeded", before)

			s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).want(http.StatusCreated)
			wantMoney(t, s, "paid again", "135.00", "partially_refunded", "paid")
			s.write(http.MethodDelete, path, "").want(http.StatusOK)
			wantMoney(t, s, "the first payment was deleted with its refund", "135.00", "fully_paid", "paid")
			if n := s.count("latepoint_transaction_refunds", "1"); n != 0 {
				t.Errorf("%d refunds are left", n)
			}
		})
	}
}

// TestRefundsOfPlainTransactions: LatePoint before 5.1 has no table for refunds. There a refund is a
// transaction that names its payment, and repeating the request still refunds only once, whether or not the
// payment has an order.
func TestRefundsOfPlainTransactions(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]string{"of an order": "1403", "without an order": "NULL", "of order 0": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := paidOrder(t)
			id := strings.TrimPrefix(path, "/payments/")
			s.database.Execute(t, "DROP TABLE wp_latepoint_transaction_refunds", "UPDATE wp_latepoint_transactions SET order_id = "+order+" WHERE id = "+id)
			s = newServer(t, s.database)
			for range 2 {
				s.write(http.MethodPut, path, `{"status":"refunded","amount":40}`).want(http.StatusOK)
				if n := s.count("latepoint_transactions", "token = 'refund-of-"+id+"' AND ABS(amount) = 40 AND order_id <=> "+order); n != 1 {
					t.Fatalf("%d refunds of 40", n)
				}
			}
			s.write(http.MethodPut, path, `{"status":"refunded","amount":136}`).want(http.StatusUnprocessableEntity)
			s.write(http.MethodPut, path, `{"amount":39}`).want(http.StatusUnprocessableEntity)
			s.write(http.MethodPut, path, `{"status":"failed"}`).want(http.StatusUnprocessableEntity)
			s.write(http.MethodPut, path, `{"status":"refunded"}`).want(http.StatusOK)
			if n := s.count("latepoint_transactions", "token = 'refund-of-"+id+"' AND ABS(amount) = 95"); n != 1 {
				t.Errorf("%d refunds of the rest", n)
			}
			s.write(http.MethodDelete, path, "").want(http.StatusOK)
			if n := s.count("latepoint_transactions", "token = 'refund-of-"+id+"'"); n != 0 {
				t.Errorf("%d refunds are left", n)
			}
		})
	}
}

// TestRefundsAreBoundedByPayments: money that was not taken cannot be given back, except by force.
func TestRefundsAreBoundedByPayments(t *testing.T) {
	t.Parallel()
	s, path := paidOrder(t)
	part := fmt.Sprintf("/payments/%v", s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":35,"kind":"refund"}`).want(http.StatusCreated).at("data", "id"))
	wantMoney(t, s, "refunded in part", "100.00", "partially_refunded", "open")
	before := s.database.Snapshot(t)
	const want = `{"success":false,"error":"Refunds cannot exceed payments. Send force=true to record them all the same."}`
	for _, c := range [][3]string{
		{http.MethodPost, "/payments", `{"order_id":1403,"amount":1000,"kind":"refund"}`},
		{http.MethodPost, "/payments", `{"order_id":1403,"amount":"100.0001","status":"refunded"}`},
		{http.MethodPut, path, `{"status":"refunded","amount":1000}`},
		{http.MethodPut, path, `{"amount":34}`},
		{http.MethodPut, path, `{"status":"failed"}`},
		{http.MethodPut, path, `{"kind":"authorization"}`},
		{http.MethodPut, part, `{"amount":136}`},
	} {
		if a := s.write(c[0], c[1], c[2]); a.status != http.StatusUnprocessableEntity || string(a.body) != want {
			t.Errorf("%v: %d %s", c, a.status, a.body)
		}
	}
	if a := s.write(http.MethodPut, path, `{"amount":"1,5"}`).want(http.StatusBadRequest); a.at("error") != "Invalid amount provided" {
		t.Errorf("%s", a.body)
	}
	if a := s.write(http.MethodDelete, path, "").want(http.StatusBadRequest); a.at("error") != "Cannot delete payment with completed status. Please refund first." {
		t.Errorf("%s", a.body)
	}
	wantNoWrites(t, "too much", before)

	s.write(http.MethodPut, path, `{"status":"refunded"}`).want(http.StatusOK)
	wantMoney(t, s, "the rest", "0.00", "refunded", "open")
	s.write(http.MethodDelete, path, "").want(http.StatusOK)
	s.get(part).want(http.StatusNotFound)
	wantMoney(t, s, "all was deleted", "0.00", "not_paid", "open")

	s.write(http.MethodPost, "/payments?force=true", `{"order_id":1403,"amount":5,"kind":"refund"}`).want(http.StatusCreated)
	s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":5,"kind":"refund","force":true}`).want(http.StatusCreated)
	wantMoney(t, s, "by force", "0.00", "refunded", "open")
}

// TestPartialRefundsOfAPayment: the amount sent with the status is that of the refund, and sending it twice
// refunds it once.
func TestPartialRefundsOfAPayment(t *testing.T) {
	t.Parallel()
	s, path := paidOrder(t)
	for _, step := range []struct{ body, spent, status string }{
		{`{"status":"refunded","amount":35,"notes":"x"}`, "100.00", "partially_refunded"},
		{`{"status":"refunded","amount":35}`, "100.00", "partially_refunded"},
		{`{"status":"refunded","amount":40}`, "95.00", "partially_refunded"},
		{`{"status":"refunded"}`, "0.00", "refunded"},
	} {
		changed := s.write(http.MethodPut, path, step.body).want(http.StatusOK)
		wantFieldsOf(t, changed, map[string]any{"amount": "string 135", "notes": "string x"})
		wantMoney(t, s, step.body, step.spent, step.status, "open")
	}
}

// TestInvoiceFollowsItsPayment: a settled invoice opens again once its payment no longer covers it.
func TestInvoiceFollowsItsPayment(t *testing.T) {
	t.Parallel()
	s, path := paidOrder(t)
	s.write(http.MethodPut, path, `{"amount":10}`).want(http.StatusOK)
	wantMoney(t, s, "less", "10.00", "partially_paid", "open")
	s.write(http.MethodPut, path, `{"amount":135}`).want(http.StatusOK)
	wantMoney(t, s, "all again", "135.00", "fully_paid", "paid")
	s.write(http.MethodPut, path, `{"amount":150}`).want(http.StatusOK)
	wantMoney(t, s, "more", "150.00", "fully_paid", "paid")
	s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":20,"status":"refunded"}`).want(http.StatusCreated)
	wantMoney(t, s, "a refund", "130.00", "partially_refunded", "open")
}

// TestPaymentThatThePluginRefunded: the plugin's ability expresses a full refund by the status alone.
func TestPaymentThatThePluginRefunded(t *testing.T) {
	t.Parallel()
	s, path := paidOrder(t)
	id := strings.TrimPrefix(path, "/payments/")
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = "+id, "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES ("+id+", 35)")
	wantMoney(t, s, "refunded", "0.00", "refunded", "paid")
	s.write(http.MethodPut, path, `{"notes":"x"}`).want(http.StatusOK)
	wantMoney(t, s, "with notes", "0.00", "refunded", "open")
	before := s.database.Snapshot(t)
	s.write(http.MethodPut, path, `{"status":"refunded"}`).want(http.StatusOK)
	s.write(http.MethodPut, path, `{"kind":"refund"}`).want(http.StatusOK)
	s.write(http.MethodPut, path, `{"kind":"refund","amount":35}`).want(http.StatusOK)
	wantNoWrites(t, "refunded again", before)
	// Nothing else brings the money back in several steps.
	for _, body := range []string{`{"status":"failed"}`, `{"status":"processing"}`, `{"kind":"authorization"}`, `{"kind":"authorization","status":"succeeded"}`, `{"kind":"refund","amount":136}`} {
		if a := s.write(http.MethodPut, path, body); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	wantNoWrites(t, "refused", before)
	s.write(http.MethodPut, path, `{"kind":"sale"}`).want(http.StatusOK)
	wantMoney(t, s, "another kind", "0.00", "refunded", "open")
	wantFieldsOf(t, s.write(http.MethodPut, path, `{"status":"succeeded"}`).want(http.StatusOK), map[string]any{"status": "string succeeded"})
	wantMoney(t, s, "succeeded", "0.00", "refunded", "open")
	if n := s.count("latepoint_transaction_refunds", "transaction_id = "+id+" AND amount IN (35, 100)"); n != 2 {
		t.Errorf("%d refunds", n)
	}
}

// unnamedPayments returns a server on which two payments that name no invoice paid order 1403, and invoice
// 1270 was set to paid, with the paths of both payments.
func unnamedPayments(t *testing.T) (s *server, first, second string) {
	t.Helper()
	s, whole := paidOrder(t)
	s.database.Execute(t, "DELETE FROM wp_latepoint_transactions WHERE id = "+strings.TrimPrefix(whole, "/payments/"), "UPDATE wp_latepoint_order_invoices SET status = 'open' WHERE id = 1270")
	pay := func(amount string) string {
		return fmt.Sprintf("/payments/%v", s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":`+amount+`}`).want(http.StatusCreated).at("data", "id"))
	}
	first, second = pay("60"), pay("75")
	s.write(http.MethodPut, "/orders/1403/invoices/1270", `{"status":"paid"}`).want(http.StatusOK)
	return s, first, second
}

// TestInvoiceThatWasSetToPaid: it stays paid as long as payments that name no invoice cover it, however
// some were refunded.
func TestInvoiceThatWasSetToPaid(t *testing.T) {
	t.Parallel()
	s, first, second := unnamedPayments(t)
	s.write(http.MethodPut, first, `{"notes":"x"}`).want(http.StatusOK)
	wantMoney(t, s, "notes", "135.00", "fully_paid", "paid")
	s.write(http.MethodPut, second, `{"status":"refunded"}`).want(http.StatusOK)
	wantMoney(t, s, "refunded", "60.00", "partially_refunded", "open")
}

// TestPaidInvoiceWithoutPayments: an invoice that is paid although payments no longer cover it can be put back. Nothing
// makes it claim more.
func TestPaidInvoiceWithoutPayments(t *testing.T) {
	t.Parallel()
	s, first, second := unnamedPayments(t)
	const invoice = "/orders/1403/invoices/1270"
	s.write(http.MethodPut, invoice, `{"status":"paid"}`).want(http.StatusOK)
	for _, payment := range []string{first, second} {
		s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = "+strings.TrimPrefix(payment, "/payments/"))
	}
	before := s.database.Snapshot(t)
	for _, body := range []string{`{}`, `{"charge_amount":135}`, `{"status":"paid"}`, `{"status":"paid","charge_amount":"135.0000"}`} {
		s.write(http.MethodPut, invoice, body).want(http.StatusOK)
	}
	unprocessable("charge_amount").check(t, "more", s.write(http.MethodPut, invoice, `{"status":"paid","charge_amount":136}`))
	wantNoWrites(t, "put back", before)
	s.write(http.MethodPut, invoice, `{"status":"open"}`).want(http.StatusOK)
}

// TestInvoiceAfterWritesOfOthers: our next write notices what a gateway or wp-admin took away from an
// invoice.
func TestInvoiceAfterWritesOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, spent, status string }{
		"refunded by the gateway": {"INSERT INTO wp_latepoint_transaction_refunds (amount, transaction_id) SELECT 10, ", "125.00", "partially_refunded"},
		"refunded by the plugin":  {"UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = ", "0.00", "refunded"},
		"failed in wp-admin":      {"UPDATE wp_latepoint_transactions SET status = 'failed' WHERE id = ", "0.00", "not_paid"},
		"lower in wp-admin":       {"UPDATE wp_latepoint_transactions SET amount = 35 WHERE id = ", "35.00", "partially_paid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := paidOrder(t)
			id := strings.TrimPrefix(path, "/payments/")
			s.database.Execute(t, c.change+id)
			s.write(http.MethodPut, path, `{"notes":"x"}`).want(http.StatusOK)
			wantMoney(t, s, name, c.spent, c.status, "open")
		})
	}
	// A new payment settles it in the write that sees it.
	s, path := paidOrder(t)
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = "+strings.TrimPrefix(path, "/payments/"))
	again := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).want(http.StatusCreated)
	if got := again.at("data", "invoice_id"); got != "1270" {
		t.Errorf("the new payment pays invoice %v", got)
	}
	wantMoney(t, s, "paid again", "135.00", "partially_refunded", "paid")
}

// TestMoneyThatOthersStored: whatever statuses and kinds the plugin stored, no more is given back than was
// taken, and a refund never counts against another payment.
func TestMoneyThatOthersStored(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	customer := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET customer_id = "+customer+" WHERE id = 1403", "DELETE FROM wp_latepoint_order_invoices WHERE order_id = 1403")
	for _, c := range []struct {
		name          string
		money         []string
		spent, status string
	}{
		{"a sale that the plugin refunded", []string{transaction(90001, "refunded", "'sale'", "100"), refundRow(90001, "30")}, "0.00", "refunded"},
		{"a deposit that the plugin refunded, and a payment", []string{transaction(90001, "refunded", "'deposit'", "100"), refundRow(90001, "30"), transaction(90002, "succeeded", "'capture'", "40")}, "40.00", "partially_refunded"},
		{"a refunded payment that failed", []string{transaction(90001, "failed", "'capture'", "100"), refundRow(90001, "100"), transaction(90002, "succeeded", "'capture'", "40")}, "40.00", "partially_paid"},
		{"a refunded payment under way", []string{transaction(90001, "processing", "'capture'", "100"), refundRow(90001, "100")}, "0.00", "processing"},
		{"a refunded payment that became an authorisation", []string{transaction(90001, "succeeded", "'authorization'", "100"), refundRow(90001, "100"), transaction(90002, "succeeded", "'capture'", "40")}, "40.00", "partially_paid"},
		{"a refund larger than its payment", []string{transaction(90001, "succeeded", "'capture'", "100"), refundRow(90001, "150"), transaction(90002, "succeeded", "'sale'", "40")}, "40.00", "partially_refunded"},
		{"a refund that became negative", []string{transaction(90001, "succeeded", "'capture'", "100"), refundRow(90001, "-50")}, "100.00", "partially_paid"},
		{"refunds larger than all payments", []string{transaction(90001, "succeeded", "'capture'", "100"), transaction(90002, "succeeded", "'refund'", "-150")}, "0.00", "refunded"},
		{"a negative payment", []string{transaction(90001, "succeeded", "'capture'", "100"), transaction(90002, "succeeded", "'capture'", "-30")}, "70.00", "partially_refunded"},
		{"a negative payment that was refunded", []string{transaction(90001, "succeeded", "'capture'", "100"), transaction(90002, "refunded", "'capture'", "-30"), refundRow(90002, "5")}, "100.00", "partially_paid"},
		{"no money at all", []string{transaction(90001, "succeeded", "'capture'", "NULL"), refundRow(90001, "5"), transaction(90002, "succeeded", "'capture'", "10"), refundRow(90002, "NULL")}, "10.00", "partially_paid"},
	} {
		t.Run(c.name, func(t *testing.T) { // not parallel: they share the order
			moneyOf(t, s, "not_paid", c.money...)
			if a := s.write(http.MethodPut, "/payments/90001", `{"notes":"`+c.name+`"}`); a.status != http.StatusOK {
				t.Errorf("%d %s", a.status, a.body)
			}
			if got := s.get("/customers/"+customer).at("data", "stats", "total_spent"); got != c.spent {
				t.Errorf("spent %v, want %s", got, c.spent)
			}
			for where, got := range map[string]any{
				"order": s.get("/orders/1403").at("payment_status"), "booking": s.get("/bookings/1441").at("data", "payment_status"),
			} {
				if got != c.status {
					t.Errorf("%s: %v, want %s", where, got, c.status)
				}
			}
			if !slices.Contains(idsOf(s.get("/orders?customer_id="+customer+"&payment_status="+c.status).at("data")), "1403") {
				t.Error("the filter does not find the order")
			}
		})
	}
}

// TestPaymentsKeepTheirDirection: a payment that took money never becomes a refund, nor vice versa, and no
// part of a refused change is applied or confirmed.
func TestPaymentsKeepTheirDirection(t *testing.T) {
	t.Parallel()
	s, path := paidOrder(t)
	pay := func(body string) string {
		return fmt.Sprintf("/payments/%v", s.write(http.MethodPost, "/payments", `{"order_id":1403,`+body+`}`).want(http.StatusCreated).at("data", "id"))
	}
	refund, failed, authorization := pay(`"amount":40,"kind":"refund"`), pay(`"amount":9,"status":"failed"`), pay(`"amount":9,"kind":"authorization"`)
	whole := pay(`"amount":7,"kind":"sale"`)
	s.write(http.MethodPut, whole, `{"status":"refunded"}`).want(http.StatusOK)
	before := s.database.Snapshot(t)
	for _, c := range []struct{ path, body, field, why string }{
		{refund, `{"kind":"capture"}`, "kind", "a refund does not become a payment"},
		{refund, `{"kind":"sale","status":"failed","force":true}`, "kind", "a refund does not become a payment"},
		{path, `{"kind":"refund","status":"processing"}`, "kind", "only a successful payment can be refunded"},
		{failed, `{"kind":"refund"}`, "kind", "only a successful payment can be refunded"},
		{failed, `{"status":"refunded"}`, "status", "only a successful payment can be refunded"},
		{authorization, `{"kind":"refund"}`, "kind", "only a successful payment can be refunded"},
		{authorization, `{"status":"refunded"}`, "status", "only a payment that takes money can be refunded"},
		{path, `{"status":"refunded","kind":"authorization"}`, "kind", "only a payment that takes money can be refunded"},
		{"", `{"order_id":1403,"amount":1,"status":"refunded","kind":"authorization"}`, "kind", "only a payment that takes money can be refunded"},
	} {
		a := s.write(http.MethodPut, c.path, c.body)
		if c.path == "" {
			a = s.write(http.MethodPost, "/payments", c.body)
		}
		words := map[string]string{"kind": "kind", "status": "payment status"}
		if want := `{"success":false,"error":"Invalid ` + words[c.field] + ` provided: ` + c.why + `"}`; a.status != http.StatusUnprocessableEntity || string(a.body) != want {
			t.Errorf("%s %s: %d %s, want %s", c.path, c.body, a.status, a.body, want)
		}
	}
	wantNoWrites(t, "refused", before)

	// Another kind that takes money is not refused.
	wantFieldsOf(t, s.write(http.MethodPut, whole, `{"status":"refunded","kind":"deposit"}`).want(http.StatusOK), map[string]any{"kind": "string deposit", "status": "string succeeded"})
	wantFieldsOf(t, s.write(http.MethodPut, authorization, `{"kind":"capture"}`).want(http.StatusOK), map[string]any{"kind": "string capture"})
	s.write(http.MethodPut, refund, `{"kind":"refund","status":"refunded","notes":"x"}`).want(http.StatusOK)
	wantMoney(t, s, "in the end", "104.00", "partially_refunded", "open")
}

// TestPriceOfADiscountedOrder: the total of an order follows from its items, discounts and tax, whatever
// wp-admin stored meanwhile, and never falls below zero.
func TestPriceOfADiscountedOrder(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	sums := func(step, item, subtotal, total, status string) {
		t.Helper()
		where := "id = 1403 AND subtotal = " + subtotal + " AND total = " + total + " AND payment_status = '" + status + "'"
		if s.count("latepoint_orders", where) != 1 || s.count("latepoint_order_items", "order_id = 1403 AND total = "+item+" AND subtotal = "+item) != 1 {
			t.Errorf("%s: order %s, item %v", step, s.get("/orders/1403").body, s.get("/bookings/1441").at("data", "price"))
		}
	}
	put := func(price string) answer { return s.write(http.MethodPut, "/bookings/1441", `{"price":`+price+`}`) }
	for _, sign := range []string{"", "-"} {
		s.database.Execute(t, "UPDATE wp_latepoint_orders SET subtotal = 135, coupon_discount = "+sign+"30, tax_total = 10, total = 115, payment_status = 'not_paid' WHERE id = 1403",
			"UPDATE wp_latepoint_order_items SET subtotal = 135, total = 135 WHERE order_id = 1403")
		put("60").want(http.StatusOK)
		sums("less", "60", "60", "40", "not_paid")
	}
	// wp-admin's form sets the item to the list price and leaves the order's total.
	s.database.Execute(t, "UPDATE wp_latepoint_order_items SET subtotal = 49.50, total = 49.50 WHERE order_id = 1403")
	put("60").want(http.StatusOK)
	sums("after wp-admin", "60", "60", "40", "not_paid")
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET total = 75 WHERE id = 1403")
	put("60").want(http.StatusOK)
	sums("a total by hand", "60", "60", "75", "not_paid")
	before := s.database.Snapshot(t)
	put("60.00").want(http.StatusOK)
	wantNoWrites(t, "the same price", before)
	put("61").want(http.StatusOK)
	sums("after a total by hand", "61", "61", "41", "not_paid")

	put("20").want(http.StatusOK)
	sums("free", "20", "20", "0", "not_paid")
	before = s.database.Snapshot(t)
	for _, price := range []string{`"19.9999"`, `"0"`} {
		unprocessable("price").check(t, price, put(price))
	}
	wantNoWrites(t, "below nothing", before)
}

// TestPriceKeepsTheTaxOfTheForm: wp-admin's form stores the tax inside the coupon's discount.
func TestPriceKeepsTheTaxOfTheForm(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	for name, c := range map[string]struct{ coupon, discount, tax, total, want string }{
		"coupon 10, tax 17.10, from the checkout":    {"7.10", "", "17.10", "142.10", "67.10"},
		"coupon 10, tax 17.10, made by staff":        {"7.10", "", "0", "142.10", "67.10"},
		"tax 19 alone, made by staff":                {"19", "", "0", "154", "79"},
		"coupon 10, tax 20, in either way":           {"10", "", "20", "145", "70"},
		"coupon 10, tax 17.10, and another discount": {"7.10", "5", "0", "142.10", "62.10"},
		"tax 10, and the subtotal by hand":           {"0", "", "10", "135", "70"},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: they share the order
			s.database.Execute(t, "DELETE FROM wp_latepoint_order_meta WHERE object_id = 1403 AND meta_key = 'discount_total'",
				"UPDATE wp_latepoint_orders SET subtotal = 135, coupon_discount = "+c.coupon+", tax_total = "+c.tax+", total = "+c.total+" WHERE id = 1403",
				"UPDATE wp_latepoint_order_items SET subtotal = 135, total = 135 WHERE order_id = 1403")
			if c.discount != "" {
				s.database.Execute(t, "INSERT INTO wp_latepoint_order_meta (object_id, meta_key, meta_value) VALUES (1403, 'discount_total', '"+c.discount+"')")
			}
			for range 2 { // sent twice, it changes nothing the second time
				s.write(http.MethodPut, "/bookings/1441", `{"price":60}`).want(http.StatusOK)
				if s.count("latepoint_orders", "id = 1403 AND subtotal = 60 AND total = "+c.want) != 1 {
					t.Errorf("want %s: %s", c.want, s.get("/orders/1403").body)
				}
			}
		})
	}
}

// TestLargestPrices: sums are exact to the last digit, and one that does not fit its column
// is the client's mistake.
func TestLargestPrices(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	const most = "9999999999999999.9999"
	put := func(price string) answer { return s.write(http.MethodPut, "/bookings/1441", `{"price":"`+price+`"}`) }
	for _, price := range []string{"9999999999997.1234", "9007199254740993.0001", most, "0.0001"} {
		put(price).want(http.StatusOK)
		if s.count("latepoint_orders", "id = 1403 AND subtotal = "+price+" AND total = "+price) != 1 {
			t.Errorf("%s: %s", price, s.get("/orders/1403").body)
		}
	}
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET tax_total = 0.0001 WHERE id = 1403")
	before := s.database.Snapshot(t)
	unprocessable("price").check(t, "with tax", put(most))
	wantNoWrites(t, "too large", before)
}

// TestOrdersTakeValidCoupons: an order may have a coupon if the add-on would accept it, as often as it may
// be used.
func TestOrdersTakeValidCoupons(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, "DELETE FROM wp_latepoint_coupons", `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, active_to, rules) VALUES
		('GOOD', '', 'percent', 5, 'active', NULL, NULL), ('OFF', '', 'percent', 5, 'disabled', NULL, NULL), ('LAST', '', 'percent', 5, 'active', '2026-11-21', NULL),
		('ONCE', '', 'percent', 5, 'active', NULL, '{"limit_total":"1"}'), ('REGULARS', '', 'percent', 5, 'active', NULL, '{"orders_more":"1000"}'),
		('SERVICE', '', 'percent', 5, 'active', NULL, '{"service_ids":"1,3"}')`)
	body := func(code string, more string) string {
		return `{"customer_id":9,"subtotal":50,"total":50,"coupon_code":"` + code + `"` + more + `}`
	}
	for _, code := range []string{"OFF", "LAST", "REGULARS", "SERVICE", "UNKNOWN"} {
		before := s.database.Snapshot(t)
		unprocessable("coupon_code").check(t, code, s.write(http.MethodPost, "/orders", body(code, "")))
		wantNoWrites(t, code, before)
		s.write(http.MethodPost, "/orders", body(code, `,"force":true`)).want(http.StatusCreated)
	}
	for _, code := range []string{"GOOD", "good", "", "ONCE"} {
		if got := fmt.Sprint(s.write(http.MethodPost, "/orders", body(code, "")).want(http.StatusCreated).at("coupon_code")); got != code {
			t.Errorf("stored %s, want %s", got, code)
		}
	}
	unprocessable("coupon_code").check(t, "once", s.write(http.MethodPost, "/orders", strings.Replace(body("once", ""), ":9", ":10", 1)))
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET status = 'cancelled' WHERE coupon_code = 'ONCE'")
	order := fmt.Sprint("/orders/", s.write(http.MethodPost, "/orders", body("once", "")).want(http.StatusCreated).at("id"))

	// The same applies to another coupon of an order, but not to the one that it has.
	unprocessable("coupon_code").check(t, "off", s.write(http.MethodPut, order, `{"coupon_code":"OFF"}`))
	s.database.Execute(t, "UPDATE wp_latepoint_coupons SET status = 'disabled' WHERE code = 'ONCE'")
	s.write(http.MethodPut, order, `{"coupon_code":"ONCE","notes":"x"}`).want(http.StatusOK)
	s.write(http.MethodPut, order, `{"coupon_code":"LAST"}`).want(http.StatusOK) // its period applies only to new orders
	s.write(http.MethodPut, order, `{"coupon_code":"OFF","force":true}`).want(http.StatusOK)
	s.write(http.MethodPut, order, `{"coupon_code":""}`).want(http.StatusOK)
	s.database.Execute(t, `UPDATE wp_latepoint_coupons SET rules = CONCAT('{"service_ids":"', (SELECT service_id FROM wp_latepoint_bookings WHERE id = 1441), '","agent_ids":""}') WHERE code = 'SERVICE'`)
	s.write(http.MethodPut, "/orders/1403", `{"coupon_code":"SERVICE"}`).want(http.StatusOK)
	// An order keeps a code that the site does not know, with coupons or without the add-on.
	for _, code := range []string{"Summer 27", "winter"} {
		if got := s.write(http.MethodPut, order, `{"coupon_code":"`+code+`"}`).want(http.StatusOK).at("coupon_code"); got != code {
			t.Errorf("stored %v, want %s", got, code)
		}
		s.database.Execute(t, "DROP TABLE IF EXISTS wp_latepoint_coupons")
	}
}

// TestCouponIsUsedOnce: concurrent orders count each other's use.
func TestCouponIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, rules) VALUES ('ONCE', '', 'percent', 5, 'active', '{"limit_total":"1"}')`)
	var all sync.WaitGroup
	var made atomic.Int64
	for i := range 6 {
		all.Go(func() {
			if s.write(http.MethodPost, "/orders", fmt.Sprintf(`{"customer_id":%d,"subtotal":1,"total":1,"coupon_code":"Once"}`, 9+i)).status == http.StatusCreated {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if n := s.count("latepoint_orders", "coupon_code = 'ONCE'"); n != 1 || made.Load() != 1 {
		t.Errorf("%d orders have the coupon, %d were created", n, made.Load())
	}
}

// TestCouponIsUsedAgainOnce: of several orders that are reopened together, one gets the last use.
func TestCouponIsUsedAgainOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, rules) VALUES ('ONCE', '', 'percent', 5, 'active', '{"limit_total":"1"}')`)
	var orders []string
	for i := range 6 {
		orders = append(orders, fmt.Sprint("/orders/", s.write(http.MethodPost, "/orders", fmt.Sprintf(`{"customer_id":%d,"subtotal":1,"total":1,"coupon_code":"ONCE","status":"cancelled"}`, 9+i)).want(http.StatusCreated).at("id")))
	}
	var all sync.WaitGroup
	var opened atomic.Int64
	for _, order := range orders {
		all.Go(func() {
			if s.write(http.MethodPut, order, `{"status":"open"}`).status == http.StatusOK {
				opened.Add(1)
			}
		})
	}
	all.Wait()
	if n := s.count("latepoint_orders", "coupon_code = 'ONCE' AND status = 'open'"); n != 1 || opened.Load() != 1 {
		t.Errorf("%d orders have the coupon, %d were opened", n, opened.Load())
	}
}

// TestCouponsAreCountedAgain: an order that is no longer cancelled, or moves to another customer, uses its
// coupon again, like a new order.
func TestCouponsAreCountedAgain(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, "DELETE FROM wp_latepoint_coupons", `INSERT INTO wp_latepoint_coupons (code, name, discount_type, discount_value, status, rules) VALUES
		('ONCE', '', 'percent', 5, 'active', '{"limit_total":"1"}'), ('EACH', '', 'percent', 5, 'active', '{"limit_per_customer":"1"}'),
		('NINE', '', 'percent', 5, 'active', '{"customer_ids":"8,9"}'), ('NEW', '', 'percent', 5, 'active', '{"orders_less":"1"}')`)
	newcomer := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
	order := func(customer, code string) string {
		return fmt.Sprint("/orders/", s.write(http.MethodPost, "/orders", `{"customer_id":`+customer+`,"subtotal":50,"total":50,"coupon_code":"`+code+`"}`).want(http.StatusCreated).at("id"))
	}
	put := func(path, body string) answer { return s.write(http.MethodPut, path, body) }
	refused := func(path, body string) {
		t.Helper()
		before := s.database.Snapshot(t)
		unprocessable("coupon_code").check(t, body, put(path, body))
		wantNoWrites(t, body, before)
	}
	first := order("9", "ONCE")
	put(first, `{"status":"cancelled"}`).want(http.StatusOK)
	second := order("10", "once")
	refused(first, `{"status":"open"}`)
	refused(first, `{"status":"completed","coupon_code":"Once"}`)
	put(first, `{"status":"cancelled","notes":"x"}`).want(http.StatusOK)
	put(second, `{"status":"completed"}`).want(http.StatusOK)
	put(second, `{"customer_id":12}`).want(http.StatusOK) // is not another use
	put(first, `{"status":"open","coupon_code":""}`).want(http.StatusOK)
	put(first, `{"coupon_code":"ONCE","force":true}`).want(http.StatusOK)
	put(first, `{"status":"cancelled"}`).want(http.StatusOK)
	put(first+"?force=true", `{"status":"open"}`).want(http.StatusOK)

	theirs, others := order("9", "EACH"), order("10", "EACH")
	refused(others, `{"customer_id":9}`)
	put(others, `{"customer_id":9,"status":"cancelled"}`).want(http.StatusOK)
	refused(others, `{"status":"open"}`)
	put(theirs, `{"customer_id":12}`).want(http.StatusOK)
	put(others, `{"status":"open"}`).want(http.StatusOK)
	put(theirs, `{"customer_id":9,"force":true}`).want(http.StatusOK)

	listed := order("9", "NINE")
	refused(listed, `{"customer_id":12}`)
	put(listed, `{"customer_id":12,"status":"cancelled"}`).want(http.StatusOK)
	refused(listed, `{"status":"open"}`)
	s.database.Execute(t, "UPDATE wp_latepoint_coupons SET status = 'disabled' WHERE code = 'NINE'")
	put(listed, `{"customer_id":8}`).want(http.StatusOK)
	put(listed, `{"status":"open"}`).want(http.StatusOK) // whether the coupon is still valid is not checked
	// An order also moves to another customer with its only booking.
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET coupon_code = 'EACH', customer_id = 153 WHERE id = 1403", "UPDATE wp_latepoint_bookings SET customer_id = 153 WHERE id = 1441")
	before := s.database.Snapshot(t)
	unprocessable("customer_id").check(t, "booking", put("/bookings/1441", `{"customer_id":9}`))
	wantNoWrites(t, "booking", before)
	put("/bookings/1441", `{"customer_id":`+newcomer+`}`).want(http.StatusOK)
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET status = 'cancelled' WHERE id = 1403")
	put("/bookings/1441", `{"customer_id":9}`).want(http.StatusOK)

	newcomer = fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"C","last_name":"D"}`).want(http.StatusCreated).at("data", "id"))
	recent := order(newcomer, "NEW")
	refused(recent, `{"customer_id":9}`)
	s.database.Execute(t, "DELETE FROM wp_latepoint_coupons")
	put(recent, `{"customer_id":9}`).want(http.StatusOK)
}
