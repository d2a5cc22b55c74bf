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

// DB is an open WordPress database, seen as one of its sites. It is safe for
// concurrent use.
type DB struct {
	pool       *sql.DB
	encryption *encryption // nil for a pool from New
	limits     limits
	on         runner   // a connection or a transaction; nil for any connection of the pool
	session    *session // nil if statements go to the pool
	version    string
	prefix     string
	base       string
	constants  map[string]string // by the option they replace
	content    string            // see Content
	schema     *atomic.Pointer[Schema]
	conflicts  *atomic.Int64
	refused    *refusedWrites
	silent     *atomic.Bool     // the server has not answered in time, see Config.GiveUp; nil if that does not matter
	views      Views            // that SELECT statements see, see WithViews
	waiting    *[]waitingChange // of a transaction, see Later; nil outside of one
	together   bool             // several statements may be sent together, unless the server has rivals
	server     *server          // as connections saw it
}

// limits are those of Config.
type limits struct {
	acquire   time.Duration // wait for a connection
	statement time.Duration // wait for the answer to a statement, until its last row was read
}

// runner runs statements: *sql.Conn or *sql.Tx.
type runner interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// running returns the same database with another runner.
func (db *DB) running(on runner) *DB {
	bound := *db
	bound.on = on
	return &bound
}

// connectionLifetime stays well below the idle limits of servers and proxies.
const connectionLifetime = 3 * time.Minute

// Open connects, reads the server's version and configures the session of every
// connection accordingly. It does not wait for a server that is down; see
// OpenWhenUp.
func Open(ctx context.Context, c Config) (*DB, error) {
	c, driver, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	version, err := askApart(ctx, driver, c, "SELECT VERSION()") // the sessions of the pool depend on it
	if err != nil {
		return nil, demandsTLS(ctx, driver, c, err)
	}
	conn, err := newConnector(driver, c, version)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(conn)
	pool.SetMaxOpenConns(c.MaxOpen)
	pool.SetMaxIdleConns(c.MaxOpen)
	pool.SetConnMaxLifetime(connectionLifetime)
	db := New(pool, c.Prefix)
	db.version = version
	db.constants = c.constants()
	db.content = c.Content
	db.encryption = conn.encryption
	db.together, db.server = conn.together, conn.server
	db.limits = limits{acquire: c.AcquireTimeout, statement: c.IOTimeout}
	if c.GiveUp {
		db.silent = new(atomic.Bool)
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(wrap("open database", err), pool.Close())
	}
	return db, nil
}

// New wraps an open pool, whose sessions and limits are up to the caller.
// prefix is the site's table prefix.
func New(pool *sql.DB, prefix string) *DB {
	return &DB{pool: pool, limits: limits{longest, longest}, prefix: prefix, base: basePrefix(prefix), schema: new(atomic.Pointer[Schema]), conflicts: new(atomic.Int64), refused: new(refusedWrites), server: new(server)}
}

// OpenWhenUp is Open, but retries with growing pauses while the server cannot
// be reached, until wait has passed. Invalid credentials and a missing database
// fail at once. waiting is called with the error of each failed attempt.
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

// demandsTLS returns the error of a plain-text login. It is ErrTLSDemanded if the same account may log in
// with TLS: the server itself only says that it rejects the account.
func demandsTLS(ctx context.Context, driver *mysql.Config, c Config, err error) error {
	var refusal *mysql.MySQLError
	if driver.TLS != nil || !errors.As(err, &refusal) || refusal.Number != rejectedLogin {
		return err
	}
	encrypted := driver.Clone()
	encrypted.TLS = unverified()
	if _, failed := askApart(ctx, encrypted, c, "SELECT VERSION()"); failed != nil {
		return err
	}
	return &Error{Op: "open database", Kind: ErrTLSDemanded, Number: rejectedLogin, cause: err}
}

// askApart runs a query for one text over a separate connection, before there is a pool.
func askApart(ctx context.Context, driver *mysql.Config, c Config, query string) (string, error) {
	conn, err := newConnector(driver, c, "")
	if err != nil {
		return "", err
	}
	pool := sql.OpenDB(conn)
	var answer string
	ctx, cancel := context.WithTimeout(ctx, c.IOTimeout)
	defer cancel()
	err = pool.QueryRowContext(ctx, query).Scan(&answer)
	return answer, errors.Join(wrap("open database", err), pool.Close())
}

// Close closes all connections, each when its statement has ended.
func (db *DB) Close() error { return db.pool.Close() }

// Version returns the server's version, such as 10.11.19-MariaDB.
func (db *DB) Version() string { return db.version }

// Content returns the path of the site's directory wp-content, as configured.
func (db *DB) Content() string { return db.content }

// RefusesWrites reports whether the server refuses every write of our sessions, because it logs statements
// (binlog_format) and the account may not ask for rows.
func (db *DB) RefusesWrites() bool { return db.server.refuses.Load() }

// Prefix returns the site's table prefix.
func (db *DB) Prefix() string { return db.prefix }

// TransactionConflicts returns the number of transactions that failed because
// of a deadlock, a lock timeout or, on a cluster, a conflict with another node.
// Most of them were retried.
func (db *DB) TransactionConflicts() int64 { return db.conflicts.Load() }

// PoolStats are statistics of the connection pool.
type PoolStats = sql.DBStats

// Stats returns the statistics of the pool.
func (db *DB) Stats() PoolStats { return db.pool.Stats() }
