package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/bookside/setup"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// machine is a machine with WordPress and nginx for setup: a directory, a database, and functions instead
// of programs.
type machine struct {
	t    *testing.T
	root string
	db   *fixtures.Database
	// fails is the text in a command that makes it fail; "" for none.
	fails    string
	commands []string // commands that were run
	host     *setup.Host
	before   map[string]string // files
	systemd  bool
	was      string       // what systemctl reports about the units, such as "is-active"; "" for false
	unit     string       // installed by a package; "" for none
	stub     http.Handler // replaces the service; nil for the real one
	server   *testServer  // set once it was started
}

const nginxSite = `server {
    server_name site.test;
    root /var/www/html;
}
`

func newMachine(t *testing.T, db *fixtures.Database) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir(), db: db, systemd: true}
	account, err := mysql.ParseDSN(db.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	address := account.Addr
	if account.Net == "unix" {
		address = "localhost:" + address
	}
	var constants strings.Builder
	for name, value := range map[string]string{"DB_NAME": account.DBName, "DB_USER": account.User, "DB_PASSWORD": account.Passwd, "DB_HOST": address} {
		fmt.Fprintf(&constants, "define('%s', '%s');\n", name, value)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(db.Prefix, "7_")
	writeBelow(t, m.root, map[string]string{
		"etc/passwd":                   "root:x:0:0::/root:/bin/sh\n",
		"etc/nginx/nginx.conf":         "http {\n    include /etc/nginx/conf.d/*.conf;\n    include /etc/nginx/sites-enabled/*;\n}\n",
		"etc/nginx/sites-enabled/site": nginxSite,
		"var/www/html/wp-load.php":     "<?php\n",
		"var/www/html/wp-config.php":   "<?php\n" + constants.String() + "define('MULTISITE', " + fmt.Sprint(base != db.Prefix) + ");\n$table_prefix = '" + base + "';\n",
		program:                        "the program",
	})
	execute(t, db.SQL, "UPDATE "+db.Prefix+"options SET option_value = 'http://site.test' WHERE option_name IN ('home', 'siteurl')")
	m.before = filesBelow(t, m.root)
	m.host = &setup.Host{Root: m.root, Privileged: true, Run: m.run, Dial: m.dial, Has: func(program string) bool {
		return program != "systemctl" || m.systemd
	}}
	return m
}

// boot gives the machine what one with systemd has.
func (m *machine) boot() *machine {
	if err := os.MkdirAll(filepath.Join(m.root, "run/systemd/system"), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return m
}

// run stands in for every program of the machine.
func (m *machine) run(ctx context.Context, c setup.Command) (string, error) {
	m.commands = append(m.commands, c.String())
	if m.fails != "" && strings.Contains(c.String(), m.fails) {
		return "it fails on purpose", errors.New("exit status 1")
	}
	switch words := c.Args; {
	case words[0] == "mariadb":
		return m.client(ctx, c.Stdin)
	case words[0] == "nginx" && words[1] == "-t":
		return m.testNginx()
	case words[0] == "useradd":
		return "", m.edit("etc/passwd", func(text string) string { return text + "bookside:x:999:\n" })
	case words[0] == "userdel":
		return "", m.edit("etc/passwd", func(text string) string { return strings.ReplaceAll(text, "bookside:x:999:\n", "") })
	case words[0] == "setsebool":
		return "", m.edit(selinuxBoolean, func(string) string { return words[3] + " " + words[3] })
	case words[0] == "systemctl" && words[1] == "cat" && m.unit != "":
		return m.unit, nil
	case words[0] == "systemctl" && m.was != "" && strings.Contains(m.was, words[1]):
	case words[0] == "systemctl" && (words[1] == "cat" || words[1] == "is-active" || words[1] == "is-enabled"):
		return "", errors.New("exit status 1")
	case words[0] == "systemctl" && words[1] == "start":
		m.start()
	case words[0] == "systemctl" && words[1] == "stop" && m.server != nil:
		err := m.server.stop()
		m.server = nil
		return "", err
	}
	return "", nil
}

// testNginx fails if a site includes a file that does not exist.
func (m *machine) testNginx() (string, error) {
	for name, content := range filesBelow(m.t, m.root) {
		for line := range strings.Lines(content) {
			file, includes := strings.CutPrefix(strings.TrimSpace(line), "include /")
			file = strings.TrimSuffix(file, ";")
			if _, err := os.Stat(filepath.Join(m.root, file)); strings.HasPrefix(name, "etc/nginx/sites-enabled/") && includes && err != nil {
				return "open() /" + file + " failed", errors.New("exit status 1")
			}
		}
	}
	return "", nil
}

func (m *machine) edit(name string, change func(string) string) error {
	content, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.root, name), []byte(change(string(content))), 0o644)
}

