package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestLastDayOffersWhatCanBeBooked: what is offered on the last possible dates, and nothing else, can be
// booked, held and moved to: databases support no later date, in the site's zone and in UTC.
func TestLastDayOffersWhatCanBeBooked(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	fixtures.RequireServer(t)
	s := newQuietServer(t, "00:00", "26:00")
	s.database.Execute(t, "UPDATE wp_latepoint_services SET timeblock_interval = 60 WHERE id = 1")
	for name, c := range map[string]struct{ zone, date, first, last string }{
		"Berlin":                   {"Europe/Berlin", "9999-12-31", "00:00", "22:00"},
		"New York":                 {"America/New_York", "9999-12-31", "00:00", "17:00"},
		"Auckland":                 {"Pacific/Auckland", "9999-12-31", "00:00", "22:00"},
		"New York, the day before": {"America/New_York", "9999-12-30", "00:00", "23:00"},
	} {
		t.Run(name, func(t *testing.T) {
			s.inZone(t, c.zone)
			day := s.day(t, "service_id=1&agent_id=1&location_id=1&date="+c.date)
			if len(day.AvailableSlots) == 0 || day.AvailableSlots[0] != c.first || day.AvailableSlots[len(day.AvailableSlots)-1] != c.last {
				t.Fatalf("offered: %v, want %s to %s", day.AvailableSlots, c.first, c.last)
			}
			moved := fmt.Sprint(s.write(http.MethodPost, "/bookings", night("2027-01-15", "10:00")).want(http.StatusCreated).at("data", "id"))
			for minutes := 0; minutes < 1440; minutes += 60 {
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
				if found := slices.Contains(idsOf(free.at("data", "agents")), "1"); found != (status == http.StatusCreated) {
					t.Errorf("%s: the agent is free: %t", start, found)
				}
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
		for _, days := range []string{"date=9999-11-01&date_to=9999-12-31", "date=9999-12-30&date_to=9999-12-31", "date=1000-01-01&date_to=1000-03-02"} {
			s.get("/availability?service_id=1&agent_id=any&location_id=any&" + days).want(http.StatusOK)
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
