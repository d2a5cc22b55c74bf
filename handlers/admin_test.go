package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// probe sends a request to the admin address.
func probe(t testing.TB, admin *monitor.Admin, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	return probeAs(t, admin, "127.0.0.1:8081", method, path)
}

// probeAs sends a request to the admin address under a host name.
func probeAs(t testing.TB, admin *monitor.Admin, host, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.Host = host
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, request)
	return recorder
}

// newAdmin returns an admin handler without configured host names.
func newAdmin() *monitor.Admin { return monitor.NewAdmin(slog.New(slog.DiscardHandler), nil) }

// wantReadiness fails the test unless /readyz reports want with the matching
// status.
func wantReadiness(t *testing.T, admin *monitor.Admin, want monitor.Readiness) {
	t.Helper()
	recorder := probe(t, admin, http.MethodGet, "/readyz")
	var got monitor.Readiness
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	got.Fingerprint = "" // see TestFingerprint
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	status := http.StatusServiceUnavailable
	if want.Status == monitor.StatusReady {
		status = http.StatusOK
	}
	expect.Equal(t, status, recorder.Code, "status")
	expect.Equal(t, "no-store", recorder.Header().Get("Cache-Control"), "Cache-Control")
}

func TestLivezNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	admin := newAdmin()
	for _, stopping := range []bool{false, true} {
		if stopping {
			admin.Stopping()
		}
		if r := probe(t, admin, http.MethodGet, "/livez"); r.Code != http.StatusOK || r.Body.String() != "ok" {
			t.Errorf("stopping %v: %d %q", stopping, r.Code, r.Body)
		}
	}
	expect.Equal(t, http.StatusOK, probe(t, admin, http.MethodHead, "/livez").Code, "HEAD")
}

func TestAdminServesNoOtherPath(t *testing.T) {
	t.Parallel()
	for _, ask := range [][2]string{{http.MethodGet, "/"}, {http.MethodGet, "/v1/status"}, {http.MethodPost, "/readyz"}} {
		if r := probe(t, newAdmin(), ask[0], ask[1]); r.Code != http.StatusNotFound || r.Body.Len() != 0 {
			t.Errorf("%s %s: %d %q", ask[0], ask[1], r.Code, r.Body)
		}
	}
}

// TestAdminLeadsToTheConsole: the root and the former page for keys redirect there, even for programs that
// only send HEAD.
func TestAdminLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	admin := monitor.NewAdmin(slog.New(slog.DiscardHandler), nil)
	admin.Mount(console.Path, console.New(apitest.FixedClock, slog.New(slog.DiscardHandler), nil))
	for from, to := range map[string]string{"/": "/console", "/keys": "/console/keys"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if r := probe(t, admin, method, from); r.Code != http.StatusSeeOther || r.Header().Get("Location") != to {
				t.Errorf("%s %s: %d %q", method, from, r.Code, r.Header().Get("Location"))
			}
		}
	}
}

// TestAdminRejectsUnknownHosts: requests under an unknown host name are
// rejected on every path; IP addresses, localhost and the names of admin.hosts
// are served.
func TestAdminRejectsUnknownHosts(t *testing.T) {
	t.Parallel()
	log := &apitest.LogBuffer{}
	admin := monitor.NewAdmin(slog.New(slog.NewJSONHandler(log, nil)), []string{"Bookside.internal"})
	admin.ServeMetrics(monitor.NewMetrics(monitor.Build{}))
	admin.ServeProfiles()
	admin.Mount(console.Path, console.New(apitest.FixedClock, slog.New(slog.DiscardHandler), nil))
	statuses := map[string]int{
		"/livez": 200, "/readyz": 503, "/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/symbol": 200, "/debug/pprof/goroutine": 200,
		"/debug/pprof/cmdline": 404, "/console/keys": 503, "/console/style.css": 200, "/": 303, "/keys": 303, "/unknown": 404,
	}
	for host, served := range map[string]bool{
		"localhost": true, "LOCALHOST:8081": true, "127.0.0.1": true, "127.0.0.1:8081": true, "[::1]:8081": true, "10.0.0.7:8081": true, "": false,
		"bookside.internal": true, "BOOKSIDE.INTERNAL:8081": true,
		"evil.example": false, "evil.example:8081": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "localhost.": false,
		"notbookside.internal": false, "0x7f.1": false, "2130706433": false,
	} {
		for path, status := range statuses {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions, "PROPFIND"} {
				got := probeAs(t, admin, host, method, path)
				switch {
				case !served && got.Code != http.StatusMisdirectedRequest:
					t.Errorf("%s: %s %s: status %d", host, method, path, got.Code)
				case !served && host != "" && strings.Contains(got.Body.String(), host):
					t.Errorf("%s: %s %s repeats the name: %s", host, method, path, got.Body)
				case served && method == http.MethodGet && got.Code != status:
					t.Errorf("%s: %s: status %d, want %d", host, path, got.Code, status)
				}
			}
		}
	}
	if strings.Contains(log.String(), "evil.example") || !strings.Contains(log.String(), "admin.hosts can allow it") {
		t.Errorf("log: %.500s", log)
	}
}

