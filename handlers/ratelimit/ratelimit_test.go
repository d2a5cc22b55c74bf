package ratelimit_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// start is the time at which the tests begin, in the middle of an hour.
var start = time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)

// server limits requests, which name the id of their key in a header.
type server struct {
	t       *testing.T
	handler http.Handler
	clock   time.Time
	log     *fixtures.Buffer
}

// newServer limits all keys to this many requests. shared returns a counter
// that several servers share; nil counts in the server.
func newServer(t *testing.T, limits ratelimit.Limits, shared func(s *server) *ratelimit.SharedCounter) *server {
	t.Helper()
	s := &server{t: t, clock: start, log: &fixtures.Buffer{}}
	options := ratelimit.Options{Enabled: true, Live: limits}
	if shared != nil {
		options.Shared = shared(s)
	}
	limiter := ratelimit.New(options, s.now, func(c echo.Context) (keys.Key, bool) {
		id, err := strconv.ParseInt(c.Request().Header.Get("Key"), 10, 64)
		return keys.Key{ID: id, Kind: keys.Live}, err == nil
	})
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		var limited *ratelimit.Error
		if !errors.As(err, &limited) {
			t.Error(err)
			return
		}
		c.Response().Header().Set("Retry-After", strconv.FormatInt(limited.RetryAfter, 10))
		expect.Succeeded(t, c.String(http.StatusTooManyRequests, limited.Message))
	}
	e.GET("/", func(c echo.Context) error {
		if err := limiter.Charge(c, 1); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	})
	s.handler = e
	return s
}

func (s *server) now() time.Time { return s.clock }

func (s *server) get(key int64) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/", nil)
	request.Header.Set("Key", strconv.FormatInt(key, 10))
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder
}

// wantStatuses sends concurrent requests with a key, to each of the servers in
// turn, and fails the test unless this many are allowed.
func wantStatuses(t *testing.T, requests, allowed int, key int64, servers ...*server) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	statuses := map[int]int{}
	for i := range requests {
		all.Go(func() {
			status := servers[i%len(servers)].get(key).Code
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	if statuses[http.StatusOK] != allowed || statuses[http.StatusTooManyRequests] != requests-allowed {
		t.Errorf("responses by status %v, want %d of 200 and %d of 429", statuses, allowed, requests-allowed)
	}
}

// TestConcurrentRequestsNeverExceedALimit: concurrent requests are allowed up
// to exactly the limit, of the minute or of the hour.
func TestConcurrentRequestsNeverExceedALimit(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]ratelimit.Limits{"minute": {PerMinute: 37, PerHour: 1000}, "hour": {PerMinute: 1000, PerHour: 37}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, limits, nil)
			wantStatuses(t, 120, 37, 1, s)
			s.clock = s.clock.Add(time.Hour)
			wantStatuses(t, 50, 37, 1, s)
		})
	}
}

// TestLimitsOfAKeyReplaceTheConfiguredOnes: a key's own limits, higher or
// lower, each replace the configured one.
func TestLimitsOfAKeyReplaceTheConfiguredOnes(t *testing.T) {
	t.Parallel()
	options := ratelimit.Options{Live: ratelimit.Limits{PerMinute: 10, PerHour: 100}, Test: ratelimit.Limits{PerMinute: 20, PerHour: 200}}
	limit := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		key  keys.Key
		want ratelimit.Limits
	}{
		"live":   {keys.Key{Kind: keys.Live}, ratelimit.Limits{PerMinute: 10, PerHour: 100}},
		"test":   {keys.Key{Kind: keys.Test}, ratelimit.Limits{PerMinute: 20, PerHour: 200}},
		"minute": {keys.Key{Kind: keys.Live, PerMinute: limit(2)}, ratelimit.Limits{PerMinute: 2, PerHour: 100}},
		"hour":   {keys.Key{Kind: keys.Live, PerHour: limit(3)}, ratelimit.Limits{PerMinute: 10, PerHour: 3}},
		"both":   {keys.Key{Kind: keys.Live, PerMinute: limit(20), PerHour: limit(2000)}, ratelimit.Limits{PerMinute: 20, PerHour: 2000}},
	} {
		expect.Equal(t, c.want, options.For(c.key), name)
	}
}

// TestRequestsWithoutAKeyAreNotLimited: they are not counted, and their
// responses mention no limits.
func TestRequestsWithoutAKeyAreNotLimited(t *testing.T) {
	t.Parallel()
	s := newServer(t, ratelimit.Limits{PerMinute: 1, PerHour: 1}, nil)
	for range 3 {
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		expect.Equal(t, http.StatusOK, recorder.Code, "status")
		for _, name := range ratelimit.Headers {
			expect.Equal(t, "", recorder.Header().Get(name), name)
		}
	}
}

// newRedis connects to a Redis until the test ends.
func newRedis(t *testing.T, url string) *ratelimit.Redis {
	t.Helper()
	r, err := ratelimit.NewRedis(url)
	expect.NoError(t, err)
	t.Cleanup(func() { expect.Succeeded(t, r.Close()) })
	return r
}

// patient lets a test's Redis take its time.
const patient = "?read_timeout=30s"

// newSharedServer counts in Redis under the name of a site.
func newSharedServer(t *testing.T, redis *ratelimit.Redis, site string, perMinute int64) (*server, *ratelimit.SharedCounter) {
	t.Helper()
	var counter *ratelimit.SharedCounter
	s := newServer(t, ratelimit.Limits{PerMinute: perMinute, PerHour: 1000}, func(s *server) *ratelimit.SharedCounter {
		counter = ratelimit.NewSharedCounter(redis, site, s.now, slog.New(slog.NewJSONHandler(s.log, nil)))
		return counter
	})
	return s, counter
}

