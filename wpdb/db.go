package wpdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DB is an open WordPress database, seen as one site of it. It is safe for
// concurrent use.
type DB struct {
	pool      *sql.DB
	semaphore *poolSemaphore // nil for no limit
	on        runner         // where statements go: the pool, or a connection or transaction
	session   *session       // nil where statements go to the pool
	version   string
	prefix    string
	base      string
	schema    *atomic.Pointer[Schema]
	conflicts *atomic.Int64
}

// runner is what runs statements: *sql.DB, *sql.Conn or *sql.Tx.
type runner interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// running is the same database with its statements going elsewhere.
func (db *DB) running(on runner) *DB {
	bound := *db
	bound.on = on
	return &bound
}

// connectionLifetime stays well below the idle limits of servers and proxies.
const connectionLifetime = 3 * time.Minute

// Open connects, reads the server's version and sets every connection's
// session accordingly. It does not wait for a server that is down: see
// OpenWhenUp.
func Open(ctx context.Context, c Config) (*DB, error) {
	c, driver, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	version, err := askApart(ctx, driver, c, "SELECT VERSION()") // the session of the pool's connections depends on it
	if err != nil {
		return nil, err
	}
	conn, err := newConnector(driver, c, version)
	if err != nil {
		return nil, err
	}
	if !c.NoKill {
		if conn.killer, err = newKiller(driver, c); err != nil {
			return nil, err
		}
	}
	pool := sql.OpenDB(conn)
	pool.SetMaxOpenConns(c.MaxOpen)
	pool.SetMaxIdleConns(c.MaxOpen)
	pool.SetConnMaxLifetime(connectionLifetime)
	db := New(pool, c.Prefix)
	db.version = version
	db.semaphore = newPoolSemaphore(c.MaxOpen, c.AcquireTimeout)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(wrap("open database", err), pool.Close())
	}
	return db, nil
}

// New wraps a pool that is open already; its sessions and limits are the
// caller's affair.
// prefix is the site's table prefix.
func New(pool *sql.DB, prefix string) *DB {
	return &DB{pool: pool, on: pool, prefix: prefix, base: basePrefix(prefix), schema: new(atomic.Pointer[Schema]), conflicts: new(atomic.Int64)}
}

// OpenWhenUp opens as Open does, and while the server cannot be reached tries
// again with growing pauses until wait has passed. Wrong credentials and a
// missing database fail at once. waiting is told of each failed try.
func OpenWhenUp(ctx context.Context, c Config, wait time.Duration, waiting func(error)) (*DB, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 3*time.Second) {
		db, err := Open(ctx, c)
		if err == nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrLinkLost) {
			return db, err
		}
		waiting(err)
		select {
		case <-time.After(pause):
		case <-deadline.C:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("open database: %w", ctx.Err())
		}
	}
}

// askApart asks for one text over a connection of its own, before there is a
// pool.
func askApart(ctx context.Context, driver *mysql.Config, c Config, query string) (string, error) {
	conn, err := newConnector(driver, c, "")
	if err != nil {
		return "", err
	}
	pool := sql.OpenDB(conn.Connector)
	var answer string
	err = pool.QueryRowContext(ctx, query).Scan(&answer)
	return answer, errors.Join(wrap("open database", err), pool.Close())
}

// Close ends all connections, after a while for what still runs: statements of
// requests that were cut off are killed first.
func (db *DB) Close() error {
	defer db.semaphore.drain()()
	return db.pool.Close()
}

// Version is the server's own, such as 10.11.19-MariaDB.
func (db *DB) Version() string { return db.version }

// Prefix is the site's table prefix.
func (db *DB) Prefix() string { return db.prefix }

// TransactionConflicts is how many transactions failed because of a deadlock, a lock that
// could not be had in time or, on a cluster, a rival on another node. Most were
// run again.
func (db *DB) TransactionConflicts() int64 { return db.conflicts.Load() }

// PoolStats are the figures of a pool of connections.
type PoolStats = sql.DBStats

// Stats are the pool's. WaitCount is how often a connection was waited for, in
// vain or not; how long is not known.
func (db *DB) Stats() PoolStats {
	stats := db.pool.Stats()
	if db.semaphore != nil {
		stats.WaitCount, stats.WaitDuration = db.semaphore.waits.Load(), 0
	}
	return stats
}
