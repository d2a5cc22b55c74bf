package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/middleware"
)

// controlled is a site for the tests of the admin port; Anna works on Mondays alone.
const controlled = `now: 2027-01-11T08:00
site: {timezone: Europe/Berlin}
schedule: {monday: 9:00-12:00}
services: [{name: Massage, duration: 60, price: 75, agents: [Anna]}]
customers: [{name: Grace Hopper, email: grace@example.com}]
bookings: [{code: B1, service: Massage, customer: Grace Hopper, start: today 9:00}]
`

// onDatabases runs a test with the embedded engine and, if there is one, with a server.
func onDatabases(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { test(t, embeddedDatabase) })
	t.Run("server", func(t *testing.T) {
		test(t, fixtures.New(t, fixtures.Legacy()).AdminDSN)
	})
}

// control sends a request to the admin port, which must be answered with the status.
func (d demo) control(t *testing.T, method, path, body string, want int) (answer struct{ Now, Error string }) {
	t.Helper()
	if status := ask(t, method, d.admin+path, "", body, &answer); status != want {
		t.Fatalf("%s %s %s: status %d, %+v", method, path, body, status, answer)
	}
	return answer
}

// monday books Anna on Monday.
func monday(date, start string) string {
	return fmt.Sprintf(`{"service_id":1,"agent_id":1,"customer_id":1,"start_date":%q,"start_time":%q}`, date, start)
}

// book creates a booking and returns its id.
func (d demo) book(t *testing.T, date, start string) int {
	t.Helper()
	var created struct {
		Data    struct{ ID int }
		Message string
	}
	if status := ask(t, http.MethodPost, d.api+"/bookings", d.key, monday(date, start), &created); status != http.StatusCreated {
		t.Fatalf("create a booking: status %d, %s", status, created.Message)
	}
	return created.Data.ID
}

// state is what clients see of the site, and the number of the last change.
func (d demo) state(t *testing.T) (state []string) {
	t.Helper()
	for _, path := range []string{"/bookings", "/orders", "/customers", "/payments", "/webhooks", "/changes", "/availability?service_id=1&agent_id=1&date=2027-01-11"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.api+path, nil)
		expect.NoError(t, err)
		request.Header.Set("X-API-Key", d.key)
		response, err := http.DefaultClient.Do(request)
		expect.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d, %v", path, response.StatusCode, err)
		}
		state = append(state, path+" "+epoch.ReplaceAllString(string(body), `"cursor":"epoch-$1"`))
	}
	return state
}

// TestReset: whatever happened to the site, it is as loaded afterwards, for clients that stay connected:
// records, next ids, webhooks, cursors and the clock. What they knew of the journal is not mistaken for
// its new content.
func TestReset(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		text := fixtures.WriteFile(t, "site.yaml", controlled+"webhooks: [http://127.0.0.1:9/hook]\n")
		d := startDemo(t, clock, "--fixtures", text, "--key", "lp_test_known", "--database", database)
		loaded := d.state(t)
		var ids [2]int
		for round := range ids {
			ids[round] = d.book(t, "2027-01-18", "10:00")
			for _, change := range []struct{ method, path, body string }{
				{http.MethodPut, "/customers/1", `{"first_name":"Ada"}`},
				{http.MethodDelete, "/bookings/1?force=true", ""},
				{http.MethodPost, "/webhooks", `{"url":"http://127.0.0.1:9/other","events":["*"]}`},
			} {
				if status := ask(t, change.method, d.api+change.path, d.key, change.body, nil); status >= 300 {
					t.Fatalf("%s %s: status %d", change.method, change.path, status)
				}
			}
			var changes struct{ Cursor string }
			ask(t, http.MethodGet, d.api+"/changes", d.key, "", &changes)
			d.control(t, http.MethodPost, "/clock", `{"advance":"30h"}`, http.StatusOK)
			expect.Equal(t, "2027-01-11T08:00:00+01:00", d.control(t, http.MethodPost, "/reset", "", http.StatusOK).Now, "the clock")
			if diff := cmp.Diff(loaded, d.state(t)); diff != "" {
				t.Fatalf("round %d (-loaded +reset):\n%s", round, diff)
			}
			expect.Equal(t, http.StatusGone, ask(t, http.MethodGet, d.api+"/changes?cursor="+url.QueryEscape(changes.Cursor), d.key, "", nil), "the cursor of another journal: status")
		}
		expect.Equal(t, ids[1], ids[0], "the first booking after a reset")
	})
}

