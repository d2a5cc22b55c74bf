package handlers_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"bookside/adapter/keys"
	"bookside/fixtures"
	"bookside/handlers"
	"bookside/handlers/ratelimit"
)

// limitedTo switches the limits on.
func limitedTo(minute, hour int64) func(*handlers.Options) {
	return func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live = true, ratelimit.Limits{PerMinute: minute, PerHour: hour}
	}
}

// together sends the same request with a key over and over at once, to each of
// the servers in turn, and counts the answers by status.
func together(t *testing.T, requests int, key string, servers ...*server) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	statuses := map[int]int{}
	for i := range requests {
		all.Go(func() {
			a := servers[i%len(servers)].do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {key}})
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	all.Wait()
	return statuses
}

// wantStatuses fails the test unless the answers had these statuses.
func wantStatuses(t *testing.T, got map[int]int, ok, refused int) {
	t.Helper()
	if got[http.StatusOK] != ok || got[http.StatusTooManyRequests] != refused || len(got) > 2 {
		t.Errorf("answers by status %v, want %d of 200 and %d of 429", got, ok, refused)
	}
}

// TestRateLimitIsExact: however many requests come at once, as many pass as the
// limit says, of the minute or of the hour.
func TestRateLimitIsExact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ minute, hour int64 }{"minute": {37, 1000}, "hour": {1000, 37}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, small(t), limitedTo(c.minute, c.hour))
			wantStatuses(t, together(t, 120, s.key, s), 37, 83)
			s.clock = s.clock.Add(time.Hour)
			wantStatuses(t, together(t, 50, s.key, s), 37, 13)
		})
	}
}

// TestLimitsOfAKey: a key's own limits, higher or lower, replace the configured
// ones, each by itself.
func TestLimitsOfAKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), limitedTo(10, 100))
	limit := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		minute, hour *int64
		policy       string
	}{
		"none":   {nil, nil, `"minute";q=10;w=60, "hour";q=100;w=3600`},
		"minute": {limit(2), nil, `"minute";q=2;w=60, "hour";q=100;w=3600`},
		"hour":   {nil, limit(3), `"minute";q=10;w=60, "hour";q=3;w=3600`},
		"both":   {limit(20), limit(2000), `"minute";q=20;w=60, "hour";q=2000;w=3600`},
	} {
		secret, _, err := s.keys.Create(t.Context(), keys.NewKey{Name: name, Kind: keys.Live, Permissions: []string{"read"}, PerMinute: c.minute, PerHour: c.hour})
		if err != nil {
			t.Fatal(err)
		}
		a := s.do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {secret}}).want(http.StatusOK)
		if got := a.header.Get("RateLimit-Policy"); got != c.policy {
			t.Errorf("%s: policy %q, want %q", name, got, c.policy)
		}
	}
}

// TestLimitHeadersEverywhere: every answer to a known key tells its limits,
// whatever becomes of the request, and no other answer does.
func TestLimitHeadersEverywhere(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	s := newServer(t, database, limitedTo(9, 100))
	reader := s.newKey("read_services")
	left := 9
	ask := func(name, method, path, key, body string, status int) {
		t.Helper()
		a := s.send(method, "/v1"+path, http.Header{"X-Api-Key": {key}}, body).want(status)
		want := ""
		switch key {
		case s.key:
			left--
			want = strconv.Itoa(max(left, 0))
		case reader:
			want = "8"
		}
		if got := a.header.Get("X-RateLimit-Remaining"); got != want {
			t.Errorf("%s: %q left, want %q", name, got, want)
		}
		for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"} {
			if told := a.header.Get(header) != ""; told != (want != "") {
				t.Errorf("%s: %s is %q", name, header, a.header.Get(header))
			}
		}
		if got := a.header.Get("Retry-After"); (got != "") != (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", name, got)
		}
	}
	ask("good", http.MethodGet, "/bookings", s.key, "", http.StatusOK)
	ask("HEAD", http.MethodHead, "/bookings", s.key, "", http.StatusOK)
	ask("bad parameter", http.MethodGet, "/bookings?page=0", s.key, "", http.StatusBadRequest)
	ask("no such record", http.MethodGet, "/bookings/99999", s.key, "", http.StatusNotFound)
	ask("bad body", http.MethodPost, "/bookings", s.key, "{", http.StatusBadRequest)
	ask("large body", http.MethodPost, "/bookings", s.key, strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge)
	ask("no permission", http.MethodGet, "/bookings", reader, "", http.StatusForbidden)
	ask("wrong key", http.MethodGet, "/bookings", "lp_nobody_has_this_key", "", http.StatusUnauthorized)
	ask("no key", http.MethodGet, "/bookings", "", "", http.StatusUnauthorized)
	arrange(t, database, "UPDATE wp_options SET option_value = '' WHERE option_name = 'active_plugins'")
	ask("plugin off", http.MethodGet, "/bookings", s.key, "", http.StatusServiceUnavailable)
	arrange(t, database, "DROP TABLE wp_latepoint_settings")
	ask("no table", http.MethodGet, "/bookings", s.key, "", http.StatusServiceUnavailable)
	ask("the last one", http.MethodHead, "/bookings", s.key, "", http.StatusServiceUnavailable)
	ask("over the limit", http.MethodGet, "/bookings", s.key, "", http.StatusTooManyRequests)
	ask("HEAD over the limit", http.MethodHead, "/bookings", s.key, "", http.StatusTooManyRequests)
}

