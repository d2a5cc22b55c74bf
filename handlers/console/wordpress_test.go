package console_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// companion sends requests as WordPress does.
type companion struct {
	*consoleServer
	secret string
	site   string // its fingerprint
}

// fromWordPress returns a companion that the server knows.
func (k *consoleServer) fromWordPress(database *fixtures.Database) *companion {
	k.t.Helper()
	database.Execute(k.t, "INSERT INTO wp_bookside_change_positions (name, signature) VALUES ('site', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')")
	db := openDatabase(k.t, database)
	expect.NoError(k.t, extensions.MakeSharedSecret(k.t.Context(), db, fixedClock, rand.Reader))
	secret, err := extensions.SharedSecret(k.t.Context(), db)
	expect.NoError(k.t, err)
	site, err := session.NewPlatform(db, fixedClock).Fingerprint(k.t.Context())
	if err != nil || site == "" {
		k.t.Fatalf("fingerprint %q, %v", site, err)
	}
	return &companion{k, secret, site}
}

// newCompanion returns the companion of a new small site.
func newCompanion(t *testing.T) (*companion, *fixtures.Database) {
	t.Helper()
	k, database := serveSmall(t)
	return k.fromWordPress(database), database
}

// request returns a request and its signed content.
func (c *companion) request(path string, question any) (*http.Request, extensions.SignedRequest) {
	c.t.Helper()
	body, err := json.Marshal(question)
	expect.NoError(c.t, err)
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.admin.URL+path, bytes.NewReader(body))
	expect.NoError(c.t, err)
	request.Header.Set("Content-Type", "application/json")
	nonce := make([]byte, 16)
	_, err = rand.Read(nonce)
	expect.NoError(c.t, err)
	return request, extensions.SignedRequest{
		Receiver: extensions.ToServer, Site: c.site, Method: http.MethodPost, Target: path, Body: body, At: c.clock, Nonce: hex.EncodeToString(nonce),
	}
}

