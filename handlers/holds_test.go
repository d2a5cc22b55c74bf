package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// holdBody returns the slot of friday; pairs of name and value replace fields or add them.
func holdBody(fields ...string) string {
	return friday(append([]string{"customer_id", ""}, fields...)...)
}

// keepSlot creates a hold and returns its id.
func (s *server) keepSlot(t testing.TB, body string) string {
	t.Helper()
	return fmt.Sprint(s.write(http.MethodPost, "/holds", body).want(http.StatusCreated).at("data", "id"))
}

// explained returns why the start at 10:00 on friday is not offered, or "" if it is.
func (s *server) explained(t testing.TB) string {
	t.Helper()
	a := s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05&explain=1").want(http.StatusOK)
	for _, slot := range a.at("data", "explain", "unavailable").([]any) {
		if slot := slot.(map[string]any); slot["start_time"] == "10:00" {
			expect.Equal(t, nil, slot["booking_id"], fmt.Sprintf("a booking is in the way: %v", slot))
			return slot["reason"].(string)
		}
	}
	if !slices.Contains(a.at("data", "available_slots").([]any), any("10:00")) {
		t.Errorf("10:00 is neither offered nor explained: %s", a.body)
	}
	return ""
}

// TestHoldKeepsItsSlot: until a hold expires, to the second, its slot is not offered and no write takes it;
// after that it blocks nothing.
func TestHoldKeepsItsSlot(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	// Any agent means agent 5 here: no other agent gives the service at location 1.
	s.database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4 AND agent_id <> 5")
	other := fmt.Sprint(s.write(http.MethodPost, "/bookings", friday("start_time", `"15:00"`)).want(http.StatusCreated).at("data", "id"))
	made := s.write(http.MethodPost, "/holds", holdBody()).want(http.StatusCreated)
	golden(t, "hold_created", made.body)
	expect.Equal(t, made.at("data"), s.get(fmt.Sprint("/holds/", made.at("data", "id"))).want(http.StatusOK).at("data"), "made and read differ")
	free := func() []any {
		return s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").want(http.StatusOK).at("data", "available_slots").([]any)
	}
	agents := func() any {
		return s.get("/agents/availability?service_id=4&location_id=1&date=2027-02-05&start_time=10:00").want(http.StatusOK).at("data", "total")
	}
	writes := map[string]struct{ method, path, body string }{
		"a hold":          {http.MethodPost, "/holds", holdBody("agent_id", `"any"`, "location_id", `"any"`)},
		"a booking":       {http.MethodPost, "/bookings", friday()},
		"any agent":       {http.MethodPost, "/bookings", friday("agent_id", `"any"`)},
		"an overlap":      {http.MethodPost, "/bookings", friday("start_time", `"10:30"`)},
		"a move":          {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00"}`},
		"a move, dry run": {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00","dry_run":true}`},
	}
	s.clock = s.clock.Add(5*time.Minute - time.Second)
	before := s.database.Snapshot(t)
	expect.Equal(t, "hold", s.explained(t), "reason")
	expect.Equal(t, "0", fmt.Sprint(agents()), "free agents")
	for name, w := range writes {
		a := s.write(w.method, w.path, w.body).want(http.StatusConflict)
		expect.Equal(t, nil, a.at("error", "details", "conflicting_booking_id"), fmt.Sprintf("%s: %s", name, a.body))
		named := a.at("error", "details", "available_slots").([]any)
		if w.method == http.MethodPut { // a booking need not keep clear of itself
			named = slices.DeleteFunc(named, func(start any) bool { return start.(string) >= "14:00" })
		}
		expect.Equal(t, free(), named, name)
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday()+`]`).want(http.StatusBadRequest)
	expect.Equal(t, "Time slot not available", bulk.at("results", "errors", 0, "error"), bulk.body)
	wantNoWrites(t, "holds", before, "bookside_api_keys", "bookside_locks")

	s.clock = s.clock.Add(time.Second)
	expect.Equal(t, "", s.explained(t), "after the hold")
	expect.Equal(t, "1", fmt.Sprint(agents()), "free agents after the hold")
	s.write(http.MethodPost, "/bookings", friday()).want(http.StatusCreated)
}

// TestHoldBecomesABooking: a hold becomes one booking of its slot, once, whatever fields of the slot are
// sent again. A rejected booking and a dry run leave it alone.
func TestHoldBecomesABooking(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4")
	id := s.keepSlot(t, holdBody("agent_id", `"any"`, "duration", `90`, "total_attendees", `2`, "hold_minutes", `30`))
	use := func(fields ...string) string {
		return friday(append([]string{"service_id", "", "agent_id", "", "location_id", "", "start_date", "", "start_time", "", "hold_id", id}, fields...)...)
	}
	for name, c := range map[string]struct {
		body string
		rejection
	}{
		"another service": {use("service_id", `2`), unprocessable("service_id")},
		"another start":   {use("start_date", `"2027-02-12"`, "start_time", `"11:00"`), unprocessable("start_date", "start_time")},
		"another length":  {use("duration", `60`, "total_attendees", `1`), unprocessable("duration", "total_attendees")},
		"no customer":     {use("customer_id", ""), badRequest("customer")},
		"no number":       {use("hold_id", `"x"`), badRequest("hold_id")},
	} {
		c.check(t, name, s.write(http.MethodPost, "/bookings", c.body))
	}
	dry := s.write(http.MethodPost, "/bookings", use("dry_run", `true`)).want(http.StatusOK)
	booked := s.write(http.MethodPost, "/bookings", use("agent_id", `"any"`, "location_id", `"any"`, "start_time", `"10:00"`), "Idempotency-Key", "h").want(http.StatusCreated)
	wantSameButNew(t, "dry run", dry, booked)
	got := fmt.Sprintf("%v %v %v %v", booked.at("data", "start_date"), booked.at("data", "start_time"), booked.at("data", "duration"), booked.at("data", "total_attendees"))
	expect.Equal(t, "2027-02-05 10:00 90 2", got, "booked")
	s.write(http.MethodPost, "/bookings", use("agent_id", `"any"`, "location_id", `"any"`, "start_time", `"10:00"`), "Idempotency-Key", "h").want(http.StatusCreated)
	s.write(http.MethodPost, "/bookings", use()).want(http.StatusConflict)
	s.write(http.MethodDelete, "/holds/"+id, "").want(http.StatusNotFound)
	// One of three seats is left.
	s.write(http.MethodPost, "/holds", holdBody("agent_id", fmt.Sprint(booked.at("data", "agent", "id")), "duration", `90`, "total_attendees", `2`)).want(http.StatusConflict)
	s.write(http.MethodPost, "/holds", holdBody("agent_id", fmt.Sprint(booked.at("data", "agent", "id")), "duration", `90`)).want(http.StatusCreated)
}

// TestHoldOutlastsTheBookingWindow: a slot held in time can be booked, even if the site no longer offers it
// by then.
func TestHoldOutlastsTheBookingWindow(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('earliest_possible_booking', '+2 days')")
	zone, err := time.LoadLocation("Europe/Berlin")
	expect.NoError(t, err)
	s.clock = time.Date(2027, 2, 3, 9, 58, 0, 0, zone)
	id := s.keepSlot(t, holdBody())
	s.clock = s.clock.Add(4 * time.Minute)
	s.write(http.MethodPost, "/bookings", friday("dry_run", "true", "agent_id", `1`)).want(http.StatusConflict)
	s.write(http.MethodPost, "/bookings", friday("hold_id", id)).want(http.StatusCreated)
}

// TestLostHolds: a hold that has expired, was deleted, or belongs to another key books nothing. The
// response lists the free starts, as far as the day is known.
func TestLostHolds(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	expired := s.keepSlot(t, holdBody())
	s.clock = s.clock.Add(5 * time.Minute)
	deleted := s.keepSlot(t, holdBody("start_time", `"13:00"`))
	s.write(http.MethodDelete, "/holds/"+deleted, "").want(http.StatusOK)
	mine := s.key
	s.key = s.newKey("write_bookings")
	foreign := s.keepSlot(t, holdBody("start_time", `"15:00"`))
	s.key = mine
	free := s.get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").want(http.StatusOK).at("data", "available_slots")
	bare := func(id string) string { return `{"hold_id":` + id + `,"customer_id":9}` }
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		time any
		free any
	}{
		"expired":            {bare(expired), "2027-02-05 10:00", free},
		"deleted":            {bare(deleted), nil, []any{}},
		"deleted, with slot": {friday("hold_id", deleted, "start_time", `"13:00"`), "2027-02-05 13:00", free},
		"foreign":            {bare(foreign), nil, []any{}},
		"unknown":            {bare("99999"), nil, []any{}},
		"unknown, dry run":   {friday("hold_id", "99999", "dry_run", "true"), "2027-02-05 10:00", free},
	} {
		a := s.write(http.MethodPost, "/bookings", c.body).want(http.StatusConflict)
		if a.at("error", "code") != "time_slot_unavailable" || a.at("error", "message") != "This hold has expired or does not exist" {
			t.Errorf("%s: %s", name, a.body)
		}
		details := a.at("error", "details").(map[string]any)
		expect.Equal(t, []any{c.time, c.free}, []any{details["requested_time"], details["available_slots"]}, name)
	}
	// Whether somebody else has a hold, and on what, makes no difference.
	for _, fields := range [][]string{{"service_id", ""}, {"start_time", `"11:00"`}, {"start_time", `"15:00"`}, {"service_id", `2`, "agent_id", `1`}, {"duration", `90`, "total_attendees", `1`}} {
		var answers []string
		for _, id := range []string{foreign, "99999"} {
			a := s.write(http.MethodPost, "/bookings", friday(append(fields, "hold_id", id)...)).want(http.StatusConflict)
			answers = append(answers, string(a.body))
		}
		expect.Equal(t, answers[1], answers[0], fmt.Sprintf("%v: a foreign hold, instead of an unknown one", fields))
	}
	for name, id := range map[string]string{"expired": expired, "deleted": deleted, "foreign": foreign, "unknown": "99999"} {
		s.get("/holds/" + id).want(http.StatusNotFound)
		a := s.write(http.MethodDelete, "/holds/"+id, "").want(http.StatusNotFound)
		expect.Equal(t, "hold_not_found", a.at("error", "code"), fmt.Sprintf("%s: %s", name, a.body))
	}
	wantNoWrites(t, "holds", before, "bookside_api_keys", "bookside_locks")
	// The sweep removes the rows an hour after they expired.
	db := openDatabase(t, s.database, 2, time.Minute)
	sweeper := jobs.NewSweeper(db, func() time.Time { return s.clock }, slog.New(slog.DiscardHandler))
	for _, want := range []struct {
		after time.Duration
		ids   string
	}{{time.Hour - time.Second, "[" + expired + " " + foreign + "]"}, {time.Second, "[" + foreign + "]"}, {5 * time.Minute, "[]"}} {
		s.clock = s.clock.Add(want.after)
		if _, err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, want.ids, fmt.Sprint(s.texts(holds)), fmt.Sprintf("holds after %v", want.after))
	}
}

