package handlers_test

import (
	"bytes"
	std "cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/adapter/jobs"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// now is the time at which the recorded site was recorded.
var now = fixtures.RecordedNow()

func fixedClock() time.Time { return now }

// server is the API on a database, as a client sees it.
type server struct {
	t        testing.TB
	handler  http.Handler
	database *fixtures.Database
	platform *session.Platform
	hooks    *jobs.HookStore
	keys     *keys.Store
	key      string    // with all permissions
	clock    time.Time // the server's current time
	log      *logBuffer
	blind    bool   // the key may not read what it writes, and gets answers that the document describes in words only
	restart  func() // serves like a new process; set by tappedServer only
}

// logBuffer keeps the log lines of a server.
type logBuffer struct{ fixtures.Buffer }

// last returns the log line of the last request.
func (l *logBuffer) last(t testing.TB) logLine {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(l.String()), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		var line logLine
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatalf("log line %q: %v", lines[i], err)
		}
		if line.Message == "request" {
			return line
		}
	}
	t.Fatal("no request was logged")
	return logLine{}
}

type logLine struct {
	Message   string `json:"msg"`
	Route     string `json:"route"`
	Method    string `json:"method"`
	RequestID string `json:"request_id"`
	Status    int    `json:"status"`
	Queries   int    `json:"queries"`
	Rows      int    `json:"rows"`
	KeyID     int64  `json:"key_id"`
}

// defaultOptions returns the options of a server that needs no others.
func defaultOptions() handlers.Options {
	return handlers.Options{
		BasePaths: []string{"/v1", "/wp-json/latepoint-api/v1"}, QueryParameter: "api_key", RequestTimeout: time.Minute,
		RateLimit: ratelimit.Options{Live: ratelimit.Limits{PerMinute: 60, PerHour: 3600}, Test: ratelimit.Limits{PerMinute: 100, PerHour: 1000}},
	}
}

// newServer serves a database; change adjusts the options.
func newServer(t testing.TB, database *fixtures.Database, change ...func(*handlers.Options)) *server {
	t.Helper()
	return newServerOver(t, database, 4, time.Minute, change...)
}

// The following serve a site to a test, which they let run beside others: they call t.Parallel before they make the
// database.

// smallServer serves the small site, which no test changes.
func smallServer(t *testing.T, change ...func(*handlers.Options)) *server {
	t.Helper()
	return sharedServer(t, fixtures.Small(now), change...)
}

// sharedServer serves a site that no test changes.
func sharedServer(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *server {
	t.Helper()
	t.Parallel()
	return newServer(t, fixtures.Shared(t, site), change...)
}

// ownServer serves a copy of a site for the test alone.
func ownServer(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *server {
	t.Helper()
	t.Parallel()
	return newServer(t, fixtures.New(t, site), change...)
}

// ownWriter is ownServer with codes and keys that are always the same.
func ownWriter(t *testing.T, site fixtures.Site, change ...func(*handlers.Options)) *server {
	t.Helper()
	t.Parallel()
	return newWriter(t, site, change...)
}

// newServerOver is newServer with a number of database connections, and the time that a request waits for
// one.
func newServerOver(t testing.TB, database *fixtures.Database, connections int, wait time.Duration, change ...func(*handlers.Options)) *server {
	t.Helper()
	db := openDatabase(t, database, connections, wait)
	haveOwnTables(t, database)
	options := defaultOptions()
	for _, c := range change {
		c(&options)
	}
	s := &server{t: t, database: database, clock: now, log: &logBuffer{}}
	clock := func() time.Time { return s.clock }
	s.keys = keys.NewStore(db, clock, rand.Reader)
	s.key = s.newKey("read", "write", "delete", "read_changes", "write_users", "write_webhooks")
	s.platform = session.NewPlatform(db, clock)
	s.hooks = jobs.NewHookStore(db, clock, rand.Reader, jobs.Vault{}, s.platform.Journal)
	options.Webhooks = s.hooks
	s.handler = handlers.New(s.platform, s.keys, clock, slog.New(slog.NewJSONHandler(s.log, nil)), options)
	return s
}

// ownTables has a function for each database, by DSN, that creates our own tables.
var ownTables sync.Map

// haveOwnTables creates our own tables unless another server of the same database has. Servers that are to be short of connections
// do not wait long enough for that.
func haveOwnTables(t testing.TB, database *fixtures.Database) {
	t.Helper()
	create, _ := ownTables.LoadOrStore(database.DSN, sync.OnceValue(func() error {
		return openDatabase(t, database, 2, time.Minute).CreateOwnTables(t.Context())
	}))
	expect.NoError(t, create.(func() error)())
}

func openDatabase(t testing.TB, database *fixtures.Database, connections int, wait time.Duration) *wpdb.DB {
	t.Helper()
	return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: connections, AcquireTimeout: wait, LockWait: time.Minute})
}

