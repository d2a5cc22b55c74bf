package console

import (
	"context"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// shared is a value that is too expensive to compute for each page. Visitors share it during its lifetime,
// and only one of them recomputes it.
type shared[T any] struct {
	now  domain.Clock
	life time.Duration
	find func(context.Context) (T, error)

	turn  chan struct{} // capacity 1: who computes the value
	value T
	at    time.Time // when it was computed; zero for never
}

func newShared[T any](now domain.Clock, life time.Duration, find func(context.Context) (T, error)) *shared[T] {
	return &shared[T]{now: now, life: life, find: find, turn: make(chan struct{}, 1)}
}

// get returns the value and its age. Errors are not shared.
func (s *shared[T]) get(ctx context.Context) (value T, age time.Duration, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return value, 0, ctx.Err()
	}
	began := s.now()
	if s.at.IsZero() || began.Sub(s.at) >= s.life || began.Before(s.at) {
		if value, err = s.find(ctx); err != nil {
			return value, 0, err
		}
		s.value, s.at = value, began
	}
	return s.value, began.Sub(s.at), nil
}
