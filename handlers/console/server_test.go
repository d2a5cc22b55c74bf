package console_test

import (
	"crypto/rand"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// now is the time at which the tests begin.
var now = fixtures.RecordedNow()

func fixedClock() time.Time { return now }

// api is the booking API of a site, which checks the keys that the console
// manages.
type api struct {
	t       testing.TB
	handler http.Handler
	keys    *keys.Store
	kept    *keys.RequestLog
	key     string // with all permissions
	clock   time.Time
	log     *fixtures.Buffer
}

func newAPI(t testing.TB, database *fixtures.Database) *api {
	t.Helper()
	db := openDatabase(t, database)
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	a := &api{t: t, clock: now, log: &fixtures.Buffer{}}
	clock := func() time.Time { return a.clock }
	a.keys = keys.NewStore(db, clock, rand.Reader)
	secret, _, err := a.keys.Create(t.Context(), keys.NewKey{Name: t.Name(), Kind: keys.Live, Permissions: []string{"read", "write", "delete"}})
	expect.NoError(t, err)
	a.key = secret
	a.kept = keys.NewRequestLog(db, clock, slog.New(slog.NewTextHandler(a.log, nil)), 1000)
	a.handler = handlers.New(session.NewPlatform(db, clock), a.keys, clock, slog.New(slog.NewJSONHandler(a.log, nil)), handlers.Options{
		BasePaths: []string{"/v1"}, RequestTimeout: time.Minute, Requests: a.kept,
	})
	return a
}

func openDatabase(t testing.TB, database *fixtures.Database) *wpdb.DB {
	t.Helper()
	return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 4, AcquireTimeout: time.Minute, LockWait: time.Minute, StatementTimeout: time.Minute})
}

// get sends a request to the API.
func (a *api) get(path string, header http.Header) response {
	a.t.Helper()
	request := httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, path, nil)
	maps.Copy(request.Header, header)
	recorder := httptest.NewRecorder()
	a.handler.ServeHTTP(recorder, request)
	return response{t: a.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// response is a response that was read to the end.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// want fails the test unless the response has this status.
func (r response) want(status int) {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.2000s", r.status, status, r.body)
	}
}

// consoleServer is the console on an admin address, with the API of the same site.
type consoleServer struct {
	*api
	tokens *keys.AdminTokens
	admin  *httptest.Server
	pages  *fixtures.Buffer // log of the console
}

// serve serves the console for a database, also under the given host names.
func serve(t testing.TB, database *fixtures.Database, hosts ...string) *consoleServer {
	t.Helper()
	return serveSite(t, database, func(*console.Site) {}, hosts...)
}

// serveSmall serves the console of a new small site.
func serveSmall(t *testing.T) (*consoleServer, *fixtures.Database) {
	t.Helper()
	database := fixtures.New(t, fixtures.Small(now))
	return serve(t, database), database
}

// serveSite serves the console for a changed site.
func serveSite(t testing.TB, database *fixtures.Database, change func(*console.Site), hosts ...string) *consoleServer {
	t.Helper()
	k := &consoleServer{api: newAPI(t, database), pages: &fixtures.Buffer{}}
	clock := func() time.Time { return k.clock }
	k.tokens = keys.NewAdminTokens(openDatabase(t, database), clock, rand.Reader)
	log := slog.New(slog.NewJSONHandler(k.pages, nil))
	page := console.New(clock, log, german())
	platform := session.NewPlatform(openDatabase(t, database), clock)
	site := console.Site{
		Platform: platform, Webhooks: jobs.NewHookStore(platform.DB, clock, rand.Reader, jobs.Vault{}, platform.Journal), Keys: k.keys, Tokens: k.tokens,
		Requests: k.kept, API: "http://127.0.0.1:8080/v1", Timeout: time.Minute,
		Limits: ratelimit.Options{Enabled: true, Live: ratelimit.Limits{PerMinute: 60, PerHour: 3600}, Test: ratelimit.Limits{PerMinute: 100, PerHour: 1000}},
	}
	site.Ask = func(user keys.Key, r *http.Request) (int, http.Header, []byte) {
		return handlers.AskFor(k.handler, user, r)
	}
	site.Reports = monitor.NewReports(site.Platform)
	change(&site)
	page.Open(site)
	admin := monitor.NewAdmin(log, hosts)
	admin.Mount(console.Path, page)
	admin.Handle(console.WordPressPath, page)
	k.admin = httptest.NewServer(admin)
	t.Cleanup(k.admin.Close)
	return k
}

