package times_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestBookingOfThePluginWins: the plugin takes no locks, so it may book a slot after we found it free. If
// it commits before we do, its booking wins: ours gets the 409 that names it, and leaves nothing behind.
func TestBookingOfThePluginWins(t *testing.T) {
	t.Parallel()
	const customer = "SELECT id FROM wp_latepoint_customers WHERE id = 9 FOR UPDATE"
	for name, c := range map[string]struct {
		method, path, body string
		row                string // written after the slot was found free
		bulk               bool
	}{
		"a new booking":  {http.MethodPost, "/bookings", apitest.Friday(), customer, false},
		"a bulk booking": {http.MethodPost, "/bookings/bulk", `[` + apitest.Friday() + `]`, customer, true},
		"a booking that moves": {http.MethodPut, "/bookings/7", `{"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00"}`,
			"SELECT id FROM wp_latepoint_order_items WHERE id = (SELECT order_item_id FROM wp_latepoint_bookings WHERE id = 7) FOR UPDATE", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
			s.Database.Execute(t, apitest.FillLocks)
			other := apitest.Begin(t, s.Database, c.row)
			before := s.Database.Snapshot(t)
			answers := make(chan apitest.Answer, 1)
			go func() { answers <- s.Write(c.method, c.path, c.body, "Idempotency-Key", "x") }()
			s.WaitForLock(t)
			theirs := appointment{id: 5001, agent: 5, service: 4, location: 1, date: "2027-02-05", start: "10:30", end: "11:30"}
			apitest.RunIn(t, other, theirs.sql(t))
			expect.NoError(t, other.Commit())
			a := <-answers
			if c.bulk {
				expect.Equal(t, "Time slot not available", a.Want(http.StatusBadRequest).At("results", "errors", 0, "error"), a.Body)
			} else if id := fmt.Sprint(a.Want(http.StatusConflict).At("error", "details", "conflicting_booking_id")); id != "5001" {
				t.Errorf("conflicting booking %s", id)
			}
			for _, change := range apitest.SummarizeChanges(fixtures.Changes(before, before.Again(t))) {
				theirs := strings.HasPrefix(change, "bookings insert") && strings.Contains(change, "start_time=630")
				if !theirs && !strings.HasPrefix(change, "bookside_") {
					t.Errorf("left behind: %s", change)
				}
			}
		})
	}
}

// startsOf returns the starts of a day's grid, and those of them that are offered.
func startsOf(t testing.TB, s *apitest.Server, query url.Values) (grid, offered []string) {
	t.Helper()
	day := dayOf(t, s, query.Encode()+"&explain=1")
	grid = slices.Clone(day.AvailableSlots)
	for _, u := range day.Explain.Unavailable {
		grid = append(grid, u.StartTime)
	}
	return grid, day.AvailableSlots
}

