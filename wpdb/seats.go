package wpdb

import (
	"context"
	"sync/atomic"
	"time"
)

// seats let as many statements and sessions at the pool as it has connections,
// first come, first served: the pool itself serves those who wait in no order,
// and for any time. A session has one seat, whatever it does, and never asks
// for another.
type seats struct {
	taken chan struct{}
	wait  time.Duration
	waits atomic.Int64 // how often one was waited for
}

func newSeats(connections int, wait time.Duration) *seats {
	return &seats{taken: make(chan struct{}, connections), wait: wait}
}

// take waits for a seat: an ErrBusy where none is free in time. Without seats
// there is no bound.
func (s *seats) take(ctx context.Context) (leave func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	select {
	case s.taken <- struct{}{}:
		return s.leave, nil
	default:
	}
	s.waits.Add(1)
	patience := time.NewTimer(s.wait)
	defer patience.Stop()
	select {
	case s.taken <- struct{}{}:
		return s.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, ErrBusy
	}
}

func (s *seats) leave() { <-s.taken }

// empty waits until all seats are free, for no longer than one is waited for, and
// keeps them.
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
	for range cap(s.taken) {
		one, err := s.take(ctx)
		if err != nil {
			break
		}
		kept = append(kept, one)
	}
	return leave
}
