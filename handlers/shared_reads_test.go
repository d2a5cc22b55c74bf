package handlers_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

// TestBookingAgreesWithItsOrder: a booking that is read while its order's comment changes shows a single
// comment.
func TestBookingAgreesWithItsOrder(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	readWhileWriting(t, 200, func(int) {
		a := s.Get("/bookings/6").Want(http.StatusOK)
		notes, comment, ordered := a.At("data", "notes"), a.At("data", "customer_comment"), a.At("data", "order", "customer_comment")
		if notes != comment || comment != ordered {
			t.Errorf("notes %v, customer_comment %v, that of the order %v", notes, comment, ordered)
		}
	}, func(n int) {
		if _, err := s.Database.SQL.ExecContext(t.Context(), "UPDATE wp_latepoint_orders SET customer_comment = ?", fmt.Sprint("comment ", n)); err != nil {
			t.Error(err)
		}
	})
}

// readWhile reads repeatedly from 16 clients until write returns.
func readWhile(read func(client int), write func()) {
	over := make(chan struct{})
	var readers sync.WaitGroup
	for client := range 16 {
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					read(client)
				}
			}
		})
	}
	defer readers.Wait()
	defer close(over)
	write()
}

// readWhileWriting writes repeatedly while 16 clients read: at least the given number of times, and until
// they have read as often, even on a busy machine. It returns how often they did.
func readWhileWriting(t *testing.T, times int, read func(client int), write func(n int)) int64 {
	t.Helper()
	var reads atomic.Int64
	readWhile(func(client int) {
		read(client)
		reads.Add(1)
	}, func() {
		for n := 1; n <= times || reads.Load() < int64(times) && !t.Failed(); n++ {
			write(n)
		}
	})
	return reads.Load()
}

// readTogether reads all paths several times, adjacent ones at the same time.
func readTogether(rounds int, paths []string, read func(path string)) {
	var next atomic.Int64
	var readers sync.WaitGroup
	for range 16 {
		readers.Go(func() {
			for n := int(next.Add(1)); n <= rounds*len(paths); n = int(next.Add(1)) {
				read(paths[n%len(paths)])
			}
		})
	}
	readers.Wait()
}

// TestRevokedKeyIsRejectedByTheNextRequest: however many requests are waiting with a key, those sent after
// it was revoked are rejected.
func TestRevokedKeyIsRejectedByTheNextRequest(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now), func(o *handlers.Options) { o.FailedKeysPerMinute = 0 })
	other := s.NewKey("read")
	secret := s.NewKey("read")
	key, err := s.Keys.List(t.Context())
	expect.NoError(t, err)
	var revoked atomic.Bool
	var readers sync.WaitGroup
	for i := range 16 {
		readers.Go(func() {
			for rejected := false; !rejected; {
				before := revoked.Load()
				sent := secret
				if i%4 == 0 {
					sent = other // looked up in the same statements
				}
				status := s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {sent}}).Status
				switch {
				case sent == other:
					rejected = before
					expect.Equal(t, http.StatusOK, status, "another key")
				case status == http.StatusUnauthorized:
					rejected = true
				case before:
					t.Errorf("a revoked key got %d", status)
					rejected = true
				}
			}
		})
	}
	for range 20 {
		s.Get("/status").Want(http.StatusOK)
	}
	if ok, err := s.Keys.Revoke(t.Context(), key[len(key)-1].ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	revoked.Store(true)
	readers.Wait()
}

// TestReadsInOtherScopesAreNotShared: equal concurrent reads each show what their key may see.
func TestReadsInOtherScopesAreNotShared(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithFewBookings())
	allKeys := []string{
		s.Key, s.MaskedKey(), s.LimitedKey(domain.Scope{Agents: []int64{1}}), s.LimitedKey(domain.Scope{Agents: []int64{5}}), s.LimitedKey(domain.Scope{Locations: []int64{1}}),
	}
	paths := []string{
		"/bookings?per_page=5", "/bookings?per_page=5&page=2", "/orders?per_page=5", "/customers?per_page=5&include=stats", "/agents", "/payments?per_page=5",
		"/availability?service_id=4&agent_id=any&date=2027-02-05",
		"/bookings?per_page=100&date_from=2026-12-01&date_to=2026-12-02", "/bookings?per_page=100&date_from=2026-12-07&date_to=2026-12-08", "/orders?per_page=100&search=an",
	}
	ask := func(key, path string) string {
		a := s.Do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {key}})
		return fmt.Sprintf("%d %s", a.Status, a.Body)
	}
	want := map[[2]string]string{}
	for _, path := range paths {
		different := map[string]bool{}
		for _, key := range allKeys {
			want[[2]string{key, path}] = ask(key, path)
			different[want[[2]string{key, path}]] = true
		}
		if len(different) < 2 {
			t.Errorf("GET %s: all see the same, which proves nothing", path)
		}
	}
	var readers sync.WaitGroup
	for i := range 2 * len(allKeys) {
		key := allKeys[i%len(allKeys)]
		readers.Go(func() {
			for n := range 3 * len(paths) { // in the same order, so that they meet
				if path := paths[n%len(paths)]; ask(key, path) != want[[2]string{key, path}] {
					t.Errorf("GET %s shows key %d something else than when it was alone", path, i%len(allKeys))
				}
			}
		})
	}
	readers.Wait()
}

