package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// TestTimeOff: time off is rehearsed with the bookings in it, entered once as the API enters it, and ended; the journal has
// the name of the administrator.
func TestTimeOff(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // the embedded engine has no checksums of tables
	k, database := serveDay(t)
	v := k.login()
	const path = "/console/bookings/time-off/new"
	v.open("/console/bookings?day=2026-12-06&view=week&id=2").says(http.StatusOK, path+"?agent_id=2&date=2026-12-06")
	if form := v.open(path + "?agent_id=2&date=2026-12-06").form(path); form.Get("agent_id") != "2" || form.Get("date") != "2026-12-06" {
		t.Errorf("the form begins with %v", form)
	}
	day := url.Values{"agent_id": {"1"}, "date": {"2026-12-06"}}
	v.fill(path, url.Values{"date": {""}, "date_to": {"2026-12-06"}}).says(http.StatusBadRequest, `id="date-error"`)
	v.fill(path, url.Values{"date": {"2026-11-01"}}).says(http.StatusUnprocessableEntity, `id="date-error"`, "past")
	v.fill(path, merge(day, url.Values{"start_time": {"20:00"}, "end_time": {"00:00"}})).says(http.StatusUnprocessableEntity, `id="start_time-error"`, "Pro Features")

	before := database.Snapshot(t)
	rehearsed := v.fill(path, merge(day, url.Values{"note": {"Training"}})).says(http.StatusOK, "Sunday, 6 December 2026", "Miriam Albers", "/console/bookings/7001", "/console/bookings/7002", "it is not stored")
	if changes := changesOfSite(t, before); len(changes) > 0 {
		t.Fatalf("the rehearsal wrote %v", changes)
	}
	form := rehearsed.form(path)
	v.post(path, merge(form, url.Values{"csrf": {"x"}})).says(http.StatusForbidden, "earlier login")
	for range 2 {
		v.post(path, form).leadsTo("/console/bookings/time-off?done=entered")
	}
	got := changesOfSite(t, before)
	before.Restore(t)
	k.write(http.MethodPost, "/v1/time-off", `{"agent_id":1,"date":"2026-12-06"}`)
	if diff := cmp.Diff(changesOfSite(t, before), got); diff != "" || len(got) != 1 {
		t.Errorf("(-API +console):\n%s", diff)
	}
	var person string
	if err := database.SQL.QueryRow("SELECT person FROM wp_bookside_change_inbox WHERE resource = 'agents' AND resource_id = 1 AND origin = 'console'").Scan(&person); err != nil || person != "ada" {
		t.Errorf("the journal has %q, %v", person, err)
	}

	var row int64
	if err := database.SQL.QueryRow("SELECT MAX(id) FROM wp_latepoint_work_periods").Scan(&row); err != nil {
		t.Fatal(err)
	}
	end := fmt.Sprintf("/console/bookings/time-off/%d/delete", 2*row)
	v.open("/console/bookings/time-off?done=entered").says(http.StatusOK, "The time off was entered.", "Sunday, 6 December 2026", "Miriam Albers", end)
	v.open("/console/bookings?day=2026-12-06").says(http.StatusOK, end)
	asked := v.open(end).says(http.StatusOK, "Sunday, 6 December 2026", "Miriam Albers")
	v.post(end, merge(asked.form(end), url.Values{"csrf": {"x"}})).says(http.StatusForbidden, "earlier login")
	v.post(end, merge(asked.form(end), url.Values{"tag": {`"other"`}})).says(http.StatusPreconditionFailed, "Somebody has changed this time off")

	reader := serveSite(t, database, func(site *console.Site) { site.ReadOnly = true }).login()
	nothing := reader.open("/console/bookings/time-off").form("/console/logout")
	for _, path := range []string{path, end} {
		reader.open(path).says(http.StatusForbidden, "admin.read_only")
		reader.post(path, nothing).says(http.StatusForbidden, "admin.read_only")
	}
	for _, path := range []string{"/console/bookings/time-off", "/console/bookings?day=2026-12-06"} {
		if shown := reader.open(path).text; strings.Contains(shown, end) || strings.Contains(shown, "/time-off/new") {
			t.Errorf("%s of a read-only console offers time off", path)
		}
	}

	for range 2 {
		v.post(end, asked.form(end)).leadsTo("/console/bookings/time-off?done=ended")
	}
	if changes := changesOfSite(t, before); len(changes) > 0 {
		t.Errorf("after the end, %v is left", changes)
	}
	v.open(end).says(http.StatusNotFound, "There is no such time off")
	v.open("/console/bookings/time-off/x/delete").want(http.StatusNotFound)
}
