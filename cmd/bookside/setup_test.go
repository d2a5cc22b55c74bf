package main

import (
	"cmp"
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
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/bookside/setup"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
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
	stub     http.Handler // replaces the service; nil for the real one
	front    http.Handler // replaces the web server; nil for one with the site's configuration
	server   *testServer  // set once it was started
}

const includeLine = "include /etc/bookside/nginx/*.conf;"

const nginxSite = `server {
    server_name site.test;
    root /var/www/html;
}
`

func newMachine(t *testing.T, db *fixtures.Database) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir(), db: db, systemd: true}
	account, err := mysql.ParseDSN(db.AdminDSN)
	expect.NoError(t, err)
	address := account.Addr
	if account.Net == "unix" {
		address = "localhost:" + address
	}
	var constants strings.Builder
	for name, value := range map[string]string{"DB_NAME": account.DBName, "DB_USER": account.User, "DB_PASSWORD": account.Passwd, "DB_HOST": address} {
		fmt.Fprintf(&constants, "define('%s', '%s');\n", name, value)
	}
	program, err := os.Executable()
	expect.NoError(t, err)
	base, _, _ := strings.Cut(db.Prefix, "7_")
	writeBelow(t, m.root, map[string]string{
		"etc/passwd":                   "root:x:0:0::/root:/bin/sh\n",
		"etc/nginx/nginx.conf":         "http {\n    include /etc/nginx/conf.d/*.conf;\n    include /etc/nginx/sites-enabled/*;\n}\n",
		"etc/nginx/sites-enabled/site": nginxSite,
		"var/www/html/wp-load.php":     "<?php\n",
		"var/www/html/wp-config.php":   "<?php\n" + constants.String() + "define('MULTISITE', " + fmt.Sprint(base != db.Prefix) + ");\n$table_prefix = '" + base + "';\n",
		program:                        "the program",
	})
	db.Execute(t, "UPDATE "+db.Prefix+"options SET option_value = 'http://site.test' WHERE option_name IN ('home', 'siteurl')")
	m.before = filesBelow(t, m.root)
	m.host = &setup.Host{Root: m.root, Privileged: true, Run: m.run, Dial: m.dial, Pause: 10 * time.Millisecond, Has: func(program string) bool {
		return program != "systemctl" || m.systemd
	}}
	return m
}

// boot gives the machine what one with systemd has.
func (m *machine) boot() *machine {
	expect.NoError(m.t, os.MkdirAll(filepath.Join(m.root, "run/systemd/system"), 0o755))
	return m
}

// newReadyMachine returns a machine with a new site, systemd, and a service that is always ready.
func newReadyMachine(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, small(t)).boot()
	m.stub = ready
	return m
}

// run stands in for every program of the machine.
func (m *machine) run(ctx context.Context, stdin string, args ...string) (string, error) {
	text := strings.Join(args, " ")
	m.commands = append(m.commands, text)
	if m.fails != "" && strings.Contains(text, m.fails) {
		return "it fails on purpose", errors.New("exit status 1")
	}
	switch {
	case args[0] == "mariadb":
		return m.client(ctx, stdin)
	case args[0] == "useradd":
		return "", m.edit("etc/passwd", func(text string) string { return text + "bookside:x:999:\n" })
	case args[0] == "userdel":
		return "", m.edit("etc/passwd", func(text string) string { return strings.ReplaceAll(text, "bookside:x:999:\n", "") })
	case args[0] == "systemctl" && args[1] == "cat":
		return "", errors.New("exit status 1")
	case args[0] == "systemctl" && args[1] == "enable":
		m.start()
	case args[0] == "systemctl" && args[1] == "disable" && m.server != nil:
		err := m.server.stop()
		m.server = nil
		return "", err
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
		var err error
		if strings.HasPrefix(statement, "SHOW TABLES") {
			var tables []string
			tables, err = m.tables(ctx, statement)
			output.WriteString(strings.Join(tables, "\n"))
		} else {
			_, err = m.db.SQL.ExecContext(ctx, statement)
		}
		if err != nil {
			return err.Error(), err
		}
	}
	return output.String(), nil
}

