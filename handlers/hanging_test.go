package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

const (
	// hangingLimit is the time limit of a request with a hanging database, and beyondLimit how much longer
	// a response may take.
	hangingLimit = 2 * time.Second
	beyondLimit  = time.Second
	// recovery is how long after a fault the same request must be served again.
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
	s := newServerOver(t, &direct, 4, time.Second, func(o *handlers.Options) { o.RequestTimeout = hangingLimit })
	database.Execute(t, fillLocks)
	return s, proxy
}

// createdRows returns the number of rows in the tables that get one row per new booking.
func (s *server) createdRows() map[string]int {
	rows := map[string]int{}
	for _, table := range []string{"latepoint_bookings", "latepoint_orders", "latepoint_order_items", "latepoint_order_invoices"} {
		rows[table] = s.count(table, "TRUE")
	}
	return rows
}

// TestCommitThatIsNotAnswered: a transaction whose COMMIT is not answered fails in time, and repeating the
// request shows what became of it.
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
			ended := time.Now()
			for a = send(); a.status == http.StatusServiceUnavailable || a.status == http.StatusConflict; a = send() {
				if time.Since(ended) > recovery {
					t.Fatalf("%d %v after the fault: %.300s", a.status, time.Since(ended), a.body)
				}
				time.Sleep(50 * time.Millisecond)
			}
			a.want(http.StatusCreated)
			for table, want := range before {
				if n := s.count(table, "TRUE"); n != want+1 {
					t.Errorf("%d rows more in %s", n-want, table)
				}
			}
		})
	}
}

// TestExportBeginsInTime: everything before the first part of an export counts towards its time limit.
func TestExportBeginsInTime(t *testing.T) {
	fixtures.RequireTime(t)
	s, proxy := hangingServer(t)
	send := func() answer {
		return s.do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {s.key}, "Accept": {"text/csv"}})
	}
	send().want(http.StatusOK)
	proxy.Set(fixtures.Weather{Delay: hangingLimit / 5}) // twice for the key
	time.AfterFunc(hangingLimit*3/5, func() { proxy.Set(fixtures.Weather{Silent: true}) })
	began := time.Now()
	a := send().want(http.StatusServiceUnavailable)
	if took := time.Since(began); took > hangingLimit+beyondLimit {
		t.Errorf("after %v: %s", took, a.body)
	}
}

// TestWaitForWhatIsThere: a request that may wait, but finds a change at once, has one time limit for
// finding and reading it.
func TestWaitForWhatIsThere(t *testing.T) {
	fixtures.RequireServer(t)
	fixtures.RequireTime(t)
	f := newFeed(t)
	key, _ := f.key("read_changes", "read")
	cursor := f.read("/changes", key).Cursor
	f.exec("UPDATE wp_latepoint_customers SET first_name = 'Another'")
	f.wait("/changes?limit=1", cursor, key)
	direct := *f.database
	dsn, proxy := fixtures.NewFaultProxy(t, f.database.DSN)
	direct.DSN = dsn
	s := newServerOver(t, &direct, 4, time.Second, func(o *handlers.Options) { o.RequestTimeout = hangingLimit })
	send := func() answer {
		return s.do(http.MethodGet, "/v1/changes?wait=30&cursor="+cursor, http.Header{"X-Api-Key": {key}})
	}
	send().want(http.StatusOK)
	proxy.Set(fixtures.Weather{Delay: hangingLimit / 20}) // many times until the change is found
	time.AfterFunc(hangingLimit*8/10, func() { proxy.Set(fixtures.Weather{Silent: true}) })
	began := time.Now()
	a := send().want(http.StatusServiceUnavailable)
	if took := time.Since(began); took > hangingLimit+beyondLimit {
		t.Errorf("after %v: %s", took, a.body)
	}
}
