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

// TestPoolSemaphoreIsFair: the party with fewer connections comes first, a party alone leaves a quarter for
// others, and while others wait it has at most half.
func TestPoolSemaphoreIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPoolSemaphore(8, time.Minute)
		releases := map[int64][]func(){}
		var order []int64
		ask := func(party int64) {
			ctx, _ := WithUsage(t.Context())
			ChargeTo(ctx, party)
			go func() {
				release, err := s.acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, party)
				releases[party] = append(releases[party], release)
			}()
			synctest.Wait()
		}
		give := func(party int64) {
			t.Helper()
			release := releases[party][0]
			releases[party] = releases[party][1:]
			release()
			synctest.Wait()
		}
		want := func(greedy, second, third int) {
			t.Helper()
			if s.held[1] != greedy || s.held[2] != second || s.held[3] != third {
				t.Errorf("held %v, want %d, %d and %d", s.held, greedy, second, third)
			}
		}
		for range 10 {
			ask(1)
		}
		want(6, 0, 0) // two stay free for newcomers
		ask(2)
		ask(2)
		want(6, 2, 0)
		ask(2)
		ask(3)
		want(6, 2, 0)
		order = nil
		give(1)
		give(1)
		give(1)
		if !slices.Equal(order, []int64{3, 2, 1}) { // parties with fewer come before four that arrived earlier
			t.Errorf("served %v", order)
		}
		want(4, 3, 1)
		give(2)
		give(2)
		want(4, 1, 1) // half; only two are free
		for party := range releases {
			for len(releases[party]) > 0 {
				give(party)
			}
		}
		if s.free != 8 || len(s.held) > 0 || len(s.waiters) > 0 {
			t.Errorf("%d free, held %v, %d wait", s.free, s.held, len(s.waiters))
		}
	})
}

// TestPoolSemaphoreOfAbandonedStatements: a statement that goes on after its user has left counts for
// the user's party until it ends.
func TestPoolSemaphoreOfAbandonedStatements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPoolSemaphore(4, time.Second)
		ctx, _ := WithUsage(t.Context())
		ChargeTo(ctx, 7)
		release, err := s.acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		s.occupyUntil(func() { <-ended })
		release()
		if s.free != 3 || s.held[7] != 1 {
			t.Errorf("while it goes on, %d are free and %v held", s.free, s.held)
		}
		close(ended)
		synctest.Wait()
		if s.free != 4 || len(s.held) > 0 {
			t.Errorf("after its end, %d are free and %v held", s.free, s.held)
		}
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
				if use < time.Second {
					if _, err := s.acquire(t.Context()); !errors.Is(err, ErrBusy) {
						t.Errorf("from a drained pool: %v, want %v", err, ErrBusy)
					}
				}
				reopen()
				<-finished
				if s.free != 2 || len(s.held) > 0 {
					t.Errorf("%d connections are free, %v are in use", s.free, s.held)
				}
			})
		})
	}
}

// TestBusyBecauseOfSilence: the error says whether others use all connections, or half of them wait for a
// server that does not answer.
func TestBusyBecauseOfSilence(t *testing.T) {
	t.Parallel()
	for left, silent := range map[int]bool{0: false, 1: false, 2: true, 4: true} {
		synctest.Test(t, func(t *testing.T) {
			s := newPoolSemaphore(4, time.Second)
			over := make(chan struct{})
			for i := range 4 {
				ctx, _ := WithUsage(t.Context())
				ChargeTo(ctx, int64(i+1))
				release, err := s.acquire(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if i < left {
					s.occupyUntil(func() { <-over })
					release()
				}
			}
			_, err := s.acquire(t.Context())
			err = wrap("wait", err)
			if !errors.Is(err, ErrBusy) || errors.Is(err, ErrSilent) != silent || errors.Is(err, ErrLinkLost) {
				t.Errorf("%d of 4 were left: %v", left, err)
			}
			close(over)
		})
	}
}
