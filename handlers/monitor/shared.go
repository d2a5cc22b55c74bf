package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// Shared is a value that readers share during its lifetime; only one of them recomputes it.
type Shared[T any] struct {
	now  domain.Clock
	life time.Duration
	find func(context.Context) (T, error)

	turn  chan struct{} // capacity 1: who computes the value
	value T
	at    time.Time // when it was computed; zero for never

	forgotten atomic.Bool
}

// Forget makes the next visitor recompute the value.
func (s *Shared[T]) Forget() { s.forgotten.Store(true) }

// NewShared returns a value with a lifetime, which find computes.
func NewShared[T any](now domain.Clock, life time.Duration, find func(context.Context) (T, error)) *Shared[T] {
	return &Shared[T]{now: now, life: life, find: find, turn: make(chan struct{}, 1)}
}

// Get returns the value and its age. Errors are not shared.
func (s *Shared[T]) Get(ctx context.Context) (value T, age time.Duration, err error) {
	return s.Within(ctx, s.life)
}

// Within is Get for a reader to whom an older value is good enough, or is not.
func (s *Shared[T]) Within(ctx context.Context, life time.Duration) (value T, age time.Duration, err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return value, 0, ctx.Err()
	}
	began := s.now()
	if s.forgotten.Swap(false) {
		s.at = time.Time{}
	}
	if s.at.IsZero() || began.Sub(s.at) >= life || began.Before(s.at) {
		if value, err = s.find(ctx); err != nil {
			return value, 0, err
		}
		s.value, s.at = value, began
	}
	return s.value, began.Sub(s.at), nil
}