// send sends a request and reads the answer.
func (c *companion) send(request *http.Request) response {
	c.t.Helper()
	answer, err := c.admin.Client().Do(request)
	expect.NoError(c.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	expect.NoError(c.t, err)
	return response{t: c.t, status: answer.StatusCode, header: answer.Header, body: body}
}

// ask sends a signed question. A page and a report are signed, too.
func (c *companion) ask(path string, question any) response {
	c.t.Helper()
	request, content := c.request(path, question)
	request.Header.Set(extensions.SignatureHeader, content.Header(c.secret))
	answer := c.send(request)
	if got, want := answer.header.Get(extensions.SignatureHeader), content.AnswerHeader(c.secret, answer.status, answer.body); got != want && (got != "" || answer.status == http.StatusOK) {
		c.t.Errorf("%s: the answer is signed %q, want %q", path, got, want)
	}
	return answer
}

// framed is what the companion prints, or where it sends the browser.
type framed struct{ Title, Content, Location string }

const wpAdmin = "https://site.example/wp-admin/admin.php?page=bookside"

// look asks for a page in the name of a user of WordPress, by POST if there is a form.
func (c *companion) look(status int, path string, form url.Values, texts ...string) framed {
	c.t.Helper()
	return c.lookAs(status, map[string]any{"path": path, "form": form}, texts...)
}

func (c *companion) lookAs(status int, question map[string]any, texts ...string) (f framed) {
	c.t.Helper()
	method := http.MethodGet
	if form, ok := question["form"].(url.Values); ok && form != nil {
		method, question["form"] = http.MethodPost, form.Encode()
	} else {
		delete(question, "form")
	}
	for name, value := range map[string]any{"method": method, "user_id": 7, "login": "ada", "language": "en-US", "address": wpAdmin, "nonce": "n0nce"} {
		if _, set := question[name]; !set {
			question[name] = value
		}
	}
	answer := c.ask("/wordpress/page", question)
	expect.NoError(c.t, json.Unmarshal(answer.contains(status).body, &f))
	expect.Texts(c.t, f.Content, texts...)
	return f
}

// hidden returns the value of a field of a form that nobody sees.
func (f framed) hidden(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(f.Content)
	if found == nil {
		t.Fatalf("no %s in %s", name, f.Content)
	}
	return found[1]
}

// contains fails the test unless a response has these texts.
func (r response) contains(status int, texts ...string) response {
	r.t.Helper()
	r.want(status)
	expect.Texts(r.t, string(r.body), texts...)
	return r
}

// newKey asks for a new key.
var newKey = map[string]any{"method": http.MethodPost, "path": "/keys/new", "form": "nonce=x&name=forged&kind=live&permissions=read&preset=custom", "login": "eve", "address": wpAdmin}

// TestOnlyWordPressIsAnswered: without a current signature of exactly this request with this site's secret,
// nothing is done or revealed, and a request is served once.
func TestOnlyWordPressIsAnswered(t *testing.T) {
	t.Parallel()
	c, _ := newCompanion(t)
	for name, change := range map[string]func(r *http.Request, content *extensions.SignedRequest, secret *string){
		"a wrong secret": func(_ *http.Request, _ *extensions.SignedRequest, secret *string) { *secret = strings.Repeat("0", 64) },
		"no secret":      func(_ *http.Request, _ *extensions.SignedRequest, secret *string) { *secret = "" },
		"another body":   func(_ *http.Request, content *extensions.SignedRequest, _ *string) { content.Body = []byte("{}") },
		"another path": func(_ *http.Request, content *extensions.SignedRequest, _ *string) {
			content.Target = "/wordpress/report"
		},
		"another query":  func(r *http.Request, _ *extensions.SignedRequest, _ *string) { r.URL.RawQuery = "q=x" },
		"another method": func(_ *http.Request, content *extensions.SignedRequest, _ *string) { content.Method = http.MethodPut },
		"a copy of the site": func(_ *http.Request, content *extensions.SignedRequest, _ *string) {
			content.Site = strings.Repeat("0", 16)
		},
		"sent back": func(_ *http.Request, content *extensions.SignedRequest, _ *string) {
			content.Receiver = extensions.WordPress
		},
		"a minute and more": func(_ *http.Request, content *extensions.SignedRequest, _ *string) {
			content.At = now.Add(-61 * time.Second)
		},
		"a minute from now": func(_ *http.Request, content *extensions.SignedRequest, _ *string) {
			content.At = now.Add(61 * time.Second)
		},
		"a nonce of no form": func(_ *http.Request, content *extensions.SignedRequest, _ *string) { content.Nonce = "short" },
		"a page of a browser": func(r *http.Request, _ *extensions.SignedRequest, _ *string) {
			r.Header.Set("Origin", "https://evil.example")
		},
		"a key of the API": func(r *http.Request, _ *extensions.SignedRequest, secret *string) {
			r.Header.Set("X-Api-Key", c.key)
			*secret = "x"
		},
	} {
		request, content := c.request("/wordpress/page", newKey)
		secret := c.secret
		change(request, &content, &secret)
		request.Header.Set(extensions.SignatureHeader, content.Header(secret))
		if answer := c.send(request); answer.status != http.StatusForbidden || strings.Contains(string(answer.body), "lp_live_") {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	if all, err := c.keys.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("keys %v, %v", all, err)
	}
	// A request that was sent before, and the same one concurrently.
	request, content := c.request("/wordpress/page", map[string]any{"method": http.MethodGet, "path": "/keys", "address": wpAdmin})
	again := func() response {
		one := request.Clone(t.Context())
		one.Body = io.NopCloser(bytes.NewReader(content.Body))
		one.Header.Set(extensions.SignatureHeader, content.Header(c.secret))
		return c.send(one)
	}
	statuses := make(chan int, 4)
	var wait sync.WaitGroup
	for range cap(statuses) {
		wait.Go(func() { statuses <- again().status })
	}
	wait.Wait()
	close(statuses)
	served := 0
	for status := range statuses {
		if status == http.StatusOK {
			served++
		} else if status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
	}
	expect.Equal(t, 1, served, "requests that were served")
	again().contains(http.StatusForbidden, "sent before")
	c.clock = now.Add(2 * time.Minute)
	again().contains(http.StatusForbidden, "clocks")
}

// TestWrongSignaturesAreLimited: after some wrong signatures an address has to wait, and the log is not
// flooded; WordPress is still served.
func TestWrongSignaturesAreLimited(t *testing.T) {
	t.Parallel()
	c, _ := newCompanion(t)
	refused := map[int]int{}
	for range 30 {
		request, content := c.request("/wordpress/page", newKey)
		request.Header.Set(extensions.SignatureHeader, content.Header("guess"))
		answer := c.send(request)
		refused[answer.status]++
		if answer.status == http.StatusTooManyRequests && answer.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if refused[http.StatusForbidden] != 20 || refused[http.StatusTooManyRequests] != 10 {
		t.Errorf("statuses %v", refused)
	}
	expect.Equal(t, 20, strings.Count(c.pages.String(), "in the name of WordPress"), "lines in the log")
	c.look(http.StatusOK, "/keys", nil)
	c.ask("/wordpress/page", map[string]any{"form": strings.Repeat("x", 70_000)}).contains(http.StatusRequestEntityTooLarge, "too long")
	c.visitor().post("/console/login", url.Values{"token": {c.token()}}).leadsTo("/console")
}

// TestUnsignedBodiesAreNotAwaited: the server waits for a body only if a signature came with the header, and for what is
// not needed no more than a moment.
func TestUnsignedBodiesAreNotAwaited(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	address := strings.TrimPrefix(k.admin.URL, "http://")
	for line, status := range map[string]int{
		"POST /wordpress/page": http.StatusForbidden, "POST /console/keys/new": http.StatusForbidden, "GET /livez": http.StatusOK, "POST /nothing": http.StatusNotFound,
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		expect.NoError(t, err)
		expect.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\nhalf")
		expect.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if _ = answer.Body.Close(); answer.StatusCode != status {
			t.Errorf("%s: status %d", line, answer.StatusCode)
		}
		expect.Succeeded(t, conn.Close())
	}
}

// TestWordPressWithoutTables: a server that cannot check a signature or store a nonce serves nothing.
func TestWordPressWithoutTables(t *testing.T) {
	t.Parallel()
	closed := monitor.NewAdmin(slog.New(slog.DiscardHandler), nil)
	closed.Handle(console.WordPressPath, console.New(fixedClock, slog.New(slog.DiscardHandler), nil))
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/wordpress/page", nil)
	request.Host = "localhost"
	if closed.ServeHTTP(recorder, request); recorder.Code != http.StatusServiceUnavailable || !strings.Contains(recorder.Body.String(), "not connected") {
		t.Errorf("starting: %d %s", recorder.Code, recorder.Body)
	}
	c, database := newCompanion(t)
	for _, table := range []string{"wp_bookside_secrets", "wp_bookside_admin_tokens"} {
		database.Execute(t, "RENAME TABLE "+table+" TO elsewhere")
		c.ask("/wordpress/page", newKey).contains(http.StatusServiceUnavailable, "Tables of Bookside are missing")
		database.Execute(t, "RENAME TABLE elsewhere TO "+table)
	}
	// A read-only database.
	account, _, err := wpdb.Config{DSN: database.DSN, Prefix: database.Prefix}.Account(t.Context())
	expect.NoError(t, err)
	database.Execute(t, "REVOKE INSERT ON wp_bookside_api_keys FROM "+account)
	form := url.Values{"nonce": {"x"}, "name": {"late"}, "kind": {"live"}, "permissions": {"read"}, "preset": {"custom"}}
	c.look(http.StatusServiceUnavailable, "/keys/new", form, `value="late"`, "The database does not let Bookside do this")
}

// TestWordPressShowsTheConsole: pages of the console come as parts of a page of wp-admin, where their links and forms
// lead; what a form does is done in the name of the user.
func TestWordPressShowsTheConsole(t *testing.T) {
	t.Parallel()
	c, _ := newCompanion(t)
	const to = `https://site.example/wp-admin/admin.php?page=bookside&amp;at=`
	overview := c.look(http.StatusOK, "", nil, `<div id="bookside" lang="en"><template shadowrootmode="open"><style>`, `href="`+to+`%2Fkeys"`)
	if strings.Contains(overview.Content, `"/console`) || strings.Contains(overview.Content, "Log out") || overview.Title != "Overview" {
		t.Errorf("%q: %s", overview.Title, overview.Content)
	}
	form := c.look(http.StatusOK, "/keys/new", nil, `<form method="post" action="`+to+`%2Fkeys%2Fnew"`)
	expect.Equal(t, "n0nce", form.hidden(t, "_wpnonce"), "the nonce of WordPress")
	typed := url.Values{"nonce": {form.hidden(t, "nonce")}, "name": {"Kasse"}, "kind": {"live"}, "permissions": {"read_bookings"}, "networks": {"192.0.2.1x"}, "preset": {"custom"}}
	c.look(http.StatusUnprocessableEntity, "/keys/new", typed, `value="Kasse"`, `<a href="#networks">`, "is not a network")
	created := c.look(http.StatusOK, "/keys/new", merge(typed, url.Values{"networks": {""}}), "lp_live_")
	made, _, err := c.keys.Find(t.Context(), 2)
	if by := made.CreatedBy; err != nil || by != "ada, WordPress" || created.Title != "Key 2 was created" {
		t.Errorf("%q was made by %q", created.Title, by)
	}
	c.look(http.StatusOK, "/requests?request=Kas", nil, `<input type="hidden" name="page" value="bookside">`, `<input type="hidden" name="at" value="/requests">`, `value="Kas"`)
	if done := c.look(http.StatusOK, "/keys/2/revoke", url.Values{"csrf": {"x"}}); done.Location != wpAdmin+"&at=%2Fkeys%3Fdone%3Drevoked%26id%3D2" {
		t.Errorf("after the form: %q", done.Location)
	}
	german := c.lookAs(http.StatusOK, map[string]any{"path": "/keys", "language": "de-DE"}, `lang="de"`)
	expect.Equal(t, "Schlüssel und Kalender", german.Title, "title")
	c.look(http.StatusNotFound, "/anything", nil, "There is no such page")
	for path, method := range map[string]string{"/../v1/bookings": http.MethodGet, "x": http.MethodGet, "/keys": http.MethodDelete} {
		if answer := c.ask("/wordpress/page", map[string]any{"path": path, "method": method}); answer.header.Get(extensions.SignatureHeader) != "" {
			t.Errorf("%s %s: %d %s", method, path, answer.status, answer.body)
		}
	}
	expect.NoTexts(t, c.pages.String()+c.log.String(), c.secret)
}

// TestWordPressGetsTheReport: Site Health shows what needs a person.
func TestWordPressGetsTheReport(t *testing.T) {
	t.Parallel()
	c, database := newCompanion(t)
	database.Execute(t, overlapping)
	c.ask("/wordpress/report", map[string]any{"method": http.MethodGet, "address": wpAdmin}).contains(http.StatusOK, `"level":"`, "admin.php?page=bookside")
}
