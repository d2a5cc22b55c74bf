package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// driverConn is the set of interfaces that the driver's connections implement.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// conn is a connection of the driver on which Prepared and Later work, and whose transactions end within
// their time.
type conn struct {
	driverConn
	limit  time.Duration // see Config.IOTimeout
	broken bool          // must not be used again

	prepared map[string]driverStmt // by text, see Prepared
	textOnly bool                  // nothing is prepared any more
}

type driverStmt interface {
	driver.Stmt
	driver.NamedValueChecker
	driver.StmtExecContext
	driver.StmtQueryContext
}

// IsValid reports whether the connection can be used again.
func (c *conn) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

// ExecContext runs a statement without rows.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
	result, err := c.driverConn.ExecContext(ctx, query, args)
	if err == nil {
		err = keepResults(ctx, result)
	}
	return result, err
}

// QueryContext runs a statement that ends when its rows are closed.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
	return c.query(ctx, query, args)
}

// PrepareContext is used for statements that would exceed a packet with the arguments interpolated; the
// driver interpolates all others.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
	return c.driverConn.PrepareContext(ctx, query)
}

// BeginTx begins a transaction.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	begin, cancel := untilDeadline(ctx, c.limit)
	defer cancel()
	if _, err := c.driverConn.BeginTx(begin, options); err != nil {
		if errors.Is(context.Cause(begin), ErrSilent) {
			err = ErrSilent
		}
		return nil, err
	}
	return connTx{c, ctx}, nil
}

// connTx is a transaction, whose COMMIT and ROLLBACK are statements with a time limit: those of the driver
// have none.
type connTx struct {
	conn *conn
	ctx  context.Context
}

// commitGrace is how long after the end of its context a transaction may wait for the answer to its COMMIT.
// A healthy server answers within that time.
const commitGrace = 400 * time.Millisecond

// Commit leaves no open transaction behind when it fails: the next COMMIT on this connection would commit
// it too.
func (t connTx) Commit() error {
	err := t.end("COMMIT")
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		t.conn.broken = t.end("ROLLBACK") != nil
	}
	return err
}

// Rollback discards the connection if it fails.
func (t connTx) Rollback() error {
	err := t.end("ROLLBACK")
	t.conn.broken = t.conn.broken || err != nil
	return err
}

// end sends a statement and waits for its answer; what ends the wait is an ErrSilent.
func (t connTx) end(statement string) error {
	until := time.Now().Add(t.conn.limit)
	if deadline, ok := t.ctx.Deadline(); ok && deadline.Add(commitGrace).Before(until) {
		until = deadline.Add(commitGrace)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(t.ctx), until)
	defer cancel()
	_, err := t.conn.driverConn.ExecContext(ctx, statement, nil)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %s", ErrSilent, statement)
	}
	return err
}