// client runs statements as the administrator of the database.
func (m *machine) client(ctx context.Context, statements string) (string, error) {
	if strings.Contains(statements, "mysql.user") {
		return "1\n", nil // other tests use the server too
	}
	var output strings.Builder
	for statement := range strings.SplitSeq(strings.TrimSpace(statements), ";\n") {
		statement = strings.TrimSuffix(statement, ";")
		var number int
		var err error
		if strings.HasPrefix(statement, "SELECT") {
			err = m.db.SQL.QueryRowContext(ctx, statement).Scan(&number)
			fmt.Fprintln(&output, number)
		} else {
			_, err = m.db.SQL.ExecContext(ctx, statement)
		}
		if err != nil {
			return err.Error(), err
		}
	}
	return output.String(), nil
}

// start starts the service with the configuration that setup wrote.
func (m *machine) start() {
	if m.stub != nil || m.server != nil {
		return
	}
	dsn, err := os.ReadFile(filepath.Join(m.root, "etc/bookside/dsn"))
	if err != nil {
		m.t.Error(err)
		return
	}
	m.server = serve(m.t, lastWins(settingsFor(m.db, "BOOKSIDE_DB__DSN="+strings.TrimSpace(string(dsn)))))
}

// dial connects to the service, and to the site's address.
func (m *machine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	running := m.stub != nil && slices.ContainsFunc(m.commands, func(c string) bool { return strings.HasPrefix(c, "systemctl start") }) || m.server != nil
	switch {
	case address == "site.test:80":
		return m.connect(ctx, http.HandlerFunc(m.nginx))
	case !running:
		return nil, refused
	case m.stub != nil:
		return m.connect(ctx, m.stub)
	case address == "127.0.0.1:8081":
		return new(net.Dialer).DialContext(ctx, network, m.server.admin())
	case address == "127.0.0.1:8080":
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(m.server.url, "http://"))
	default:
		return nil, refused
	}
}

// connect connects to a handler.
func (m *machine) connect(ctx context.Context, handler http.Handler) (net.Conn, error) {
	server := httptest.NewServer(handler)
	m.t.Cleanup(server.Close)
	return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
}

// nginx serves the site according to its configuration.
func (m *machine) nginx(w http.ResponseWriter, r *http.Request) {
	content, err := os.ReadFile(filepath.Join(m.root, "etc/nginx/sites-enabled/site"))
	switch {
	case err != nil || !strings.Contains(string(content), "include /etc/nginx/snippets/bookside-routes.conf;"):
		_, _ = io.WriteString(w, "<html>a page of WordPress")
	case m.stub != nil:
		m.stub.ServeHTTP(w, r)
	default:
		target, _ := url.Parse(m.server.url)
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
	}
}

// setup runs the command.
func (m *machine) setup(stdin string, args ...string) result {
	m.t.Helper()
	var stdout, stderr fixtures.Buffer
	p := program{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, now: fixedClock, host: m.host}
	code := exit.Report(&stderr, p.run(m.t.Context(), append([]string{"setup"}, args...)))
	return result{code, stdout.String(), stderr.String()}
}

// wantUntouched fails the test if a file or an account is left.
func (m *machine) wantUntouched() {
	m.t.Helper()
	if diff := cmp.Diff(m.before, filesBelow(m.t, m.root)); diff != "" {
		m.t.Errorf("files (-before +after):\n%s", diff)
	}
	if account := m.account(); account != "" {
		m.t.Errorf("the account %s is left", account)
	}
}

// account returns the account that was created for this machine, or "".
func (m *machine) account() string {
	m.t.Helper()
	var name string
	err := m.db.SQL.QueryRowContext(m.t.Context(), "SELECT DISTINCT User FROM mysql.tables_priv WHERE Db = DATABASE() AND User LIKE 'bookside\\_%' AND LENGTH(User) = 15").Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		m.t.Fatal(err)
	}
	return name
}

// ready answers everything as the service does.
var ready = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Request-Id", "1")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
})

// TestSetup: a site is set up, the printed key works through the site's address, and everything can be
// undone.
func TestSetup(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	got := m.setup("", "--yes").want(t, exit.OK)
	wantTexts(t, got.stdout, "WordPress: /var/www/html, nginx at /etc/nginx/sites-enabled/site:1\n", "The site can be served", "The address of the site: http://site.test\n",
		"http://site.test/wp-json/latepoint-api/v1/services answers.", "  curl -H 'X-API-Key: lp_live_", " 'http://site.test/wp-json/latepoint-api/v1/services'\n", "bookside setup --undo")
	files := filesBelow(t, m.root)
	wantTexts(t, files["etc/bookside/config.yaml"], "dsn_file: /etc/bookside/dsn\n", "prefix: wp_\n", "trusted_proxies: [127.0.0.1, '::1']")
	wantTexts(t, files["etc/nginx/sites-enabled/site"], "server {\n    # begin: bookside setup\n    include /etc/nginx/snippets/bookside-routes.conf;\n    # end: bookside setup\n    server_name site.test;\n")
	wantTexts(t, files["etc/systemd/system/bookside.service"], "\nExecStart=bookside serve\n", "\nUser=bookside\n")
	for name, mode := range map[string]os.FileMode{"etc/bookside/dsn": 0o640, "etc/bookside/config.yaml": 0o640, "var/lib/bookside/setup.json": 0o600} {
		if info, err := os.Stat(filepath.Join(m.root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	account := m.account()
	password, _, _ := strings.Cut(strings.TrimPrefix(files["etc/bookside/dsn"], account+":"), "@")
	for _, kind := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789", "-"} { // as servers may require
		if !strings.ContainsAny(password, kind) {
			t.Errorf("the password %q has none of %s", password, kind)
		}
	}
	if account == "" || len(password) < 20 || strings.Contains(got.stdout+files["var/lib/bookside/setup.json"]+strings.Join(m.commands, "\n"), password) {
		t.Errorf("account %q with the password %q", account, password)
	}
	again := m.setup("", "--yes").want(t, exit.Failure, "Bookside is set up for /var/www/html since 2026-11-21; to take that back: bookside setup --undo")
	if again.stdout != "" {
		t.Errorf("the second time: %s", again.stdout)
	}

	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.OK).stdout, "revoke the API key", "remove the lines of setup from /etc/nginx/sites-enabled/site", "Everything else is as it was.")
	m.wantUntouched()
	wantTexts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")
	m.setup("", "--undo", "--yes").want(t, exit.Failure, "there is nothing to take back")
}