func (m *machine) tables(ctx context.Context, statement string) (names []string, err error) {
	rows, err := m.db.SQL.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
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

// dial connects to the service, and to the web server at the site's address.
func (m *machine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, _ := strings.Cut(address, ":")
	running := m.server != nil
	for _, command := range m.commands {
		switch {
		case m.stub != nil && strings.HasPrefix(command, "systemctl enable"):
			running = true
		case m.stub != nil && strings.HasPrefix(command, "systemctl disable"):
			running = false
		}
	}
	switch {
	case port == "80" && (host == "127.0.0.1" || host == "site.test"):
		return m.connect(ctx, http.HandlerFunc(m.nginx), httptest.NewServer)
	case port == "443":
		return m.connect(ctx, http.HandlerFunc(m.nginx), httptest.NewTLSServer)
	case running && m.stub != nil:
		return m.connect(ctx, m.stub, httptest.NewServer)
	case running && address == "127.0.0.1:8081":
		return new(net.Dialer).DialContext(ctx, network, m.server.admin())
	case running && address == "127.0.0.1:8080":
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(m.server.url, "http://"))
	default:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
}

// connect connects to a handler.
func (m *machine) connect(ctx context.Context, handler http.Handler, start func(http.Handler) *httptest.Server) (net.Conn, error) {
	server := start(handler)
	m.t.Cleanup(server.Close)
	return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
}

// nginx serves the site according to its configuration.
func (m *machine) nginx(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "nginx/1.22.1")
	content, err := os.ReadFile(filepath.Join(m.root, "etc/nginx/sites-enabled/site"))
	included, missing := filepath.Glob(filepath.Join(m.root, "etc/bookside/nginx/*.conf"))
	switch {
	case m.front != nil:
		m.front.ServeHTTP(w, r)
	case errors.Join(err, missing) != nil || len(included) == 0 || !strings.Contains(string(content), includeLine):
		_, _ = io.WriteString(w, "<html>a page of WordPress")
	default:
		m.forward(w, r)
	}
}

// forward hands a request to the service.
func (m *machine) forward(w http.ResponseWriter, r *http.Request) {
	if m.stub != nil {
		m.stub.ServeHTTP(w, r)
		return
	}
	target, _ := url.Parse(m.server.url)
	httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
}

// include adds the line that setup prints to the configuration of nginx.
func (m *machine) include() {
	m.t.Helper()
	expect.NoError(m.t, m.edit("etc/nginx/sites-enabled/site", func(text string) string { return strings.Replace(text, "{\n", "{\n    "+includeLine+"\n", 1) }))
	m.before["etc/nginx/sites-enabled/site"] = strings.Replace(nginxSite, "{\n", "{\n    "+includeLine+"\n", 1)
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
	if diff := gocmp.Diff(m.before, filesBelow(m.t, m.root)); diff != "" {
		m.t.Errorf("files (-before +after):\n%s", diff)
	}
	expect.Equal(m.t, "", m.account(), "an account that is left")
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
var ready = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
})

