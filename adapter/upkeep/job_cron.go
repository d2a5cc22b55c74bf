package upkeep

import (
	"context"
	"strings"

	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/session"
)

// RunsJobs reports whether the plugin's jobs are in the site's cron, so that the site itself sends what is
// queued for it.
func RunsJobs(ctx context.Context, s *session.Session) (bool, error) {
	options, err := s.DB.OptionValues(ctx, "cron")
	return strings.Contains(options["cron"], notify.JobCron), err
}
