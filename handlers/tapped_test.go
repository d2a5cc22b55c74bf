package handlers_test

import (
	"crypto/rand"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

// statement is a statement that was sent to the database, with its arguments.
type statement struct {
	text string
	args []any
}

// tappedServer serves a database and calls see for each statement, which fails if see returns an error;
// change adjusts the options.
func tappedServer(t *testing.T, database *fixtures.Database, see func(statement) error, change ...func(*handlers.Options)) *server {
	t.Helper()
	config, err := mysql.ParseDSN(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	config.InterpolateParams, config.ClientFoundRows = true, true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(text string, args []any) error { return see(statement{text, args}) }})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	db := wpdb.New(pool, database.Prefix)
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	options := handlers.Options{BasePaths: []string{"/v1"}, RequestTimeout: time.Minute}
	for _, c := range change {
		c(&options)
	}
	s := &server{t: t, database: database, clock: now, log: &logBuffer{}}
	clock := func() time.Time { return s.clock }
	s.keys = keys.NewStore(db, clock, rand.Reader)
	s.key = s.newKey("read", "write", "delete")
	s.platform = session.NewPlatform(db, clock)
	s.restart = func() {
		s.handler = handlers.New(s.platform, s.keys, clock, slog.New(slog.NewJSONHandler(s.log, nil)), options)
	}
	s.restart()
	return s
}

// step is how the server reads one table of a statement.
type step struct {
	table, access, key string // all are "" for a table that need not be read
	extra              string // the server's remarks
}

// whole reports whether all rows of the table are read.
func (s step) whole() bool { return s.access == "ALL" || s.access == "index" }

// explain returns the steps in which the server runs a statement.
func (s *server) explain(t testing.TB, shown statement) []step {
	t.Helper()
	explain := "EXPLAIN "
	if s.database.Engine == "mysql" {
		explain = "EXPLAIN FORMAT=TRADITIONAL " // later servers show a tree
	}
	rows, err := s.database.SQL.QueryContext(t.Context(), explain+shown.text, shown.args...)
	if err != nil {
		t.Fatalf("%s: %v", shown.text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for rows.Next() {
		var table, access, key, extra sql.NullString
		known := map[string]any{"table": &table, "type": &access, "key": &key, "Extra": &extra}
		values := make([]any, len(columns))
		for i, column := range columns {
			values[i] = new(sql.RawBytes)
			if dest, ok := known[column]; ok {
				values[i] = dest
			}
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step{table.String, access.String, key.String, extra.String})
	}
	if err := rows.Err(); err != nil || len(steps) == 0 {
		t.Fatalf("%d steps: %v", len(steps), err)
	}
	return steps
}

// rowsRead runs a statement and returns how many rows, of tables and of indexes, the server read.
func rowsRead(t *testing.T, database *fixtures.Database, shown statement) int {
	t.Helper()
	conn, err := database.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	counted := func() (sum int) {
		const counters = "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd_next')"
		rows, err := conn.QueryContext(t.Context(), counters)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			var n int
			if err := rows.Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := counted()
	overhead := counted() - before // of the query itself, which reads tables too
	rows, err := conn.QueryContext(t.Context(), shown.text, shown.args...)
	if err != nil {
		t.Fatalf("%s: %v", shown.text, err)
	}
	defer rows.Close()
	for rows.Next() { // the statement ends with its last row
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return counted() - before - 2*overhead
}
