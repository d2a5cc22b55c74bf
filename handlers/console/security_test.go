package console_test

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
)

// TestLogin: a token works once and until it expires, a session until it expires, and nothing works without
// a session.
func TestLogin(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.visitor()
	for _, path := range []string{"/console/keys", "/console/keys/new", "/console/keys/1", "/console/keys/1/revoke", "/console/keys/99"} {
		v.open(path).leadsTo("/console/login")
	}
	for _, path := range []string{"/console/keys/new", "/console/keys/1", "/console/keys/1/revoke", "/console/logout"} {
		v.post(path, url.Values{"name": {"x"}, "permissions": {"read"}}).says(http.StatusForbidden, "Your session has expired", "Nothing was changed.")
	}
	v.open("/console/login").says(http.StatusOK, "bookside admin-token")
	for _, wrong := range []string{"", "x", k.key, strings.Repeat("A", 32)} {
		v.post("/console/login", url.Values{"token": {wrong}}).says(http.StatusForbidden, "wrong, already used or expired", `aria-invalid="true"`)
	}
	token := k.token()
	v.post("/console/login", url.Values{"token": {" " + strings.ToLower(token) + "\n"}}).leadsTo("/console")
	v.open("/console/keys").says(http.StatusOK, "Keys and calendars")
	v.open("/console/login").leadsTo("/console")
	other := k.visitor()
	other.post("/console/login", url.Values{"token": {token}}).says(http.StatusForbidden, "wrong, already used or expired")
	other.open("/console/keys").leadsTo("/console/login")

	late := k.token()
	k.clock = now.Add(keys.LoginTokenLife)
	other.post("/console/login", url.Values{"token": {late}}).says(http.StatusForbidden, "wrong, already used or expired")
	k.clock = now.Add(keys.AdminSessionLife - time.Second)
	v.open("/console/keys").says(http.StatusOK)
	k.clock = now.Add(keys.AdminSessionLife)
	v.open("/console/keys").leadsTo("/console/login")
}

// TestLogoutEndsTheSession: after a logout a copy of the cookie is useless.
func TestLogoutEndsTheSession(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	address, err := url.Parse(k.admin.URL + "/console/keys")
	expect.NoError(t, err)
	stolen := v.client.Jar.Cookies(address)
	if len(stolen) != 1 {
		t.Fatalf("%d cookies", len(stolen))
	}
	thief := k.visitor()
	thief.client.Jar.SetCookies(address, stolen)
	thief.open("/console/keys").says(http.StatusOK)
	v.post("/console/logout", v.open("/console/keys").form("/console/logout")).leadsTo("/console/login")
	expect.Equal(t, 0, len(v.client.Jar.Cookies(address)), "cookies that the browser keeps")
	thief.open("/console/keys").leadsTo("/console/login")
}

// TestEveryServerKnowsSessionsAndTokens: sessions and tokens are valid on another server, and therefore
// after a restart; of several logins with one token one succeeds.
func TestEveryServerKnowsSessionsAndTokens(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	first, second := serve(t, database), serve(t, database)
	v := first.login()
	here, err := url.Parse(first.admin.URL + "/console/keys")
	expect.NoError(t, err)
	there, err := url.Parse(second.admin.URL + "/console/keys")
	expect.NoError(t, err)
	moved := second.visitor()
	moved.client.Jar.SetCookies(there, v.client.Jar.Cookies(here))
	moved.open("/console/keys").says(http.StatusOK)

	token := first.token()
	var wait sync.WaitGroup
	statuses := make(chan int, 8)
	for i := range cap(statuses) {
		visitor := []*consoleServer{first, second}[i%2].visitor()
		wait.Go(func() { statuses <- visitor.post("/console/login", url.Values{"token": {token}}).status })
	}
	wait.Wait()
	close(statuses)
	succeeded := 0
	for status := range statuses {
		switch status {
		case http.StatusSeeOther:
			succeeded++
		case http.StatusForbidden:
		default:
			t.Errorf("status %d", status)
		}
	}
	expect.Equal(t, 1, succeeded, "logins with one token")
}

