package wpdb

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPoolSemaphore: there are no more users than connections; others wait in order of
// arrival, until the timeout or the end of their context.
func TestPoolSemaphore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPoolSemaphore(2, time.Second)
		acquire := func(ctx context.Context) func() {
			t.Helper()
			release, err := s.acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		first, second := acquire(t.Context()), acquire(t.Context())

		var served []int
		for i := range 5 {
			go func() {
				release := acquire(t.Context())
				served = append(served, i)
				release()
			}()
			synctest.Wait() // it waits behind the earlier ones
		}
		if len(served) > 0 {
			t.Errorf("%v were served while no connection was free", served)
		}
		first()
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(served, want) {
			t.Errorf("served in the order %v", served)
		}
		if got := s.waits.Load(); got != 5 {
			t.Errorf("%d waits were counted, want 5", got)
		}

		third, began := acquire(t.Context()), time.Now()
		if _, err := s.acquire(t.Context()); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("after %v: error %v, want %v", time.Since(began), err, ErrBusy)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.acquire(short); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
		second()
		third()
		acquire(t.Context())
		acquire(t.Context()) // waiters that gave up have released everything
	})
}

// TestPoolSemaphoreDrains: closing the pool waits for its users, up to the timeout, and
// rejects new ones.
func TestPoolSemaphoreDrains(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]time.Duration{"users that finish": time.Millisecond, "users that stay": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newPoolSemaphore(2, time.Second)
				release, err := s.acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				finished := make(chan struct{})
				time.AfterFunc(use, func() { release(); close(finished) })
				began := time.Now()
				reopen := s.drain()
				if got, want := time.Since(began), min(use, time.Second); got != want {
					t.Errorf("waited %v for a user that takes %v", got, use)
				}
				if use < time.Second && s.weighted.TryAcquire(1) {
					t.Error("a drained pool has a free connection")
				}
				reopen()
				<-finished
				if !s.weighted.TryAcquire(2) {
					t.Error("a connection is still in use")
				}
			})
		})
	}
}
