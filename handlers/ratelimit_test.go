package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// TestEveryResponseToAKeyHasLimitHeaders: every response to a valid key has the
// headers, whether the request succeeds or not, and no other response does.
func TestEveryResponseToAKeyHasLimitHeaders(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now), apitest.LimitRate(9, 100))
	reader := s.NewKey("read_services")
	left := 9
	ask := func(name, method, path, key, body string, status int) {
		t.Helper()
		a := s.Send(method, "/v1"+path, http.Header{"X-Api-Key": {key}}, body).Want(status)
		want := ""
		switch key {
		case s.Key:
			left--
			want = strconv.Itoa(max(left, 0))
		case reader:
			want = "8"
		}
		expect.Equal(t, want, a.Header.Get("X-RateLimit-Remaining"), fmt.Sprintf("%s: requests left", name))
		for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"} {
			expect.Equal(t, want != "", a.Header.Get(header) != "", fmt.Sprintf("%s: %s is %q", name, header, a.Header.Get(header)))
		}
		if got := a.Header.Get("Retry-After"); (got != "") != (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", name, got)
		}
	}
	ask("good", http.MethodGet, "/bookings", s.Key, "", http.StatusOK)
	ask("HEAD", http.MethodHead, "/bookings", s.Key, "", http.StatusOK)
	ask("bad parameter", http.MethodGet, "/bookings?page=0", s.Key, "", http.StatusBadRequest)
	ask("no such record", http.MethodGet, "/bookings/99999", s.Key, "", http.StatusNotFound)
	ask("bad body", http.MethodPost, "/bookings", s.Key, "{", http.StatusBadRequest)
	ask("large body", http.MethodPost, "/bookings", s.Key, strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge)
	ask("no permission", http.MethodGet, "/bookings", reader, "", http.StatusForbidden)
	ask("wrong key", http.MethodGet, "/bookings", "lp_nobody_has_this_key", "", http.StatusUnauthorized)
	ask("no key", http.MethodGet, "/bookings", "", "", http.StatusUnauthorized)
	s.Database.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'active_plugins'")
	ask("plugin off", http.MethodGet, "/bookings", s.Key, "", http.StatusServiceUnavailable)
	s.Database.Execute(t, "DROP TABLE wp_latepoint_settings")
	ask("no table", http.MethodGet, "/bookings", s.Key, "", http.StatusServiceUnavailable)
	ask("the last one", http.MethodHead, "/bookings", s.Key, "", http.StatusServiceUnavailable)
	ask("over the limit", http.MethodGet, "/bookings", s.Key, "", http.StatusTooManyRequests)
	ask("HEAD over the limit", http.MethodHead, "/bookings", s.Key, "", http.StatusTooManyRequests)
}

// patience is longer than any response may take in a test.
const patience = 30 * time.Second

// newSharedCounter counts in its own Redis, which may take as long as a response.
func newSharedCounter(t *testing.T) *ratelimit.SharedCounter {
	t.Helper()
	return countIn(t, fixtures.NewRedis(t).URL()+"?read_timeout="+patience.String())
}

// countIn counts in the Redis at a URL.
func countIn(t *testing.T, url string) *ratelimit.SharedCounter {
	t.Helper()
	r, err := ratelimit.NewRedis(url)
	expect.NoError(t, err)
	t.Cleanup(func() { expect.Succeeded(t, r.Close()) })
	return ratelimit.NewSharedCounter(r, "site", apitest.FixedClock, slog.New(slog.DiscardHandler))
}

// TestMessageOfABulkOverTheLimit: the message for a bulk request larger than the limit of a window advises
// splitting it; for one that comes too early it says how many requests are left and until when.
func TestMessageOfABulkOverTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		minute, hour int64
		used         int
		message      string
	}{
		"too early":        {3, 100, 1, "Rate limit exceeded: this request counts as 3 and the key has 1 left in this minute, which ends in 60 seconds"},
		"too early, hour":  {100, 4, 2, "Rate limit exceeded: this request counts as 3 and the key has 1 left in this hour, which ends in 1020 seconds"},
		"more than minute": {2, 100, 0, "This request counts as 3 and the key has 2 in one minute, so it must be split"},
		"more than hour":   {100, 2, 0, "This request counts as 3 and the key has 2 in one hour, so it must be split"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Small(t, apitest.LimitRate(c.minute, c.hour))
			for range c.used {
				s.Get("/status").Want(http.StatusOK)
			}
			status, code := http.StatusTooManyRequests, "rate_limit_exceeded"
			if never := c.minute < 3 || c.hour < 3; never { // can succeed
				status, code = http.StatusBadRequest, "invalid_request"
			}
			a := s.Write(http.MethodPost, "/bookings/bulk", `[{},{},{}]`).Want(status)
			if a.At("error", "code") != code || a.At("error", "message") != c.message || a.Header.Get("Retry-After") == "" != (status == http.StatusBadRequest) {
				t.Errorf("%s, Retry-After %q", a.Body, a.Header.Get("Retry-After"))
			}
		})
	}
	s := apitest.NewServer(t, small(t), apitest.LimitRate(1, 100))
	s.Get("/status").Want(http.StatusOK)
	expect.Equal(t, "Rate limit exceeded", s.Get("/status").Want(http.StatusTooManyRequests).At("error", "message"), "a single request")
}