// patience is longer than any Redis of a test may take.
const patience = 30 * time.Second

// redisClient reaches a Redis until the test ends.
func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled, options.MaxRetries, options.DialerRetries = true, -1, 1
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// sharing is a server whose counts are in Redis, under the name of a site.
func sharing(t *testing.T, database *fixtures.Database, client *redis.Client, site string, timeout time.Duration, limit int64) (*server, *ratelimit.SharedCounter) {
	t.Helper()
	var shared *ratelimit.SharedCounter
	var s *server
	log := &logBuffer{}
	clock := func() time.Time {
		if s == nil {
			return now
		}
		return s.clock
	}
	shared = ratelimit.NewSharedCounter(client, site, timeout, clock, slog.New(slog.NewJSONHandler(log, nil)))
	s = newServer(t, database, limitedTo(limit, 1000), func(o *handlers.Options) { o.RateLimit.Shared = shared })
	s.log = log
	return s, shared
}

// TestSharedCounts: two servers of a site give a key one limit together,
// exactly; another site on the same Redis has counts of its own; and Redis
// forgets what nobody needs.
func TestSharedCounts(t *testing.T) {
	t.Parallel()
	database := small(t)
	client := redisClient(t, fixtures.NewRedis(t).URL())
	first, counted := sharing(t, database, client, "one", patience, 40)
	second, _ := sharing(t, database, client, "one", patience, 40)
	other, _ := sharing(t, database, client, "two", patience, 40)
	wantStatuses(t, together(t, 120, first.key, first, second), 40, 80)
	a := second.do(http.MethodGet, "/v1/status", http.Header{"X-Api-Key": {first.key}}).want(http.StatusTooManyRequests)
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "40", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795221840", "Retry-After": "60",
		"RateLimit": `"minute";r=0;t=60, "hour";r=960;t=1020`,
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	wantStatuses(t, together(t, 1, first.key, other), 1, 0)
	wantStatuses(t, together(t, 1, second.key, second), 1, 0)

	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 6 { // a minute and an hour: of the first key, of it at the other site, of the second key
		t.Errorf("Redis holds %q", keys)
	}
	for _, key := range keys {
		if life, err := client.TTL(t.Context(), key).Result(); err != nil || life <= 0 || life > 2*time.Hour {
			t.Errorf("%s lives %v (%v)", key, life, err)
		}
	}
	if n := counted.Fallbacks(); n != 0 {
		t.Errorf("%d requests were not counted by Redis", n)
	}
}