// TestSetupTakesEverythingBack: whatever fails, the machine is as it was.
func TestSetupTakesEverythingBack(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	for _, command := range []string{
		"useradd", "chgrp", "systemctl daemon-reload", "systemctl enable", "systemctl stop", "systemctl start", "systemctl try-reload-or-restart nginx.service",
	} {
		m.fails, m.commands = command, nil
		got := m.setup("", "--yes").want(t, exit.Failure, "it fails on purpose")
		wantTexts(t, got.stdout, "That failed. Everything is taken back:")
		m.wantUntouched()
	}
	m.fails, m.commands = "", nil
	m.stub = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			ready(w, r)
		} // otherwise 200, but not a response of Bookside
	})
	m.setup("", "--yes").want(t, exit.Failure, "http://site.test/wp-json/latepoint-api/v1/services answers with the status 200, and not as Bookside does")
	m.wantUntouched()
	wantTexts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")
	m.stub, m.commands = http.NotFoundHandler(), nil
	m.setup("", "--yes").want(t, exit.Failure, "the service does not become ready: 127.0.0.1:8081/readyz answers 404")
	m.wantUntouched()
}

// TestSetupAfterACrash: --undo or the next run undoes what an interrupted run did.
func TestSetupAfterACrash(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	crash := func() {
		t.Helper()
		work := m.host.Run
		m.host.Run = func(ctx context.Context, c setup.Command) (string, error) {
			if strings.HasPrefix(c.String(), "systemctl start") {
				panic("crash")
			}
			return work(ctx, c)
		}
		defer func() {
			m.host.Run = work
			if recover() == nil {
				t.Error("no crash")
			}
		}()
		m.setup("", "--yes")
	}
	crash()
	m.setup("y\n", "--undo").want(t, exit.OK)
	m.wantUntouched()
	crash()
	wantTexts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "An earlier run was interrupted. What it did is taken back first:", "Bookside is set up.")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupAsks: each step can be declined, and no answer is made up.
func TestSetupAsks(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	// No account, default configuration and service, no web server, a key.
	got := m.setup("n\n\nyes\nno\ny\n").want(t, exit.OK)
	wantTexts(t, got.stdout, "Left out: Bookside uses the account of the site itself", "Left out: calls of the site's address do not reach Bookside", "http://127.0.0.1:8080/v1/services answers.")
	if files := filesBelow(t, m.root); files["etc/nginx/sites-enabled/site"] != nginxSite {
		t.Errorf("nginx: %s", files["etc/nginx/sites-enabled/site"])
	}
	if account := m.account(); account != "" {
		t.Errorf("account %s", account)
	}
	m.setup("n\n", "--undo").want(t, exit.Failure, "nothing was done")
	m.setup("y\n", "--undo").want(t, exit.OK)
	m.wantUntouched()
	for _, answers := range []string{"", "y\n", "y\nn\n", "y\ny\nn\n"} {
		m.commands = nil
		if got := m.setup(answers); got.code == exit.OK {
			t.Errorf("%q: %s", answers, got.stdout)
		}
		m.wantUntouched()
	}
}

// unanswered is the input of a user who interrupts the program instead of answering.
type unanswered struct {
	interrupt func()
	until     <-chan struct{}
}

func (u unanswered) Read([]byte) (int, error) {
	u.interrupt()
	<-u.until
	return 0, io.EOF
}

// TestSetupIsInterrupted: a signal undoes everything, even while a question waits for its answer.
func TestSetupIsInterrupted(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr fixtures.Buffer
	p := program{
		stdin:  io.MultiReader(strings.NewReader("y\ny\ny\n"), unanswered{cancel, t.Context().Done()}),
		stdout: &stdout, stderr: &stderr, now: fixedClock, host: m.host,
	}
	code := exit.Report(&stderr, p.run(ctx, []string{"setup"}))
	wantTexts(t, result{code, stdout.String(), stderr.String()}.want(t, exit.Failure, "interrupted").stdout, "The web server, nginx\n", "Everything is taken back:")
	m.wantUntouched()
}

