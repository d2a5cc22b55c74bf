package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// TestRedisURL: the URL is a secret. It may come from a file, and messages show it without its password.
func TestRedisURL(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "redis", "redis://u:s3cret@h:1/2\n")
	env := []string{"BOOKSIDE_DB__DSN=u:p@tcp(h)/d", "BOOKSIDE_RATE_LIMIT__REDIS_FILE=" + path}
	got := run(t, env, "", "serve", "--print-config").want(t, exit.OK)
	wantTexts(t, got.stdout, "redis: redis://u:***@h:1/2\n")
	bad := run(t, append(env[:1:1], "BOOKSIDE_RATE_LIMIT__REDIS=redis://u:s3cret@h:1/x"), "", "serve").want(t, exit.Usage, "rate_limit.redis: cannot be read")
	if strings.Contains(got.stdout+got.stderr+bad.stderr, "s3cret") {
		t.Errorf("the password is printed: %s %s", got.stdout, bad.stderr)
	}
}

// quotingRedis is a server that rejects every command and quotes it, as some servers do. It returns its
// address.
func quotingRedis(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at the end of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				sent := make([]byte, 4096)
				for {
					n, err := conn.Read(sent)
					if err != nil {
						return
					}
					words := strings.Join(strings.Fields(string(sent[:n])), " ")
					if _, err := conn.Write([]byte("-ERR unknown command, with args beginning with: " + words + "\r\n")); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// TestRedisErrorsHideURL: an error from Redis may quote the password; ours must not.
func TestRedisErrorsHideURL(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t), "BOOKSIDE_RATE_LIMIT__REDIS=redis://u:s3cret@"+quotingRedis(t)+"?read_timeout=30s")
	s := serve(t, env)
	if status, body := get(t, s.url+"/v1/status", newKey(t, env)); status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
	log := s.stderr.String()
	wantTexts(t, log, "each server counts by itself")
	if strings.Contains(log, "s3cret") {
		t.Errorf("the password is logged: %s", log)
	}
}

// TestCheckRedis: check reports whether Redis works; a failure is not fatal.
func TestCheckRedis(t *testing.T) {
	t.Parallel()
	server := fixtures.NewRedis(t)
	db := small(t)
	check := func(url, want string) {
		t.Helper()
		got := checkJSON(t, settingsFor(db, "BOOKSIDE_RATE_LIMIT__REDIS="+url), exit.OK).line(diagnose.Redis)
		if !strings.HasPrefix(got, want) || got != "" && want == "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(server.URL()+"?read_timeout=30s", "")
	const warning = "minor does not count requests, so each server counts its own: "
	check("redis://u:s3cret@"+quotingRedis(t)+"?read_timeout=30s", warning+"it answers with the error ERR. See")
	server.Stop(t)
	check(server.URL()+"?read_timeout=30s", warning+"dial unix ")
}

// TestServersShareCounts: two servers of one site count requests together in Redis, and separately if Redis
// fails.
func TestServersShareCounts(t *testing.T) {
	t.Parallel()
	server := fixtures.NewRedis(t)
	env := settingsFor(small(t), "BOOKSIDE_RATE_LIMIT__LIVE_PER_MINUTE=3", "BOOKSIDE_RATE_LIMIT__REDIS="+server.URL()+"?read_timeout=30s")
	first, second := serve(t, env), serve(t, env)
	key := newKey(t, env)
	for _, s := range []*testServer{first, second, first} {
		if status, body := get(t, s.url+"/v1/status", key); status != http.StatusOK {
			t.Errorf("status %d: %s", status, body)
		}
	}
	if status, body := get(t, second.url+"/v1/status", key); status != http.StatusTooManyRequests {
		t.Errorf("over the limit: status %d: %s", status, body)
	}
	server.Stop(t)
	another := newKey(t, env)
	for range 3 {
		if status, body := get(t, first.url+"/v1/status", another); status != http.StatusOK {
			t.Errorf("without Redis: status %d: %s", status, body)
		}
	}
	if n := strings.Count(first.stderr.String(), "each server counts by itself"); n != 1 {
		t.Errorf("said %d times: %s", n, first.stderr)
	}
	for _, s := range []*testServer{first, second} {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}
