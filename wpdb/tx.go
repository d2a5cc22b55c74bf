package wpdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// attempts is how often a transaction is run before a deadlock or lock wait
// is given up.
const attempts = 3

// Tx is a running transaction.
type Tx struct {
	tx *sql.Tx
}

func (t *Tx) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, text, args...)
}

func (t *Tx) exec(ctx context.Context, text string, args []any) (sql.Result, error) {
	return t.tx.ExecContext(ctx, text, args...)
}

// retriable is false: after a lost connection the transaction is gone, and
// running its last statement again would run it alone.
func (t *Tx) retriable() bool { return false }

// Transact runs work in one transaction: committed when work returns nil,
// rolled back on an error or a panic, and run again from the start after a
// deadlock or lock wait. work must not keep anything from a failed run.
func (db *DB) Transact(ctx context.Context, op string, work func(*Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := db.transactOnce(ctx, op, work)
		if attempt == attempts || !errors.Is(err, ErrConflict) {
			return err
		}
		pause := time.Duration(attempt) * time.Duration(5+rand.IntN(20)) * time.Millisecond
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", op, ctx.Err())
		}
	}
}

func (db *DB) transactOnce(ctx context.Context, op string, work func(*Tx) error) (err error) {
	tx, err := db.pool.BeginTx(ctx, nil)
	count(ctx, 1, 0)
	if err != nil {
		return wrap(op, err)
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// Also on a panic, which goes on to the caller after the rollback.
		rollback := tx.Rollback()
		if rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, wrap(op+": roll back", rollback))
		}
	}()
	if err := work(&Tx{tx: tx}); err != nil {
		return err
	}
	committed = true
	count(ctx, 1, 0)
	err = tx.Commit()
	if errors.Is(err, sql.ErrTxDone) {
		err = errors.Join(ctx.Err(), err) // rolled back by the pool when ctx ended
	}
	return wrap(op+": commit", err)
}
