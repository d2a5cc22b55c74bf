package console

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bookside/bookside/adapter/jobs"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/signature"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// Path is where the console is mounted. The session cookie is only sent to paths below it.
const Path = "/console"

// Paths of the pages.
const (
	dayPath       = Path + "/day"
	freeTimesPath = Path + "/free-times"
	requestsPath  = Path + "/requests"
	keysPath      = Path + "/keys"
	webhooksPath  = Path + "/webhooks"
	changesPath   = Path + "/changes"
	loginPath     = Path + "/login"
	logoutPath    = Path + "/logout"
)

// pages are the entries of the navigation.
var pages = []page.Link{
	{Text: "Overview", Path: Path},
	{Text: "Day", Path: dayPath},
	{Text: "Why not free", Path: freeTimesPath},
	{Text: "Requests", Path: requestsPath},
	{Text: "Keys", Path: keysPath},
	{Text: "Webhooks", Path: webhooksPath},
	{Text: "Changes", Path: changesPath},
}

// Console serves Path and everything below it, and WordPressPath.
type Console struct {
	now    domain.Clock
	log    *slog.Logger
	routes http.Handler
	logins *ratelimit.LocalCounter // by ratelimit.AddressBucket
	// crowded is held while a token is checked for a client with too many attempts.
	crowded    chan struct{}
	signatures *signature.Checker
	site       atomic.Pointer[Site] // nil before Open
	german     text.Texts           // nil if the console speaks English only
}

// Site is what the console shows and changes.
type Site struct {
	Platform *session.Platform
	Webhooks *jobs.HookStore
	Keys     *keys.Store
	Tokens   *keys.AdminTokens
	Limits   ratelimit.Options // those of keys without limits of their own
	Requests *keys.RequestLog  // nil if this server keeps none
	Reports  *monitor.Reports
	API      string // the address of the API with its base path, such as http://127.0.0.1:8080/v1
	Proxied  bool   // whether the API is behind a web server
	Proxy    Proxy  // of the console
	// Ask sends a request to the API for an administrator, see handlers.AskFor.
	Ask     func(user keys.Key, r *http.Request) (status int, header http.Header, body []byte)
	Timeout time.Duration // bounds the time that a request may take in the database

	agenda *monitor.Shared[slots.Agenda] // shared for a while, because it takes a large statement
}

// New returns a console that asks its visitors to wait until Open is called. german are the texts of the companion's
// translation; nil for a console in English only.
func New(now domain.Clock, log *slog.Logger, german text.Texts) *Console {
	c := &Console{now: now, log: log, german: german, logins: ratelimit.NewLocalCounter(now), crowded: make(chan struct{}, 1), signatures: signature.NewChecker(now, log)}
	mux := http.NewServeMux()
	page.ServeFiles(mux, Path)
	get := func(path string, serve func(*visit) error) { mux.Handle("GET "+path, c.withSession(serve)) }
	post := func(path string, show redisplay, submit func(*visit) error) {
		mux.Handle("POST "+path, c.withForm(show, submit))
	}
	mux.Handle("GET "+Path+"/{$}", http.RedirectHandler(Path, http.StatusSeeOther))
	get(Path, c.showOverview)
	get(Path+"/", c.noPage) // also reached when the address of a form is opened again
	mux.Handle("GET "+loginPath, c.withDatabase(c.showLogin))
	mux.Handle("POST "+loginPath, c.withDatabase(c.login))
	mux.Handle("POST "+logoutPath, c.withSentForm(redirectToOverview, c.logout))

	get(dayPath, c.showDay)
	get(freeTimesPath, c.showFreeTimes)
	get(requestsPath, c.listRequests)
	get(changesPath, c.listChanges)

	get(keysPath, c.listKeys)
	get(keysPath+"/new", c.showNewKey)
	post(keysPath+"/new", c.redisplayNewKey, c.createKey)
	get(keysPath+"/new-calendar", c.showNewCalendar)
	post(keysPath+"/new-calendar", c.redisplayNewCalendar, c.createCalendar)
	get(keysPath+"/{id}", c.showEditKey)
	post(keysPath+"/{id}", c.redisplayEditKey, c.updateKey)
	get(keysPath+"/{id}/roll", c.showRoll)
	post(keysPath+"/{id}/roll", c.redisplayRoll, c.roll)
	get(keysPath+"/{id}/revoke", c.showRevoke)
	post(keysPath+"/{id}/revoke", c.redisplayRevoke, c.revoke)

	get(webhooksPath, c.listWebhooks)
	get(webhooksPath+"/new", c.showNewWebhook)
	post(webhooksPath+"/new", c.redisplayNewWebhook, c.createWebhook)
	get(webhooksPath+"/{id}", c.showWebhook)
	get(webhooksPath+"/{id}/edit", c.showEditWebhook)
	post(webhooksPath+"/{id}/edit", c.redisplayEditWebhook, c.updateWebhook)
	get(webhooksPath+"/{id}/delete", c.showDeleteWebhook)
	for action, act := range webhookActions {
		post(webhooksPath+"/{id}/"+action, c.redisplayWebhook, func(v *visit) error { return c.changeWebhook(v, action, act) })
	}
	post(webhooksPath+"/events/{id}/again", c.redisplayWebhooks, c.tellAgain)
	mux.Handle("POST "+WordPressPath+"/page", c.inWordPress(c.framedPage))
	mux.Handle("POST "+WordPressPath+"/report", c.inWordPress(c.report))
	c.routes = http.NewCrossOriginProtection().Handler(mux)
	return c
}

