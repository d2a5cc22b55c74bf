package handlers_test

import (
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestFullNameOfABookingsCustomer: single reads and writes of bookings show it, lists do not.
func TestFullNameOfABookingsCustomer(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET first_name = 'Zoë', last_name = NULL WHERE id = 9")
	s.write(http.MethodPut, "/bookings/10", `{"customer_id":9}`).want(http.StatusOK)
	if got := s.get("/bookings/10").want(http.StatusOK).at("data", "customer", "full_name"); got != "Zoë" {
		t.Errorf("without a last name: %v", got)
	}
	a := s.write(http.MethodPut, "/bookings/10", `{"customer":{"last_name":"Braun"}}`).want(http.StatusOK)
	if got := a.at("data", "customer", "full_name"); got != "Zoë Braun" {
		t.Errorf("%v", got)
	}
	for _, record := range s.get("/bookings?customer_id=9").want(http.StatusOK).records() {
		if _, shown := record["customer"].(map[string]any)["full_name"]; shown {
			t.Errorf("lists have %v", record["customer"])
		}
	}
}
