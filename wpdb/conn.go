package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
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

// leaveAfter is how long to wait for a statement whose context has ended. A healthy server answers within
// that time; a hung one must not hold up the request.
const leaveAfter = 400 * time.Millisecond

// conn is a connection whose calls return only after the server has ended their statement, as long as the
// server answers. When a context ends, the driver itself would close the socket and leave the server's
// thread waiting for its lock. So the driver never gets a context that ends: conn kills the statement on
// the server and waits for its answer. If none comes, conn gives the connection up, and its place in the
// pool stays taken until the thread has ended, so the server never has more of our threads than the pool
// has connections. COMMIT and ROLLBACK are never killed.
type conn struct {
	driverConn
	socket *link
	seats  *poolSemaphore
	killer *killer
	thread thread
	broken atomic.Bool // must not be used again
	left   sync.Once

	prepared map[string]driverStmt // by text, see Prepared
	textOnly bool                  // nothing is prepared any more
}

// bound makes the connection fail soon after a context has ended. The caller calls unbind when its wait is
// over. A context canceled by a departing client does not shorten the wait.
func (c *conn) bound(ctx context.Context) (unbind func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	begun := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(begun)
		end := time.Now()
		if deadline, ok := ctx.Deadline(); ok && deadline.After(end) {
			end = deadline
		}
		c.socket.failAt(end.Add(leaveAfter))
	})
	return func() {
		if !stop() {
			<-begun
			c.socket.failAt(time.Time{})
		}
	}
}

// running is a statement, from before it is sent until its answer has been
// read. The channels and stop are nil if its context cannot end.
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
	if ctx.Done() != nil {
		r.ended, r.killed = make(chan struct{}), make(chan struct{})
		r.stop = context.AfterFunc(ctx, r.kill)
	}
	return r, context.WithoutCancel(ctx), nil
}

// kill sends KILLs until the statement has ended or cannot be killed: a KILL
// that overtakes the statement on its way to the server has no effect.
func (r *running) kill() {
	defer close(r.killed)
	r.conn.socket.failAt(time.Now().Add(leaveAfter))
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := r.conn.killer.kill(killStatement, r.conn.thread)
		if errors.Is(err, errUnanswered) {
			r.conn.broken.Store(true) // the KILL may yet arrive, during another statement
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
// returns when the connection can be used again, or when it is unusable.
func (r *running) end(err error) error {
	if r.stop != nil && !r.stop() {
		close(r.ended)
		if r.conn.driverConn.IsValid() {
			r.absorb()
		}
	}
	return r.conn.settle(r.reason(err))
}

// absorb makes a connection whose statement was killed usable again. The ping absorbs a KILL
// that arrived after the end of the statement and would hit the next one. If it fails, the
// driver marks the connection as unusable.
func (r *running) absorb() {
	select {
	case <-r.killed:
		_ = r.conn.Ping(context.Background())
		r.conn.socket.failAt(time.Time{})
	case <-time.After(leaveAfter):
		r.conn.broken.Store(true) // the KILL is not answered, and may yet arrive
	}
}

// interrupted is the server's error number of a killed statement.
const interrupted = 1317

// reason returns the context's error if that is why the statement was killed or abandoned, and the
// statement's own error otherwise.
func (r *running) reason(err error) error {
	var server *mysql.MySQLError
	switch {
	case err == nil || r.ctx.Err() == nil:
		return err
	case errors.As(err, &server) && server.Number == interrupted:
		return r.ctx.Err()
	case !r.conn.driverConn.IsValid():
		return fmt.Errorf("%w: %w", r.ctx.Err(), err)
	default:
		return err
	}
}

// settle returns the error of a statement. If the connection failed while its thread may still be working
// on the server, its place in the pool stays taken until that thread has ended.
func (c *conn) settle(err error) error {
	if err != nil && !c.driverConn.IsValid() && c.socket.orphan.Load() {
		c.left.Do(func() { c.seats.occupyUntil(c.awaitEnd) })
	}
	return err
}

// awaitEnd kills the thread of an abandoned connection and returns when it has ended.
func (c *conn) awaitEnd() {
	go func() {
		for pause := 5 * time.Millisecond; c.killer.kill(killConnection, c.thread) == nil; pause = min(2*pause, time.Second) {
			select {
			case <-c.socket.over:
				return
			case <-time.After(pause):
			}
		}
	}()
	<-c.socket.over
}

// IsValid reports whether the connection can be used again.
func (c *conn) IsValid() bool { return !c.broken.Load() && c.driverConn.IsValid() }

// Ping requires that no statement is running on the connection. The answer comes at once, or the socket
// times out; ctx has no effect.
func (c *conn) Ping(ctx context.Context) error {
	return c.settle(c.driverConn.Ping(context.WithoutCancel(ctx)))
}

// ExecContext runs a statement without rows.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
	r, within, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.driverConn.ExecContext(within, query, args)
	if err == nil {
		err = keepResults(ctx, result)
	}
	return result, r.end(err)
}

// QueryContext runs a statement that ends when its rows are closed.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
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
	if err := oneStatement(ctx, query); err != nil {
		return nil, err
	}
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
	return connTx{tx, c, ctx}, nil
}

type connTx struct {
	driver.Tx
	conn *conn
	ctx  context.Context
}

// Commit leaves no open transaction behind when it fails: the next COMMIT on this connection would commit
// it too.
func (t connTx) Commit() error {
	defer t.conn.bound(t.ctx)()
	err := t.Tx.Commit()
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		_, rollback := t.conn.driverConn.ExecContext(context.Background(), "ROLLBACK", nil)
		if rollback != nil {
			t.conn.broken.Store(true)
		}
	}
	return t.conn.settle(err)
}

// Rollback discards the connection if it fails.
func (t connTx) Rollback() error {
	defer t.conn.bound(t.ctx)()
	err := t.Tx.Rollback()
	if err != nil {
		t.conn.broken.Store(true)
	}
	return t.conn.settle(err)
}
