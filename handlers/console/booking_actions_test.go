package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// write sends a request to the API with a key, and fails the test unless it succeeds.
func (a *api) write(method, path, body string) {
	a.t.Helper()
	request := httptest.NewRequestWithContext(a.t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", a.key)
	recorder := httptest.NewRecorder()
	a.handler.ServeHTTP(recorder, request)
	if recorder.Code >= http.StatusBadRequest {
		a.t.Fatalf("%s %s: %d %s", method, path, recorder.Code, recorder.Body)
	}
}

var manageKey = regexp.MustCompile(`key=[0-9a-f]+`)

// changesOfSite returns what changed in the tables of the site, without the ids of new rows and random keys.
func changesOfSite(t *testing.T, before *fixtures.Snapshot) (changes []fixtures.Change) {
	t.Helper()
	for _, c := range fixtures.Changes(before, before.Again(t)) {
		if !strings.HasPrefix(c.Table, "latepoint_") {
			continue
		}
		if c.Op == fixtures.Insert {
			c.Key = ""
			delete(c.Values, "id")
		}
		if text, ok := c.Values["description"].(string); ok {
			c.Values["description"] = manageKey.ReplaceAllString(text, "")
		}
		if key, _ := c.Values["meta_key"].(string); strings.HasPrefix(key, "key_to_manage") {
			delete(c.Values, "meta_value")
		}
		changes = append(changes, c)
	}
	return changes
}

// serveDay serves the console of a site with aDay, on which agent 1 works from 8 to 20 and booking 7005 is pending.
func serveDay(t *testing.T) (*consoleServer, *fixtures.Database) {
	t.Helper()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t, aDay...)
	database.Execute(t, `INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (1, 0, 0, 480, 1200, 7, '2026-12-06')`,
		`UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 7005`)
	return k, database
}

// TestBookingActions: an action is rehearsed, changes what the operation of the API changes, and is in the journal with the
// name of the administrator.
func TestBookingActions(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // the embedded engine has no checksums of tables
	k, database := serveDay(t)
	database.Execute(t, `INSERT INTO wp_latepoint_bookings (id, booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
		VALUES (7006, 'CODE7006', 1, 1, 1, 'approved', '2026-11-20', 600, '2026-11-20', 615, 0, 0, 3)`)
	v := k.login()
	v.open("/console/bookings/7005").says(http.StatusOK, "7005/approve", "7005/decline", "7005/reschedule", "7005/cancel")
	v.open("/console/bookings/7006").says(http.StatusOK, "7006/no-show")
	if approved := v.open("/console/bookings/7001"); strings.Contains(approved.text, "7001/decline") || strings.Contains(approved.text, "7001/approve") || strings.Contains(approved.text, "7001/no-show") {
		t.Error("an approved booking to come can be approved, declined or a no-show")
	}
	before := database.Snapshot(t)
	for _, c := range []struct {
		id, action   string
		sent         url.Values
		says         []string
		method, body string // of the API
		target       string
		done         string
	}{
		{"7005", "approve", url.Values{"send_notification": {"1"}}, []string{"pending → approved", "as its settings and workflows say"}, http.MethodPost, `{"send_notification":true}`, "/approve", "The booking was approved."},
		{"7005", "decline", url.Values{"reason": {"The room is closed"}}, []string{"pending → cancelled", "The room is closed", "none are sent", "the reason is not stored"}, http.MethodPost, `{"reason":"The room is closed"}`, "/decline", "The booking was declined."},
		{"7002", "cancel", nil, []string{"approved → cancelled"}, http.MethodPost, "{}", "/cancel", "The booking was cancelled."},
		{"7001", "reschedule", url.Values{"start_time": {"16:00"}, "location_id": {"2"}}, []string{"09:00 → 16:00", "Practice by the Park → Studio by the Canal"},
			http.MethodPut, `{"start_time":"16:00","location_id":2}`, "", "The booking was rescheduled."},
		{"7006", "no-show", nil, []string{"approved → no show"}, http.MethodPut, `{"status":"no_show"}`, "", "The booking was marked as a no-show."},
	} {
		path := "/console/bookings/" + c.id + "/" + c.action
		rehearsed := v.fill(path, c.sent).says(http.StatusOK, c.says...)
		if changes := changesOfSite(t, before); len(changes) > 0 {
			t.Fatalf("the rehearsal of %s wrote %v", c.action, changes)
		}
		v.post(path, rehearsed.form(path)).leadsTo("/console/bookings/" + c.id + "?done=" + c.action)
		v.open("/console/bookings/"+c.id+"?done="+c.action).says(http.StatusOK, c.done)
		got := changesOfSite(t, before)
		before.Restore(t)
		k.write(c.method, "/v1/bookings/"+c.id+c.target, c.body)
		want := changesOfSite(t, before)
		before.Restore(t)
		if len(want) == 0 {
			t.Errorf("%s changes nothing", c.action)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-API +console):\n%s", c.action, diff)
		}
		var origin, person string
		stmt := "SELECT origin, person FROM wp_bookside_change_inbox WHERE resource = 'bookings' AND resource_id = ? ORDER BY id LIMIT 1"
		if err := database.SQL.QueryRow(stmt, c.id).Scan(&origin, &person); err != nil || origin != "console" || person != "ada" {
			t.Errorf("%s: the journal has %q of %q, %v", c.action, origin, person, err)
		}
		database.Execute(t, "DELETE FROM wp_bookside_change_inbox")
	}
}