// TestSetupWithAFullDisk: even if the record can no longer be written, everything is undone.
func TestSetupWithAFullDisk(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	work, name := m.host.Run, filepath.Join(m.root, "var/lib/bookside/setup.json")
	m.host.Run = func(ctx context.Context, c setup.Command) (string, error) {
		if strings.HasPrefix(c.String(), "systemctl try-reload-or-restart nginx.service") && m.fails == "" {
			m.fails = "try-reload-or-restart"
			if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "full"), 0o755)); err != nil {
				t.Error(err)
			}
		}
		return work(ctx, c)
	}
	m.setup("", "--yes").want(t, exit.Failure, "it fails on purpose", "setup.json")
	if err := os.RemoveAll(filepath.Join(m.root, "var/lib/bookside")); err != nil {
		t.Fatal(err)
	}
	m.wantUntouched()
}

// TestSetupKeepsWhatTheWebServerNeeds: a file that is also included elsewhere stays while it is, because a
// web server with an invalid configuration does not start again.
func TestSetupKeepsWhatTheWebServerNeeds(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	m.setup("", "--yes").want(t, exit.OK)
	const other, routes = "etc/nginx/sites-enabled/other", "etc/nginx/snippets/bookside-routes.conf"
	writeBelow(t, m.root, map[string]string{other: "server {\n    include /" + routes + ";\n}\n"})
	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "not everything could be taken back; when you have seen to it: bookside setup --undo").stdout,
		"remove /"+routes+"\n    ✗ without it, the configuration is invalid; it stays for now: nginx -t -q: exit status 1\nopen() /"+routes+" failed")
	if files := filesBelow(t, m.root); files[routes] == "" || files["etc/nginx/sites-enabled/site"] != nginxSite {
		t.Errorf("files %q", slices.Collect(maps.Keys(files)))
	}
	if err := os.Remove(filepath.Join(m.root, other)); err != nil {
		t.Fatal(err)
	}
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupWithoutSystemd: setup says how to start the service, and continues once it runs.
func TestSetupWithoutSystemd(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t))
	m.systemd = false
	m.setup("", "--yes").want(t, exit.Failure, "systemd does not run here", "as the user bookside, and run setup again", " serve")
	m.start()
	wantTexts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "Continuing with /var/www/html.", "http://site.test/wp-json/latepoint-api/v1/services answers.")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()

	// The options of the first run apply to the second.
	if err := m.server.stop(); err != nil {
		t.Fatal(err)
	}
	m.server, m.stub, m.commands = nil, ready, nil
	m.setup("", "--yes", "--url", "http://site.test/blog", "--listen", "127.0.0.1:9080", "--admin-listen", "127.0.0.1:9081").want(t, exit.Failure, "systemd does not run here")
	m.commands = []string{"systemctl start"} // as if
	wantTexts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "http://site.test/blog/wp-json/latepoint-api/v1/services answers.")
	files := filesBelow(t, m.root)
	wantTexts(t, files["etc/nginx/conf.d/00-bookside.conf"], "server 127.0.0.1:9080 ")
	wantTexts(t, files["etc/nginx/snippets/bookside-routes.conf"], "location ^~ /blog/wp-json/latepoint-api/v1/ {")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupOfNetworkSite: the configuration has the number of a site in a network, the path of its address,
// and other ports.
func TestSetupOfNetworkSite(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, fixtures.New(t, fixtures.Prefixed())).boot()
	m.stub = ready
	m.setup("", "--yes", "--site-id", "7", "--url", "http://site.test/blog/", "--listen", "127.0.0.1:9080", "--admin-listen", "127.0.0.1:9081").want(t, exit.OK)
	files := filesBelow(t, m.root)
	wantTexts(t, files["etc/bookside/config.yaml"], "prefix: wpx_\n", "site_id: 7\n", "listen: 127.0.0.1:9080\n", "listen: 127.0.0.1:9081\n", "base_paths: [/blog/wp-json/latepoint-api/v1, /wp-json/latepoint-api/v1, /v1]")
	wantTexts(t, files["etc/nginx/snippets/bookside-routes.conf"], "location ^~ /blog/wp-json/latepoint-api/v1/ {")
	wantTexts(t, files["etc/nginx/conf.d/00-bookside.conf"], "server 127.0.0.1:9080 ")
	wantTexts(t, files["etc/systemd/system/bookside.socket.d/setup.conf"], "ListenStream=127.0.0.1:9080\n")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupKeepsChangesOfOthers: later changes by hand stay, and so does the rest of an edited web server