// TestLoginsAreLimited: after some attempts, wrong tokens from an address are refused until the minute
// ends. A valid one is accepted, and sessions continue.
func TestLoginsAreLimited(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v, guesser := k.login(), k.visitor()
	for range 19 {
		guesser.post("/console/login", url.Values{"token": {"guess"}}).says(http.StatusForbidden)
	}
	rejected := guesser.post("/console/login", url.Values{"token": {"guess"}}).says(http.StatusTooManyRequests, "Wait a minute.")
	expect.Equal(t, "60", rejected.header.Get("Retry-After"), "Retry-After")
	v.open("/console/keys").says(http.StatusOK)
	k.visitor().post("/console/login", url.Values{"token": {k.token()}}).leadsTo("/console")
	k.clock = now.Add(time.Minute)
	guesser.post("/console/login", url.Values{"token": {"guess"}}).says(http.StatusForbidden)
}

// TestLoginAtTheProxy: a trusted proxy names who uses the console; nobody else does, and only one name counts.
func TestLoginAtTheProxy(t *testing.T) {
	t.Parallel()
	proxyAt := func(network string) func(*console.Site) {
		_, peers, err := net.ParseCIDR(network)
		expect.NoError(t, err)
		return func(s *console.Site) {
			s.Proxy = console.Proxy{Address: "https://bookings.example.com", UserHeader: "X-User", Networks: []*net.IPNet{peers}}
		}
	}
	database := fixtures.New(t, fixtures.Small(now))
	k := serveSite(t, database, proxyAt("127.0.0.0/8"))
	as := func(names ...string) http.Header { return http.Header{"X-User": names} }
	v := k.visitor()
	opened := v.ask(http.MethodGet, "/console/keys/new", as("Grace Hopper"), nil)
	opened.says(http.StatusOK, "New key")
	cookies := (&http.Response{Header: opened.header}).Cookies()
	if len(cookies) != 1 || !cookies[0].Secure || !cookies[0].HttpOnly {
		t.Fatalf("cookies %v", cookies)
	}
	header := as("Grace Hopper")
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	header.Set("Cookie", cookies[0].Name+"="+cookies[0].Value) // the jar sends it only by https
	form := merge(opened.form("/console/keys/new"), url.Values{"name": {"front desk"}, "permissions": {"read"}})
	created := v.ask(http.MethodPost, "/console/keys/new", header, form)
	created.says(http.StatusOK, "front desk")
	expect.Equal(t, 0, len((&http.Response{Header: created.header}).Cookies()), "cookies of another session")
	k.login().open("/console/keys").says(http.StatusOK, "Grace Hopper")
	// Somebody else at the same browser gets a session of their own, in which a form of the first is not valid.
	header.Set("X-User", "ada")
	v.ask(http.MethodPost, "/console/keys/new", header, form).says(http.StatusForbidden, "from an earlier login")

	// The session ends with the header, whoever has its cookie.
	header.Del("X-User")
	v.ask(http.MethodGet, "/console/keys", header, nil).leadsTo("/console/login")
	serve(t, database).visitor().ask(http.MethodGet, "/console/keys", header, nil).leadsTo("/console/login")

	for name, sent := range map[string]http.Header{
		"none": {}, "empty": as(""), "two": as("grace", "ada"), "too long": as(strings.Repeat("x", keys.MaxPerson+1)), "not UTF-8": as("\xff"),
	} {
		if got := k.visitor().ask(http.MethodGet, "/console/keys", sent, nil); got.header.Get("Location") != "/console/login" {
			t.Errorf("%s: status %d", name, got.status)
		}
	}
	if log := k.pages.String(); strings.Count(log, "it must replace what a browser sends") != 1 || strings.Contains(log, "Grace") {
		t.Errorf("log: %s", log)
	}
	serveSite(t, database, proxyAt("192.0.2.0/24")).visitor().ask(http.MethodGet, "/console/keys", as("grace"), nil).leadsTo("/console/login")
	serve(t, database).visitor().ask(http.MethodGet, "/console/keys", as("grace"), nil).leadsTo("/console/login")
}

