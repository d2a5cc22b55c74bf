package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/history"
)

var (
	// historySlots are non-overlapping starts of the agent and day of friday.
	historySlots = []string{"10:00", "11:00", "13:00", "14:00", "15:00"}
	// historyCustomers are the customers that the clients book for.
	historyCustomers = []int64{7, 9, 11, 12, 14, 15, 16, 17}
)

// historyClients ask two servers on one database for a few slots, and record the responses.
type historyClients struct {
	t        *testing.T
	servers  [2]*server
	proxies  [2]*fixtures.FaultProxy
	database *fixtures.Database
	history  *history.History
	random   []*rand.Rand // one per client
}

// newHistoryClients serves a database through one proxy per server, with an account that may use every
// table.
func newHistoryClients(t *testing.T) *historyClients {
	t.Helper()
	fixtures.RequireServer(t)
	c := &historyClients{t: t, database: fixtures.New(t, fixtures.SiteA().WithFewBookings()), history: history.New(len(historySlots))}
	seed := rand.Uint64()
	if text := os.Getenv("BOOKSIDE_TEST_HISTORY"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("BOOKSIDE_TEST_HISTORY: %v", err)
		}
	}
	t.Logf("BOOKSIDE_TEST_HISTORY=%d draws the same", seed)
	for client := range historyCustomers {
		c.random = append(c.random, rand.New(rand.NewPCG(seed, uint64(client))))
	}
	for i := range c.servers {
		through := *c.database
		through.DSN, c.proxies[i] = fixtures.NewFaultProxy(t, through.AdminDSN)
		c.servers[i] = newServerOver(t, &through, 6, time.Minute)
	}
	c.servers[1].key = c.servers[0].key // a hold belongs to its key
	c.database.Execute(t, fillLocks, "UPDATE wp_latepoint_services SET buffer_before = 0, buffer_after = 0 WHERE id = 4")
	return c
}

// run makes each client send this many requests. Meanwhile, the connections of the first server break a few
// times, and some clients do not wait for their responses.
func (c *historyClients) run(each, breaks int) {
	var all sync.WaitGroup
	for client := range historyCustomers {
		all.Go(func() {
			random := c.random[client]
			for i := range each {
				if client == 0 && breaks > 0 && i%(each/breaks) == each/breaks/2 {
					c.proxies[0].CloseAll()
				}
				patience := time.Minute
				if breaks > 0 && random.IntN(40) == 0 {
					patience = time.Duration(random.Int64N(int64(20 * time.Millisecond)))
				}
				c.ask(client, c.history.Draw(random.IntN), c.servers[random.IntN(len(c.servers))], patience)
			}
		})
	}
	all.Wait()
}

// ask sends a request, and waits for the response as long as the client is patient.
func (c *historyClients) ask(client int, r history.Request, s *server, patience time.Duration) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	c.history.Record(client, r, func() history.Answer { return c.send(ctx, s, client, r) })
}

// send sends a request and reads the answer.
func (c *historyClients) send(ctx context.Context, s *server, client int, r history.Request) history.Answer {
	method, path, body := http.MethodGet, "", ""
	customer := fmt.Sprint(historyCustomers[client])
	booking := fmt.Sprint("/bookings/", r.ID)
	at := fmt.Sprintf("%q", historySlots[r.Slot])
	switch r.Kind {
	case history.Create:
		method, path, body = http.MethodPost, "/bookings", friday("start_time", at, "customer_id", customer)
	case history.Hold:
		method, path, body = http.MethodPost, "/holds", holdBody("start_time", at)
	case history.BookHold:
		method, path, body = http.MethodPost, "/bookings", fmt.Sprintf(`{"hold_id":%d,"customer_id":%s}`, r.ID, customer)
	case history.Move:
		method, path, body = http.MethodPut, booking, fmt.Sprintf(`{"start_time":%s}`, at)
	case history.Cancel:
		method, path, body = http.MethodPut, booking, `{"status":"cancelled"}`
	case history.Availability:
		path = "/availability?service_id=4&agent_id=5&location_id=1&date=2027-02-05"
	case history.Read:
		path = booking
	}
	request := httptest.NewRequestWithContext(ctx, method, "/v1"+path, strings.NewReader(body))
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("Content-Type", jsonType)
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	switch status := recorder.Code; {
	case status == http.StatusServiceUnavailable || ctx.Err() != nil:
		return history.Answer{Outcome: history.Unknown}
	case status == http.StatusConflict:
		return history.Answer{Outcome: history.Refused}
	case status != http.StatusOK && status != http.StatusCreated:
		c.t.Errorf("%v: %d %.500s", r, status, recorder.Body)
	}
	var answered struct{ Data history.Data }
	if err := json.Unmarshal(recorder.Body.Bytes(), &answered); err != nil {
		c.t.Errorf("%v: %v: %.500s", r, err, recorder.Body)
	}
	return r.Done(answered.Data, historySlots)
}

// TestHistoryIsLinearizable: what concurrent clients of two servers are told about an agent's slots on a
// day is consistent with some order of their requests, even if connections break and clients leave.
func TestHistoryIsLinearizable(t *testing.T) {
	t.Parallel()
	c := newHistoryClients(t)
	c.run(40, 3)
	verdict := c.history.Check(time.Minute)
	if verdict != history.Linearizable {
		t.Errorf("%s:\n%s", verdict, c.history)
	}
	outcomes := c.history.Outcomes()
	t.Log(outcomes)
	for _, kind := range []history.Kind{history.Create, history.Move, history.Cancel, history.Hold, history.Availability, history.Read} {
		if outcomes[string(kind)+" "+string(history.Done)] == 0 {
			t.Errorf("no %s succeeded: %v", kind, outcomes)
		}
	}
}

// TestHistoryWithoutLocksIsNot: the checker notices if the servers do not exclude each other. Each takes
// its locks in a table of its own.
func TestHistoryWithoutLocksIsNot(t *testing.T) {
	t.Parallel()
	c := newHistoryClients(t)
	var verdict history.Verdict
	commits := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	for i, proxy := range c.proxies {
		own := ownLocks(t, c.database, i)
		proxy.Intercept(func(text string) []string {
			if text == "COMMIT" { // commits together with the other server, so that neither sees what the other wrote
				select {
				case commits[i] <- struct{}{}:
				case <-commits[1-i]:
				case <-time.After(300 * time.Millisecond):
				}
			}
			return []string{own(text)}
		})
		proxy.CloseAll()
	}
	for range 10 {
		c.run(15, 0)
		if verdict = c.history.Check(time.Minute); verdict == history.Violated {
			return
		}
	}
	t.Errorf("%s: %v", verdict, c.history.Outcomes())
}

// ownLocks creates a lock table for one server alone, and returns a function that makes its statements use
// it.
func ownLocks(t *testing.T, database *fixtures.Database, server int) func(text string) string {
	t.Helper()
	const locks = "wp_bookside_locks"
	own := fmt.Sprintf("wp_%d_bookside_locks", server)
	database.Execute(t, "CREATE TABLE "+own+" LIKE "+locks, "INSERT INTO "+own+" SELECT * FROM "+locks)
	return func(text string) string { return strings.ReplaceAll(text, locks, own) }
}
