package handlers_test

import (
	"crypto/rand"
	"database/sql"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/wpdb"
)

// statement is a statement that was sent to the database, with its arguments.
type statement struct {
	text string
	args []any
}

// tappedServer serves a database and calls see for each statement, which fails if see returns an error;
// change adjusts the options.
func tappedServer(t *testing.T, database *fixtures.Database, see func(statement) error, change ...func(*handlers.Options)) *apitest.Server {
	t.Helper()
	config, err := mysql.ParseDSN(database.DSN)
	expect.NoError(t, err)
	config.InterpolateParams, config.ClientFoundRows = true, true
	connector, err := mysql.NewConnector(config)
	expect.NoError(t, err)
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(text string, args []any) error { return see(statement{text, args}) }})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	db := wpdb.New(pool, database.Prefix)
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	options := handlers.Options{BasePaths: []string{"/v1"}, RequestTimeout: time.Minute}
	for _, c := range change {
		c(&options)
	}
	s := &apitest.Server{T: t, Database: database, Clock: apitest.Now, Log: &apitest.LogBuffer{}}
	clock := func() time.Time { return s.Clock }
	s.Keys = keys.NewStore(db, clock, rand.Reader)
	s.Key = s.NewKey("read", "write", "delete")
	s.Platform = session.NewPlatform(db, clock)
	s.Restart = func() {
		s.Handler = handlers.New(s.Platform, s.Keys, clock, slog.New(slog.NewJSONHandler(s.Log, nil)), options)
	}
	s.Restart()
	return s
}

// step is how the server reads one table of a statement.
type step struct {
	kind               string // of the SELECT that the table is in
	table, access, key string // all are "" for a table that need not be read
	extra              string // the server's remarks
}

// whole reports whether all rows of the table are read.
func (s step) whole() bool { return s.access == "ALL" || s.access == "index" }

// explain returns the steps in which the server runs a statement.
func explain(t testing.TB, s *apitest.Server, shown statement) []step {
	t.Helper()
	explain := "EXPLAIN "
	if s.Database.Engine == "mysql" {
		explain = "EXPLAIN FORMAT=TRADITIONAL " // later servers show a tree
	}
	plan, err := fixtures.Query(t.Context(), s.Database.SQL, explain+shown.text, shown.args...)
	if err != nil || len(plan.Rows) == 0 {
		t.Fatalf("%d steps of %s: %v", len(plan.Rows), shown.text, err)
	}
	var steps []step
	for _, row := range plan.Rows {
		cell := func(column string) string {
			text, _ := row[slices.Index(plan.Columns, column)].(string)
			return text
		}
		steps = append(steps, step{cell("select_type"), cell("table"), cell("type"), cell("key"), cell("Extra")})
	}
	return steps
}

// rowsRead runs a statement and returns how many rows, of tables and of indexes, the server read.
func rowsRead(t *testing.T, database *fixtures.Database, shown statement) int {
	t.Helper()
	conn, err := database.SQL.Conn(t.Context())
	expect.NoError(t, err)
	defer conn.Close()
	counted := func() (sum int) {
		const counters = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next')"
		read, err := fixtures.Query(t.Context(), conn, counters)
		expect.NoError(t, err)
		for _, row := range read.Rows {
			n, err := strconv.Atoi(row[1].(string))
			expect.NoError(t, err)
			sum += n
		}
		return sum
	}
	before := counted()
	overhead := counted() - before // of the query itself, which reads tables too
	if _, err := fixtures.Query(t.Context(), conn, shown.text, shown.args...); err != nil {
		t.Fatalf("%s: %v", shown.text, err)
	}
	return counted() - before - 2*overhead
}
