package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures/sitefile"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// control is what tests can do with the site, beside its API.
type control struct {
	clock   *siteClock
	key     string // the demo's, which others than this machine send
	guesses *middleware.Throttle
	login   func(context.Context) (token string, err error)
	restore func(context.Context) error // brings back the site as it was loaded
	// reopen serves the site afresh after the work, so that nothing remembers what was before.
	reopen func(ctx context.Context, work func(context.Context) error) error
}

// routes returns the handlers by path. Pages of other origins cannot use them: a browser says where a
// request comes from, other clients say nothing.
func (c control) routes() map[string]http.Handler {
	protection := http.NewCrossOriginProtection()
	return map[string]http.Handler{
		"/reset":       protection.Handler(c.respond(c.reset, http.MethodPost)),
		"/clock":       protection.Handler(c.respond(c.serveClock, http.MethodGet, http.MethodPost)),
		"/login-token": protection.Handler(c.respond(c.issueToken, http.MethodPost)),
	}
}

// respond serves these methods to those whom the demo admits: it sends what answer returns, or its error, as JSON.
func (c control) respond(answer func(*http.Request) (any, error), methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			send(w, http.StatusMethodNotAllowed, failure{"use " + strings.Join(methods, " or ")})
			return
		}
		var body any
		err := c.admit(r)
		if err == nil {
			body, err = answer(r)
		}
		var mistaken mistake
		var throttled *ratelimit.Error
		switch {
		case errors.As(err, &throttled):
			send(w, http.StatusTooManyRequests, failure{err.Error()})
		case domain.CodeOf(err) == domain.CodeUnauthorized:
			send(w, http.StatusUnauthorized, failure{"from elsewhere, send the key that the demo printed, as X-API-Key"})
		case errors.As(err, &mistaken):
			send(w, http.StatusBadRequest, failure{err.Error()})
		case err != nil:
			send(w, http.StatusInternalServerError, failure{err.Error()})
		default:
			send(w, http.StatusOK, body)
		}
	})
}

// admit lets programs on this machine pass, and whoever has the demo's key. Others get a CodeUnauthorized, or after too many
// wrong keys an error of the throttle.
func (c control) admit(r *http.Request) error {
	if fromThisMachine(r) {
		return nil
	}
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	sent := r.Header.Get("X-API-Key")
	return c.guesses.Do(r.Context(), address, sent, func() error {
		if subtle.ConstantTimeCompare([]byte(sent), []byte(c.key)) != 1 {
			return domain.Unauthorized()
		}
		return nil
	})
}

// forwarding are the headers with which a proxy, whose own address may be this machine's, forwards a request.
var forwarding = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

// fromThisMachine reports whether a request comes from a program on this machine, for no other: a page can give its own
// name this machine's address (DNS rebinding), which only the Host reveals.
func fromThisMachine(r *http.Request) bool {
	for _, name := range forwarding {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return false
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	host, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || err == nil && host.Unmap().IsLoopback()
}

// failure is the body of an error.
type failure struct {
	Error string `json:"error"`
}

// mistake is an error of the client.
type mistake struct{ error }

func send(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client is gone
}

// reset brings back the site as it was loaded, and its clock.
func (c control) reset(r *http.Request) (any, error) {
	err := c.reopen(r.Context(), func(ctx context.Context) error {
		if err := c.restore(ctx); err != nil {
			return err
		}
		c.clock.reset()
		return nil
	})
	return c.shown(), err
}

// issuedToken is the body with a token to log in to the console with.
type issuedToken struct {
	Token string `json:"token"`
}

func (c control) issueToken(r *http.Request) (any, error) {
	token, err := c.login(r.Context())
	return issuedToken{token}, err
}

// shownClock is the body that shows the clock.
type shownClock struct {
	Now      string `json:"now"` // with the offset from UTC
	Timezone string `json:"timezone"`
}

func (c control) shown() shownClock {
	now := c.clock.now()
	return shownClock{now.Format(time.RFC3339), now.Location().String()}
}

// movedClock is the body that moves the clock; one field is given.
type movedClock struct {
	Now     string `json:"now"`     // as a fixture has it, such as 2027-01-11T08:00, or with an offset from UTC
	Advance string `json:"advance"` // such as 2h30m
}

// serveClock shows the clock, and moves it first if that is asked.
func (c control) serveClock(r *http.Request) (any, error) {
	if r.Method == http.MethodGet {
		return c.shown(), nil
	}
	var moved movedClock
	decoder := json.NewDecoder(io.LimitReader(r.Body, 1<<10))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&moved)
	_, rest := decoder.Token()
	if err != nil || !errors.Is(rest, io.EOF) || (moved.Now == "") == (moved.Advance == "") {
		return nil, mistake{errors.New(`send {"now": "2027-01-11T08:00"} or {"advance": "2h30m"}`)}
	}
	if _, err := moved.from(c.clock.now()); err != nil {
		return nil, err
	}
	// Everything starts afresh, because work in the background may already wait for some time.
	err = c.reopen(r.Context(), func(context.Context) error {
		to, err := moved.from(c.clock.now())
		if err == nil {
			c.clock.set(to)
		}
		return err
	})
	return c.shown(), err
}

// from returns where the clock goes that shows an instant.
func (m movedClock) from(now time.Time) (time.Time, error) {
	if m.Advance != "" {
		by, err := time.ParseDuration(m.Advance)
		if err != nil {
			return now, mistake{fmt.Errorf("advance: %q is no duration; write one such as 2h30m", m.Advance)}
		}
		if err := sitefile.CheckClock(now.Add(by)); err != nil {
			return now, mistake{fmt.Errorf("advance: %w", err)}
		}
		return now.Add(by), nil
	}
	at, err := sitefile.ClockAt(m.Now, now)
	if err != nil {
		return now, mistake{fmt.Errorf("now: %w", err)}
	}
	return at, nil
}
