package handlers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"bookside/adapter/domain"
)

// SharedCounts are counts in a Redis that several servers of a site have in
// common. While Redis does not answer as it should, each server counts by
// itself, from what it knew last: no request fails or waits for that.
type SharedCounts struct {
	redis   redis.Scripter
	site    string
	timeout time.Duration
	now     domain.Clock
	log     *slog.Logger
	local   *localCounts
	// fallbacks are the requests that were counted here.
	fallbacks atomic.Int64

	mu      sync.Mutex
	away    bool      // Redis failed, and nothing was heard of it since
	retryAt time.Time // when a request may ask it again
}

// retryPause is how long a Redis that failed is left alone: then one request
// asks, and the others still do not wait for the answer.
const retryPause = 5 * time.Second

// NewSharedCounts counts in a Redis under the name of a site, by which several
// sites are kept apart. timeout is how long a request waits for it at most.
func NewSharedCounts(server redis.Scripter, site string, timeout time.Duration, now domain.Clock, log *slog.Logger) *SharedCounts {
	return &SharedCounts{redis: server, site: site, timeout: timeout, now: now, log: log, local: newLocalCounts(now)}
}

// Fallbacks is the number of requests so far that were counted by this process
// alone.
func (s *SharedCounts) Fallbacks() int64 { return s.fallbacks.Load() }

// take is part of counts.
func (s *SharedCounts) take(ctx context.Context, key, cost int64, limits Limits) (used usage, allowed bool) {
	now := s.now()
	ask, again := s.mayAsk(now)
	if ask {
		used, allowed, err := s.ask(ctx, now.Unix(), key, cost, limits)
		s.heard(err, again)
		if err == nil {
			s.local.note(key, used)
			return used, allowed
		}
	}
	s.fallbacks.Add(1)
	return s.local.take(ctx, key, cost, limits)
}

// takeScript is one step for Redis, whoever else counts.
//
//go:embed take.lua
var takeText string

var takeScript = redis.NewScript(takeText)

// ask has Redis count. The client's going away does not end that: it would look
// like a failure of Redis.
func (s *SharedCounts) ask(ctx context.Context, now, key, cost int64, limits Limits) (used usage, allowed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	// What stands in braces decides where a cluster keeps both, which the
	// script needs at one place.
	windows := []string{
		fmt.Sprintf("bookside:{%s:%d}:minute:%d", s.site, key, startOf(now, minuteLength)),
		fmt.Sprintf("bookside:{%s:%d}:hour:%d", s.site, key, startOf(now, hourLength)),
	}
	answer, err := takeScript.Run(ctx, s.redis, windows, cost, limits.PerMinute, limits.PerHour, 2*minuteLength, 2*hourLength).Int64Slice()
	if err != nil {
		return usage{}, false, err
	}
	if len(answer) != 3 || answer[1] < 0 || answer[2] < 0 {
		return usage{}, false, fmt.Errorf("unexpected answer of %d numbers", len(answer))
	}
	return usage{now, answer[1], answer[2]}, answer[0] == 1, nil
}

// mayAsk tells whether a request may ask Redis, and whether it does so on
// behalf of all after a failure.
func (s *SharedCounts) mayAsk(now time.Time) (ask, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away {
		return true, false
	}
	if now.Before(s.retryAt) {
		return false, false
	}
	s.retryAt = now.Add(retryPause)
	return true, true
}

// heard notes how Redis answered, and logs a change of that.
func (s *SharedCounts) heard(err error, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && !s.away:
		s.away, s.retryAt = true, s.now().Add(retryPause)
		s.log.Warn("Redis does not count requests; each server counts by itself until it does", "error", RedisReason(err))
	case err == nil && again:
		s.away = false
		s.log.Info("Redis counts requests again")
	}
}

// RedisReason says why Redis failed. Of its own words only the first is told, a
// code: some servers quote what they were sent, passwords too.
func RedisReason(err error) string {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return err.Error()
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return "it answers with the error " + code
}
