package upkeep

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// QueueStats counts the work that waits for the site's own job runner, for customers, and for
// the journal.
type QueueStats struct {
	// Scheduled jobs of the site, and those that should have run by now: many overdue jobs mean that the
	// site's cron does not run. Only the newest recentJobs rows are counted, because nothing ever deletes
	// rows of the table.
	JobsScheduled, JobsOverdue int
	Holds                      int // that have not expired
	// ChangesWaiting is how long the oldest change has been waiting for its number, or 0 if none is. It
	// exceeds journal.Late only if no server numbers changes.
	ChangesWaiting time.Duration
}

// recentJobs bounds the cost of reading a table whose only index is its primary key.
const recentJobs = 10_000

// QueueStatsNow returns the queue statistics of the site as it is now; see LoadQueueStats.
func QueueStatsNow(ctx context.Context, p *session.Platform) (QueueStats, error) {
	return session.ServeBackground(ctx, p, LoadQueueStats)
}

// LoadQueueStats returns the queue statistics. A queue without a table is empty.
func LoadQueueStats(ctx context.Context, s *session.Session) (QueueStats, error) {
	q := QueueStats{}
	if s.Schema.Has(wpdb.ProcessJobs) {
		if err := countJobs(ctx, s, &q); err != nil {
			return q, err
		}
	}
	if s.Schema.Has(wpdb.Holds) {
		if err := countHolds(ctx, s, &q); err != nil {
			return q, err
		}
	}
	var err error
	q.ChangesWaiting, err = ChangesWaiting(ctx, s)
	return q, err
}

// ChangesWaiting returns how long the oldest change has been waiting for its number.
func ChangesWaiting(ctx context.Context, s *session.Session) (time.Duration, error) {
	if !s.Schema.Has(wpdb.ChangeInbox) {
		return 0, nil
	}
	return journal.Waiting(ctx, s.DB, s.Now)
}

// countHolds counts the holds that have not expired. Uses the index on expires_at.
func countHolds(ctx context.Context, s *session.Session, q *QueueStats) (err error) {
	stmt := sq.Select("COUNT(*)").From(s.DB.Name(wpdb.Holds)).Where(sq.Gt{"expires_at": domain.Stamp(s.Now)})
	q.Holds, _, err = wpdb.One(ctx, s.DB, "count holds", stmt, wpdb.Value[int])
	return err
}

func countJobs(ctx context.Context, s *session.Session, q *QueueStats) error {
	recent := sq.Select(s.Schema.Expr(wpdb.ProcessJobs, "j", "status")+" AS status", s.Schema.Expr(wpdb.ProcessJobs, "j", "to_run_after_utc")+" AS due").
		From(s.DB.As(wpdb.ProcessJobs, "j")).OrderBy("j.id DESC").Limit(recentJobs)
	stmt := sq.Select("COUNT(*)").Column("COUNT(CASE WHEN due >= ? THEN NULL ELSE 1 END)", domain.Stamp(s.Now)).
		FromSelect(recent, "recent").Where(sq.Eq{"status": session.JobScheduled})
	_, _, err := wpdb.One(ctx, s.DB, "count jobs", stmt, func(row wpdb.Scanner) (struct{}, error) {
		return struct{}{}, row.Scan(&q.JobsScheduled, &q.JobsOverdue)
	})
	return err
}
