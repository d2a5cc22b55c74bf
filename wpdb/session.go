package wpdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sqlMode is strict, because ids are MEDIUMINT and a lenient session stores
// 99999999 as 8388607, but keeps zero dates, which sites do have.
const sqlMode = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// connector opens connections whose session is always the same, whatever the
// server's defaults and the given data source name say.
type connector struct {
	driver.Connector
	killer   *killer       // nil where nothing is killed
	lockWait int64         // for a row, in seconds
	limit    time.Duration // within which the server ends whatever runs
}

// newConnector forces the session on a copy of the configuration. version is
// the server's; an empty one leaves out what depends on it.
func newConnector(base *mysql.Config, c Config, version string) (*connector, error) {
	cfg := base.Clone()
	cfg.ParseTime = false        // dates travel as the text the API prints
	cfg.InterpolateParams = true // no server-side prepares: one round trip a query
	cfg.ClientFoundRows = true   // an UPDATE counts matched rows, not changed ones
	cfg.MultiStatements = false
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = c.ConnectTimeout, c.IOTimeout, c.IOTimeout
	cfg.DialFunc = dialLink
	cfg.Logger = silent{}
	lockWait := max(1, int64(c.LockWait/time.Second))
	cfg.Params = map[string]string{
		"sql_mode":          "'" + sqlMode + "'",
		"time_zone":         "'+00:00'",
		"lock_wait_timeout": strconv.FormatInt(lockWait, 10), // for a table, as while somebody alters it
	}
	switch {
	case strings.Contains(version, "MariaDB"):
		cfg.Params["max_statement_time"] = strconv.FormatFloat(c.StatementTimeout.Seconds(), 'f', 3, 64)
	case version != "":
		cfg.Params["max_execution_time"] = strconv.FormatInt(c.StatementTimeout.Milliseconds(), 10)
	}
	// Some servers ignore the character set of the handshake, but none this.
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	return &connector{Connector: inner, lockWait: lockWait, limit: c.StatementTimeout + c.LockWait}, nil
}

// newKiller makes a killer for the same server. A KILL is answered at once, or
// the server has other troubles.
func newKiller(base *mysql.Config, c Config) (*killer, error) {
	c.IOTimeout = c.ConnectTimeout
	own, err := newConnector(base, c, "")
	if err != nil {
		return nil, err
	}
	return &killer{connect: own.open}, nil
}

// Connect logs in, which no context ends: the server's thread would outlive it.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx = context.WithoutCancel(ctx)
	era, err := c.killer.ready(ctx)
	if err != nil {
		return nil, err
	}
	inner, socket, err := c.open(ctx)
	if err != nil {
		if socket != nil && socket.orphan.Load() {
			awaitEnd(nil, thread{}, c.limit)
		}
		return nil, err
	}
	return &conn{driverConn: inner, socket: socket, killer: c.killer, thread: c.killer.reach(ctx, era, inner, socket), limit: c.limit}, nil
}

// open logs in. The socket is nil where there was none.
func (c *connector) open(ctx context.Context) (driverConn, *link, error) {
	var socket *link
	opened, err := c.Connector.Connect(context.WithValue(ctx, linkKey{}, &socket))
	if err != nil {
		return nil, socket, err
	}
	inner := opened.(driverConn)
	// By statement, because the variable behind it has two names among the
	// supported servers.
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
	return inner, socket, nil
}

type serverSetting struct {
	name  string
	value driver.Value
}

// serverSettings are session variables that not every server has. One that does
// not know a variable refuses it, and does not need it.
func (c *connector) serverSettings() []serverSetting {
	return []serverSetting{
		{"innodb_lock_wait_timeout", c.lockWait},
		// On a cluster with several primaries, a transaction and a single SELECT
		// see what other nodes committed before they began: a slot that was given
		// away there, a key that was revoked.
		{"wsrep_sync_wait", int64(1)},
		{"group_replication_consistency", "BEFORE"},
	}
}

// Close ends what the pool's own Close does not.
func (c *connector) Close() error {
	c.killer.close()
	return nil
}

// closeAfter closes the connection and keeps the error that came first.
func closeAfter(conn driver.Conn, err error) error {
	_ = conn.Close()
	return err
}

// silent drops the driver's own log lines: every error also comes back to the
// caller, who logs it once and without data.
type silent struct{}

func (silent) Print(...any) {}