// configuration.
func TestSetupKeepsChangesOfOthers(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	m.setup("", "--yes").want(t, exit.OK)
	for _, name := range []string{"etc/bookside/config.yaml", "etc/nginx/sites-enabled/site"} {
		if err := m.edit(name, func(text string) string { return text + "# mine\n" }); err != nil {
			t.Fatal(err)
		}
	}
	undone := m.setup("", "--undo", "--yes").want(t, exit.Failure, "setup is taken back, except for what is marked with ! above")
	wantTexts(t, undone.stdout, "! /etc/bookside/config.yaml was changed since and stays as it is")
	if strings.Contains(undone.stdout, "is as it was.") {
		t.Errorf("%s", undone.stdout)
	}
	files := filesBelow(t, m.root)
	if files["etc/nginx/sites-enabled/site"] != nginxSite+"# mine\n" || !strings.HasSuffix(files["etc/bookside/config.yaml"], "# mine\n") {
		t.Errorf("%s\n%s", files["etc/nginx/sites-enabled/site"], files["etc/bookside/config.yaml"])
	}
	// The next run does not mistake what is left there for a configuration by hand.
	m.commands = nil
	m.setup("", "--yes").want(t, exit.OK)
	m.fails = "nginx -t"
	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "not everything could be taken back").stdout, "! nginx -t -q: exit status 1\nit fails on purpose")
	m.fails = ""
	m.setup("", "--undo", "--yes").want(t, exit.OK)
}

// TestSetupOfUsedUnits: units that were enabled and active before setup are so again after an undo, with
// their own configuration.
func TestSetupOfUsedUnits(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	for _, test := range []struct {
		was  string
		want []string // commands of the undo
	}{
		{"", []string{"systemctl disable --quiet bookside.socket bookside.service", "systemctl stop bookside.service bookside.socket"}},
		{"is-enabled", []string{"systemctl stop bookside.service bookside.socket"}},
		{"is-enabled is-active", []string{"systemctl stop bookside.service bookside.socket", "systemctl stop bookside.service bookside.socket", "systemctl start bookside.socket bookside.service"}},
	} {
		m.was, m.commands = test.was, nil
		m.setup("", "--yes").want(t, exit.OK)
		m.commands = nil
		m.setup("", "--undo", "--yes").want(t, exit.OK)
		m.wantUntouched()
		units := slices.DeleteFunc(m.commands, func(c string) bool { return !strings.Contains(c, "bookside.service") })
		if diff := cmp.Diff(test.want, units); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.was, diff)
		}
	}
}

// TestSetupNamesWhatStays: before anything is done, setup lists what an undo leaves, each with the command
// that removes it, and the statement for the tables works.
func TestSetupNamesWhatStays(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, fixtures.New(t, fixtures.Small(now))).boot()
	m.setup("", "--yes").want(t, exit.OK)
	stays := func() map[string]string {
		t.Helper()
		_, text, _ := strings.Cut(m.setup("", "--undo", "--dry-run").want(t, exit.OK).stdout, "What stays, and what removes it:\n")
		text, _, _ = strings.Cut(text, "\n\n")
		found := map[string]string{}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			what, _, _ := strings.Cut(strings.Trim(lines[i], " -:"), ",")
			found[what] = strings.TrimSpace(lines[i+1])
		}
		return found
	}
	const tables, indexes = "the tables of Bookside in the site's database", "bookside indexes --drop --wp-config /var/www/html/wp-config.php"
	got := stays()
	drop := got[tables]
	delete(got, tables)
	if diff := cmp.Diff(map[string]string{"indexes": indexes}, got); diff != "" {
		t.Errorf("without anything else (-want +got):\n%s", diff)
	}
	// With a package, its user, and the companion.
	record := filepath.Join(m.root, "var/lib/bookside/setup.json")
	writeBelow(t, m.root, map[string]string{
		"usr/bin/bookside": "", "usr/bin/apt-get": "", "var/www/html/wp-content/mu-plugins/bookside.php": "<?php\n",
		"var/lib/bookside/setup.json": strings.NewReplacer(`"userdel"`, `"true"`, `"changes": [`, `"changes": [
			{"kind": "run", "change": {"Stays": "Apache's module rewrite", "Removal": {"Args": ["a2dismod", "rewrite"]}}},`).Replace(string(readFile(t, record))),
	})
	got = stays()
	delete(got, tables)
	if diff := cmp.Diff(map[string]string{
		"indexes": indexes, "Apache's module rewrite": "a2dismod rewrite", "the companion in WordPress": "bookside companion remove --wordpress /var/www/html",
		"the package": "apt-get purge bookside", "the user bookside": "userdel bookside",
	}, got); diff != "" {
		t.Errorf("with everything (-want +got):\n%s", diff)
	}
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	for statement := range strings.SplitSeq(strings.TrimSuffix(drop, ";"), "; ") {
		if !strings.HasPrefix(statement, "USE ") {
			execute(t, m.db.SQL, statement)
		}
	}
	if left := queryText(t, m.db, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%bookside%'"); left != "0" {
		t.Errorf("%s tables are left after %s", left, drop)
	}
}