// TestSessionCookie checks the attributes of the cookie.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	for origin, secure := range map[string]bool{"": false, "http://": false, "https://": true} {
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		if origin != "" {
			header.Set("Origin", origin+strings.TrimPrefix(k.admin.URL, "http://"))
		}
		answer := k.visitor().ask(http.MethodPost, "/console/login", header, url.Values{"token": {k.token()}})
		answer.leadsTo("/console")
		response := http.Response{Header: answer.header}
		cookies := response.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d cookies", len(cookies))
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console" || c.Domain != "" || c.MaxAge != 3600 || len(c.Value) != 32 || c.Secure != secure {
			t.Errorf("origin %q: %v", origin, c)
		}
	}
}

// TestForeignFormsAreRejected: forms from other origins change nothing, even with
// the session's cookie.
func TestForeignFormsAreRejected(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v, other := k.login(), k.login()
	const formType = "application/x-www-form-urlencoded"
	paths := map[string]url.Values{
		"/console/keys/new":      {"name": {"evil"}, "kind": {"live"}, "permissions": {"write"}, "nonce": {"x"}},
		"/console/keys/1":        {"name": {"evil"}, "permissions": {"write"}},
		"/console/keys/1/revoke": {},
		"/console/logout":        {},
	}
	foreign := other.open("/console/keys").form("/console/logout").Get("csrf")
	for path, form := range paths {
		for name, csrf := range map[string][]string{"none": nil, "empty": {""}, "of another session": {foreign}, "cut": {foreign[:10]}} {
			sent := v.post(path, merge(form, url.Values{"csrf": csrf}))
			if path == "/console/logout" {
				sent.leadsTo("/console") // where the form can be submitted again
				continue
			}
			sent.says(http.StatusForbidden, "from an earlier login")
			if name == "none" && path == "/console/keys/new" {
				sent.says(http.StatusForbidden, `value="evil"`)
			}
		}
		// A valid token does not help a page of another origin.
		right := merge(form, url.Values{"csrf": {v.open("/console/keys").form("/console/logout").Get("csrf")}})
		for name, header := range map[string]http.Header{
			"cross-site":      {"Sec-Fetch-Site": {"cross-site"}},
			"another port":    {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://127.0.0.1:1"}},
			"older browser":   {"Origin": {"https://evil.example"}},
			"another scheme":  {"Origin": {"null"}},
			"port, no signal": {"Origin": {"http://127.0.0.1:1"}},
		} {
			header.Set("Content-Type", formType)
			expect.Equal(t, http.StatusForbidden, v.ask(http.MethodPost, path, header, right).status, path, ", ", name, ": status")
		}
	}
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}} {
		header.Set("Content-Type", formType)
		expect.Equal(t, http.StatusForbidden, k.visitor().ask(http.MethodPost, "/console/login", header, url.Values{"token": {k.token()}}).status, "a login from elsewhere: status")
	}
	v.open("/console/keys").says(http.StatusOK)
	keys, err := k.keys.List(t.Context())
	if err != nil || len(keys) != 1 || keys[0].Name != "TestForeignFormsAreRejected" || keys[0].Revoked {
		t.Errorf("%+v, %v", keys, err)
	}
	// Opening a page changes nothing.
	for path := range paths {
		v.ask(http.MethodHead, path, nil, nil)
	}
	v.open("/console/logout").says(http.StatusNotFound, "There is no such page")
	v.open("/console/keys").says(http.StatusOK)
	// The same from the page's own origin.
	own := http.Header{"Content-Type": {formType}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {k.admin.URL}}
	v.ask(http.MethodPost, "/console/keys/1/revoke", own, v.open("/console/keys/1/revoke").form("/console/keys/1/revoke")).leadsTo("/console/keys?done=revoked&id=1")
}

