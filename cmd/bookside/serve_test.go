package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

func TestServe(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	s := serve(t, env)
	key := newKey(t, env)
	status, body := get(t, s.url+"/v1/status", key)
	expect.Equal(t, http.StatusOK, status, "status ", body)
	expect.Texts(t, body, "Europe/Berlin")
	wantStatus(t, http.StatusOK, s.url+"/wp-json/latepoint-api/v1/status", key, "at the old address")
	wantStatus(t, http.StatusUnauthorized, s.url+"/v1/status", "lp_live_no", "with a wrong key")
	expect.Succeeded(t, s.stop())
	expect.NoTexts(t, s.stderr.String(), key)
	for line := range strings.Lines(s.stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line that is no JSON: %s", line)
		}
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	db := small(t)
	s := serve(t, settingsFor(db))
	admin := "http://" + s.admin()
	wantProbe(t, admin, monitor.Readiness{Status: "ready", Database: "ok", Platform: "ok"})
	if status, body := get(t, admin+"/livez", ""); status != http.StatusOK || body != "ok" {
		t.Errorf("/livez: %d %q", status, body)
	}
	if got := run(t, []string{"BOOKSIDE_ADMIN__LISTEN=" + s.admin()}, "", "check", "--live"); got.code != exit.OK || got.stdout != "ready\n" {
		t.Errorf("check --live: %+v", got)
	}
	db.Execute(t, "UPDATE "+db.Prefix+"options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	wantProbe(t, admin, monitor.Readiness{Status: "unavailable", Database: "ok", Platform: "LatePoint is not active on this site"})
	run(t, []string{"BOOKSIDE_ADMIN__LISTEN=" + s.admin()}, "", "check", "--live").
		want(t, exit.Failure, "the server is unavailable: database ok, platform LatePoint is not active on this site")
}

// TestServeIsNotForTests: a server of a real site can neither be reset nor be told the time.
func TestServeIsNotForTests(t *testing.T) {
	t.Parallel()
	s := serve(t, settingsFor(small(t)))
	for _, path := range []string{"/reset", "/clock"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, address := range []string{"http://" + s.admin(), s.url, s.url + "/v1"} {
				status, _ := write(t, method, address+path, "", `{"advance":"1h"}`)
				expect.Equal(t, http.StatusNotFound, status, method, " ", address+path)
			}
		}
	}
}

// TestAdminNames: the configured host names of the admin address, and no others, are accepted on every
// path. A container's health check uses localhost.
func TestAdminNames(t *testing.T) {
	t.Parallel()
	s := serve(t, append(settingsFor(small(t)), "BOOKSIDE_ADMIN__HOSTS=bookside", "BOOKSIDE_ADMIN__LISTEN=:0"))
	_, port, err := net.SplitHostPort(s.admin())
	expect.NoError(t, err)
	for host, served := range map[string]bool{"bookside:" + port: true, "localhost:" + port: true, "evil.example:" + port: false} {
		for _, path := range []string{"/livez", "/readyz", "/metrics", "/console/login"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, nil)
			expect.NoError(t, err)
			request.Host = host
			want := http.StatusMisdirectedRequest
			if served {
				want = http.StatusOK
			}
			status, _, err := sendOnce(request)
			expect.NoError(t, err)
			expect.Equal(t, want, status, path, " at ", host)
		}
	}
	for _, sent := range []string{
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n", "OPTIONS * HTTP/1.1\r\nHost:\r\n", "OPTIONS * HTTP/1.0\r\n",
		"GET /livez HTTP/1.1\r\nHost:\r\n", "GET /livez HTTP/1.0\r\n",
	} {
		conn := dialRaw(t, "127.0.0.1:"+port)
		_, err := io.WriteString(conn, sent+"Connection: close\r\n\r\n")
		expect.NoError(t, err)
		if got, err := io.ReadAll(conn); err != nil || !strings.Contains(string(got), " 421 ") {
			t.Errorf("%q: %.100s, %v", sent, got, err)
		}
	}
	run(t, []string{"BOOKSIDE_ADMIN__LISTEN=:" + port}, "", "check", "--live").want(t, exit.OK)
}

