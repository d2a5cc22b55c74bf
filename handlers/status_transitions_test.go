package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// TestStatusTransitionsWithOtherFields tries every pair of statuses together
// with other changes: both are written, or neither.
func TestStatusTransitionsWithOtherFields(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	moves := map[string][]string{ // the contract's table, plus no change
		"pending":   {"pending", "approved", "cancelled"},
		"approved":  {"approved", "completed", "cancelled", "no_show"},
		"cancelled": {"cancelled", "pending", "approved"},
		"completed": {"completed", "cancelled"},
		"no_show":   {"no_show", "approved", "cancelled"},
	}
	s := newWriter(t, fixtures.SiteA().WithFewBookings(), func(o *handlers.Options) { o.RateLimit.Enabled = false })
	original := s.database.Snapshot(t)
	for _, from := range slices.Sorted(maps.Keys(moves)) {
		for _, to := range slices.Sorted(maps.Keys(moves)) {
			where := from + " to " + to
			s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+from+"' WHERE id = 7")
			before := original.Again(t)
			body := func(email string) string {
				return fmt.Sprintf(`{"status":%q,"start_date":"2027-02-05","start_time":"10:00","service_id":4,"agent_id":5,"location_id":1,
					"price":"77.5","notes":"moved","customer":{"phone":"+49 30 77","email":%q}}`, to, email)
			}
			allowed := slices.Contains(moves[from], to)

			// If something else is invalid too, everything is reported.
			wrong := []string{"customer.email"}
			if !allowed {
				wrong = append(wrong, "status")
			}
			unprocessable(wrong...).check(t, where+", bad e-mail", s.write(http.MethodPut, "/bookings/7", body("nobody")))
			wantNoWrites(t, where+", bad e-mail", before)

			a := s.write(http.MethodPut, "/bookings/7", body("moved@example.test"))
			if !allowed {
				unprocessable("status").check(t, where, a)
				wantNoWrites(t, where, before)
				continue
			}
			a.want(http.StatusOK)
			got := []any{}
			for _, path := range [][]any{{"status"}, {"start_date"}, {"start_time"}, {"service", 0, "id"}, {"agent", "id"}, {"price"}, {"notes"}, {"customer", "phone"}, {"customer", "email"}} {
				got = append(got, a.at(append([]any{"data"}, path...)...))
			}
			want := []any{to, "2027-02-05", "10:00", "4", "5", "77.5000", "moved", "+493077", "moved@example.test"}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", where, got, want)
			}
			original.Restore(t)
		}
	}
}