// TestRefusedActions: what the API refuses is said in words beside its field, and nothing is done for a form that is stale,
// foreign or sent twice, or on a console that may only read.
func TestRefusedActions(t *testing.T) {
	t.Parallel()
	k, database := serveDay(t)
	v := k.login()
	stored := func(id string) (booking string) {
		t.Helper()
		if err := database.SQL.QueryRow("SELECT CONCAT_WS(' ', status, DATE_FORMAT(start_date, '%Y-%m-%d'), start_time, agent_id) FROM wp_latepoint_bookings WHERE id = ?", id).Scan(&booking); err != nil {
			t.Fatal(err)
		}
		return booking
	}
	reschedule, cancel := "/console/bookings/7001/reschedule", "/console/bookings/7001/cancel"
	v.fill(reschedule, url.Values{"start_date": {"someday"}}).says(http.StatusBadRequest, "Nothing was saved", `id="start_date-error"`)
	taken := v.fill(reschedule, url.Values{"start_time": {"09:45"}}).says(http.StatusConflict, `id="start_time-error"`, "This time is not free.", "Taken by", "/console/bookings/7002", "Free that day", `value="17:00"`)
	for _, refused := range []struct {
		status int
		values url.Values
		says   []string
	}{
		{http.StatusConflict, url.Values{"start_time": {"13:15"}}, []string{"It is kept for somebody who is booking it right now", "free-times?agent=1&booking=7001&day=2026-12-06&location=1&service=1"}},
		{http.StatusConflict, url.Values{"start_time": {"21:00"}}, []string{"It is outside of the working hours"}},
		{http.StatusConflict, url.Values{"start_date": {"2026-12-07"}}, []string{"That day is off.", "free-times?agent=1&booking=7001&day=2026-12-07&location=1&service=1"}},
		{http.StatusConflict, url.Values{"location_id": {"2"}}, []string{"is not active.", "free-times?agent=1&booking=7001&day=2026-12-06&location=2&service=1"}},
	} {
		if refused.values.Has("location_id") {
			database.Execute(t, "UPDATE wp_latepoint_locations SET status = 'disabled' WHERE id = 2")
		}
		v.fill(reschedule, refused.values).says(refused.status, append(refused.says, "Why not")...)
	}
	// A free time is a button that rehearses it.
	chosen := v.post(reschedule, merge(taken.form(reschedule), url.Values{"start_time": {"17:00"}})).says(http.StatusOK, "09:00 → 17:00")

	v.post(reschedule, merge(chosen.form(reschedule), url.Values{"csrf": {"x"}})).says(http.StatusForbidden, "earlier login")
	rehearsed := v.fill(cancel, nil)
	database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 2, updated_at = '2026-11-20 00:00:00' WHERE id = 7001")
	shown := v.post(cancel, rehearsed.form(cancel)).says(http.StatusPreconditionFailed, "Somebody has changed the booking in the meantime", "See what would change")
	if got := stored("7001"); got != "approved 2026-12-06 540 2" {
		t.Fatalf("a refused form wrote %s", got)
	}
	v.post(cancel, shown.form(cancel)).says(http.StatusOK, "approved → cancelled")

	decline := "/console/bookings/7005/decline"
	form := v.fill(decline, nil).form(decline)
	var sent sync.WaitGroup
	for range 2 { // a double click
		sent.Go(func() { v.post(decline, form).leadsTo("/console/bookings/7005?done=decline") })
	}
	sent.Wait()
	v.post(decline, form).leadsTo("/console/bookings/7005?done=decline")
	var changes int
	if err := database.SQL.QueryRow("SELECT COUNT(*) FROM wp_bookside_change_inbox WHERE resource = 'bookings'").Scan(&changes); err != nil || changes != 1 {
		t.Errorf("%d changes, %v", changes, err)
	}
	v.fill(decline, nil).says(http.StatusOK, "stays as it is")
	v.fill("/console/bookings/7002/decline", nil).says(http.StatusUnprocessableEntity, "<li>Only a pending booking can be declined;")
	v.open("/console/bookings/7001/explode").want(http.StatusNotFound)
	v.open("/console/bookings/7002/no-show").want(http.StatusNotFound) // it has not begun
	v.open("/console/bookings/77777/cancel").want(http.StatusNotFound)

	reader := serveSite(t, database, func(site *console.Site) { site.ReadOnly = true }).login()
	if page := reader.open("/console/bookings/7002"); strings.Contains(page.text, "/cancel") {
		t.Error("a read-only console offers actions")
	}
	reader.open("/console/bookings/7002/cancel").says(http.StatusForbidden, "admin.read_only")
	reader.post("/console/keys/new", merge(reader.open("/console/keys/new").form("/console/keys/new"), url.Values{"name": {"detour"}, "kind": {"live"}, "permissions": {"write_bookings"}})).
		says(http.StatusForbidden, "admin.read_only")
	reader.post("/console/bookings/7002/cancel", merge(reader.open("/console/bookings").form("/console/logout"), url.Values{"confirmed": {"1"}})).says(http.StatusForbidden, "admin.read_only")
	if got := stored("7002"); got != "approved 2026-12-06 570 1" {
		t.Errorf("a read-only console wrote %s", got)
	}
}