// TestSetup: a site is set up, the printed key works through the site's address once the printed line is
// included, and everything can be undone.
func TestSetup(t *testing.T) {
	t.Parallel()
	m := newMachine(t, small(t)).boot()
	got := m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	expect.Texts(t, got.stdout, "WordPress: /var/www/html\n", "The site can be served", "The address of the site: http://site.test\n",
		"This is a key that may read. It is shown only once:\n\n  lp_live_", "bookside setup --undo",
		"Add this line to the configuration of nginx, inside the server block of http://site.test:\n\n  "+includeLine+"\n", "The site is named in /etc/nginx/sites-enabled/site, line 2.", "Then: nginx -t && nginx -s reload\n",
		"GET http://site.test/wp-json/latepoint-api/v1/services does not arrive at Bookside: the web server, or something before it, answers with status 200\n", "Calls do not reach Bookside yet.")
	files := filesBelow(t, m.root)
	expect.Equal(t, nginxSite, files["etc/nginx/sites-enabled/site"], "nginx")
	expect.Texts(t, files["etc/bookside/config.yaml"], "dsn_file: /etc/bookside/dsn\n", "prefix: wp_\n", "trusted_proxies: [127.0.0.1, '::1']")
	expect.Texts(t, files["etc/bookside/nginx/routes.conf"], "location ^~ /wp-json/latepoint-api/v1/ {", "proxy_pass http://127.0.0.1:8080$bookside_uri;")
	expect.Texts(t, files["etc/systemd/system/bookside.service"], "\nExecStart=bookside serve\n", "\nUser=bookside\n")
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
	// Run again, setup only checks.
	m.setup("", "--yes", "--no-wait").want(t, exit.Failure, "the API does not work at http://site.test/wp-json/latepoint-api/v1 yet")
	m.include()
	expect.Texts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "Bookside is set up for /var/www/html since 2026-11-21; to take that back: bookside setup --undo", "GET, PUT and DELETE arrive at http://site.test/wp-json/latepoint-api/v1.\n")
	_, key, _ := strings.Cut(got.stdout, "shown only once:\n\n  ")
	key, _, _ = strings.Cut(key, "\n")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://site.test/wp-json/latepoint-api/v1/services", nil)
	expect.NoError(t, err)
	request.Header.Set("X-API-Key", key)
	response, err := (&http.Client{Transport: &http.Transport{DialContext: m.dial, DisableKeepAlives: true}}).Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	expect.Succeeded(t, response.Body.Close())

	expect.Texts(t, m.setup("", "--undo", "--yes").want(t, exit.OK).stdout, "First remove this line from the configuration of nginx, if it is there, and reload it; calls go to PHP again then:\n\n  "+includeLine+"\n",
		"revoke the API key", "remove /etc/bookside/nginx/routes.conf", "Everything else is as it was.")
	m.wantUntouched()
	expect.Texts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")
	m.setup("", "--undo", "--yes").want(t, exit.Failure, "there is nothing to take back")
}

// afterText is an input that does something when a text was printed, and then waits, or enters a line.
type afterText struct {
	stdout *fixtures.Buffer
	text   string
	do     func()
	enters string
	until  <-chan struct{}
	done   bool
}

func (a *afterText) Read(p []byte) (int, error) {
	for !a.done && !strings.Contains(a.stdout.String(), a.text) {
		time.Sleep(5 * time.Millisecond)
	}
	if a.done || a.enters == "" {
		a.do()
		<-a.until
		return 0, io.EOF
	}
	a.done = true
	return copy(p, a.enters), nil
}

// TestSetupWaits: setup waits until the printed line works, or the user enters a line.
func TestSetupWaits(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	for _, test := range []struct {
		enters string
		want   []string
	}{
		{"", []string{"Setup waits until it works; press Enter to go on without.", "GET, PUT and DELETE arrive at http://site.test/wp-json/latepoint-api/v1.", "  curl -H 'X-API-Key: lp_live_", " 'http://site.test/wp-json/latepoint-api/v1/services'\n"}},
		{"\n", []string{"Calls do not reach Bookside yet. When they should: sudo bookside setup checks it again."}},
	} {
		m.commands = nil
		var stdout, stderr fixtures.Buffer
		in := &afterText{stdout: &stdout, text: "does not arrive at Bookside", do: func() {
			if test.enters == "" {
				m.include()
			}
		}, enters: test.enters, until: t.Context().Done()}
		p := program{stdin: in, stdout: &stdout, stderr: &stderr, now: fixedClock, host: m.host}
		code := exit.Report(&stderr, p.run(t.Context(), []string{"setup", "--yes"}))
		expect.Texts(t, result{code, stdout.String(), stderr.String()}.want(t, exit.OK).stdout, test.want...)
		m.setup("", "--undo", "--yes").want(t, exit.OK)
		m.wantUntouched()
		expect.NoError(t, m.edit("etc/nginx/sites-enabled/site", func(string) string { return nginxSite }))
		m.before = filesBelow(t, m.root)
	}
}

