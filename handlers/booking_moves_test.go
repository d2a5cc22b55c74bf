package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// TestMovesAreThoseOfAPut: from every status, each move answers and writes what a PUT of its status does. Only pending
// bookings are declined.
func TestMovesAreThoseOfAPut(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'waiting,Waiting')")
	all := s.key
	moved := 0
	for _, from := range []string{"pending", "approved", "cancelled", "completed", "no_show", "waiting"} {
		s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+from+"' WHERE id = 7")
		before := s.database.Snapshot(t)
		for move, status := range map[string]string{"approve": "approved", "decline": "cancelled", "cancel": "cancelled"} {
			for _, permissions := range [][]string{nil, {"write_bookings"}} {
				if s.key = all; permissions != nil {
					s.key = s.newKey(permissions...)
					s.get("/status").want(http.StatusOK)
				}
				of := before.Again(t)
				put := s.write(http.MethodPut, "/bookings/7", fmt.Sprintf(`{"status":%q,"send_notification":true}`, status))
				written := summarizeChanges(fixtures.Changes(of, of.Again(t)))
				of.Restore(t)
				post := s.write(http.MethodPost, "/bookings/7/"+move, `{"send_notification":true}`)
				got := summarizeChanges(fixtures.Changes(of, of.Again(t)))
				name := fmt.Sprintf("%s a booking that is %s with %v", move, from, permissions)
				if move == "decline" && from != "pending" && from != "cancelled" {
					unprocessable("status").check(t, name, post)
					if len(got) > 0 {
						t.Errorf("%s: written %q", name, got)
					}
					of.Restore(t)
					continue
				}
				// Who may not read is shown what was sent, which of a PUT includes the status.
				shown := permissions == nil || len(got) > 0
				if diff := cmp.Diff(string(put.body), string(post.body)); shown && diff != "" || post.status != put.status {
					t.Errorf("%s: %d, PUT %d (-PUT +POST):\n%s", name, post.status, put.status, diff)
				}
				if diff := cmp.Diff(written, got); diff != "" {
					t.Errorf("%s: rows (-PUT +POST):\n%s", name, diff)
				}
				if len(got) > 0 {
					moved++
				}
				of.Restore(t)
			}
		}
	}
	if moved < 10 {
		t.Errorf("only %d moves wrote something", moved)
	}
}

// TestMovesNeedAFreeSlot: a cancelled booking whose time somebody else has got is not approved, and a dry run says so.
func TestMovesNeedAFreeSlot(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	s.write(http.MethodPost, "/bookings/"+id+"/cancel", "").want(http.StatusOK)
	rival := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("customer_id", "10")).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, query := range []string{"", "?dry_run=1"} {
		a := s.write(http.MethodPost, "/bookings/"+id+"/approve"+query, "")
		wantCode(t, a, http.StatusConflict, "time_slot_unavailable")
		if got := fmt.Sprint(a.at("error", "details", "conflicting_booking_id")); got != rival {
			t.Errorf("conflicts with %s, want %s", got, rival)
		}
	}
	wantNoWrites(t, "refused", before)
	tried := s.write(http.MethodPost, "/bookings/"+rival+"/cancel", `{"dry_run":true}`).want(http.StatusOK)
	if got := tried.at("data", "status"); got != "cancelled" {
		t.Errorf("dry run: %v", got)
	}
	wantNoWrites(t, "dry run", before)
	s.write(http.MethodPost, "/bookings/"+rival+"/cancel", "").want(http.StatusOK)
	s.write(http.MethodPost, "/bookings/"+id+"/approve", "").want(http.StatusOK)
}