func TestReadinessOfSite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	db, err := wpdb.Open(t.Context(), wpdb.Config{DSN: database.DSN, Prefix: database.Prefix})
	expect.NoError(t, err)
	admin := newAdmin()
	wantReadiness(t, admin, monitor.Readiness{Status: "starting", Database: "not open yet", Platform: "unknown"})
	admin.Started(session.NewPlatform(db, apitest.FixedClock))
	wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: "Tables are missing: " + strings.Join(db.FullNames(wpdb.OwnTables()), ", ")})
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	wantReadiness(t, admin, monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"})
	database.Execute(t, "UPDATE "+database.Prefix+"options SET option_value = '' WHERE option_name = 'active_plugins'")
	wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: "LatePoint is not active on this site"})
	expect.NoError(t, db.Close())
	wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "failed", Platform: "unknown"})
	admin.Stopping()
	wantReadiness(t, admin, monitor.Readiness{Status: "stopping", Database: "unknown", Platform: "unknown"})
}

// TestReadinessWithoutPrivileges: the site is not ready if a table cannot be read, or one of ours is
// missing. Requests that need it are rejected; others are served.
func TestReadinessWithoutPrivileges(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	admin := newAdmin()
	admin.Started(s.Platform)
	ready := monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"}
	wantReadiness(t, admin, ready)
	account := serverAccount(t, s.Database)
	for _, c := range []struct{ lose, back, trouble, rejected, served string }{
		{"REVOKE SELECT ON wp_latepoint_customers FROM " + account, "GRANT SELECT ON wp_latepoint_customers TO " + account,
			"The database user may not read wp_latepoint_customers", "/customers", "/services"},
		{"REVOKE SELECT ON wp_users FROM " + account, "GRANT SELECT ON wp_users TO " + account,
			"The database user may not read wp_users", "", "/bookings"},
		{"RENAME TABLE wp_bookside_customer_fields TO elsewhere", "RENAME TABLE elsewhere TO wp_bookside_customer_fields",
			"Tables are missing: wp_bookside_customer_fields", "", "/bookings"},
		{"RENAME TABLE wp_bookside_api_keys TO elsewhere", "RENAME TABLE elsewhere TO wp_bookside_api_keys",
			"Tables are missing: wp_bookside_api_keys", "/bookings", ""},
	} {
		s.Database.Execute(t, c.lose)
		if c.rejected != "" {
			s.Get(c.rejected).Want(http.StatusServiceUnavailable)
		}
		if c.served != "" {
			s.Get(c.served).Want(http.StatusOK)
		}
		wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: c.trouble})
		s.Database.Execute(t, c.back)
		wantReadiness(t, admin, ready)
		if c.rejected != "" {
			s.Get(c.rejected).Want(http.StatusOK)
		}
	}
}

// serverAccount is the account of the servers under test, quoted for GRANT.
func serverAccount(t *testing.T, database *fixtures.Database) string {
	t.Helper()
	account, _, err := wpdb.Config{DSN: database.DSN, Prefix: database.Prefix}.Account(t.Context())
	expect.NoError(t, err)
	return account
}

