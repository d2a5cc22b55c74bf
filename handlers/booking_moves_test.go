package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// TestMovesAreThoseOfAPut: from every status, each move answers and writes what a PUT of its status does. Only pending
// bookings are declined.
func TestMovesAreThoseOfAPut(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
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
				expect.Equal(t, written, got, fmt.Sprintf("%s: rows", name))
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
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	s.write(http.MethodPost, "/bookings/"+id+"/cancel", "").want(http.StatusOK)
	rival := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("customer_id", "10")).want(http.StatusCreated).at("data", "id"))
	before := s.database.Snapshot(t)
	for _, query := range []string{"", "?dry_run=1"} {
		a := s.write(http.MethodPost, "/bookings/"+id+"/approve"+query, "")
		wantCode(t, a, http.StatusConflict, "time_slot_unavailable")
		expect.Equal(t, rival, fmt.Sprint(a.at("error", "details", "conflicting_booking_id")), "the conflicting booking")
	}
	wantNoWrites(t, "refused", before)
	tried := s.write(http.MethodPost, "/bookings/"+rival+"/cancel", `{"dry_run":true}`).want(http.StatusOK)
	expect.Equal(t, "cancelled", tried.at("data", "status"), "dry run")
	wantNoWrites(t, "dry run", before)
	s.write(http.MethodPost, "/bookings/"+rival+"/cancel", "").want(http.StatusOK)
	s.write(http.MethodPost, "/bookings/"+id+"/approve", "").want(http.StatusOK)
}

// TestMovesHappenOnce: a move with a tag needs that tag, also if it changes nothing, and one with a name is not done again.
func TestMovesHappenOnce(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
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
	expect.Equal(t, "approved", blind.want(http.StatusOK).at("data", "status"), fmt.Sprintf("without a tag: %s", blind.body))
	secret := s.newKey("write_bookings")
	a := s.send(http.MethodPost, "/v1/bookings/7/approve", http.Header{"X-Api-Key": {secret}, "If-Match": {tag}}, "")
	expect.Equal(t, "read_bookings", a.want(http.StatusForbidden).at("error", "details", "required_permission"), fmt.Sprintf("a tag that the key cannot know: %s", a.body))
	first := s.write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").want(http.StatusOK)
	s.write(http.MethodPost, "/bookings/7/approve", "").want(http.StatusOK)
	before = s.database.Snapshot(t)
	s.write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").wantReplayOf(t, first)
	wantCode(t, s.write(http.MethodPost, "/bookings/7/decline", `{"reason":"other"}`, "If-Match", tag, "Idempotency-Key", "once"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	wantNoWrites(t, "repeated", before)
}

// TestReasonsOfMoves: a move's reason is kept as the one that PUT would take, and where the site keeps none, a header says
// that it is not stored. To keys with masked data it is personal: they read only that there is one, and give none.
func TestReasonsOfMoves(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
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
		expect.Equal[any](t, want, a.at("error", "details", "reason"), fmt.Sprintf("%.40s: %d %.300s", body, a.status, a.body))
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
		expect.Equal(t, c.warning, a.header.Get("Warning"), fmt.Sprintf("%s %s", c.path, c.body))
	}
	a := s.as([]string{"read_bookings", "write_bookings"}, http.MethodPost, "/bookings/7/approve", `{"reason":"Mine alone","dry_run":true}`).want(http.StatusOK)
	wantContains(t, "Mine alone", string(a.body), "a dry run, which shows what was sent,")
	s.write(http.MethodPut, "/bookings/7", `{"reschedule_reason":"Rain"}`).want(http.StatusOK)
	s.key = s.maskedKey()
	expect.Equal(t, "***", s.get("/bookings/7").want(http.StatusOK).at("data", "reschedule_reason"), "read with masked data")
	wantCode(t, s.write(http.MethodPut, "/bookings/7", `{"reschedule_reason":"Sun"}`), http.StatusForbidden, "personal_data_masked")
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
			expect.Equal(t, fmt.Sprint(want), fmt.Sprint(got), fmt.Sprintf("%s: fields", where))
			original.Restore(t)
		}
	}
}

// askForReasons are settings of Pro Features.
var askForReasons = []string{setting("enable_cancellation_reason", "on"), setting("enable_reschedule_reason", "on")}

// reasonsOf returns what is stored of the reasons for changes of a booking: meta, and entries of the activity log.
func reasonsOf(t testing.TB, database *fixtures.Database, booking string) []string {
	t.Helper()
	return slices.Concat(
		rowsOf(t, database, "SELECT meta_key, meta_value FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key LIKE '%_reason' ORDER BY id", booking),
		rowsOf(t, database, "SELECT code, description, customer_id, initiated_by, initiated_by_id FROM wp_latepoint_activities WHERE booking_id = ? AND code LIKE '%_reason' ORDER BY id", booking))
}