// TestServeWithoutColumn: a site that lacks a column is served as far as possible, but is not ready.
func TestServeWithoutColumn(t *testing.T) {
	t.Parallel()
	db := small(t)
	db.Execute(t, "ALTER TABLE "+db.Prefix+"latepoint_services DROP COLUMN visibility")
	s := serve(t, settingsFor(db))
	const missing = "LatePoint columns are missing: wp_latepoint_services.visibility"
	expect.Texts(t, s.stderr.String(), missing)
	wantProbe(t, "http://"+s.admin(), monitor.Readiness{Status: "unavailable", Database: "ok", Platform: missing})
	wantStatus(t, http.StatusOK, s.url+"/v1/agents", newKey(t, settingsFor(db)))
}

func wantProbe(t *testing.T, admin string, want monitor.Readiness) {
	t.Helper()
	status, body := get(t, admin+"/readyz", "")
	var got monitor.Readiness
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("/readyz: %v: %s", err, body)
	}
	got.Fingerprint = "" // drawn shortly after the start
	if got != want || (status == http.StatusOK) != (want.Status == monitor.StatusReady) {
		t.Errorf("/readyz: %d %+v, want %+v", status, got, want)
	}
}

// TestWaitingForDatabase: while the database is down the process is live but not ready, answers
// requests, and can be stopped.
func TestWaitingForDatabase(t *testing.T) {
	t.Parallel()
	s, _ := launch(t, []string{
		"BOOKSIDE_DB__DSN=u:s3cret@tcp(127.0.0.1:1)/site", "BOOKSIDE_SERVER__LISTEN=127.0.0.1:0", "BOOKSIDE_ADMIN__LISTEN=127.0.0.1:0",
		"LIMIT_ConnectWait=10m",
	})
	admin := "http://" + s.admin()
	s.eventually("a line about waiting", func() bool { return strings.Contains(s.stderr.String(), "waiting for the database") })
	wantStatus(t, http.StatusOK, admin+"/livez", "", "/livez")
	wantProbe(t, admin, monitor.Readiness{Status: "starting", Database: "not open yet", Platform: "unknown"})
	if status, body := get(t, s.early()+"/v1/bookings", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "The server is starting") {
		t.Errorf("the API: %d %s", status, body)
	}
	if err := s.stop(); err != nil {
		t.Errorf("ended with %v", err)
	}
	expect.NoTexts(t, s.stderr.String(), "s3cret")
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	db := fixtures.Shared(t, fixtures.Small(now))
	network := fixtures.Shared(t, fixtures.Prefixed())
	tests := []struct {
		name string
		env  []string
		code int
		want []string
	}{
		{"port taken", settingsFor(db, "BOOKSIDE_SERVER__LISTEN="+other.Addr().String()), exit.PortTaken,
			[]string{"another program is listening on " + other.Addr().String(), "server.listen (BOOKSIDE_SERVER__LISTEN)"}},
		{"port of the probes taken", settingsFor(db, "BOOKSIDE_ADMIN__LISTEN="+other.Addr().String()), exit.PortTaken,
			[]string{"another program is listening on " + other.Addr().String(), "admin.listen (BOOKSIDE_ADMIN__LISTEN)"}},
		{"port taken and no database", []string{"BOOKSIDE_DB__DSN=u:s3cret@tcp(127.0.0.1:1)/d", "BOOKSIDE_SERVER__LISTEN=" + other.Addr().String(), "LIMIT_ConnectWait=10m"}, exit.PortTaken, nil},
		{"address of another machine", settingsFor(db, "BOOKSIDE_SERVER__LISTEN=192.0.2.1:80"), exit.Failure, []string{"server.listen: "}},
		{"no server", settingsFor(db, "BOOKSIDE_DB__DSN=u:s3cret@tcp(127.0.0.1:1)/d", "LIMIT_ConnectWait=1ms"), exit.Unreachable,
			[]string{"the database at 127.0.0.1:1 cannot be reached", "connection refused"}},
		{"no such host", settingsFor(db, "BOOKSIDE_DB__DSN=u:s3cret@tcp(db.invalid:3306)/d", "LIMIT_ConnectWait=1ms"), exit.Unreachable,
			[]string{"the database at db.invalid:3306 cannot be reached"}},
		{"DSN the driver refuses", settingsFor(db, "BOOKSIDE_DB__DSN=u:s3cret@tcp(h)/d?timeout=s3cret"), exit.Usage,
			[]string{"db.dsn (BOOKSIDE_DB__DSN): invalid data source name", "parameters after ?"}},
		{"DSN with unknown TLS", settingsFor(db, "BOOKSIDE_DB__DSN=u:s3cret@tcp(h)/d?tls=s3cret"), exit.Usage,
			[]string{"db.dsn (BOOKSIDE_DB__DSN): invalid data source name", "parameters after ?"}},
		{"wrong prefix", append(adminSettings(network), "BOOKSIDE_DB__PREFIX=wp_"), exit.NoTables,
			[]string{"no LatePoint tables with the prefix wp_; the database has these prefixes: wpx_7_; set db.prefix (BOOKSIDE_DB__PREFIX)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, lastWins(test.env), "", "serve").want(t, test.code, test.want...)
			expect.Equal(t, "", got.stdout, "stdout")
			expect.NoTexts(t, got.stderr, "s3cret")
		})
	}
}

