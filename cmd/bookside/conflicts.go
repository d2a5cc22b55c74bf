package main

import (
	"context"

	"bookside/adapter"
)

// watchConflicts looks for overlapping bookings in the background until ctx ends
// or stop is called.
func (s *service) watchConflicts(ctx context.Context, platform *adapter.Platform) (stop func()) {
	if s.config.Conflicts.Interval == 0 {
		return func() {}
	}
	watch := adapter.NewConflictWatch(platform, s.log, func(found adapter.ConflictReport, fresh int) {
		s.metrics.Overlaps(found, fresh, s.now())
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watch.Run(ctx, s.config.Conflicts.Interval)
	}()
	return func() {
		cancel()
		<-ended
	}
}