// TestReasons: why a booking is cancelled or changed is stored and logged as by the add-on's listener, and shown.
func TestReasons(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, askForReasons...)
	made := s.write(http.MethodPost, "/bookings", friday("cancellation_reason", `"of a new one"`)).want(http.StatusCreated)
	id := fmt.Sprint(made.at("data", "id"))
	path := "/bookings/" + id
	shown := func(a answer) string {
		t.Helper()
		return fmt.Sprintf("%v|%v", a.at("data", "cancellation_reason"), a.at("data", "reschedule_reason"))
	}
	if diff := cmp.Diff(s.get(path).at("data"), made.at("data")); diff != "" || shown(made) != "|" {
		t.Errorf("created: %s; created and read differ (-read +created):\n%s", shown(made), diff)
	}

	before := s.database.Snapshot(t)
	const move = `{"start_time":"13:00","reschedule_reason":" My <b>train</b>\nis late ","dry_run":true}`
	expect.Equal(t, "|My train\nis late", shown(s.write(http.MethodPut, path, move).want(http.StatusOK)), "dry run")
	wantNoWrites(t, "dry run", before)

	moved := s.write(http.MethodPut, path, `{"start_time":"13:00","reschedule_reason":" My <b>train</b>\nis late "}`).want(http.StatusOK)
	if diff := cmp.Diff(s.get(path).at("data"), moved.at("data")); diff != "" || shown(moved) != "|My train\nis late" {
		t.Errorf("moved: %s; changed and read differ (-read +changed):\n%s", shown(moved), diff)
	}
	want := []string{"reschedule_reason|My train\nis late", "booking_reschedule_reason|Reschedule reason: My train\nis late|9||0"}
	expect.Equal(t, want, reasonsOf(t, s.database, id), "moved")
	codes := rowsOf(t, s.database, "SELECT code FROM wp_latepoint_activities WHERE booking_id = ? ORDER BY id DESC LIMIT 2", id)
	expect.Equal(t, []string{"booking_updated", "booking_reschedule_reason"}, codes, "entries, the last one first")

	before = s.database.Snapshot(t)
	s.write(http.MethodPut, path, `{"start_time":"13:00","reschedule_reason":"My train\nis late"}`).want(http.StatusOK)
	wantNoWrites(t, "sent again", before)

	// A reason alone is a change, and one that is sent back is none.
	const row = "SELECT id, created_at FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key = 'reschedule_reason'"
	s.database.Execute(t, "UPDATE wp_latepoint_booking_meta SET created_at = '2026-11-01 08:00:00' WHERE meta_key = 'reschedule_reason'")
	kept := rowOf(t, s.database, row, id)
	s.write(http.MethodPut, path, `{"reschedule_reason":"Rain"}`).want(http.StatusOK)
	expect.Equal(t, kept, rowOf(t, s.database, row, id), "the row of the reason")
	s.write(http.MethodPut, path, `{"notes":"x","reschedule_reason":"Rain"}`).want(http.StatusOK)
	s.write(http.MethodPut, path, `{"notes":"y"}`).want(http.StatusOK)
	const rain = "booking_reschedule_reason|Reschedule reason: Rain|9||0"
	want = []string{"reschedule_reason|Rain", want[1], rain}
	expect.Equal(t, want, reasonsOf(t, s.database, id), "changed again")

	cancelled := s.write(http.MethodPut, path, `{"status":"cancelled","cancellation_reason":"I am ill","reschedule_reason":"Rain"}`).want(http.StatusOK)
	expect.Equal(t, "I am ill|Rain", shown(cancelled), "cancelled")
	want = append([]string{want[0], "cancellation_reason|I am ill"}, append(want[1:], "booking_cancellation_reason|Cancellation reason: I am ill|9||0")...)
	expect.Equal(t, want, reasonsOf(t, s.database, id), "cancelled")
	before = s.database.Snapshot(t)
	s.write(http.MethodPut, path, `{"status":"cancelled","cancellation_reason":"I am ill"}`).want(http.StatusOK)
	wantNoWrites(t, "cancelled again", before)
	listed := s.get("/bookings?status=cancelled&customer_id=9&date_from=2027-02-05").want(http.StatusOK).records()
	expect.Equal(t, "I am ill", fmt.Sprint(listed[0]["cancellation_reason"]), "listed")
	s.write(http.MethodPut, path, `{"status":"approved"}`).want(http.StatusOK)
	s.write(http.MethodPut, path, `{"notes":"z","cancellation_reason":"I am ill"}`).want(http.StatusOK)
}

