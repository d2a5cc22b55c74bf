package wpdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// poolSemaphore limits the statements and sessions that use the pool at once to the number of its
// connections. The pool itself guarantees no order, has no time limit and does not tell its users apart.
// Waiters give up after timeout. A session holds the semaphore once for all its statements and
// transactions. A nil semaphore has no limit.
//
// Parties share connections fairly, see [ChargeTo]: the next one goes to the waiter whose party has the
// fewest, and among equals to the one that came first. A party that has half of them gets more only while
// nobody else waits and a quarter stays free, so that a newcomer need not wait for a slow statement to end.
type poolSemaphore struct {
	connections int
	timeout     time.Duration
	waits       atomic.Int64 // how often acquire had to wait

	mu       sync.Mutex
	free     int
	held     map[int64]int // permits by party
	waiters  []*waiter     // in order of arrival
	occupied int           // connections that outlive their users
	kept     []int64       // the parties of permits that are not released for them
	drained  func()        // while the pool is being drained, see drain
}

// waiter waits for a permit.
type waiter struct {
	party   int64
	granted chan struct{} // closed with the permit
}

func newPoolSemaphore(connections int, timeout time.Duration) *poolSemaphore {
	return &poolSemaphore{connections: connections, free: connections, timeout: timeout, held: map[int64]int{}}
}

// acquire waits for a free connection. The error is ErrBusy after the timeout,
// or the error of ctx.
func (s *poolSemaphore) acquire(ctx context.Context) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	w := &waiter{party: partyOf(ctx), granted: make(chan struct{})}
	s.mu.Lock()
	s.waiters = append(s.waiters, w)
	s.grant()
	s.mu.Unlock()
	select {
	case <-w.granted:
	default:
		s.waits.Add(1)
		if err := s.await(ctx, w); err != nil {
			return nil, err
		}
	}
	return func() { s.release(w.party) }, nil
}

// errHeld is the ErrBusy of a pool in which abandoned connections, whose statements the server does not
// answer, hold at least half of the places.
var errHeld = fmt.Errorf("%w, and %w", ErrBusy, ErrSilent)

// await waits for the permit of a waiter.
func (s *poolSemaphore) await(ctx context.Context, w *waiter) error {
	timeout := time.NewTimer(s.timeout)
	defer timeout.Stop()
	var err error
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = ErrBusy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiters, w); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		s.grant() // waiters that it kept from having more than half
		if errors.Is(err, ErrBusy) && 2*s.occupied >= s.connections {
			return errHeld
		}
		return err
	}
	return nil // granted at the last moment
}

// grant gives free permits to waiters.
func (s *poolSemaphore) grant() {
	if s.drained != nil {
		if s.free == s.connections {
			s.drained()
		}
		return
	}
	for {
		next := -1
		for i, w := range s.waiters {
			if s.may(w.party) && (next < 0 || s.held[w.party] < s.held[s.waiters[next].party]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := s.waiters[next]
		s.waiters = slices.Delete(s.waiters, next, next+1)
		s.free--
		s.held[w.party]++
		close(w.granted)
	}
}

// may reports whether a party may have one more permit now.
func (s *poolSemaphore) may(party int64) bool {
	if s.free == 0 || s.held[party] < max(1, s.connections/2) {
		return s.free > 0
	}
	others := slices.ContainsFunc(s.waiters, func(w *waiter) bool { return w.party != party })
	return !others && s.free > s.connections/4
}

// release gives up a permit, or leaves it to a connection that outlives its user.
func (s *poolSemaphore) release(party int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) < s.occupied {
		s.kept = append(s.kept, party)
		return
	}
	s.giveBack(party)
}

// giveBack frees the permit of a party.
func (s *poolSemaphore) giveBack(party int64) {
	if s.held[party]--; s.held[party] == 0 {
		delete(s.held, party)
	}
	s.free++
	s.grant()
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
		if s.occupied--; len(s.kept) > s.occupied {
			party := s.kept[0]
			s.kept = s.kept[1:]
			s.giveBack(party)
		}
	}()
}

// drain waits, at most for the timeout, until no connection is in use and the pool can be closed. New users
// wait until reopen, unless that failed.
func (s *poolSemaphore) drain() (reopen func()) {
	if s == nil {
		return func() {}
	}
	drained := make(chan struct{})
	s.mu.Lock()
	s.drained = sync.OnceFunc(func() { close(drained) })
	s.grant()
	s.mu.Unlock()
	reopen = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drained = nil
		s.grant()
	}
	timeout := time.NewTimer(s.timeout)
	defer timeout.Stop()
	select {
	case <-drained:
		return reopen
	case <-timeout.C:
		reopen()
		return func() {}
	}
}