// TestBulkOverLimits: a bulk request that no window of its key can hold is told
// so, and one that only comes too early is not.
func TestBulkOverLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		minute, hour int64
		used         int
		message      string
	}{
		"too early":        {3, 100, 1, "Rate limit exceeded"},
		"more than minute": {2, 100, 0, "Rate limit exceeded: this request counts as 3 and the key has 2 in one minute, so it must be split"},
		"more than hour":   {100, 2, 0, "Rate limit exceeded: this request counts as 3 and the key has 2 in one hour, so it must be split"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, small(t), limitedTo(c.minute, c.hour))
			for range c.used {
				s.get("/status").want(http.StatusOK)
			}
			a := s.write(http.MethodPost, "/bookings/bulk", `[{},{},{}]`).want(http.StatusTooManyRequests)
			if a.at("error", "code") != "rate_limit_exceeded" || a.at("error", "message") != c.message || a.header.Get("Retry-After") == "" {
				t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
			}
		})
	}
	s := newServer(t, small(t), limitedTo(1, 100))
	s.get("/status").want(http.StatusOK)
	if a := s.get("/status").want(http.StatusTooManyRequests); a.at("error", "message") != "Rate limit exceeded" {
		t.Errorf("a single request: %s", a.body)
	}
}

// TestSharedCostOfBulk: a bulk request that costs more than is left does
// nothing, and leaves all but its own request.
func TestSharedCostOfBulk(t *testing.T) {
	t.Parallel()
	client := redisClient(t, fixtures.NewRedis(t).URL())
	s, _ := sharing(t, fixtures.New(t, fixtures.SiteA()), client, "one", patience, 6)
	s.get("/status").want(http.StatusOK) // the key's use is noted
	before := s.database.Snapshot(t)
	bulk := "[" + strings.Repeat(friday()+",", 5) + friday() + "]"
	if left := s.write(http.MethodPost, "/bookings/bulk", bulk).want(http.StatusTooManyRequests).header.Get("X-RateLimit-Remaining"); left != "4" {
		t.Errorf("%q left", left)
	}
	nothingWritten(t, "bulk", before)
	if left := s.write(http.MethodPost, "/bookings/bulk", `[{},{},{}]`).want(http.StatusBadRequest).header.Get("X-RateLimit-Remaining"); left != "1" {
		t.Errorf("%q left", left)
	}
}

// TestRedisGoneAndBack: without Redis each server counts by itself at once,
// from what it knew last; the log says so once, and once when it is back.
func TestRedisGoneAndBack(t *testing.T) {
	t.Parallel()
	server := fixtures.NewRedis(t)
	client := redisClient(t, server.URL())
	s, counted := sharing(t, small(t), client, "one", patience, 10)
	wantStatuses(t, together(t, 4, s.key, s), 4, 0)
	server.Stop(t)
	wantStatuses(t, together(t, 20, s.key, s), 6, 14)
	if n := counted.Fallbacks(); n != 20 {
		t.Errorf("%d requests were counted locally, want 20", n)
	}
	server.Start(t)
	wantStatuses(t, together(t, 1, s.key, s), 0, 1) // it is left alone for a while
	s.clock = s.clock.Add(5 * time.Second)
	wantStatuses(t, together(t, 1, s.key, s), 1, 0)
	wantStatuses(t, together(t, 20, s.key, s), 9, 11)
	for _, said := range []string{"each server counts by itself", "Redis counts requests again"} {
		if n := strings.Count(s.log.String(), said); n != 1 {
			t.Errorf("the log says %d times %q: %s", n, said, s.log)
		}
	}
	if n := counted.Fallbacks(); n != 21 {
		t.Errorf("%d requests were counted locally, want 21", n)
	}
}

// TestBadRedis: one that says nothing, or nonsense, is asked once, by all that
// come before the answer is due, and then left alone.
func TestBadRedis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer string }{
		"silent":          {""},
		"refusing":        {"-NOPERM this user has no permissions\r\n"},
		"another answer":  {"+OK\r\n"},
		"too few numbers": {"*2\r\n:1\r\n:1\r\n"},
		"negative":        {"*3\r\n:1\r\n:-5\r\n:-5\r\n"},
		"no protocol":     {"HTTP/1.1 400 Bad Request\r\n\r\n"},
		"hangs up":        {hangUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := newBadRedis(t, c.answer)
			s, counted := sharing(t, small(t), redisClient(t, "redis://user:s3cret@"+bad.address()+"?protocol=2"), "one", 50*time.Millisecond, 10)
			wantStatuses(t, together(t, 1, s.key, s), 1, 0)
			dialed := bad.dialed()
			wantStatuses(t, together(t, 30, s.key, s), 9, 21)
			if n := bad.dialed(); n != dialed {
				t.Errorf("it was dialed %d times, then %d times more", dialed, n-dialed)
			}
			if n := counted.Fallbacks(); n != 31 {
				t.Errorf("%d requests were counted locally, want 31", n)
			}
			if n := strings.Count(s.log.String(), "each server counts by itself"); n != 1 || strings.Contains(s.log.String(), "s3cret") {
				t.Errorf("the log: %s", s.log)
			}
		})
	}
}

