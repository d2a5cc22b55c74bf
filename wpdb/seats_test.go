package wpdb

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeats: as many are taken as there are; who comes later waits its turn, for
// a while, or for as long as its request may take.
func TestSeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(2, time.Second)
		take := func(ctx context.Context) func() {
			t.Helper()
			leave, err := s.take(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		first, second := take(t.Context()), take(t.Context())

		var served []int
		for i := range 5 {
			go func() {
				leave := take(t.Context())
				served = append(served, i)
				leave()
			}()
			synctest.Wait() // it waits behind those before it
		}
		if len(served) > 0 {
			t.Errorf("%v had seats while none was free", served)
		}
		first()
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(served, want) {
			t.Errorf("served in the order %v", served)
		}

		third, began := take(t.Context()), time.Now()
		if _, err := s.take(t.Context()); !errors.Is(err, ErrBusy) || time.Since(began) != time.Second {
			t.Errorf("after %v: error %v, want %v", time.Since(began), err, ErrBusy)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.take(short); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
		second()
		third()
		take(t.Context())
		take(t.Context()) // whoever gave up took none
	})
}

// TestSeatsAreEmptied: whoever closes the pool waits for those at it, but not for
// ever.
func TestSeatsAreEmptied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(2, time.Second)
		for _, stays := range []time.Duration{time.Millisecond, time.Hour} {
			leave, err := s.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			time.AfterFunc(stays, func() { leave(); close(gone) })
			began := time.Now()
			free := s.empty()
			if got, want := time.Since(began), min(stays, time.Second); got != want {
				t.Errorf("waited %v for somebody who stays %v", got, stays)
			}
			free()
			<-gone
		}
		if len(s.users) != 0 {
			t.Errorf("%d seats are in use", len(s.users))
		}
	})
}
