package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestDefaultStatus: a booking that is sent without a status is approved; if the owner wants the site's, it has
// that of its service, else that of the site.
func TestDefaultStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ofSite         bool
		service, site  string
		sent, expected string
	}{
		"the API's":              {false, "pending", "pending", "", "approved"},
		"the service's":          {true, "pending", "cancelled", "", "pending"},
		"the site's":             {true, "", "pending", "", "pending"},
		"no known one":           {true, "away", "gone", "", "approved"},
		"neither":                {true, "", "", "", "approved"},
		"the one that was sent":  {true, "pending", "pending", `"approved"`, "approved"},
		"one of the site's own":  {true, "in_review", "approved", "", "in_review"},
		"the site's, not listed": {true, "unknown", "pending", "", "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithFewBookings())
			s.platform.Config.DefaultStatusOfSite = c.ofSite
			s.database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_services SET override_default_booking_status = '%s' WHERE id = 4", c.service),
				"DELETE FROM wp_latepoint_settings WHERE name IN ('default_booking_status', 'additional_booking_statuses')",
				fmt.Sprintf("INSERT INTO wp_latepoint_settings (name, value) VALUES ('default_booking_status', '%s'), ('additional_booking_statuses', 'In Review')", c.site))
			booked := s.write(http.MethodPost, "/bookings", friday("status", c.sent)).want(http.StatusCreated)
			wantEqual(t, c.expected, booked.at("data", "status"), "status")
		})
	}
}
