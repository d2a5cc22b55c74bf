package main

import (
	"context"

	"bookside/adapter/session"
	"bookside/adapter/slots"
)

// watchConflicts regularly looks for overlapping bookings, until ctx ends.
func (s *service) watchConflicts(ctx context.Context, platform *session.Platform) {
	watch := slots.NewConflictWatch(platform, s.log, func(found slots.ConflictReport, fresh int) {
		s.metrics.Overlaps(found, fresh, s.now())
	})
	watch.Run(ctx, s.config.Conflicts.Interval)
}