// Open starts serving once the database is open.
func (c *Console) Open(site Site) {
	site.agenda = monitor.NewShared(c.now, time.Minute, func(ctx context.Context) (slots.Agenda, error) {
		return session.ServeBackground(ctx, site.Platform, func(ctx context.Context, s *session.Session) (slots.Agenda, error) {
			return slots.LoadAgenda(ctx, s, chartDays)
		})
	})
	c.site.Store(&site)
}

const (
	maxForm = 64 << 10 // bytes of a form's body, with ample room

	policy       = "default-src 'none'; script-src 'self'; style-src 'self'%s; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	policyHeader = "Content-Security-Policy"
)

func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		policyHeader:                   strings.Replace(policy, "%s", "", 1),
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "same-origin", // no-referrer would also remove the Origin of forms
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		w.Header().Set(name, value)
	}
	if site := c.site.Load(); site != nil {
		ctx, cancel := context.WithTimeout(r.Context(), site.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	r.URL = page.ValidQuery(r.URL)
	c.routes.ServeHTTP(w, r)
}

// visit is a request to a page while the database is open.
type visit struct {
	*Site
	w         http.ResponseWriter
	r         *http.Request
	session   string           // "" before the login, and in WordPress
	person    string           // who issued the login token, uses WordPress, or logged in at the proxy; "" if unknown
	proxied   string           // whom the proxy names; "" for nobody
	frame     *frame           // the page of wp-admin that shows this one; nil for a browser
	opened    *session.Session // see site
	openError error
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// known reports whether the visitor has logged in.
func (v *visit) known() bool { return v.session != "" || v.frame != nil }

// site opens the site, once in a visit.
func (v *visit) site() (*session.Session, error) {
	if v.opened == nil && v.openError == nil {
		v.opened, v.openError = v.Platform.Session(v.ctx())
	}
	return v.opened, v.openError
}

// withDatabase serves requests once the database is open.
func (c *Console) withDatabase(serve func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Site: c.site.Load(), w: w, r: r}
		if v.Site == nil {
			c.show(v, http.StatusServiceUnavailable, page.Layout{Title: page.Text("The database is not open yet"), RefreshAfter: retryAfter},
				h.P(page.Text("The console needs the site's database, and Bookside is not connected to it yet. This page reloads by itself.")))
			return
		}
		if v.frame = frameOf(r); v.frame != nil {
			v.person = v.frame.person()
		}
		if err := serve(v); err != nil {
			c.fail(v, err)
		}
	})
}