// token issues a login token.
func (k *consoleServer) token() string {
	k.t.Helper()
	token, err := k.tokens.Issue(k.t.Context(), "ada")
	expect.NoError(k.t, err)
	return token
}

// visitor is a browser that keeps cookies and does not follow redirects.
type visitor struct {
	*consoleServer
	client http.Client
}

func (k *consoleServer) visitor() *visitor {
	k.t.Helper()
	jar, err := cookiejar.New(nil)
	expect.NoError(k.t, err)
	return &visitor{k, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// login returns a visitor after the login.
func (k *consoleServer) login() *visitor {
	k.t.Helper()
	v := k.visitor()
	v.post("/console/login", url.Values{"token": {k.token()}}).leadsTo("/console")
	return v
}

// page is a response with its text, entities decoded.
type page struct {
	response
	text string
}

func (v *visitor) open(path string) page {
	v.t.Helper()
	return v.ask(http.MethodGet, path, nil, nil)
}

// post submits a form.
func (v *visitor) post(path string, form url.Values) page {
	v.t.Helper()
	return v.ask(http.MethodPost, path, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form)
}

func (v *visitor) ask(method, path string, header http.Header, form url.Values) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.admin.URL+path, strings.NewReader(form.Encode()))
	expect.NoError(v.t, err)
	maps.Copy(request.Header, header)
	request.Host = header.Get("Host")
	r, err := v.client.Do(request)
	expect.NoError(v.t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	expect.NoError(v.t, err)
	return page{response{t: v.t, status: r.StatusCode, header: r.Header, body: body}, html.UnescapeString(string(body))}
}

// fill opens a page and submits its form with some values changed; nil removes a field.
func (v *visitor) fill(path string, changed url.Values) page {
	v.t.Helper()
	opened := v.open(path)
	opened.want(http.StatusOK)
	return v.post(path, merge(opened.form(path), changed))
}

// merge changes values of a form. Ticking permissions implies the custom preset.
func merge(form, changed url.Values) url.Values {
	form = maps.Clone(form)
	if changed["permissions"] != nil {
		form.Set("preset", "custom")
	}
	maps.Copy(form, changed)
	return form
}

var (
	formTag     = regexp.MustCompile(`(?s)<form method="post" action="([^"]*)".*?</form>`)
	inputTag    = regexp.MustCompile(`<input [^>]*>`)
	textareaTag = regexp.MustCompile(`(?s)<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>`)
	selectTag   = regexp.MustCompile(`(?s)<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>`)
	chosenTag   = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

// attribute returns the value of an attribute of a tag.
func attribute(tag, name string) string {
	match := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag)
	if match == nil {
		return ""
	}
	return html.UnescapeString(match[1])
}

// form returns what a browser would send for the page's form with an action.
func (p page) form(action string) url.Values {
	p.t.Helper()
	for _, form := range formTag.FindAllStringSubmatch(string(p.body), -1) {
		if form[1] != action {
			continue
		}
		values := url.Values{}
		for _, tag := range inputTag.FindAllString(form[0], -1) {
			switch attribute(tag, "type") {
			case "checkbox", "radio":
				if !strings.Contains(tag, " checked") {
					continue
				}
			case "search": // has no name
				continue
			}
			values.Add(attribute(tag, "name"), attribute(tag, "value"))
		}
		for _, area := range textareaTag.FindAllStringSubmatch(form[0], -1) {
			values.Add(area[1], html.UnescapeString(area[2]))
		}
		for _, list := range selectTag.FindAllStringSubmatch(form[0], -1) {
			for _, chosen := range chosenTag.FindAllStringSubmatch(list[2], -1) {
				values.Add(list[1], html.UnescapeString(chosen[1]))
			}
		}
		return values
	}
	p.t.Fatalf("no form for %s: %s", action, p.body)
	return nil
}

// says fails the test unless the page has this status and these texts.
func (p page) says(status int, texts ...string) page {
	p.t.Helper()
	p.want(status)
	expect.Texts(p.t, p.text, texts...)
	return p
}

func (p page) leadsTo(path string) {
	p.t.Helper()
	p.want(http.StatusSeeOther)
	expect.Equal(p.t, path, p.header.Get("Location"), "leads to")
}

var secretForm = regexp.MustCompile(`lp_(live|test)_[0-9A-Za-z]{38}`)

// secret returns the key that the page shows.
func (p page) secret() string {
	p.t.Helper()
	secret := secretForm.FindString(p.text)
	if secret == "" {
		p.t.Fatalf("no key in: %s", p.text)
	}
	return secret
}
