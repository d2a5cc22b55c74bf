package wpdb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// contraryParameters has DSN settings that contradict what every session must have. Variables of the
// session are errors, see TestOpenRejectsInvalidConfig.
const contraryParameters = "?parseTime=true&clientFoundRows=false&interpolateParams=false&multiStatements=true&charset=latin1" +
	"&readTimeout=1ns&writeTimeout=1ns&timeout=1ns"

// session is the configuration of a connection.
type session struct {
	Mode, Zone, Client, Results, Isolation, Limit, RowLock, TableLock, SyncWait, Prepared string
}

// sessionOf reads the session of a transaction's connection, and the connection's id.
func sessionOf(t testing.TB, tx *wpdb.DB, engine string) (id int64, s session) {
	t.Helper()
	isolation, limit, syncWait := "@@transaction_isolation", "@@max_execution_time", "''"
	if engine == "mariadb" {
		isolation, limit, syncWait = "@@tx_isolation", "@@max_statement_time", "@@wsrep_sync_wait"
	}
	stmt := sq.Select("CONNECTION_ID()", "@@sql_mode", "@@time_zone", "@@character_set_client", "@@character_set_results", isolation, limit, "@@innodb_lock_wait_timeout", "@@lock_wait_timeout", syncWait)
	_, _, err := wpdb.One(t.Context(), tx, "read session", stmt, func(row wpdb.Scanner) (bool, error) {
		return true, row.Scan(&id, &s.Mode, &s.Zone, &s.Client, &s.Results, &s.Isolation, &s.Limit, &s.RowLock, &s.TableLock, &s.SyncWait)
	})
	expect.NoError(t, err)
	status := sq.Expr("SHOW SESSION STATUS WHERE Variable_name = ?", "Com_stmt_prepare")
	_, _, err = wpdb.One(t.Context(), tx, "read status", status, func(row wpdb.Scanner) (name string, err error) {
		err = row.Scan(&name, &s.Prepared)
		return name, err
	})
	expect.NoError(t, err)
	return id, s
}

func TestEverySession(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.Legacy())
	want := session{
		Mode: "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", Zone: "+00:00",
		Client: "utf8mb4", Results: "utf8mb4", Isolation: "READ-COMMITTED", Limit: "2500", RowLock: "3", TableLock: "3", Prepared: "0",
	}
	if database.Engine == "mariadb" {
		want.Limit, want.SyncWait = "2.5", "1" // a read sees what other nodes have committed before it
	}
	for name, settings := range map[string]string{"plain": "", "contrary": contraryParameters} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const connections = 3
			db := wpdbtest.OpenConfig(t, wpdb.Config{
				DSN: database.DSN + settings, Prefix: database.Prefix, MaxOpen: connections, StatementTimeout: 2500 * time.Millisecond, LockWait: 3 * time.Second,
			})
			seen := map[int64]bool{}
			// Each nested transaction uses another connection.
			var visit func() error
			visit = func() error {
				return db.Transact(t.Context(), "visit", func(tx *wpdb.DB) error {
					id, got := sessionOf(t, tx, database.Engine)
					seen[id] = true
					expect.Equal(t, want, got, "connection ", len(seen))
					if len(seen) == connections {
						return nil
					}
					return visit()
				})
			}
			expect.NoError(t, visit())
			expect.Equal(t, connections, len(seen), "connections seen")
		})
	}
}

// TestStrictModeAllowsZeroDates: values that do not fit are rejected, and dates are read
// as text.
func TestStrictModeAllowsZeroDates(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	c := configOf(database)
	c.DSN += contraryParameters
	db := wpdbtest.OpenConfig(t, c)
	update := "UPDATE wp_latepoint_bookings SET "
	for name, c := range map[string]struct {
		set   string
		value any
	}{
		"id out of range":      {"agent_id = ?", 99999999},
		"word for a number":    {"agent_id = ?", "first"},
		"number with a tail":   {"agent_id = ?", "12 or so"},
		"nothing for a number": {"agent_id = ?", ""},
		"text too long":        {"status = ?", "a status of far more than thirty characters"},
		"no date":              {"start_date = ?", "2026-02-30"},
		"broken UTF-8":         {"status = ?", "\xff\xfe"},
	} {
		err := change(t.Context(), db, update+c.set+" WHERE id = 1", c.value)
		expect.Error(t, wpdb.ErrBadValue, err, name)
	}
	expect.Equal(t, "0", singleValue(t, database.SQL, "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE agent_id IN (0, 12, 8388607)"), "bookings with an agent that nobody gave them")
	expect.NoError(t, change(t.Context(), db, update+"start_date = ?, created_at = ? WHERE id = 1", "0000-00-00", "0000-00-00 00:00:00"))
	got, err := read(t.Context(), db, "SELECT CONCAT(start_date, ' ', created_at) FROM wp_latepoint_bookings WHERE id = 1 UNION ALL SELECT start_date FROM wp_latepoint_bookings WHERE id IN (1, 2)")
	expect.NoError(t, err)
	want := []string{"0000-00-00 0000-00-00 00:00:00", "0000-00-00", singleValue(t, database.SQL, "SELECT start_date FROM wp_latepoint_bookings WHERE id = 2")}
	expect.Equal(t, want, got, "dates")
}