// TestResetWhileRequestsRun: requests that wait for changes end, those that write either end before or are
// cut off, and nothing of them is left.
func TestResetWhileRequestsRun(t *testing.T) {
	onDatabases(t, func(t *testing.T, database string) {
		d := startDemo(t, clock, "--fixtures", fixtures.WriteFile(t, "site.yaml", controlled), "--key", "lp_test_known", "--database", database)
		loaded := d.state(t)
		var changes struct{ Cursor string }
		ask(t, http.MethodGet, d.api+"/changes", d.key, "", &changes)
		var clients sync.WaitGroup
		var stop atomic.Bool
		var answered [600]atomic.Int64 // by status
		send := func(method, path, body string) {
			request, err := http.NewRequestWithContext(t.Context(), method, d.api+path, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("X-API-Key", d.key)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				answered[0].Add(1)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			answered[response.StatusCode].Add(1)
		}
		for week := range 3 {
			clients.Go(func() {
				for day := time.Date(2027, 1, 18+7*week, 0, 0, 0, 0, time.UTC); !stop.Load(); day = day.AddDate(0, 0, 21) {
					send(http.MethodPost, "/bookings", monday(day.Format(time.DateOnly), "10:00"))
				}
			})
		}
		clients.Go(func() {
			for !stop.Load() {
				send(http.MethodGet, "/changes?wait=30&cursor="+url.QueryEscape(changes.Cursor), "")
			}
		})
		for range 5 {
			time.Sleep(30 * time.Millisecond)
			d.control(t, http.MethodPost, "/reset", "", http.StatusOK)
		}
		stop.Store(true)
		clients.Wait()
		for status := range answered {
			n := answered[status].Load()
			if known := status == 0 || status == http.StatusOK || status == http.StatusCreated || status == http.StatusConflict || status == http.StatusGone || status == http.StatusNoContent; n > 0 && !known {
				t.Errorf("%d requests were answered with %d", n, status)
			}
		}
		if answered[http.StatusCreated].Load() == 0 {
			t.Error("nothing was written")
		}
		d.control(t, http.MethodPost, "/reset", "", http.StatusOK)
		if diff := cmp.Diff(loaded, d.state(t)); diff != "" {
			t.Errorf("(-loaded +reset):\n%s", diff)
		}
	})
}

// TestClock: what depends on the time follows the clock: free times, holds, and work in the background,
// such as the next try of a webhook.
func TestClock(t *testing.T) {
	tries := make(chan struct{}, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries <- struct{}{}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(receiver.Close)
	text := fixtures.WriteFile(t, "site.yaml", controlled+"webhooks: ["+receiver.URL+"]\n")
	d := startDemo(t, clock, "--fixtures", text, "--key", "lp_test_known")
	free := func() string {
		var answer struct {
			Data struct {
				Slots []string `json:"available_slots"`
			}
		}
		ask(t, http.MethodGet, d.api+"/availability?service_id=1&agent_id=1&date=2027-01-11", d.key, "", &answer)
		return strings.Join(answer.Data.Slots, " ")
	}
	expect.Equal(t, "10:00 10:30 11:00", free(), "at eight")
	if status := ask(t, http.MethodPost, d.api+"/holds", d.key, monday("2027-01-11", "11:00"), nil); status != http.StatusCreated {
		t.Fatalf("hold a slot: status %d", status)
	}
	expect.Equal(t, "10:00", free(), "while one is held")
	expect.Equal(t, "2027-01-11T10:30:00+01:00", d.control(t, http.MethodPost, "/clock", `{"now":"2027-01-11T10:30"}`, http.StatusOK).Now, "the clock")
	expect.Equal(t, "10:30 11:00", free(), "at half past ten, when the hold has expired")
	d.book(t, "2027-01-18", "10:00")
	<-tries
	for range 2 { // due after seconds, and minutes
		deadline := time.After(time.Minute)
		for tried := false; !tried; {
			d.control(t, http.MethodPost, "/clock", `{"advance":"10m"}`, http.StatusOK)
			select {
			case <-tries:
				tried = true
			case <-time.After(500 * time.Millisecond): // the try before may not have been recorded yet
			case <-deadline:
				t.Fatal("no try came when it was due")
			}
		}
	}
	d.login(t)
	for body, want := range map[string]string{
		`{"advance":"soon"}`:             `"soon" is no duration`,
		`{"now":"soon"}`:                 `"soon" is no date`,
		`{"now":"today","advance":"1h"}`: "send",
		`{"then":"today"}`:               "send",
		`{"advance":"1h"} and more`:      "send",
		`{"now":"2199-12-31T23:30Z"}`:    "now: is in the year 2200;", // in Berlin
		"":                               "send",
		`{"now":"` + strings.Repeat("1", 1<<11) + `"}`: "send",
	} {
		if answer := d.control(t, http.MethodPost, "/clock", body, http.StatusBadRequest); !strings.Contains(answer.Error, want) {
			t.Errorf("%.30s: %q", body, answer.Error)
		}
	}
	for _, test := range [][2]string{
		{`{"now":"2027-03-01T12:00:00Z"}`, "2027-03-01T13:00:00+01:00"},
		{`{"now":"next friday 9:00"}`, "2027-03-05T09:00:00+01:00"},
		{`{"now":"2027-03-05T10:00+02:00"}`, "2027-03-05T09:00:00+01:00"},
		{`{"advance":"-24h"}`, "2027-03-04T09:00:00+01:00"},
	} {
		if d.control(t, http.MethodPost, "/clock", test[0], http.StatusOK); d.control(t, http.MethodGet, "/clock", "", http.StatusOK).Now != test[1] {
			t.Errorf("%s: the clock does not show %s", test[0], test[1])
		}
	}
}

// login logs in to the console with a new token, and returns the cookies of the session.
func (d demo) login(t *testing.T) []*http.Cookie {
	t.Helper()
	var issued struct{ Token string }
	if status := ask(t, http.MethodPost, d.admin+"/login-token", "", "", &issued); status != http.StatusOK {
		t.Fatalf("ask for a login token: status %d", status)
	}
	form := strings.NewReader(url.Values{"token": {issued.Token}}.Encode())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.admin+"/console/login", form)
	expect.NoError(t, err)
	request.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {d.admin}}
	response, err := http.DefaultTransport.RoundTrip(request)
	expect.NoError(t, err)
	_ = response.Body.Close()
	if to := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || to != "/console" {
		t.Errorf("the new token: status %d, leads to %q", response.StatusCode, to)
	}
	return response.Cookies()
}

