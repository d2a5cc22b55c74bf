package bookings_test

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
	"github.com/bookside/bookside/handlers/apitest"
)

// TestMovesAreThoseOfAPut: from every status, each move answers and writes what a PUT of its status does. Only pending
// bookings are declined.
func TestMovesAreThoseOfAPut(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('additional_booking_statuses', 'waiting,Waiting')")
	all := s.Key
	moved := 0
	for _, from := range []string{"pending", "approved", "cancelled", "completed", "no_show", "waiting"} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+from+"' WHERE id = 7")
		before := s.Database.Snapshot(t)
		for move, status := range map[string]string{"approve": "approved", "decline": "cancelled", "cancel": "cancelled"} {
			for _, permissions := range [][]string{nil, {"write_bookings"}} {
				if s.Key = all; permissions != nil {
					s.Key = s.NewKey(permissions...)
					s.Get("/status").Want(http.StatusOK)
				}
				of := before.Again(t)
				put := s.Write(http.MethodPut, "/bookings/7", fmt.Sprintf(`{"status":%q,"send_notification":true}`, status))
				written := apitest.SummarizeChanges(fixtures.Changes(of, of.Again(t)))
				of.Restore(t)
				post := s.Write(http.MethodPost, "/bookings/7/"+move, `{"send_notification":true}`)
				got := apitest.SummarizeChanges(fixtures.Changes(of, of.Again(t)))
				name := fmt.Sprintf("%s a booking that is %s with %v", move, from, permissions)
				if move == "decline" && from != "pending" && from != "cancelled" {
					apitest.Unprocessable("status").Check(t, name, post)
					if len(got) > 0 {
						t.Errorf("%s: written %q", name, got)
					}
					of.Restore(t)
					continue
				}
				// Who may not read is shown what was sent, which of a PUT includes the status.
				shown := permissions == nil || len(got) > 0
				if diff := cmp.Diff(string(put.Body), string(post.Body)); shown && diff != "" || post.Status != put.Status {
					t.Errorf("%s: %d, PUT %d (-PUT +POST):\n%s", name, post.Status, put.Status, diff)
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
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPost, "/bookings/"+id+"/cancel", "").Want(http.StatusOK)
	rival := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "10")).Want(http.StatusCreated).At("data", "id"))
	before := s.Database.Snapshot(t)
	for _, query := range []string{"", "?dry_run=1"} {
		a := s.Write(http.MethodPost, "/bookings/"+id+"/approve"+query, "")
		apitest.WantCode(t, a, http.StatusConflict, "time_slot_unavailable")
		expect.Equal(t, rival, fmt.Sprint(a.At("error", "details", "conflicting_booking_id")), "the conflicting booking")
	}
	apitest.WantNoWrites(t, "refused", before)
	tried := s.Write(http.MethodPost, "/bookings/"+rival+"/cancel", `{"dry_run":true}`).Want(http.StatusOK)
	expect.Equal(t, "cancelled", tried.At("data", "status"), "dry run")
	apitest.WantNoWrites(t, "dry run", before)
	s.Write(http.MethodPost, "/bookings/"+rival+"/cancel", "").Want(http.StatusOK)
	s.Write(http.MethodPost, "/bookings/"+id+"/approve", "").Want(http.StatusOK)
}

