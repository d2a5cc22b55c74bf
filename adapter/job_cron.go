package adapter

import (
	"context"
	"strings"
)

// RunsJobs reports whether the site's cron knows the plugin's jobs, so that the
// site sends what is queued for it.
func (s *Site) RunsJobs(ctx context.Context) (bool, error) {
	options, err := s.db.OptionValues(ctx, "cron")
	return strings.Contains(options["cron"], jobCron), err
}
