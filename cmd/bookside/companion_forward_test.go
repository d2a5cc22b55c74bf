package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestCompanionForwards: requests to the API reach the server unchanged, and without a server WordPress
// answers.
func TestCompanionForwards(t *testing.T) {
	t.Parallel()
	w, _ := newForwardingSite(t)
	type received struct {
		Method, URL, Body string
		Header            http.Header
	}
	var last atomic.Pointer[received]
	last.Store(&received{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got := &received{Method: r.Method, URL: r.URL.RequestURI(), Header: r.Header}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
			if err := r.ParseMultipartForm(1 << 20); err == nil {
				got.Body = r.Form.Encode()
			}
		} else {
			got.Body = readText(t, r.Body)
		}
		last.Store(got)
		switch r.Header.Get("X-Answer") {
		case "break off":
			panic(http.ErrAbortHandler)
		case "odd status": // PHP changes the status for each of these headers
			rw.Header().Set("Location", "/elsewhere")
			rw.Header().Set("WWW-Authenticate", "Bearer")
			rw.WriteHeader(http.StatusAccepted)
			return
		case "no body":
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		rw.Header().Set("Content-Type", "application/json; charset=UTF-8")
		rw.Header().Add("Set-Cookie", "a=1")
		rw.Header().Add("Set-Cookie", "b=2")
		rw.Header().Set("X-Request-Id", "abc")
		rw.WriteHeader(http.StatusTeapot)
		_, _ = rw.Write([]byte("{\"a\":\"\x00ü\"}\n"))
	}))
	t.Cleanup(server.Close)
	w.Run(t, "update_option('bookside_companion', ['forward' => '"+server.URL+"']);")
	site := w.Serve(t)
	do := func(method, path, contentType, body string) (status int, header http.Header, text string) {
		request, err := http.NewRequestWithContext(t.Context(), method, site+path, strings.NewReader(body))
		expect.NoError(t, err)
		for name, value := range map[string]string{
			"Content-Type": contentType, "Authorization": "Bearer key", "Cookie": "wordpress=1", "X-Forwarded-For": "9.9.9.9", "If-Match": `"7"`, "Accept": "text/event-stream",
		} {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		expect.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode, response.Header, readText(t, response.Body)
	}
	for _, c := range []struct{ name, method, path, contentType, body, wantURL, wantBody string }{
		{"path", "GET", "/index.php/wp-json/latepoint-api/v1/bookings?page=2&q=a%2Bb+c&wait=30", "", "", "/wp-json/latepoint-api/v1/bookings?page=2&q=a%2Bb+c", ""},
		{"hidden wait", "GET", "/?rest_route=/latepoint-api/v1/changes&%77ait=30&waiting=1", "", "", "/wp-json/latepoint-api/v1/changes?waiting=1", ""},
		{"dots in a name", "GET", "/?rest_route=/latepoint-api/v1/a..b/...", "", "", "/wp-json/latepoint-api/v1/a..b/...", ""},
		{"parameter", "GET", "/?rest_route=%2Flatepoint-api%2Fv1%2Fbookings%2F7&fields=id", "", "", "/wp-json/latepoint-api/v1/bookings/7?fields=id", ""},
		{"body", "PUT", "/?rest_route=/latepoint-api/v1/bookings/7", "application/json", "{\"status\": \"\x00ü\"}", "/wp-json/latepoint-api/v1/bookings/7", "{\"status\": \"\x00ü\"}"},
		{"form", "POST", "/?rest_route=/latepoint-api/v1/bookings", "application/x-www-form-urlencoded", "a%5Bb%5D=1&a%5Bc%5D=%27x", "/wp-json/latepoint-api/v1/bookings", "a%5Bb%5D=1&a%5Bc%5D=%27x"},
		{"multipart", "POST", "/?rest_route=/latepoint-api/v1/bookings", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a[b]\"\r\n\r\nit's\r\n--x--\r\n", "/wp-json/latepoint-api/v1/bookings", "a%5Bb%5D=it%27s"},
		{"delete", "DELETE", "/?rest_route=/latepoint-api/v1/bookings/7", "", "", "/wp-json/latepoint-api/v1/bookings/7", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, body := do(c.method, c.path, c.contentType, c.body)
			got := *last.Load()
			want := received{Method: c.method, URL: c.wantURL, Body: c.wantBody, Header: got.Header}
			expect.Equal(t, want, got)
			if status != http.StatusTeapot || body != "{\"a\":\"\x00ü\"}\n" {
				t.Errorf("status %d, body %q", status, body)
			}
			for name, values := range map[string][]string{
				"Content-Type": {"application/json; charset=UTF-8"}, "Set-Cookie": nil, "X-Request-Id": {"abc"}, "X-Powered-By": nil, "Link": nil,
			} {
				expect.Equal(t, values, header.Values(name), name)
			}
			for name, values := range map[string][]string{
				"Authorization": {"Bearer key"}, "Cookie": nil, "X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Proto": {"http"}, "If-Match": {`"7"`}, "Accept": {"application/json"}, "X-Bookside-Forwarded": {"1"},
			} {
				expect.Equal(t, values, got.Header.Values(name), "received ", name)
			}
		})
	}
	t.Run("other requests", func(t *testing.T) {
		last.Store(&received{})
		for _, path := range []string{
			"/?rest_route=/wp/v2/types", "/?rest_route=/latepoint-api/v10/bookings", "/?p=1&x=/wp-json/latepoint-api/v1/bookings",
			// Paths that lead out of the API, to whatever else is at the address.
			"/?rest_route=/latepoint-api/v1/../../secret", "/?rest_route=/latepoint-api/v1/..%2Fsecret", "/index.php/wp-json/latepoint-api/v1/%2e%2E/secret", "/?rest_route=/latepoint-api/v1/a/..",
		} {
			if status, _, _ := do("GET", path, "", ""); status == http.StatusTeapot || last.Load().Method != "" {
				t.Errorf("%s was forwarded", path)
			}
		}
	})
	t.Run("odd answers", func(t *testing.T) {
		// What a plugin prints and buffers beforehand is not part of the response.
		writeBelow(t, w.Content, map[string]string{"mu-plugins/a.php": "<?php ob_start(); echo 'noise';"})
		defer removeFile(t, w.Content, "mu-plugins/a.php")
		for answer, want := range map[string]struct {
			status int
			body   string
		}{
			"odd status": {http.StatusAccepted, ""},
			"no body":    {http.StatusNoContent, ""},
			// The server may have acted already, so WordPress must not act as well.
			"break off": {http.StatusBadGateway, `{"code":"bookside_no_answer","message":"The server of the API did not answer. It may have done what was asked.","data":{"status":502}}`},
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/?rest_route=/latepoint-api/v1/bookings", nil)
			expect.NoError(t, err)
			request.Header.Set("X-Answer", answer)
			request.Header.Set("X-API-Key", "key")
			status, body, err := sendOnce(request)
			if err != nil || status != want.status || body != want.body {
				t.Errorf("%s: status %d, body %q, error %v", answer, status, body, err)
			}
		}
	})
	t.Run("forwarded before", func(t *testing.T) {
		last.Store(&received{})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+"/?rest_route=/latepoint-api/v1/bookings", nil)
		expect.NoError(t, err)
		request.Header.Set("X-Bookside-Forwarded", "1") // as if the setting named the site itself
		if status, _, err := sendOnce(request); err != nil || status != http.StatusNotFound || last.Load().Method != "" {
			t.Errorf("status %d, error %v, received %+v", status, err, last.Load())
		}
	})
	t.Run("no server", func(t *testing.T) {
		server.Close()
		status, _, body := do("GET", "/?rest_route=/latepoint-api/v1/bookings", "", "")
		if status != http.StatusNotFound || !strings.Contains(body, "rest_no_route") {
			t.Errorf("status %d, body %s", status, body)
		}
	})
}