// TestSetupChecksFromOutside: what keeps calls from arriving is named, whatever the web server or something
// before it does.
func TestSetupChecksFromOutside(t *testing.T) {
	t.Parallel()
	const unreachable = "From here https://site.test cannot be reached ("
	for _, test := range []struct {
		name, address string
		front         func(m *machine, w http.ResponseWriter, r *http.Request)
		want          []string
	}{
		{"methods are refused", "https://site.test", func(m *machine, w http.ResponseWriter, r *http.Request) {
			switch {
			case r.TLS == nil:
				http.Redirect(w, r, "https://site.test"+r.URL.Path, http.StatusMovedPermanently)
			case r.Method == http.MethodPut:
				w.WriteHeader(http.StatusMethodNotAllowed)
			case r.Method == http.MethodDelete:
				_, _ = io.WriteString(w, "<html>a page of WordPress")
			default:
				m.forward(w, r)
			}
		}, []string{unreachable, "PUT does not arrive at Bookside: the web server, or something before it, answers with status 405\n", "DELETE does not arrive at Bookside: the web server, or something before it, answers with status 200\n"}},
		{"http beside https", "https://site.test", func(m *machine, w http.ResponseWriter, r *http.Request) { m.forward(w, r) },
			[]string{unreachable, "The API answers over http, too, where others on the way can read keys: include the line only where the site speaks TLS\n"}},
		{"another API", "http://site.test", func(_ *machine, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
			w.WriteHeader(http.StatusUnauthorized)
		}, []string{"services does not arrive at Bookside: another API answers there, such as the PHP extension, with status 401\n"}},
		{"redirect", "http://site.test", func(_ *machine, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://www.site.test"+r.URL.Path, http.StatusFound)
		}, []string{"GET http://site.test/wp-json/latepoint-api/v1/services does not arrive at Bookside: the web server, or something before it, answers with status 302 and redirects to http://www.site.test/wp-json/latepoint-api/v1/services; if that is the site's address"}},
		{"redirect to https", "http://site.test", func(m *machine, w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil {
				http.Redirect(w, r, "https://site.test"+r.URL.Path, http.StatusFound)
				return
			}
			m.forward(w, r)
		}, []string{"It redirects to https://site.test.\n", "GET, PUT and DELETE arrive at https://site.test/wp-json/latepoint-api/v1.\n"}},
		{"the key is taken away", "http://site.test", func(_ *machine, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
		}, []string{"services with the key is answered with 401: the header X-API-Key must arrive, too\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, fixtures.New(t, fixtures.Small(now))).boot()
			m.stub = ready
			m.front = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { test.front(m, w, r) })
			expect.Texts(t, m.setup("", "--yes", "--no-wait", "--url", test.address).want(t, exit.OK).stdout, test.want...)
			m.setup("", "--undo", "--yes").want(t, exit.OK)
		})
	}
}

// TestSetupWithOtherWebServers: for each web server there is a line, or what to forward.
func TestSetupWithOtherWebServers(t *testing.T) {
	t.Parallel()
	db := small(t)
	for _, test := range []struct {
		server, option string
		files          map[string]string
		want           []string
	}{
		{"Apache/2.4.66 (Debian)", "", map[string]string{
			"etc/apache2/sites-enabled/a.conf": "# ServerName site.test\n<VirtualHost *:443>\n\tServerName site.test:443\n</VirtualHost>\n", "etc/apache2/sites-available/b.conf": "ServerName site.test\n",
		}, []string{"write /etc/bookside/apache/routes.conf\n", "inside the VirtualHost of http://site.test:\n\n  IncludeOptional /etc/bookside/apache/*.conf\n", "named in /etc/apache2/sites-enabled/a.conf, line 3.", "a2enmod proxy_http rewrite headers\n"}},
		{"Caddy", "", map[string]string{"etc/caddy/Caddyfile": "{\n\tlog\n}\nhttps://a.example,\tSite.test {\n\troot * /var/www/html\n}\n"},
			[]string{"write /etc/bookside/caddy/log.caddy\n", "  import /etc/bookside/caddy/routes*\n", "named in /etc/caddy/Caddyfile, line 4.", "  import /etc/bookside/caddy/log*\n"}},
		{"nginx", "", map[string]string{"etc/nginx/sites-enabled/site": "server { listen 443; server_name a.example .site.test; }\nserver {\n    server_name ~^(www\\.)?site\\.test$;\n}\n"},
			[]string{includeLine, "named in /etc/nginx/sites-enabled/site, line 1; /etc/nginx/sites-enabled/site, line 3."}},
		{"LiteSpeed", "", nil, []string{"Make the web server forward these requests to http://127.0.0.1:8080, with method, path, query and body as they are:\n\n  all paths that begin with /wp-json/latepoint-api/v1\n"}},
		{"cloudflare", "nginx", nil, []string{includeLine}},
	} {
		t.Run(test.server, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, db).boot()
			writeBelow(t, m.root, test.files)
			m.front = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server", test.server) })
			expect.Texts(t, m.setup("", "--dry-run", "--web-server", test.option).want(t, exit.OK).stdout, test.want...)
		})
	}
}

