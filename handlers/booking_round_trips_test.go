package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestRoundTripsOfNewBooking: a booking waits for the database, which may be on another machine, as few
// times as possible.
func TestRoundTripsOfNewBooking(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		arrange, customer string
		most              int
	}{
		"a new customer":          {"", `"customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com", "phone": "+4930123456"}`, 14},
		"a customer who is found": {"", `"customer": {"first_name": "Bob", "last_name": "Byron", "email": "bob@example.com", "phone": "+4930123456"}`, 14},
		"a customer by id":        {"", `"customer_id": 1`, 14},
		"without invoices":        {"INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_invoices', 'off')", `"customer_id": 1`, 14},
		"with a calendar":         {activate(pluginFile, googleFile), `"customer_id": 1`, 15},
		"with assets":             {"", `"customer_id": 1`, 18}, // one for Pro Features, three for assets
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			site := fixtures.Small(now)
			if title == "with assets" {
				site = site.WithAssets()
			}
			s := newWriter(t, site)
			s.database.AddCalendars(t)
			if title == "with assets" {
				s.database.InsertAsset(t, 2, []int{1})
			}
			if c.arrange != "" {
				s.database.Execute(t, c.arrange)
			}
			book := func(day int) {
				body := fmt.Sprintf(`{"service_id": 1, "agent_id": 1, "location_id": 1, "start_date": "2026-11-%d", "start_time": "10:00", %s}`, day, c.customer)
				s.write(http.MethodPost, "/bookings", body).want(http.StatusCreated)
			}
			book(23) // adds rows to lock
			if strings.Contains(c.customer, "ada@") {
				s.database.Execute(t, "UPDATE wp_latepoint_customers SET email = CONCAT('not-', email) WHERE email = 'ada@example.com'")
			}
			book(24)
			if n := s.log.last(t).Queries; n > c.most {
				t.Errorf("%d round trips, at most %d", n, c.most)
			}
		})
	}
}