// readText reads a body to its end.
func readText(t *testing.T, body io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(body)
	expect.Succeeded(t, err)
	return string(text)
}

// heldAnswer is a response as its client sees it.
type heldAnswer struct {
	status int
	header http.Header
	body   string
}

// roundTrip sends a request on its own connection. Headers are pairs of name and value.
func roundTrip(ctx context.Context, method, address string, headers ...string) (heldAnswer, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return heldAnswer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header[headers[i]] = append(request.Header[headers[i]], headers[i+1])
	}
	request.Close = true
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return heldAnswer{}, err
	}
	body, err := io.ReadAll(response.Body)
	return heldAnswer{response.StatusCode, response.Header, string(body)}, errors.Join(err, response.Body.Close())
}

// durations match the durations in the header Server-Timing.
var durations = regexp.MustCompile(`dur=[\d.]+`)

// TestCompanionAnswersWithoutAKey: a request without a key gets from PHP what it would get from the server,
// which is not asked. All others reach the server.
func TestCompanionAnswersWithoutAKey(t *testing.T) {
	t.Parallel()
	w, db := newForwardingSite(t)
	for name, settings := range map[string]struct {
		key  string // the parameter
		more []string
	}{
		"by default":        {"api_key", nil},
		"another parameter": {"token", []string{"BOOKSIDE_AUTH__QUERY_PARAMETER=token"}},
		"no parameter":      {"", []string{"BOOKSIDE_AUTH__QUERY_PARAMETER="}},
		"pages of others":   {"api_key", []string{"BOOKSIDE_SERVER__CORS_ORIGINS=https://app.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, settingsFor(db, settings.more...))
			address, err := url.Parse(server.url)
			expect.NoError(t, err)
			var reached atomic.Int64
			proxy := httputil.NewSingleHostReverseProxy(address)
			counting := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				reached.Add(1)
				proxy.ServeHTTP(rw, r)
			}))
			t.Cleanup(counting.Close)
			w.Run(t, "update_option('bookside_companion', ['forward' => '"+counting.URL+"']);")
			const api = "/wp-json/latepoint-api/v1"
			site := w.Serve(t) + "/index.php"
			// compare sends a request both ways and reports whether PHP asked the server.
			compare := func(method, path string, headers ...string) (asked bool) {
				t.Helper()
				before := reached.Load()
				headers = append(headers, "X-Request-Id", "of-the-client")
				want, err := roundTrip(t.Context(), method, server.url+api+path, headers...)
				expect.NoError(t, err)
				got, err := roundTrip(t.Context(), method, site+api+path, headers...)
				expect.NoError(t, err)
				if asked = reached.Load() > before; asked {
					expect.Equal(t, want.status, got.status, method, " ", path, ": status")
					return true
				}
				for _, header := range []http.Header{want.header, got.header} {
					for _, name := range []string{"Date", "Connection", "Server"} { // these belong to the connection
						header.Del(name)
					}
					header.Set("Server-Timing", durations.ReplaceAllString(header.Get("Server-Timing"), "dur=0"))
				}
				expect.Equal(t, want, got, method, " ", path)
				return false
			}
			// Before the server has said what it accepts as a key, any parameter may be one.
			if !compare("GET", "/bookings?whatever=1") {
				t.Error("PHP answered before the server has told its parameter for keys")
			}
			document, err := openapi3.NewLoader().LoadFromURI(address.JoinPath("v1", "openapi.json"))
			expect.NoError(t, err)
			refused := 0
			for path, item := range document.Paths.Map() {
				path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "7")
				for method := range item.Operations() {
					for _, request := range [][2]string{{method, path}, {method, path + "/?page=2&q=a"}, {"HEAD", path}} {
						if name != "by default" && request[1] != path {
							continue
						}
						if request[0] == "HEAD" && method != "GET" {
							continue
						}
						if compare(request[0], request[1]) {
							t.Errorf("PHP asked the server about %s %s", request[0], request[1])
						}
						refused++
					}
				}
			}
			if refused < 60 {
				t.Errorf("only %d requests", refused)
			}
			key := newKey(t, settingsFor(db))
			for _, c := range []struct {
				path    string
				headers []string
				asks    bool
			}{
				{"/bookings", []string{"X-API-Key", key}, true},
				{"/bookings", []string{"x-api-key", "wrong"}, true},
				{"/bookings", []string{"Authorization", "Bearer " + key}, true},
				{"/bookings", []string{"Authorization", "bearer wrong"}, true},
				{"/bookings?" + settings.key + "=" + key, nil, settings.key != ""},
				{"/bookings?api_key=" + key, nil, true},
				{"/agents/1/calendar.ics?api_key=wrong", nil, true},
				{"/bookings", []string{"X-API-Key", " ", "Authorization", "Bearer "}, false},
				{"/bookings?api_key=&" + settings.key + "=%20", []string{"Authorization", "Basic YTpi"}, false},
				{"/bookings/a%2Fb", nil, false},
				{"/services/categories", nil, false},
				// Routes that need no key, or do not exist.
				{"", nil, true}, {"/openapi.json", nil, true}, {"/docs", nil, true}, {"/docs/docs.js", nil, true},
				{"/nothing", nil, true}, {"/bookings/7/nothing", nil, true}, {"/bookings//", nil, true}, {"/bookings?q=" + strings.Repeat("a", 9000), nil, true},
				{"/bookings", []string{"Origin", "https://app.example"}, name == "pages of others"},
			} {
				expect.Equal(t, c.asks, compare("GET", c.path, c.headers...), c.path, " with ", c.headers, ": asked")
			}
			if !compare("POST", "/bookings/7?_method=DELETE") || !compare("POST", "/bookings", "X-HTTP-Method-Override", "GET") || !compare("OPTIONS", "/bookings") {
				t.Error("PHP answered for a method that the server makes of another")
			}
		})
	}
	expect.Equal(t, "", w.Faults(t))
}

