package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sqlMode is strict, because ids are MEDIUMINT and a lenient session stores
// 99999999 as 8388607. It allows zero dates, which sites do have.
const sqlMode = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// connector opens connections with the same session settings, whatever the
// defaults of the server and the data source name.
type connector struct {
	driver.Connector
	killer   *killer        // nil if nothing is killed
	seats    *poolSemaphore // of the pool, which threads that outlive their connections occupy; nil for none
	lockWait int64          // limit for row locks, in seconds
	limit    time.Duration  // within which the server ends any statement
	together bool           // several statements may be sent together, unless rivals says otherwise
	rivals   *atomic.Bool   // set once a server is seen on which other nodes abort transactions

	encryption *encryption
	silent     *atomic.Bool // set when the server has not answered in time
}

// newConnector sets the session on a copy of the configuration. version is the
// server's; if it is empty, settings that depend on it are omitted.
func newConnector(base *mysql.Config, c Config, version string) (*connector, error) {
	cfg := base.Clone()
	cfg.ParseTime = false               // dates stay texts, as the API prints them
	cfg.InterpolateParams = true        // one round trip per query, without preparing
	cfg.ClientFoundRows = true          // an UPDATE returns matched rows, not changed ones
	cfg.MultiStatements = version != "" // for Later alone, see oneStatement
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = c.ConnectTimeout, c.IOTimeout, c.IOTimeout
	cfg.Logger = silent{}
	lockWait := max(1, int64(c.LockWait/time.Second))
	cfg.Params = map[string]string{
		"sql_mode":          "'" + sqlMode + "'",
		"time_zone":         "'+00:00'",
		"lock_wait_timeout": strconv.FormatInt(lockWait, 10), // for tables, such as during ALTER TABLE
	}
	switch {
	case strings.Contains(version, "MariaDB"):
		cfg.Params["max_statement_time"] = strconv.FormatFloat(c.StatementTimeout.Seconds(), 'f', 3, 64)
	case version != "":
		cfg.Params["max_execution_time"] = strconv.FormatInt(c.StatementTimeout.Milliseconds(), 10)
	}
	// Some servers ignore the character set of the handshake, but none ignores
	// this.
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	opened := &connector{lockWait: lockWait, limit: c.StatementTimeout + c.LockWait, together: cfg.MultiStatements, rivals: new(atomic.Bool), silent: new(atomic.Bool)}
	cfg.DialFunc = opened.dialLink
	opened.encryption = newEncryption(cfg)
	if cfg.TLS != nil {
		cfg.TLS.VerifyConnection = opened.encryption.note
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	opened.Connector = inner
	return opened, nil
}

// newKiller returns a killer for the same server. Its time limits are short, because a KILL returns at once
// unless the server has other problems.
func newKiller(base *mysql.Config, c Config, silent *atomic.Bool) (*killer, error) {
	c.IOTimeout = c.ConnectTimeout
	own, err := newConnector(base, c, "")
	if err != nil {
		return nil, err
	}
	own.silent = silent
	return &killer{connect: own.open}, nil
}

// Connect logs in. It returns at once when its context ends, but the login goes on in the background: the
// server's thread would outlive an aborted one.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if ctx.Done() == nil {
		return c.login(ctx)
	}
	type result struct {
		conn driver.Conn
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		conn, err := c.login(context.WithoutCancel(ctx))
		ended <- result{conn, err}
	}()
	select {
	case r := <-ended:
		return r.conn, r.err
	case <-ctx.Done():
		c.seats.occupyUntil(func() {
			if r := <-ended; r.err == nil {
				_ = r.conn.Close() // an error would have no consequence
			}
		})
		return nil, ctx.Err()
	}
}

func (c *connector) login(ctx context.Context) (driver.Conn, error) {
	era, err := c.killer.ready(ctx)
	if err != nil {
		return nil, err
	}
	inner, socket, err := c.open(ctx)
	if err != nil {
		if socket != nil && socket.orphan.Load() {
			c.seats.occupyUntil(func() { <-socket.over })
		}
		return nil, err
	}
	return &conn{driverConn: inner, socket: socket, seats: c.seats, killer: c.killer, thread: c.killer.reach(ctx, era, inner, socket)}, nil
}

// open logs in. The returned socket is nil if none was opened.
func (c *connector) open(ctx context.Context) (driverConn, *link, error) {
	var socket *link
	opened, err := c.Connector.Connect(context.WithValue(ctx, linkKey{}, &socket))
	if err != nil {
		return nil, socket, err
	}
	inner := opened.(driverConn)
	// Set by a statement, because the supported servers have two names for the variable.
	_, err = inner.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	if err != nil {
		return nil, socket, fmt.Errorf("set isolation level: %w", closeAfter(inner, err))
	}
	for _, setting := range c.serverSettings() {
		_, err = inner.ExecContext(ctx, "SET SESSION "+setting.name+" = ?", []driver.NamedValue{{Ordinal: 1, Value: setting.value}})
		var refusal *mysql.MySQLError
		if err != nil && !errors.As(err, &refusal) {
			return nil, socket, fmt.Errorf("set %s: %w", setting.name, closeAfter(inner, err))
		}
	}
	if c.together && !c.rivals.Load() {
		found, err := readVariables(ctx, inner, rivalVariables)
		var refusal *mysql.MySQLError
		if err != nil && !errors.As(err, &refusal) {
			return nil, socket, fmt.Errorf("read variables: %w", closeAfter(inner, err))
		}
		if err != nil || clusterOf(found, nil).MultiPrimary() { // a server that refuses to tell may be one
			c.rivals.Store(true)
		}
	}
	return inner, socket, nil
}

// rivalVariables show whether several servers of a cluster accept writes.
var rivalVariables = []string{"wsrep_on", "wsrep_provider", "group_replication_group_name", "group_replication_single_primary_mode"}

// readVariables returns the variables that the server has.
func readVariables(ctx context.Context, c driverConn, names []string) (map[string]string, error) {
	text, args, err := showStatement("VARIABLES", names).ToSql()
	if err != nil {
		return nil, err
	}
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := c.QueryContext(ctx, text, named)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for row := make([]driver.Value, 2); ; {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return lowerNames(found), rows.Close()
		case err != nil:
			return nil, errors.Join(err, rows.Close())
		}
		found[fmt.Sprintf("%s", row[0])] = fmt.Sprintf("%s", row[1])
	}
}

type serverSetting struct {
	name  string
	value driver.Value
}

// serverSettings are session variables that not every server has. A server that
// rejects one as unknown does not need it.
func (c *connector) serverSettings() []serverSetting {
	return []serverSetting{
		{"innodb_lock_wait_timeout", c.lockWait},
		// On a cluster with several primaries, a transaction and a single
		// SELECT see what other nodes committed before: a slot booked there, a
		// key revoked there.
		{"wsrep_sync_wait", int64(1)},
		{"group_replication_consistency", "BEFORE"},
	}
}

// Close closes the killer, which the pool's own Close does not.
func (c *connector) Close() error {
	c.killer.close()
	return nil
}

// closeAfter closes the connection and keeps the first error.
func closeAfter(conn driver.Conn, err error) error {
	_ = conn.Close()
	return err
}

// silent discards the driver's log lines: every error is also returned to the
// caller, who logs it once and without data.
type silent struct{}

func (silent) Print(...any) {}
