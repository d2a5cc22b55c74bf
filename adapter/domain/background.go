package domain

import (
	"context"
	"time"
)

// Waker wakes the worker of a queue. NewWaker creates it.
type Waker chan struct{}

// NewWaker returns a Waker for Repeat.
func NewWaker() Waker { return make(Waker, 1) }

// Wake makes Repeat work at once. It does not block.
func (w Waker) Wake() {
	select {
	case w <- struct{}{}:
	default: // Repeat has already been woken
	}
}

// Repeat calls work at once, and then whenever it is woken, at least once in each interval,
// until ctx ends. A nil Waker never wakes.
func Repeat(ctx context.Context, interval time.Duration, woken Waker, work func()) {
	poll := time.NewTicker(interval)
	defer poll.Stop()
	for {
		work()
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-poll.C:
		}
	}
}

// Outlive returns a context that ends when the grace has passed after ctx, for work in progress when a
// server stops. Call release when it is done.
func Outlive(ctx context.Context, grace time.Duration) (outlived context.Context, release func()) {
	outlived, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return outlived, func() { stop(); cancel() }
}