// firstDay returns the first date with offered starts, beginning with a Tuesday; false if there is none in
// eight weeks.
func firstDay(t testing.TB, s *apitest.Server, query url.Values) (date string, ok bool) {
	t.Helper()
	query.Set("date", "2026-11-24")
	var days map[string][]string
	a := s.Get("/availability?" + query.Encode() + "&date_to=2027-01-18").Want(http.StatusOK)
	raw, err := json.Marshal(a.At("data", "days"))
	if err == nil {
		err = json.Unmarshal(raw, &days)
	}
	expect.NoError(t, err)
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
	for name, site := range apitest.Sites {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, site)
			customer := s.Texts("SELECT MIN(id) FROM {customers} WHERE status = 'active'")[0]
			booked, moved := 0, 0
			for i, service := range s.Texts("SELECT id FROM {services} WHERE status = 'active' ORDER BY id LIMIT 6") {
				for j, location := range []string{"", "any"} {
					if !fixtures.Thorough() && (i/2+j)%2 != 0 {
						continue // two services represent two others: with and without a location, with and without an agent
					}
					query := url.Values{"service_id": {service}, "agent_id": {"any"}}
					if location != "" {
						query.Set("location_id", location)
					}
					if agents := s.Texts("SELECT MIN(x.agent_id) FROM {agents_services} x JOIN {agents} a ON a.id = x.agent_id AND a.status <> 'disabled' WHERE x.service_id = " + service + " HAVING MIN(x.agent_id)"); len(agents) > 0 && (i+j)%2 == 0 {
						query.Set("agent_id", agents[0])
					}
					date, ok := firstDay(t, s, query)
					if !ok {
						continue
					}
					query.Set("date", date)
					booked += wantBookable(t, s, query, customer)
					moved += wantMovable(t, s, query, customer)
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
func wantBookable(t *testing.T, s *apitest.Server, query url.Values, customer string) int {
	t.Helper()
	grid, offered := startsOf(t, s, query)
	for _, start := range fixtures.Sample(grid, everyStart) {
		a := s.Write(http.MethodPost, "/bookings", newBooking(query, start, customer))
		if can := a.Status == http.StatusCreated; can != slices.Contains(offered, start) {
			t.Errorf("%s, %s: offered %t, booking it answers %d: %.300s", query.Encode(), start, !can, a.Status, a.Body)
		}
		if a.Status == http.StatusCreated {
			deleteBooking(t, s, fmt.Sprint(a.At("data", "id")))
		} else if a.Status != http.StatusConflict {
			t.Errorf("%s, %s: %d %.300s", query.Encode(), start, a.Status, a.Body)
		}
	}
	return len(offered)
}

// deleteBooking deletes a booking, so that its slot is free again.
func deleteBooking(t testing.TB, s *apitest.Server, id string) {
	t.Helper()
	s.Database.Execute(t, "DELETE FROM `"+s.Database.Prefix+"latepoint_bookings` WHERE id = "+id)
}

// wantMovable creates a booking, moves it to the starts of the day that is requested with booking_id, and
// returns how many it could be moved to.
func wantMovable(t *testing.T, s *apitest.Server, query url.Values, customer string) int {
	t.Helper()
	_, free := startsOf(t, s, query)
	own := free[len(free)/2]
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", newBooking(query, own, customer)).Want(http.StatusCreated).At("data", "id"))
	defer deleteBooking(t, s, id)
	move := func(start string) apitest.Answer {
		return s.Write(http.MethodPut, "/bookings/"+id, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, query.Get("date"), start))
	}
	grid, offered := startsOf(t, s, url.Values{"booking_id": {id}, "date": {query.Get("date")}})
	if !slices.Contains(offered, own) {
		t.Errorf("%s: booking %s conflicts with itself at %s", query.Encode(), id, own)
	}
	// The booking moves from start to start, and never conflicts with itself.
	for _, start := range fixtures.Sample(grid, everyStart) {
		a := move(start)
		if can := a.Status == http.StatusOK; can != slices.Contains(offered, start) {
			t.Errorf("%s, booking %s to %s: offered %t, moving it answers %d: %.300s", query.Encode(), id, start, !can, a.Status, a.Body)
		}
		if a.Status != http.StatusOK && a.Status != http.StatusConflict {
			t.Errorf("%s, %s: %d %.300s", query.Encode(), start, a.Status, a.Body)
		}
	}
	return len(offered)
}

// TestBookingWithoutLocationIsCreatedOnce: a booking sent twice finds its slot occupied, both without a
// location and with any location, although the agent is free elsewhere.
func TestBookingWithoutLocationIsCreatedOnce(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	s.Database.Execute(t,
		"UPDATE wp_latepoint_settings SET value = 'off' WHERE name = 'one_location_at_time'",
		"DELETE FROM wp_latepoint_agents_services WHERE agent_id = 5 AND service_id = 4",
		"INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (5, 4, 2), (5, 4, 1)",
		"DELETE FROM wp_latepoint_work_periods WHERE agent_id = 5 OR location_id IN (1, 2)")
	before := s.Database.Snapshot(t)
	for _, location := range []string{"", `"any"`, `-1`, `0`} {
		s.Write(http.MethodPost, "/bookings", apitest.Friday("location_id", "2")).Want(http.StatusCreated)
		s.Write(http.MethodPost, "/bookings", apitest.Friday("location_id", "1")).Want(http.StatusCreated) // the site allows both
		body := apitest.Friday("location_id", location, "start_time", `"13:00"`)
		created := s.Write(http.MethodPost, "/bookings", body).Want(http.StatusCreated)
		expect.Equal(t, "1", fmt.Sprint(created.At("data", "location", "id")), fmt.Sprintf("location for %q, which is the first one", location))
		expect.Equal(t, created.At("data", "id"), s.Write(http.MethodPost, "/bookings", body).Want(http.StatusConflict).At("error", "details", "conflicting_booking_id"), fmt.Sprintf("%q: the conflicting booking", location))
		s.Write(http.MethodPost, "/bookings", apitest.Friday("location_id", "2", "start_time", `"13:00"`)).Want(http.StatusCreated)
		before.Restore(t)
	}
}

// TestLocationOfABooking: without a location, a booking is made at the default one if that offers the
// service, and otherwise at the first one that does; the response names it.
func TestLocationOfABooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	s.Database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4",
		"INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (5, 4, 2), (1, 4, 1), (5, 4, 1)")
	located := func(query string) string {
		t.Helper()
		return fmt.Sprint(s.Get("/availability?date=2027-02-05&service_id=4&"+query).Want(http.StatusOK).At("data", "location_id"))
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
		s.Database.Execute(t, c.change)
		expect.Equal(t, c.want, located(c.query), fmt.Sprintf("%s, %s: location", c.query, c.change))
	}
}

