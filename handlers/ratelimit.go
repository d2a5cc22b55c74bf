package handlers

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"

	"bookside/adapter"
)

// Limits are requests of one key in a minute and in an hour.
type Limits struct {
	PerMinute, PerHour int64
}

// RateLimit is the configuration of the limiter.
type RateLimit struct {
	Enabled    bool
	Live, Test Limits // by the kind of key; a key may have limits of its own
}

// limitError is a request over a limit.
type limitError struct {
	message    string
	retryAfter int64 // seconds
}

func (e *limitError) Error() string { return e.message }

// limiter counts the requests of keys in windows of a minute and an hour,
// aligned to UTC.
type limiter struct {
	now     adapter.Clock
	options RateLimit

	mu   sync.Mutex
	used map[int64]*usage // by key id
}

// usage is what a key used of the present minute and hour.
type usage struct {
	minute, hour window
}

// window is a stretch of time that begins at a multiple of its length.
type window struct {
	start int64 // Unix seconds
	used  int64
}

// enter moves the window to the one that now lies in.
func (w *window) enter(now, length int64) {
	if start := now - now%length; start != w.start {
		w.start, w.used = start, 0
	}
}

// state is a window as a client sees it.
type state struct {
	name          string
	length        int64 // seconds
	limit, remain int64
	reset         int64 // Unix seconds
}

func newLimiter(now adapter.Clock, options RateLimit) *limiter {
	return &limiter{now: now, options: options, used: map[int64]*usage{}}
}

// limits are a key's own, else those of its kind.
func (l *limiter) limits(key adapter.Key) Limits {
	limits := l.options.Live
	if key.Kind == adapter.TestKey {
		limits = l.options.Test
	}
	if key.PerMinute != nil {
		limits.PerMinute = *key.PerMinute
	}
	if key.PerHour != nil {
		limits.PerHour = *key.PerHour
	}
	return limits
}

// take counts a request of some cost if both windows have room for it.
func (l *limiter) take(key adapter.Key, cost int64) (minute, hour state, allowed bool) {
	limits, now := l.limits(key), l.now().Unix()
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.used[key.ID]
	if u == nil {
		u = &usage{}
		l.used[key.ID] = u
	}
	u.minute.enter(now, 60)
	u.hour.enter(now, 3600)
	allowed = u.minute.used+cost <= limits.PerMinute && u.hour.used+cost <= limits.PerHour
	if allowed {
		u.minute.used += cost
		u.hour.used += cost
	}
	return u.minute.state("minute", 60, limits.PerMinute), u.hour.state("hour", 3600, limits.PerHour), allowed
}

func (w window) state(name string, length, limit int64) state {
	return state{name: name, length: length, limit: limit, remain: max(limit-w.used, 0), reset: w.start + length}
}

// limit is the middleware; it runs once the key is known.
func (l *limiter) limit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := l.charge(c, 1); err != nil {
			return err
		}
		return next(c)
	}
}

// charge counts a request of some cost and tells the client what is left; a
// limitError where that is not enough.
func (l *limiter) charge(c echo.Context, cost int64) error {
	admission, known := admissionOf(c)
	if !l.options.Enabled || !known {
		return nil
	}
	minute, hour, allowed := l.take(admission.Key, cost)
	setLimitHeaders(c.Response().Header(), l.now().Unix(), minute, hour)
	if allowed {
		return nil
	}
	exhausted := minute
	if hour.remain < cost {
		exhausted = hour
	}
	return &limitError{message: "Rate limit exceeded", retryAfter: secondsUntil(l.now(), exhausted.reset)}
}

// limitHeaders are what setLimitHeaders sets.
var limitHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"}

// setLimitHeaders tells the window with the fewest requests left in the
// headers everybody reads, and both in those of the IETF draft.
func setLimitHeaders(header http.Header, now int64, minute, hour state) {
	scarce := minute
	if hour.remain < minute.remain {
		scarce = hour
	}
	header.Set("X-RateLimit-Limit", strconv.FormatInt(scarce.limit, 10))
	header.Set("X-RateLimit-Remaining", strconv.FormatInt(scarce.remain, 10))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(scarce.reset, 10))
	header.Set("RateLimit-Policy", fmt.Sprintf("%s, %s", minute.policy(), hour.policy()))
	header.Set("RateLimit", fmt.Sprintf("%s, %s", minute.left(now), hour.left(now)))
}

func (s state) policy() string { return fmt.Sprintf("%q;q=%d;w=%d", s.name, s.limit, s.length) }

func (s state) left(now int64) string {
	return fmt.Sprintf("%q;r=%d;t=%d", s.name, s.remain, s.reset-now)
}