// TestSetupTakesEverythingBack: whatever fails, the machine is as it was.
func TestSetupTakesEverythingBack(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	for _, command := range []string{"useradd", "chgrp", "systemctl daemon-reload", "systemctl enable"} {
		m.fails, m.commands = command, nil
		got := m.setup("", "--yes", "--no-wait").want(t, exit.Failure, "it fails on purpose")
		expect.Texts(t, got.stdout, "That failed. Everything is taken back:")
		m.wantUntouched()
	}
	m.fails, m.commands = "", nil
	m.stub = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	m.setup("", "--yes", "--no-wait").want(t, exit.Failure, "a request with the new key is answered with status 403")
	m.wantUntouched()
	expect.Texts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")
	m.stub, m.commands = http.NotFoundHandler(), nil
	m.setup("", "--yes", "--no-wait").want(t, exit.Failure, "the service does not become ready: 127.0.0.1:8081/readyz answers 404")
	m.wantUntouched()
}

// TestSetupAfterACrash: --undo or the next run undoes what an interrupted run did.
func TestSetupAfterACrash(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	crash := func() {
		t.Helper()
		work := m.host.Run
		m.host.Run = func(ctx context.Context, stdin string, args ...string) (string, error) {
			if args[0] == "systemctl" && args[1] == "enable" {
				panic("crash")
			}
			return work(ctx, stdin, args...)
		}
		defer func() {
			m.host.Run = work
			if recover() == nil {
				t.Error("no crash")
			}
		}()
		m.setup("", "--yes", "--no-wait")
	}
	crash()
	m.setup("y\n", "--undo").want(t, exit.OK)
	m.wantUntouched()
	crash()
	expect.Texts(t, m.setup("", "--yes", "--no-wait").want(t, exit.OK).stdout, "An earlier run was interrupted. What it did is taken back first:", "Bookside is set up.")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupAsks: nothing is done without an answer.
func TestSetupAsks(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	for _, answers := range []string{"", "perhaps\nn\n", "no\n"} {
		m.commands = nil
		if got := m.setup(answers); got.code == exit.OK {
			t.Errorf("%q: %s", answers, got.stdout)
		}
		m.wantUntouched()
	}
	expect.Texts(t, m.setup("\n").want(t, exit.OK).stdout, "Do it? [Y/n] ", "Bookside is set up.", "Calls do not reach Bookside yet.")
	m.setup("n\n", "--undo").want(t, exit.Failure, "nothing was done")
	m.setup("y\n", "--undo").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupIsInterrupted: after a signal no further action begins, and everything is undone.
func TestSetupIsInterrupted(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	work := m.host.Run
	for command, undone := range map[string]string{
		"useradd":          "Everything is taken back:\n  - wait until Bookside has answered its last request\n  - remove the user bookside\n",
		"systemctl enable": "Everything is taken back:\n  - stop and disable the service\n",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		m.host.Run = func(ctx context.Context, stdin string, args ...string) (string, error) {
			if strings.HasPrefix(strings.Join(args, " "), command) {
				cancel()
			}
			return work(ctx, stdin, args...)
		}
		var stdout, stderr fixtures.Buffer
		p := program{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, now: fixedClock, host: m.host}
		code := exit.Report(&stderr, p.run(ctx, []string{"setup", "--yes"}))
		expect.Texts(t, result{code, stdout.String(), stderr.String()}.want(t, exit.Failure, "canceled").stdout, undone)
		m.wantUntouched()
	}

	// While a question waits for its answer, too.
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr fixtures.Buffer
	in := &afterText{stdout: &stdout, text: "Do it? [Y/n] ", do: cancel, until: t.Context().Done()}
	p := program{stdin: in, stdout: &stdout, stderr: &stderr, now: fixedClock, host: m.host}
	m.host.Run = work
	code := exit.Report(&stderr, p.run(ctx, []string{"setup"}))
	result{code, stdout.String(), stderr.String()}.want(t, exit.Failure, "interrupted")
	m.wantUntouched()
}

// TestSetupWithoutSystemd: setup says how to start the service, and continues once it runs.
func TestSetupWithoutSystemd(t *testing.T) {
	t.Parallel()
	m := newMachine(t, small(t))
	m.systemd = false
	expect.Texts(t, m.setup("", "--yes", "--no-wait").want(t, exit.OK).stdout, "let whatever starts services here, because systemd does not, run as the user bookside: ", " serve\n", "Bookside is not ready: ")
	m.start()
	m.include()
	expect.Texts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "GET, PUT and DELETE arrive at http://site.test/wp-json/latepoint-api/v1.")
	running := m.setup("", "--undo", "--yes").want(t, exit.Failure, "not everything could be taken back")
	expect.Texts(t, running.stdout, `First stop what runs "bookside serve"`, "Bookside still runs, at 127.0.0.1:8080; stop it")
	wantStatus(t, http.StatusOK, m.server.url+"/v1/status", newKey(t, settingsFor(m.db)), "a request to the server that still runs")
	expect.NoError(t, m.server.stop())
	m.server = nil
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupOfNetworkSite: the configuration has the number of a site in a network, the path of its address,
// and other ports.
func TestSetupOfNetworkSite(t *testing.T) {
	t.Parallel()
	m := newMachine(t, fixtures.New(t, fixtures.Prefixed())).boot()
	m.stub = ready
	m.setup("", "--yes", "--no-wait", "--site-id", "7", "--url", "http://site.test/blog/", "--listen", "127.0.0.1:9080", "--admin-listen", "127.0.0.1:9081").want(t, exit.OK)
	files := filesBelow(t, m.root)
	expect.Texts(t, files["etc/bookside/config.yaml"], "prefix: wpx_\n", "site_id: 7\n", "listen: 127.0.0.1:9080\n", "listen: 127.0.0.1:9081\n", "base_paths: [/blog/wp-json/latepoint-api/v1, /wp-json/latepoint-api/v1, /v1]")
	expect.Texts(t, files["etc/bookside/nginx/routes.conf"], "location ^~ /blog/wp-json/latepoint-api/v1/ {", "proxy_pass http://127.0.0.1:9080$")
	expect.Texts(t, files["etc/systemd/system/bookside.socket.d/setup.conf"], "ListenStream=127.0.0.1:9080\n")
	m.include()
	expect.Texts(t, m.setup("", "--yes").want(t, exit.OK).stdout, "arrive at http://site.test/blog/wp-json/latepoint-api/v1.") // with the options of the first run
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
}

// TestSetupKeepsChangesOfOthers: later changes by hand stay, and so do settings that were there.
func TestSetupKeepsChangesOfOthers(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	const name, mine = "etc/bookside/config.yaml", "server:\n  max_concurrent: 7 # mine\n"
	writeBelow(t, m.root, map[string]string{name: mine})
	m.before = filesBelow(t, m.root)
	m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	expect.Texts(t, filesBelow(t, m.root)[name], "server:\n  trusted_proxies: [127.0.0.1, '::1']\n  max_concurrent: 7 # mine\n")
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()

	m.commands = nil
	m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	expect.NoError(t, m.edit(name, func(text string) string { return text + "# mine\n" }))
	undone := m.setup("", "--undo", "--yes").want(t, exit.Failure, "setup is taken back, except for what is marked with ! above")
	expect.Texts(t, undone.stdout, "! /etc/bookside/config.yaml was changed since and stays as it is")
	if files := filesBelow(t, m.root); !strings.HasSuffix(files[name], "# mine\n") || strings.Contains(undone.stdout, "is as it was.") {
		t.Errorf("%s\n%s", undone.stdout, files[name])
	}
}

// TestSetupAlone: a concurrent run, or an undo, ends with an error and changes nothing.
func TestSetupAlone(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	work, tried := m.host.Run, 0
	m.host.Run = func(ctx context.Context, stdin string, args ...string) (string, error) {
		if args[0] == "useradd" || args[0] == "userdel" {
			tried++
			for _, options := range [][]string{{"--yes"}, {"--undo", "--yes"}} {
				expect.Equal(t, "", m.setup("", options...).want(t, exit.Failure, "another bookside setup is running on this machine").stdout)
			}
			m.setup("", "--undo", "--dry-run").want(t, exit.OK)
		}
		return work(ctx, stdin, args...)
	}
	m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
	expect.Equal(t, 2, tried, "tries")
}

// TestSetupWithSELinux: where SELinux keeps the web server from connecting, setup says what allows it.
func TestSetupWithSELinux(t *testing.T) {
	t.Parallel()
	m := newMachine(t, small(t)).boot()
	for _, test := range []struct {
		enforced, boolean string
		named             bool
	}{{"1", "0 0", true}, {"1", "1 1", false}, {"0", "0 0", false}} {
		writeBelow(t, m.root, map[string]string{"sys/fs/selinux/enforce": test.enforced, "sys/fs/selinux/booleans/httpd_can_network_connect": test.boolean})
		got := m.setup("", "--dry-run").want(t, exit.OK)
		expect.Equal(t, test.named, strings.Contains(got.stdout, "Allow it: setsebool -P httpd_can_network_connect 1\n"), test, ": ", got.stdout)
	}
}

// TestSetupOfConstantAddress: WP_HOME in wp-config.php is the address, if it can be read, and --url
// overrides it.
func TestSetupOfConstantAddress(t *testing.T) {
	t.Parallel()
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
				db.Execute(t, test.options)
			}
			expect.NoError(t, m.edit("var/www/html/wp-config.php", func(text string) string { return text + test.constant + "\n" }))
			got := m.setup("", append([]string{"--dry-run", "--web-server", "nginx"}, test.args...)...).want(t, exit.OK)
			expect.Texts(t, got.stdout, "The address of the site: "+test.want+"\n", "inside the server block of "+test.want+":\n")
		})
	}
}

