package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// startsOf returns the starts of a day's grid, and those of them that are offered.
func (s *server) startsOf(t testing.TB, query url.Values) (grid, offered []string) {
	t.Helper()
	day := s.day(t, query.Encode()+"&explain=1")
	grid = slices.Clone(day.AvailableSlots)
	for _, u := range day.Explain.Unavailable {
		grid = append(grid, u.StartTime)
	}
	return grid, day.AvailableSlots
}

// firstDay returns the first date with offered starts, beginning with a Tuesday; false if there is none in
// eight weeks.
func (s *server) firstDay(t testing.TB, query url.Values) (date string, ok bool) {
	t.Helper()
	query.Set("date", "2026-11-24")
	var days map[string][]string
	a := s.get("/availability?" + query.Encode() + "&date_to=2027-01-18").want(http.StatusOK)
	raw, err := json.Marshal(a.at("data", "days"))
	if err == nil {
		err = json.Unmarshal(raw, &days)
	}
	noError(t, err)
	for day, starts := range days {
		if len(starts) > 0 && (date == "" || day < date) {
			date = day
		}
	}
	return date, date != ""
}

// TestOfferedStartsCanBeBooked: on every sample site, the starts of the grid that can be booked are exactly
// those that GET /availability offers for the same parameters; with booking_id, exactly those that the
// booking can be moved to.
func TestOfferedStartsCanBeBooked(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, site := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, site)
			customer := s.ids(t, "SELECT MIN(id) FROM {customers} WHERE status = 'active'")[0]
			booked, moved := 0, 0
			for i, service := range s.ids(t, "SELECT id FROM {services} WHERE status = 'active' ORDER BY id LIMIT 6") {
				for j, location := range []string{"", "any"} {
					if !fixtures.Thorough() && (i/2+j)%2 != 0 {
						continue // two services represent two others: with and without a location, with and without an agent
					}
					query := url.Values{"service_id": {service}, "agent_id": {"any"}}
					if location != "" {
						query.Set("location_id", location)
					}
					if agents := s.ids(t, "SELECT MIN(x.agent_id) FROM {agents_services} x JOIN {agents} a ON a.id = x.agent_id AND a.status <> 'disabled' WHERE x.service_id = "+service+" HAVING MIN(x.agent_id)"); len(agents) > 0 && (i+j)%2 == 0 {
						query.Set("agent_id", agents[0])
					}
					date, ok := s.firstDay(t, query)
					if !ok {
						continue
					}
					query.Set("date", date)
					booked += s.wantBookable(t, query, customer)
					moved += s.wantMovable(t, query, customer)
				}
			}
			if booked == 0 || moved == 0 {
				t.Errorf("%d starts could be booked, %d moved to: the case proves nothing", booked, moved)
			}
		})
	}
}

// everyStart: in a quick run, one of this many starts of a grid is tried. It shares no divisor with the
// steps of hours and half hours.
const everyStart = 5

