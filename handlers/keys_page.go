package handlers

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
	"bookside/wpdb"
)

// KeysPage is the administration's page for keys, at /keys and below: a list,
// and forms to make, restrict and revoke a key. It is plain HTML from the
// server; the only script copies a new key.
//
// It is meant for a loopback address, which is no protection from the pages of
// a browser on the same machine, so:
//
//   - it belongs on an Admin, which refuses names that are not expected in Host;
//   - requests that change something must come from the page's own origin, by
//     what the browser says of them, and carry a value made from the session:
//     SameSite alone would let in every other port of the same host;
//   - the session is a random cookie that scripts cannot read and other sites
//     cannot have sent.
type KeysPage struct {
	now    domain.Clock
	log    *slog.Logger
	routes http.Handler
	logins *localCounts // as if of one key
	site   atomic.Pointer[keysSite]
}

// keysSite is what the page needs of an open database.
type keysSite struct {
	keys   *keys.Store
	tokens *keys.AdminTokens
	rate   RateLimit
}

//go:embed keyspage
var keysPageFiles embed.FS

// NewKeysPage makes a page that says to wait until Open.
func NewKeysPage(now domain.Clock, log *slog.Logger) *KeysPage {
	p := &KeysPage{now: now, log: log, logins: newLocalCounts(now)}
	mux := http.NewServeMux()
	for _, name := range []string{"style.css", "script.js", "icon.svg"} {
		mux.HandleFunc("GET /keys/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, keysPageFiles, "keyspage/"+name) })
	}
	mux.Handle("GET /keys/{$}", http.RedirectHandler("/keys", http.StatusSeeOther))
	mux.Handle("GET /keys/login", p.visited(p.showLogin))
	mux.Handle("POST /keys/login", p.visited(p.login))
	mux.Handle("POST /keys/logout", p.sent(toList, p.logout))
	mux.Handle("GET /keys", p.signedIn(p.list))
	mux.Handle("GET /keys/new", p.signedIn(p.showNew))
	mux.Handle("POST /keys/new", p.sent(p.newAgain, p.create))
	mux.Handle("GET /keys/{id}", p.signedIn(p.showTerms))
	mux.Handle("POST /keys/{id}", p.sent(p.termsAgain, p.restrict))
	mux.Handle("GET /keys/{id}/revoke", p.signedIn(p.showRevoke))
	mux.Handle("POST /keys/{id}/revoke", p.sent(p.revokeAgain, p.revoke))
	p.routes = http.NewCrossOriginProtection().Handler(mux)
	return p
}

// Open tells that the database is open. rate is what keys without limits of
// their own have.
func (p *KeysPage) Open(keys *keys.Store, tokens *keys.AdminTokens, rate RateLimit) {
	p.site.Store(&keysSite{keys, tokens, rate})
}

// pageTimeout bounds what a request asks of the database.
const pageTimeout = 10 * time.Second

// maxForm is far beyond what the page's forms hold.
const maxForm = 64 << 10

func (p *KeysPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "same-origin", // none at all would take the origin from forms too
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		w.Header().Set(name, value)
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	p.routes.ServeHTTP(w, r)
}

// visit is a request to the page while the database is open.
type visit struct {
	*keysSite
	w       http.ResponseWriter
	r       *http.Request
	session string // "" before the login
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// visited runs what needs the database.
func (p *KeysPage) visited(work func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{keysSite: p.site.Load(), w: w, r: r}
		if v.keysSite == nil {
			p.waitForDatabase(v)
			return
		}
		if err := work(v); err != nil {
			p.fail(v, err)
		}
	})
}

func (p *KeysPage) waitForDatabase(v *visit) {
	p.show(v, http.StatusServiceUnavailable, frame{Title: "The database is not open yet", Waits: retryAfter},
		messageView("", "Keys are kept in the site's database, to which Bookside has no connection so far. This page tries again by itself."))
}

// fail answers for an error, in words that tell nothing of the database.
func (p *KeysPage) fail(v *visit, err error) {
	problem, status := p.trouble(v, err)
	p.tell(v, status, "That did not work", problem)
}

// trouble logs an error, and words it for the page.
func (p *KeysPage) trouble(v *visit, err error) (problem string, status int) {
	p.log.ErrorContext(v.ctx(), "page for keys failed", "error", err)
	switch {
	case errors.Is(err, wpdb.ErrReadOnly), errors.Is(err, wpdb.ErrAccessDenied):
		return "The database does not let Bookside write its keys. Nothing was changed.", http.StatusServiceUnavailable
	case adapter.IsUnavailable(err):
		return "The database cannot be used at the moment. Try again in a while.", http.StatusServiceUnavailable
	default:
		return "Something went wrong on our side; the log tells what.", http.StatusInternalServerError
	}
}

// notFound answers for a key that is not there.
func (p *KeysPage) notFound(v *visit) error {
	p.tell(v, http.StatusNotFound, "There is no such key", "Look for it in the list of keys.")
	return nil
}

// tell sends a page that says nothing but a text.
func (p *KeysPage) tell(v *visit, status int, title, text string) {
	p.show(v, status, frame{Title: title, Session: v.session}, messageView(v.session, text))
}

// show sends a page.
func (p *KeysPage) show(v *visit, status int, f frame, content g.Node) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusServiceUnavailable {
		v.w.Header().Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	v.w.WriteHeader(status)
	_ = f.around(content).Render(v.w) // the reader went away: nobody to tell
}

// toList answers with the list, and nothing of what was sent.
func toList(v *visit, _ int, _ string) error {
	http.Redirect(v.w, v.r, "/keys", http.StatusSeeOther)
	return nil
}
