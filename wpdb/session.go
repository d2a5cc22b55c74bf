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
	connectTimeout, ioTimeout time.Duration // see Config

	lockWait   int64 // limit for row locks, in seconds
	together   bool  // several statements may be sent together, unless the server has rivals
	server     *server
	encryption *encryption
}

// server is what connections have seen of the server, which may be another one after a failover.
type server struct {
	rivals     atomic.Bool // other nodes abort transactions; never false again
	foldsNames atomic.Bool // it ignores the case of tables' names
	refuses    atomic.Bool // it logs statements, and refuses all writes of our sessions
}

// newConnector sets the session on a copy of the configuration. version is the
// server's; if it is empty, settings that depend on it are omitted.
func newConnector(base *mysql.Config, c Config, version string) (*connector, error) {
	cfg := base.Clone()
	cfg.ParseTime = false                                    // dates stay texts, as the API prints them
	cfg.InterpolateParams = true                             // one round trip per query, without preparing
	cfg.ClientFoundRows = true                               // an UPDATE returns matched rows, not changed ones
	cfg.MultiStatements = version != ""                      // for Later alone, see oneStatement
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = 0, 0, 0 // every call has a context that ends
	cfg.Logger = silent{}
	lockWait := max(1, int64(c.LockWait/time.Second))
	cfg.Params = map[string]string{
		"sql_mode":          "'" + sqlMode + "'",
		"time_zone":         "'+00:00'",
		"lock_wait_timeout": strconv.FormatInt(lockWait, 10), // for tables, such as during ALTER TABLE

		"autocommit":       "1",
		"completion_type":  "'NO_CHAIN'", // nothing begins or ends with a COMMIT
		"sql_auto_is_null": "0",          // IS NULL does not find the row that was inserted last
		"sql_big_selects":  "1",
		"sql_safe_updates": "0",
		"sql_select_limit": "9223372036854775807",
		"unique_checks":    "1",
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
	opened := &connector{connectTimeout: c.ConnectTimeout, ioTimeout: c.IOTimeout, lockWait: lockWait, together: cfg.MultiStatements, server: new(server)}
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

// Connect logs in, within the time of the request that waits for it, even if its client hangs up.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		ctx = request // not the shorter wait for a free connection
	}
	ctx, cancel := untilDeadline(ctx, c.connectTimeout)
	defer cancel()
	inner, err := c.open(ctx)
	switch {
	case err == nil:
		return &conn{driverConn: inner, limit: c.ioTimeout}, nil
	case ctx.Err() != nil:
		return nil, errNoLogin
	default:
		return nil, err
	}
}

// requestKey is the key of the context of the request for which a connection is opened.
type requestKey struct{}

// open logs in and sets up the session.
func (c *connector) open(ctx context.Context) (driverConn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner := opened.(driverConn)
	if err := c.setUp(ctx, inner); err != nil {
		_ = inner.Close() // the first error says more
		return nil, err
	}
	return inner, nil
}

// setUp sets what the driver's parameters cannot: a variable with two names, and those that not every server has.
func (c *connector) setUp(ctx context.Context, inner driverConn) error {
	if _, err := inner.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE", nil); err != nil {
		return fmt.Errorf("set isolation level: %w", err)
	}
	var refusal *mysql.MySQLError
	for name, value := range map[string]driver.Value{
		"innodb_lock_wait_timeout": c.lockWait,
		// On a cluster with several primaries, a transaction and a single SELECT see what other nodes committed
		// before: a slot booked there, a key revoked there.
		"wsrep_sync_wait":               int64(1),
		"group_replication_consistency": "BEFORE",
	} {
		_, err := inner.ExecContext(ctx, "SET SESSION "+name+" = ?", []driver.NamedValue{{Ordinal: 1, Value: value}})
		if err != nil && !errors.As(err, &refusal) { // a server that does not know it does not need it
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	if !c.together {
		return nil
	}
	return c.look(ctx, inner)
}

// look notes what the server is like, and asks it to log rows where it would log statements, which it cannot do
// for READ COMMITTED. The account may not be allowed to ask.
func (c *connector) look(ctx context.Context, inner driverConn) error {
	found, err := readVariables(ctx, inner, serverVariables)
	var refusal *mysql.MySQLError
	if err != nil && !errors.As(err, &refusal) {
		return fmt.Errorf("read variables: %w", err)
	}
	if err != nil || clusterOf(found, nil).MultiPrimary() { // a server that refuses to tell may be one
		c.server.rivals.Store(true)
	}
	c.server.foldsNames.Store(isOn(found["lower_case_table_names"]))
	refuses := isOn(found["log_bin"]) && found["binlog_format"] == "STATEMENT"
	if refuses {
		_, err = inner.ExecContext(ctx, "SET SESSION binlog_format = 'ROW'", nil)
		if err != nil && !errors.As(err, &refusal) {
			return fmt.Errorf("set binlog_format: %w", err)
		}
		refuses = err != nil
	}
	c.server.refuses.Store(refuses)
	return nil
}

// serverVariables show whether several servers of a cluster accept writes, how tables' names are compared, and
// what is logged.
var serverVariables = []string{
	"wsrep_on", "wsrep_provider", "group_replication_group_name", "group_replication_single_primary_mode",
	"lower_case_table_names", "log_bin", "binlog_format",
}

// readVariables returns those of the named variables that the server has, their names in lower case.
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

// silent discards the driver's log lines: every error is also returned to the
// caller, who logs it once and without data.
type silent struct{}

func (silent) Print(...any) {}
