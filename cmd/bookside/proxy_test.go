package main

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/fcgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// proxiedRequest is a request as it arrived behind the proxy.
type proxiedRequest struct {
	at, uri string // at is "bookside" or "PHP"
	header  http.Header
	body    int // bytes
}

// proxies start each web server with its samples, in front of Bookside at an address and PHP at a socket. line
// replaces the one that includes the routes, if it is not empty.
var proxies = map[string]func(t *testing.T, bookside, php, line string) *proxy{"nginx": startNginx, "Caddy": startCaddy, "Apache": startApache}

// TestProxySamples checks which requests go to Bookside and which to PHP, and in which form.
func TestProxySamples(t *testing.T) {
	t.Parallel()
	const path, plain = "/wp-json/latepoint-api/v1", "rest_route=/latepoint-api/v1"
	const encoded = "rest_route=%2Flatepoint-api%2Fv1%2F"
	tests := []struct{ name, uri, want string }{ // want is the URI that Bookside gets, "" for requests to PHP
		{"list", path + "/bookings?per_page=2&search=a%20b", path + "/bookings?per_page=2&search=a%20b"},
		{"trailing slash", path + "/bookings/?page=2", path + "/bookings/?page=2"},
		{"encoded slash", path + "/coupons/A%2FB%20C", path + "/coupons/A%2FB%20C"},
		{"encoded per cent and plus", path + "/coupons/50%25+off", path + "/coupons/50%25+off"},
		{"looks like PHP", path + "/coupons/index.php", path + "/coupons/index.php"},
		{"root", path, path},
		{"root with slash", path + "/", path + "/"},
		{"other namespace", "/wp-json/wp/v2/posts", ""},
		{"other version", path + "0/bookings", ""},
		{"front page", "/", ""},

		{"plain", "/?" + plain + "/bookings&per_page=2", path + "/bookings?per_page=2"},
		{"plain, trailing slash", "/index.php?" + plain + "/bookings/", path + "/bookings"},
		{"plain, root", "/?" + plain, path},
		{"plain, encoded slashes", "/?page=2&" + encoded + "bookings%2F17", path + "/bookings/17?page=2"},
		{"plain, deepest", "/?" + encoded + "orders%2F1%2Finvoices%2F2", path + "/orders/1/invoices/2"},
		{"plain, encoded space", "/?" + plain + "/coupons/A%20B", path + "/coupons/A%20B"},
		{"plain, other namespace", "/?rest_route=/wp/v2/posts", ""},
		{"plain, other version", "/?" + plain + "0/bookings", ""},
	}
	for name, start := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := make(chan proxiedRequest, 1)
			p := start(t, recordBookside(t, requests), recordPHP(t, requests), "")
			for _, test := range tests {
				p.send(t, http.MethodGet, test.uri, "")
				got := <-requests
				switch {
				case test.want == "" && got.at != "PHP", test.want != "" && got.at != "bookside":
					t.Errorf("%s: %s went to %s as %s", test.name, test.uri, got.at, got.uri)
				case test.want != "" && requested(t, got.uri) != test.want:
					t.Errorf("%s: %s arrived as %s, want %s", test.name, test.uri, got.uri, test.want)
				}
			}
			// Larger than Bookside's own limit, so that Bookside responds.
			p.send(t, http.MethodPost, path+"/bookings", strings.Repeat("a", 1<<20+1))
			got := <-requests
			addresses := strings.Split(got.header.Get("X-Forwarded-For"), ", ")
			if got.body != 1<<20+1 || addresses[len(addresses)-1] != "127.0.0.1" || got.header.Get("X-Forwarded-Proto") != p.scheme {
				t.Errorf("a large body arrived as %d bytes with %v", got.body, got.header)
			}
		})
	}
}

