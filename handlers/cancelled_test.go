package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestCancelledWritesAreCompleteOrAbsent cancels a request at each of its
// statements: either everything was written, or nothing.
func TestCancelledWritesAreCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	created := friday("customer_id", "", "customer", newCustomer)
	for name, c := range map[string]struct{ method, path, body, once string }{
		"create":                          {http.MethodPost, "/bookings", created, ""},
		"create under an Idempotency-Key": {http.MethodPost, "/bookings", created, "once"},
		"move": {http.MethodPut, "/bookings/7", `{"start_date":"2027-02-05","start_time":"10:00","agent_id":5,"service_id":4,"location_id":1,
			"price":12,"notes":"moved","customer":{"phone":"+49 30 1000"}}`, ""},
		"delete": {http.MethodDelete, "/bookings/7?force=true", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fixtures.RequireServer(t)
			left := -1 // statements until the client disconnects
			goes := func() {}
			s := tappedServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), func(statement) error {
				if left--; left == -1 {
					goes()
				}
				return nil
			})
			s.get("/status").want(http.StatusOK)
			before := s.database.Snapshot(t)
			var done []string // what was written, by the statement at which the client disconnected
			for stayed := false; !stayed; {
				ctx, cancel := context.WithCancel(t.Context())
				left, goes = len(done), cancel
				request := httptest.NewRequestWithContext(ctx, c.method, "/v1"+c.path, strings.NewReader(c.body))
				request.Header.Set("X-Api-Key", s.key)
				request.Header.Set("Content-Type", jsonType)
				if c.once != "" {
					request.Header.Set("Idempotency-Key", c.once)
				}
				s.handler.ServeHTTP(httptest.NewRecorder(), request)
				cancel()
				stayed = left >= 0
				left = -1
				done = append(done, tally(fixtures.Changes(before, before.Again(t))))
				before.Restore(t)
			}
			whole, nothing := done[len(done)-1], tally(nil)
			if whole == nothing || len(done) < 15 {
				t.Fatalf("%d runs, the last of which wrote %s", len(done), whole)
			}
			for n, work := range done {
				if work != whole && work != nothing {
					t.Errorf("cancelled at statement %d: %s, want %s or nothing", n, work, whole)
				}
			}
		})
	}
}
