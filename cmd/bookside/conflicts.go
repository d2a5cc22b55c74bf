package main

import (
	"context"

	"bookside/adapter"
)

// watchConflicts regularly looks for overlapping bookings, until ctx ends.
func (s *service) watchConflicts(ctx context.Context, platform *adapter.Platform) {
	watch := adapter.NewConflictWatch(platform, s.log, func(found adapter.ConflictReport, fresh int) {
		s.metrics.Overlaps(found, fresh, s.now())
	})
	watch.Run(ctx, s.config.Conflicts.Interval)
}