// TestTextRoundTrips: any text survives, with any charset in the DSN.
func TestTextRoundTrips(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	for name, settings := range map[string]string{"plain": "", "contrary": contraryParameters} {
		c := configOf(database)
		c.DSN += settings
		db := wpdbtest.OpenConfig(t, c)
		for _, text := range []string{"Zoë 🎁 Привет", `it's "quoted" \ and \' and ?`, "a\x00b\x1ac\r\n\t", "%_`;--", ""} {
			expect.NoError(t, change(t.Context(), db, "UPDATE wp_latepoint_locations SET name = ? WHERE id = 1", text))
			expect.Equal(t, text, singleValue(t, database.SQL, "SELECT name FROM wp_latepoint_locations WHERE id = 1"), name, ": PHP reads")
			got, err := read(t.Context(), db, "SELECT name FROM wp_latepoint_locations WHERE id = 1")
			if err != nil || got[0] != text {
				t.Errorf("%s: read back %q, error %v, want %q", name, got, err, text)
			}
		}
	}
}

// TestUpdateReturnsMatchedRows: a row that already has the new value counts as changed.
func TestUpdateReturnsMatchedRows(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	c := configOf(database)
	c.DSN += contraryParameters
	db := wpdbtest.OpenConfig(t, c)
	for _, where := range []struct {
		id, want int64
	}{{1, 1}, {99, 0}} {
		stmt := sq.Update(db.Name(wpdb.Agents)).Set("status", "active").Where(sq.Eq{"id": where.id})
		result, err := wpdb.Exec(t.Context(), db, "activate agent", stmt)
		expect.NoError(t, err)
		expect.Equal(t, where.want, result.Rows, "agent ", where.id)
	}
}

// slow is a SELECT that takes much longer than any limit in these tests.
const slow = "SELECT option_id FROM wp_options WHERE SLEEP(20) = 0"

func TestStatementLimit(t *testing.T) {
	t.Parallel()
	c := configOf(fixtures.Shared(t, fixtures.Legacy()))
	c.StatementTimeout = 50 * time.Millisecond
	db := wpdbtest.OpenConfig(t, c)
	ctx, usage := wpdb.WithUsage(t.Context())
	if _, err := read(ctx, db, slow); !errors.Is(err, wpdb.ErrTimeout) {
		t.Errorf("error %v, want %v", err, wpdb.ErrTimeout)
	}
	expect.Equal(t, 1, usage.Queries(), "questions asked")
}

// TestEndOfContexts: a deadline ends a statement. A client that hangs up does not: its statement keeps the connection
// until the server is done, and its next one is not sent.
func TestEndOfContexts(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.Legacy())
	c := configOf(database)
	c.StatementTimeout = 2 * time.Second // for the server, which does not notice that the client has left
	db := wpdbtest.OpenConfig(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := read(ctx, db, slow); !errors.Is(err, wpdb.ErrTimeout) {
		t.Errorf("read: error %v, want %v", err, wpdb.ErrTimeout)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for running := []int64(nil); len(running) == 0 && ctx.Err() == nil; {
			running, _ = database.Threads(t.Context(), "info = 'SELECT SLEEP(1)'") // an error ends with the test
		}
	}()
	if found, err := read(ctx, db, "SELECT SLEEP(1)"); len(found) != 1 || err != nil {
		t.Errorf("read: %v, error %v", found, err)
	}
	if _, err := read(ctx, db, "SELECT 1"); !errors.Is(err, context.Canceled) || errors.Is(err, wpdb.ErrTimeout) || errors.Is(err, wpdb.ErrLinkLost) {
		t.Errorf("read: error %v, want %v and no other", err, context.Canceled)
	}
	expect.Succeeded(t, ping(t.Context(), db))
}

// TestSessionsOfAnotherServer: every session is the same, whatever the server's defaults are.
func TestSessionsOfAnotherServer(t *testing.T) {
	t.Parallel()
	database := fixtures.NewWith(t, fixtures.Legacy())
	database.Execute(t, "SET GLOBAL completion_type = 2, GLOBAL sql_auto_is_null = 1, GLOBAL sql_big_selects = 0, GLOBAL sql_safe_updates = 1",
		"SET GLOBAL sql_select_limit = 2, GLOBAL unique_checks = 0, GLOBAL tx_read_only = 1, GLOBAL autocommit = 0")
	db := wpdbtest.Open(t, database, 1)
	stmt := sq.Select("CONCAT_WS(' ', @@completion_type, @@sql_auto_is_null, @@sql_big_selects, @@sql_safe_updates, @@sql_select_limit, @@unique_checks, @@tx_read_only, @@autocommit)")
	got, _, err := wpdb.One(t.Context(), db, "read session", stmt, wpdb.Value[string])
	if want := "NO_CHAIN OFF ON OFF 9223372036854775807 ON OFF ON"; err != nil || got != want {
		t.Errorf("%s, error %v, want %s", got, err, want)
	}
}