// fakeServer stands in for the server of the API. It answers as it is told.
type fakeServer struct {
	url     string
	timeout atomic.Int64 // the timeout that it reports, in seconds
	mode    atomic.Value // string
	held    atomic.Int64 // requests that are being held
	reached atomic.Int64 // requests so far
	arrived atomic.Int64 // when the last one arrived, in milliseconds (Unix)
	release chan struct{}
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{release: make(chan struct{})}
	s.mode.Store("answer")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.arrived.Store(time.Now().UnixMilli())
	s.reached.Add(1)
	w.Header().Set("X-Bookside-Forwarding", fmt.Sprintf("timeout=%d&key=api_key&cors=0", s.timeout.Load()))
	flush := func() { _ = http.NewResponseController(w).Flush() }
	switch s.mode.Load() {
	case "answer":
		_, _ = io.WriteString(w, "whole")
		return
	case "hold":
		s.held.Add(1)
		defer s.held.Add(-1)
		select {
		case <-s.release:
			_, _ = io.WriteString(w, "whole")
			return
		case <-r.Context().Done():
		}
	case "hang":
		<-r.Context().Done()
	case "break off with a length":
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "half")
		flush()
		panic(http.ErrAbortHandler)
	case "break off in parts":
		_, _ = io.WriteString(w, "half")
		flush()
		panic(http.ErrAbortHandler)
	case "break off at once":
		panic(http.ErrAbortHandler)
	case "break off in the header":
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Type: text/pl")
			_ = connection.Close()
		}
	}
}

