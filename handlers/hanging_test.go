package handlers_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"bookside/fixtures"
	"bookside/handlers"
)

const (
	// hangingLimit is the time limit of a request beside a database that hangs, and
	// beyondLimit how much longer an answer may take.
	hangingLimit = 2 * time.Second
	beyondLimit  = time.Second
	// recovery is how long it may take after a fault until everything is served again.
	recovery = 5 * time.Second
)

// hangingServer serves a database through a proxy, over a few connections.
func hangingServer(t *testing.T) (*server, *fixtures.FaultProxy) {
	t.Helper()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := newServerOver(t, &direct, 4, time.Second, withTools, func(o *handlers.Options) { o.RequestTimeout = hangingLimit })
	arrange(t, database, fillLocks)
	return s, proxy
}

// hangingKinds are requests of each kind, as many of each as are sent at the same time.
var hangingKinds = map[string]struct {
	times int
	send  func(s *server) answer
}{
	"probe":  {1, func(s *server) answer { return s.probe("/readyz") }},
	"alive":  {1, func(s *server) answer { return s.probe("/livez") }},
	"wait":   {1, func(s *server) answer { return s.get("/changes?wait=1&cursor=0") }},
	"list":   {1, func(s *server) answer { return s.get("/customers?per_page=5") }},
	"shared": {4, func(s *server) answer { return s.get("/bookings?per_page=5&status=approved") }},
	"record": {1, func(s *server) answer { return s.get("/services/1") }},
	"write": {1, func(s *server) answer {
		return s.write(http.MethodPost, "/bookings", friday("start_time", `"14:30"`), "Idempotency-Key", "one")
	}},
	"bulk": {1, func(s *server) answer {
		return s.write(http.MethodPost, "/bookings/bulk", fridays(), "Idempotency-Key", "many")
	}},
	"tool": {1, func(s *server) answer { return s.post(hoursMessage) }},
	"export": {1, func(s *server) answer {
		return s.do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {s.key}, "Accept": {"text/csv"}})
	}},
}

// probe asks the administrative listener, which a hanging database must not keep waiting either.
func (s *server) probe(path string) answer {
	admin := newAdmin()
	admin.Started(s.platform)
	recorder := probe(s.t, admin, http.MethodGet, path)
	return answer{t: s.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// TestAnswersInTime: whatever the database does, every request has its answer in time, nothing is written
// twice or half, and everything is served again soon after.
func TestAnswersInTime(t *testing.T) {
	fixtures.RequireTime(t)
	for name, strike := range map[string]func(*fixtures.FaultProxy){
		"no answer":         func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Silent: true}) },
		"one byte a second": func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Rate: 1}) },
		"latency":           func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Delay: time.Second, Jitter: 2 * time.Second}) },
		"reset": func(p *fixtures.FaultProxy) {
			p.Set(fixtures.Weather{Silent: true})
			time.AfterFunc(time.Second, p.ResetAll)
		},
		"half-open": func(p *fixtures.FaultProxy) { p.ForgetAll() },
		"refused":   func(p *fixtures.FaultProxy) { p.Set(fixtures.Weather{Refuses: true}); p.CloseAll() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy := hangingServer(t)
			for kind, k := range hangingKinds {
				if kind != "write" && kind != "bulk" {
					k.send(s).want(http.StatusOK)
				}
			}
			before := s.createdRows()
			strike(proxy)
			var requests sync.WaitGroup
			for kind, k := range hangingKinds {
				for range k.times {
					requests.Go(func() {
						began := time.Now()
						a := k.send(s)
						if took := time.Since(began); took > hangingLimit+beyondLimit || a.status >= http.StatusInternalServerError && a.status != http.StatusServiceUnavailable {
							t.Errorf("%s: %d after %v: %.300s", kind, a.status, took, a.body)
						}
					})
				}
			}
			requests.Wait()
			proxy.Set(fixtures.Weather{})
			s.recovers(t, before)
		})
	}
}

// createdRows returns the number of rows in tables to which a new booking adds one.
func (s *server) createdRows() map[string]int {
	rows := map[string]int{}
	for _, table := range []string{"latepoint_bookings", "latepoint_orders", "latepoint_order_items", "latepoint_order_invoices"} {
		rows[table] = s.count(table, "TRUE")
	}
	return rows
}

// recovers checks that requests of all kinds are served soon, and that what was sent twice happened once.
func (s *server) recovers(t *testing.T, before map[string]int) {
	t.Helper()
	const created = 1 + 4 // by the write and the bulk request
	ended := time.Now()
	for kind, k := range hangingKinds {
		a := k.send(s)
		for a.status >= http.StatusInternalServerError || a.status == http.StatusConflict {
			if time.Since(ended) > recovery {
				t.Fatalf("%s: %d %v after the fault: %.300s", kind, a.status, time.Since(ended), a.body)
			}
			time.Sleep(50 * time.Millisecond)
			a = k.send(s)
		}
		if a.status >= http.StatusBadRequest {
			t.Errorf("%s: %d %.300s", kind, a.status, a.body)
		}
	}
	for table, want := range before {
		if n := s.count(table, "TRUE"); n != want+created {
			t.Errorf("%d rows more in %s, want %d", n-want, table, created)
		}
	}
}

// TestCommitThatIsNotAnswered: a transaction whose COMMIT is not answered is a failure in time, and the same
// request again tells what became of it.
func TestCommitThatIsNotAnswered(t *testing.T) {
	fixtures.RequireTime(t)
	for name, lost := range map[string]bool{"before the server has it": true, "before the answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy := hangingServer(t)
			s.get("/status").want(http.StatusOK)
			before := s.createdRows()
			proxy.Arm(fixtures.Fault{On: "COMMIT", Lost: lost, Silent: true})
			send := func() answer {
				return s.write(http.MethodPost, "/bookings", friday("start_time", `"14:30"`), "Idempotency-Key", "one")
			}
			began := time.Now()
			a := send().want(http.StatusServiceUnavailable)
			if took := time.Since(began); took > hangingLimit+beyondLimit || a.header.Get("Retry-After") == "" {
				t.Errorf("after %v: %v %s", took, a.header, a.body)
			}
			s.recovers(t, before)
		})
	}
}
