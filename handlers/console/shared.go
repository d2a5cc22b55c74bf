package console

import (
	"context"
	"time"

	"bookside/adapter/domain"
)

// shared is something that costs more than opening a page should. Visitors share what was
// found within its life, and wait for each other to find it anew.
type shared[T any] struct {
	now  domain.Clock
	life time.Duration
	find func(context.Context) (T, error)

	turn  chan struct{} // has room for one
	value T
	at    time.Time // when it was found; zero for never
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