// TestCompanionOutlivesTheServer: whatever the API's server does, the site keeps responding, and clients of
// the API get an error.
func TestCompanionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	const workers, patience = 6, time.Minute
	w, _ := newForwardingSite(t)
	s := newFakeServer(t)
	s.timeout.Store(60)
	forwardTo := func(address string) { w.Run(t, "update_option('bookside_companion', ['forward' => '"+address+"']);") }
	forwardTo(s.url)
	site := w.ServeByWorkers(t, workers)
	const bookings = "/index.php?rest_route=/latepoint-api/v1/bookings"
	send := func(method string) heldAnswer {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		a, err := roundTrip(ctx, method, site.URL+bookings, "X-API-Key", "key")
		if err != nil {
			a.body = err.Error()
		}
		return a
	}
	sendAll := func(n int, method string) <-chan heldAnswer {
		answers := make(chan heldAnswer, n)
		for range n {
			go func() { answers <- send(method) }()
		}
		return answers
	}
	next := func(answers <-chan heldAnswer) heldAnswer {
		t.Helper()
		select {
		case a := <-answers:
			return a
		case <-time.After(patience):
			t.Fatal("no answer")
			return heldAnswer{}
		}
	}
	wantBusy := func(a heldAnswer, body string) {
		t.Helper()
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || a.body != body {
			t.Errorf("status %d, Retry-After %q, body %s", a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	const (
		busy = `{"code":"platform_not_available","message":"Too many requests are forwarded to the server of the API at the moment.","data":{"status":503}}`
		hung = `{"code":"platform_not_available","message":"The server of the API does not answer at the moment.","data":{"status":503}}`
	)
	logsIn := func() {
		t.Helper()
		if a, err := roundTrip(t.Context(), http.MethodGet, site.URL+"/wp-login.php"); err != nil || a.status != http.StatusOK || !strings.Contains(a.body, "loginform") {
			t.Errorf("the login page: status %d, %v", a.status, err)
		}
	}
	eventually := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never: %s", what)
			}
		}
	}
	// holds fills the slots and returns the pending responses.
	holds := func() <-chan heldAnswer {
		t.Helper()
		s.mode.Store("hold")
		answers := sendAll(3*workers, http.MethodGet)
		for range 3*workers - workers/2 {
			wantBusy(next(answers), busy)
		}
		logsIn()
		expect.Equal(t, workers/2, s.held.Load(), "requests held")
		return answers
	}
	if a := send(http.MethodGet); a.status != http.StatusOK || a.body != "whole" || a.header.Get("X-Bookside-Forwarding") != "" {
		t.Fatalf("%+v", a)
	}

	t.Run("at most half of the workers", func(t *testing.T) {
		answers := holds()
		for range workers / 2 {
			s.release <- struct{}{}
			if a := next(answers); a.status != http.StatusOK || a.body != "whole" {
				t.Errorf("%+v", a)
			}
		}
	})
	t.Run("workers that die", func(t *testing.T) {
		answers := holds()
		site.KillWorkers(t)
		for range workers / 2 {
			if a := next(answers); a.status != http.StatusBadGateway { // from nginx
				t.Errorf("%+v", a)
			}
		}
		eventually("the requests are given up", func() bool { return s.held.Load() == 0 })
		answers = holds()
		for range workers / 2 {
			s.release <- struct{}{}
			expect.Equal(t, http.StatusOK, next(answers).status)
		}
	})
	t.Run("answers that break off", func(t *testing.T) {
		const broken = `{"code":"bookside_no_answer","message":"The server of the API did not answer. It may have done what was asked.","data":{"status":502}}`
		for _, mode := range []string{"with a length", "in parts", "at once", "in the header"} {
			s.mode.Store("break off " + mode)
			if a := send(http.MethodPost); a.status != http.StatusBadGateway || a.body != broken {
				t.Errorf("%s: %+v", mode, a)
			}
		}
	})
	t.Run("time-outs", func(t *testing.T) {
		s.timeout.Store(1)
		s.mode.Store("answer")
		eventually("it answers again", func() bool { return send(http.MethodGet).status == http.StatusOK })
		s.mode.Store("hang")
		sent := time.Now()
		if a := send(http.MethodPost); a.status != http.StatusGatewayTimeout || !strings.Contains(a.body, `"bookside_no_answer"`) {
			t.Errorf("%+v", a)
		}
		reached := s.reached.Load()
		// On a busy machine the pause may be over before the next request: that one times out too, and
		// a new pause begins.
		paused := func(method string) (a heldAnswer, is bool) {
			before := time.Now()
			if a = send(method); a.status == http.StatusGatewayTimeout {
				sent, reached = before, s.reached.Load()
				return a, false
			}
			return a, true
		}
		eventually("others are told", func() bool {
			a, is := paused(http.MethodGet)
			if !is {
				return false
			}
			wantBusy(a, hung)
			if a, is = paused(http.MethodPut); is && !strings.Contains(a.body, `"data":{"status":503,"written":false}`) {
				t.Errorf("a write: %+v", a)
			}
			return is
		})
		s.mode.Store("hold")
		probe := make(chan heldAnswer)
		eventually("one request is forwarded", func() bool {
			go func() { probe <- send(http.MethodGet) }()
			for {
				select {
				case a := <-probe:
					wantBusy(a, hung)
					return false
				case <-time.After(10 * time.Millisecond):
					if s.held.Load() > 0 {
						return true
					}
				}
			}
		})
		// PHP stores the start of the pause in whole seconds.
		if took := time.UnixMilli(s.arrived.Load()).Sub(sent); took < 6*time.Second {
			t.Errorf("the next attempt was %s after the one that timed out", took)
		}
		others := sendAll(workers, http.MethodGet)
		for range workers {
			wantBusy(next(others), hung)
		}
		expect.Equal(t, 1, s.reached.Load()-reached, "requests forwarded")
		s.mode.Store("answer")
		<-probe
	})
	expect.Equal(t, "", w.Faults(t))
}

