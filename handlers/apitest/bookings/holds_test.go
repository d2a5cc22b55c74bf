package bookings_test

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
	"github.com/bookside/bookside/handlers/apitest"
)

// TestHoldKeepsItsSlot: until a hold expires, to the second, its slot is not offered and no write takes it;
// after that it blocks nothing.
func TestHoldKeepsItsSlot(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	// Any agent means agent 5 here: no other agent gives the service at location 1.
	s.Database.Execute(t, "DELETE FROM wp_latepoint_agents_services WHERE service_id = 4 AND agent_id <> 5")
	other := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"15:00"`)).Want(http.StatusCreated).At("data", "id"))
	made := s.Write(http.MethodPost, "/holds", apitest.HoldBody()).Want(http.StatusCreated)
	apitest.Golden(t, "hold_created", made.Body)
	expect.Equal(t, made.At("data"), s.Get(fmt.Sprint("/holds/", made.At("data", "id"))).Want(http.StatusOK).At("data"), "made and read differ")
	free := func() []any {
		return s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").Want(http.StatusOK).At("data", "available_slots").([]any)
	}
	agents := func() any {
		return s.Get("/agents/availability?service_id=4&location_id=1&date=2027-02-05&start_time=10:00").Want(http.StatusOK).At("data", "total")
	}
	writes := map[string]struct{ method, path, body string }{
		"a hold":          {http.MethodPost, "/holds", apitest.HoldBody("agent_id", `"any"`, "location_id", `"any"`)},
		"a booking":       {http.MethodPost, "/bookings", apitest.Friday()},
		"any agent":       {http.MethodPost, "/bookings", apitest.Friday("agent_id", `"any"`)},
		"an overlap":      {http.MethodPost, "/bookings", apitest.Friday("start_time", `"10:30"`)},
		"a move":          {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00"}`},
		"a move, dry run": {http.MethodPut, "/bookings/" + other, `{"start_time":"10:00","dry_run":true}`},
	}
	s.Clock = s.Clock.Add(5*time.Minute - time.Second)
	before := s.Database.Snapshot(t)
	expect.Equal(t, "hold", s.Explained(t), "reason")
	expect.Equal(t, "0", fmt.Sprint(agents()), "free agents")
	for name, w := range writes {
		a := s.Write(w.method, w.path, w.body).Want(http.StatusConflict)
		expect.Equal(t, nil, a.At("error", "details", "conflicting_booking_id"), fmt.Sprintf("%s: %s", name, a.Body))
		named := a.At("error", "details", "available_slots").([]any)
		if w.method == http.MethodPut { // a booking need not keep clear of itself
			named = slices.DeleteFunc(named, func(start any) bool { return start.(string) >= "14:00" })
		}
		expect.Equal(t, free(), named, name)
	}
	bulk := s.Write(http.MethodPost, "/bookings/bulk", `[`+apitest.Friday()+`]`).Want(http.StatusBadRequest)
	expect.Equal(t, "Time slot not available", bulk.At("results", "errors", 0, "error"), bulk.Body)
	apitest.WantNoWrites(t, "holds", before, "bookside_api_keys", "bookside_locks")

	s.Clock = s.Clock.Add(time.Second)
	expect.Equal(t, "", s.Explained(t), "after the hold")
	expect.Equal(t, "1", fmt.Sprint(agents()), "free agents after the hold")
	s.Write(http.MethodPost, "/bookings", apitest.Friday()).Want(http.StatusCreated)
}