// TestSetupKeepsConstantAddresses: the service, which may not read wp-config.php, gets its constants from
// the configuration.
func TestSetupKeepsConstantAddresses(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	err := m.edit("var/www/html/wp-config.php", func(text string) string {
		return text + "define('WP_HOME', 'http://constant.test');\ndefine('WP_SITEURL', 'http://constant.test/wp');\n"
	})
	expect.NoError(t, err)
	m.setup("", "--yes", "--no-wait", "--url", "http://site.test").want(t, exit.OK)
	expect.Texts(t, filesBelow(t, m.root)["etc/bookside/config.yaml"], "home: http://constant.test\n", "site_url: http://constant.test/wp\n")
	expect.NoTexts(t, filesBelow(t, m.root)["etc/bookside/config.yaml"], "\n  content:")
}

// TestSetupKeepsWhatRevokingNeeds: while the key cannot be revoked, the account and its password stay for
// the next --undo.
func TestSetupKeepsWhatRevokingNeeds(t *testing.T) {
	t.Parallel()
	m := newReadyMachine(t)
	m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	const name = "etc/bookside/dsn"
	dsn := filesBelow(t, m.root)[name]
	setDSN := func(text string) {
		t.Helper()
		expect.NoError(t, m.edit(name, func(string) string { return text }))
	}
	setDSN("nobody@tcp(127.0.0.1:1)/none\n")
	expect.Texts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "not everything could be taken back").stdout, "✗ ")
	if files := filesBelow(t, m.root); files[name] == "" || m.account() == "" {
		t.Errorf("files %q, account %q", slices.Collect(maps.Keys(files)), m.account())
	}
	setDSN(dsn)
	m.setup("", "--undo", "--yes").want(t, exit.OK)
	m.wantUntouched()
	expect.Texts(t, run(t, settingsFor(m.db), "", "keys", "list").stdout, "revoked")

	m.commands = nil
	m.setup("", "--yes", "--no-wait").want(t, exit.OK)
	expect.NoError(t, os.Remove(filepath.Join(m.root, name)))
	expect.Texts(t, m.setup("", "--undo", "--yes").want(t, exit.Failure, "setup is taken back, except").stdout, "! /etc/bookside/dsn is gone, so the key was not revoked; revoke it with bookside keys revoke")
	expect.Equal(t, "", m.account(), "an account that is left")
}