// TestMovesHappenOnce: a move with a tag needs that tag, also if it changes nothing, and one with a name is not done again.
func TestMovesHappenOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 7")
	tag := s.Get("/bookings/7").Want(http.StatusOK).Header.Get("ETag")
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET updated_at = '2026-11-22 01:02:03' WHERE id = 7")
	before := s.Database.Snapshot(t)
	for _, move := range []string{"approve", "decline", "cancel"} {
		for _, sent := range []string{tag, `""`} {
			apitest.WantCode(t, s.Write(http.MethodPost, "/bookings/7/"+move, "", "If-Match", sent), http.StatusPreconditionFailed, "precondition_failed")
			apitest.WantCode(t, s.Write(http.MethodPost, "/bookings/7/"+move+"?dry_run=1", "", "If-Match", sent), http.StatusPreconditionFailed, "precondition_failed")
		}
	}
	apitest.WantNoWrites(t, "other tags", before)
	tag = s.Get("/bookings/7").Want(http.StatusOK).Header.Get("ETag")
	blind := s.As([]string{"write_bookings"}, http.MethodPost, "/bookings/7/approve", "")
	before.Restore(t)
	expect.Equal(t, "approved", blind.Want(http.StatusOK).At("data", "status"), fmt.Sprintf("without a tag: %s", blind.Body))
	secret := s.NewKey("write_bookings")
	a := s.Send(http.MethodPost, "/v1/bookings/7/approve", http.Header{"X-Api-Key": {secret}, "If-Match": {tag}}, "")
	expect.Equal(t, "read_bookings", a.Want(http.StatusForbidden).At("error", "details", "required_permission"), fmt.Sprintf("a tag that the key cannot know: %s", a.Body))
	first := s.Write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").Want(http.StatusOK)
	s.Write(http.MethodPost, "/bookings/7/approve", "").Want(http.StatusOK)
	before = s.Database.Snapshot(t)
	s.Write(http.MethodPost, "/bookings/7/decline", "", "If-Match", tag, "Idempotency-Key", "once").WantReplayOf(t, first)
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings/7/decline", `{"reason":"other"}`, "If-Match", tag, "Idempotency-Key", "once"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	apitest.WantNoWrites(t, "repeated", before)
}