// TestBulkOverASharedLimit: a bulk request that costs more than is left writes
// nothing and costs one request.
func TestBulkOverASharedLimit(t *testing.T) {
	t.Parallel()
	counter := newSharedCounter(t)
	s := apitest.NewServer(t, fixtures.New(t, fixtures.SiteA().WithFewBookings()), apitest.LimitRate(6, 1000), func(o *handlers.Options) { o.RateLimit.Shared = counter })
	s.Get("/status").Want(http.StatusOK) // records the use of the key
	before := s.Database.Snapshot(t)
	bulk := "[" + strings.Repeat(apitest.Friday()+",", 5) + apitest.Friday() + "]"
	expect.Equal(t, "4", s.Write(http.MethodPost, "/bookings/bulk", bulk).Want(http.StatusTooManyRequests).Header.Get("X-RateLimit-Remaining"), "requests left")
	apitest.WantNoWrites(t, "bulk", before)
	expect.Equal(t, "1", s.Write(http.MethodPost, "/bookings/bulk", `[{},{},{}]`).Want(http.StatusBadRequest).Header.Get("X-RateLimit-Remaining"), "requests left")
	expect.Equal(t, int64(0), counter.Fallbacks(), "requests not counted by Redis")
}

// TestAvailabilityOfARangeCostsOneRequestAWeek: a range counts as one request per week or part of a week. A
// rejected one, because of its dates or the rate limit, counts as one.
func TestAvailabilityOfARangeCostsOneRequestAWeek(t *testing.T) {
	s := apitest.Small(t, apitest.LimitRate(60, 3600))
	for name, c := range map[string]struct {
		query string
		cost  int
	}{
		"no range":         {"date=2026-12-01", 1},
		"7 days":           {"date=2026-12-01&date_to=2026-12-07", 1},
		"8 days":           {"date=2026-12-01&date_to=2026-12-08", 2},
		"62 days":          {"date=2026-12-01&date_to=2027-01-31", 9},
		"63 days":          {"date=2026-12-01&date_to=2027-02-01", 1},
		"no date":          {"date=2026-12-01&date_to=soon", 1},
		"other parameters": {"date=2026-12-01&date_to=2027-01-31&total_attendees=x", 1},
		"unknown agent":    {"date=2026-12-01&date_to=2026-12-08&agent_id=999", 2},
	} {
		key := s.NewKey("read")
		a := s.Do(http.MethodGet, "/v1/availability?service_id=1&agent_id=any&"+c.query, http.Header{"X-Api-Key": {key}})
		expect.Equal(t, strconv.Itoa(60-c.cost), a.Header.Get("X-RateLimit-Remaining"), fmt.Sprintf("%s: requests left after status %d", name, a.Status))
	}

	s.Key = s.NewKey("read")
	ask := func(to, left string, status int) apitest.Answer {
		t.Helper()
		a := s.Get("/availability?service_id=1&agent_id=any&date=2026-12-01&date_to=" + to).Want(status)
		expect.Equal(t, left, a.Header.Get("X-RateLimit-Remaining"), fmt.Sprintf("requests left until %s", to))
		return a
	}
	for left := 51; left >= 6; left -= 9 {
		ask("2027-01-31", strconv.Itoa(left), http.StatusOK)
	}
	a := ask("2027-01-31", "5", http.StatusTooManyRequests)
	if a.At("error", "code") != "rate_limit_exceeded" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.Body, a.Header.Get("Retry-After"))
	}
	ask("2026-12-14", "3", http.StatusOK)

	tight := apitest.NewServer(t, small(t), apitest.LimitRate(8, 8))
	message := tight.Get("/availability?service_id=1&agent_id=any&date=2026-12-01&date_to=2027-01-31").Want(http.StatusBadRequest).At("error", "message")
	expect.Equal(t, "This request counts as 9 and the key has 8 in one minute, so it must be split", message, "message")
}
