package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestRedisURL: the URL is a secret. It may come from a file, and messages show it without its password.
func TestRedisURL(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "redis", "redis://u:s3cret@h:1/2\n")
	env := []string{"BOOKSIDE_DB__DSN=u:p@tcp(h)/d", "BOOKSIDE_RATE_LIMIT__REDIS_FILE=" + path}
	got := run(t, env, "", "serve", "--print-config").want(t, exit.OK)
	expect.Texts(t, got.stdout, "redis: redis://u:***@h:1/2\n")
	bad := run(t, append(env[:1:1], "BOOKSIDE_RATE_LIMIT__REDIS=redis://u:s3cret@h:1/x"), "", "serve").want(t, exit.Usage, "rate_limit.redis: cannot be read")
	expect.NoTexts(t, got.stdout+got.stderr+bad.stderr, "s3cret")
}

// TestCheckRedis: check reports whether Redis works; a failure is not fatal.
func TestCheckRedis(t *testing.T) {
	t.Parallel()
	server := fixtures.NewRedis(t)
	db := small(t)
	check := func(url, want string) {
		t.Helper()
		got := checkJSON(t, settingsFor(db, "BOOKSIDE_RATE_LIMIT__REDIS="+url), exit.OK).line(monitor.Redis)
		if !strings.HasPrefix(got, want) || got != "" && want == "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(server.URL()+"?read_timeout=30s", "")
	const warning = "minor does not count requests, so each server counts its own: "
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
		wantStatus(t, http.StatusOK, s.url+"/v1/status", key)
	}
	wantStatus(t, http.StatusTooManyRequests, second.url+"/v1/status", key, "over the limit")
	server.Stop(t)
	another := newKey(t, env)
	for range 3 {
		wantStatus(t, http.StatusOK, first.url+"/v1/status", another, "without Redis")
	}
	if n := strings.Count(first.stderr.String(), "each server counts by itself"); n != 1 {
		t.Errorf("said %d times: %s", n, first.stderr)
	}
	for _, s := range []*testServer{first, second} {
		expect.Succeeded(t, s.stop())
	}
}
