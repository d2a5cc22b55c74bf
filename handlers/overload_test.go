package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestRequestsNeedOneConnection: no request needs two connections at the same time. With a single one
// everything is served, one request after the other.
func TestRequestsNeedOneConnection(t *testing.T) {
	t.Parallel()
	s := apitest.NewServerOver(t, fixtures.New(t, fixtures.SiteA()), 1, time.Minute)
	for _, r := range routesOf(t) {
		if r.Method == http.MethodGet {
			if a := s.Get(r.Path); a.Status >= http.StatusInternalServerError {
				t.Errorf("GET %s: status %d: %s", r.Path, a.Status, a.Body)
			}
		}
	}
	const customer = `"customer":{"first_name":"Rita","last_name":"Neu","email":"rita.neu@example.test","phone":"+49 30 1234"}`
	monday := func(fields ...string) string {
		return apitest.Friday(append([]string{"start_date", `"2027-02-08"`}, fields...)...)
	}
	once := []string{"Idempotency-Key", "a"}
	booking := fmt.Sprint(s.Write(http.MethodPost, "/bookings", apitest.Friday(), once...).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPost, "/bookings", apitest.Friday(), once...).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings", strings.Replace(monday("customer_id", ""), "{", "{"+customer+",", 1)).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings/bulk", "["+monday("start_date", `"2027-02-15"`)+","+monday("start_time", `"13:00"`)+"]", once...).Want(http.StatusCreated)
	s.Write(http.MethodPost, "/bookings/bulk", "["+monday("start_date", `"2027-02-22"`)+"]").Want(http.StatusCreated)
	s.Write(http.MethodPut, "/bookings/"+booking, `{"start_time":"11:00","price":"77","notes":"moved"}`).Want(http.StatusOK)
	s.Write(http.MethodDelete, "/bookings/"+booking+"?force=true", "").Want(http.StatusOK)
	created := fmt.Sprint(s.Write(http.MethodPost, "/customers", `{"first_name":"Ute","last_name":"Neu","email":"ute.neu@example.test","custom_fields":{"cf_a":"b"}}`, once...).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPut, "/customers/"+created, `{"email":"ute.alt@example.test"}`).Want(http.StatusOK)
	s.Write(http.MethodDelete, "/customers/"+created+"?force=true", "").Want(http.StatusOK)
	s.Write(http.MethodPost, "/services", `{"name":"Walk","duration":30,"charge_amount":10}`, once...).Want(http.StatusCreated)
	order := fmt.Sprint(s.Write(http.MethodPost, "/orders", `{"customer_id":9,"subtotal":50,"total":50}`, once...).Want(http.StatusCreated).At("id"))
	s.Write(http.MethodPut, "/orders/"+order, `{"total":60}`).Want(http.StatusOK)
	payment := fmt.Sprint(s.Write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":5}`, once...).Want(http.StatusCreated).At("data", "id"))
	s.Write(http.MethodPut, "/payments/"+payment, `{"amount":6}`).Want(http.StatusOK)

	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if i%2 == 0 {
				s.Get("/bookings?per_page=5")
				return
			}
			body := fmt.Sprintf(`{"first_name":"Ida","last_name":"Neu","email":"ida%d@example.test"}`, i)
			s.Write(http.MethodPost, "/customers", body, "Idempotency-Key", "many"+fmt.Sprint(i)).Want(http.StatusCreated)
		})
	}
	all.Wait()
}

