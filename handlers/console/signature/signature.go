// Package signature decides which requests in the name of WordPress the server answers: those signed with the secret of its
// site, each once. It bounds what wrong signatures cost. It imports adapter/extensions, which has the signatures, adapter/keys,
// which has the nonces, adapter/session, handlers/ratelimit and wpdb.
package signature

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// wrongSignatures bounds the requests with a wrong signature from an address. Beyond it signatures are
// still checked, one at a time: WordPress may have the same address, and wrong signatures must not keep it
// out.
var wrongSignatures = ratelimit.Limits{PerMinute: 20, PerHour: 20 * 60}

// Checker checks the signatures of requests. It is safe for concurrent use.
type Checker struct {
	now domain.Clock
	log *slog.Logger
	// forgers counts requests with a wrong signature, by ratelimit.AddressBucket.
	forgers *ratelimit.LocalCounter
	// crowded is held while a signature from an address with too many wrong ones is checked.
	crowded chan struct{}
}

// NewChecker returns a Checker, which logs wrong signatures.
func NewChecker(now domain.Clock, log *slog.Logger) *Checker {
	return &Checker{now: now, log: log, forgers: ratelimit.NewLocalCounter(now), crowded: make(chan struct{}, 1)}
}

// Error says why a request is not answered. WordPress shows its message.
type Error struct {
	Status     int
	Message    string
	RetryAfter int64 // seconds; 0 if it makes no difference
}

func (e *Error) Error() string { return e.Message }

func refuse(status int, message string) *Error { return &Error{Status: status, Message: message} }

// Signer returns the header extensions.SignatureHeader of the answer to a request.
type Signer func(status int, answer []byte) string

// CheckForm returns an [Error] for a request that is not signed at all, whose body nobody needs to wait for.
func (c *Checker) CheckForm(r *http.Request) error {
	if extensions.IsSignature(r.Header.Get(extensions.SignatureHeader)) {
		return nil
	}
	return c.refuseForger(r.Context(), ratelimit.AddressBucket(r.RemoteAddr))
}

// Check returns how to sign the answer to a request with this body, or an [Error] unless it is signed with
// the secret of the site and the first with its nonce.
func (c *Checker) Check(r *http.Request, body []byte, site *session.Platform, nonces *keys.AdminTokens) (Signer, error) {
	ctx, from := r.Context(), ratelimit.AddressBucket(r.RemoteAddr)
	if used, _ := c.forgers.Take(ctx, from, 0, wrongSignatures); used.Minute >= wrongSignatures.PerMinute || used.Hour >= wrongSignatures.PerHour {
		select {
		case c.crowded <- struct{}{}:
			defer func() { <-c.crowded }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	request := extensions.SignedRequest{Receiver: extensions.ToServer, Method: r.Method, Target: r.RequestURI, Body: body}
	secret, err := extensions.SharedSecret(ctx, site.DB)
	if err == nil {
		request.Site, err = site.Fingerprint(ctx)
	}
	if err == nil {
		err = request.Check(r.Header.Get(extensions.SignatureHeader), secret, c.now())
	}
	first := false
	if err == nil { // an intercepted request cannot be sent again
		first, err = nonces.Spend(ctx, "request "+request.Nonce)
	}
	switch {
	case errors.Is(err, extensions.ErrSignature):
		return nil, c.refuseForger(ctx, from)
	case errors.Is(err, extensions.ErrTime):
		return nil, refuse(http.StatusForbidden, "The clocks of WordPress and of the server of the API differ by more than a minute. Set them right.")
	case errors.Is(err, wpdb.ErrSchema):
		return nil, refuse(http.StatusServiceUnavailable, "Tables of Bookside are missing. Run \"bookside check\" on the server, which says how to create them.")
	case err != nil:
		return nil, err
	case !first:
		return nil, refuse(http.StatusForbidden, "This request was sent before.")
	default:
		return func(status int, answer []byte) string { return request.AnswerHeader(secret, status, answer) }, nil
	}
}

// refuseForger counts a wrong signature and logs it, unless there were too many.
func (c *Checker) refuseForger(ctx context.Context, from int64) error {
	used, allowed := c.forgers.Take(ctx, from, 1, wrongSignatures)
	if !allowed {
		refusal := refuse(http.StatusTooManyRequests, "There were too many requests with a wrong signature.")
		refusal.RetryAfter = ratelimit.Minute.Remaining(used.Now)
		return refusal
	}
	c.log.WarnContext(ctx, "a request in the name of WordPress was refused: "+extensions.ErrSignature.Error())
	return refuse(http.StatusForbidden, "The server of the API does not know the signature of this site: it serves another site, or a copy of this one.")
}
