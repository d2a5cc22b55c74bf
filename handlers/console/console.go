package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	g "maragu.dev/gomponents"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/language"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/signature"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// Path is where the console is mounted. The session cookie is only sent to paths below it.
const Path = "/console"

// Paths of the pages.
const (
	keysPath     = Path + "/keys"
	webhooksPath = Path + "/webhooks"
	journalPath  = Path + "/journal"
	loginPath    = Path + "/login"
	logoutPath   = Path + "/logout"
)

// Console serves Path and everything below it.
type Console struct {
	now    domain.Clock
	log    *slog.Logger
	routes http.Handler
	pages  http.Handler            // the same without protection against other sites
	logins *ratelimit.LocalCounter // by ratelimit.AddressBucket
	// crowded is held while a token is checked for a client with too many attempts.
	crowded    chan struct{}
	signatures *signature.Checker
	site       atomic.Pointer[Site] // nil before Open
	german     language.Texts       // nil if the console speaks English only
}

// Site is what the console shows and changes.
type Site struct {
	Platform *session.Platform
	Keys     *keys.Store
	Tokens   *keys.AdminTokens
	Limits   ratelimit.Options // those of keys without limits of their own
	Figures  *daystats.Recorder
	Requests *requestlog.Log // nil if this server keeps none
	Examine  func(context.Context) (diagnose.Report, error)
	API      string // the address of the API with its base path, such as http://127.0.0.1:8080/v1
	Proxied  bool   // whether the API is behind a web server
	Proxy    Proxy  // of the console
	// Closed is set if the console answers WordPress, but not browsers.
	Closed bool
	// ReadOnly is set if administrators may only look.
	ReadOnly bool
	// Ask sends a request to the API for a WordPress user or an administrator, see handlers.AskFor.
	Ask     func(user keys.Key, r *http.Request) (status int, header http.Header, body []byte)
	Record  webhooks.ReadRecord
	Timeout time.Duration // bounds the time that a request may take in the database

	overview *overview
}

// New returns a console that asks its visitors to wait until Open is called. german are the texts of the companion's
// translation; nil for a console in English only.
func New(now domain.Clock, log *slog.Logger, german language.Texts) *Console {
	c := &Console{now: now, log: log, german: german, logins: ratelimit.NewLocalCounter(now), crowded: make(chan struct{}, 1), signatures: signature.NewChecker(now, log)}
	mux := http.NewServeMux()
	page.ServeFiles(mux, Path)
	mux.Handle("GET "+Path, c.withSession(c.showOverview))
	mux.Handle("GET "+Path+"/{$}", http.RedirectHandler(Path, http.StatusSeeOther))
	mux.Handle("GET "+Path+"/", c.withSession(c.noPage)) // also reached when the address of a form is opened again
	mux.Handle("GET "+loginPath, c.withDatabase(c.showLogin))
	mux.Handle("POST "+loginPath, c.withDatabase(c.login))
	mux.Handle("POST "+logoutPath, c.withSentForm(redirectToOverview, c.logout))
	c.addBookings(mux)
	c.addKeys(mux)
	c.addCalendars(mux)
	c.addWebhooks(mux)
	c.addExtensions(mux)
	c.addRequests(mux)
	mux.Handle("GET "+journalPath, c.withSession(c.listChanges))
	mux.Handle("GET "+searchPath, c.withSession(c.search))
	c.addWordPress(mux)
	c.pages, c.routes = mux, http.NewCrossOriginProtection().Handler(mux)
	return c
}

// Open starts serving once the database is open.
func (c *Console) Open(site Site) {
	site.overview = c.newOverview(&site)
	c.site.Store(&site)
}

// maxForm limits a form's body in bytes, with ample room.
const maxForm = 64 << 10

func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
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

// visit is a request to the page while the database is open.
type visit struct {
	*Site
	w         http.ResponseWriter
	r         *http.Request
	session   string           // "" before the login
	person    string           // who issued the login token, uses WordPress, or logged in at the proxy; "" if unknown
	proxied   string           // whom the proxy names; "" for nobody
	opened    *session.Session // see site
	openError error
	// wordpress marks requests from the companion, for the pages of wp-admin.
	wordpress  bool
	userID     int64            // of the WordPress user who asks; 0 for none
	signAnswer signature.Signer // nil for answers that are not signed
	frame      *frame           // the page of wp-admin that shows this one; nil for a browser
}

func (v *visit) ctx() context.Context { return v.r.Context() }

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
		v := &visit{Site: c.site.Load(), w: w, r: r, wordpress: strings.HasPrefix(r.URL.Path, WordPressPath)}
		if v.Site == nil {
			c.showStarting(v)
			return
		}
		v.frame, _ = r.Context().Value(frameKey{}).(*frame)
		if err := serve(v); err != nil {
			c.fail(v, err)
		}
	})
}

func (c *Console) showStarting(v *visit) {
	c.answer(v, http.StatusServiceUnavailable, page.Layout{Title: page.Text("The database is not open yet"), RefreshAfter: retryAfter},
		messageView("", "", "The console needs the site's database, and Bookside is not connected to it yet. This page reloads by itself."),
		facts.Message{Message: "The server of the API is not connected to the database yet. Try again in a moment."})
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

func (c *Console) notFound(v *visit) error {
	c.showMessage(v, http.StatusNotFound, "There is no such key", "Look for it in the list of keys.")
	return nil
}

// showMessage sends a page that only has a text.
func (c *Console) showMessage(v *visit, status int, title, text page.Text) {
	c.answer(v, status, page.Layout{Title: title}, messageView(v.session, v.r.URL.Path, text), facts.Message{Message: string(title + ". " + text)})
}

// retryAfter is how long a client is asked to wait for the database, in seconds.
const (
	retryAfter       = 5
	retryAfterHeader = "Retry-After"
)

// answer sends a page to a browser, or its facts to WordPress.
func (c *Console) answer(v *visit, status int, l page.Layout, content g.Node, facts any) {
	if v.wordpress {
		v.send(status, facts)
		return
	}
	c.show(v, status, l, content)
}

// show sends a page.
func (c *Console) show(v *visit, status int, l page.Layout, content g.Node) {
	l.Files, l.Banner = Path, v.banner()
	if v.frame != nil {
		if err := c.showFramedPage(v, status, l, content); err != nil {
			c.log.ErrorContext(v.ctx(), "console failed", "error", err)
		}
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Vary", "Accept-Language")
	if status == http.StatusServiceUnavailable {
		v.w.Header().Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	v.w.WriteHeader(status)
	_ = l.Around(content).Render(page.For(v.w, c.reader(v))) // fails only if the client is gone
}

// redirectToOverview redirects to the first page and drops the form.
func redirectToOverview(v *visit, _ int, _ page.Text) error {
	return v.redirect(Path)
}

// redirect sends the browser to another page of the console.
func (v *visit) redirect(path string) error {
	if v.frame != nil {
		return v.send(http.StatusOK, framed{Location: v.frame.address(path)})
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}