// TestAvailabilityOfABooking: with booking_id, parameters that are not sent are the booking's, including
// its own duration and buffers.
func TestAvailabilityOfABooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	created := s.Write(http.MethodPost, "/bookings", apitest.Friday("duration", "50")).Want(http.StatusCreated)
	id := fmt.Sprint(created.At("data", "id"))
	ask := func(query string) apitest.Answer {
		return s.Get("/availability?date=2027-02-05&booking_id=" + id + query)
	}
	fields := func(a apitest.Answer) string {
		return fmt.Sprintf("%v %v %v %v", a.At("data", "service_id"), a.At("data", "agent_id"), a.At("data", "location_id"), a.At("data", "duration"))
	}
	for query, want := range map[string]string{
		"": "4 5 1 50", "&duration=50": "4 5 1 50", "&agent_id=any": "4 any 1 50", "&location_id=any": "4 5 any 50",
		"&service_id=0&agent_id=0&location_id=0": "4 5 1 50", "&service_id=6&agent_id=1": "6 1 1 60",
	} {
		expect.Equal(t, want, fields(ask(query).Want(http.StatusOK)), query)
	}
	for query, details := range map[string]map[string]string{
		"booking_id=" + id: {"date": "Required"},
		"booking_id=" + id + "&duration=51&date=2027-02-05": {"duration": durationMessage(51, durations(t, s)[4])},
		"booking_id=99999&date=2027-02-05":                  {"booking_id": "Booking not found"},
		"booking_id=0&date=2027-02-05":                      {"service_id": "Required", "agent_id": "Required"},
	} {
		wantInvalidRequest(t, s, "/availability?"+query, details)
	}
	full := s.Key
	s.Key = s.NewKey("read_availability")
	expect.Equal(t, "read_bookings", ask("").Want(http.StatusForbidden).At("error", "details", "required_permission"), "the permission needed")
	s.Key = full

	// Seats: the booking's own number unless another one is sent.
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4", "UPDATE wp_latepoint_bookings SET total_attendees = 3 WHERE id = "+id)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"13:00"`, "customer_id", "10")).Want(http.StatusCreated)
	offers := func(query string) bool {
		return slices.Contains(dayOf(t, s, "date=2027-02-05&booking_id="+id+query).AvailableSlots, "13:00")
	}
	if offers("") || !offers("&total_attendees=2") {
		t.Errorf("13:00 with one of three seats booked: offered for three %t, for two %t", offers(""), offers("&total_attendees=2"))
	}
}

