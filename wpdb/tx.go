package wpdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// attempts is how often a transaction is run before a deadlock or lock wait
// is given up.
const attempts = 3

// Tx is a running transaction: the database, seen from inside of it.
type Tx struct {
	*DB
}

// Transact runs work in one transaction: committed when work returns nil,
// rolled back on an error or a panic, and run again from the start after a
// deadlock or lock wait. work must not keep anything from a failed run.
func (db *DB) Transact(ctx context.Context, op string, work func(*Tx) error) error {
	if db.session == nil {
		return db.Session(ctx, op, func(session *DB) error { return session.Transact(ctx, op, work) })
	}
	held := len(db.session.locks)
	for attempt := 1; ; attempt++ {
		err := db.transactOnce(ctx, op, work)
		db.session.release(ctx, held)
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
	tx, err := db.session.conn.BeginTx(ctx, nil)
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
	if err := work(&Tx{db.running(tx)}); err != nil {
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

// session is a connection that is kept for a while.
type session struct {
	conn  *sql.Conn
	locks []namedLock // that were asked for, had or not
}

// namedLock is what a lock is called among those of all sites.
type namedLock struct{ prefix, name string }

const lockName = "SHA2(CONCAT(DATABASE(), ' ', ?, ' ', ?), 256)"

// Session gives work one connection of its own: its statements, transactions
// and named locks all use it.
func (db *DB) Session(ctx context.Context, op string, work func(*DB) error) (err error) {
	leave, err := db.seats.take(ctx)
	if err != nil {
		return wrap(op, err)
	}
	defer leave()
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return wrap(op, err)
	}
	s := &session{conn: conn}
	defer func() { err = errors.Join(err, s.end(ctx, op)) }()
	bound := db.running(conn)
	bound.session = s
	err = work(bound)
	if errors.Is(err, ErrReadOnly) {
		s.discard() // after a failover the name may lead to another server, which can be written
	}
	return err
}

// farewell is how long giving locks back may take.
const farewell = 5 * time.Second

// end gives the connection back without its locks.
func (s *session) end(ctx context.Context, op string) error {
	s.release(ctx, 0)
	err := s.conn.Close()
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return wrap(op, err)
}

// release gives back all locks but the first of them. A connection that cannot
// give them back is closed, which does.
func (s *session) release(ctx context.Context, keep int) {
	if len(s.locks) == keep {
		return
	}
	statement, names := "SELECT RELEASE_ALL_LOCKS()", []any(nil)
	if keep > 0 {
		statement = "SELECT RELEASE_LOCK(" + lockName + ")" + strings.Repeat(", RELEASE_LOCK("+lockName+")", len(s.locks)-keep-1)
		for _, lock := range s.locks[keep:] {
			names = append(names, lock.prefix, lock.name)
		}
	}
	s.locks = s.locks[:keep]
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	count(ctx, 1, 0)
	if _, err := s.conn.ExecContext(ctx, statement, names...); err != nil {
		s.discard()
	}
}

// discard closes the connection in place of giving it back.
func (s *session) discard() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it, and answers with that error
}

// Lock takes a named lock and tells whether it could be had within wait (whole
// seconds). It ends with the transaction it is taken in, else with the session.
// The server keeps one space of names for all its databases: the name counts
// within this site's alone.
func (db *DB) Lock(ctx context.Context, name string, wait time.Duration) (bool, error) {
	const op = "take a named lock"
	if db.session == nil {
		return false, fmt.Errorf("%s: not in a session", op)
	}
	db.session.locks = append(db.session.locks, namedLock{db.prefix, name})
	stmt := sq.Select().Column("GET_LOCK("+lockName+", ?)", db.prefix, name, int(wait/time.Second))
	taken, _, err := One(ctx, db, op, stmt, Value[sql.NullInt64])
	return taken.Int64 == 1, err
}
