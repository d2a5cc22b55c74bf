package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Sweeper deletes rows of our own tables that are no longer needed: stored responses to requests with an
// Idempotency-Key, holds, the log of webhooks, requests, and records of what keys created that no
// longer exists. They may contain personal data, so their deletion must not depend on the next request. Any number of processes may sweep one database.
type Sweeper struct {
	db  *wpdb.DB
	now domain.Clock
	log *slog.Logger
}

// NewSweeper returns a sweeper of db. It logs counts and errors.
func NewSweeper(db *wpdb.DB, now domain.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{db: db, now: now, log: log}
}

const (
	sweepEvery = 5 * time.Minute
	sweepSize  = 1000 // maximum number of rows that one statement deletes
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	domain.Repeat(ctx, sweepEvery, nil, func() {
		deleted, err := s.Sweep(ctx)
		forgotten, failed := s.Forget(ctx)
		deleted, err = deleted+forgotten, errors.Join(err, failed)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("deleting old rows of Bookside's tables failed", "error", err)
		case deleted > 0:
			s.log.Debug("old rows of Bookside's tables were deleted", "rows", deleted)
		}
	})
}

// Sweep deletes all expired rows and returns their number. A table that fails does not stop the others; the
// error joins all failures.
func (s *Sweeper) Sweep(ctx context.Context) (deleted int, err error) {
	old := []OldRows{
		{Table: wpdb.Idempotency, Which: keys.ExpiredResponses(s.db, s.now())},
		{Table: wpdb.Events, Which: extensions.FinishedEvents(s.db, s.now())},
	}
	old = append(old, OldDeliveries(s.db, s.now())...)
	old = append(old, OldRows{Table: wpdb.Holds, Which: slots.ExpiredHolds(s.db, s.now())},
		OldRows{Table: wpdb.Requests, Which: keys.OldRequests(s.db, s.now())})
	return s.deleteAll(ctx, old)
}

// Forget deletes what is stored about bookings that no longer exist, and returns the number of rows.
func (s *Sweeper) Forget(ctx context.Context) (deleted int, err error) {
	return s.deleteAll(ctx, []OldRows{{Table: wpdb.BookingCustomers, Which: records.ForgottenCustomers(s.db)}})
}

func (s *Sweeper) deleteAll(ctx context.Context, old []OldRows) (deleted int, err error) {
	var failed []error
	for _, old := range old {
		n, err := s.deleteRows(ctx, old.Table, old.Which)
		deleted += n
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.db.FullName(old.Table), err))
			if ctx.Err() != nil {
				break
			}
		}
	}
	return deleted, errors.Join(failed...)
}

// deleteRows deletes the rows that a SELECT of ids finds, by id, so that two concurrent sweeps cannot
// deadlock. On a cluster, one of them is refused, and finds no rows when it retries.
func (s *Sweeper) deleteRows(ctx context.Context, table wpdb.Table, which sq.SelectBuilder) (deleted int, err error) {
	for {
		ids, err := wpdb.All(ctx, s.db, "find old rows", which.Limit(sweepSize), wpdb.Value[int64])
		if err != nil || len(ids) == 0 {
			return deleted, err
		}
		if _, err := s.db.Change(ctx, "delete old rows", sq.Delete(s.db.Name(table)).Where(sq.Eq{"id": ids})); err != nil {
			return deleted, err
		}
		deleted += len(ids)
		if len(ids) < sweepSize {
			return deleted, nil
		}
	}
}
