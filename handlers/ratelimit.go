package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
)

// Limits are requests of one key in a minute and in an hour.
type Limits struct {
	PerMinute, PerHour int64
}

// RateLimit is the configuration of the limiter.
type RateLimit struct {
	Enabled    bool
	Live, Test Limits // by the kind of key; a key may have limits of its own
	// Shared are the counts of several servers; nil counts in this process.
	Shared *SharedCounts
}

// limits are a key's own, else those of its kind.
func (r RateLimit) limits(key keys.Key) Limits {
	limits := r.Live
	if key.Kind == keys.Test {
		limits = r.Test
	}
	if key.PerMinute != nil {
		limits.PerMinute = *key.PerMinute
	}
	if key.PerHour != nil {
		limits.PerHour = *key.PerHour
	}
	return limits
}

// limitError is a request over a limit.
type limitError struct {
	message    string
	retryAfter int64 // seconds
}

func (e *limitError) Error() string { return e.message }

// limiter keeps keys within their limits of the present minute and hour.
type limiter struct {
	options RateLimit
	counts  counts
}

// The windows begin at multiples of their lengths, in Unix seconds.
const (
	minuteLength = 60
	hourLength   = 3600
)

// counts keeps what keys used of the present minute and hour.
type counts interface {
	// take adds a cost to both windows of a key if both have room for it, and
	// tells what is used of them then.
	take(ctx context.Context, key, cost int64, limits Limits) (used usage, allowed bool)
}

// usage is what a key used of the minute and the hour in which now lies.
type usage struct {
	now          int64 // Unix seconds
	minute, hour int64
}

// state is a window as a client sees it.
type state struct {
	name          string
	length        int64 // seconds
	limit, remain int64
	reset         int64 // Unix seconds
}

func newLimiter(now domain.Clock, options RateLimit) *limiter {
	if options.Shared != nil {
		return &limiter{options, options.Shared}
	}
	return &limiter{options, newLocalCounts(now)}
}

// windowOf is a window as a client sees it, of which some was used.
func windowOf(name string, length, limit, now, used int64) state {
	return state{name: name, length: length, limit: limit, remain: max(limit-used, 0), reset: now + untilEnd(now, length)}
}

// startOf is where the window begins in which now lies.
func startOf(now, length int64) int64 { return now - now%length }

// untilEnd is how long that window lasts, at least 1 second.
func untilEnd(now, length int64) int64 { return length - now%length }

// limit is the middleware; it runs once the key is known.
func (l *limiter) limit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := l.charge(c, 1); err != nil {
			return err
		}
		return next(c)
	}
}

// paidEntry is where a request's context keeps what it was counted for.
const paidEntry = "bookside.paid"

// charge counts a request of some cost, less what it was counted for before, and
// tells the client what is left; a limitError where that is not enough, and then
// nothing is counted.
func (l *limiter) charge(c echo.Context, cost int64) error {
	principal, known := principalOf(c)
	paid, _ := c.Get(paidEntry).(int64)
	if !l.options.Enabled || !known || cost <= paid {
		return nil
	}
	limits := l.options.limits(principal.Key)
	used, allowed := l.counts.take(c.Request().Context(), principal.ID, cost-paid, limits)
	minute := windowOf("minute", minuteLength, limits.PerMinute, used.now, used.minute)
	hour := windowOf("hour", hourLength, limits.PerHour, used.now, used.hour)
	setLimitHeaders(c.Response().Header(), used.now, minute, hour)
	if allowed {
		c.Set(paidEntry, cost)
		return nil
	}
	exhausted := minute
	if hour.remain < cost-paid {
		exhausted = hour
	}
	return &limitError{message: overLimit(cost, minute, hour), retryAfter: exhausted.reset - used.now}
}

// overLimit tells a request that has to wait from one that waits in vain.
func overLimit(cost int64, windows ...state) string {
	for _, w := range windows {
		if cost > max(w.limit, 1) {
			return fmt.Sprintf("Rate limit exceeded: this request counts as %d and the key has %d in one %s, so it must be split", cost, w.limit, w.name)
		}
	}
	return "Rate limit exceeded"
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
