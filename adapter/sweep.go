package adapter

import (
	"context"
	"log/slog"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/idempotency"
	"bookside/adapter/outbox"
	"bookside/wpdb"
)

// Sweeper deletes what has served its purpose from our own tables: answers kept
// for an Idempotency-Key, and mails. Both hold personal data, so that neither
// waits for another request or mail to come. Any number of processes may sweep
// one database.
type Sweeper struct {
	db  *wpdb.DB
	now domain.Clock
	log *slog.Logger
}

// NewSweeper sweeps db. The log gets counts and errors.
func NewSweeper(db *wpdb.DB, now domain.Clock, log *slog.Logger) *Sweeper {
	return &Sweeper{db: db, now: now, log: log}
}

const (
	sweepEvery = 5 * time.Minute
	sweepSize  = 1000 // rows that one statement deletes at most
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		deleted, err := s.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("old rows of Bookside's tables were not deleted", "error", err)
		case deleted > 0:
			s.log.Debug("old rows of Bookside's tables were deleted", "rows", deleted)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep deletes all that is over, and returns how many rows that was.
func (s *Sweeper) Sweep(ctx context.Context) (deleted int, err error) {
	for _, old := range []struct {
		table wpdb.Table
		which sq.SelectBuilder
	}{
		{wpdb.Idempotency, idempotency.Expired(s.db, s.now())},
		{wpdb.Outbox, outbox.Finished(s.db, s.now())},
		{wpdb.Outbox, outbox.Abandoned(s.db, s.now())},
	} {
		n, err := s.delete(ctx, old.table, old.which)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// delete deletes by id what which finds, so that two who sweep at the same time
// never wait for each other in a circle. On a cluster one of them is refused, and
// finds the rows gone when the statement is run again.
func (s *Sweeper) delete(ctx context.Context, table wpdb.Table, which sq.SelectBuilder) (deleted int, err error) {
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