// TestCompanionCountsWorkers: half of the processes may forward, as far as PHP can know their number, and
// nothing is forwarded without the files that they share.
func TestCompanionCountsWorkers(t *testing.T) {
	t.Parallel()
	w, _ := newForwardingSite(t)
	writeBelow(t, w.Dir, map[string]string{
		"pool.d/www.conf":  "; The usual pool.\n[global]\npid = /run/php.pid\n[www]\nuser = www-data\nlisten = 127.0.0.1:9000\npm = dynamic\npm.max_children = 12 ; at most\nphp_admin_value[error_log] = /var/log/$pool.log\nenv[A] = $A\n",
		"pool.d/z.conf":    "[www]\npm.max_children = 20\n[shop]\npm.max_children = 7\n",
		"pool.d/else.conf": "[else]\npm = static\n",
	})
	files := `array_map(fn($name) => ABSPATH . "pool.d/$name.conf", ['www', 'z', 'else', 'missing'])`
	for pool, want := range map[string]int{"www": 20, "shop": 7, "else": 0, "nowhere": 0} {
		if got := fromPHP[int](t, w, "return BooksideGate::poolSize("+files+", '"+pool+"');"); got != want {
			t.Errorf("pool %s: %d processes, want %d", pool, got, want)
		}
	}
	for code, want := range map[string]int{"": 2, "define('BOOKSIDE_FORWARDED_AT_ONCE', 9);": 9, "define('BOOKSIDE_FORWARDED_AT_ONCE', 0);": 2} {
		if got := fromPHP[int](t, w, code+"return BooksideGate::slots();"); got != want {
			t.Errorf("%q: %d at a time, want %d", code, got, want)
		}
	}

	s := newFakeServer(t)
	folder := w.Run(t, "update_option('bookside_companion', ['forward' => '"+s.url+"']); echo BooksideGate::folder();")
	if err := os.Mkdir(folder, 0o755); err != nil { // owned by another user
		t.Fatal(err)
	}
	a, err := roundTrip(t.Context(), http.MethodGet, w.Serve(t)+"/?rest_route=/latepoint-api/v1/bookings", "X-API-Key", "key")
	if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || s.reached.Load() != 0 {
		t.Errorf("%+v, %v; %d requests were forwarded", a, err, s.reached.Load())
	}
	expect.Texts(t, w.Run(t, "echo bookside_companion_failures()['forward']['message'];"), folder, "WP_TEMP_DIR")
	expect.Equal(t, "", w.Faults(t))
}
