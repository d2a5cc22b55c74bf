package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
)

// inZone sets the zone of a server's site.
func (s *server) inZone(t testing.TB, zone string) {
	t.Helper()
	s.database.Execute(t, "UPDATE wp_options SET option_value = '"+zone+"' WHERE option_name = 'timezone_string'")
}

// night returns the body of a booking of service 1 with agent 1.
func night(date, start string, fields ...string) string {
	return fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":%q%s}`, date, start, strings.Join(append([]string{""}, fields...), ","))
}

// TestNobodyIsBookedTwiceAsTheClockChanges: bookings are compared by instant, wherever a booking can be
// made. TestConflictsOnTheNightOfTheChange and TestDeviations have the nights.
func TestNobodyIsBookedTwiceAsTheClockChanges(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "00:00", "26:00")
	s.inZone(t, "America/New_York")
	const question = "service_id=1&agent_id=1&location_id=1&date="
	for _, route := range []string{"/bookings", "/holds"} {
		made := s.write(http.MethodPost, route, night("2027-03-14", "01:30")).want(http.StatusCreated)
		offered := s.day(t, question+"2027-03-14").AvailableSlots
		for start, taken := range map[string]bool{"00:30": false, "01:00": true, "01:30": true, "03:00": true, "03:30": false} {
			if slices.Contains(offered, start) == taken {
				t.Errorf("%s: %s is offered: %t", route, start, !taken)
			}
			if taken {
				s.write(http.MethodPost, "/bookings", night("2027-03-14", start)).want(http.StatusConflict)
				s.write(http.MethodPost, "/holds", night("2027-03-14", start)).want(http.StatusConflict)
			}
		}
		s.write(http.MethodDelete, fmt.Sprintf("%s/%v?force=true", route, made.at("data", "id")), "")
	}
	// Across midnight into the day of the gap.
	s.inZone(t, "America/Santiago")
	late := s.write(http.MethodPost, "/bookings", night("2027-09-04", "23:30")).want(http.StatusCreated)
	if end, offered := late.at("data", "end_time"), s.day(t, question+"2027-09-05").AvailableSlots; end != "01:30" || offered[0] != "01:30" {
		t.Errorf("ends at %v, and the next day begins at %s", end, offered[0])
	}
}

// TestEndsOfABookingAgree: end_time, end_date, end_datetime, the stored UTC column, the slot, the hold and
// the calendar agree on the end, whatever the clock does, even for ends that the plugin stored.
func TestEndsOfABookingAgree(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "00:00", "24:00")
	calendar := s.calendar(keys.Busy, domain.AgentResource, 1)
	for name, c := range map[string]struct {
		zone, date, start string
		end, endUTC       string
	}{
		"until midnight":       {"America/New_York", "2027-01-15", "23:00", "24:00", "2027-01-16 05:00:00"},
		"into the gap":         {"America/New_York", "2027-03-14", "01:30", "03:30", "2027-03-14 07:30:00"},
		"up to the gap":        {"America/New_York", "2027-03-14", "01:00", "03:00", "2027-03-14 07:00:00"},
		"into the second hour": {"America/New_York", "2027-11-07", "00:30", "01:30", "2027-11-07 05:30:00"},
		"Berlin in autumn":     {"Europe/Berlin", "2027-10-31", "02:30", "03:30", "2027-10-31 02:30:00"},
		"Berlin in spring":     {"Europe/Berlin", "2027-03-28", "01:45", "03:45", "2027-03-28 01:45:00"},
	} {
		t.Run(name, func(t *testing.T) {
			s.inZone(t, c.zone)
			s.database.Execute(t, "UPDATE wp_latepoint_services SET timeblock_interval = 15 WHERE id = 1")
			question := "service_id=1&agent_id=1&location_id=1&date=" + c.date
			day := s.day(t, question)
			i := slices.Index(day.AvailableSlots, c.start)
			if i < 0 || day.Slots[i].EndTime != c.end {
				t.Errorf("the slot is %+v, want the end %s", day.Slots, c.end)
			}
			hold := s.write(http.MethodPost, "/holds", night(c.date, c.start)).want(http.StatusCreated)
			if end := hold.at("data", "end_time"); end != c.end {
				t.Errorf("the hold ends at %v, want %s", end, c.end)
			}
			id := fmt.Sprint(s.write(http.MethodPost, "/bookings", night(c.date, c.start, fmt.Sprintf(`"hold_id":%v`, hold.at("data", "id")))).want(http.StatusCreated).at("data", "id"))
			agree := func(by, end string) {
				t.Helper()
				b := s.get("/bookings/" + id).want(http.StatusOK)
				stored := s.texts("SELECT end_datetime_utc FROM wp_latepoint_bookings WHERE id = " + id)[0]
				at, err := time.Parse(time.RFC3339, fmt.Sprint(b.at("data", "end_datetime")))
				if err != nil || b.at("data", "end_time") != end || at.UTC().Format(time.DateTime) != c.endUTC {
					t.Errorf("%s: ends at %v, %v, want %s, %s", by, b.at("data", "end_time"), b.at("data", "end_datetime"), end, c.endUTC)
				}
				wantEqual(t, c.endUTC, stored, "%s is stored", by)
				want := strings.NewReplacer("-", "", ":", "", " ", "T").Replace(c.endUTC) + "Z"
				if c.date < "2027-11-20" && !strings.Contains(string(s.read(calendar).body), "DTEND:"+want) {
					t.Errorf("%s: not in the calendar: %s", by, want)
				}
			}
			agree("created", c.end)
			// As the plugin stores it: by the wall clock.
			wall := minutesOf(t, c.start) + 60
			s.database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_bookings SET end_time = %d WHERE id = %s", wall, id))
			agree("as the plugin stores it", clockOf(wall))
			s.database.Execute(t, "DELETE FROM wp_latepoint_bookings")
		})
	}
}