// lockAgents keeps every request that reads agents waiting until unlock.
func lockAgents(t *testing.T, database *fixtures.Database) (unlock func()) {
	t.Helper()
	conn, err := database.SQL.Conn(t.Context())
	expect.NoError(t, err)
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES wp_latepoint_agents WRITE"); err != nil {
		t.Fatal(err)
	}
	unlock = sync.OnceFunc(func() {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(unlock)
	return unlock
}

// waitForLocks waits until this many statements are waiting for the lock.
func waitForLocks(t *testing.T, database *fixtures.Database, statements int) {
	t.Helper()
	for {
		waiting, err := database.Threads(t.Context(), "db = DATABASE() AND state = 'Waiting for table metadata lock'")
		expect.NoError(t, err)
		if len(waiting) >= statements {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestOverloadedServerAsksToRetry: requests without a free connection or slot
// get 503 with Retry-After, on every route; running requests complete.
func TestOverloadedServerAsksToRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connections, places int
	}{"no connection": {1, 0}, "no place": {4, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.Small(apitest.Now))
			s := apitest.NewServerOver(t, database, c.connections, 10*time.Millisecond, func(o *handlers.Options) { o.MaxConcurrent = c.places })
			s.Get("/agents").Want(http.StatusOK)
			unlock := lockAgents(t, database)
			running := make(chan apitest.Answer, 1)
			go func() { running <- s.Get("/agents") }()
			waitForLocks(t, database, 1)
			for _, r := range routesOf(t) {
				a := s.Do(r.Method, "/v1"+r.Path, http.Header{"X-Api-Key": {s.Key}}).Want(http.StatusServiceUnavailable)
				if a.At("code") != "platform_not_available" || a.Header.Get("Retry-After") == "" {
					t.Errorf("%s %s: %s, Retry-After %q", r.Method, r.Path, a.Body, a.Header.Get("Retry-After"))
				}
			}
			s.Do(http.MethodGet, "/v1/nothing", nil).Want(http.StatusNotFound)
			unlock()
			(<-running).Want(http.StatusOK)
			s.Get("/agents").Want(http.StatusOK)
		})
	}
}

// TestClientsThatHangUp: their statements keep their connections until the server has ended them, so that it never
// runs more of them than there are connections.
func TestClientsThatHangUp(t *testing.T) {
	t.Parallel()
	const connections = 2
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	s := apitest.NewServerOver(t, database, connections, time.Minute)
	unlock := lockAgents(t, database)
	ctx, hangUp := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	get := func(ctx context.Context) {
		clients.Go(func() {
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/agents", nil)
			request.Header.Set("X-Api-Key", s.Key)
			s.Serve(request)
		})
	}
	for range 5 * connections {
		get(ctx)
	}
	waitForLocks(t, database, connections)
	hangUp()
	for range 5 * connections {
		get(t.Context())
	}
	time.Sleep(300 * time.Millisecond) // time to run statements beside those that go on
	running, err := database.Threads(t.Context(), "db = DATABASE() AND state = 'Waiting for table metadata lock'")
	if err != nil || len(running) != connections {
		t.Errorf("%d statements run (%v), want %d", len(running), err, connections)
	}
	unlock()
	clients.Wait()
	s.Get("/agents").Want(http.StatusOK)
}

// TestKeyHasHalfOfThePlaces: the requests of one key leave half of the places to others.
func TestKeyHasHalfOfThePlaces(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	s := apitest.NewServerOver(t, database, 8, time.Minute, func(o *handlers.Options) { o.MaxConcurrent = 4 })
	unlock := lockAgents(t, database)
	var running sync.WaitGroup
	get := func() { running.Go(func() { s.Get("/agents").Want(http.StatusOK) }) }
	get()
	get()
	waitForLocks(t, database, 2)
	s.Get("/status").Want(http.StatusServiceUnavailable)
	s.Do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {s.NewKey("read")}}).Want(http.StatusOK)
	unlock()
	running.Wait()
}

// callbackReader is a body that calls before ahead of each read.
type callbackReader struct {
	io.Reader
	before func()
}

func (a callbackReader) Read(p []byte) (int, error) {
	a.before()
	return a.Reader.Read(p)
}