// TestConsolePages: the embedded database runs what each page of the console reads.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	d := startDemo(t, time.Now)
	session := d.login(t)
	open := func(path string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.admin+"/console"+path, nil)
		expect.NoError(t, err)
		for _, cookie := range session {
			request.AddCookie(cookie)
		}
		response, err := http.DefaultClient.Do(request)
		expect.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || strings.Contains(string(text), "Bookside failed") || !strings.Contains(string(text), "Log out") {
			t.Errorf("%s: status %d, %v: %s", path, response.StatusCode, err, text)
		}
		return string(text)
	}
	ask(t, http.MethodGet, d.api+"/services", d.key, "", new(any))
	for deadline := time.Now().Add(time.Minute); !strings.Contains(open("/requests"), "GET /services"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request is not on its page")
		}
	}
	for _, path := range []string{"", "/day", "/free-times", "/keys", "/webhooks", "/changes"} {
		open(path)
	}
}

// TestControlIsNotForPages: a page that a browser opens from elsewhere can neither reset the site nor move
// its clock, nor can a link.
func TestControlIsNotForPages(t *testing.T) {
	t.Parallel()
	c := control{reopen: func(context.Context, func(context.Context) error) error {
		t.Error("the site is reopened")
		return nil
	}}
	for path, handler := range c.routes() {
		for name, header := range map[string]http.Header{
			"a page":           {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
			"of another port":  {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://127.0.0.1:1"}},
			"an older browser": {"Origin": {"https://evil.example"}},
		} {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8081"+path, strings.NewReader(`{"advance":"1h"}`))
			request.RemoteAddr, request.Header = "127.0.0.1:40000", header
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			expect.Equal(t, http.StatusForbidden, recorder.Code, path, " for ", name, ": status")
		}
	}
	recorder := httptest.NewRecorder()
	c.routes()["/reset"].ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/reset", nil))
	if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != http.MethodPost {
		t.Errorf("a link: status %d", recorder.Code)
	}
}

// TestControlIsForThisMachine: a request that may come from elsewhere needs the demo's key.
func TestControlIsForThisMachine(t *testing.T) {
	t.Parallel()
	clock := newClock(clock, time.Time{}, false)
	c := control{
		key: "lp_test_known", guesses: middleware.NewThrottle(clock.now, 3), clock: clock,
		login:  func(context.Context) (string, error) { return "token", nil },
		reopen: func(context.Context, func(context.Context) error) error { return nil },
	}
	send := func(path, peer, host string, header http.Header) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"advance":"1h"}`))
		request.RemoteAddr, request.Host, request.Header = peer, host, header
		recorder := httptest.NewRecorder()
		c.routes()[path].ServeHTTP(recorder, request)
		return recorder.Code
	}
	const local = "127.0.0.1:40000"
	for path := range c.routes() {
		for _, host := range []string{"localhost:8081", "127.0.0.1:8081", "[::1]:8081", "localhost"} {
			expect.Equal(t, http.StatusOK, send(path, local, host, http.Header{}), path, " at ", host, ": status")
		}
	}
	for name, from := range map[string]struct {
		peer, host string
		header     http.Header
	}{
		"another machine":     {"192.0.2.7:40000", "192.0.2.1:8081", http.Header{}},
		"which says loopback": {"192.0.2.8:40000", "localhost:8081", http.Header{}},
		"the bridge":          {"172.17.0.1:40000", "127.0.0.1:8081", http.Header{}},
		"a rebound name":      {local, "evil.example:8081", http.Header{}},
		"an outer address":    {local, "192.0.2.1:8081", http.Header{}},
		"a proxy":             {"[::1]:40000", "localhost:8081", http.Header{"X-Forwarded-For": {"127.0.0.1"}}},
		"another proxy":       {"127.0.0.2:40000", "localhost:8081", http.Header{"Forwarded": {"for=192.0.2.9"}}},
	} {
		for path := range c.routes() {
			expect.Equal(t, http.StatusUnauthorized, send(path, from.peer, from.host, from.header), name, " at ", path, ": status")
			known := http.Header{"X-Api-Key": {"lp_test_known"}}
			maps.Copy(known, from.header)
			expect.Equal(t, http.StatusOK, send(path, from.peer, from.host, known), name, " at ", path, ", with the key: status")
		}
	}
	for guess, want := range []int{http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized, http.StatusTooManyRequests} {
		expect.Equal(t, want, send("/login-token", "192.0.2.10:40000", "192.0.2.1:8081", http.Header{"X-Api-Key": {fmt.Sprint("lp_test_", guess)}}), "guess ", guess, ": status")
	}
}
