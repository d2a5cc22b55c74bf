package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestConnectionBudget: under load, with probes, the program opens no more
// connections than configured, uses all of them, and rejects no request for lack of one.
func TestConnectionBudget(t *testing.T) {
	t.Parallel()
	db := small(t)
	const budget = 3
	key := newKey(t, settingsFor(db), "--permissions", "read,write")
	dsn := "BOOKSIDE_DB__DSN=" + settings.Lookup(account(t, db, "ALL ON *"), "BOOKSIDE_DB__DSN")
	s := serve(t, lastWins(append(settingsFor(db, dsn, fmt.Sprintf("BOOKSIDE_DB__MAX_OPEN=%d", budget),
		"LIMIT_AcquireTimeout=1m", "BOOKSIDE_SERVER__REQUEST_TIMEOUT=1m"), unlimited...)))
	admin := "http://" + s.admin()

	done := make(chan struct{})
	most := make(chan int, 1)
	go func() { most <- mostConnections(t, db, userOf(dsn), done) }()
	var failed atomic.Pointer[string]
	expect := func(want int, status int, body string, err error) {
		if err != nil || status != want {
			text := fmt.Sprintf("status %d, %v: %s", status, err, body)
			failed.Store(&text)
		}
	}
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			for j := range 15 {
				switch {
				case i == 0:
					status, body, err := tryGet(t.Context(), admin+"/readyz", "")
					expect(http.StatusOK, status, body, err)
				case i%2 == 0:
					status, body, err := tryGet(t.Context(), s.url+"/v1/bookings?per_page=100", key)
					expect(http.StatusOK, status, body, err)
				default:
					status, body, err := tryPost(t.Context(), s.url+"/v1/customers", key, fmt.Sprintf("%d-%d", i, j),
						fmt.Sprintf(`{"first_name":"Ida","last_name":"Neu","email":"ida%d-%d@example.test"}`, i, j))
					expect(http.StatusCreated, status, body, err)
				}
			}
		})
	}
	clients.Wait()
	close(done)
	if text := failed.Load(); text != nil {
		t.Error(*text)
	}
	// One more may be open for killing statements of disconnected clients.
	if got := <-most; got < budget || got > budget+1 {
		t.Errorf("%d connections at a time, want %d, or one more", got, budget)
	}
}

// mostConnections samples the number of a user's connections and returns the maximum.
func mostConnections(t *testing.T, db *fixtures.Database, user string, done <-chan struct{}) (most int) {
	for {
		select {
		case <-done:
			return most
		default:
		}
		open, err := db.Threads(t.Context(), "user = ?", user)
		if err != nil {
			t.Error(err)
			return most
		}
		most = max(most, len(open))
	}
}

// userOf returns the database user in a DSN.
func userOf(setting string) string {
	_, dsn, _ := strings.Cut(setting, "=")
	user, _, _ := strings.Cut(dsn, ":")
	return user
}

// tryPost sends JSON once, over a new connection.
func tryPost(ctx context.Context, url, key, name, text string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		return 0, "", err
	}
	request.Header = http.Header{"X-Api-Key": {key}, "Content-Type": {"application/json"}, "Idempotency-Key": {name}}
	return sendOnce(request)
}

// dialRaw connects to the host of a URL.
func dialRaw(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestRawClients: slow senders are disconnected, and requests that exceed a limit are rejected.
func TestRawClients(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t), "LIMIT_HeaderTimeout=3s", "BOOKSIDE_SERVER__REQUEST_TIMEOUT=3s")
	s := serve(t, env)
	key := newKey(t, env, "--permissions", "write,read")
	for name, c := range map[string]struct{ sent, heard string }{
		"nothing":          {"", ""},
		"half a line":      {"GET /v1/sta", "HTTP/1.1 400 Bad Request"},
		"half a header":    {"GET /v1/status HTTP/1.1\r\nHost: a\r\nX-API-Key: " + key + "\r\n", ""},
		"half a body":      {"POST /v1/bookings HTTP/1.1\r\nHost: a\r\nX-API-Key: " + key + "\r\nContent-Length: 50\r\n\r\n{", "HTTP/1.1 408 Request Timeout"},
		"body without key": {"POST /v1/bookings HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{", "HTTP/1.1 401 Unauthorized"},
		"large header":     {"GET /v1/status HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 22<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"many headers":     {"GET /v1/status HTTP/1.1\r\nHost: a\r\nX-API-Key: " + key + "\r\n" + strings.Repeat("X-A: a\r\n", 100) + "\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
		"a hundred":        {"GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: " + key + "\r\n" + strings.Repeat("X-A: a\r\n", 98) + "\r\n", "HTTP/1.1 200 OK"},
		"two long lines":   {"GET /v1/status?" + strings.Repeat("a", 8000) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-API-Key: " + key + "\r\nCookie: " + strings.Repeat("a", 8<<10) + "\r\n\r\n", "HTTP/1.1 200 OK"},
		"long address":     {"GET /v1/status?" + strings.Repeat("a", 9<<10) + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 414 Request URI Too Long"},
		"endless address":  {"GET /v1/status?" + strings.Repeat("a", 40<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, s.url)
			_, err := io.WriteString(conn, c.sent)
			expect.NoError(t, err)
			first, err := bufio.NewReader(conn).ReadString('\n')
			if c.heard == "" && err == nil || c.heard != "" && strings.TrimSpace(first) != c.heard {
				t.Errorf("heard %q, %v", first, err)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil { // until the server disconnects
				t.Logf("cut with %v", err)
			}
		})
	}
}