// TestSetupAlone: a concurrent run, or an undo, ends with an error and changes nothing.
func TestSetupAlone(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	work, tried := m.host.Run, 0
	m.host.Run = func(ctx context.Context, c setup.Command) (string, error) {
		if c.Args[0] == "useradd" || c.Args[0] == "userdel" {
			tried++
			for _, args := range [][]string{{"--yes"}, {"--undo", "--yes"}} {
				if got := m.setup("", args...).want(t, exit.Failure, "another bookside setup is running on this machine"); got.stdout != "" {
					t.Errorf("%s", got.stdout)
				}
			}
			m.setup("", "--undo", "--dry-run").want(t, exit.OK)
		}
		return work(ctx, c)
	}
	m.setup("", "--yes").want(t, exit.OK)
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
	if tried != 2 {
		t.Errorf("tried %d times", tried)
	}
}

const selinuxBoolean = "sys/fs/selinux/booleans/httpd_can_network_connect"

// TestSetupWithSELinux: where SELinux keeps the web server from connecting, setup allows it, and undoes
// that only if setup did it.
func TestSetupWithSELinux(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	const allow, forbid = "setsebool -P httpd_can_network_connect 1", "setsebool -P httpd_can_network_connect 0"
	set := func(enforced, boolean string) {
		t.Helper()
		writeBelow(t, m.root, map[string]string{"sys/fs/selinux/enforce": enforced, selinuxBoolean: boolean})
		m.before, m.commands = filesBelow(t, m.root), nil
	}
	set("1", "0 0")
	wantTexts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "SELinux, which keeps web servers from connecting to other programs\n  - run "+allow+"\n")
	if got := filesBelow(t, m.root)[selinuxBoolean]; got != "1 1" {
		t.Errorf("the boolean is %q", got)
	}
	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.OK).stdout, "  - run "+forbid+"\n")
	m.wantUntouched()

	set("1", "1 1")
	m.setup("", "--yes").want(t, exit.OK)
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
	if ran := strings.Join(m.commands, "\n"); strings.Contains(ran, "setsebool") {
		t.Errorf("%s", ran)
	}
	for _, test := range []struct{ name, enforced, boolean, arg string }{
		{"permissive", "0", "0 0", "--yes"}, {"no web server", "1", "0 0", "--web-server=none"},
	} {
		set(test.enforced, test.boolean)
		if got := m.setup("", "--dry-run", test.arg).want(t, exit.OK); strings.Contains(got.stdout, "SELinux") {
			t.Errorf("%s: %s", test.name, got.stdout)
		}
	}
	set("1", "0 0")
	m.fails = "setsebool"
	m.setup("", "--yes").want(t, exit.Failure, "it fails on purpose")
	m.wantUntouched()
}

// TestSetupOfConstantAddress: WP_HOME in wp-config.php is the address, if it can be read, and --url
// overrides it.
func TestSetupOfConstantAddress(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	const noHome = "UPDATE wp_options SET option_value = '' WHERE option_name = 'home'"
	for _, test := range []struct {
		name, constant, options string
		args                    []string
		want                    string
	}{
		{"literal", "define('WP_HOME', 'http://constant.test/blog/');", "", nil, "http://constant.test/blog"},
		{"computed", "define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);", "", nil, "http://site.test"},
		{"option of the command", "define('WP_HOME', 'http://constant.test');", "", []string{"--url", "http://named.test"}, "http://named.test"},
		{"both", "define('WP_HOME', 'http://constant.test'); define('WP_SITEURL', 'http://constant.test/wp');", "", nil, "http://constant.test"},
		{"of WordPress only", "define('WP_SITEURL', 'http://constant.test');", "", nil, "http://site.test"},
		{"of WordPress, and no option for the pages", "define('WP_SITEURL', 'http://constant.test');", noHome, nil, "http://constant.test"},
		{"no option for the pages", "", noHome, nil, "http://site.test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			m := newMachine(t, db).boot()
			if test.options != "" {
				execute(t, db.SQL, test.options)
			}
			if err := m.edit("var/www/html/wp-config.php", func(text string) string { return text + test.constant + "\n" }); err != nil {
				t.Fatal(err)
			}
			got := m.setup("", append([]string{"--dry-run"}, test.args...)...).want(t, exit.OK)
			wantTexts(t, got.stdout, "The address of the site: "+test.want+"\n", "and ask for "+test.want+"/wp-json/latepoint-api/v1/services with it")
		})
	}
}

// TestSetupKeepsConstantAddresses: the service, which may not read wp-config.php, gets its constants from
// the configuration.
func TestSetupKeepsConstantAddresses(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	err := m.edit("var/www/html/wp-config.php", func(text string) string {
		return text + "define('WP_HOME', 'http://constant.test');\ndefine('WP_SITEURL', 'http://constant.test/wp');\n"
	})
	if err != nil {
		t.Fatal(err)
	}
	m.setup("", "--yes", "--url", "http://site.test").want(t, exit.OK)
	wantTexts(t, filesBelow(t, m.root)["etc/bookside/config.yaml"], "home: http://constant.test\n", "site_url: http://constant.test/wp\n")
	if text := filesBelow(t, m.root)["etc/bookside/config.yaml"]; strings.Contains(text, "\n  content:") {
		t.Errorf("a wp-content that does not exist is named: %s", text)
	}
}