// TestBookingsWithoutUsableEnd: a stored end that is missing, before the start, or after the next day, counts as start
// plus duration, see TestStoredEnd. That end is shown, and stored once the slot changes.
func TestBookingsWithoutUsableEnd(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newQuietServer(t, "09:00", "12:00", appointment{id: 11, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "09:30", end: "10:30"})
	for name, c := range map[string]struct{ set, first string }{
		"as booked":              {"end_date = '2026-11-24'", "10:30"},
		"at the end of all days": {"end_date = '9999-12-31'", "10:30"},
		"before the start":       {"end_date = start_date, end_time = 500", "10:30"},
		"without an end date":    {"end_date = NULL", "10:30"},
		"without an end time":    {"end_time = NULL, duration = 90", "11:00"},
		"at minute 0":            {"end_time = 0, duration = 90", "11:00"},
		"and NULL buffers":       {"end_date = NULL, buffer_before = NULL, buffer_after = NULL", "10:30"},
		"until noon of the next": {"end_date = '2026-11-25', end_time = 720", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.database.Execute(t, "UPDATE wp_latepoint_bookings SET end_date = start_date, end_time = 630, duration = 60", "UPDATE wp_latepoint_bookings SET "+c.set)
			const question = "service_id=1&agent_id=1&location_id=1"
			starts := s.day(t, question+"&date=2026-11-24").AvailableSlots
			if c.first == "" && len(starts) > 0 || c.first != "" && (len(starts) == 0 || starts[0] != c.first) {
				t.Errorf("%v, want from %s on", starts, c.first)
			}
			if next := s.day(t, question+"&date=2026-11-25").AvailableSlots; len(next) != map[bool]int{true: 0, false: 5}[c.first == ""] {
				t.Errorf("on the next day %v", next)
			}
			b := s.get("/bookings/11").want(http.StatusOK)
			want := []string{"2026-11-24", c.first}
			if c.first == "" {
				want = []string{"2026-11-25", "12:00"}
			}
			shown := []string{fmt.Sprint(b.at("data", "end_date")), fmt.Sprint(b.at("data", "end_time"))}
			end, err := time.Parse(time.RFC3339, fmt.Sprint(b.at("data", "end_datetime")))
			if listed := s.get("/bookings").at("data", 0, "end_time"); err != nil || !slices.Equal(shown, want) || listed != want[1] || end.Format("2006-01-02 15:04") != strings.Join(want, " ") {
				t.Errorf("ends at %q, %v in the list, and %s, want %q", shown, listed, end, want)
			}
			const stored = "SELECT CONCAT_WS(' ', DATE_FORMAT(end_date, '%Y-%m-%d'), end_time, end_datetime_utc) FROM wp_latepoint_bookings"
			before := s.texts(stored)
			s.write(http.MethodPut, "/bookings/11", `{"status":"cancelled"}`).want(http.StatusOK)
			if after := s.texts(stored); !slices.Equal(before, after) {
				t.Errorf("%s became %s", before, after)
			}
			s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved'")
			if c.first == "" {
				return // no other agent works then
			}
			s.database.Execute(t, "UPDATE wp_latepoint_agents_services SET agent_id = 2 WHERE agent_id = 1 AND service_id = 1")
			s.write(http.MethodPut, "/bookings/11", `{"agent_id":2}`).want(http.StatusOK)
			s.database.Execute(t, "UPDATE wp_latepoint_agents_services SET agent_id = 1 WHERE agent_id = 2 AND service_id = 1", "UPDATE wp_latepoint_bookings SET agent_id = 1")
			correct := []string{fmt.Sprintf("%s %d %s", want[0], minutesOf(t, want[1]), end.UTC().Format(time.DateTime))}
			if name == "as booked" {
				correct = before
			}
			if after := s.texts(stored); !slices.Equal(after, correct) {
				t.Errorf("%s became %s, want %s", before, after, correct)
			}
		})
	}
}