// TestAttendeesOfABookingCanBeChanged: changing total_attendees checks the slot again and leaves the rest
// of the booking alone, including an end that an administrator changed.
func TestAttendeesOfABookingCanBeChanged(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA())
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4")
	id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("total_attendees", "1")).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPost, "/bookings", apitest.Friday("customer_id", "10")).Want(http.StatusCreated)
	item := "(SELECT order_item_id FROM wp_latepoint_bookings WHERE id = " + id + ")"
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET end_time = end_time + 5 WHERE id = "+id,
		`UPDATE wp_latepoint_order_items SET item_data = '{"id":`+id+`,"end_time":665,"total_attendees":"1","custom_fields":{}}' WHERE id = `+item) // as the Pro add-on stores it
	a := s.Write(http.MethodPut, "/bookings/"+id, `{"total_attendees":"2"}`).Want(http.StatusOK)
	expect.Equal(t, "2 11:05 2027-02-05T11:05:00+01:00 60", fmt.Sprintf("%v %v %v %v", a.At("data", "total_attendees"), a.At("data", "end_time"), a.At("data", "end_datetime"), a.At("data", "duration")), "attendees, end and duration")
	expect.Equal(t, `{"id":`+id+`,"end_time":665,"total_attendees":"2","custom_fields":{}}`, s.Texts("SELECT item_data FROM wp_latepoint_order_items WHERE id = " + item)[0], "item data")
	before := s.Database.Snapshot(t)
	s.Write(http.MethodPut, "/bookings/"+id, `{"total_attendees":3}`).Want(http.StatusConflict)
	apitest.BadRequest("total_attendees").Check(t, "no attendees", s.Write(http.MethodPut, "/bookings/"+id, `{"total_attendees":"x"}`))
	s.Write(http.MethodPut, "/bookings/"+id, `{"total_attendees":2}`).Want(http.StatusOK)
	apitest.WantNoWrites(t, "refused or unchanged", before)
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
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET duration = 60",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (1, 'durations', '{\"a\":{\"duration\":\"90\"},\"b\":{\"duration\":\"180\"}}')",
		"DELETE FROM wp_latepoint_agents_services WHERE service_id = 1", "INSERT INTO wp_latepoint_agents_services (agent_id, service_id, location_id) VALUES (1, 1, 1), (2, 1, 1)")
	offered := func(query string) bool {
		t.Helper()
		return slices.Contains(dayOf(t, s, "booking_id=11&date=2026-11-24"+query).AvailableSlots, "10:40")
	}
	put := func(body string, want int) {
		t.Helper()
		s.Write(http.MethodPut, "/bookings/11", body).Want(want)
	}
	for query, want := range map[string]bool{
		"": true, "&duration=90": true, "&duration=180": false, "&agent_id=2": true, "&agent_id=any": true, "&agent_id=2&duration=180": true,
	} {
		expect.Equal(t, want, offered(query), fmt.Sprintf("the own start is offered for %q", query))
	}
	if slices.Contains(dayOf(t, s, "service_id=1&agent_id=2&location_id=1&date=2026-11-24").AvailableSlots, "10:40") {
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
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = 670, end_time = 730 WHERE id = 13", "UPDATE wp_latepoint_bookings SET agent_id = 1 WHERE id = 13")
	if offered("") {
		t.Error("an own start that is taken is offered")
	}
	put(`{"status":"approved"}`, http.StatusConflict)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 2 WHERE id = 13")
	put(`{"status":"approved"}`, http.StatusOK)
	// A different start must be one that customers are offered; the booking's own may lie outside their
	// window.
	put(`{"start_time":"10:50"}`, http.StatusConflict)
	s.Database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('earliest_possible_booking', '+2 weeks')")
	if !offered("") || len(dayOf(t, s, "booking_id=11&date=2026-11-24").AvailableSlots) != 1 {
		t.Error("only the own start can be kept outside the window")
	}
	put(`{"duration":90}`, http.StatusOK)
	put(`{"start_time":"14:00"}`, http.StatusConflict)
	// A day without the booking has only what everybody is offered, and closed time is not open.
	if slices.Contains(dayOf(t, s, "booking_id=11&date=2026-12-15").AvailableSlots, "10:40") {
		t.Error("10:40 is offered on another day")
	}
	s.Write(http.MethodPut, "/bookings/14", `{"agent_id":2}`).Want(http.StatusConflict)
	if slices.Contains(dayOf(t, s, "booking_id=14&date=2026-11-24").AvailableSlots, "16:40") {
		t.Error("a start that runs past the working hours is offered")
	}
}

