package handlers

import (
	"sync"
	"time"

	"bookside/adapter"
)

// brake slows addresses that keep sending wrong keys: over the limit of a
// minute they get 429 in place of 401. Right keys always pass, so that one bad
// client cannot shut out others behind the same address.
type brake struct {
	now   adapter.Clock
	limit int

	mu       sync.Mutex
	minute   int64 // since 1970
	failures map[string]int
}

func newBrake(now adapter.Clock, limit int) *brake {
	return &brake{now: now, limit: limit, failures: map[string]int{}}
}

// failed counts a failure of an address and returns the error to answer with.
func (b *brake) failed(address string, refused error) error {
	now := b.now()
	minute := now.Unix() / 60
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute != b.minute {
		b.minute = minute
		clear(b.failures)
	}
	b.failures[address]++
	if b.limit == 0 || b.failures[address] <= b.limit {
		return refused
	}
	return &limitError{message: "Too many requests with an invalid API key", retryAfter: secondsUntil(now, (minute+1)*60)}
}

// secondsUntil is how long to wait for a Unix second, at least 1.
func secondsUntil(now time.Time, unix int64) int64 { return max(unix-now.Unix(), 1) }
