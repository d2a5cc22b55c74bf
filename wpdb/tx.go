package wpdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// The number of attempts of a transaction. Deadlocks, and commits that a cluster rejects because another
// node was first, are reported at once; on a cluster, three attempts were not enough for one in eight
// creates while its agents were in demand. A lock wait takes a large part of the request's time, so it is
// retried less.
const (
	attempts  = 8
	lockWaits = 3
)

// attemptsExhausted reports whether a transaction with an ErrConflict must not be retried. waits is the
// number of its attempts that timed out waiting for a lock.
func attemptsExhausted(err error, attempt int, waits *int) bool {
	if IsLockWait(err) {
		*waits++
	}
	return attempt == attempts || *waits == lockWaits
}

// errNested is the error of a transaction inside another: the server would silently commit the outer one.
var errNested = errors.New("a transaction inside a transaction")

// Transact runs work in a transaction. It commits if work returns nil, rolls
// back on an error or a panic, and runs work again from the start after a
// deadlock or lock timeout. tx is the database inside the transaction. work
// must not keep anything from a failed attempt.
func (db *DB) Transact(ctx context.Context, op string, work func(tx *DB) error) error {
	if _, running := db.on.(*sql.Tx); running {
		return fmt.Errorf("%s: %w", op, errNested)
	}
	if db.session == nil {
		return db.Session(ctx, op, func(session *DB) error { return session.Transact(ctx, op, work) })
	}
	waits := 0
	for attempt := 1; ; attempt++ {
		err := db.transactOnce(ctx, op, work)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if !errors.Is(err, ErrChanged) {
			db.conflicts.Add(1)
		}
		if attemptsExhausted(err, attempt, &waits) {
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

// Change is Exec in its own transaction, so that it is retried after a deadlock or a conflict with another
// cluster node.
func (db *DB) Change(ctx context.Context, op string, stmt sq.Sqlizer) (result Result, err error) {
	err = db.Transact(ctx, op, func(tx *DB) (err error) {
		result, err = Exec(ctx, tx, op, stmt)
		return err
	})
	return result, err
}

// beforeCommit returns the error of a statement in a transaction. If Group
// Replication aborts it in favour of another member, the statement fails with
// the number of a failed COMMIT although none was sent.
func beforeCommit(err error) error {
	if hasNumber(err, failedCommit) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

func (db *DB) transactOnce(ctx context.Context, op string, work func(tx *DB) error) (err error) {
	whole, cancel := untilDeadline(ctx, longest)
	defer cancel()
	u, sent := usage(ctx), time.Now()
	tx, err := db.session.conn.BeginTx(whole, nil)
	addTime(&u.busy, sent)
	u.queries.Add(1)
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
	within := db.running(tx)
	within.waiting = new([]waitingChange)
	err = work(within)
	if err == nil {
		err = within.sendWaiting(ctx)
	}
	if err != nil {
		return beforeCommit(err)
	}
	committed = true
	u.queries.Add(1)
	sent = time.Now()
	err = tx.Commit()
	addTime(&u.busy, sent)
	if errors.Is(err, sql.ErrTxDone) {
		err = errors.Join(ctx.Err(), err) // the pool rolled back when ctx ended
	}
	return wrapCommit(op, err)
}

// session is a connection reserved for several statements.
type session struct{ conn *sql.Conn }

// Session reserves one connection for all of work's statements and transactions.
func (db *DB) Session(ctx context.Context, op string, work func(*DB) error) (err error) {
	conn, err := db.connection(ctx)
	if err != nil {
		return wrap(op, err)
	}
	s := &session{conn: conn}
	defer func() { err = errors.Join(err, s.end(op)) }()
	bound := db.running(conn)
	bound.session = s
	err = work(bound)
	if errors.Is(err, ErrReadOnly) {
		s.discard() // after a failover, the name may lead to another server that is writable
	}
	return err
}

// end returns the connection to the pool.
func (s *session) end(op string) error {
	err := s.conn.Close()
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return wrap(op, err)
}

// discard closes the connection instead of returning it to the pool.
func (s *session) discard() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it and returns that error
}