// TestSetupIsRefused: obstacles are reported before anything is done.
func TestSetupIsRefused(t *testing.T) {
	t.Parallel()
	db := small(t)
	for _, test := range []struct {
		name    string
		prepare func(m *machine)
		args    []string
		code    int
		want    []string
	}{
		{"no root", func(m *machine) { m.host.Privileged = false }, nil, exit.Failure, []string{"setup needs root", "On shared hosting without root", "bookside companion"}},
		{"no site", func(m *machine) { m.fails = "nothing" }, []string{"--wordpress", "/srv/none"}, exit.Failure, []string{"there is no WordPress in /srv/none"}},
		{"several sites", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"srv/b/wp-load.php": "", "srv/b/wp-config.php": ""})
		}, nil, exit.Usage, []string{"there are several sites; name the directory of one: --wordpress DIRECTORY"}},
		{"computed settings", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"srv/b/wp-load.php": "", "srv/b/wp-config.php": "<?php define('DB_NAME', getenv('X'));"})
		}, []string{"--wordpress", "/srv/b"}, exit.Failure, []string{"DB_NAME is computed", "with db.dsn, as INSTALL.md tells"}},
		{"a character set", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"srv/b/wp-load.php": "", "srv/b/wp-config.php": "<?php const DB_NAME = 'a', DB_USER = 'a', DB_PASSWORD = 'a', DB_HOST = 'a', DB_CHARSET = 'latin1';"})
		}, []string{"--wordpress", "/srv/b"}, exit.Failure, []string{"DB_CHARSET is neither utf8 nor utf8mb4", "and set it to utf8mb4\n"}},
		{"port in use", func(m *machine) { m.stub, m.commands = ready, []string{"systemctl enable"} }, nil, exit.Failure, []string{"another program listens at 127.0.0.1:8080; name a free address: --listen"}},
		{"unknown web server", func(*machine) {}, []string{"--web-server", "iis"}, exit.Usage, []string{"--web-server: write nginx, apache, caddy or other"}},
		{"a setting that is there", func(m *machine) {
			writeBelow(m.t, m.root, map[string]string{"etc/bookside/config.yaml": "server:\n  trusted_proxies: [10.0.0.1]\n"})
		}, nil, exit.Failure, []string{"setup cannot write", "remove it first"}},
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
		expect.Texts(t, m.setup("", "--dry-run").want(t, exit.OK).stdout, "create the account 'bookside_", "write /etc/bookside/dsn, readable by root and the group bookside only", "Nothing was done.")
		m.wantUntouched()
	})
}

