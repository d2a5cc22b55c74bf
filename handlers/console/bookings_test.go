package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// aDay has, for 2026-12-06 and agent 1, two bookings that overlap, one that is cancelled and a hold, and for agent 2 a booking
// that goes on after midnight.
var aDay = []string{
	overlapping,
	`UPDATE wp_latepoint_bookings SET booking_code = CONCAT('CODE', id), status = IF(id = 7003, 'pending', status) WHERE id > 7000`,
	`INSERT INTO wp_latepoint_bookings (id, booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
		VALUES (7005, 'CODE7005', 1, 1, 1, 'cancelled', '2026-12-06', 700, '2026-12-06', 760, 0, 0, 3)`,
	`INSERT INTO wp_bookside_holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees, expires_at, created_at)
		VALUES (1, 1, 1, 1, '2026-12-06', '2026-12-06', 780, 840, 60, 0, 0, 1, '2026-12-31 00:00:00', '2026-11-20 00:00:00')`,
	`INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (0, 0, 0, 0, 0, 1, '2026-12-07'), (0, 1, 0, 0, 0, 2, '2026-12-08')`,
}

// item returns the element of the agenda that leads to a booking, with its classes.
func (p page) item(id string) string {
	p.t.Helper()
	for part := range strings.SplitSeq(p.text, "<li ") {
		if item, _, _ := strings.Cut(part, "</li>"); strings.Contains(item, `href="/console/bookings/`+id+`"`) {
			return item
		}
	}
	p.t.Fatalf("no booking %s", id)
	return ""
}

func TestAgenda(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t, aDay...)
	k.visitor().open("/console/bookings").leadsTo("/console/login")
	v := k.login()
	v.open("/console/bookings").says(http.StatusOK, "Saturday, 21 November 2026", "in Europe/Berlin", "Miriam Albers", `href="/console/agenda.css"`)

	day := v.open("/console/bookings?day=2026-12-06").says(http.StatusOK, "Sunday, 6 December 2026", "closed", "Held for a customer", "13:00–14:00")
	for id, wants := range map[string][]string{
		// 09:00 is the first hour that is shown; Berlin is an hour ahead of UTC.
		"7001": {"booking from-0 for-12 lane-1 approved overlaps", "09:00–10:00", `title="2026-12-06 08:00 UTC"`, "Quick check, overlaps"},
		"7002": {"booking from-6 for-13 lane-2 approved overlaps", "09:30–10:35"},
	} {
		for _, want := range wants {
			if item := day.item(id); !strings.Contains(item, want) {
				t.Errorf("%s lacks %q", item, want)
			}
		}
	}
	if strings.Contains(day.text, "/console/bookings/7005") {
		t.Error("a cancelled booking is in the agenda")
	}
	if first, second := strings.Index(day.text, "bookings/7001"), strings.Index(day.text, "bookings/7002"); first > second {
		t.Error("the later booking comes first")
	}
	if item := v.open("/console/bookings?day=2026-12-14&by=agent").item("7003"); !strings.Contains(item, "00:00–00:30") || !strings.Contains(item, "pending") {
		t.Errorf("the rest after midnight: %s", item)
	}
	database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE id = 7003")
	if item := v.open("/console/bookings?day=2026-12-13").item("7003"); !strings.Contains(item, "23:00–24:00") || !strings.Contains(item, "overlaps") {
		t.Errorf("until midnight: %s", item)
	}
	v.open("/console/bookings?day=2026-12-07").says(http.StatusOK, "the whole day</span> <a", "Closed")
	v.open("/console/bookings?day=2026-12-08").says(http.StatusOK, "Time off of Quick check")
	week := v.open("/console/bookings?day=2026-12-06&view=week&id=1").says(http.StatusOK, "Week of Monday, 30 November 2026", "Mon 30 Nov", "Sun 6 Dec")
	if item := week.item("7001"); !strings.Contains(item, "lane-1") {
		t.Errorf("in a week: %s", item)
	}
	if other := v.open("/console/bookings?day=2026-12-06&view=week&id=2"); strings.Contains(other.text, "bookings/7001") {
		t.Error("the week of another agent has the booking")
	}
	v.open("/console/bookings?day=2026-12-06&by=location").says(http.StatusOK, "Practice by the Park", "with Miriam Albers")
	database.Execute(t, "DROP TABLE wp_bookside_holds", "DELETE FROM wp_latepoint_agents WHERE id = 2", "UPDATE wp_latepoint_bookings SET location_id = NULL WHERE id = 7002",
		`INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (0, 0, 0, 0, 1440, 7, '2026-12-06')`)
	broken := v.open("/console/bookings?day=2026-12-06").says(http.StatusOK, "open 00:00–24:00", "the table wp_bookside_holds is missing. Bookside makes it again when it is restarted.")
	if strings.Contains(broken.text, "in no column") {
		t.Error("a booking has no column, though its agent exists")
	}
	v.open("/console/bookings?day=2026-12-06&by=location").says(http.StatusOK, "1 booking is in no column: the location was deleted, or there is none.", `<a href="/console/bookings/list?when=all&from=2026-12-06&to=2026-12-06">See all in the list</a>`)
	v.open("/console/bookings?day=2026-12-14").says(http.StatusOK, "in no column: the agent was deleted.")
	v.open("/console/bookings?day=2026-12-14&by=location").says(http.StatusOK, ", a deleted agent")
	for _, odd := range []string{"day=2026-13-01", "day=9999-12-31", "page=-1", "page=99", "id=x&view=week", "day=0000-00-00"} {
		v.open("/console/bookings?" + odd).want(http.StatusOK)
	}
}