// TestFreeTimesThatShareStatementsAreTheSame: free times read at the same time are those that are found alone, in fewer statements.
func TestFreeTimesThatShareStatementsAreTheSame(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	s.Get("/status").Want(http.StatusOK)
	var paths []string
	for _, agent := range []string{"1", "2", "3", "any"} {
		for _, location := range []string{"", "&location_id=1", "&location_id=2", "&location_id=any"} {
			paths = append(paths, "/availability?service_id=6&date=2027-01-12&agent_id="+agent+location)
		}
	}
	for day := 11; day <= 18; day++ {
		for _, agent := range []string{"1", "2", "any"} {
			paths = append(paths, fmt.Sprintf("/availability?service_id=6&date=2027-01-%d&agent_id=%s", day, agent))
		}
	}
	queries := func() (n int) {
		for line := range strings.Lines(s.Log.String()) {
			_, rest, _ := strings.Cut(line, `"queries":`)
			number, _, _ := strings.Cut(rest, ",")
			if i, err := strconv.Atoi(number); err == nil {
				n += i
			}
		}
		return n
	}
	before := queries()
	want := map[string]string{}
	for _, path := range paths {
		want[path] = string(s.Get(path).Want(http.StatusOK).Body)
	}
	alone := queries() - before
	const rounds = 4
	readTogether(rounds, paths, func(path string) {
		expect.Equal(t, want[path], string(s.Get(path).Want(http.StatusOK).Body), path)
	})
	if together := queries() - before - alone; together >= rounds*alone {
		t.Errorf("%d statements at the same time, %d one after the other: none was shared", together, rounds*alone)
	}
}

// TestCalendarsThatShareStatementsAreFresh: a day that another connection fully booked before its free
// times were requested has none, whichever days it shares a statement with.
func TestCalendarsThatShareStatementsAreFresh(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA())
	const days = 60
	first := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) string { return first.AddDate(0, 0, n).Format(time.DateOnly) }
	free := func(n int) int {
		a := s.Get("/availability?service_id=6&agent_id=2&date=" + day(n)).Want(http.StatusOK)
		return len(a.At("data", "slots").([]any))
	}
	var open []int // days that have free times
	for n := range days {
		if free(n) > 0 {
			open = append(open, n)
		}
	}
	if len(open) < days/3 {
		t.Fatalf("only %d of %d days have free times", len(open), days)
	}
	var booked atomic.Int64 // how many of them were booked
	readWhile(func(i int) {
		known := int(booked.Load())
		at := max(0, min(known+i%6-4, len(open)-1))
		if got := free(open[at]); at < known && got > 0 {
			t.Errorf("%s has %d free times after it was booked", day(open[at]), got)
		}
	}, func() {
		for i, n := range open {
			s.Database.Execute(t, fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (agent_id, service_id, location_id, customer_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after)
				VALUES (2, 6, 1, 1, 'approved', '%[1]s', 0, '%[1]s', 1440, 0, 0)`, day(n)))
			booked.Store(int64(i + 1))
		}
	})
}

// TestUnreadableBookingConcernsItsDay: a booking that cannot be read fails the slot searches that need it,
// but not others that are read together with them.
func TestUnreadableBookingConcernsItsDay(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA())
	s.Database.Execute(t, "ALTER TABLE wp_latepoint_bookings MODIFY start_time varchar(20) NULL",
		`INSERT INTO wp_latepoint_bookings (start_date, end_date, start_time, end_time, buffer_before, buffer_after, status, customer_id, service_id, agent_id, location_id)
		VALUES ('2027-02-09', '2027-02-09', 'soon', 660, 0, 0, 'approved', 1, 6, 2, 1)`)
	var paths []string
	for day := 9; day <= 12; day++ {
		for agent := 1; agent <= 3; agent++ {
			paths = append(paths, fmt.Sprintf("/availability?service_id=6&agent_id=%d&date=2027-02-%02d", agent, day))
		}
	}
	alone, failing := map[string]int{}, 0
	for _, path := range paths {
		if alone[path] = s.Get(path).Status; alone[path] == http.StatusInternalServerError {
			failing++
		}
	}
	if failing != 2 { // the day itself, and the next one, which a booking may extend into
		t.Fatalf("%d searches fail: %v", failing, alone)
	}
	readTogether(20, paths, func(path string) {
		expect.Equal(t, alone[path], s.Get(path).Status, fmt.Sprintf("%s: status", path))
	})
}
