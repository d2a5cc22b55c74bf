package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// SharedCounter counts in a Redis that several servers of a site share. While
// Redis fails, each server counts by itself, starting from the last counts it
// received, so that no request fails or waits because of Redis.
type SharedCounter struct {
	redis *Redis
	site  string
	now   domain.Clock
	log   *slog.Logger
	local *LocalCounter
	// fallbacks is the number of requests that were counted locally.
	fallbacks atomic.Int64

	mu      sync.Mutex
	down    bool      // Redis failed and has not answered since
	retryAt time.Time // when a request may try it again
}

// RetryInterval is how long a failed Redis is left alone. Then a single request
// tries it, and the others still do not wait.
const RetryInterval = 5 * time.Second

// NewSharedCounter returns a counter under the name of a site, so that several
// sites can share a Redis.
func NewSharedCounter(server *Redis, site string, now domain.Clock, log *slog.Logger) *SharedCounter {
	return &SharedCounter{redis: server, site: site, now: now, log: log, local: NewLocalCounter(now)}
}

// Fallbacks returns the number of requests that this process has counted alone
// because Redis failed.
func (s *SharedCounter) Fallbacks() int64 { return s.fallbacks.Load() }

// Take adds cost to both windows of a key if both have room for it, and returns
// the usage after that.
func (s *SharedCounter) Take(ctx context.Context, key, cost int64, limits Limits) (used Usage, allowed bool) {
	now := s.now()
	try, retry := s.mayTry(now)
	if try {
		used, allowed, err := s.run(ctx, now.Unix(), key, cost, limits)
		s.record(err, retry)
		if err == nil {
			s.local.raise(key, used)
			return used, allowed
		}
	}
	s.fallbacks.Add(1)
	return s.local.Take(ctx, key, cost, limits)
}

// run counts in Redis. A departing client does not cancel it, because that
// would look like a failure of Redis.
func (s *SharedCounter) run(ctx context.Context, now, key, cost int64, limits Limits) (used Usage, allowed bool, err error) {
	// A cluster places keys by the part in braces; the script needs both on one
	// node.
	minute := fmt.Sprintf("bookside:{%s:%d}:minute:%d", s.site, key, Minute.Start(now))
	hour := fmt.Sprintf("bookside:{%s:%d}:hour:%d", s.site, key, Hour.Start(now))
	result, err := s.redis.run(context.WithoutCancel(ctx), count, minute, hour, cost, limits.PerMinute, limits.PerHour, 2*int64(Minute), 2*int64(Hour))
	if err != nil {
		return Usage{}, false, err
	}
	if len(result) != 3 || result[1] < 0 || result[2] < 0 {
		return Usage{}, false, fmt.Errorf("unexpected result of %d numbers", len(result))
	}
	return Usage{now, result[1], result[2]}, result[0] == 1, nil
}

// mayTry reports whether a request may ask Redis, and whether it does so to
// test whether Redis works again.
func (s *SharedCounter) mayTry(now time.Time) (try, retry bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return true, false
	}
	if now.Before(s.retryAt) {
		return false, false
	}
	s.retryAt = now.Add(RetryInterval)
	return true, true
}

// record notes whether Redis answered, and logs when that changes.
func (s *SharedCounter) record(err error, retry bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && !s.down:
		s.down, s.retryAt = true, s.now().Add(RetryInterval)
		s.log.Warn("Redis does not count requests; each server counts by itself until it does", "error", RedisError(err))
	case err == nil && retry:
		s.down = false
		s.log.Info("Redis counts requests again")
	}
}