// TestBookingList: parts, filters and search of the list show some bookings and no others.
func TestBookingList(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t, aDay...)
	v := k.login()
	for query, found := range map[string]struct{ with, without string }{
		"": {"", "7005"},
		"?when=cancelled&from=2026-12-06&to=2026-12-06": {"7005", "7001"},
		"?when=all&from=2026-12-06&to=2026-12-06":       {"7005", "7003"},
		"?from=2026-12-06&to=2026-12-13&status=pending": {"7003", "7002"},
		"?from=2026-12-06&to=2026-12-14&agent=2":        {"7003", "7001"},
		"?when=all&customer=3&from=2026-12-06":          {"7005", "7001"},
		"?from=2026-12-06&to=2026-12-06&location=2":     {"", "7001"},
		"?q=CODE7002": {"7002", "7001"},
		"?q=code70&from=2026-12-06&to=2026-12-06": {"7002", "7003"},
		"?q=ODE7002":                      {"", "7002"},
		"?q=%FFCODE70%ED%A0%8002%C3":      {"7002", "7001"},
		"?when=past&from=2026-12-06":      {"", "7001"},
		"?status=none&agent=x&from=never": {"", "7005"},
	} {
		list := v.open("/console/bookings/list"+query).says(http.StatusOK, "Bookings", "in Europe/Berlin")
		if found.with != "" && !strings.Contains(list.text, "CODE"+found.with) || strings.Contains(list.text, "CODE"+found.without) {
			t.Errorf("%s: not with %s, or with %s", query, found.with, found.without)
		}
	}
	v.open("/console/bookings/list?q=nobody+at+all").says(http.StatusOK, `<p role="status">No booking was found for nobody at all: try another part`)
	v.open("/console/bookings/list?q=7002").leadsTo("/console/bookings/7002")
	v.open("/console/bookings/list?when=all").says(http.StatusOK, "1–50 of ", "page=2")
	v.open("/console/bookings/list?when=all&page=2").says(http.StatusOK, "51–100 of ", "page=1", "page=3")
	v.open("/console/bookings/list?when=all&page=2000").says(http.StatusOK, "There are no such bookings: try another part")
}

// TestBookingPage: a booking has its facts, its history and what extensions were told, with links both ways.
func TestBookingPage(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t, append(aDay,
		"REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 2)",
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id, old_status, new_status, agent_id, service_id, location_id) VALUES
			(1, 'bookings', 7001, 'updated', '2026-11-20 10:00:00', 'api', 1, 'approved', 'pending', 1, 1, 1), (2, 'bookings', 7002, 'deleted', '2026-11-20 10:00:00', 'site', 3, NULL, NULL, 1, 1, 1)`,
		`INSERT INTO wp_bookside_events (event, record_id, status, tries, due_at, failure, created_at) VALUES
			('booking_updated', 7001, 'failed', 1, '2026-11-20 10:00:00', 'Zoom was not told', '2026-11-20 10:00:00'), ('booking_updated', 7002, 'failed', 1, '2026-11-20 10:00:00', 'of another', '2026-11-20 10:00:00')`,
		`INSERT INTO wp_latepoint_activities (booking_id, code, description, initiated_by, initiated_by_id, created_at) VALUES
			(7001, 'booking_change_status', 'Termin <b>bewegt</b>', 'admin', 3, '2026-11-20 09:00:00'), (7001, 'booking_updated', '{"booking_data_vars":{"new":{}}}', 'agent', 2, '2026-11-20 09:01:00'),
			(7001, 'email_sent', '{"status":"success","to":"lena@example.org","extra_data":{"subject":"Your appointment"}}', '', 0, '2026-11-20 09:02:00'), (7001, 'darsna_paid', NULL, 'customer', 1, '2026-11-20 09:03:00'),
			(7001, 'order_intent_updated', 'of an order', '', 0, '2026-11-20 09:00:00'), (7002, 'booking_change_status', 'of another', 'admin', 3, '2026-11-20 09:00:00')`)...)
	v := k.login()
	booking := v.open("/console/bookings/7001").says(http.StatusOK, "Booking 7001", "approved", "Sun 6 Dec 2026, 09:00–10:00", "2026-12-06 08:00 UTC", "CODE7001", "60 minutes", "Miriam Albers", "Quick check",
		"approved → pending", t.Name(), "2026-11-20 11:00", "Zoom was not told", "route_name=bookings__index", "when=all&customer=1", "/console/bookings?day=2026-12-06",
		"Status changed", "WordPress user 3", "Termin <b>bewegt</b>", "2026-11-20 10:00", "agent 2", "lena@example.org: Your appointment", "nobody who was logged in", "Darsna paid", "the customer")
	if strings.Contains(string(booking.body), "<b>bewegt") {
		t.Error("a description is not escaped")
	}
	for _, other := range []string{"deleted", "of another", "of an order"} {
		if strings.Contains(booking.text, other) {
			t.Errorf("the page has what belongs to another booking: %s", other)
		}
	}
	v.inGerman("/console/bookings/7001").says(http.StatusOK, "Status geändert", "niemand, der angemeldet war").wantGerman("a booking")
	v.open("/console/bookings/7005").says(http.StatusOK, "LatePoint's activity log has nothing about this booking.")
	v.open("/console/journal").says(http.StatusOK, `href="/console/bookings/7001"`, ">"+t.Name()+"<")
	for _, id := range []string{"99999", "x", "-1", "0"} {
		v.open("/console/bookings/"+id).says(http.StatusNotFound, "There is no such booking")
	}
}