// TestPrintedLineWorks: with the line that setup prints, each web server forwards as it should, and its
// configuration stays valid after an undo.
func TestPrintedLineWorks(t *testing.T) {
	t.Parallel()
	printed := regexp.MustCompile(`(?m)^  ((?:include|IncludeOptional|import) )(/etc/bookside/.*)$`)
	for name, start := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, fixtures.New(t, fixtures.Small(now))).boot()
			home := "https://example.com"
			if name == "Caddy" { // which has no certificate here
				home = "http://127.0.0.1"
			}
			got := m.setup("", "--yes", "--no-wait", "--url", home, "--web-server", strings.ToLower(name)).want(t, exit.OK)
			line := printed.FindStringSubmatch(got.stdout)
			if line == nil {
				t.Fatalf("no line: %s", got.stdout)
			}
			for name, text := range filesBelow(t, filepath.Join(m.root, "etc/bookside")) {
				if strings.Contains(name, "/") {
					writeBelow(t, m.root, map[string]string{"etc/bookside/" + name: strings.ReplaceAll(text, "127.0.0.1:8080", strings.TrimPrefix(m.server.url, "http://"))})
				}
			}
			web := start(t, "", recordPHP(t, make(chan proxiedRequest, 100)), "\n"+line[1]+filepath.Join(m.root, line[2])+"\n")
			service := m.host.Dial
			m.host.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				switch _, port, _ := strings.Cut(address, ":"); port {
				case "443":
					address = web.address
				case "80":
					address = cmp.Or(web.plain, web.address)
				default:
					return service(ctx, network, address)
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			expect.Texts(t, m.setup("", "--yes", "--no-wait").want(t, exit.OK).stdout, "GET, PUT and DELETE arrive at "+home+"/wp-json/latepoint-api/v1.\n")
			if err := os.RemoveAll(filepath.Join(m.root, "etc/bookside")); err != nil { // as an undo does
				t.Fatal(err)
			}
			if output, err := exec.CommandContext(t.Context(), web.check[0], web.check[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}