// TestBulkWithoutConnection: a bulk request that finds no free connection
// after its key was accepted is rejected as a whole, and counted once.
func TestBulkWithoutConnection(t *testing.T) {
	t.Parallel()
	metrics := monitor.NewMetrics(monitor.Build{})
	database := fixtures.New(t, fixtures.SiteA())
	s := apitest.NewServerOver(t, database, 1, 10*time.Millisecond, func(o *handlers.Options) { o.Metrics = metrics })
	s.Get("/status").Want(http.StatusOK)
	var unlock func()
	running := make(chan apitest.Answer, 1)
	body := callbackReader{strings.NewReader("[" + apitest.Friday() + "," + apitest.Friday("start_time", `"14:00"`) + "]"), sync.OnceFunc(func() {
		unlock = lockAgents(t, database)
		go func() { running <- s.Get("/agents") }()
		waitForLocks(t, database, 1)
	})}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/bookings/bulk", body)
	request.Header = http.Header{"X-Api-Key": {s.Key}, "Content-Type": {apitest.JSONType}}
	a := s.Serve(request)
	unlock()
	<-running
	a.Want(http.StatusServiceUnavailable)
	wantSamples(t, scrape(t, metrics), "bookside_requests_refused_total", map[string]float64{
		"reason=rate_limit": 0, "reason=failed_keys": 0, "reason=overload": 0, "reason=no_connection": 1,
	})
}

// TestRequestTimeout: a request that exceeds the time limit gets 503, and frees its connection and slot.
func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	s := apitest.NewServerOver(t, database, 1, time.Minute, func(o *handlers.Options) { o.RequestTimeout, o.MaxConcurrent = 2*time.Second, 1 })
	unlock := lockAgents(t, database)
	a := s.Get("/agents").Want(http.StatusServiceUnavailable)
	if want := `{"code":"platform_not_available","message":"The booking platform is not available","data":{"status":503}}`; string(a.Body) != want || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.Body, a.Header.Get("Retry-After"))
	}
	unlock()
	s.Get("/agents").Want(http.StatusOK)
}

// hear reads one response.
func hear(t *testing.T, reader *bufio.Reader) (status int, body string) {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	expect.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}

// TestSlowClientsOccupyNoConnectionOrSlot: while a client slowly sends its body or reads its response,
// others can use the only connection and the only slot.
func TestSlowClientsOccupyNoConnectionOrSlot(t *testing.T) {
	t.Parallel()
	s := apitest.NewServerOver(t, fixtures.New(t, fixtures.SiteA()), 1, time.Second, func(o *handlers.Options) { o.MaxConcurrent = 1 })
	address := s.Listen()
	head := func(request string) string {
		return request + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-API-Key: " + s.Key + "\r\n"
	}

	body := apitest.Friday()
	sender := apitest.Dial(t, address)
	apitest.Say(t, sender, head("POST /v1/bookings")+fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body)))
	reply := bufio.NewReader(sender)
	if line, err := reply.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q, %v", line, err) // the server is waiting for the body now
	}
	if _, err := reply.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	apitest.Say(t, sender, body[:10])

	reader := apitest.Dial(t, address)
	apitest.Say(t, reader, head("GET /v1/bookings?per_page=100&include_meta=true")+"\r\n")
	list := bufio.NewReader(reader)
	if _, err := list.Peek(1); err != nil { // the rest does not fit in the buffers
		t.Fatal(err)
	}

	for range 20 {
		s.Get("/bookings?per_page=5").Want(http.StatusOK)
		s.Write(http.MethodPut, "/bookings/7", `{"notes":"others go on"}`).Want(http.StatusOK)
	}

	apitest.Say(t, sender, body[10:])
	if status, body := hear(t, reply); status != http.StatusCreated {
		t.Errorf("the slow sender got %d: %s", status, body)
	}
	if status, body := hear(t, list); status != http.StatusOK || !strings.HasSuffix(body, "}") || len(body) < 50_000 {
		t.Errorf("the slow reader got %d and %d bytes", status, len(body))
	}
}

