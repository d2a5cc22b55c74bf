package ratelimit

import (
	"context"
	"sync"

	"github.com/bookside/bookside/adapter/domain"
)

// LocalCounter counts in this process. The hours of all keys end at the same
// time, so it forgets everything then and never holds more than the keys of one
// hour.
type LocalCounter struct {
	now domain.Clock

	mu   sync.Mutex
	hour int64               // its start
	keys map[int64]*keyUsage // by id
}

// keyUsage is the number of requests of a key in the current windows.
type keyUsage struct {
	start        int64 // of the minute
	minute, hour int64
}

// NewLocalCounter returns a counter without any requests.
func NewLocalCounter(now domain.Clock) *LocalCounter {
	return &LocalCounter{now: now, keys: map[int64]*keyUsage{}}
}

// Take adds cost to both windows of a key if both have room for it, and returns
// the usage after that. It reads the clock under the lock, so that a request
// from before the end of a window is not counted after a later one.
func (l *LocalCounter) Take(_ context.Context, key, cost int64, limits Limits) (used Usage, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().Unix()
	u := l.usageOf(key, now)
	allowed = u.minute+cost <= limits.PerMinute && u.hour+cost <= limits.PerHour
	if allowed {
		u.minute += cost
		u.hour += cost
	}
	return Usage{now, u.minute, u.hour}, allowed
}

// raise adopts the usage that another counter reports for the current windows.
// Reports can arrive out of order, so it never lowers a count.
func (l *LocalCounter) raise(key int64, used Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().Unix()
	if Minute.Start(used.Now) != Minute.Start(now) {
		return
	}
	u := l.usageOf(key, now)
	u.minute, u.hour = max(u.minute, used.Minute), max(u.hour, used.Hour)
}

// usageOf returns the usage of a key in the windows that contain now.
func (l *LocalCounter) usageOf(key, now int64) *keyUsage {
	if start := Hour.Start(now); start != l.hour {
		l.hour = start
		clear(l.keys)
	}
	u := l.keys[key]
	if u == nil {
		u = &keyUsage{}
		l.keys[key] = u
	}
	if start := Minute.Start(now); start != u.start {
		u.start, u.minute = start, 0
	}
	return u
}