// TestDNSRebindingIsRejected: requests with an unknown Host are rejected before anything happens; those
// with an IP address or localhost are accepted.
func TestDNSRebindingIsRejected(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)), "Keys.example.com")
	v := k.login()
	for host, served := range map[string]bool{
		"localhost": true, "localhost:8081": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.0.0.1:8081": true, "[::1]": true, "[::1]:8081": true,
		"192.0.2.7:8081": true, "keys.example.com": true, "keys.example.com:443": true, "KEYS.EXAMPLE.COM": true,
		"evil.example": false, "evil.example:8081": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "evil-localhost": false,
		"notkeys.example.com": false, "keys.example.com.evil.example": false, "127.1": false, "0x7f.0.0.1": false, "localhost.": false, "localhost:80:80": false,
	} {
		for _, path := range []string{"/console/keys", "/console/login", "/console/style.css"} {
			got := v.ask(http.MethodGet, path, http.Header{"Host": {host}}, nil)
			if (got.status == http.StatusMisdirectedRequest) == served {
				t.Errorf("%s at %q: status %d", path, host, got.status)
			}
			if !served && (strings.Contains(got.text, host) || strings.Contains(got.text, "Keys and calendars")) {
				t.Errorf("%q gets: %s", host, got.text)
			}
		}
	}
	// A rebound page cannot use up the token.
	token := k.token()
	rebound := http.Header{"Host": {"evil.example"}, "Origin": {"http://evil.example"}, "Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"application/x-www-form-urlencoded"}}
	k.visitor().ask(http.MethodPost, "/console/login", rebound, url.Values{"token": {token}}).want(http.StatusMisdirectedRequest)
	k.visitor().post("/console/login", url.Values{"token": {token}}).leadsTo("/console")
}

// TestNamesAreEscaped: names are escaped on every page.
func TestNamesAreEscaped(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	const name = `"><script>alert(1)</script><img src=x onerror=alert(2)> ' {{.}} &lt;b&gt;`
	v := k.login()
	v.fill("/console/keys/new", url.Values{"name": {name}, "permissions": {"read"}}).says(http.StatusOK, name)
	pages := []page{
		v.open("/console/keys"), v.open("/console/keys/2"), v.open("/console/keys/2/revoke"),
		v.fill("/console/keys/new", url.Values{"name": {name}, "kind": {name}, "networks": {name}, "expires": {name}, "per_minute": {name}, "per_hour": {name}, "permissions": {name}}),
		v.post("/console/keys/new", url.Values{"name": {name}, "nonce": {name}, "csrf": {name}, "version": {name}}),
		v.fill("/console/keys/2", url.Values{"name": {""}, "networks": {name}, "permissions": {name}}),
		v.open("/console/keys?done=" + url.QueryEscape(name) + "&id=" + url.QueryEscape(name)),
		v.open("/console/keys/" + url.PathEscape(name)),
		v.post("/console/login", url.Values{"token": {name}}),
	}
	for _, p := range pages {
		for _, evil := range []string{"<script>", "<img src=x", "onerror=alert(2)>"} {
			expect.NoTexts(t, string(p.body), evil)
		}
	}
	pages[0].says(http.StatusOK, name)
}

// TestSecurityHeaders: no page can be cached or framed, or load anything from elsewhere.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	for path, contentType := range map[string]string{
		"/console/keys": "text/html; charset=utf-8", "/console/keys/new": "text/html; charset=utf-8", "/console/keys/1": "text/html; charset=utf-8", "/console/keys/77": "text/html; charset=utf-8",
		"/console/style.css": "text/css; charset=utf-8", "/console/script.js": "text/javascript; charset=utf-8", "/console/icon.svg": "image/svg+xml", "/console/login": "",
		"/console/": "text/html; charset=utf-8", "/console/keys/a/b": "text/html; charset=utf-8",
	} {
		t.Run(path, func(t *testing.T) {
			p := v.open(path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Content-Type": contentType,
				"Content-Security-Policy":    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := p.header.Get(name); got != want && (name != "Content-Type" || want != "") {
					t.Errorf("%s: %s %q, want %q", path, name, got, want)
				}
			}
			for _, foreign := range []string{"http://", "https://", " style=", " onclick=", "<style", "javascript:"} {
				if contentType == "text/html; charset=utf-8" && strings.Contains(p.text, foreign) {
					t.Errorf("%s holds %s", path, foreign)
				}
			}
		})
	}
}