// TestBodyThatNeverArrivesTimesOut: the request gets 408 and its connection is
// closed.
func TestBodyThatNeverArrivesTimesOut(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.RequestTimeout = 2 * time.Second })
	address := s.Listen()
	for name, start := range map[string]string{
		"of known length": "Content-Length: 100\r\n\r\n{",
		"in chunks":       "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"not begun":       "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := apitest.Dial(t, address)
			apitest.Say(t, conn, "POST /v1/bookings HTTP/1.1\r\nHost: a\r\nX-API-Key: "+s.Key+"\r\n"+start)
			reply, err := io.ReadAll(conn) // until the server closes the connection
			if err != nil {
				t.Error(err)
			}
			if text := string(reply); !strings.Contains(text, "HTTP/1.1 408 ") || !strings.Contains(text, `{"code":"rest_request_timeout",`) {
				t.Errorf("%s", text)
			}
		})
	}
}

// TestResponsesDoNotWaitForUnneededBodies: a response that needs no body does
// not wait for one, and closes the connection.
func TestResponsesDoNotWaitForUnneededBodies(t *testing.T) {
	s := apitest.Small(t, func(o *handlers.Options) { o.RequestTimeout = time.Hour })
	address := s.Listen()
	for name, c := range map[string]struct {
		request, key string
		status       int
	}{
		"wrong key":          {"POST /v1/bookings HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", "lp_nobody_has_this_key", http.StatusUnauthorized},
		"wrong key, waiting": {"POST /v1/bookings HTTP/1.1\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n", "lp_nobody_has_this_key", http.StatusUnauthorized},
		"no permission":      {"POST /v1/services HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", s.NewKey("read"), http.StatusForbidden},
		"no route":           {"POST /v1/nothing HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", s.Key, http.StatusNotFound},
		"no body needed":     {"GET /v1/services HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", s.Key, http.StatusOK},
		"address too long":   {"POST /v1/" + strings.Repeat("a", 8<<10) + " HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", s.Key, http.StatusRequestURITooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := apitest.Dial(t, address)
			expect.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
			line, rest, _ := strings.Cut(c.request, "\r\n")
			apitest.Say(t, conn, line+"\r\nHost: a\r\nX-API-Key: "+c.key+"\r\n"+rest)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			expect.NoError(t, err)
			defer response.Body.Close()
			if response.StatusCode != c.status || !response.Close {
				t.Errorf("status %d, want %d; closing: %t", response.StatusCode, c.status, response.Close)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnneededBodiesAreDrained: a client that sends its whole body before it
// reads gets the response, and can send its next request on the same
// connection.
func TestUnneededBodiesAreDrained(t *testing.T) {
	s := apitest.Small(t)
	address := s.Listen()
	large := strings.Repeat("a", 1<<20)
	for name, body := range map[string]string{
		"small":     "Content-Length: 2\r\n\r\n{}",
		"large":     "Content-Length: 1048576\r\n\r\n" + large,
		"in chunks": "Transfer-Encoding: chunked\r\n\r\n100000\r\n" + large + "\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := apitest.Dial(t, address)
			reply := bufio.NewReader(conn)
			for _, c := range []struct {
				key    string
				status int
			}{{"lp_nobody_has_this_key", http.StatusUnauthorized}, {s.Key, http.StatusBadRequest}, {"", http.StatusUnauthorized}} {
				apitest.Say(t, conn, "POST /v1/bookings HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-API-Key: "+c.key+"\r\n"+body)
				if status, text := hear(t, reply); status != c.status {
					t.Fatalf("status %d, want %d: %s", status, c.status, text)
				}
			}
		})
	}
}

// TestTooLargeRequestsAreRejected: bodies over 1 MiB are rejected in every format, without being read if
// their length is known; so are URLs over 8 KiB, and compressed bodies.
func TestTooLargeRequestsAreRejected(t *testing.T) {
	s := apitest.Small(t)
	address := s.Listen()
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<16, strings.Repeat("a", 1<<16))
	for name, c := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"announced":         {"POST /v1/bookings HTTP/1.1\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n", 413, "rest_content_too_large"},
		"announced, absurd": {"PUT /v1/bookings/1 HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n", 413, "rest_content_too_large"},
		"in chunks":         {"POST /v1/bookings HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 16) + "1\r\na\r\n", 413, "rest_content_too_large"},
		"a form in chunks": {"POST /v1/bookings HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat(chunk, 16) + "1\r\na\r\n", 413, "rest_content_too_large"},
		"just fits": {"POST /v1/bookings HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n" +
			`{"notes":"` + strings.Repeat("a", 1<<20-12) + `"}`, 400, "invalid_request"},
		"compressed":        {"POST /v1/bookings HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", 415, "rest_unsupported_media_type"},
		"compressed tools":  {"POST /mcp HTTP/1.1\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n\x0b", 415, "rest_unsupported_media_type"},
		"not compressed":    {"PUT /v1/bookings/999 HTTP/1.1\r\nContent-Encoding: Identity\r\nContent-Length: 2\r\n\r\n{}", 404, "booking_not_found"},
		"address":           {"GET /v1/bookings?search=" + strings.Repeat("a", 8<<10) + " HTTP/1.1\r\n", 414, "rest_uri_too_long"},
		"address that fits": {"GET /v1/bookings?unknown=" + strings.Repeat("a", 7<<10) + " HTTP/1.1\r\n", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := apitest.Dial(t, address)
			line, rest, _ := strings.Cut(c.request, "\r\n")
			request := line + "\r\nHost: a\r\nX-API-Key: " + s.Key + "\r\n" + rest
			if !strings.Contains(rest, "\r\n\r\n") {
				request += "\r\n"
			}
			apitest.Say(t, conn, request)
			if status, body := hear(t, bufio.NewReader(conn)); status != c.status || !strings.Contains(body, c.code) {
				t.Errorf("%d %.300s", status, body)
			}
		})
	}
}

// TestNothingTouchesTheConnectionAfterItsRequest: when the client leaves, its request ends only after its
// write deadline was set, because the connection and the context may then serve another request.
func TestNothingTouchesTheConnectionAfterItsRequest(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithFewBookings())
	for name, c := range map[string]struct{ path, accept string }{
		"export":       {"/v1/bookings?per_page=100000", "text/csv"},
		"event stream": {"/v1/changes", "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			w := &leavingClient{ResponseRecorder: httptest.NewRecorder(), leave: leave, setting: make(chan struct{}, 9)}
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, c.path, http.NoBody)
			request.Header.Set("X-Api-Key", s.Key)
			request.Header.Set("Accept", c.accept)
			func() {
				defer func() { _ = recover() }() // an export breaks off
				s.Handler.ServeHTTP(w, request)
			}()
			if !w.set.Load() {
				t.Error("the request ended before the deadline was set")
			}
		})
	}
}