// holds selects the ids of all holds.
const holds = "SELECT id FROM wp_bookside_holds ORDER BY id"

// TestRejectedHolds: holds are checked like bookings, their number per key is bounded, and a rejected one
// leaves nothing behind.
func TestRejectedHolds(t *testing.T) {
	s := ownWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, fillLocks)
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		rejection
	}{
		"nothing":          {`{}`, badRequest("service_id", "agent_id", "start_date", "start_time")},
		"no time to keep":  {holdBody("hold_minutes", `0`), unprocessable("hold_minutes")},
		"unknown service":  {holdBody("service_id", `999`), badRequest("service_id")},
		"the past":         {holdBody("start_date", `"2020-01-03"`), unprocessable("start_date")},
		"the missing hour": {holdBody("start_date", `"2027-03-28"`, "start_time", `"02:30"`), unprocessable("start_time")},
	} {
		c.check(t, name, s.write(http.MethodPost, "/holds", c.body))
	}
	s.write(http.MethodPost, "/holds", holdBody("start_time", `"03:00"`)).want(http.StatusConflict)
	s.write(http.MethodPost, "/holds", holdBody("total_attendees", `2`)).want(http.StatusConflict)
	wantNoWrites(t, "rejected", before)

	id := s.keepSlot(t, holdBody())
	s.fillHolds(t, id)
	s.clock = s.clock.Add(2 * time.Minute)
	full := s.write(http.MethodPost, "/holds", holdBody("start_date", `"2027-02-12"`)).want(http.StatusTooManyRequests)
	if full.at("error", "code") != "too_many_holds" || full.header.Get("Retry-After") != "180" {
		t.Errorf("Retry-After %q: %s", full.header.Get("Retry-After"), full.body)
	}
	other := *s
	other.key = s.newKey("write_bookings")
	other.keepSlot(t, holdBody("start_date", `"2027-02-12"`))
	s.clock = s.clock.Add(3 * time.Minute) // the first one has expired
	s.keepSlot(t, holdBody("start_date", `"2027-02-19"`))
}

