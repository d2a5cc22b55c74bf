package ratelimit

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
)

// Limits are the requests that a key may make in a minute and in an hour.
type Limits struct {
	PerMinute, PerHour int64
}

// Options configure a Limiter.
type Options struct {
	Enabled    bool
	Live, Test Limits // by the kind of key; a key may have limits of its own
	// Shared counts for several servers; nil counts in this process.
	Shared *SharedCounter
}

// For returns the limits of a key: its own, or those of its kind.
func (o Options) For(key keys.Key) Limits {
	limits := o.Live
	if key.Kind == keys.Test {
		limits = o.Test
	}
	if key.PerMinute != nil {
		limits.PerMinute = *key.PerMinute
	}
	if key.PerHour != nil {
		limits.PerHour = *key.PerHour
	}
	return limits
}

// Window is the length of a fixed window of time in seconds. Windows begin at
// multiples of their length in Unix time.
type Window int64

// The windows in which requests are counted.
const (
	Minute Window = 60
	Hour   Window = 3600
)

// Start returns the start of the window that contains now, a Unix time.
func (w Window) Start(now int64) int64 { return now - now%int64(w) }

// Remaining returns the seconds until that window ends, at least 1.
func (w Window) Remaining(now int64) int64 { return int64(w) - now%int64(w) }

// Message is the message of an Error after which the same request can succeed.
const Message = "Rate limit exceeded"

// Error is a request over a limit.
type Error struct {
	Message    string
	RetryAfter int64 // seconds
}

func (e *Error) Error() string { return e.Message }

// Headers are the response headers that a Limiter sets.
var Headers = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"}

// KeyOf returns the key of a request, and whether the request has a valid one.
type KeyOf func(echo.Context) (keys.Key, bool)

// Limiter rejects requests over the limits of their key.
type Limiter struct {
	options Options
	keyOf   KeyOf
	counter counter
}

// counter counts the requests of keys in the current minute and hour.
type counter interface {
	// Take adds cost to both windows of a key if both have room for it, and
	// returns the usage after that.
	Take(ctx context.Context, key, cost int64, limits Limits) (used Usage, allowed bool)
}

// Usage is what a key has used of the minute and the hour that contain Now.
type Usage struct {
	Now          int64 // Unix seconds
	Minute, Hour int64 // requests
}

// New returns a limiter. Requests without a key are not limited.
func New(options Options, now domain.Clock, keyOf KeyOf) *Limiter {
	l := &Limiter{options: options, keyOf: keyOf, counter: NewLocalCounter(now)}
	if options.Shared != nil {
		l.counter = options.Shared
	}
	return l
}

// chargedEntry is the entry of a request's context that holds the cost charged
// so far.
const chargedEntry = "bookside.charged"

// Charge raises the charge of a request to cost requests and sets the headers.
// If the limits do not allow that, it counts nothing and returns an Error, or
// domain.TooCostly if they never will.
func (l *Limiter) Charge(c echo.Context, cost int64) error {
	key, known := l.keyOf(c)
	charged, _ := c.Get(chargedEntry).(int64)
	if !l.options.Enabled || !known || cost <= charged {
		return nil
	}
	limits := l.options.For(key)
	used, allowed := l.counter.Take(c.Request().Context(), key.ID, cost-charged, limits)
	minute := stateOf("minute", Minute, limits.PerMinute, used.Now, used.Minute)
	hour := stateOf("hour", Hour, limits.PerHour, used.Now, used.Hour)
	setHeaders(c.Response().Header(), used.Now, minute, hour)
	if allowed {
		c.Set(chargedEntry, cost)
		return nil
	}
	for _, w := range []state{minute, hour} {
		if cost > max(w.limit, 1) {
			return domain.TooCostly(cost, w.limit, w.name)
		}
	}
	exhausted := minute
	if hour.remaining < cost-charged {
		exhausted = hour
	}
	wait := exhausted.reset - used.Now
	return &Error{Message: message(cost, wait, exhausted), RetryAfter: wait}
}

// message says that a request has to wait, and how long in seconds.
func message(cost, wait int64, exhausted state) string {
	if cost > 1 {
		return fmt.Sprintf(Message+": this request counts as %d and the key has %d left in this %s, which ends in %d seconds", cost, exhausted.remaining, exhausted.name, wait)
	}
	return Message
}

// state is a window as reported to the client.
type state struct {
	name             string
	length           Window
	limit, remaining int64
	reset            int64 // Unix seconds
}

func stateOf(name string, length Window, limit, now, used int64) state {
	return state{name: name, length: length, limit: limit, remaining: max(limit-used, 0), reset: now + length.Remaining(now)}
}

// setHeaders describes the window with the fewest requests left in the widely
// used X-RateLimit headers, and both windows in the IETF draft's headers.
func setHeaders(header http.Header, now int64, minute, hour state) {
	scarce := minute
	if hour.remaining < minute.remaining {
		scarce = hour
	}
	header.Set("X-RateLimit-Limit", strconv.FormatInt(scarce.limit, 10))
	header.Set("X-RateLimit-Remaining", strconv.FormatInt(scarce.remaining, 10))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(scarce.reset, 10))
	header.Set("RateLimit-Policy", fmt.Sprintf("%s, %s", minute.policy(), hour.policy()))
	header.Set("RateLimit", fmt.Sprintf("%s, %s", minute.quota(now), hour.quota(now)))
}

func (s state) policy() string { return fmt.Sprintf("%q;q=%d;w=%d", s.name, s.limit, s.length) }

func (s state) quota(now int64) string {
	return fmt.Sprintf("%q;r=%d;t=%d", s.name, s.remaining, s.reset-now)
}
