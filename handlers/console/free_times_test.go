package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// TestFreeTimes: the page says of every start what the API says, with links to what is in the way and to where it is changed.
func TestFreeTimes(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t,
		`UPDATE wp_options SET option_value = 'https://practice.example' WHERE option_name = 'siteurl'`,
		`DELETE FROM wp_latepoint_bookings WHERE start_date BETWEEN '2026-12-07' AND '2026-12-09'`,
		`INSERT INTO wp_latepoint_bookings (id, booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
			VALUES (7001, 'CODE7001', 1, 1, 1, 'approved', '2026-12-08', 600, '2026-12-08', 660, 0, 15, 1)`,
		`INSERT INTO wp_bookside_holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees, expires_at, created_at)
			VALUES (1, 1, 1, 1, '2026-12-08', '2026-12-08', 780, 840, 60, 0, 15, 1, '2026-12-31 00:00:00', '2026-11-20 00:00:00')`,
		`INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (0, 0, 0, 0, 0, 3, '2026-12-09')`)
	const asked = "/console/bookings/free-times?agent=1&location=1&service=1&day="
	k.visitor().open(asked + "2026-12-08").leadsTo("/console/login")
	v := k.login()
	v.open(asked+"2026-12-08").says(http.StatusOK, "in Europe/Berlin", "22 of 32 starts are free", "Tuesday, 8 December 2026", `class="start free">09:45`, `class="start">10:00`, `class="start free">11:15`,
		"Another booking overlaps.", "too close to another booking", `href="/console/bookings/7001">Lena Hoffmann</a>`, `title="2026-12-08 09:00 UTC"`,
		`href="https://practice.example/wp-admin/admin.php?page=latepoint&route_name=bookings__index&filter%5Bid%5D=7001"`,
		"kept for somebody who is booking it", "too close to a time that is kept for somebody", `href="/console/bookings?day=2026-12-08"`, "route_name=agents__edit_form&id=1", "route_name=settings__work_periods")
	v.open(asked+"2026-12-09").says(http.StatusOK, "Nothing can be booked on Wednesday, 9 December 2026. That day is off.", "schedule of the agent", `href="/console/bookings/time-off#off-`, "Closed</a>", "the whole site")
	v.open("/console/bookings/free-times").says(http.StatusOK, "Nothing can be booked on Saturday, 21 November 2026. Nobody works on that day.", `value="2026-11-21"`)
	v.open("/console/bookings/free-times?service=6&day=2026-12-08").says(http.StatusOK, "not active")
	v.open("/console/bookings/free-times?service=99").says(http.StatusBadRequest, "Invalid input data. Service not found.")
	v.inGerman("/console/bookings/free-times?service=99").says(http.StatusBadRequest, "Die Angaben sind ungültig. Die Leistung gibt es nicht.")
	v.open("/console/bookings/free-times?service=1&booking=99999").says(http.StatusBadRequest, "Booking not found.")
	moved := v.open("/console/bookings/7001").says(http.StatusOK, "booking=7001", "/console/bookings/free-times?agent=1&")
	if path := regexp.MustCompile(`/console/bookings/free-times\?[^"]*`).FindString(moved.text); path != "" {
		own := v.open(path).says(http.StatusOK, "26 of 32 starts are free", `href="/console/bookings/7001">Booking 7001, as if it moved`)
		if strings.Contains(own.text, "Another booking overlaps.") {
			t.Error("a booking to be moved stands in its own way")
		}
	}
	v.open("/console/bookings?day=2026-12-08&view=week&id=2").says(http.StatusOK, "/console/bookings/free-times?agent=2&day=2026-12-08")
	v.open("/console/bookings/free-times?day=9999-12-31&agent=x&location=-1").says(http.StatusOK, `value="2026-11-21"`)
	leadFromEveryReason(t, database)
	c := k.fromWordPress(database)
	c.ask(http.MethodGet, "/wordpress/free-times?agent=1&location=1&service=1&day=2026-12-08", nil).contains(http.StatusOK,
		`{"day":"2026-12-08","service":1,"agent":1,"location":1,"services":[{"id":1,`, `"problems":null,"missing":"","free":22,"all":32,"starts":[{"times":["09:00",`, `"reason":"","message":"Free."`,
		`"reason":"booked","message":"Another booking overlaps.","extension":"","booking":{"id":7001,"code":"CODE7001","service":"`, `"customer":"Lena Hoffmann","date":"2026-12-08","start":600,"end":660},"places":[{"text":"the booking","page":"admin.php?page=latepoint\u0026route_name=bookings__index\u0026filter%5Bid%5D=7001"}]`,
		`"reason":"hold"`, `"booking":null,"places":[]`, `"places":[{"text":"schedule of the agent","page":"admin.php?page=latepoint\u0026route_name=agents__edit_form\u0026id=1"}`)
	c.ask(http.MethodGet, "/wordpress/free-times?service=1&agent=1&day=2026-12-09", nil).contains(http.StatusOK, `"missing":"That day is off.","free":0,"all":0,"starts":[],"places":[{"text":"schedule of the agent"`)
	c.ask(http.MethodGet, "/wordpress/free-times?service=99&user=5", nil).contains(http.StatusOK, `"problems":["Invalid input data.","Service not found."],"missing":""`, `"starts":[]`)
	k.kept.Flush(t.Context())
	c.ask(http.MethodGet, "/wordpress/requests", nil).contains(http.StatusOK, `"caller":"user","key_id":0,"key":"","user_id":5,"method":"GET","path":"/availability"`, `"caller":"console"`)
	database.Execute(t, "DELETE FROM wp_latepoint_services", "DELETE FROM wp_latepoint_agents")
	if empty := v.open("/console/bookings?view=week").says(http.StatusOK, "There is no active agent. Create one in LatePoint"); strings.Contains(empty.text, "Whose week") {
		t.Error("nobody's week can be chosen")
	}
	v.open("/console/bookings/free-times").says(http.StatusOK, "The site has no services yet. Create one in LatePoint")
	c.ask(http.MethodGet, "/wordpress/free-times", nil).contains(http.StatusOK, `"service":0,`, `"services":[]`)
}