// newBooking returns the body of a booking at a start, with the parameters of a query.
func newBooking(query url.Values, start, customer string) string {
	fields := map[string]string{"start_date": query.Get("date"), "start_time": start, "customer_id": customer}
	for _, name := range []string{"service_id", "agent_id", "location_id"} {
		if query.Has(name) {
			fields[name] = query.Get(name)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// wantBookable books the starts of a day's grid, one at a time, and returns how many
// could be booked.
func (s *server) wantBookable(t *testing.T, query url.Values, customer string) int {
	t.Helper()
	grid, offered := s.startsOf(t, query)
	for _, start := range fixtures.Sample(grid, everyStart) {
		a := s.write(http.MethodPost, "/bookings", newBooking(query, start, customer))
		if can := a.status == http.StatusCreated; can != slices.Contains(offered, start) {
			t.Errorf("%s, %s: offered %t, booking it answers %d: %.300s", query.Encode(), start, !can, a.status, a.body)
		}
		if a.status == http.StatusCreated {
			s.deleteBooking(t, fmt.Sprint(a.at("data", "id")))
		} else if a.status != http.StatusConflict {
			t.Errorf("%s, %s: %d %.300s", query.Encode(), start, a.status, a.body)
		}
	}
	return len(offered)
}

// deleteBooking deletes a booking, so that its slot is free again.
func (s *server) deleteBooking(t testing.TB, id string) {
	t.Helper()
	s.database.Execute(t, "DELETE FROM `"+s.database.Prefix+"latepoint_bookings` WHERE id = "+id)
}

// wantMovable creates a booking, moves it to the starts of the day that is requested with booking_id, and
// returns how many it could be moved to.
func (s *server) wantMovable(t *testing.T, query url.Values, customer string) int {
	t.Helper()
	_, free := s.startsOf(t, query)
	own := free[len(free)/2]
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", newBooking(query, own, customer)).want(http.StatusCreated).at("data", "id"))
	defer s.deleteBooking(t, id)
	move := func(start string) answer {
		return s.write(http.MethodPut, "/bookings/"+id, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, query.Get("date"), start))
	}
	grid, offered := s.startsOf(t, url.Values{"booking_id": {id}, "date": {query.Get("date")}})
	if !slices.Contains(offered, own) {
		t.Errorf("%s: booking %s conflicts with itself at %s", query.Encode(), id, own)
	}
	// The booking moves from start to start, and never conflicts with itself.
	for _, start := range fixtures.Sample(grid, everyStart) {
		a := move(start)
		if can := a.status == http.StatusOK; can != slices.Contains(offered, start) {
			t.Errorf("%s, booking %s to %s: offered %t, moving it answers %d: %.300s", query.Encode(), id, start, !can, a.status, a.body)
		}
		if a.status != http.StatusOK && a.status != http.StatusConflict {
			t.Errorf("%s, %s: %d %.300s", query.Encode(), start, a.status, a.body)
		}
	}
	return len(offered)
}

// TestBookingWithoutLocationIsCreatedOnce: a booking sent twice finds its slot occupied, both without a
// location and with any location, although the agent is free elsewhere.
func TestBookingWithoutLocationIsCreatedOnce(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{"none": "", "any": `"any"`, "minus one": `-1`, "zero": `0`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA())
			s.database.Execute(t,
				"UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'one_location_at_time'",
				"DELETE FROM wp_latepoint_agents_services WHERE agent_id = 5 AND service_id = 4",
				"INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (5, 4, 2), (5, 4, 1)",
				"DELETE FROM wp_latepoint_work_periods WHERE agent_id = 5 OR location_id IN (1, 2)")
			s.write(http.MethodPost, "/bookings", friday("location_id", "2")).want(http.StatusCreated)
			s.write(http.MethodPost, "/bookings", friday("location_id", "1")).want(http.StatusCreated) // the site allows both
			body := friday("location_id", location, "start_time", `"13:00"`)
			created := s.write(http.MethodPost, "/bookings", body).want(http.StatusCreated)
			wantEqual(t, "1", fmt.Sprint(created.at("data", "location", "id")), "the location, which is the first one")
			if again := s.write(http.MethodPost, "/bookings", body).want(http.StatusConflict); again.at("error", "details", "conflicting_booking_id") != created.at("data", "id") {
				t.Errorf("%s", again.body)
			}
			s.write(http.MethodPost, "/bookings", friday("location_id", "2", "start_time", `"13:00"`)).want(http.StatusCreated)
		})
	}
}

