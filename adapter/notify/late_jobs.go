package notify

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// LateJob is a scheduled job of the site that has not run yet.
type LateJob struct {
	ID         int64
	ObjectType string // such as booking, or empty
	ObjectID   int64
	Due        domain.Timestamp
}

// recentJobs bounds the cost of reading a table whose only index is its primary key.
const recentJobs = 10_000

// LateJobs returns at most limit of the newest recentJobs that were due at an instant, oldest first.
func LateJobs(ctx context.Context, s *session.Session, due time.Time, limit uint64) ([]LateJob, error) {
	column := func(name string) string { return s.Schema.Expr(wpdb.ProcessJobs, "j", name) + " AS " + name }
	recent := sq.Select("j.id", column("status"), column("to_run_after_utc"), column("object_model_type"), column("object_id")).
		From(s.DB.As(wpdb.ProcessJobs, "j")).OrderBy("j.id DESC").Limit(recentJobs)
	stmt := sq.Select("id", "object_model_type", "object_id", "to_run_after_utc").FromSelect(recent, "recent").
		Where(sq.Eq{"status": session.JobScheduled}).Where(sq.LtOrEq{"to_run_after_utc": domain.Stamp(due)}).
		OrderBy("to_run_after_utc", "id").Limit(limit)
	return wpdb.All(ctx, s.DB, "find late jobs", stmt, wpdb.Into(func(job *LateJob) []any {
		return []any{&job.ID, wpdb.OrZero(&job.ObjectType), wpdb.OrZero(&job.ObjectID), wpdb.OrZero((*string)(&job.Due))}
	}))
}