// TestHoldBecomesABooking: a hold becomes one booking of its slot, once, whatever fields of the slot are
// sent again. A rejected booking and a dry run leave it alone.
func TestHoldBecomesABooking(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET capacity_max = 3 WHERE id = 4")
	id := s.KeepSlot(t, apitest.HoldBody("agent_id", `"any"`, "duration", `90`, "total_attendees", `2`, "hold_minutes", `30`))
	use := func(fields ...string) string {
		return apitest.Friday(append([]string{"service_id", "", "agent_id", "", "location_id", "", "start_date", "", "start_time", "", "hold_id", id}, fields...)...)
	}
	for name, c := range map[string]struct {
		body string
		apitest.Rejection
	}{
		"another service": {use("service_id", `2`), apitest.Unprocessable("service_id")},
		"another start":   {use("start_date", `"2027-02-12"`, "start_time", `"11:00"`), apitest.Unprocessable("start_date", "start_time")},
		"another length":  {use("duration", `60`, "total_attendees", `1`), apitest.Unprocessable("duration", "total_attendees")},
		"no customer":     {use("customer_id", ""), apitest.BadRequest("customer")},
		"no number":       {use("hold_id", `"x"`), apitest.BadRequest("hold_id")},
	} {
		c.Check(t, name, s.Write(http.MethodPost, "/bookings", c.body))
	}
	dry := s.Write(http.MethodPost, "/bookings", use("dry_run", `true`)).Want(http.StatusOK)
	booked := s.Write(http.MethodPost, "/bookings", use("agent_id", `"any"`, "location_id", `"any"`, "start_time", `"10:00"`), "Idempotency-Key", "h").Want(http.StatusCreated)
	wantSameButNew(t, "dry run", dry, booked)
	got := fmt.Sprintf("%v %v %v %v", booked.At("data", "start_date"), booked.At("data", "start_time"), booked.At("data", "duration"), booked.At("data", "total_attendees"))
	expect.Equal(t, "2027-02-05 10:00 90 2", got, "booked")
	s.Write(http.MethodPost, "/bookings", use("agent_id", `"any"`, "location_id", `"any"`, "start_time", `"10:00"`), "Idempotency-Key", "h").Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", use()).Want(http.StatusConflict)
	s.Write(http.MethodDelete, "/holds/"+id, "").Want(http.StatusNotFound)
	// One of three seats is left.
	s.Write(http.MethodPost, "/holds", apitest.HoldBody("agent_id", fmt.Sprint(booked.At("data", "agent", "id")), "duration", `90`, "total_attendees", `2`)).Want(http.StatusConflict)
	s.Write(http.MethodPost, "/holds", apitest.HoldBody("agent_id", fmt.Sprint(booked.At("data", "agent", "id")), "duration", `90`)).Want(http.StatusCreated)
}

// TestHoldOutlastsTheBookingWindow: a slot held in time can be booked, even if the site no longer offers it
// by then.
func TestHoldOutlastsTheBookingWindow(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('earliest_possible_booking', '+2 days')")
	zone, err := time.LoadLocation("Europe/Berlin")
	expect.NoError(t, err)
	s.Clock = time.Date(2027, 2, 3, 9, 58, 0, 0, zone)
	id := s.KeepSlot(t, apitest.HoldBody())
	s.Clock = s.Clock.Add(4 * time.Minute)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("dry_run", "true", "agent_id", `1`)).Want(http.StatusConflict)
	s.Write(http.MethodPost, "/bookings", apitest.Friday("hold_id", id)).Want(http.StatusCreated)
}