// TestLocationOfABooking: without a location, a booking is made at the default one if that offers the
// service, and otherwise at the first one that does; the response names it.
func TestLocationOfABooking(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA())
	s.database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4",
		"INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (5, 4, 2), (1, 4, 1), (5, 4, 1)")
	located := func(query string) string {
		t.Helper()
		return fmt.Sprint(s.get("/availability?date=2027-02-05&service_id=4&"+query).want(http.StatusOK).at("data", "location_id"))
	}
	for _, c := range []struct{ change, query, want string }{
		{"", "agent_id=5", "1"},
		{"", "agent_id=any", "1"},
		{"", "agent_id=5&location_id=0", "1"},
		{"", "agent_id=5&location_id=any", "any"},
		{"DELETE FROM wp_latepoint_agents_services WHERE agent_id = 5 AND location_id = 1 AND service_id = 4", "agent_id=5", "2"},
		{"", "agent_id=any", "1"},
		{"UPDATE wp_latepoint_agents SET status = 'disabled' WHERE id = 1", "agent_id=any", "2"},
		{"UPDATE wp_latepoint_locations SET status = 'disabled' WHERE id = 2", "agent_id=any", "any"}, // nowhere
	} {
		t.Run(c.query+c.change, func(t *testing.T) {
			if c.change != "" {
				s.database.Execute(t, c.change)
			}
			wantEqual(t, c.want, located(c.query), "location")
		})
	}
}

// TestAvailabilityOfABooking: with booking_id, parameters that are not sent are the booking's, including
// its own duration and buffers.
func TestAvailabilityOfABooking(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA())
	created := s.write(http.MethodPost, "/bookings", friday("duration", "50")).want(http.StatusCreated)
	id := fmt.Sprint(created.at("data", "id"))
	ask := func(query string) answer { return s.get("/availability?date=2027-02-05&booking_id=" + id + query) }
	fields := func(a answer) string {
		return fmt.Sprintf("%v %v %v %v", a.at("data", "service_id"), a.at("data", "agent_id"), a.at("data", "location_id"), a.at("data", "duration"))
	}
	for query, want := range map[string]string{
		"": "4 5 1 50", "&duration=50": "4 5 1 50", "&agent_id=any": "4 any 1 50", "&location_id=any": "4 5 any 50",
		"&service_id=0&agent_id=0&location_id=0": "4 5 1 50", "&service_id=6&agent_id=1": "6 1 1 60",
	} {
		t.Run(query, func(t *testing.T) {
			wantEqual(t, want, fields(ask(query).want(http.StatusOK)), "%s", query)
		})
	}
	for query, details := range map[string]map[string]string{
		"booking_id=" + id: {"date": "Required"},
		"booking_id=" + id + "&duration=51&date=2027-02-05": {"duration": durationMessage(51, s.durations(t)[4])},
		"booking_id=99999&date=2027-02-05":                  {"booking_id": "Booking not found"},
		"booking_id=0&date=2027-02-05":                      {"service_id": "Required", "agent_id": "Required"},
	} {
		t.Run(query, func(t *testing.T) {
			s.wantInvalidRequest(t, "/availability?"+query, details)
		})
	}
	full := s.key
	s.key = s.newKey("read_availability")
	if a := ask("").want(http.StatusForbidden); a.at("error", "details", "required_permission") != "read_bookings" {
		t.Errorf("%s", a.body)
	}
	s.key = full

	// Seats: the booking's own number unless another one is sent.
	s.database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4", "UPDATE wp_latepoint_bookings SET total_attendees = 3 WHERE id = "+id)
	s.write(http.MethodPost, "/bookings", friday("start_time", `"13:00"`, "customer_id", "10")).want(http.StatusCreated)
	offers := func(query string) bool {
		return slices.Contains(s.day(t, "date=2027-02-05&booking_id="+id+query).AvailableSlots, "13:00")
	}
	if offers("") || !offers("&total_attendees=2") {
		t.Errorf("13:00 with one of three seats booked: offered for three %t, for two %t", offers(""), offers("&total_attendees=2"))
	}
}