// query returns the rows that a SELECT finds in the site's database.
func (s *server) query(query string, args ...any) fixtures.Table {
	s.t.Helper()
	found, err := fixtures.Query(s.t.Context(), s.database.SQL, query, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return found
}

// texts returns the values of a column, with NULL as an empty text. {bookings} is the plugin's table of bookings.
func (s *server) texts(query string) []string {
	s.t.Helper()
	found := []string{}
	for _, row := range s.query(regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(query, "`"+s.database.Prefix+"latepoint_$1`")).Rows {
		text, _ := row[0].(string)
		found = append(found, text)
	}
	return found
}

// newKey creates a key with permissions.
func (s *server) newKey(permissions ...string) string {
	s.t.Helper()
	secret, _ := createKey(s.t, s.keys, keys.NewKey{Permissions: permissions})
	return secret
}

// createKey creates a key, which is live and named after the test unless n says otherwise.
func createKey(t testing.TB, store *keys.Store, n keys.NewKey) (secret string, key keys.Key) {
	t.Helper()
	n.Name, n.Kind = std.Or(n.Name, t.Name()[:min(190, len(t.Name()))]), std.Or(n.Kind, keys.Live)
	secret, key, err := store.Create(context.Background(), n)
	expect.NoError(t, err)
	return secret, key
}

// answer is a response, read to the end.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// get requests a path below /v1 with the server's key.
func (s *server) get(path string) answer {
	return s.do(http.MethodGet, "/v1"+path, http.Header{"X-Api-Key": {s.key}})
}

func (s *server) do(method, path string, header http.Header) answer {
	s.t.Helper()
	return s.send(method, path, header, "")
}

// send is do with a body. Request and response are checked against the OpenAPI document.
func (s *server) send(method, path string, header http.Header, body string) answer {
	s.t.Helper()
	request := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	maps.Copy(request.Header, header)
	a := s.serve(request)
	if !s.blind {
		conform(s.t, request, []byte(body), a)
	}
	return a
}

// serve serves a request that the document need not describe.
func (s *server) serve(request *http.Request) answer {
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return answer{t: s.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// exchange sends JSON with the server's key to a path or by a method that need not be in the document; headers are pairs of
// name and value, which replace others.
func (s *server) exchange(method, target, body string, headers ...string) answer {
	request := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.serve(request)
}

// want fails the test unless the status is this one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %.2000s", a.status, status, a.body)
	}
	return a
}

// object returns the body as generic JSON, with numbers as json.Number.
func (a answer) object() map[string]any {
	a.t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		a.t.Fatalf("body %.500q: %v", a.body, err)
	}
	return object
}

// at walks into the body: at("error", "code"), at("data", 0, "id").
func (a answer) at(path ...any) any {
	a.t.Helper()
	var value any = a.object()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			if !ok {
				a.t.Fatalf("no object at %v before %q: %.1000s", path, step, a.body)
			}
			value, ok = object[step]
			if !ok {
				a.t.Fatalf("no %q on the way to %v: %.1000s", step, path, a.body)
			}
		case int:
			list, ok := value.([]any)
			if !ok || step >= len(list) {
				a.t.Fatalf("no element %d on the way to %v: %.1000s", step, path, a.body)
			}
			value = list[step]
		}
	}
	return value
}

// records returns the list in data.
func (a answer) records() []map[string]any {
	a.t.Helper()
	list, ok := a.at("data").([]any)
	if !ok {
		a.t.Fatalf("data is not a list: %.1000s", a.body)
	}
	records := make([]map[string]any, len(list))
	for i := range list {
		records[i] = list[i].(map[string]any)
	}
	return records
}

// wantContains fails the test unless text contains part; format and args say what it is.
func wantContains(t testing.TB, part, text, format string, args ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s lacks %q: %.2000s", fmt.Sprintf(format, args...), part, text)
	}
}

// update rewrites the golden files; a person must then review the differences.
var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares a JSON body, indented and with its keys in order, with
// testdata/NAME.json.
func golden(t testing.TB, name string, body []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatalf("body %.500q: %v", body, err)
	}
	indented.WriteByte('\n')
	goldenFile(t, name+".json", indented.Bytes())
}

// goldenFile compares a text with a file in testdata.
func goldenFile(t testing.TB, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		expect.NoError(t, os.WriteFile(file, text, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	expect.NoError(t, err)
	expect.Equal(t, string(want), string(text), file)
}

// begin begins a transaction of somebody else, such as the site's PHP, and runs statements in it. If it is not committed, it is
// rolled back when the test ends.
func begin(t testing.TB, database *fixtures.Database, statements ...string) *sql.Tx {
	t.Helper()
	tx, err := database.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	run(t, tx, statements...)
	return tx
}

// run runs statements in a transaction.
func run(t testing.TB, tx *sql.Tx, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := tx.ExecContext(t.Context(), statement)
		expect.NoError(t, err)
	}
}

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
	kind               string // of the SELECT that the table is in
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
	plan, err := fixtures.Query(t.Context(), s.database.SQL, explain+shown.text, shown.args...)
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