// TestReasonsOfMoves: a move's reason is kept as the one that PUT would take, and where the site keeps none, a header says
// that it is not stored. To keys with masked data it is personal: they read only that there is one, and give none.
func TestReasonsOfMoves(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, apitest.AskForReasons...)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 7")
	before := s.Database.Snapshot(t)
	for move, key := range map[string]string{"approve": records.RescheduleReason, "decline": records.CancellationReason, "cancel": records.CancellationReason} {
		status := map[string]string{records.RescheduleReason: "approved", records.CancellationReason: "cancelled"}[key]
		put := s.Write(http.MethodPut, "/bookings/7", fmt.Sprintf(`{"status":%q,%q:"Too <b>far</b> "}`, status, key)).Want(http.StatusOK)
		want := apitest.ReasonsOf(t, s.Database, "7")
		before.Restore(t)
		tried := s.Write(http.MethodPost, "/bookings/7/"+move, `{"reason":"Too <b>far</b> ","dry_run":true}`).Want(http.StatusOK)
		if tried.At("data", key) != "Too far" || len(apitest.ReasonsOf(t, s.Database, "7")) > 0 {
			t.Errorf("%s, dry run: %v, stored %q", move, tried.At("data", key), apitest.ReasonsOf(t, s.Database, "7"))
		}
		post := s.Write(http.MethodPost, "/bookings/7/"+move, `{"reason":"Too <b>far</b> "}`).Want(http.StatusOK)
		if diff := cmp.Diff(want, apitest.ReasonsOf(t, s.Database, "7")); diff != "" || len(want) != 2 || string(post.Body) != string(put.Body) || post.Header.Get("Warning") != "" {
			t.Errorf("%s (-PUT +POST):\n%s%s", move, diff, cmp.Diff(string(put.Body), string(post.Body)))
		}
		before.Restore(t)
	}
	s.Write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`).Want(http.StatusOK)
	s.Write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`).Want(http.StatusOK)
	for body, want := range map[string]string{
		`{"reason":"b"}`: "The booking is already cancelled",
		`{"reason":{}}`:  "Must be a text",
		`{"reason":"` + strings.Repeat("a", 65_536) + `"}`: "The booking is already cancelled",
	} {
		a := s.Write(http.MethodPost, "/bookings/7/cancel", body)
		expect.Equal[any](t, want, a.At("error", "details", "reason"), fmt.Sprintf("%.40s: %d %.300s", body, a.Status, a.Body))
	}
	before.Restore(t)

	s.Database.Execute(t, apitest.Setting("enable_cancellation_reason", "off"))
	const lost = `199 bookside "This site does not keep reasons: the reason is not stored"`
	for _, c := range []struct{ path, body, warning string }{
		{"/bookings/7/cancel", `{"reason":"a","dry_run":true}`, lost},
		{"/bookings/7/decline", `{"reason":"a"}`, lost},
		{"/bookings/7/approve", `{"reason":"a"}`, ""},
		{"/bookings/7/cancel", `{"reason":" "}`, ""},
	} {
		a := s.Write(http.MethodPost, c.path, c.body).Want(http.StatusOK)
		expect.Equal(t, c.warning, a.Header.Get("Warning"), fmt.Sprintf("%s %s", c.path, c.body))
	}
	a := s.As([]string{"read_bookings", "write_bookings"}, http.MethodPost, "/bookings/7/approve", `{"reason":"Mine alone","dry_run":true}`).Want(http.StatusOK)
	apitest.WantContains(t, "Mine alone", string(a.Body), "a dry run, which shows what was sent,")
	s.Write(http.MethodPut, "/bookings/7", `{"reschedule_reason":"Rain"}`).Want(http.StatusOK)
	s.Key = s.MaskedKey()
	expect.Equal(t, "***", s.Get("/bookings/7").Want(http.StatusOK).At("data", "reschedule_reason"), "read with masked data")
	apitest.WantCode(t, s.Write(http.MethodPut, "/bookings/7", `{"reschedule_reason":"Sun"}`), http.StatusForbidden, "personal_data_masked")
	apitest.WantCode(t, s.Write(http.MethodPost, "/bookings/7/cancel", `{"reason":"a"}`), http.StatusForbidden, "personal_data_masked")
	s.Write(http.MethodPost, "/bookings/7/cancel", "").Want(http.StatusOK)
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
	s := apitest.NewWriter(t, fixtures.SiteA().WithFewBookings(), func(o *handlers.Options) { o.RateLimit.Enabled = false })
	original := s.Database.Snapshot(t)
	for _, from := range slices.Sorted(maps.Keys(moves)) {
		for _, to := range slices.Sorted(maps.Keys(moves)) {
			where := from + " to " + to
			s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = '"+from+"' WHERE id = 7")
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
			apitest.Unprocessable(wrong...).Check(t, where+", bad e-mail", s.Write(http.MethodPut, "/bookings/7", body("nobody")))
			apitest.WantNoWrites(t, where+", bad e-mail", before)

			a := s.Write(http.MethodPut, "/bookings/7", body("moved@example.test"))
			if !allowed {
				apitest.Unprocessable("status").Check(t, where, a)
				apitest.WantNoWrites(t, where, before)
				continue
			}
			a.Want(http.StatusOK)
			got := []any{}
			for _, path := range [][]any{{"status"}, {"start_date"}, {"start_time"}, {"service", 0, "id"}, {"agent", "id"}, {"price"}, {"notes"}, {"customer", "phone"}, {"customer", "email"}} {
				got = append(got, a.At(append([]any{"data"}, path...)...))
			}
			want := []any{to, "2027-02-05", "10:00", "4", "5", "77.5000", "moved", "+493077", "moved@example.test"}
			expect.Equal(t, fmt.Sprint(want), fmt.Sprint(got), fmt.Sprintf("%s: fields", where))
			original.Restore(t)
		}
	}
}