// TestSetupNamesContent: the service, which has no wp-config.php, finds the plugin's translations.
func TestSetupNamesContent(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	writeBelow(t, m.root, map[string]string{"var/www/html/wp-content/index.php": "<?php\n"})
	m.setup("", "--yes", "--url", "http://site.test").want(t, exit.OK)
	wantTexts(t, filesBelow(t, m.root)["etc/bookside/config.yaml"], "content: /var/www/html/wp-content\n")
}

// TestSetupWithUnreadableWebServer: a configuration that cannot be parsed stops setup only if it belongs to
// the web server to change.
func TestSetupWithUnreadableWebServer(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	const apache, nginx = "etc/apache2/apache2.conf", "etc/nginx/sites-enabled/broken"
	for _, test := range []struct {
		name, file, content string
		args                []string
		code                int
		want                string // in the output or the error
	}{
		{"none is changed", nginx, "server {\n    root /srv;\n", []string{"--web-server", "none"}, exit.OK, "nginx cannot be read; it is left alone: /etc/nginx/sites-enabled/broken, line 3: ends within a directive\n"},
		{"none is changed, and all is named", nginx, "server {\n", []string{"--web-server", "none", "--wordpress", "/var/www/html", "--url", "http://site.test"}, exit.OK, "nginx cannot be read; it is left alone"},
		{"another is changed", apache, "Include apache2.conf\n", []string{"--web-server", "nginx"}, exit.OK, "Apache cannot be read; it is left alone: /etc/apache2/apache2.conf, line 1: apache2.conf includes itself\n"},
		{"it is to be changed", nginx, "server {\n    root /srv;\n", []string{"--web-server", "nginx"}, exit.Failure, "--web-server none"},
		{"which one is open", nginx, "server {\n    root /srv;\n", nil, exit.Failure,
			"the configuration of nginx cannot be read: /etc/nginx/sites-enabled/broken, line 3: ends within a directive.\nCorrect it first, or leave the web server alone: --web-server none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, db).boot()
			writeBelow(t, m.root, map[string]string{test.file: test.content})
			if test.code == exit.OK {
				wantTexts(t, m.setup("", append([]string{"--dry-run"}, test.args...)...).want(t, exit.OK).stdout, test.want, "Nothing was done.")
				return
			}
			m.setup("", append([]string{"--dry-run"}, test.args...)...).want(t, test.code, test.want)
		})
	}
}

// TestSetupNamesTheProgram: setup says which program the service runs, and warns of a second one.
func TestSetupNamesTheProgram(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	const local, packaged, warning = "usr/local/bin/bookside", "usr/bin/bookside", "! There is "
	for _, test := range []struct {
		name, unit string
		files      []string
		want       string
		warns      bool
	}{
		{"without a package", "", nil, "It runs /usr/local/bin/bookside.\n", false},
		{"packaged", "ExecStart=/usr/bin/bookside serve", []string{packaged}, "It runs /usr/bin/bookside.\n", false},
		{"packaged beside another", "ExecStart=/usr/bin/bookside serve", []string{packaged, local}, "It runs /usr/bin/bookside.\n  ! There is /usr/local/bin/bookside as well, which it does not run.", true},
		{"an older package beside another", "ExecStart=bookside serve", []string{packaged, local}, "It runs /usr/local/bin/bookside.\n  ! There is /usr/bin/bookside as well, which it does not run.", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, db).boot()
			m.unit = test.unit
			for _, name := range test.files {
				writeBelow(t, m.root, map[string]string{name: "the program"})
			}
			got := m.setup("", "--dry-run").want(t, exit.OK)
			wantTexts(t, got.stdout, test.want)
			if strings.Contains(got.stdout, warning) != test.warns {
				t.Errorf("%s", got.stdout)
			}
		})
	}
}

// TestSetupKeepsWhatRevokingNeeds: while the key cannot be revoked, the account and its password stay for
// the next --undo.
func TestSetupKeepsWhatRevokingNeeds(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	m.setup("", "--yes").want(t, exit.OK)
	const name = "etc/bookside/dsn"
	dsn := filesBelow(t, m.root)[name]
	setDSN := func(text string) {
		t.Helper()
		if err := m.edit(name, func(string) string { return text }); err != nil {
			t.Fatal(err)
		}
	}
	setDSN("nobody@tcp(127.0.0.1:1)/none\n")
	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "not everything could be taken back").stdout, "✗ ")
	if files := filesBelow(t, m.root); files[name] == "" || files["etc/nginx/sites-enabled/site"] != nginxSite || m.account() == "" {
		t.Errorf("files %q, account %q", slices.Collect(maps.Keys(files)), m.account())
	}
	setDSN(dsn)
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
	wantTexts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")

	m.commands = nil
	m.setup("", "--yes").want(t, exit.OK)
	if err := os.Remove(filepath.Join(m.root, name)); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "setup is taken back, except").stdout, "! /etc/bookside/dsn is gone, so the key was not revoked; revoke it with bookside keys revoke")
	if account := m.account(); account != "" {
		t.Errorf("the account %s is left", account)
	}
}

