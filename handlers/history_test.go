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
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/history"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
)

var (
	// historySlots are non-overlapping starts of the agent and day of apitest.Friday.
	historySlots = []string{"10:00", "11:00", "13:00", "14:00", "15:00"}
	// historyCustomers are the customers that the clients book for.
	historyCustomers = []int64{7, 9, 11, 12, 14, 15, 16, 17}
)

// historyClients ask two servers on one database for a few slots, and record the responses.
type historyClients struct {
	t        *testing.T
	servers  [2]*apitest.Server
	proxies  [2]*fixtures.FaultProxy
	database *fixtures.Database
	history  *history.History
	random   []*rand.Rand // one per client
}

// newHistoryClients serves a database through one proxy per server, with an account that may use every
// table.
func newHistoryClients(t *testing.T) *historyClients {
	t.Helper()
	t.Parallel()
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
		c.servers[i] = apitest.NewServerOver(t, &through, 6, time.Minute)
	}
	c.servers[1].Key = c.servers[0].Key // a hold belongs to its key
	c.database.Execute(t, apitest.FillLocks, "UPDATE wp_latepoint_services SET buffer_before = 0, buffer_after = 0 WHERE id = 4")
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
func (c *historyClients) ask(client int, r history.Request, s *apitest.Server, patience time.Duration) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	c.history.Record(client, r, func() history.Answer { return c.send(ctx, s, client, r) })
}