// TestReasons: why a booking is cancelled or changed is stored and logged as by the add-on's listener, and shown.
func TestReasons(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, apitest.AskForReasons...)
	made := s.Write(http.MethodPost, "/bookings", apitest.Friday("cancellation_reason", `"of a new one"`)).Want(http.StatusCreated)
	id := fmt.Sprint(made.At("data", "id"))
	path := "/bookings/" + id
	shown := func(a apitest.Answer) string {
		t.Helper()
		return fmt.Sprintf("%v|%v", a.At("data", "cancellation_reason"), a.At("data", "reschedule_reason"))
	}
	if diff := cmp.Diff(s.Get(path).At("data"), made.At("data")); diff != "" || shown(made) != "|" {
		t.Errorf("created: %s; created and read differ (-read +created):\n%s", shown(made), diff)
	}

	before := s.Database.Snapshot(t)
	const move = `{"start_time":"13:00","reschedule_reason":" My <b>train</b>\nis late ","dry_run":true}`
	expect.Equal(t, "|My train\nis late", shown(s.Write(http.MethodPut, path, move).Want(http.StatusOK)), "dry run")
	apitest.WantNoWrites(t, "dry run", before)

	moved := s.Write(http.MethodPut, path, `{"start_time":"13:00","reschedule_reason":" My <b>train</b>\nis late "}`).Want(http.StatusOK)
	if diff := cmp.Diff(s.Get(path).At("data"), moved.At("data")); diff != "" || shown(moved) != "|My train\nis late" {
		t.Errorf("moved: %s; changed and read differ (-read +changed):\n%s", shown(moved), diff)
	}
	want := []string{"reschedule_reason|My train\nis late", "booking_reschedule_reason|Reschedule reason: My train\nis late|9||0"}
	expect.Equal(t, want, apitest.ReasonsOf(t, s.Database, id), "moved")
	codes := apitest.RowsOf(t, s.Database, "SELECT code FROM wp_latepoint_activities WHERE booking_id = ? ORDER BY id DESC LIMIT 2", id)
	expect.Equal(t, []string{"booking_updated", "booking_reschedule_reason"}, codes, "entries, the last one first")

	before = s.Database.Snapshot(t)
	s.Write(http.MethodPut, path, `{"start_time":"13:00","reschedule_reason":"My train\nis late"}`).Want(http.StatusOK)
	apitest.WantNoWrites(t, "sent again", before)

	// A reason alone is a change, and one that is sent back is none.
	const row = "SELECT id, created_at FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key = 'reschedule_reason'"
	s.Database.Execute(t, "UPDATE wp_latepoint_booking_meta SET created_at = '2026-11-01 08:00:00' WHERE meta_key = 'reschedule_reason'")
	kept := apitest.RowOf(t, s.Database, row, id)
	s.Write(http.MethodPut, path, `{"reschedule_reason":"Rain"}`).Want(http.StatusOK)
	expect.Equal(t, kept, apitest.RowOf(t, s.Database, row, id), "the row of the reason")
	s.Write(http.MethodPut, path, `{"notes":"x","reschedule_reason":"Rain"}`).Want(http.StatusOK)
	s.Write(http.MethodPut, path, `{"notes":"y"}`).Want(http.StatusOK)
	const rain = "booking_reschedule_reason|Reschedule reason: Rain|9||0"
	want = []string{"reschedule_reason|Rain", want[1], rain}
	expect.Equal(t, want, apitest.ReasonsOf(t, s.Database, id), "changed again")

	cancelled := s.Write(http.MethodPut, path, `{"status":"cancelled","cancellation_reason":"I am ill","reschedule_reason":"Rain"}`).Want(http.StatusOK)
	expect.Equal(t, "I am ill|Rain", shown(cancelled), "cancelled")
	want = append([]string{want[0], "cancellation_reason|I am ill"}, append(want[1:], "booking_cancellation_reason|Cancellation reason: I am ill|9||0")...)
	expect.Equal(t, want, apitest.ReasonsOf(t, s.Database, id), "cancelled")
	before = s.Database.Snapshot(t)
	s.Write(http.MethodPut, path, `{"status":"cancelled","cancellation_reason":"I am ill"}`).Want(http.StatusOK)
	apitest.WantNoWrites(t, "cancelled again", before)
	listed := s.Get("/bookings?status=cancelled&customer_id=9&date_from=2027-02-05").Want(http.StatusOK).Records()
	expect.Equal(t, "I am ill", fmt.Sprint(listed[0]["cancellation_reason"]), "listed")
	s.Write(http.MethodPut, path, `{"status":"approved"}`).Want(http.StatusOK)
	s.Write(http.MethodPut, path, `{"notes":"z","cancellation_reason":"I am ill"}`).Want(http.StatusOK)
}