// TestLostHolds: a hold that has expired, was deleted, or belongs to another key books nothing. The
// response lists the free starts, as far as the day is known.
func TestLostHolds(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	expired := s.KeepSlot(t, apitest.HoldBody())
	s.Clock = s.Clock.Add(5 * time.Minute)
	deleted := s.KeepSlot(t, apitest.HoldBody("start_time", `"13:00"`))
	s.Write(http.MethodDelete, "/holds/"+deleted, "").Want(http.StatusOK)
	mine := s.Key
	s.Key = s.NewKey("write_bookings")
	foreign := s.KeepSlot(t, apitest.HoldBody("start_time", `"15:00"`))
	s.Key = mine
	free := s.Get("/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05").Want(http.StatusOK).At("data", "available_slots")
	bare := func(id string) string { return `{"hold_id":` + id + `,"customer_id":9}` }
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		time any
		free any
	}{
		"expired":            {bare(expired), "2027-02-05 10:00", free},
		"deleted":            {bare(deleted), nil, []any{}},
		"deleted, with slot": {apitest.Friday("hold_id", deleted, "start_time", `"13:00"`), "2027-02-05 13:00", free},
		"foreign":            {bare(foreign), nil, []any{}},
		"unknown":            {bare("99999"), nil, []any{}},
		"unknown, dry run":   {apitest.Friday("hold_id", "99999", "dry_run", "true"), "2027-02-05 10:00", free},
	} {
		a := s.Write(http.MethodPost, "/bookings", c.body).Want(http.StatusConflict)
		if a.At("error", "code") != "time_slot_unavailable" || a.At("error", "message") != "This hold has expired or does not exist" {
			t.Errorf("%s: %s", name, a.Body)
		}
		details := a.At("error", "details").(map[string]any)
		expect.Equal(t, []any{c.time, c.free}, []any{details["requested_time"], details["available_slots"]}, name)
	}
	// Whether somebody else has a hold, and on what, makes no difference.
	for _, fields := range [][]string{{"service_id", ""}, {"start_time", `"11:00"`}, {"start_time", `"15:00"`}, {"service_id", `2`, "agent_id", `1`}, {"duration", `90`, "total_attendees", `1`}} {
		var answers []string
		for _, id := range []string{foreign, "99999"} {
			a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append(fields, "hold_id", id)...)).Want(http.StatusConflict)
			answers = append(answers, string(a.Body))
		}
		expect.Equal(t, answers[1], answers[0], fmt.Sprintf("%v: a foreign hold, instead of an unknown one", fields))
	}
	for name, id := range map[string]string{"expired": expired, "deleted": deleted, "foreign": foreign, "unknown": "99999"} {
		s.Get("/holds/" + id).Want(http.StatusNotFound)
		a := s.Write(http.MethodDelete, "/holds/"+id, "").Want(http.StatusNotFound)
		expect.Equal(t, "hold_not_found", a.At("error", "code"), fmt.Sprintf("%s: %s", name, a.Body))
	}
	apitest.WantNoWrites(t, "holds", before, "bookside_api_keys", "bookside_locks")
	// The sweep removes the rows an hour after they expired.
	db := apitest.OpenDatabase(t, s.Database, 2, time.Minute)
	sweeper := jobs.NewSweeper(db, func() time.Time { return s.Clock }, slog.New(slog.DiscardHandler))
	for _, want := range []struct {
		after time.Duration
		ids   string
	}{{time.Hour - time.Second, "[" + expired + " " + foreign + "]"}, {time.Second, "[" + foreign + "]"}, {5 * time.Minute, "[]"}} {
		s.Clock = s.Clock.Add(want.after)
		if _, err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, want.ids, fmt.Sprint(s.Texts(holds)), fmt.Sprintf("holds after %v", want.after))
	}
}

// holds selects the ids of all holds.
const holds = "SELECT id FROM wp_bookside_holds ORDER BY id"

// TestRejectedHolds: holds are checked like bookings, their number per key is bounded, and a rejected one
// leaves nothing behind.
func TestRejectedHolds(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, apitest.FillLocks)
	before := s.Database.Snapshot(t)
	for name, c := range map[string]struct {
		body string
		apitest.Rejection
	}{
		"nothing":          {`{}`, apitest.BadRequest("service_id", "agent_id", "start_date", "start_time")},
		"no time to keep":  {apitest.HoldBody("hold_minutes", `0`), apitest.Unprocessable("hold_minutes")},
		"unknown service":  {apitest.HoldBody("service_id", `999`), apitest.BadRequest("service_id")},
		"the past":         {apitest.HoldBody("start_date", `"2020-01-03"`), apitest.Unprocessable("start_date")},
		"the missing hour": {apitest.HoldBody("start_date", `"2027-03-28"`, "start_time", `"02:30"`), apitest.Unprocessable("start_time")},
	} {
		c.Check(t, name, s.Write(http.MethodPost, "/holds", c.body))
	}
	s.Write(http.MethodPost, "/holds", apitest.HoldBody("start_time", `"03:00"`)).Want(http.StatusConflict)
	s.Write(http.MethodPost, "/holds", apitest.HoldBody("total_attendees", `2`)).Want(http.StatusConflict)
	apitest.WantNoWrites(t, "rejected", before)

	id := s.KeepSlot(t, apitest.HoldBody())
	fillHolds(t, s, id)
	s.Clock = s.Clock.Add(2 * time.Minute)
	full := s.Write(http.MethodPost, "/holds", apitest.HoldBody("start_date", `"2027-02-12"`)).Want(http.StatusTooManyRequests)
	if full.At("error", "code") != "too_many_holds" || full.Header.Get("Retry-After") != "180" {
		t.Errorf("Retry-After %q: %s", full.Header.Get("Retry-After"), full.Body)
	}
	other := *s
	other.Key = s.NewKey("write_bookings")
	other.KeepSlot(t, apitest.HoldBody("start_date", `"2027-02-12"`))
	s.Clock = s.Clock.Add(3 * time.Minute) // the first one has expired
	s.KeepSlot(t, apitest.HoldBody("start_date", `"2027-02-19"`))
}