// leavingClient leaves when it is sent the first part of a response.
type leavingClient struct {
	*httptest.ResponseRecorder
	leave   func()
	setting chan struct{} // has an element for each call that is setting the deadline
	set     atomic.Bool
}

func (c *leavingClient) Write(text []byte) (int, error) {
	c.leave()
	select {
	case <-c.setting:
	case <-time.After(time.Minute):
	}
	return 0, io.ErrClosedPipe
}

func (c *leavingClient) SetWriteDeadline(deadline time.Time) error {
	if !deadline.IsZero() {
		c.setting <- struct{}{}
		time.Sleep(200 * time.Millisecond) // time for the request to end
		c.set.Store(true)
	}
	return nil
}

// SetReadDeadline makes the writer look like one of a connection.
func (c *leavingClient) SetReadDeadline(time.Time) error { return nil }

// recovery is how long after a fault the same request must be served again.
const recovery = 5 * time.Second

// hangingServer serves a database through a proxy, over a few connections.
func hangingServer(t *testing.T) (*apitest.Server, *fixtures.FaultProxy) {
	t.Helper()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := apitest.NewServerOver(t, &direct, 4, time.Second, func(o *handlers.Options) { o.RequestTimeout = apitest.HangingLimit })
	database.Execute(t, apitest.FillLocks)
	return s, proxy
}