// TestRefusedReasons: a reason that belongs to another kind of change is refused, and one that says nothing is none.
func TestRefusedReasons(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, apitest.AskForReasons...)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE id = 7", "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE id = 9")
	before := s.Database.Snapshot(t)
	for _, c := range []struct{ path, body, field, message string }{
		{"/bookings/7", `{"notes":"x","cancellation_reason":"a"}`, "cancellation_reason", "Only a change to the status cancelled has one"},
		{"/bookings/7", `{"status":"completed","cancellation_reason":"a"}`, "cancellation_reason", "Only a change to the status cancelled has one"},
		{"/bookings/7", `{"status":"cancelled","reschedule_reason":"a"}`, "reschedule_reason", "The booking is cancelled: send cancellation_reason"},
		{"/bookings/9", `{"status":"cancelled","cancellation_reason":"a"}`, "cancellation_reason", "The booking is already cancelled"},
		{"/bookings/7", `{"reschedule_reason":"` + strings.Repeat("a", 65_536) + `"}`, "reschedule_reason", "Too long"},
	} {
		a := s.Write(http.MethodPut, c.path, c.body).Want(http.StatusUnprocessableEntity)
		expect.Equal[any](t, c.message, a.At("error", "details", c.field), fmt.Sprintf("%s %.60s: %v", c.path, c.body, a.At("error", "details")))
	}
	for _, nothing := range []string{`""`, `null`, `" "`, `"0"`, `"<br>"`} {
		s.Write(http.MethodPut, "/bookings/7", `{"reschedule_reason":`+nothing+`,"cancellation_reason":`+nothing+`}`).Want(http.StatusOK)
	}
	apitest.WantNoWrites(t, "refused", before)
}

// TestReasonsNobodyAsksFor: where the site does not ask for a reason, it is an unknown field.
func TestReasonsNobodyAsksFor(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		site    fixtures.Site
		arrange []string
		fields  string // that are shown
	}{
		"a plain site":      {fixtures.SiteA().WithFewBookings(), apitest.AskForReasons, "<nil>|<nil>"},
		"the settings off":  {fixtures.SiteA().WithFewBookings().WithProFeatures(), []string{apitest.Setting("enable_reschedule_reason", "off")}, "<nil>|<nil>"},
		"cancellation only": {fixtures.SiteA().WithFewBookings().WithProFeatures(), apitest.AskForReasons[:1], "|<nil>"},
	} {
		t.Run(title, func(t *testing.T) {
			s := apitest.OwnWriter(t, c.site)
			s.Database.Execute(t, c.arrange...)
			a := s.Write(http.MethodPut, "/bookings/7", `{"notes":"x","reschedule_reason":"Rain"}`).Want(http.StatusOK)
			data := a.At("data").(map[string]any)
			expect.Equal(t, c.fields, fmt.Sprintf("%v|%v", data["cancellation_reason"], data["reschedule_reason"]), "shown")
			expect.Equal(t, 0, len(apitest.ReasonsOf(t, s.Database, "7")), "stored reasons")
		})
	}
}

// TestProFeaturesInThePluginsOwnList: where only the plugin lists the add-on as active, bookings are read as they are written.
func TestProFeaturesInThePluginsOwnList(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings().WithProFeatures())
	s.Database.Execute(t, append(apitest.AskForReasons, apitest.Activate(apitest.PluginFile), apitest.Setting("active_addons", `["latepoint-pro-features","latepoint-linked-services"]`))...)
	made := s.Write(http.MethodPost, "/bookings", apitest.Friday("extras", `[{"id":4,"quantity":2}]`)).Want(http.StatusCreated)
	read := s.Get(fmt.Sprintf("/bookings/%v", made.At("data", "id"))).Want(http.StatusOK)
	expect.Equal(t, read.At("data"), made.At("data"), "created and read differ")
	if extras := read.At("data", "extras"); len(extras.([]any)) != 1 || read.At("data", "cancellation_reason") != "" {
		t.Errorf("read: %s", read.Body)
	}
	s.Database.Execute(t, "INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (4, 'linked_services', '[\"2\"]')")
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`)).Want(http.StatusUnprocessableEntity)

	s.Database.Execute(t, apitest.Setting("active_addons", `[]`))
	data := s.Get(fmt.Sprintf("/bookings/%v", made.At("data", "id"))).Want(http.StatusOK).At("data").(map[string]any)
	if data["extras"] != nil || data["cancellation_reason"] != nil {
		t.Errorf("without the add-on: %v", data)
	}
}