// TestAttendeesOfABookingCanBeChanged: changing total_attendees checks the slot again and leaves the rest
// of the booking alone, including an end that an administrator changed.
func TestAttendeesOfABookingCanBeChanged(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA())
	s.database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4")
	id := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("total_attendees", "1")).want(http.StatusCreated).at("data", "id"))
	s.write(http.MethodPost, "/bookings", friday("customer_id", "10")).want(http.StatusCreated)
	item := "(SELECT order_item_id FROM wp_latepoint_bookings WHERE id = " + id + ")"
	s.database.Execute(t, "UPDATE wp_latepoint_bookings SET end_time = end_time + 5 WHERE id = "+id,
		`UPDATE wp_latepoint_order_items SET item_data = '{"id":`+id+`,"end_time":665,"total_attendees":"1","custom_fields":{}}' WHERE id = `+item) // as the Pro add-on stores it
	a := s.write(http.MethodPut, "/bookings/"+id, `{"total_attendees":"2"}`).want(http.StatusOK)
	wantEqual(t, "2 11:05 2027-02-05T11:05:00+01:00 60", fmt.Sprintf("%v %v %v %v", a.at("data", "total_attendees"), a.at("data", "end_time"), a.at("data", "end_datetime"), a.at("data", "duration")), "attendees, end and duration")
	if got, want := s.texts("SELECT item_data FROM wp_latepoint_order_items WHERE id = " + item)[0], `{"id":`+id+`,"end_time":665,"total_attendees":"2","custom_fields":{}}`; got != want {
		t.Errorf("item data %s, want %s", got, want)
	}
	before := s.database.Snapshot(t)
	s.write(http.MethodPut, "/bookings/"+id, `{"total_attendees":3}`).want(http.StatusConflict)
	badRequest("total_attendees").check(t, "no attendees", s.write(http.MethodPut, "/bookings/"+id, `{"total_attendees":"x"}`))
	s.write(http.MethodPut, "/bookings/"+id, `{"total_attendees":2}`).want(http.StatusOK)
	wantNoWrites(t, "refused or unchanged", before)
}

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
		wantEqual(t, want, offered(query), "the own start is offered for %q", query)
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

// TestAgentsOfStarts: with=agents adds to each start the agents for whom alone the start is offered.
func TestAgentsOfStarts(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	type day struct {
		Data struct {
			Slots []struct {
				Start  string  `json:"start_time"`
				Agents []int64 `json:"agents"`
			} `json:"slots"`
		} `json:"data"`
	}
	read := func(query string) (d day) {
		t.Helper()
		noError(t, json.Unmarshal(s.get("/availability?"+query).want(http.StatusOK).body, &d))
		return d
	}
	shared, starts := 0, 0
	for _, service := range s.get("/services").records() {
		for _, location := range []string{"", "&location_id=any"} {
			query := fmt.Sprintf("service_id=%v&date=2026-11-24%s", service["id"], location)
			alone := map[string][]int64{}
			for _, agent := range s.get("/agents").records() {
				id, err := json.Number(agent["id"].(string)).Int64()
				noError(t, err)
				if a := s.get(fmt.Sprintf("/availability?%s&agent_id=%d", query, id)); a.status == http.StatusOK {
					for _, slot := range read(fmt.Sprintf("%s&agent_id=%d", query, id)).Data.Slots {
						alone[slot.Start] = append(alone[slot.Start], id)
					}
				}
			}
			for _, slot := range read(query + "&agent_id=any&with=agents").Data.Slots {
				starts++
				slices.Sort(alone[slot.Start])
				if !slices.Equal(slot.Agents, alone[slot.Start]) {
					t.Errorf("%s at %s: agents %d, alone %d", query, slot.Start, slot.Agents, alone[slot.Start])
				}
				if len(slot.Agents) > 1 {
					shared++
				}
			}
			for _, slot := range read(query + "&agent_id=any").Data.Slots {
				if slot.Agents != nil {
					t.Errorf("%s at %s: agents %d without with=agents", query, slot.Start, slot.Agents)
				}
			}
		}
	}
	if starts < 20 || shared < 5 {
		t.Errorf("only %d starts, %d of several agents", starts, shared)
	}
	for query, name := range map[string]string{"with=people": "with", "with=agents&date_to=2026-11-25": "with"} {
		a := s.get("/availability?service_id=1&agent_id=any&date=2026-11-24&" + query)
		if a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity || a.at("error", "details", name) == nil {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}
