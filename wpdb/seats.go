package wpdb

import (
	"context"
	"sync/atomic"
	"time"
)

// seats limit how many statements and sessions use the pool at a time to the
// number of its connections. Who waits is served in the order of arrival, and no
// longer than wait; the pool alone would let them wait in any order, without
// a limit. A session keeps one seat for all its statements and transactions.
type seats struct {
	users chan struct{} // one element for each seat in use
	wait  time.Duration // the longest that anybody waits for a seat
	waits atomic.Int64  // how often somebody had to wait
}

func newSeats(connections int, wait time.Duration) *seats {
	return &seats{users: make(chan struct{}, connections), wait: wait}
}

// take waits for a seat, which leave gives back. The error is ErrBusy where none
// is free in time, or that of ctx. Nil seats are without number.
func (s *seats) take(ctx context.Context) (leave func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s.users <- struct{}{}:
		return s.leave, nil
	default:
	}
	s.waits.Add(1)
	patience := time.NewTimer(s.wait)
	defer patience.Stop()
	select {
	case s.users <- struct{}{}:
		return s.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, ErrBusy
	}
}

func (s *seats) leave() { <-s.users }

// empty takes all seats as they become free, for no longer than wait, so that the
// pool can be closed under nobody. leave gives back those that it got.
func (s *seats) empty() (leave func()) {
	var kept []func()
	leave = func() {
		for _, leave := range kept {
			leave()
		}
	}
	if s == nil {
		return leave
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.wait)
	defer cancel()
	for range cap(s.users) {
		one, err := s.take(ctx)
		if err != nil {
			break
		}
		kept = append(kept, one)
	}
	return leave
}
