package handlers_test

import (
	"net/http"
	"slices"
	"testing"
)

// TestBookingsOffTheGridCanBeChanged: if date and time stay, what counts is whether the agent's time is
// open, not whether customers are offered it: a start that an administrator chose can be kept.
func TestBookingsOffTheGridCanBeChanged(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "09:00", "17:00",
		appointment{id: 11, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "10:40", end: "11:40"},
		appointment{id: 12, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "13:00", end: "14:00"},
		appointment{id: 13, agent: 2, service: 1, location: 1, date: "2026-11-24", start: "15:00", end: "16:00"},
		appointment{id: 14, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "16:40", end: "17:40"})
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET duration = 60",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (1, 'durations', '{\"a\":{\"duration\":\"90\"},\"b\":{\"duration\":\"180\"}}')",
		"DELETE FROM wp_latepoint_agents_services WHERE service_id = 1", "INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (1, 1, 1), (2, 1, 1)")
	offered := func(query string) bool {
		t.Helper()
		return slices.Contains(s.day(t, "booking_id=11&date=2026-11-24"+query).AvailableSlots, "10:40")
	}
	put := func(body string, want int) {
		t.Helper()
		s.write(http.MethodPut, "/bookings/11", body).want(want)
	}
	for query, want := range map[string]bool{
		"": true, "&duration=90": true, "&duration=180": false, "&agent_id=2": true, "&agent_id=any": true, "&agent_id=2&duration=180": true,
	} {
		if got := offered(query); got != want {
			t.Errorf("the own start is offered for %q: %t", query, got)
		}
	}
	if slices.Contains(s.day(t, "service_id=1&agent_id=2&location_id=1&date=2026-11-24").AvailableSlots, "10:40") {
		t.Error("10:40 is offered to others")
	}
	put(`{"duration":180}`, http.StatusConflict)
	put(`{"duration":90}`, http.StatusOK)
	put(`{"agent_id":2}`, http.StatusOK)
	put(`{"agent_id":1,"duration":60}`, http.StatusOK)
	put(`{"status":"cancelled"}`, http.StatusOK)
	put(`{"status":"approved"}`, http.StatusOK)
	put(`{"start_date":"2026-11-24","start_time":"10:40","status":"cancelled"}`, http.StatusOK)
	if !offered("") {
		t.Error("the start of a cancelled booking is not offered to it")
	}
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = 670, end_time = 730 WHERE id = 13", "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE id = 13")
	if offered("") {
		t.Error("an own start that is taken is offered")
	}
	put(`{"status":"approved"}`, http.StatusConflict)
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 2 WHERE id = 13")
	put(`{"status":"approved"}`, http.StatusOK)
	// A different start must be one that customers are offered; the booking's own may lie outside their
	// window.
	put(`{"start_time":"10:50"}`, http.StatusConflict)
	s.database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('earliest_possible_booking', '+2 weeks')")
	if !offered("") || len(s.day(t, "booking_id=11&date=2026-11-24").AvailableSlots) != 1 {
		t.Error("only the own start can be kept outside the window")
	}
	put(`{"duration":90}`, http.StatusOK)
	put(`{"start_time":"14:00"}`, http.StatusConflict)
	// A day without the booking has only what everybody is offered, and closed time is not open.
	if slices.Contains(s.day(t, "booking_id=11&date=2026-12-15").AvailableSlots, "10:40") {
		t.Error("10:40 is offered on another day")
	}
	s.write(http.MethodPut, "/bookings/14", `{"agent_id":2}`).want(http.StatusConflict)
	if slices.Contains(s.day(t, "booking_id=14&date=2026-11-24").AvailableSlots, "16:40") {
		t.Error("a start that runs past the working hours is offered")
	}
}