// TestAgentsOfStarts: with=agents adds to each start the agents for whom alone the start is offered.
func TestAgentsOfStarts(t *testing.T) {
	s := apitest.Small(t)
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
		expect.NoError(t, json.Unmarshal(s.Get("/availability?"+query).Want(http.StatusOK).Body, &d))
		return d
	}
	shared, starts := 0, 0
	for _, service := range s.Get("/services").Records() {
		for _, location := range []string{"", "&location_id=any"} {
			query := fmt.Sprintf("service_id=%v&date=2026-11-24%s", service["id"], location)
			alone := map[string][]int64{}
			for _, agent := range s.Get("/agents").Records() {
				id, err := json.Number(agent["id"].(string)).Int64()
				expect.NoError(t, err)
				if a := s.Get(fmt.Sprintf("/availability?%s&agent_id=%d", query, id)); a.Status == http.StatusOK {
					for _, slot := range read(fmt.Sprintf("%s&agent_id=%d", query, id)).Data.Slots {
						alone[slot.Start] = append(alone[slot.Start], id)
					}
				}
			}
			for _, slot := range read(query + "&agent_id=any&with=agents").Data.Slots {
				starts++
				slices.Sort(alone[slot.Start])
				expect.Equal(t, alone[slot.Start], slot.Agents, fmt.Sprintf("%s at %s: agents, alone", query, slot.Start))
				if len(slot.Agents) > 1 {
					shared++
				}
			}
			for _, slot := range read(query + "&agent_id=any").Data.Slots {
				expect.Equal(t, []int64(nil), slot.Agents, fmt.Sprintf("%s at %s without with=agents", query, slot.Start))
			}
		}
	}
	if starts < 20 || shared < 5 {
		t.Errorf("only %d starts, %d of several agents", starts, shared)
	}
	for query, name := range map[string]string{"with=people": "with", "with=agents&date_to=2026-11-25": "with"} {
		a := s.Get("/availability?service_id=1&agent_id=any&date=2026-11-24&" + query)
		if a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity || a.At("error", "details", name) == nil {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}

// inZone sets the zone of a server's site.
func inZone(t testing.TB, s *apitest.Server, zone string) {
	t.Helper()
	s.Database.Execute(t, "UPDATE wp_options SET option_value = '"+zone+"' WHERE option_name = 'timezone_string'")
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
	inZone(t, s, "America/New_York")
	const question = "service_id=1&agent_id=1&location_id=1&date="
	for _, route := range []string{"/bookings", "/holds"} {
		made := s.Write(http.MethodPost, route, night("2027-03-14", "01:30")).Want(http.StatusCreated)
		offered := dayOf(t, s, question+"2027-03-14").AvailableSlots
		for start, taken := range map[string]bool{"00:30": false, "01:00": true, "01:30": true, "03:00": true, "03:30": false} {
			if slices.Contains(offered, start) == taken {
				t.Errorf("%s: %s is offered: %t", route, start, !taken)
			}
			if taken {
				s.Write(http.MethodPost, "/bookings", night("2027-03-14", start)).Want(http.StatusConflict)
				s.Write(http.MethodPost, "/holds", night("2027-03-14", start)).Want(http.StatusConflict)
			}
		}
		s.Write(http.MethodDelete, fmt.Sprintf("%s/%v?force=true", route, made.At("data", "id")), "")
	}
	// Across midnight into the day of the gap.
	inZone(t, s, "America/Santiago")
	late := s.Write(http.MethodPost, "/bookings", night("2027-09-04", "23:30")).Want(http.StatusCreated)
	if end, offered := late.At("data", "end_time"), dayOf(t, s, question+"2027-09-05").AvailableSlots; end != "01:30" || offered[0] != "01:30" {
		t.Errorf("ends at %v, and the next day begins at %s", end, offered[0])
	}
}

// TestEndsOfABookingAgree: end_time, end_date, end_datetime, the stored UTC column, the slot, the hold and
// the calendar agree on the end, whatever the clock does, even for ends that the plugin stored.
func TestEndsOfABookingAgree(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "00:00", "24:00")
	calendar := s.Calendar(keys.Busy, domain.AgentResource, 1)
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
		inZone(t, s, c.zone)
		s.Database.Execute(t, "UPDATE wp_latepoint_services SET timeblock_interval = 15 WHERE id = 1")
		question := "service_id=1&agent_id=1&location_id=1&date=" + c.date
		day := dayOf(t, s, question)
		i := slices.Index(day.AvailableSlots, c.start)
		if i < 0 || day.Slots[i].EndTime != c.end {
			t.Errorf("%s: the slot is %+v, want the end %s", name, day.Slots, c.end)
		}
		hold := s.Write(http.MethodPost, "/holds", night(c.date, c.start)).Want(http.StatusCreated)
		expect.Equal[any](t, c.end, hold.At("data", "end_time"), fmt.Sprintf("%s: end of the hold", name))
		id := fmt.Sprint(s.Write(http.MethodPost, "/bookings", night(c.date, c.start, fmt.Sprintf(`"hold_id":%v`, hold.At("data", "id")))).Want(http.StatusCreated).At("data", "id"))
		agree := func(by, end string) {
			t.Helper()
			b := s.Get("/bookings/" + id).Want(http.StatusOK)
			stored := s.Texts("SELECT end_datetime_utc FROM wp_latepoint_bookings WHERE id = " + id)[0]
			at, err := time.Parse(time.RFC3339, fmt.Sprint(b.At("data", "end_datetime")))
			if err != nil || b.At("data", "end_time") != end || at.UTC().Format(time.DateTime) != c.endUTC {
				t.Errorf("%s: %s: ends at %v, %v, want %s, %s", name, by, b.At("data", "end_time"), b.At("data", "end_datetime"), end, c.endUTC)
			}
			expect.Equal(t, c.endUTC, stored, fmt.Sprintf("%s: %s is stored", name, by))
			want := strings.NewReplacer("-", "", ":", "", " ", "T").Replace(c.endUTC) + "Z"
			if c.date < "2027-11-20" && !strings.Contains(string(s.Read(calendar).Body), "DTEND:"+want) {
				t.Errorf("%s: %s: not in the calendar: %s", name, by, want)
			}
		}
		agree("created", c.end)
		// As the plugin stores it: by the wall clock.
		wall := minutesOf(t, c.start) + 60
		s.Database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_bookings SET end_time = %d WHERE id = %s", wall, id))
		agree("as the plugin stores it", clockOf(wall))
		s.Database.Execute(t, "DELETE FROM wp_latepoint_bookings")
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
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET end_date = start_date, end_time = 630, duration = 60", "UPDATE wp_latepoint_bookings SET "+c.set)
		const question = "service_id=1&agent_id=1&location_id=1"
		starts := dayOf(t, s, question+"&date=2026-11-24").AvailableSlots
		if c.first == "" && len(starts) > 0 || c.first != "" && (len(starts) == 0 || starts[0] != c.first) {
			t.Errorf("%s: %v, want from %s on", name, starts, c.first)
		}
		if next := dayOf(t, s, question+"&date=2026-11-25").AvailableSlots; len(next) != map[bool]int{true: 0, false: 5}[c.first == ""] {
			t.Errorf("%s: on the next day %v", name, next)
		}
		b := s.Get("/bookings/11").Want(http.StatusOK)
		want := []string{"2026-11-24", c.first}
		if c.first == "" {
			want = []string{"2026-11-25", "12:00"}
		}
		shown := []string{fmt.Sprint(b.At("data", "end_date")), fmt.Sprint(b.At("data", "end_time"))}
		end, err := time.Parse(time.RFC3339, fmt.Sprint(b.At("data", "end_datetime")))
		if listed := s.Get("/bookings").At("data", 0, "end_time"); err != nil || !slices.Equal(shown, want) || listed != want[1] || end.Format("2006-01-02 15:04") != strings.Join(want, " ") {
			t.Errorf("%s: ends at %q, %v in the list, and %s, want %q", name, shown, listed, end, want)
		}
		const stored = "SELECT CONCAT_WS(' ', DATE_FORMAT(end_date, '%Y-%m-%d'), end_time, end_datetime_utc) FROM wp_latepoint_bookings"
		before := s.Texts(stored)
		s.Write(http.MethodPut, "/bookings/11", `{"status":"cancelled"}`).Want(http.StatusOK)
		expect.Equal(t, before, s.Texts(stored), fmt.Sprintf("%s: stored afterwards", name))
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved'")
		if c.first == "" {
			continue // no other agent works then
		}
		s.Database.Execute(t, "UPDATE wp_latepoint_agents_services SET agent_id = 2 WHERE agent_id = 1 AND service_id = 1")
		s.Write(http.MethodPut, "/bookings/11", `{"agent_id":2}`).Want(http.StatusOK)
		s.Database.Execute(t, "UPDATE wp_latepoint_agents_services SET agent_id = 1 WHERE agent_id = 2 AND service_id = 1", "UPDATE wp_latepoint_bookings SET agent_id = 1")
		correct := []string{fmt.Sprintf("%s %d %s", want[0], minutesOf(t, want[1]), end.UTC().Format(time.DateTime))}
		if name == "as booked" {
			correct = before
		}
		expect.Equal(t, correct, s.Texts(stored), fmt.Sprintf("%s: what %s became", name, before))
	}
}

