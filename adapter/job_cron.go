package adapter

import (
	"context"
	"strings"
)

// RunsJobs reports whether the plugin's jobs are in the site's cron, so that the site
// itself sends what is queued for it.
func (s *Site) RunsJobs(ctx context.Context) (bool, error) {
	options, err := s.db.OptionValues(ctx, "cron")
	return strings.Contains(options["cron"], jobCron), err
}