// TestSetupIsRefused: obstacles are reported before anything is done.
func TestSetupIsRefused(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	for _, test := range []struct {
		name    string
		prepare func(m *machine)
		args    []string
		code    int
		want    []string
	}{
		{"no root", func(m *machine) { m.host.Privileged = false }, nil, exit.Failure, []string{"setup needs root", "On shared hosting without root", "bookside companion zip"}},
		{"no site", func(m *machine) { m.fails = "nothing" }, []string{"--wordpress", "/srv/none"}, exit.Failure, []string{"there is no WordPress in /srv/none"}},
		{"several sites", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"srv/b/wp-load.php": "", "srv/b/wp-config.php": ""})
		}, nil, exit.Usage, []string{"there are several sites; name the directory of one: --wordpress DIRECTORY"}},
		{"computed settings", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"srv/b/wp-load.php": "", "srv/b/wp-config.php": "<?php define('DB_NAME', getenv('X'));"})
		}, []string{"--wordpress", "/srv/b"}, exit.Failure, []string{"DB_NAME is computed", "with db.dsn, as INSTALL.md tells"}},
		{"broken nginx", func(m *machine) { m.fails = "nginx -t" }, nil, exit.Failure, []string{"the configuration of nginx is invalid already; correct it first"}},
		{"port in use", func(m *machine) { m.stub, m.commands = ready, []string{"systemctl start"} }, nil, exit.Failure, []string{"another program listens at 127.0.0.1:8080; name a free address: --listen"}},
		{"other web server", func(*machine) {}, []string{"--web-server", "apache"}, exit.Usage, []string{"--web-server: apache does not serve /var/www/html"}},
		{"no network", func(*machine) {}, []string{"--site-id", "3"}, exit.Usage, []string{"--site-id: the site is not a network of sites"}},
		{"address", func(*machine) {}, []string{"--url", "example"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"configured by hand", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"etc/bookside/config.yaml": "db:\n  dsn: a@tcp(db:3306)/b\n"})
		}, nil, exit.Failure, []string{"/etc/bookside/config.yaml names a database already, with db.dsn"}},
		{"configured by hand with a file", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"etc/bookside/config.yaml": "db:\n  dsn_file: /etc/bookside/dsn\n", "etc/bookside/dsn": "a@tcp(db:3306)/b\n"})
		}, nil, exit.Failure, []string{"names a database already, with db.dsn_file"}},
		{"configured by hand with WordPress", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"etc/bookside/config.yaml": "wordpress.config: /srv/wp-config.php\n"})
		}, nil, exit.Failure, []string{"names a database already, with wordpress.config"}},
		{"address with a query", func(*machine) {}, []string{"--url", "https://example.com/?x=1"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"address with a user", func(*machine) {}, []string{"--url", "https://a@example.com"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"address with a fragment", func(*machine) {}, []string{"--url", "https://example.com/a#b"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"address with a directive", func(*machine) {}, []string{"--url", "https://example.com/a;{b"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"address with a quote", func(*machine) {}, []string{"--url", "https://exam'ple.com"}, exit.Usage, []string{"write it like --url https://example.com"}},
		{"encryption", func(*machine) {}, []string{"--db-tls", "on"}, exit.Usage, []string{"--db-tls: write auto, off, required or verify"}},
		{"encryption that the database lacks", func(*machine) {}, []string{"--db-tls", "required"}, exit.Refused, []string{"does not offer TLS"}},
		{"port", func(*machine) {}, []string{"--listen", "8080"}, exit.Usage, []string{"--listen: write an IP address and a port"}},
		{"port of every address", func(*machine) {}, []string{"--listen", ":8080"}, exit.Usage, []string{"--listen: write an IP address and a port"}},
		{"port of a name", func(*machine) {}, []string{"--admin-listen", "localhost:8081"}, exit.Usage, []string{"--admin-listen: write an IP address and a port"}},
		{"one port for both", func(*machine) {}, []string{"--listen", "127.0.0.1:9000", "--admin-listen", "127.0.0.1:9000"}, exit.Usage, []string{"--admin-listen: is the same as --listen"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(test.want, "does not offer TLS") {
				fixtures.RequirePlainText(t, db)
			}
			m := newMachine(t, db).boot()
			test.prepare(m)
			m.before = filesBelow(t, m.root)
			m.setup("", append([]string{"--yes"}, test.args...)...).want(t, test.code, test.want...)
			m.wantUntouched()
		})
	}
	t.Run("settings that only root may read", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t, db).boot()
		name := filepath.Join(m.root, "var/www/html/wp-config.php")
		if err := errors.Join(os.Remove(name), os.Symlink("/proc/sys/vm/drop_caches", name)); err != nil { // which not even root may read
			t.Fatal(err)
		}
		m.setup("", "--dry-run").want(t, exit.Failure, "permission denied; only root may read it: run it with sudo")
	})
	t.Run("dry run", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t, db).boot()
		m.host.Privileged = false
		wantTexts(t, m.setup("", "--dry-run").want(t, exit.OK).stdout, "create the account 'bookside_", "write /etc/bookside/dsn, readable by root and the group bookside only", "Nothing was done.")
		m.wantUntouched()
	})
}