// TestLastDayOffersWhatCanBeBooked: what is offered on the last possible dates, and nothing else, can be
// booked, held and moved to: databases support no later date, in the site's zone and in UTC.
func TestLastDayOffersWhatCanBeBooked(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newQuietServer(t, "00:00", "26:00")
	s.database.Execute(t, "UPDATE wp_latepoint_services SET timeblock_interval = 60 WHERE id = 1")
	for name, c := range map[string]struct{ zone, date, first, last string }{
		"Berlin":                   {"Europe/Berlin", "9999-12-31", "00:00", "22:00"},
		"New York":                 {"America/New_York", "9999-12-31", "00:00", "17:00"},
		"New York, the day before": {"America/New_York", "9999-12-30", "00:00", "23:00"},
	} {
		t.Run(name, func(t *testing.T) {
			s.inZone(t, c.zone)
			day := s.day(t, "service_id=1&agent_id=1&location_id=1&date="+c.date)
			if len(day.AvailableSlots) == 0 || day.AvailableSlots[0] != c.first || day.AvailableSlots[len(day.AvailableSlots)-1] != c.last {
				t.Fatalf("offered: %v, want %s to %s", day.AvailableSlots, c.first, c.last)
			}
			moved := fmt.Sprint(s.write(http.MethodPost, "/bookings", night("2027-01-15", "10:00")).want(http.StatusCreated).at("data", "id"))
			for minutes := minutesOf(t, c.last); minutes < 1440; minutes += 60 {
				start := clockOf(minutes)
				status := map[bool]int{true: http.StatusCreated, false: http.StatusConflict}[slices.Contains(day.AvailableSlots, start)]
				hold := s.write(http.MethodPost, "/holds", night(c.date, start)).want(status)
				if status == http.StatusCreated {
					s.write(http.MethodDelete, fmt.Sprintf("/holds/%v", hold.at("data", "id")), "").want(http.StatusOK)
				}
				booking := s.write(http.MethodPost, "/bookings", night(c.date, start)).want(status)
				if status == http.StatusCreated {
					s.deleteBooking(t, fmt.Sprint(booking.at("data", "id")))
				} else {
					s.write(http.MethodPut, "/bookings/"+moved, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, c.date, start)).want(http.StatusConflict)
				}
				free := s.get(fmt.Sprintf("/agents/availability?service_id=1&location_id=1&date=%s&start_time=%s", c.date, start)).want(http.StatusOK)
				wantEqual(t, status == http.StatusCreated, slices.Contains(idsOf(free.at("data", "agents")), "1"), "%s: the agent is free", start)
			}
			s.write(http.MethodPut, "/bookings/"+moved, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, c.date, c.last)).want(http.StatusOK)
			s.write(http.MethodPut, "/bookings/"+moved, `{"duration":1440}`).want(http.StatusConflict)
			s.database.Execute(t, "DELETE FROM wp_latepoint_bookings")
		})
	}
}

// TestDatesAtTheLimits: the first and the last possible dates, in every date parameter.
func TestDatesAtTheLimits(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newQuietServer(t, "00:00", "26:00", appointment{id: 11, agent: 1, service: 1, location: 1, date: "9999-12-31", start: "10:00", end: "11:00"})
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Pacific/Auckland"} {
		s.inZone(t, zone)
		for path, known := range parameters() {
			for name, p := range known {
				if p.kind != "date" {
					continue
				}
				for date, status := range map[string]int{
					"9999-12-31": http.StatusOK, "1000-01-01": http.StatusOK,
					"0999-12-31": http.StatusBadRequest, "0000-00-00": http.StatusBadRequest, "10000-01-01": http.StatusBadRequest,
				} {
					query := path + "?" + name + "=" + date
					switch {
					case path == "/availability" && name == "date":
						query += "&service_id=1&agent_id=1&explain=1"
					case path == "/availability":
						query = "/availability?service_id=1&agent_id=1&date=" + date + "&date_to=" + date
					}
					if a := s.get(query); a.status != status {
						t.Errorf("%s, %s: %d %.200s", zone, query, a.status, a.body)
					}
				}
			}
		}
		for _, body := range []string{night("0000-00-00", "10:00"), night("0999-12-31", "10:00"), night("10000-01-01", "10:00")} {
			s.write(http.MethodPost, "/bookings", body).want(http.StatusBadRequest)
		}
		s.write(http.MethodPost, "/bookings", night("1000-01-01", "10:00")).want(http.StatusUnprocessableEntity)
	}
	for _, stored := range []string{"9999-12-31", "1000-01-01", "0000-00-00"} {
		s.database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '"+stored+"', end_date = '"+stored+"'")
		for _, path := range []string{"/bookings", "/bookings/11", "/bookings?date_from=1000-01-01&date_to=9999-12-31", "/customers/1?include=stats", "/availability?booking_id=11&date=9999-12-31", "/availability?booking_id=11&service_id=1&agent_id=1&date=1000-01-01"} {
			if a := s.get(path); a.status != http.StatusOK {
				t.Errorf("stored %s, %s: %d %.200s", stored, path, a.status, a.body)
			}
		}
		for _, body := range []string{`{"total_attendees":1,"notes":"a"}`, `{"status":"cancelled"}`, `{"status":"approved"}`, `{"duration":90}`, `{"start_time":"23:30"}`} {
			if a := s.write(http.MethodPut, "/bookings/11", body); a.status >= http.StatusInternalServerError {
				t.Errorf("stored %s, %s: %d %.200s", stored, body, a.status, a.body)
			}
		}
		s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved'")
	}
}