// TestReadinessWithoutOwnColumns: the site is not ready while a table of Bookside lacks a column, which is
// named, and is ready again once it is back.
func TestReadinessWithoutOwnColumns(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	admin := newAdmin()
	admin.Started(s.Platform)
	ready := monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"}
	wantReadiness(t, admin, ready)
	for _, table := range wpdb.OwnTables() {
		var column string
		s.Database.Scan(t, "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'wp_"+string(table)+"' ORDER BY ordinal_position DESC LIMIT 1", &column)
		if table == wpdb.APIKeys {
			column = "details" // which every request reads
		}
		s.Database.Execute(t, fmt.Sprintf("ALTER TABLE wp_%s RENAME COLUMN %s TO elsewhere", table, column))
		lacking := "Columns are missing, which bookside migrate adds: wp_" + string(table)
		wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: lacking + "." + column})
		if table == wpdb.APIKeys {
			expect.Equal[any](t, lacking, s.Get("/bookings").Want(http.StatusServiceUnavailable).At("message"), "message")
		}
		s.Database.Execute(t, fmt.Sprintf("ALTER TABLE wp_%s RENAME COLUMN elsewhere TO %s", table, column))
		wantReadiness(t, admin, ready)
	}
	s.Get("/bookings").Want(http.StatusOK)
}

// TestReadinessWithoutColumns: the site is not ready while a column that reads need is missing, and is
// ready again once it is back. If the schema is known, the check reads no table.
func TestReadinessWithoutColumns(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	admin := newAdmin()
	admin.Started(s.Platform)
	ready := monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"}
	wantReadiness(t, admin, ready)
	s.Database.Execute(t, "ALTER TABLE wp_latepoint_services DROP COLUMN visibility")
	s.Get("/services").Want(http.StatusServiceUnavailable)
	s.Get("/agents").Want(http.StatusOK)
	wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: "LatePoint columns are missing: wp_latepoint_services.visibility"})
	s.Database.Execute(t, "ALTER TABLE wp_latepoint_services ADD COLUMN visibility varchar(20) NOT NULL DEFAULT 'visible'")
	wantReadiness(t, admin, ready)
	s.Get("/services").Want(http.StatusOK)

	ctx, usage := wpdb.WithUsage(t.Context())
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz", nil))
	if recorder.Code != http.StatusOK || usage.Queries() != 3 {
		t.Errorf("status %d, %d statements for a probe of a known schema", recorder.Code, usage.Queries())
	}
}

// goodValues are parameter values, by type, that routes accept.
var goodValues = map[string]string{
	"page": "1", "integer": "60", "boolean": "1", "date": "2026-11-24", "number": "10", "text": "a", "id or any": "any",
}

// goodWords lists words that parameters accept although the document does not list them, and values for
// parameters that goodValues does not suit.
var goodWords = map[string][]string{"start_time": {"10:00"}, "status": {"approved"}, "bookings_status": {"approved"}, "wait": {"0"}}

// TestRequiredColumnsSuffice drops every column that is not required and sends
// each GET request with each of its parameters: none may fail.
func TestRequiredColumnsSuffice(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Own(t, fixtures.Edge())
	s.Database.AddCalendars(t)
	dropUnneededColumns(t, s.Database)
	// With the add-ons, time off, limits and events of agents are read too.
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile))
	s.Database.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '[\"latepoint-pro-features\"]')")
	admin := newAdmin()
	admin.Started(s.Platform)
	wantReadiness(t, admin, monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"})
	for code, want := range map[monitor.Code]string{
		monitor.WritesRefused: "minor wp_latepoint_transactions: it lacks token, notes: requests", monitor.ExtensionsIgnored: "minor not honoured: Google Calendar: ", // reads do not use them
	} {
		if got := reportLine(t, admin, code); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}

	asked, answered := 0, 0
	ask := func(path string) {
		a := s.Get(path)
		asked++
		switch a.Status {
		case http.StatusOK:
			answered++
		case http.StatusBadRequest, http.StatusNotFound, http.StatusGone: // the word, the id or the cursor belongs to another resource
		default:
			t.Errorf("%s: status %d: %.300s", path, a.Status, a.Body)
		}
	}
	for _, r := range routesOf(t) {
		if r.Method != http.MethodGet {
			continue
		}
		base := r.Path + "?" + valid[r.Path]
		ask(base)
		for name, p := range apitest.Parameters()[r.Path] {
			values := p.Words
			if len(values) == 0 {
				values = goodWords[name]
			}
			if len(values) == 0 && p.Kind != "word" {
				values = []string{goodValues[p.Kind]}
			}
			if len(values) == 0 {
				t.Errorf("goodWords has no entry for %s", name)
			}
			for _, value := range values {
				ask(base + apitest.Companions[name] + name + "=" + value)
			}
		}
	}
	ask("/agents/availability?service_id=1&date=2026-11-24&start_time=10:00")
	if answered < asked/2 || answered < 100 {
		t.Errorf("only %d of %d requests were answered", answered, asked)
	}
}