// TestSecretsAreShownOnce: a key appears on the page that creates it and nowhere
// else, neither in the database nor in the log; tokens and sessions appear nowhere.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	v := k.visitor()
	token := k.token()
	login := v.post("/console/login", url.Values{"token": {token}})
	login.leadsTo("/console")
	response := http.Response{Header: login.header}
	session := response.Cookies()[0].Value
	created := v.fill("/console/keys/new", url.Values{"name": {"secret one"}, "permissions": {"read"}})
	key := created.secret()
	again := k.visitor().post("/console/login", url.Values{"token": {token}})
	v.fill("/console/keys/2", url.Values{"name": {"secret two"}})
	seen := again.text + v.open("/console/keys").text + v.open("/console/keys/2").text + v.open("/console/keys/2/revoke").text + v.open("/console/keys/new").text
	v.fill("/console/keys/2/revoke", nil)
	database.Execute(t, "RENAME TABLE wp_bookside_api_keys TO elsewhere")
	seen += v.fill("/console/keys/new", url.Values{"name": {"secret three"}, "permissions": {"read"}}).says(http.StatusServiceUnavailable, "secret three").text
	database.Execute(t, "RENAME TABLE elsewhere TO wp_bookside_api_keys")
	seen += k.pages.String() + k.log.String()
	rows, err := database.SQL.QueryContext(t.Context(), "SELECT CONCAT(token_hash, purpose, expires_at) FROM wp_bookside_admin_tokens UNION SELECT CONCAT(key_hash, name, key_start, last_four) FROM wp_bookside_api_keys")
	expect.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var row string
		expect.NoError(t, rows.Scan(&row))
		seen += row
	}
	expect.NoError(t, rows.Err())
	for _, secret := range []string{key[8:], key[20:], token, session} {
		expect.NoTexts(t, strings.ToLower(seen), strings.ToLower(secret))
	}
	if strings.Contains(created.text, session) || strings.Contains(k.pages.String(), "secret one") {
		t.Error("the session is in the page, or a name in the log")
	}
}

// TestPageWithoutDatabase: the page says that the database is not open or unusable, and keeps the input.
func TestPageWithoutDatabase(t *testing.T) {
	t.Parallel()
	closed := monitor.NewAdmin(slog.New(slog.DiscardHandler), nil)
	closed.Mount(console.Path, console.New(fixedClock, slog.New(slog.DiscardHandler), nil))
	for path, status := range map[string]int{"/console/keys": 503, "/console/login": 503, "/console/keys/new": 503, "/console/style.css": 200} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		request.Host = "localhost"
		closed.ServeHTTP(recorder, request)
		if recorder.Code != status || status == 503 && (!strings.Contains(recorder.Body.String(), "not open yet") || recorder.Header().Get("Retry-After") == "") {
			t.Errorf("%s: %d %s", path, recorder.Code, recorder.Body)
		}
	}

	k, database := serveSmall(t)
	v := k.login()
	form := merge(v.open("/console/keys/new").form("/console/keys/new"), url.Values{"name": {"typed"}, "permissions": {"read"}})
	database.Execute(t, "RENAME TABLE wp_bookside_api_keys TO elsewhere")
	v.open("/console/keys").says(http.StatusOK, "No key is in use.") // no key was ever created
	failed := v.post("/console/keys/new", form).says(http.StatusServiceUnavailable, "cannot be used at the moment", `value="typed"`)
	expect.Equal(t, "5", failed.header.Get("Retry-After"), "Retry-After")
	database.Execute(t, "RENAME TABLE elsewhere TO wp_bookside_api_keys")
	v.post("/console/keys/new", failed.form("/console/keys/new")).says(http.StatusOK).secret()
	database.Execute(t, "DROP TABLE wp_bookside_admin_tokens")
	v.open("/console/keys").leadsTo("/console/login")
	v.open("/console/login").says(http.StatusOK)
	v.post("/console/login", url.Values{"token": {"x"}}).says(http.StatusForbidden)
}

// TestFormsAreLimited: forms over the limit are rejected.
func TestFormsAreLimited(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	v.fill("/console/keys/new", url.Values{"name": {strings.Repeat("x", 70_000)}}).says(http.StatusBadRequest, "cannot be read")
	v.post("/console/login", url.Values{"token": {strings.Repeat("x", 70_000)}}).says(http.StatusForbidden)
}