// fillHolds copies a hold until its key has reached the limit. The copies expire later.
func fillHolds(t testing.TB, s *apitest.Server, id string) {
	t.Helper()
	var copies strings.Builder
	for i := range bookings.MaxHolds - 1 {
		fmt.Fprintf(&copies, " UNION ALL SELECT %d", i)
	}
	const columns = "key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees"
	s.Database.Execute(t, "INSERT INTO wp_bookside_holds ("+columns+", expires_at, created_at) SELECT "+columns+", expires_at + INTERVAL 9 MINUTE, created_at "+
		"FROM wp_bookside_holds h JOIN ("+strings.TrimPrefix(copies.String(), " UNION ALL ")+") n WHERE h.id = "+id)
}

// TestConcurrentHolds sends holds, bookings with and without them, and deletions for a few slots to two
// servers at the same time. Each slot goes to at most one customer, and to exactly one if anybody booked
// it; afterwards the remaining holds are those that were neither used nor deleted. They outlive the servers
// and expire by themselves.
func TestConcurrentHolds(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	servers := []*apitest.Server{apitest.NewServer(t, database), apitest.NewServer(t, database)}
	servers[1].Key = servers[0].Key // a hold belongs to its key
	starts := []string{`"08:00"`, `"10:00"`, `"13:00"`, `"15:00"`}
	var mu sync.Mutex
	booked, left, used, lost := map[string]int{}, map[string]string{}, 0, 0
	count := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	hold := func(s *apitest.Server, start string) (id string, ok bool) {
		a := s.Write(http.MethodPost, "/holds", apitest.HoldBody("start_time", start))
		if a.Status != http.StatusCreated {
			a.Want(http.StatusConflict)
			return "", false
		}
		return fmt.Sprint(a.At("data", "id")), true
	}
	book := func(s *apitest.Server, start string, fields ...string) bool {
		a := s.Write(http.MethodPost, "/bookings", apitest.Friday(append([]string{"start_time", start}, fields...)...))
		if a.Status != http.StatusCreated {
			a.Want(http.StatusConflict)
			return false
		}
		count(func() { booked[start]++ })
		return true
	}
	kinds := []func(s *apitest.Server, start string){
		func(s *apitest.Server, start string) { // releases the slot
			if id, ok := hold(s, start); ok {
				s.Write(http.MethodDelete, "/holds/"+id, "").Want(http.StatusOK)
			}
		},
		func(s *apitest.Server, start string) { // books it, and at the same time once more on the other server
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
		func(s *apitest.Server, start string) { // abandons it
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
	expect.Equal(t, len(left), len(servers[0].Texts(holds)), fmt.Sprintf("holds, of %v", left))
	if used == 0 && len(left) == 0 {
		t.Error("no hold lasted: the test proves nothing")
	}

	restarted := apitest.NewServer(t, database)
	restarted.Key = servers[0].Key
	for start, id := range left {
		if book(restarted, start) {
			t.Errorf("%s was booked despite a hold", start)
		}
		left[start] = id
	}
	restarted.Clock = apitest.Now.Add(5 * time.Minute)
	for start := range left {
		if !book(restarted, start) {
			t.Errorf("%s is blocked longer than its hold", start)
		}
	}
}
