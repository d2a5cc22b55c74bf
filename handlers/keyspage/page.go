package keyspage

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	g "maragu.dev/gomponents"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/webhooks"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

// Page serves /keys and everything below it.
type Page struct {
	now    domain.Clock
	log    *slog.Logger
	routes http.Handler
	logins *ratelimit.LocalCounter // of all clients together
	site   atomic.Pointer[site]    // nil before Open
}

// site is what the page needs from an open database.
type site struct {
	keys     *keys.Store
	tokens   *keys.AdminTokens
	limits   ratelimit.Options
	webhooks *webhooks.Store
}

//go:embed style.css script.js icon.svg
var files embed.FS

// New returns a page that asks its visitors to wait until Open.
func New(now domain.Clock, log *slog.Logger) *Page {
	p := &Page{now: now, log: log, logins: ratelimit.NewLocalCounter(now)}
	mux := http.NewServeMux()
	for _, name := range []string{"style.css", "script.js", "icon.svg"} {
		mux.HandleFunc("GET /keys/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
	mux.Handle("GET /keys/{$}", http.RedirectHandler("/keys", http.StatusSeeOther))
	mux.Handle("GET /keys/login", p.withDatabase(p.showLogin))
	mux.Handle("POST /keys/login", p.withDatabase(p.login))
	mux.Handle("POST /keys/logout", p.withForm(redirectToList, p.logout))
	mux.Handle("GET /keys", p.withSession(p.list))
	mux.Handle("GET /keys/new", p.withSession(p.showNew))
	mux.Handle("POST /keys/new", p.withForm(p.redisplayNew, p.create))
	mux.Handle("GET /keys/{id}", p.withSession(p.showEdit))
	mux.Handle("POST /keys/{id}", p.withForm(p.redisplayEdit, p.update))
	mux.Handle("GET /keys/{id}/revoke", p.withSession(p.showRevoke))
	mux.Handle("POST /keys/{id}/revoke", p.withForm(p.redisplayRevoke, p.revoke))
	p.routes = http.NewCrossOriginProtection().Handler(p.withWebhooks(mux))
	return p
}

// Open starts serving once the database is open. limits are those of keys
// without limits of their own.
func (p *Page) Open(keys *keys.Store, tokens *keys.AdminTokens, limits ratelimit.Options, hooks *webhooks.Store) {
	p.site.Store(&site{keys, tokens, limits, hooks})
}

// timeout bounds the time that a request may take in the database.
const timeout = 10 * time.Second

// maxForm is the limit of a form's body in bytes, far more than a form needs.
const maxForm = 64 << 10

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "same-origin", // no-referrer would remove the Origin of forms too
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		w.Header().Set(name, value)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	p.routes.ServeHTTP(w, r)
}

// visit is a request to the page while the database is open.
type visit struct {
	*site
	w       http.ResponseWriter
	r       *http.Request
	session string // "" before the login
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// withDatabase serves requests once the database is open.
func (p *Page) withDatabase(serve func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{site: p.site.Load(), w: w, r: r}
		if v.site == nil {
			p.showStarting(v)
			return
		}
		if err := serve(v); err != nil {
			p.fail(v, err)
		}
	})
}

func (p *Page) showStarting(v *visit) {
	p.show(v, http.StatusServiceUnavailable, layout{Title: "The database is not open yet", RefreshAfter: retryAfter},
		messageView("", "Keys are stored in the site's database, and Bookside is not connected to it yet. This page reloads by itself."))
}

// fail responds to an error without revealing anything about the database.
func (p *Page) fail(v *visit, err error) {
	problem, status := p.explain(v, err)
	p.showMessage(v, status, "Something went wrong", problem)
}

// explain logs an error and describes it for the page.
func (p *Page) explain(v *visit, err error) (problem string, status int) {
	p.log.ErrorContext(v.ctx(), "keys page failed", "error", err)
	switch {
	case errors.Is(err, wpdb.ErrReadOnly), errors.Is(err, wpdb.ErrAccessDenied):
		return "The database does not let Bookside write its keys. Nothing was changed.", http.StatusServiceUnavailable
	case adapter.IsUnavailable(err):
		return "The database cannot be used at the moment. Try again later.", http.StatusServiceUnavailable
	default:
		return "Bookside failed to do this. Its log says why.", http.StatusInternalServerError
	}
}

func (p *Page) notFound(v *visit) error {
	p.showMessage(v, http.StatusNotFound, "There is no such key", "Look for it in the list of keys.")
	return nil
}

// showMessage sends a page that consists of a text.
func (p *Page) showMessage(v *visit, status int, title, text string) {
	p.show(v, status, layout{Title: title, Session: v.session}, messageView(v.session, text))
}

// retryAfter is how long a client is asked to wait for the database, in seconds.
const (
	retryAfter       = 5
	retryAfterHeader = "Retry-After"
)

// show sends a page.
func (p *Page) show(v *visit, status int, l layout, content g.Node) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusServiceUnavailable {
		v.w.Header().Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	v.w.WriteHeader(status)
	_ = l.around(content).Render(v.w) // fails only if the client is gone
}

// redirectToList responds with the list, without anything of the form.
func redirectToList(v *visit, _ int, _ string) error {
	http.Redirect(v.w, v.r, "/keys", http.StatusSeeOther)
	return nil
}