// TestConsoleBehindAProxy: who has logged in at the web server uses the console without a token, under the name that it
// has there, and nobody else does.
func TestConsoleBehindAProxy(t *testing.T) {
	t.Parallel()
	command := fixtures.RequireTool(t, "nginx")
	env := settingsFor(small(t), "BOOKSIDE_ADMIN__BASE_URL=https://bookings.example.com",
		"BOOKSIDE_ADMIN__TRUSTED_USER_HEADER=X-Forwarded-User", "BOOKSIDE_SERVER__TRUSTED_PROXIES=127.0.0.1")
	expect.Texts(t, run(t, env, "", "admin-token").want(t, exit.OK).stdout, "Open https://bookings.example.com/console and enter it")
	s := serve(t, env)
	folder := t.TempDir()
	certificate, trust := certify(t, folder)
	port, file := openPort(t)
	writeFile(t, folder, "htpasswd", "grace:{PLAIN}secret\nada:{PLAIN}secret\n")
	writeFile(t, folder, "console.conf", sample(t, "nginx/console.conf", "listen 443 ssl;", "listen "+port+" ssl;",
		"/etc/ssl/certs/bookings.example.com.pem", certificate, "/etc/ssl/private/bookings.example.com.key", certificate,
		"/etc/nginx/bookings.htpasswd", filepath.Join(folder, "htpasswd"), "127.0.0.1:8081", s.admin()))
	jar, err := cookiejar.New(nil)
	expect.NoError(t, err)
	p := &proxy{scheme: "https", address: port, client: &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, ServerName: "example.com"}}}}
	p.runNginx(t, command, folder, "include console.conf;", file)

	open := func(path, user string) (status int, body string) {
		request, err := p.request(t.Context(), http.MethodGet, path, "")
		expect.NoError(t, err)
		request.Host = "bookings.example.com"
		request.Header.Set("X-Forwarded-User", "forged") // which nginx replaces
		if user != "" {
			request.SetBasicAuth(user, "secret")
		}
		response, err := p.client.Do(request)
		expect.NoError(t, err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		expect.NoError(t, err)
		return response.StatusCode, string(content)
	}
	if status, _ := open("/console/keys", ""); status != http.StatusUnauthorized {
		t.Errorf("nobody: status %d", status)
	}
	for _, path := range []string{"/metrics", "/readyz", "/wordpress/keys"} {
		if status, _ := open(path, "grace"); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	for _, user := range []string{"grace", "ada"} {
		status, body := open("/console/keys/new", user)
		expect.Texts(t, body, "<h1>New key</h1>")
		if status != http.StatusOK || strings.Contains(body, "Log out") {
			t.Errorf("%s: status %d: %s", user, status, body)
		}
	}
}

// TestProxyLogsContainNoKey: however a key was sent to Bookside, neither the access log nor the error log
// contains it. Requests without one in the URL are logged.
func TestProxyLogsContainNoKey(t *testing.T) {
	t.Parallel()
	const path, secret = "/wp-json/latepoint-api/v1/bookings", "KEYofSomebody"
	// Each URI is logged at least up to the key.
	uris := []string{
		path + "?page=2&api_key=" + secret,
		path + "?api_key=" + secret + "&page=2",
		path + "?API_key=" + secret,
		"/wp-json/latepoint-api/v1/agents/3/calendar.ics?api_key=" + secret,
		path + "?api_key=" + secret + "&page=2&api_key=" + secret + "x&%61pi_key=" + secret,
		path + "?page=2&%61pi_key=" + secret,
		path + "?page=2&api%5Fkey=" + secret,
		path + "?page=2&%61%70%69%5f%6B%65%79=" + secret,
		path + "?api_key%3D" + secret,
		path + "?api_key[]=" + secret,
		path + "?api_key%5B0%5D=" + secret,
		path + "&api_key=" + secret,
		path + "?page=2;api_key=" + secret,
		path + "?a=1?api_key=" + secret,
		"/?rest_route=/latepoint-api/v1/bookings&api_key=" + secret,
		"/?api_key=" + secret + "&rest_route=/latepoint-api/v1/bookings",
		"/?rest_route=%2Flatepoint-api%2Fv1%2Fbookings&%61pi_key=" + secret,
		"/?rest_route=/latepoint-api/v1/bookings?api_key=" + secret,
		"/?rest_route=%2Flatepoint-api%2Fv1%2Fbookings%3Fapi_key%3D" + secret,
		// Bookside closes the connection.
		path + "/broken?api_key=" + secret,
		"/?rest_route=/latepoint-api/v1/broken&%61pi_key=" + secret,
	}
	// These reach PHP, and the first one is redirected there.
	others := []string{"/redirect?api_key=" + secret, "/wp-json/latepoint-api/v2/bookings?api_key=" + secret, "/?rest_route=/other/v1&api_key=" + secret}
	const plainPage, plainList = "/first-page?a=1", path + "?page=2&search=a%20b&date_from=2026-11-22"

	for name, start := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := uris
			if name != "nginx" { // whose log of requests to PHP is the site's own
				sent = slices.Concat(uris, others)
			}
			requests := make(chan proxiedRequest, 4*len(sent))
			p := start(t, recordBookside(t, requests), recordPHP(t, requests), "")
			p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			send := func(uri, referer string) {
				request, err := p.request(t.Context(), http.MethodPost, uri, "")
				expect.NoError(t, err)
				request.Header.Set("X-API-Key", secret)
				request.Header.Set("Authorization", "Bearer "+secret)
				request.Header.Set("Referer", referer)
				request.Close = true // Apache answers a broken response on a kept connection by closing it
				response, err := p.client.Do(request)
				expect.NoError(t, err)
				expect.NoError(t, response.Body.Close())
			}
			for _, uri := range sent {
				send(uri, "https://example.com"+uri)
			}
			send(plainList, "https://example.com"+plainPage)

			log := ""
			(&testServer{t: t, stderr: p.stderr}).eventually("the log of the last request", func() bool {
				log = p.logged(t)
				return strings.Contains(log, plainList) && strings.Contains(log, plainPage)
			})
			for line := range strings.Lines(log) {
				expect.NoTexts(t, line, secret)
			}
			if name == "nginx" { // which leaves such requests out
				return
			}
			for _, uri := range sent {
				before, _, _ := strings.Cut(uri, secret)
				if strings.Count(log, before+"***") < 2 { // the URL and the referrer
					t.Errorf("%s*** is not logged", before)
				}
			}
		})
	}
}