// fillHolds copies a hold until its key has reached the limit. The copies expire later.
func (s *server) fillHolds(t testing.TB, id string) {
	t.Helper()
	var copies strings.Builder
	for i := range bookings.MaxHolds - 1 {
		fmt.Fprintf(&copies, " UNION ALL SELECT %d", i)
	}
	const columns = "key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees"
	s.database.Execute(t, "INSERT INTO wp_bookside_holds ("+columns+", expires_at, created_at) SELECT "+columns+", expires_at + INTERVAL 9 MINUTE, created_at "+
		"FROM wp_bookside_holds h JOIN ("+strings.TrimPrefix(copies.String(), " UNION ALL ")+") n WHERE h.id = "+id)
}

// TestConcurrentHolds sends holds, bookings with and without them, and deletions for a few slots to two
// servers at the same time. Each slot goes to at most one customer, and to exactly one if anybody booked
// it; afterwards the remaining holds are those that were neither used nor deleted. They outlive the servers
// and expire by themselves.
func TestConcurrentHolds(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*server{newServer(t, database), newServer(t, database)}
	servers[1].key = servers[0].key // a hold belongs to its key
	starts := []string{`"08:00"`, `"10:00"`, `"13:00"`, `"15:00"`}
	var mu sync.Mutex
	booked, left, used, lost := map[string]int{}, map[string]string{}, 0, 0
	count := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	hold := func(s *server, start string) (id string, ok bool) {
		a := s.write(http.MethodPost, "/holds", holdBody("start_time", start))
		if a.status != http.StatusCreated {
			a.want(http.StatusConflict)
			return "", false
		}
		return fmt.Sprint(a.at("data", "id")), true
	}
	book := func(s *server, start string, fields ...string) bool {
		a := s.write(http.MethodPost, "/bookings", friday(append([]string{"start_time", start}, fields...)...))
		if a.status != http.StatusCreated {
			a.want(http.StatusConflict)
			return false
		}
		count(func() { booked[start]++ })
		return true
	}
	kinds := []func(s *server, start string){
		func(s *server, start string) { // releases the slot
			if id, ok := hold(s, start); ok {
				s.write(http.MethodDelete, "/holds/"+id, "").want(http.StatusOK)
			}
		},
		func(s *server, start string) { // books it, and at the same time once more on the other server
			id, ok := hold(s, start)
			if !ok {
				return
			}
			var both sync.WaitGroup
			for _, s := range servers {
				both.Go(func() {
					if book(s, start, "hold_id", id) {
						count(func() { used++ })
					} else {
						count(func() { lost++ })
					}
				})
			}
			both.Wait()
		},
		func(s *server, start string) { // abandons it
			if id, ok := hold(s, start); ok {
				count(func() { left[start] = id })
			}
		},
	}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 120 {
		all.Go(func() {
			<-begin
			kinds[i%len(kinds)](servers[i/len(kinds)%2], starts[i/len(kinds)/2%len(starts)])
		})
	}
	close(begin)
	all.Wait()
	for _, start := range starts {
		_, kept := left[start]
		if booked[start] > 1 || booked[start] == 1 && kept {
			t.Errorf("%s went to %d bookings, and a hold is left: %t", start, booked[start], kept)
		}
	}
	expect.Equal(t, lost, used, "of two bookings with a hold, those that succeeded and failed")
	expect.Equal(t, len(left), len(servers[0].texts(holds)), fmt.Sprintf("holds, of %v", left))
	if used == 0 && len(left) == 0 {
		t.Error("no hold lasted: the test proves nothing")
	}

	restarted := newServer(t, database)
	restarted.key = servers[0].key
	for start, id := range left {
		if book(restarted, start) {
			t.Errorf("%s was booked despite a hold", start)
		}
		left[start] = id
	}
	restarted.clock = now.Add(5 * time.Minute)
	for start := range left {
		if !book(restarted, start) {
			t.Errorf("%s is blocked longer than its hold", start)
		}
	}
}