// send sends a request and reads the answer.
func (c *historyClients) send(ctx context.Context, s *apitest.Server, client int, r history.Request) history.Answer {
	method, path, body := http.MethodGet, "", ""
	customer := fmt.Sprint(historyCustomers[client])
	booking := fmt.Sprint("/bookings/", r.ID)
	at := fmt.Sprintf("%q", historySlots[r.Slot])
	switch r.Kind {
	case history.Create:
		method, path, body = http.MethodPost, "/bookings", apitest.Friday("start_time", at, "customer_id", customer)
	case history.Hold:
		method, path, body = http.MethodPost, "/holds", apitest.HoldBody("start_time", at)
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
	request.Header.Set("X-Api-Key", s.Key)
	request.Header.Set("Content-Type", apitest.JSONType)
	recorder := httptest.NewRecorder()
	s.Handler.ServeHTTP(recorder, request)
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
	c := newHistoryClients(t)
	c.run(40, 3)
	verdict := c.history.Check(time.Minute)
	expect.Equal(t, history.Linearizable, verdict, c.history)
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

// stormWrites has a write for each route that writes, on so few records that
// they often conflict. i differs between writes; created returns the id of a
// record that the storm may delete.
var stormWrites = map[string]func(i int, created func(kind string) string) (path, body string){
	"POST /bookings": func(i int, _ func(string) string) (string, string) {
		if i%2 == 0 {
			return "/bookings", fmt.Sprintf(`{"service_id":4,"agent_id":"any","location_id":1,"start_date":"2027-02-0%d","start_time":"%02d:00","customer_id":%d}`, 1+i%5, 8+i%8, 9+i%3)
		}
		return "/bookings", fmt.Sprintf(`{"service_id":%d,"agent_id":5,"location_id":1,"start_date":"2027-02-0%d","start_time":"%02d:00",
			"customer":{"first_name":"A","last_name":"B","email":"storm%d@example.test"}}`, 2+i%3, 1+i%5, 8+i%8, i%4)
	},
	"POST /bookings/bulk": func(i int, _ func(string) string) (string, string) {
		item := func(i int) string {
			return fmt.Sprintf(`{"service_id":4,"agent_id":%d,"location_id":1,"start_date":"2027-02-0%d","start_time":"%02d:00",
				"customer":{"first_name":"A","last_name":"B","email":"storm%d@example.test"}}`, []int{1, 2, 5}[i%3], 1+i%5, 8+i%8, i%4)
		}
		return "/bookings/bulk", `[` + item(i) + `,` + item(i+1) + `]`
	},
	"PUT /bookings/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/bookings/", 7+i%3), []string{
			fmt.Sprintf(`{"start_date":"2027-02-0%d","start_time":"%02d:00","service_id":4,"agent_id":%d,"location_id":1}`, 1+i%5, 8+i%8, []int{1, 2, 5}[i%3]),
			fmt.Sprintf(`{"customer_id":%d,"notes":"storm %d"}`, 9+i%3, i),
			fmt.Sprintf(`{"customer":{"phone":"+49 30 %d","email":"moved%d@example.test"},"price":%d}`, i, i%4, i%90),
			fmt.Sprintf(`{"status":%q}`, []string{"approved", "cancelled", "pending"}[i%3]),
		}[i%4]
	},
	"DELETE /bookings/:id": func(_ int, created func(string) string) (string, string) {
		return "/bookings/" + created("bookings") + "?force=true", ""
	},
	"POST /bookings/:id/approve": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/bookings/%d/approve", 7+i%3), fmt.Sprintf(`{"reason":"storm %d"}`, i)
	},
	"POST /bookings/:id/decline": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/bookings/%d/decline", 7+i%3), ""
	},
	"POST /bookings/:id/cancel": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/bookings/%d/cancel", 7+i%3), fmt.Sprintf(`{"reason":"storm %d"}`, i)
	},
	"POST /holds": func(i int, _ func(string) string) (string, string) {
		return "/holds", fmt.Sprintf(`{"service_id":4,"agent_id":%q,"location_id":1,"start_date":"2027-02-0%d","start_time":"%02d:00"}`, []string{"any", "1", "5"}[i%3], 1+i%5, 8+i%8)
	},
	"DELETE /holds/:id": func(_ int, created func(string) string) (string, string) { return "/holds/" + created("holds"), "" },
	"PUT /business-hours": func(i int, _ func(string) string) (string, string) {
		return "/business-hours", fmt.Sprintf(`{%s"hours":{"sunday":[{"start_time":"0%d:00","end_time":"12:00"}]}}`, []string{"", `"agent_id":5,`, `"location_id":1,`, `"service_id":4,`}[i%4], 1+i%9)
	},
	"POST /time-off": func(i int, _ func(string) string) (string, string) {
		return "/time-off", fmt.Sprintf(`{%s"date":"2027-03-0%d"}`, []string{"", `"agent_id":5,`, `"location_id":1,`, `"service_id":4,`}[i%4], 1+i%5)
	},
	"DELETE /time-off/:id": func(_ int, created func(string) string) (string, string) {
		return "/time-off/" + created("time-off"), ""
	},
	"POST /customers": func(i int, _ func(string) string) (string, string) {
		return "/customers", fmt.Sprintf(`{"first_name":"A","last_name":"B","email":"storm%d@example.test","custom_fields":{"color":"c%d"}}`, i%6, i)
	},
	"PUT /customers/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/customers/", 9+i%3), fmt.Sprintf(`{"first_name":"N%d","email":"moved%d@example.test","custom_fields":{"color":"c%d"}}`, i, i%4, i)
	},
	"DELETE /customers/:id": func(_ int, created func(string) string) (string, string) {
		return "/customers/" + created("customers"), ""
	},
	"POST /services": func(i int, _ func(string) string) (string, string) {
		return "/services", fmt.Sprintf(`{"name":"Storm %d","duration":30}`, i)
	},
	"PUT /services/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/services/", 1+i%2), fmt.Sprintf(`{"order_number":%d,"description":"d%d"}`, i, i)
	},
	"POST /payments": func(i int, _ func(string) string) (string, string) {
		return "/payments", fmt.Sprintf(`{"order_id":%d,"amount":"%d","status":%q}`, 1+i%3, 1+i%80, []string{"processing", "failed", "succeeded"}[i%3])
	},
	"PUT /payments/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/payments/", 1+i%3), fmt.Sprintf(`{"amount":"%d","status":%q}`, 1+i%80, []string{"failed", "succeeded", "processing"}[i%3])
	},
	"DELETE /payments/:id": func(_ int, created func(string) string) (string, string) {
		return "/payments/" + created("payments"), ""
	},
	"POST /orders": func(i int, _ func(string) string) (string, string) {
		return "/orders", fmt.Sprintf(`{"customer_id":%d,"subtotal":"%d","total":"%d"}`, 9+i%3, i, i)
	},
	"PUT /orders/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/orders/", 1+i%3), fmt.Sprintf(`{"customer_id":%d,"notes":"n%d","total":"%d"}`, 9+i%3, i, 20+i%50)
	},
	"PUT /orders/:id/invoices/:invoice_id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/orders/%d/invoices/%d", 1+i%3, 1+i%3), fmt.Sprintf(`{"status":%q,"charge_amount":"%d"}`, []string{"open", "draft", "void"}[i%3], 1+i%80)
	},
	"POST /coupons": func(i int, _ func(string) string) (string, string) {
		return "/coupons", fmt.Sprintf(`{"code":"STORM%d","name":"S","discount_type":"percent","discount_value":5}`, i%4)
	},
	"PUT /coupons/:code": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/coupons/STORM%d", i%4), fmt.Sprintf(`{"discount_value":%d}`, 1+i%90)
	},
	"POST /webhooks": func(i int, _ func(string) string) (string, string) {
		return "/webhooks", `{"url":"https://example.test/","events":["booking.*"]}`
	},
	"PUT /webhooks/:id": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprint("/webhooks/", 1+i%3), fmt.Sprintf(`{"name":"w%d","status":%q}`, i, []string{"enabled", "disabled"}[i%2])
	},
	"DELETE /webhooks/:id": func(i int, _ func(string) string) (string, string) { return fmt.Sprint("/webhooks/", 4+i%3), "" },
	"POST /webhooks/:id/test": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/webhooks/%d/test", 1+i%3), ""
	},
	"POST /webhooks/:id/rotate": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/webhooks/%d/rotate", 1+i%3), ""
	},
	"POST /webhooks/:id/replay": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/webhooks/%d/replay", 1+i%3), `{"since":"2026-11-20T00:00:00Z"}`
	},
	"DELETE /coupons/:code": func(i int, _ func(string) string) (string, string) {
		return fmt.Sprintf("/coupons/STORM%d", i%2), ""
	},
}