// hangUp as the answer ends the connection instead.
const hangUp = "hang up"

// badRedis gives the same answer to whatever it reads.
type badRedis struct {
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

func newBadRedis(t *testing.T, answer string) *badRedis {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &badRedis{listener: listener}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, conn)
			b.mu.Unlock()
			running.Go(func() { b.serve(conn, answer) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		b.mu.Lock()
		for _, conn := range b.conns {
			_ = conn.Close()
		}
		b.mu.Unlock()
		running.Wait()
	})
	return b
}

func (b *badRedis) serve(conn net.Conn, answer string) {
	defer conn.Close()
	buffer := make([]byte, 1<<12)
	for {
		if _, err := conn.Read(buffer); err != nil || answer == hangUp {
			return
		}
		if _, err := fmt.Fprint(conn, answer); err != nil {
			return
		}
	}
}

func (b *badRedis) address() string { return b.listener.Addr().String() }

func (b *badRedis) dialed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

// TestRangesCostWeeks: a range of availability counts as one request for each
// week begun. One that is refused, for its dates or for want of requests, counts
// as one.
func TestRangesCostWeeks(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t), limitedTo(60, 3600))
	for name, c := range map[string]struct {
		query string
		cost  int
	}{
		"no range":         {"date=2026-12-01", 1},
		"1 day":            {"date=2026-12-01&date_to=2026-12-01", 1},
		"7 days":           {"date=2026-12-01&date_to=2026-12-07", 1},
		"8 days":           {"date=2026-12-01&date_to=2026-12-08", 2},
		"14 days":          {"date=2026-12-01&date_to=2026-12-14", 2},
		"62 days":          {"date=2026-12-01&date_to=2027-01-31", 9},
		"63 days":          {"date=2026-12-01&date_to=2027-02-01", 1},
		"backwards":        {"date=2026-12-20&date_to=2026-12-01", 1},
		"no date":          {"date=2026-12-01&date_to=soon", 1},
		"no first date":    {"date=&date_to=2027-01-31", 1},
		"other parameters": {"date=2026-12-01&date_to=2027-01-31&total_attendees=x", 1},
		"explained":        {"date=2026-12-01&date_to=2027-01-31&explain=1", 1},
		"unknown agent":    {"date=2026-12-01&date_to=2026-12-08&agent_id=999", 2},
	} {
		s.key = s.newKey("read")
		a := s.get("/availability?service_id=1&agent_id=any&" + c.query)
		if got, want := a.header.Get("X-RateLimit-Remaining"), strconv.Itoa(60-c.cost); got != want {
			t.Errorf("%s: status %d, %s requests left, want %s", name, a.status, got, want)
		}
	}

	s.key = s.newKey("read")
	ask := func(to, left string, status int) answer {
		t.Helper()
		a := s.get("/availability?service_id=1&agent_id=any&date=2026-12-01&date_to=" + to).want(status)
		if got := a.header.Get("X-RateLimit-Remaining"); got != left {
			t.Errorf("until %s: %s requests left, want %s", to, got, left)
		}
		return a
	}
	for left := 51; left >= 6; left -= 9 {
		ask("2027-01-31", strconv.Itoa(left), http.StatusOK)
	}
	a := ask("2027-01-31", "5", http.StatusTooManyRequests)
	if a.at("error", "code") != "rate_limit_exceeded" || a.header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
	}
	ask("2026-12-14", "3", http.StatusOK)

	tight := newServer(t, small(t), limitedTo(8, 8))
	message := tight.get("/availability?service_id=1&agent_id=any&date=2026-12-01&date_to=2027-01-31").want(http.StatusTooManyRequests).at("error", "message")
	if want := "Rate limit exceeded: this request counts as 9 and the key has 8 in one minute, so it must be split"; message != want {
		t.Errorf("%s, want %s", message, want)
	}
}