// lastWins drops variables that are set again later, as os/exec does.
func lastWins(env []string) []string {
	last := map[string]string{}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = entry
	}
	var rest []string
	for _, entry := range last {
		rest = append(rest, entry)
	}
	return rest
}

// withUser returns the DSN with another user, whose password is s3cret.
func withUser(dsn, user string) string {
	return user + ":s3cret" + dsn[strings.LastIndex(dsn, "@"):]
}

func TestDatabaseRejectsAccess(t *testing.T) {
	t.Parallel()
	db := fixtures.Shared(t, fixtures.Small(now))
	parts, ok := settings.ParseDSN(db.DSN)
	if !ok {
		t.Fatal("the test's data source name cannot be read")
	}
	tests := []struct{ name, dsn, want string }{
		{"wrong password", withUser(db.DSN, "bookside_nobody"), "rejects the user or the password"},
		{"database of others", strings.Replace(db.DSN, "/"+parts.Database, "/mysql", 1), "the database user may not use the database mysql at "},
		{"unknown database", strings.Replace(db.AdminDSN, "/"+parts.Database, "/bookside_test_none", 1), "there is no database bookside_test_none"},
	}
	for _, test := range tests {
		for _, command := range [][]string{{"serve"}, {"check"}, {"keys", "list"}} {
			t.Run(test.name+", "+command[0], func(t *testing.T) {
				t.Parallel()
				got := run(t, lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+test.dsn)), "", command...).want(t, exit.Refused, test.want)
				expect.NoTexts(t, got.stderr, "s3cret")
			})
		}
	}
}

// reader creates a database user who can only read.
func reader(t *testing.T, db *fixtures.Database) (env []string) {
	t.Helper()
	return account(t, db, "SELECT ON *")
}

// account creates a database user with some grants, such as SELECT ON * for all tables
// of the database.
func account(t *testing.T, db *fixtures.Database, grants ...string) (env []string) {
	t.Helper()
	parts, _ := settings.ParseDSN(db.DSN)
	user := "r" + strings.ToLower(rand.Text()[:16])
	db.Execute(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 's3cret'")
	t.Cleanup(func() {
		if _, err := db.SQL.ExecContext(context.Background(), "DROP USER '"+user+"'@'%'"); err != nil {
			t.Error(err)
		}
	})
	for _, grant := range grants {
		rights, table, _ := strings.Cut(grant, " ON ")
		db.Execute(t, "GRANT "+rights+" ON "+parts.Database+"."+table+" TO '"+user+"'@'%'")
	}
	return lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+withUser(db.DSN, user)))
}

func TestReadOnlyUser(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := reader(t, db)
	s := serve(t, env)
	expect.Texts(t, s.stderr.String(), "may not create the tables of Bookside", "wp_bookside_api_keys, wp_bookside_booking_customers, wp_bookside_change_inbox")
	run(t, env, "", "keys", "create", "--name", "x", "--permissions", "read").want(t, exit.Refused, "may not create the table wp_bookside_api_keys")
	wantStatus(t, http.StatusServiceUnavailable, s.url+"/v1/status", "lp_no_such_key_at_all", "before there is a table of keys")
	key := newKey(t, settingsFor(db)) // created by a user who may write
	wantStatus(t, http.StatusOK, s.url+"/v1/status", key)
	again := serve(t, env)
	expect.NoTexts(t, again.stderr.String(), "may not create")
}