// requested returns what a URI asks Bookside for: a path, with rest_route or without, and the rest of the query.
func requested(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	expect.NoError(t, err)
	query := u.Query()
	route := query.Get("rest_route")
	if route == "" {
		return uri
	}
	if u.Path == "/" || u.Path == "/index.php" {
		u.Path, u.RawPath = "/wp-json"+route, ""
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	query.Del("rest_route")
	u.RawQuery = query.Encode()
	return u.String()
}

// recordBookside starts a stand-in for Bookside and returns its address.
func recordBookside(t *testing.T, into chan<- proxiedRequest) string {
	t.Helper()
	server := httptest.NewServer(record("bookside", into))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// recordPHP starts a stand-in for PHP and returns its socket.
func recordPHP(t *testing.T, into chan<- proxiedRequest) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "php")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	expect.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = fcgi.Serve(listener, record("PHP", into)) // ends with the listener
	}()
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	return socket
}

func record(at string, into chan<- proxiedRequest) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/redirect":
			w.Header().Set("Location", "/elsewhere?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		case strings.Contains(r.RequestURI, "/broken"):
			panic(http.ErrAbortHandler)
		}
		n, _ := io.Copy(io.Discard, r.Body) // the test checks n, not the error
		into <- proxiedRequest{at, r.RequestURI, r.Header, int(n)}
	})
}

// proxy is a running proxy with a sample configuration from docker/.
type proxy struct {
	scheme, address string
	client          *http.Client
	plain           string // address without TLS; "" if there is no other
	stderr          *fixtures.Buffer
	logs            string   // directory of its logs; "" if it logs to stderr
	check           []string // the command that examines its configuration
}

// logged returns everything that the proxy has logged so far.
func (p *proxy) logged(t *testing.T) string {
	t.Helper()
	all := p.stderr.String()
	for _, name := range []string{"access.log", "error.log", "rest.log"} {
		if p.logs == "" {
			break
		}
		content, err := os.ReadFile(filepath.Join(p.logs, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all += string(content)
	}
	return all
}

// request returns a request with exactly this URI.
func (p *proxy) request(ctx context.Context, method, uri, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.scheme+"://"+p.address+uri, strings.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func (p *proxy) send(t *testing.T, method, uri, body string) {
	t.Helper()
	request, err := p.request(t.Context(), method, uri, body)
	expect.NoError(t, err)
	response, err := p.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, uri, err, p.stderr)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d, %v\n%s", method, uri, response.StatusCode, err, p.stderr)
	}
}

// sample returns a file of docker/ with some texts replaced; it must contain all of them.
func sample(t *testing.T, name string, replaced ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docker", filepath.FromSlash(name)))
	expect.NoError(t, err)
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(string(content), replaced[i]) {
			t.Fatalf("%s has no %q", name, replaced[i])
		}
	}
	return strings.NewReplacer(replaced...).Replace(string(content))
}

