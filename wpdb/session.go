package wpdb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// sqlMode is strict, because ids are MEDIUMINT and a lenient session stores
// 99999999 as 8388607, but keeps zero dates, which sites do have.
const sqlMode = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// connector opens connections whose session is always the same, whatever the
// server's defaults and the given data source name say.
type connector struct {
	driver.Connector
}

// newConnector forces the session on a copy of the configuration. version is
// the server's; an empty one leaves out what depends on it.
func newConnector(base *mysql.Config, c Config, version string) (driver.Connector, error) {
	cfg := base.Clone()
	cfg.ParseTime = false        // dates travel as the text the API prints
	cfg.InterpolateParams = true // no server-side prepares: one round trip a query
	cfg.ClientFoundRows = true   // an UPDATE counts matched rows, not changed ones
	cfg.MultiStatements = false
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = c.ConnectTimeout, c.IOTimeout, c.IOTimeout
	cfg.Logger = silent{}
	cfg.Params = map[string]string{
		"sql_mode":  "'" + sqlMode + "'",
		"time_zone": "'+00:00'",
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
	return connector{inner}, nil
}

// Connect sets the isolation level by statement, because the variable behind
// it has two names among the supported servers.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil)
	if err != nil {
		return nil, fmt.Errorf("set isolation level: %w", closeAfter(conn, err))
	}
	return conn, nil
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