// dropUnneededColumns drops the columns that the schema check does not require
// from the plugin's tables.
func dropUnneededColumns(t *testing.T, database *fixtures.Database) {
	t.Helper()
	required := requiredColumns(t, database)
	columns, err := fixtures.Query(t.Context(), database.SQL,
		"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name LIKE ? ORDER BY ordinal_position", database.Prefix+"latepoint%")
	expect.NoError(t, err)
	drops := map[string][]string{} // by table
	for _, row := range columns.Rows {
		table, column := row[0].(string), row[1].(string)
		needed := required[wpdb.Table(strings.TrimPrefix(table, database.Prefix))]
		if needed != nil && !slices.Contains(needed, column) {
			drops[table] = append(drops[table], "DROP COLUMN "+column)
		}
	}
	if len(drops) == 0 {
		t.Fatal("no column is dropped: the test would prove nothing")
	}
	for table, clauses := range drops {
		database.Execute(t, "ALTER TABLE "+table+" "+strings.Join(clauses, ", "))
	}
}

// requiredColumns returns what the schema check reports missing on a site whose
// tables have none of the plugin's columns.
func requiredColumns(t *testing.T, database *fixtures.Database) map[wpdb.Table][]string {
	t.Helper()
	// The server's own account sees only the tables of its site.
	db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.AdminDSN, Prefix: "bare_"})
	for _, table := range wpdb.PluginTables() {
		database.Execute(t, "CREATE TABLE "+db.Name(table)+" (none int)")
	}
	schema, err := db.Schema(t.Context(), "2.3.1")
	expect.NoError(t, err)
	columns := map[wpdb.Table][]string{}
	for _, missing := range schema.MissingColumns() {
		columns[missing.Table] = append(columns[missing.Table], missing.Column)
	}
	return columns
}

