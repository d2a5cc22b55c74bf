package wpdb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// poolSemaphore limits how many statements and sessions use the pool at a time
// to the number of its connections. Waiters are served in order of arrival and
// give up after timeout; the pool by itself guarantees no order and has no time
// limit. A session holds the semaphore once for all its statements and
// transactions. A nil semaphore has no limit.
type poolSemaphore struct {
	weighted    *semaphore.Weighted
	connections int64
	timeout     time.Duration
	waits       atomic.Int64 // how often acquire had to wait

	mu       sync.Mutex
	occupied int // connections that outlive their users
	kept     int // permits that are not released for them
}

func newPoolSemaphore(connections int, timeout time.Duration) *poolSemaphore {
	n := int64(connections)
	return &poolSemaphore{weighted: semaphore.NewWeighted(n), connections: n, timeout: timeout}
}

// acquire waits for a free connection. The error is ErrBusy after the timeout,
// or the error of ctx.
func (s *poolSemaphore) acquire(ctx context.Context) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	if !s.weighted.TryAcquire(1) {
		s.waits.Add(1)
		if err := s.wait(ctx, 1); err != nil {
			return nil, err
		}
	}
	return s.release, nil
}

// release gives up a permit, or leaves it to a connection that outlives its user.
func (s *poolSemaphore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept < s.occupied {
		s.kept++
		return
	}
	s.weighted.Release(1)
}

// occupyUntil keeps a permit for a connection after its user has left, until ended returns. The
// caller has a permit and releases it as usual.
func (s *poolSemaphore) occupyUntil(ended func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.occupied++
	go func() {
		ended()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.occupied--; s.kept > s.occupied {
			s.kept--
			s.weighted.Release(1)
		}
	}()
}

func (s *poolSemaphore) wait(ctx context.Context, n int64) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.weighted.Acquire(limited, n); err == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrBusy
}

// drain waits until no connection is in use, at most for the timeout, so that
// the pool can be closed. It keeps new users waiting until release.
func (s *poolSemaphore) drain() (release func()) {
	if s == nil || s.wait(context.Background(), s.connections) != nil {
		return func() {}
	}
	return func() { s.weighted.Release(s.connections) }
}