// leadFromEveryReason checks that each reason of the API leads to what it is and to where it is changed, as far as it can be changed.
func leadFromEveryReason(t *testing.T, database *fixtures.Database) {
	t.Helper()
	reasons := []struct{ reason, cause, place string }{
		{`"booked","booking_id":1`, "/console/bookings/1", "filter%5Bid%5D=1"},
		{`"buffer","booking_id":1`, "/console/bookings/1", "filter%5Bid%5D=1"},
		{`"asset","booking_id":1`, "/console/bookings/1", "services__edit_form&id=2"},
		{`"asset"`, "/console/bookings?day=2026-12-08", "services__edit_form&id=2"},
		{`"booked"`, "/console/bookings?day=2026-12-08", ""},
		{`"hold"`, "/console/bookings?day=2026-12-08", ""},
		{`"capacity"`, "/console/bookings?day=2026-12-08", "services__edit_form&id=2"},
		{`"off_period"`, "/console/bookings?day=2026-12-08", "agents__edit_form&id=1"},
		{`"calendar"`, "/console/bookings?day=2026-12-08", "agents__edit_form&id=1"},
		{`"extension","extension":"House Rules"`, "", "/wp-admin/plugins.php"},
		{`"outside_window"`, "", "settings__general"},
		{`"past"`, "", ""},
	}
	var answer string
	k := serveSite(t, database, func(s *console.Site) {
		s.Ask = func(keys.Key, *http.Request) (int, http.Header, []byte) { return http.StatusOK, nil, []byte(answer) }
	})
	v := k.login()
	for _, r := range reasons {
		answer = fmt.Sprintf(`{"data":{"available_slots":[],"explain":{"missing":null,"unavailable":[{"start_time":"10:00","message":"Because.","reason":%s}]}}}`, r.reason)
		page := v.open("/console/bookings/free-times?service=2&agent=1&day=2026-12-08").says(http.StatusOK, "0 of 1 starts are free")
		_, row, _ := strings.Cut(page.text, `<th role="rowheader"`)
		row, _, _ = strings.Cut(row, "</tr>")
		if !strings.Contains(row, "Because.") || !strings.Contains(row, r.cause) || !strings.Contains(row, r.place) || strings.Contains(row, "wp-admin/") != (r.place != "") {
			t.Errorf("%s: %s", r.reason, row)
		}
		if r.cause != "" {
			v.open(r.cause).want(http.StatusOK)
		}
	}
	for missing, place := range map[string]string{"status": "services__edit_form&id=2", "connection": "agents__edit_form&id=1", "working_hours": "settings__work_periods", "day_off": "settings__work_periods", "long_hours": "settings__work_periods"} {
		answer = fmt.Sprintf(`{"data":{"available_slots":[],"explain":{"missing":%q,"message":"Because.","unavailable":[]}}}`, missing)
		v.open("/console/bookings/free-times?service=2&agent=1&location=1&day=2026-12-08").says(http.StatusOK, "Because.", place)
	}
}