// startNginx starts nginx with its samples, in front of Bookside at an address and PHP
// at a socket.
func startNginx(t *testing.T, bookside, php, line string) *proxy {
	t.Helper()
	command := fixtures.RequireTool(t, "nginx")
	folder := t.TempDir()
	certificate, trust := certify(t, folder)
	// nginx inherits open listeners, as it does from its own predecessor on an upgrade,
	// so the ports are free.
	plain, plainFile := openPort(t)
	port, portFile := openPort(t)
	write := func(name, content string) { writeFile(t, folder, name, content) }
	write("html/index.php", "")
	write("fastcgi_params", `
fastcgi_param REQUEST_METHOD  $request_method;
fastcgi_param REQUEST_URI     $request_uri;
fastcgi_param SERVER_PROTOCOL $server_protocol;
`)
	write("snippets/bookside-routes.conf", sample(t, "nginx/bookside-routes.conf", "127.0.0.1:8080", bookside))
	const own = "include snippets/bookside-routes.conf;"
	write("site.conf", sample(t, "nginx/site.conf", own, cmp.Or(line, own),
		"listen 80;", "listen "+plain+";", "listen 443 ssl;", "listen "+port+" ssl;",
		"/etc/ssl/certs/example.com.pem", certificate, "/etc/ssl/private/example.com.key", certificate,
		"/var/www/html", filepath.Join(folder, "html"), "/run/php/php-fpm.sock", php))
	p := &proxy{scheme: "https", address: port, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trust, ServerName: "example.com"}, MaxIdleConnsPerHost: 64,
	}}, logs: folder, plain: plain, check: []string{command, "-p", folder, "-e", "stderr", "-c", "nginx.conf", "-t"}}
	p.runNginx(t, command, folder, "include site.conf;", plainFile, portFile)
	return p
}

// runNginx runs nginx in a folder, with open ports.
func (p *proxy) runNginx(t *testing.T, command, folder, includes string, ports ...*os.File) {
	t.Helper()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the workers need access to the test's directory
	}
	writeFile(t, folder, "nginx.conf", user+`
daemon off;
pid pid;
error_log stderr;
events {}
http {
    access_log rest.log; # whatever the samples leave to it
    client_body_temp_path body;
    fastcgi_temp_path fastcgi;
    proxy_temp_path proxy;
    scgi_temp_path scgi;
    uwsgi_temp_path uwsgi;
    `+includes+`
}
`)
	nginx := exec.CommandContext(t.Context(), command, "-p", folder, "-e", "stderr", "-c", "nginx.conf")
	nginx.ExtraFiles = ports
	inherited := "NGINX="
	for i := range ports {
		inherited += fmt.Sprintf("%d;", 3+i)
	}
	nginx.Env = []string{inherited}
	p.run(t, nginx)
}

func writeFile(t *testing.T, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, name)
	expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// startApache starts Apache with its samples.