// TestMovesHappenOnce: a move with a tag needs that tag, also if it changes nothing, and one with a name is not done again.
func TestMovesHappenOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 7")
	tag := s.get("/bookings/7").want(http.StatusOK).header.Get("ETag")
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET updated_at = '2026-11-22 01:02:03' WHERE id = 7")
	before := s.database.Snapshot(t)
	for _, move := range []string{"approve", "decline", "cancel"} {
		for _, sent := range []string{tag, `""`} {
			wantCode(t, s.write(http.MethodPost, "/bookings/7/"+move, "", "If-Match", sent), http.StatusPreconditionFailed, "precondition_failed")
			wantCode(t, s.write(http.MethodPost, "/bookings/7/"+move+"?dry_run=1", "", "If-Match", sent), http.StatusPreconditionFailed, "precondition_failed")
		}
	}
	wantNoWrites(t, "other tags", before)
	tag = s.get("/bookings/7").want(http.StatusOK).header.Get("ETag")
	blind := s.as([]string{"write_bookings"}, http.MethodPost, "/bookings/7/approve", "")
	before.Restore(t)
	if blind.want(http.StatusOK).at("data", "status") != "approved" {
		t.Errorf("without a tag: %s", blind.body)
	}
	secret := s.newKey("write_bookings")
	a := s.send(http.MethodPost, "/v1/bookings/7/approve", http.Header{"X-Api-Key": {secret}, "If-Match": {tag}}, "")
	if a.want(http.StatusForbidden).at("error", "details", "required_permission") != "read_bookings" {
		t.Errorf("a tag that the key cannot know: %s", a.body)
	}
	first := s.write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").want(http.StatusOK)
	s.write(http.MethodPost, "/bookings/7/approve", "").want(http.StatusOK)
	before = s.database.Snapshot(t)
	s.write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").wantReplayOf(t, first)
	wantCode(t, s.write(http.MethodPost, "/bookings/7/decline", `{"reason":"other"}`, "If-Match", tag, "Idempotency-Key", "once"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	wantNoWrites(t, "repeated", before)
}

// TestReasonsOfMoves: a move's reason is kept as the one that PUT would take, and where the site keeps none, a header says
// that it is not stored. To keys with masked data it is personal.
func TestReasonsOfMoves(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, askForReasons...)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 7")
	before := s.database.Snapshot(t)
	for move, key := range map[string]string{"approve": records.RescheduleReason, "decline": records.CancellationReason, "cancel": records.CancellationReason} {
		status := map[string]string{records.RescheduleReason: "approved", records.CancellationReason: "cancelled"}[key]
		put := s.write(http.MethodPut, "/bookings/7", fmt.Sprintf(`{"status":%q,%q:"Too <b>far</b> "}`, status, key)).want(http.StatusOK)
		want := reasonsOf(t, s.database, "7")
		before.Restore(t)
		tried := s.write(http.MethodPost, "/bookings/7/"+move, `{"reason":"Too <b>far</b> ","dry_run":true}`).want(http.StatusOK)
		if tried.at("data", key) != "Too far" || len(reasonsOf(t, s.database, "7")) > 0 {
			t.Errorf("%s, dry run: %v, stored %q", move, tried.at("data", key), reasonsOf(t, s.database, "7"))
		}
		post := s.write(http.MethodPost, "/bookings/7/"+move, `{"reason":"Too <b>far</b> "}`).want(http.StatusOK)
		if diff := cmp.Diff(want, reasonsOf(t, s.database, "7")); diff != "" || len(want) != 2 || string(post.body) != string(put.body) || post.header.Get("Warning") != "" {
			t.Errorf("%s (-PUT +POST):\n%s%s", move, diff, cmp.Diff(string(put.body), string(post.body)))
		}
		before.Restore(t)
	}
	s.write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`).want(http.StatusOK)
	s.write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`).want(http.StatusOK)
	for body, want := range map[string]string{
		`{"reason":"b"}`: "The booking is already cancelled",
		`{"reason":{}}`:  "Must be a text",
		`{"reason":"` + strings.Repeat("a", 65_536) + `"}`: "The booking is already cancelled",
	} {
		a := s.write(http.MethodPost, "/bookings/7/cancel", body)
		if got := a.at("error", "details", "reason"); got != want {
			t.Errorf("%.40s: %d %.300s", body, a.status, a.body)
		}
	}
	before.Restore(t)

	s.database.Execute(t, setting("enable_cancellation_reason", "off"))
	const lost = `199 bookside "This site does not keep reasons: the reason is not stored"`
	for _, c := range []struct{ path, body, warning string }{
		{"/bookings/7/cancel", `{"reason":"a","dry_run":true}`, lost},
		{"/bookings/7/decline", `{"reason":"a"}`, lost},
		{"/bookings/7/approve", `{"reason":"a"}`, ""},
		{"/bookings/7/cancel", `{"reason":" "}`, ""},
	} {
		a := s.write(http.MethodPost, c.path, c.body).want(http.StatusOK)
		if got := a.header.Get("Warning"); got != c.warning {
			t.Errorf("%s %s: %q, want %q", c.path, c.body, got, c.warning)
		}
	}
	a := s.as([]string{"read_bookings", "write_bookings"}, http.MethodPost, "/bookings/7/approve", `{"reason":"Mine alone","dry_run":true}`).want(http.StatusOK)
	if !strings.Contains(string(a.body), "Mine alone") {
		t.Errorf("a dry run does not show what was sent: %s", a.body)
	}
	secret, _, err := s.keys.Create(t.Context(), keys.NewKey{Name: "masked", Kind: keys.Live, Permissions: []string{"read", "write"}, MaskPersonal: true})
	if err != nil {
		t.Fatal(err)
	}
	s.key = secret
	wantCode(t, s.write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`), http.StatusForbidden, "personal_data_masked")
	s.write(http.MethodPost, "/bookings/7/cancel", "").want(http.StatusOK)
}

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