// fail responds to an error without revealing anything about the database.
func (c *Console) fail(v *visit, err error) {
	problem, status := c.explain(v, err)
	c.showMessage(v, status, "Something went wrong", problem)
}

// explain logs an error and describes it for the page.
func (c *Console) explain(v *visit, err error) (problem page.Text, status int) {
	c.log.ErrorContext(v.ctx(), "console failed", "error", err)
	switch {
	case errors.Is(err, wpdb.ErrReadOnly), errors.Is(err, wpdb.ErrAccessDenied):
		return "The database does not let Bookside do this. Nothing was changed.", http.StatusServiceUnavailable
	case session.IsUnavailable(err):
		return "The database cannot be used at the moment. Try again later.", http.StatusServiceUnavailable
	default:
		return "Bookside failed to do this. Its log says why.", http.StatusInternalServerError
	}
}

func (c *Console) noPage(v *visit) error {
	c.showMessage(v, http.StatusNotFound, "There is no such page", "It may have been the answer to a form, which cannot be opened again.")
	return nil
}

// pageAt returns the page to which a path belongs.
func pageAt(path string) page.Link {
	for _, p := range pages[1:] {
		if path == p.Path || strings.HasPrefix(path, p.Path+"/") {
			return p
		}
	}
	return pages[0]
}

// showMessage sends a page that only has a text and a link back.
func (c *Console) showMessage(v *visit, status int, title, text page.Text) {
	back := pageAt(v.r.URL.Path)
	c.show(v, status, page.Layout{Title: title}, g.Group{
		h.P(text),
		g.If(v.known(), h.P(page.A(back.Path, page.Textf("Back to: %s", back.Text)))),
	})
}

// showSubmitted answers a form that was submitted before. text says what became of what it made.
func (c *Console) showSubmitted(v *visit, text page.Text) error {
	c.showMessage(v, http.StatusConflict, "This form was already submitted", text)
	return nil
}

// retryAfter is how long a client is asked to wait for the database, in seconds.
const (
	retryAfter       = 5
	retryAfterHeader = "Retry-After"
)

// show sends a page: a document, or its part in the frame of wp-admin.
func (c *Console) show(v *visit, status int, l page.Layout, content g.Node) {
	setHeaders(v.w.Header(), status, l.Style)
	l.Files = Path
	if v.known() {
		l.Navigation = h.Nav(h.Class("pages"), page.Label("Pages"), g.Map(pages, func(p page.Link) g.Node {
			p.Here = p == pageAt(v.r.URL.Path)
			return p.View()
		}))
	}
	if v.session != "" && v.proxied == "" { // whom a proxy names, it would log in again
		l.Account = page.PostForm(logoutPath, h.Button(h.Class("quiet"), page.Text("Log out")))
	}
	reader := c.reader(v)
	v.w.WriteHeader(status)
	if v.frame != nil {
		_, _ = v.w.Write(encoded(framed{Title: l.Title.For(reader), Content: rendered(l.Part(content), reader)})) // a buffer takes everything
		return
	}
	_ = l.Document(content).Render(page.For(v.w, reader)) // fails only if the client is gone
}

// setHeaders sets the headers of a page, whose policy allows its own style.
func setHeaders(header http.Header, status int, style string) {
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Vary", "Accept-Language")
	if status == http.StatusServiceUnavailable {
		header.Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	if style != "" {
		sum := sha256.Sum256([]byte(style))
		header.Set(policyHeader, strings.Replace(policy, "%s", " 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", 1))
	}
}

// redirect leads to a page, after a form.
func redirect(v *visit, path string) error {
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// redirectToOverview redirects to the first page and drops the form.
func redirectToOverview(v *visit, _ int, _ page.Text) error { return redirect(v, Path) }

// basePath returns the base path of the API.
func (s *Site) basePath() string {
	address, err := url.Parse(s.API)
	if err != nil {
		return ""
	}
	return address.Path
}
