package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"bookside/fixtures"
)

// TestPaymentsFollowTheirOrder: a payment belongs to the customer of its order, and goes to
// another one with it. Merging two customers, which moves what the duplicate has and then
// deletes it, loses no payment.
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
		t.Run(name, func(t *testing.T) { // one after the other: they share the slot
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

// TestDeletedCustomerLeavesOrdersOfOthers: wp-admin moves an order without its payments.
// Those that succeeded keep their customer from being deleted, and no other is deleted.
func TestDeletedCustomerLeavesOrdersOfOthers(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	left := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"X","last_name":"B"}`).want(http.StatusCreated).at("data", "id"))
	pay := func(status string) string {
		return fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":10,"status":"`+status+`","customer_id":`+left+`}`).want(http.StatusCreated).at("data", "id"))
	}
	succeeded, failed, lost := pay("succeeded"), pay("failed"), pay("failed")
	arrange(t, s.database, "UPDATE wp_latepoint_transactions SET order_id = 8000000 WHERE id = "+lost)
	if a := s.write(http.MethodDelete, "/customers/"+left, "").want(http.StatusBadRequest); a.at("code") != "customer_has_payments" {
		t.Errorf("%s", a.body)
	}
	arrange(t, s.database, "UPDATE wp_latepoint_transactions SET status = 'processing' WHERE id = "+succeeded)
	s.write(http.MethodDelete, "/customers/"+left, "").want(http.StatusOK)
	for id, want := range map[string]int{succeeded: http.StatusOK, failed: http.StatusOK, lost: http.StatusNotFound} {
		s.get("/payments/" + id).want(want)
	}
}
