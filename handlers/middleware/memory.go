package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrNoMemory is the error of a request for which no memory came free in time.
var ErrNoMemory = fmt.Errorf("no memory for the request: %w", ErrOverloaded)

// Budget is a number of bytes for which requests wait in the order of their arrival.
type Budget struct {
	size  int64
	bytes *semaphore.Weighted // nil for no limit
}

// NewBudget returns a budget of so many bytes; 0 for no limit.
func NewBudget(size int64) Budget {
	if size == 0 {
		return Budget{}
	}
	return Budget{size, semaphore.NewWeighted(size)}
}

// Acquire waits until so many bytes are free, and returns ErrNoMemory if that takes
// too long.
func (b *Budget) Acquire(ctx context.Context, bytes int64, wait time.Duration) (release func(), err error) {
	if b.bytes == nil || bytes == 0 {
		return func() {}, nil
	}
	bytes = min(bytes, b.size)
	if !b.bytes.TryAcquire(bytes) {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if b.bytes.Acquire(waiting, bytes) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, ErrNoMemory
		}
	}
	return func() { b.bytes.Release(bytes) }, nil
}