// TestLastDayOffersWhatCanBeBooked: what is offered on the last possible dates, and nothing else, can be
// booked, held and moved to: databases support no later date, in the site's zone and in UTC.
func TestLastDayOffersWhatCanBeBooked(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newQuietServer(t, "00:00", "26:00")
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET timeblock_interval = 60 WHERE id = 1")
	for name, c := range map[string]struct{ zone, date, first, last string }{
		"Berlin":                   {"Europe/Berlin", "9999-12-31", "00:00", "22:00"},
		"New York":                 {"America/New_York", "9999-12-31", "00:00", "17:00"},
		"New York, the day before": {"America/New_York", "9999-12-30", "00:00", "23:00"},
	} {
		inZone(t, s, c.zone)
		day := dayOf(t, s, "service_id=1&agent_id=1&location_id=1&date="+c.date)
		if len(day.AvailableSlots) == 0 || day.AvailableSlots[0] != c.first || day.AvailableSlots[len(day.AvailableSlots)-1] != c.last {
			t.Fatalf("%s: offered: %v, want %s to %s", name, day.AvailableSlots, c.first, c.last)
		}
		moved := fmt.Sprint(s.Write(http.MethodPost, "/bookings", night("2027-01-15", "10:00")).Want(http.StatusCreated).At("data", "id"))
		for minutes := minutesOf(t, c.last); minutes < 1440; minutes += 60 {
			start := clockOf(minutes)
			status := map[bool]int{true: http.StatusCreated, false: http.StatusConflict}[slices.Contains(day.AvailableSlots, start)]
			hold := s.Write(http.MethodPost, "/holds", night(c.date, start)).Want(status)
			if status == http.StatusCreated {
				s.Write(http.MethodDelete, fmt.Sprintf("/holds/%v", hold.At("data", "id")), "").Want(http.StatusOK)
			}
			booking := s.Write(http.MethodPost, "/bookings", night(c.date, start)).Want(status)
			if status == http.StatusCreated {
				deleteBooking(t, s, fmt.Sprint(booking.At("data", "id")))
			} else {
				s.Write(http.MethodPut, "/bookings/"+moved, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, c.date, start)).Want(http.StatusConflict)
			}
			free := s.Get(fmt.Sprintf("/agents/availability?service_id=1&location_id=1&date=%s&start_time=%s", c.date, start)).Want(http.StatusOK)
			expect.Equal(t, status == http.StatusCreated, slices.Contains(apitest.IDsOf(free.At("data", "agents")), "1"), fmt.Sprintf("%s: %s: the agent is free", name, start))
		}
		s.Write(http.MethodPut, "/bookings/"+moved, fmt.Sprintf(`{"start_date":%q,"start_time":%q}`, c.date, c.last)).Want(http.StatusOK)
		s.Write(http.MethodPut, "/bookings/"+moved, `{"duration":1440}`).Want(http.StatusConflict)
		s.Database.Execute(t, "DELETE FROM wp_latepoint_bookings")
	}
}