// TestServeBeforePlugin: the program starts even if the plugin is inactive or some of
// its tables are missing.
func TestServeBeforePlugin(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	key := newKey(t, env)
	var active string
	db.Scan(t, "SELECT option_value FROM "+db.Prefix+"options WHERE option_name = 'active_plugins'", &active)
	db.Execute(t, "UPDATE "+db.Prefix+"options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	s := serve(t, env)
	expect.Texts(t, s.stderr.String(), "LatePoint is not active on this site")
	wantStatus(t, http.StatusServiceUnavailable, s.url+"/v1/status", key)
	_, err := db.SQL.ExecContext(t.Context(), "UPDATE "+db.Prefix+"options SET option_value = ? WHERE option_name = 'active_plugins'", active)
	expect.NoError(t, err)
	wantStatus(t, http.StatusOK, s.url+"/v1/status", key, "once it is back")
}

// TestDrain: a request in progress when the program is stopped gets its response.
func TestDrain(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	key := newKey(t, env)
	s := serve(t, env)
	admin := "http://" + s.admin()

	lock, err := db.SQL.Conn(t.Context())
	expect.NoError(t, err)
	defer func() { _ = lock.Close() }()
	_, err = lock.ExecContext(t.Context(), "LOCK TABLES "+db.Prefix+"latepoint_agents WRITE")
	expect.NoError(t, err)
	type answer struct {
		status int
		body   string
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		status, body, err := tryGet(t.Context(), s.url+"/v1/agents", key)
		answered <- answer{status, body, err}
	}()
	s.eventually("the request to wait for the lock", func() bool { return waitsForLock(t, db) })
	s.cancel()
	var dialer net.Dialer
	s.eventually("the port to be closed", func() bool {
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	wantProbe(t, admin, monitor.Readiness{Status: "stopping", Database: "unknown", Platform: "unknown"})
	select {
	case a := <-answered:
		t.Errorf("answered before the lock was gone: %+v", a)
	case err := <-s.ended:
		t.Errorf("ended before the request was answered: %v", err)
	default:
	}
	_, err = lock.ExecContext(t.Context(), "UNLOCK TABLES")
	expect.NoError(t, err)
	if a := <-answered; a.err != nil || a.status != http.StatusOK {
		t.Errorf("answer %+v", a)
	}
	expect.Succeeded(t, <-s.ended)
}

func waitsForLock(t *testing.T, db *fixtures.Database) bool {
	t.Helper()
	waiting, err := db.Threads(t.Context(), "db = DATABASE() AND state LIKE 'Waiting for table metadata lock'")
	expect.NoError(t, err)
	return len(waiting) > 0
}

// TestHandlerOptions: the settings reach the handlers.
func TestHandlerOptions(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t), "BOOKSIDE_SERVER__BASE_PATHS=/api", "BOOKSIDE_AUTH__QUERY_PARAMETER=token", "BOOKSIDE_RATE_LIMIT__TEST_PER_MINUTE=1")
	s := serve(t, env)
	key := newKey(t, env, "--kind", "test")
	wantStatus(t, http.StatusNotFound, s.url+"/v1/status", key, "below no base path")
	wantStatus(t, http.StatusOK, s.url+"/api/status?token="+key, "")
	wantStatus(t, http.StatusTooManyRequests, s.url+"/api/status", key, "over the limit")
}

// TestServeLeaksNoGoroutines: no goroutine is left when the program has ended. It is not parallel, because
// other tests' goroutines would count as leaks.
func TestServeLeaksNoGoroutines(t *testing.T) {
	env := settingsFor(small(t))
	key := newKey(t, env)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	p := program{env: env, stdin: &bytes.Buffer{}, stdout: writer, stderr: io.Discard, now: fixedClock}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, []string{"serve"}) }()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	expect.NoError(t, err)
	url := strings.TrimPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	for range 3 {
		wantStatus(t, http.StatusOK, url+"/v1/status", key)
	}
	cancel()
	expect.Succeeded(t, <-ended)
	goleak.VerifyNone(t, before)
}