func startApache(t *testing.T, bookside, php, line string) *proxy {
	t.Helper()
	command := fixtures.RequireTool(t, "apache2")
	folder := t.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { // the workers are another user
		t.Fatal(err)
	}
	certificate, trust := certify(t, folder)
	plain, port := freeAddress(t), freeAddress(t) // Apache takes no open ports
	write := func(name, content string) {
		expect.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	expect.NoError(t, os.Mkdir(filepath.Join(folder, "html"), 0o755))
	write("html/index.php", "")
	write("bookside-routes.conf", sample(t, "apache/bookside-routes.conf", "127.0.0.1:8080", bookside))
	const own = "\n    Include bookside-routes.conf\n"
	write("site.conf", sample(t, "apache/site.conf", own, cmp.Or(line, own), "*:80", plain, "*:443", port,
		"/etc/ssl/certs/example.com.pem", certificate, "/etc/ssl/private/example.com.key", certificate,
		"/var/www/html", filepath.Join(folder, "html"), "/run/php/php-fpm.sock", php))
	var modules strings.Builder
	for _, name := range []string{"mpm_event", "authz_core", "alias", "dir", "env", "headers", "proxy", "proxy_fcgi", "proxy_http", "rewrite", "setenvif", "socache_shmcb", "ssl"} {
		fmt.Fprintf(&modules, "LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so\n", name)
	}
	write("apache2.conf", modules.String()+`
ServerRoot `+folder+`
ServerName example.com
DefaultRuntimeDir `+folder+`
PidFile pid
User www-data
Group www-data
Listen `+plain+`
Listen `+port+`
Define APACHE_LOG_DIR `+folder+`
ErrorLog rest.log
LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined
Include site.conf
`)
	expect.NoError(t, os.Chmod(php, 0o777))
	p := &proxy{scheme: "https", address: port, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trust, ServerName: "example.com"}, MaxIdleConnsPerHost: 64,
	}}, logs: folder, plain: plain, check: []string{command, "-d", folder, "-f", "apache2.conf", "-t"}}
	p.run(t, exec.CommandContext(t.Context(), command, "-d", folder, "-f", "apache2.conf", "-DFOREGROUND"))
	p.eventuallyListens(t)
	return p
}

// startCaddy starts Caddy with its sample, in front of Bookside at an address and PHP at a socket. It has
// no certificate, because it would try to get one from the internet.
func startCaddy(t *testing.T, bookside, php, line string) *proxy {
	t.Helper()
	command := fixtures.RequireTool(t, "caddy")
	folder := t.TempDir()
	port := freeAddress(t) // Caddy takes no open port
	write := func(name, content string) (path string) {
		path = filepath.Join(folder, name)
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("index.php", "")
	write("bookside-log.caddy", sample(t, "caddy/bookside-log.caddy"))
	write("bookside-routes.caddy", sample(t, "caddy/bookside-routes.caddy", "127.0.0.1:8080", bookside))
	const own = "\timport bookside-routes.caddy\n"
	path := write("Caddyfile", sample(t, "caddy/Caddyfile", own, cmp.Or(line, own), "\n{\n", "\n{\n\tadmin off\n", "\nexample.com {", "\nhttp://"+port+" {",
		"/var/www/html", folder, "/run/php/php-fpm.sock", php))
	p := &proxy{scheme: "http", address: port, client: &http.Client{Transport: &http.Transport{}}, check: []string{command, "adapt", "--adapter", "caddyfile", "--config", path}}
	caddy := exec.CommandContext(t.Context(), command, "run", "--adapter", "caddyfile", "--config", path)
	caddy.Env = []string{"HOME=" + folder}
	p.run(t, caddy)
	p.eventuallyListens(t)
	return p
}

// eventuallyListens waits for the proxy's port.
func (p *proxy) eventuallyListens(t *testing.T) {
	t.Helper()
	(&testServer{t: t, stderr: p.stderr}).eventually("the proxy to listen", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.address)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// run starts the proxy and stops it at the end of the test.
func (p *proxy) run(t *testing.T, command *exec.Cmd) {
	t.Helper()
	p.stderr = &fixtures.Buffer{}
	command.Stderr = p.stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	expect.NoError(t, command.Start())
	for _, file := range command.ExtraFiles {
		expect.Succeeded(t, file.Close())
	}
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		_ = command.Wait() // it was interrupted when the test's context ended
	})
}

// openPort returns a port that is open but does not accept connections yet.
func openPort(t *testing.T) (address string, file *os.File) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	file, err = listener.(*net.TCPListener).File()
	expect.NoError(t, err)
	expect.NoError(t, listener.Close())
	return listener.Addr().String(), file
}

// certify writes a certificate for example.com and its key to one file.
func certify(t *testing.T, folder string) (path string, trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	expect.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	expect.NoError(t, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	path = filepath.Join(folder, "certificate.pem")
	expect.NoError(t, os.WriteFile(path, text, 0o600))
	trust = x509.NewCertPool()
	if !trust.AppendCertsFromPEM(text) {
		t.Fatal("the certificate cannot be read back")
	}
	return path, trust
}
