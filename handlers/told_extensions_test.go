package handlers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/companiontest"
)

// TestFailedDeletionIsTakenBack: extensions that were told about a deletion that then failed are told about the booking as it is, so
// that they create again what they have deleted.
func TestFailedDeletionIsTakenBack(t *testing.T) {
	t.Parallel()
	told := map[string]int{"failed": 0}
	const meanwhile = "UPDATE wp_latepoint_bookings SET status = 'approved'"
	for name, c := range map[string]struct {
		status int    // of WordPress
		says   any    // by the companion; not signed if it is nil or a header
		then   string // what happens while extensions are told
		want   int
		events []string
	}{
		"it succeeds":                    {http.StatusOK, told, "", http.StatusOK, []string{"booking_deleted|%s|"}},
		"an extension fails":             {http.StatusOK, map[string]any{"failed": 1, "failure": "no calendar"}, "", http.StatusOK, []string{"booking_will_be_deleted|%s|", "booking_deleted|%s|"}},
		"it needs force meanwhile":       {http.StatusOK, told, meanwhile, http.StatusBadRequest, []string{"booking_updated|%s|"}},
		"WordPress breaks off":           {http.StatusInternalServerError, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension exits":             {http.StatusOK, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension redirects":         {http.StatusFound, http.Header{"Location": {"/"}}, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension forbids it":        {http.StatusForbidden, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"an extension dies with a 503":   {http.StatusServiceUnavailable, nil, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"it answers in another form":     {http.StatusOK, []int{1}, "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"LatePoint is switched off":      {http.StatusServiceUnavailable, "off", "", http.StatusServiceUnavailable, nil},
		"the companion fails":            {http.StatusInternalServerError, "failed", "", http.StatusServiceUnavailable, []string{"booking_updated|%s|"}},
		"WordPress is under maintenance": {http.StatusServiceUnavailable, http.Header{"Retry-After": {"600"}}, "", http.StatusServiceUnavailable, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithFewBookings())
			requests := 0
			to := companiontest.New(t, s.platform.DB, s.platform.Now, func(string, json.RawMessage) (int, any) {
				requests++
				if c.then != "" {
					s.database.Execute(t, c.then)
				}
				return c.status, c.says
			})
			s.platform.Events = extensions.NewRelay(s.platform.DB, s.platform.Now, to, slog.New(slog.DiscardHandler))
			id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("status", `"pending"`)).want(http.StatusCreated).at("data", "id"))
			s.database.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_updated booking_will_be_deleted booking_deleted'), ('bookside_companion_seen', '"+seen(0)+"')")
			s.write(http.MethodDelete, "/bookings/"+id, "").want(c.want)
			wantEqual(t, 1, requests, "requests that told it")
			var want []string
			for _, e := range c.events {
				want = append(want, fmt.Sprintf(e, id))
			}
			wantEqual(t, want, rowsOf(t, s.database, "SELECT event, record_id, COALESCE(old, '') FROM wp_bookside_events ORDER BY id"), "events")
			failed, err := extensions.TroubledEvents(t.Context(), s.platform.DB, now, now.Add(-time.Hour), 10)
			if _, fails := c.says.(map[string]any); err != nil || len(failed) > 0 != fails || fails && (failed[0].Failure != "no calendar" || failed[0].FinishedAt == "" || failed[0].Repeatable()) {
				t.Errorf("failed: %+v, %v", failed, err)
			}
		})
	}
}

// TestDeletionIsToldOnce: of requests that delete a booking at the same time, one tells extensions and deletes it.
func TestDeletionIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	var told atomic.Int32
	to := companiontest.New(t, s.platform.DB, s.platform.Now, func(string, json.RawMessage) (int, any) {
		told.Add(1)
		time.Sleep(200 * time.Millisecond) // while the others arrive
		return http.StatusOK, map[string]int{"failed": 0}
	})
	s.platform.Events = extensions.NewRelay(s.platform.DB, s.platform.Now, to, slog.New(slog.DiscardHandler))
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("status", `"pending"`)).want(http.StatusCreated).at("data", "id"))
	s.database.Execute(t, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_will_be_deleted booking_deleted'), ('bookside_companion_seen', '"+seen(0)+"')")
	var statuses [4]int
	var wait sync.WaitGroup
	for i := range statuses {
		wait.Go(func() { statuses[i] = s.write(http.MethodDelete, "/bookings/"+id, "").status })
	}
	wait.Wait()
	slices.Sort(statuses[:])
	if want := [4]int{http.StatusOK, http.StatusNotFound, http.StatusNotFound, http.StatusNotFound}; statuses != want || told.Load() != 1 {
		t.Errorf("answers %v, told %d times", statuses, told.Load())
	}
}

// TestTheCompanionIsGone: what the companion reported counts no longer once it was removed, or was not seen for three days: WordPress is
// neither asked nor told, bookings are deleted nevertheless, and the site says what is not honoured.
func TestTheCompanionIsGone(t *testing.T) {
	t.Parallel()
	const option = " WHERE option_name = 'bookside_companion_seen'"
	for name, c := range map[string]struct {
		then string
		gone bool
	}{
		"it was seen lately": {"UPDATE wp_options SET option_value = '" + seen(2*24*time.Hour) + "'" + option, false},
		"it was removed":     {"UPDATE wp_options SET option_value = ''" + option, true},
		"it is silent":       {"UPDATE wp_options SET option_value = '" + seen(4*24*time.Hour) + "'" + option, true},
		"it was uninstalled": {"DELETE FROM wp_options" + option, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithFewBookings())
			var requests atomic.Int64
			away := func(string, json.RawMessage) (int, any) { requests.Add(1); return http.StatusServiceUnavailable, nil }
			s.asks(t, away)
			s.platform.Events = extensions.NewRelay(s.platform.DB, s.platform.Now, companiontest.New(t, s.platform.DB, s.platform.Now, away), slog.New(slog.DiscardHandler))
			s.database.Execute(t, c.then, "INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'booking_updated booking_will_be_deleted')",
				`UPDATE wp_bookside_extensions SET plugins = '[{"plugin":"rules","title":"House Rules","listeners":[{"hook":"latepoint_booking_updated","callback":"a","priority":10},
					{"hook":"latepoint_get_resources_grouped_by_day","callback":"b","priority":10}]}]'`)
			kinds, answer, kept := []any{"asked", "run_afterwards"}, http.StatusServiceUnavailable, []string{"booking_updated"}
			if c.gone {
				kinds, answer, kept = []any{"not_honoured", "not_honoured"}, http.StatusOK, nil
			}
			site := s.get("/site").want(http.StatusOK)
			wantEqual(t, kinds, []any{site.at("data", "extensions", 0, "parts", 0, "kind"), site.at("data", "extensions", 0, "parts", 1, "kind")}, "kinds")
			s.get("/availability?service_id=4&agent_id=5&date=2027-02-05").want(answer)
			s.write(http.MethodPut, "/bookings/53", `{"customer_comment":"late"}`).want(http.StatusOK)
			s.write(http.MethodDelete, "/bookings/53?force=true", "").want(answer)
			if c.gone == (requests.Load() > 0) {
				t.Errorf("%d requests to WordPress", requests.Load())
			}
			wantEqual(t, kept, rowsOf(t, s.database, "SELECT event FROM wp_bookside_events ORDER BY id"), "events")
		})
	}
}
