package handlers

import (
	"context"
	"sync"

	"bookside/adapter/domain"
)

// localCounts are the counts of this process. All windows of an hour end
// together, so that at its end everything is forgotten and the memory holds
// the keys of one hour at most.
type localCounts struct {
	now domain.Clock

	mu   sync.Mutex
	hour int64               // its start
	keys map[int64]*keyUsage // by id
}

type keyUsage struct {
	start        int64 // of the minute
	minute, hour int64 // what was used of them
}

func newLocalCounts(now domain.Clock) *localCounts {
	return &localCounts{now: now, keys: map[int64]*keyUsage{}}
}

// take is part of counts. It reads the clock under the lock: a request that
// came before the end of a window must not be counted behind one that came
// after it.
func (l *localCounts) take(_ context.Context, key, cost int64, limits Limits) (used usage, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().Unix()
	u := l.enter(key, now)
	allowed = u.minute+cost <= limits.PerMinute && u.hour+cost <= limits.PerHour
	if allowed {
		u.minute += cost
		u.hour += cost
	}
	return usage{now, u.minute, u.hour}, allowed
}

// note takes over what others know to be used of a key's present windows. What
// comes late is less.
func (l *localCounts) note(key int64, used usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().Unix()
	if startOf(used.now, minuteLength) != startOf(now, minuteLength) {
		return
	}
	u := l.enter(key, now)
	u.minute, u.hour = max(u.minute, used.minute), max(u.hour, used.hour)
}

// enter finds what a key used of the windows in which now lies.
func (l *localCounts) enter(key, now int64) *keyUsage {
	if start := startOf(now, hourLength); start != l.hour {
		l.hour = start
		clear(l.keys)
	}
	u := l.keys[key]
	if u == nil {
		u = &keyUsage{}
		l.keys[key] = u
	}
	if start := startOf(now, minuteLength); start != u.start {
		u.start, u.minute = start, 0
	}
	return u
}