// TestWritesNeverDeadlock writes the same few records through every route on
// two servers at the same time: writes wait for each other without deadlocks,
// and no transaction is retried.
func TestWritesNeverDeadlock(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithAssets())
	database.InsertAsset(t, 3, []int{4, 6}) // taken by more agents than it has units
	database.InsertAsset(t, 1, []int{4, 1, 2}, 5)
	servers := []*apitest.Server{apitest.NewServerOver(t, database, 10, time.Minute), apitest.NewServerOver(t, database, 10, time.Minute)}
	servers[1].Key = servers[0].Key // a webhook belongs to its key
	database.MakeCustomersUsers(t)
	database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('one_agent_at_location', 'on')")
	var routes []string
	for _, route := range handlers.Routes() {
		name := route.Method + " " + route.Path
		if route.Method == http.MethodGet {
			continue
		}
		if stormWrites[name] == nil {
			t.Errorf("no write for %s", name)
		}
		routes = append(routes, name)
	}
	var mu sync.Mutex
	ids := map[string][]string{}
	created := func(kind string) string {
		mu.Lock()
		defer mu.Unlock()
		if len(ids[kind]) == 0 {
			return "8000000"
		}
		last := ids[kind][len(ids[kind])-1]
		ids[kind] = ids[kind][:len(ids[kind])-1]
		return last
	}
	const workers, rounds = 20, 16
	var next, answered [2]atomic.Int64
	succeeded := map[string]int{}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				i := int(next[0].Add(1)) - 1
				if i >= rounds*len(routes) {
					return
				}
				name := routes[i%len(routes)]
				method, _, _ := strings.Cut(name, " ")
				path, body := stormWrites[name](i/len(routes)*7+i%5, created)
				on := (i + i/len(routes)) % 2
				a := servers[on].Write(method, path, body)
				answered[on].Add(1)
				if a.Status >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
				}
				if a.Status >= http.StatusMultipleChoices {
					continue
				}
				id := ""
				switch path {
				case "/bookings", "/customers", "/payments", "/holds", "/time-off":
					id = fmt.Sprint(a.At("data", "id"))
				}
				mu.Lock()
				succeeded[name]++
				if id != "" {
					kind := strings.TrimPrefix(path, "/")
					ids[kind] = append(ids[kind], id)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for _, name := range routes {
		if succeeded[name] == 0 {
			t.Errorf("%s never succeeded: the case proves nothing", name)
		}
	}
	for i, s := range servers {
		expect.Equal(t, int64(0), s.Platform.TransactionConflicts(), fmt.Sprintf("server %d, of %d requests: retried transactions", i, answered[i].Load()))
	}
}
