package adapter

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/outbox"
	"bookside/wpdb"
)

// QueueStats counts the work that waits for the site's own job runner, for the outbox, for
// customers, and for the journal.
type QueueStats struct {
	// Jobs of the site that are scheduled, and those of them that should have run
	// by now: many overdue jobs mean that the site's cron does not run. Only the newest
	// recentJobs of the table are counted, because nothing ever deletes its rows.
	JobsScheduled, JobsOverdue int
	// Mails in the outbox by state. States without mails are included.
	Mails map[string]int
	Holds int // that have not expired
	// ChangesWaiting is how long the oldest change has been waiting for its number; 0 if none
	// waits. It is longer than journal.Late only if no server numbers changes.
	ChangesWaiting time.Duration
}

// Mails returns the newest mails in the outbox, in a state or in any; see outbox.List.
func (p *Platform) Mails(ctx context.Context, state string, limit uint64) ([]outbox.StoredMail, error) {
	return outbox.List(ctx, p.db, state, limit)
}

// recentJobs bounds the cost of reading a table whose only index is its primary key.
const recentJobs = 10_000

// jobScheduled is the status of a job that has not run.
const jobScheduled = "scheduled"

// QueueStats returns the queue statistics of the site as it is now; see Site.QueueStats.
func (p *Platform) QueueStats(ctx context.Context) (QueueStats, error) {
	return serveBackground(ctx, p, func(ctx context.Context, s *Site) (QueueStats, error) { return s.QueueStats(ctx) })
}

// QueueStats returns the queue statistics. A queue without a table is empty.
func (s *Site) QueueStats(ctx context.Context) (QueueStats, error) {
	q := QueueStats{}
	if s.schema.Has(wpdb.ProcessJobs) {
		if err := s.countJobs(ctx, &q); err != nil {
			return q, err
		}
	}
	if s.schema.Has(wpdb.Holds) {
		if err := s.countHolds(ctx, &q); err != nil {
			return q, err
		}
	}
	var err error
	if q.ChangesWaiting, err = s.ChangesWaiting(ctx); err != nil {
		return q, err
	}
	if s.schema.Has(wpdb.Outbox) {
		q.Mails, err = outbox.Count(ctx, s.db)
		return q, err
	}
	return q, nil
}

// ChangesWaiting returns how long the oldest change has been waiting for its number.
func (s *Site) ChangesWaiting(ctx context.Context) (time.Duration, error) {
	if !s.schema.Has(wpdb.ChangeInbox) {
		return 0, nil
	}
	return journal.Waiting(ctx, s.db, s.Now)
}

// countHolds uses the index on expires_at.
func (s *Site) countHolds(ctx context.Context, q *QueueStats) (err error) {
	stmt := sq.Select("COUNT(*)").From(s.db.Name(wpdb.Holds)).Where(sq.Gt{"expires_at": domain.Stamp(s.Now)})
	q.Holds, _, err = wpdb.One(ctx, s.db, "count holds", stmt, wpdb.Value[int])
	return err
}

func (s *Site) countJobs(ctx context.Context, q *QueueStats) error {
	recent := sq.Select(s.schema.Expr(wpdb.ProcessJobs, "j", "status")+" AS status", s.schema.Expr(wpdb.ProcessJobs, "j", "to_run_after_utc")+" AS due").
		From(s.db.As(wpdb.ProcessJobs, "j")).OrderBy("j.id DESC").Limit(recentJobs)
	stmt := sq.Select("COUNT(*)").Column("COUNT(CASE WHEN due >= ? THEN NULL ELSE 1 END)", domain.Stamp(s.Now)).
		FromSelect(recent, "recent").Where(sq.Eq{"status": jobScheduled})
	_, _, err := wpdb.One(ctx, s.db, "count jobs", stmt, func(row wpdb.Scanner) (struct{}, error) {
		return struct{}{}, row.Scan(&q.JobsScheduled, &q.JobsOverdue)
	})
	return err
}