// createdRows returns the number of rows in the tables that get one row per new booking.
func createdRows(s *apitest.Server) map[string]int {
	rows := map[string]int{}
	for _, table := range []string{"latepoint_bookings", "latepoint_orders", "latepoint_order_items", "latepoint_order_invoices"} {
		rows[table] = s.Count(table, "TRUE")
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
			s.Get("/status").Want(http.StatusOK)
			before := createdRows(s)
			proxy.Arm(fixtures.Fault{On: "COMMIT", Lost: lost, Silent: true})
			send := func() apitest.Answer {
				return s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", `"14:30"`), "Idempotency-Key", "one")
			}
			began := time.Now()
			a := send().Want(http.StatusServiceUnavailable)
			if took := time.Since(began); took > apitest.HangingLimit+apitest.BeyondLimit || a.Header.Get("Retry-After") == "" {
				t.Errorf("after %v: %v %s", took, a.Header, a.Body)
			}
			ended := time.Now()
			for a = send(); a.Status == http.StatusServiceUnavailable || a.Status == http.StatusConflict; a = send() {
				if time.Since(ended) > recovery {
					t.Fatalf("%d %v after the fault: %.300s", a.Status, time.Since(ended), a.Body)
				}
				time.Sleep(50 * time.Millisecond)
			}
			a.Want(http.StatusCreated)
			for table, want := range before {
				expect.Equal(t, want+1, s.Count(table, "TRUE"), fmt.Sprintf("rows in %s", table))
			}
		})
	}
}

// TestExportBeginsInTime: everything before the first part of an export counts towards its time limit.
func TestExportBeginsInTime(t *testing.T) {
	fixtures.RequireTime(t)
	s, proxy := hangingServer(t)
	send := func() apitest.Answer {
		return s.Do(http.MethodGet, "/v1/bookings", http.Header{"X-Api-Key": {s.Key}, "Accept": {"text/csv"}})
	}
	send().Want(http.StatusOK)
	proxy.Set(fixtures.Weather{Delay: apitest.HangingLimit / 5}) // twice for the key
	time.AfterFunc(apitest.HangingLimit*3/5, func() { proxy.Set(fixtures.Weather{Silent: true}) })
	began := time.Now()
	a := send().Want(http.StatusServiceUnavailable)
	if took := time.Since(began); took > apitest.HangingLimit+apitest.BeyondLimit {
		t.Errorf("after %v: %s", took, a.Body)
	}
}

// TestStarting: while the site is being opened, requests wait for a while and are then served; those that
// come too early get a 503 that says when to retry.
func TestStarting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opened time.Duration // when the site is open
		want   int
	}{
		"in time":  {2 * time.Second, http.StatusNoContent},
		"too late": {4 * time.Second, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				s := handlers.NewStarting(time.Now, log, handlers.Options{BasePaths: []string{"/v1"}}, 3*time.Second)
				time.AfterFunc(test.opened, func() {
					s.Open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
				})
				ask := func() *httptest.ResponseRecorder {
					recorder := httptest.NewRecorder()
					s.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/bookings", nil))
					return recorder
				}
				answer := ask()
				body, _ := io.ReadAll(answer.Result().Body)
				if answer.Code != test.want || answer.Code == http.StatusServiceUnavailable && answer.Header().Get("Retry-After") == "" {
					t.Errorf("%d %v %s, want %d", answer.Code, answer.Header(), body, test.want)
				}
				time.Sleep(test.opened)
				expect.Equal(t, http.StatusNoContent, ask().Code, "after the start")
			})
		})
	}
}