// TestServersOfASiteShareTheirCounts: two servers of a site share a key's
// limit, another site on the same Redis has its own counts, and Redis forgets
// counts that are no longer needed.
func TestServersOfASiteShareTheirCounts(t *testing.T) {
	t.Parallel()
	url := fixtures.NewRedis(t).URL()
	shared := newRedis(t, url+patient)
	first, counter := newSharedServer(t, shared, "one", 40)
	second, _ := newSharedServer(t, shared, "one", 40)
	other, _ := newSharedServer(t, shared, "two", 40)
	wantStatuses(t, 120, 40, 1, first, second)
	header := second.get(1).Header()
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "40", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795221840", "Retry-After": "60",
		"RateLimit": `"minute";r=0;t=60, "hour";r=960;t=1020`, "RateLimit-Policy": `"minute";q=40;w=60, "hour";q=1000;w=3600`,
	} {
		expect.Equal(t, want, header.Get(name), name)
	}
	wantStatuses(t, 1, 1, 1, other)
	wantStatuses(t, 1, 1, 2, second)

	client, err := redis.Dial("unix", strings.TrimPrefix(url, "unix://"))
	expect.NoError(t, err)
	defer client.Close()
	entries, err := redis.Strings(client.Do("KEYS", "*"))
	expect.NoError(t, err)
	if len(entries) != 6 { // a minute and an hour each: the first key, the same at the other site, the second key
		t.Errorf("Redis holds %q", entries)
	}
	for _, entry := range entries {
		if seconds, err := redis.Int(client.Do("TTL", entry)); err != nil || seconds <= 0 || seconds > 2*60*60 {
			t.Errorf("%s expires in %d s (%v)", entry, seconds, err)
		}
	}
	expect.Equal(t, 0, counter.Fallbacks(), "requests that Redis did not count")
}

// TestServersCountAloneWithoutRedis: without Redis each server immediately
// counts by itself, starting from the last counts it received; the log says so
// once, and once when Redis is back.
func TestServersCountAloneWithoutRedis(t *testing.T) {
	t.Parallel()
	database := fixtures.NewRedis(t)
	s, counter := newSharedServer(t, newRedis(t, database.URL()+patient), "one", 10)
	wantStatuses(t, 4, 4, 1, s)
	database.Stop(t)
	wantStatuses(t, 20, 6, 1, s)
	expect.Equal(t, 20, counter.Fallbacks(), "requests counted locally")
	database.Start(t)
	wantStatuses(t, 1, 0, 1, s)                                 // Redis is not tried for a while
	time.Sleep(ratelimit.RetryInterval/2 + 10*time.Millisecond) // the connections that Redis closed are given up
	s.clock = s.clock.Add(ratelimit.RetryInterval)
	wantStatuses(t, 1, 1, 1, s)
	wantStatuses(t, 20, 9, 1, s)
	for _, line := range []string{"each server counts by itself", "Redis counts requests again"} {
		if n := strings.Count(s.log.String(), line); n != 1 {
			t.Errorf("the log says %d times %q: %s", n, line, s.log)
		}
	}
	expect.Equal(t, 21, counter.Fallbacks(), "requests counted locally")
}

// TestBrokenRedisIsTriedOnce: only requests that arrive before the first
// failure try a Redis that does not answer or answers nonsense; then it is left
// alone. Its password stays out of the log.
func TestBrokenRedisIsTriedOnce(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"no reply":         "",
		"error":            "-NOPERM this user has no permissions\r\n",
		"quoting error":    "-ERR unknown command 'HELLO', with args beginning with: 'AUTH' 'user' 's3cret'\r\n",
		"unexpected reply": "+OK\r\n",
		"too few numbers":  "*2\r\n:1\r\n:1\r\n",
		"negative numbers": "*3\r\n:1\r\n:-5\r\n:-5\r\n",
		"other protocol":   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"hangs up":         hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := newBrokenRedis(t, reply)
			s, counter := newSharedServer(t, newRedis(t, "redis://user:s3cret@"+broken.address()+"?read_timeout=50ms"), "one", 10)
			wantStatuses(t, 1, 1, 1, s)
			connections := broken.connections()
			for since := time.Now(); connections == 0 && time.Since(since) < 5*time.Second; connections = broken.connections() {
				time.Sleep(time.Millisecond) // the client may have given up before its connection was accepted
			}
			wantStatuses(t, 30, 9, 1, s)
			if n := broken.connections(); n != connections {
				t.Errorf("%d connections, then %d more", connections, n-connections)
			}
			expect.Equal(t, 31, counter.Fallbacks(), "requests counted locally")
			if n := strings.Count(s.log.String(), "each server counts by itself"); n != 1 || strings.Contains(s.log.String(), "s3cret") {
				t.Errorf("the log: %s", s.log)
			}
		})
	}
}

// hangUp as a reply closes the connection.
const hangUp = "hang up"

// brokenRedis sends the same reply to everything.
type brokenRedis struct {
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

func newBrokenRedis(t *testing.T, reply string) *brokenRedis {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	b := &brokenRedis{listener: listener}
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
			running.Go(func() { serve(conn, reply) })
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

func serve(conn net.Conn, reply string) {
	defer conn.Close()
	buffer := make([]byte, 1<<12)
	for {
		if _, err := conn.Read(buffer); err != nil || reply == hangUp {
			return
		}
		if _, err := fmt.Fprint(conn, reply); err != nil {
			return
		}
	}
}

func (b *brokenRedis) address() string { return b.listener.Addr().String() }

func (b *brokenRedis) connections() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}