// TestDatesAtTheLimits: the first and the last possible dates, in every date parameter.
func TestDatesAtTheLimits(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newQuietServer(t, "00:00", "26:00", appointment{id: 11, agent: 1, service: 1, location: 1, date: "9999-12-31", start: "10:00", end: "11:00"})
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Pacific/Auckland"} {
		inZone(t, s, zone)
		for path, known := range apitest.Parameters() {
			for name, p := range known {
				if p.Kind != "date" {
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
					a := s.Get(query)
					expect.Equal(t, status, a.Status, fmt.Sprintf("%s, %s: %.200s", zone, query, a.Body))
				}
			}
		}
		for _, body := range []string{night("0000-00-00", "10:00"), night("0999-12-31", "10:00"), night("10000-01-01", "10:00")} {
			s.Write(http.MethodPost, "/bookings", body).Want(http.StatusBadRequest)
		}
		s.Write(http.MethodPost, "/bookings", night("1000-01-01", "10:00")).Want(http.StatusUnprocessableEntity)
	}
	for _, stored := range []string{"9999-12-31", "1000-01-01", "0000-00-00"} {
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_date = '"+stored+"', end_date = '"+stored+"'")
		for _, path := range []string{"/bookings", "/bookings/11", "/bookings?date_from=1000-01-01&date_to=9999-12-31", "/customers/1?include=stats", "/availability?booking_id=11&date=9999-12-31", "/availability?booking_id=11&service_id=1&agent_id=1&date=1000-01-01"} {
			a := s.Get(path)
			expect.Equal(t, http.StatusOK, a.Status, fmt.Sprintf("stored %s, %s: %.200s", stored, path, a.Body))
		}
		for _, body := range []string{`{"total_attendees":1,"notes":"a"}`, `{"status":"cancelled"}`, `{"status":"approved"}`, `{"duration":90}`, `{"start_time":"23:30"}`} {
			if a := s.Write(http.MethodPut, "/bookings/11", body); a.Status >= http.StatusInternalServerError {
				t.Errorf("stored %s, %s: %d %.200s", stored, body, a.Status, a.Body)
			}
		}
		s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved'")
	}
}