// TestRefusedReasons: a reason that belongs to another kind of change is refused, and one that says nothing is none.
func TestRefusedReasons(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, askForReasons...)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE id = 7", "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE id = 9")
	before := s.database.Snapshot(t)
	for _, c := range []struct{ path, body, field, message string }{
		{"/bookings/7", `{"notes":"x","cancellation_reason":"a"}`, "cancellation_reason", "Only a change to the status cancelled has one"},
		{"/bookings/7", `{"status":"completed","cancellation_reason":"a"}`, "cancellation_reason", "Only a change to the status cancelled has one"},
		{"/bookings/7", `{"status":"cancelled","reschedule_reason":"a"}`, "reschedule_reason", "The booking is cancelled: send cancellation_reason"},
		{"/bookings/9", `{"status":"cancelled","cancellation_reason":"a"}`, "cancellation_reason", "The booking is already cancelled"},
		{"/bookings/7", `{"reschedule_reason":"` + strings.Repeat("a", 65_536) + `"}`, "reschedule_reason", "Too long"},
	} {
		a := s.write(http.MethodPut, c.path, c.body).want(http.StatusUnprocessableEntity)
		expect.Equal[any](t, c.message, a.at("error", "details", c.field), fmt.Sprintf("%s %.60s: %v", c.path, c.body, a.at("error", "details")))
	}
	for _, nothing := range []string{`""`, `null`, `" "`, `"0"`, `"<br>"`} {
		s.write(http.MethodPut, "/bookings/7", `{"reschedule_reason":`+nothing+`,"cancellation_reason":`+nothing+`}`).want(http.StatusOK)
	}
	wantNoWrites(t, "refused", before)
}

// TestReasonsNobodyAsksFor: where the site does not ask for a reason, it is an unknown field.
func TestReasonsNobodyAsksFor(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		site    fixtures.Site
		arrange []string
		fields  string // that are shown
	}{
		"a plain site":      {fixtures.SiteA().WithFewBookings(), askForReasons, "<nil>|<nil>"},
		"the settings off":  {fixtures.SiteA().WithFewBookings().WithProFeatures(), []string{setting("enable_reschedule_reason", "off")}, "<nil>|<nil>"},
		"cancellation only": {fixtures.SiteA().WithFewBookings().WithProFeatures(), askForReasons[:1], "|<nil>"},
	} {
		t.Run(title, func(t *testing.T) {
			s := ownWriter(t, c.site)
			s.database.Execute(t, c.arrange...)
			a := s.write(http.MethodPut, "/bookings/7", `{"notes":"x","reschedule_reason":"Rain"}`).want(http.StatusOK)
			data := a.at("data").(map[string]any)
			expect.Equal(t, c.fields, fmt.Sprintf("%v|%v", data["cancellation_reason"], data["reschedule_reason"]), "shown")
			expect.Equal(t, 0, len(reasonsOf(t, s.database, "7")), "stored reasons")
		})
	}
}

// TestProFeaturesInThePluginsOwnList: where only the plugin lists the add-on as active, bookings are read as they are written.
func TestProFeaturesInThePluginsOwnList(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, append(askForReasons, activate(pluginFile), setting("active_addons", `["latepoint-pro-features","latepoint-linked-services"]`))...)
	made := s.write(http.MethodPost, "/bookings", friday("extras", `[{"id":4,"quantity":2}]`)).want(http.StatusCreated)
	read := s.get(fmt.Sprintf("/bookings/%v", made.at("data", "id"))).want(http.StatusOK)
	expect.Equal(t, read.at("data"), made.at("data"), "created and read differ")
	if extras := read.at("data", "extras"); len(extras.([]any)) != 1 || read.at("data", "cancellation_reason") != "" {
		t.Errorf("read: %s", read.body)
	}
	s.database.Execute(t, "INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'linked_services', '[\"2\"]')")
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`)).want(http.StatusUnprocessableEntity)

	s.database.Execute(t, setting("active_addons", `[]`))
	data := s.get(fmt.Sprintf("/bookings/%v", made.at("data", "id"))).want(http.StatusOK).at("data").(map[string]any)
	if data["extras"] != nil || data["cancellation_reason"] != nil {
		t.Errorf("without the add-on: %v", data)
	}
}

// TestAgentGivesReasons: tools for AI agents pass the reason on, each as its own.
func TestAgentGivesReasons(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.database.Execute(t, askForReasons...)
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated).at("data", "id"))
	a := s.agent(t, s.key)
	a.call("reschedule", fmt.Sprintf(`{'idempotency_key':'reasons-1','id':%s,'start_date':'2027-02-05','start_time':'13:00','reschedule_reason':'Rain'}`, id)).done()
	a.call("cancel", fmt.Sprintf(`{'id':%s,'cancellation_reason':'I am ill'}`, id)).done()
	want := []string{"reschedule_reason|Rain", "cancellation_reason|I am ill",
		"booking_reschedule_reason|Reschedule reason: Rain|9||0", "booking_cancellation_reason|Cancellation reason: I am ill|9||0"}
	expect.Equal(t, want, reasonsOf(t, s.database, id), "stored reasons")
}
