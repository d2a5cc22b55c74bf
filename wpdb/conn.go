package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
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

// conn is a connection whose calls return only after the server has ended their
// statement. When a context ends, the driver itself would close the socket,
// while the server's thread would keep waiting for its lock. So the driver
// never gets a context that ends: the statement is killed on the server, and
// conn waits for its answer. If it cannot be killed, the time limits of the
// session end it. COMMIT and ROLLBACK are never killed.
type conn struct {
	driverConn
	socket *link
	killer *killer
	thread thread
	limit  time.Duration // after which the server has ended any statement
	broken bool          // must not be used again

	prepared map[string]driverStmt // by text, see Prepared
	textOnly bool                  // nothing is prepared any more
}

// running is a statement, from before it is sent until its answer has been
// read. The channels and stop are nil if the statement cannot be killed.
type running struct {
	conn   *conn
	ctx    context.Context
	stop   func() bool   // prevents kill from starting; false if it has started
	ended  chan struct{} // closed after the answer was read
	killed chan struct{} // closed when kill is done
}

// run starts a statement, unless its context has ended. The returned context is
// for the driver and never ends.
func (c *conn) run(ctx context.Context) (*running, context.Context, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	r := &running{conn: c, ctx: ctx}
	if ctx.Done() != nil && c.thread.id != 0 {
		r.ended, r.killed = make(chan struct{}), make(chan struct{})
		r.stop = context.AfterFunc(ctx, r.kill)
	}
	return r, context.WithoutCancel(ctx), nil
}

// kill sends KILLs until the statement has ended or cannot be killed: a KILL
// that overtakes the statement on its way to the server has no effect.
func (r *running) kill() {
	defer close(r.killed)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := r.conn.killer.kill(killStatement, r.conn.thread)
		if errors.Is(err, errUnanswered) {
			r.conn.broken = true // the KILL may yet arrive, during another statement
		}
		if err != nil {
			return
		}
		select {
		case <-r.ended:
			return
		case <-time.After(pause):
		}
	}
}

// end takes the error of the statement after its answer has been read. It
// returns when the connection can be used again, or when it is unusable and its
// thread on the server has ended.
func (r *running) end(err error) error {
	if r.stop != nil && !r.stop() {
		close(r.ended)
		<-r.killed
		// The ping absorbs a KILL that arrived after the end of the statement
		// and would hit the next one. If it fails, the driver marks the
		// connection as unusable.
		_ = r.conn.Ping(context.Background())
	}
	return r.conn.settle(r.reason(err))
}

// interrupted is the server's error number of a killed statement.
const interrupted = 1317

// reason returns the error of the context if that is why the statement was
// killed, and the statement's own error otherwise.
func (r *running) reason(err error) error {
	var server *mysql.MySQLError
	if errors.As(err, &server) && server.Number == interrupted && r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return err
}

// settle returns the error of a statement. If the connection failed while its
// thread may still be working on the server, it first waits for that thread to
// end, so that the server never has more of our threads than the pool has
// connections.
func (c *conn) settle(err error) error {
	if err != nil && !c.driverConn.IsValid() && c.socket.orphan.Load() {
		awaitEnd(c.killer, c.thread, c.limit)
	}
	return err
}

// awaitEnd kills a thread of the server and returns when it is gone. If it
// cannot be killed, awaitEnd returns after limit, when the server has ended it.
func awaitEnd(k *killer, t thread, limit time.Duration) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var again <-chan time.Time
		switch err := k.kill(killConnection, t); {
		case err == nil:
			again = time.After(pause)
		case errors.Is(err, errGone):
			return
		}
		select {
		case <-again:
		case <-deadline.C:
			return
		}
	}
}

// IsValid reports whether the connection can be used again.
func (c *conn) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

// Ping requires that no statement is running on the connection. It is answered
// at once or fails at the timeouts of the socket, regardless of ctx.
func (c *conn) Ping(ctx context.Context) error {
	return c.settle(c.driverConn.Ping(context.WithoutCancel(ctx)))
}

// ExecContext runs a statement without rows.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r, within, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.driverConn.ExecContext(within, query, args)
	return result, r.end(err)
}

// QueryContext runs a statement that ends when its rows are closed.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, within, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.query(within, query, args)
	return r.rows(found, err)
}

// connRows are the rows of a statement that is still running.
type connRows struct {
	driver.Rows
	running *running
}

func (r *running) rows(found driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, r.end(err)
	}
	return &connRows{found, r}, nil
}

// Next reads a row.
func (r *connRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil || err == io.EOF { //nolint:errorlint // drivers return it unwrapped
		return err
	}
	return r.running.reason(err)
}

// Close reads the remaining rows.
func (r *connRows) Close() error { return r.running.end(r.Rows.Close()) }

// PrepareContext is used for statements that would exceed a packet with the
// arguments interpolated; the driver interpolates all others.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	r, within, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	prepared, err := c.driverConn.PrepareContext(within, query)
	if err := r.end(err); err != nil {
		return nil, err
	}
	return connStmt{prepared.(driverStmt), c}, nil
}

type driverStmt interface {
	driver.Stmt
	driver.NamedValueChecker
	driver.StmtExecContext
	driver.StmtQueryContext
}

type connStmt struct {
	driverStmt
	conn *conn
}

// ExecContext runs a statement without rows.
func (s connStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r, within, err := s.conn.run(ctx)
	if err != nil {
		return nil, err
	}
	result, err := s.driverStmt.ExecContext(within, args)
	return result, r.end(err)
}

// QueryContext runs a statement that ends when its rows are closed.
func (s connStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r, within, err := s.conn.run(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.driverStmt.QueryContext(within, args)
	return r.rows(found, err)
}

// BeginTx begins a transaction.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	r, within, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := c.driverConn.BeginTx(within, options)
	if err := r.end(err); err != nil {
		return nil, err
	}
	return connTx{tx, c}, nil
}

type connTx struct {
	driver.Tx
	conn *conn
}

// Commit leaves no open transaction behind if it fails: the next one on this
// connection would commit it.
func (t connTx) Commit() error {
	err := t.Tx.Commit()
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		_, rollback := t.conn.driverConn.ExecContext(context.Background(), "ROLLBACK", nil)
		t.conn.broken = t.conn.broken || rollback != nil
	}
	return t.conn.settle(err)
}

// Rollback discards the connection if it fails.
func (t connTx) Rollback() error {
	err := t.Tx.Rollback()
	t.conn.broken = t.conn.broken || err != nil
	return t.conn.settle(err)
}
