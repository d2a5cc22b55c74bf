package monitor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestSharedIsFoundOnceAtATime: visitors share a value during its lifetime, and errors are not kept.
func TestSharedIsFoundOnceAtATime(t *testing.T) {
	t.Parallel()
	at, found := time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC), 0
	failure := errors.New("unlucky")
	s := NewShared(func() time.Time { return at }, time.Minute, func(context.Context) (int, error) {
		if found++; found == 1 {
			return 0, failure
		}
		return found, nil
	})
	if _, _, err := s.Get(t.Context()); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if value, age, err := s.Get(t.Context()); value != 2 || age != 0 || err != nil {
				t.Errorf("%d %v %v", value, age, err)
			}
		})
	}
	wait.Wait()
	at = at.Add(59 * time.Second)
	if value, age, err := s.Get(t.Context()); value != 2 || age != 59*time.Second || err != nil {
		t.Errorf("%d %v %v", value, age, err)
	}
	at = at.Add(time.Second)
	if value, age, err := s.Get(t.Context()); value != 3 || age != 0 || err != nil {
		t.Errorf("%d %v %v", value, age, err)
	}
	s.Forget()
	if value, age, err := s.Get(t.Context()); value != 4 || age != 0 || err != nil {
		t.Errorf("forgotten: %d %v %v", value, age, err)
	}
	s.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