func TestReadinessOfDatabase(t *testing.T) {
	t.Parallel()
	const secret = "customer@example.test"
	server := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: secret} }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"too many connections": {server(1040), "unreachable"},
		"link lost":            {mysql.ErrInvalidConn, "unreachable"},
		"access denied":        {server(1045), "rejects the user, the password or a privilege"},
		"unknown database":     {server(1049), "does not exist"},
		"statement too long":   {server(1969), "does not answer in time"},
		"deadline":             {context.DeadlineExceeded, "does not answer in time"},
		"all in use":           {wpdb.ErrBusy, "has no free connection"},
		"all left":             {fmt.Errorf("%w, and %w", wpdb.ErrBusy, wpdb.ErrSilent), "does not answer in time"},
		"anything else":        {errors.New(secret), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, mock, err := sqlmock.New()
			expect.NoError(t, err)
			mock.ExpectQuery("SELECT").WillReturnError(c.err)
			mock.ExpectQuery("SELECT").WillReturnError(c.err) // a read is retried once if the connection was lost
			admin := newAdmin()
			admin.Started(session.NewPlatform(wpdb.New(pool, "wp_"), apitest.FixedClock))
			wantReadiness(t, admin, monitor.Readiness{Status: "unavailable", Database: c.want, Platform: "unknown"})
			if r := probe(t, admin, http.MethodGet, "/readyz"); strings.Contains(r.Body.String(), secret) {
				t.Errorf("the response quotes the server: %s", r.Body)
			}
			mock.ExpectClose()
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// reportLine returns what /readyz?verbose says about a code, with its level; "" for nothing.
func reportLine(t *testing.T, admin *monitor.Admin, code monitor.Code) string {
	t.Helper()
	report, _, body := verboseReport(t, admin)
	for _, e := range report {
		if e.Code == code {
			return e.Level.String() + " " + e.String()
		}
	}
	if len(report) == 0 {
		t.Fatalf("no report: %s", body)
	}
	return ""
}

// verboseReport returns the report in /readyz?verbose, and how many statements it took.
func verboseReport(t *testing.T, admin *monitor.Admin) (report []monitor.Entry, statements int64, body string) {
	t.Helper()
	ctx, usage := wpdb.WithUsage(t.Context())
	recorder := httptest.NewRecorder()
	admin.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/readyz?verbose", nil))
	var told monitor.VerboseReadiness
	if err := json.Unmarshal(recorder.Body.Bytes(), &told); err != nil {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	return told.Report, usage.Queries(), recorder.Body.String()
}

// TestVerboseReadiness: /readyz?verbose has the report and names no items. A look within the same minute, once the first
// two have read what is remembered, takes the same number of statements whatever it finds.
func TestVerboseReadiness(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	admin := newAdmin()
	admin.Started(s.Platform)
	verboseReport(t, admin)
	verboseReport(t, admin)
	_, before, _ := verboseReport(t, admin)
	s.Database.Execute(t, "INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) "+
		"VALUES (8001, 'secret name', 'https://secret.example', '', '', '', '', 0, 0, 0, '', 'enabled', '', '2026-11-20 10:00:00', 0, '2026-01-01')")
	changeSince(t, s.Database, apitest.Now.Add(-3*time.Minute))
	_, statements, body := verboseReport(t, admin)
	if statements != before || strings.Contains(body, "secret") {
		t.Errorf("%d statements, %d before: %s", statements, before, body)
	}
	for code, want := range map[monitor.Code]string{
		monitor.WebhooksFailing: "minor 1 failing since 2026-11-20 10:00:00: 8001. Open it", monitor.ChangesLate: "broken the oldest has been waiting", monitor.Plugin: "good LatePoint is active",
	} {
		if got := reportLine(t, admin, code); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	s.Database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	if got := reportLine(t, admin, monitor.WebhooksFailing); got == "" || reportLine(t, admin, monitor.JobsGood)+reportLine(t, admin, monitor.JobsUnscheduled) != "" {
		t.Errorf("of a site that is not ready: %s", got)
	}
}

// TestFingerprint: the probe and the index return the same fingerprint, without a key. It identifies one
// site: copies have others, whatever they share. Without an id, or a database, there is none.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const id = "INSERT INTO wp_bookside_change_positions (name, signature) VALUES ('site', 'SECRETSECRETSECRETSECRETSE')"
	ask := func(s *apitest.Server) string {
		t.Helper()
		admin := newAdmin()
		admin.Started(s.Platform)
		var told struct{ Fingerprint string }
		if r := probe(t, admin, http.MethodGet, "/readyz"); json.Unmarshal(r.Body.Bytes(), &told) != nil {
			t.Fatalf("readyz: %s", r.Body)
		}
		probed := told.Fingerprint
		for _, path := range []string{"/v1", "/wp-json/latepoint-api/v1"} {
			expect.NoError(t, json.Unmarshal(exchange(s, http.MethodGet, path, "", "X-Api-Key", "").Want(http.StatusOK).Body, &told))
			expect.Equal(t, probed, told.Fingerprint, fmt.Sprintf("%s: fingerprint, as probed", path))
		}
		return probed
	}
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	s := apitest.NewServer(t, database)
	expect.Equal(t, "", ask(s), "without an id")
	database.Execute(t, id)
	first := ask(s)
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(first) || ask(s) != first {
		t.Errorf("fingerprint %q", first)
	}
	// The same id and address, in another database.
	copied := fixtures.New(t, fixtures.Small(apitest.Now))
	c := apitest.NewServer(t, copied)
	copied.Execute(t, id)
	if got := ask(c); got == first || got == "" {
		t.Errorf("the copy has %q, the site %q", got, first)
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'https://staging.example' WHERE option_name = 'siteurl'")
	moved := ask(s)
	if moved == first || moved == "" {
		t.Errorf("at another address %q", moved)
	}
	database.Execute(t, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	expect.Equal(t, moved, ask(s), "a site that is not ready has")
	database.Execute(t, "RENAME TABLE wp_bookside_change_positions TO elsewhere")
	expect.Equal(t, "", ask(s), "without the table")
}
