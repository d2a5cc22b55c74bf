package upkeep

import (
	"context"
	"errors"
	"strconv"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/wpdb"
)

// Work is the state of background work. Parts that are nil are unknown, because their table is missing or
// may not be read. Package diagnose rates it.
type Work struct {
	Now time.Time

	ChangesWaiting *time.Duration // how long the oldest change has been waiting for its number
	Restored       bool           // an older database was restored under this server, see journal.RestoredUnder

	Writes   *string // why some writes are refused, see Session.CheckWritable; "" if none is
	Jobs     *JobWork
	Webhooks *WebhookWork
	Keys     *[]keys.Expiring // that expire within ExpiresSoon

	Extensions *[]extensions.Active // that take part in the site's bookings, or should
	Events     *[]events.Stored     // that extensions failed to take within EventsRecent, or that have waited for EventsLate
}

// JobWork is the state of the plugin's jobs.
type JobWork struct {
	Run  bool // the site runs them
	Told bool // the plugin is told to send what is due at once
	Late []LateJob
}

// LateJob is a job that should have run before now.
type LateJob struct {
	ID     int64
	Object string           // what it is about, such as "booking 12"; "" if unknown
	Due    domain.Timestamp // in UTC
}

// WebhookWork lists the webhooks that do not work although nobody disabled them.
type WebhookWork struct{ Failing, Ended []webhooks.Trouble }

// When work counts as late. Each is longer than the work takes while everything runs.
const (
	JobsLate      = 30 * time.Minute   // WordPress's cron runs them every five minutes
	EventsRecent  = 3 * 24 * time.Hour // how long a failed event deserves attention
	EventsLate    = 10 * time.Minute   // twice the longest pause between two tries
	ExpiresSoon   = 7 * 24 * time.Hour
	WorkListLimit = 101 // of each list: "more than 100" is precise enough
)

// LoadWork reads the present state of a site's work with a fixed number of statements, each of which
// returns a bounded number of rows.
func LoadWork(ctx context.Context, p *session.Platform) (Work, error) {
	now := p.Now()
	w := Work{Now: now, Restored: p.Journal.RestoredUnder()}
	for _, measure := range []func() error{
		func() error {
			waiting, err := journal.Waiting(ctx, p.DB, now)
			w.ChangesWaiting = known(waiting, err)
			return err
		},
		func() error {
			site, err := p.Session(ctx)
			if err != nil {
				return err
			}
			w.Writes = new(writeProblem(site))
			jobs, err := jobWork(ctx, site)
			w.Jobs = known(jobs, err)
			if err != nil {
				return err
			}
			active, err := site.Extensions(ctx)
			w.Extensions = known(active, err)
			return err
		},
		func() (err error) {
			var found WebhookWork
			found.Failing, found.Ended, err = webhooks.FindTrouble(ctx, p.DB, WorkListLimit)
			w.Webhooks = known(found, err)
			return err
		},
		func() error {
			expiring, err := keys.FindExpiring(ctx, p.DB, now, now.Add(ExpiresSoon), WorkListLimit)
			w.Keys = known(expiring, err)
			return err
		},
		func() error {
			troubled, err := events.FindTroubled(ctx, p.DB, now.Add(-EventsRecent), now.Add(-EventsLate), WorkListLimit)
			w.Events = known(troubled, err)
			return err
		},
	} {
		err := measure()
		if unknowable := errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrAccessDenied) || domain.CodeOf(err) == domain.CodeUnavailable; err != nil && !unknowable {
			return w, err
		}
	}
	return w, nil
}

// LateEvents returns the events that have waited for EventsLate to be told to extensions. On a site that never had a companion it
// runs no statement.
func LateEvents(ctx context.Context, s *session.Session) ([]events.Stored, error) {
	if s.Companion() == nil {
		return nil, nil
	}
	return events.FindLate(ctx, s.DB, s.Now.Add(-EventsLate), WorkListLimit)
}

// known returns a pointer to what was read, or nil after an error.
func known[T any](found T, err error) *T {
	if err != nil {
		return nil
	}
	return &found
}

// writeProblem is the message of CheckWritable, or "".
func writeProblem(s *session.Session) string {
	var known *domain.Error
	if errors.As(s.CheckWritable(), &known) {
		return known.Message
	}
	return ""
}

func jobWork(ctx context.Context, s *session.Session) (j JobWork, err error) {
	j.Told = s.AsksForMessages()
	if j.Run, err = RunsJobs(ctx, s); err != nil || !s.Schema.Has(wpdb.ProcessJobs) {
		return j, err
	}
	j.Late, err = lateJobs(ctx, s)
	return j, err
}

// lateJobs returns the scheduled jobs among the newest recentJobs that are late, oldest first.
func lateJobs(ctx context.Context, s *session.Session) ([]LateJob, error) {
	column := func(name string) string { return s.Schema.Expr(wpdb.ProcessJobs, "j", name) + " AS " + name }
	recent := sq.Select("j.id", column("status"), column("to_run_after_utc"), column("object_model_type"), column("object_id")).
		From(s.DB.As(wpdb.ProcessJobs, "j")).OrderBy("j.id DESC").Limit(recentJobs)
	stmt := sq.Select("id", "object_model_type", "object_id", "to_run_after_utc").FromSelect(recent, "recent").
		Where(sq.Eq{"status": session.JobScheduled}).Where(sq.LtOrEq{"to_run_after_utc": domain.Stamp(s.Now.Add(-JobsLate))}).
		OrderBy("to_run_after_utc", "id").Limit(WorkListLimit)
	return wpdb.All(ctx, s.DB, "find late jobs", stmt, func(row wpdb.Scanner) (j LateJob, err error) {
		var kind string
		var object int64
		if err := row.Scan(&j.ID, wpdb.OrZero(&kind), wpdb.OrZero(&object), wpdb.OrZero((*string)(&j.Due))); err != nil {
			return j, err
		}
		if kind != "" {
			j.Object = kind + " " + strconv.FormatInt(object, 10)
		}
		return j, nil
	})
}
