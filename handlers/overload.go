package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// maxURL is the limit of a request's URL in bytes, far more than filters need.
const maxURL = 8 << 10

var (
	// errURLTooLong is the error for a URL longer than maxURL.
	errURLTooLong = errors.New("URL too long")
	// errOverloaded is the error for a request beyond Options.MaxConcurrent.
	errOverloaded = errors.New("too many concurrent requests")
	// errBodyTimeout is the error for a body that did not arrive within the time
	// limit of the request.
	errBodyTimeout = errors.New("body did not arrive in time")
)

// limitURL rejects URLs longer than maxURL.
func limitURL(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(c.Request().RequestURI) > maxURL {
			return errURLTooLong
		}
		return next(c)
	}
}

// inFlight bound the number of requests that are processed at the same time; nil
// does not. A request has a place while it uses the database, not while its
// client sends the body or reads the response: slow clients block nobody.
type inFlight chan struct{}

func newInFlight(n int) inFlight {
	if n == 0 {
		return nil
	}
	return make(inFlight, n)
}

// do calls work in one of the places. If all are taken it returns errOverloaded at once:
// to wait would only add load to a busy database.
func (s inFlight) do(work func() error) error {
	if s == nil {
		return work()
	}
	select {
	case s <- struct{}{}:
		defer func() { <-s }()
		return work()
	default:
		return errOverloaded
	}
}

// deadline bounds the time of a request until its response is sent.
func (a *api) deadline(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(connectionOf, c.Request().Context())
		ctx, cancel := context.WithTimeout(c.Request().Context(), a.options.RequestTimeout)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// bodyGrace is how long a response waits for the rest of a body that is not needed.
const bodyGrace = time.Second

// discardBody keeps responses from waiting for a body that is not needed: net/http
// reads it before it sends them, for as long as a connection may last.
func discardBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Before(func() {
			if bodyPending(c.Request()) && !drainBody(c.Request(), c.Response().Writer) {
				c.Response().Header().Set("Connection", "close")
			}
		})
		return next(c)
	}
}

// bodyPending reports whether a client may be sending a body that was not read and
// is not too large to wait for. A client that expects 100-continue sends no body
// before that.
func bodyPending(request *http.Request) bool {
	return request.Body != http.NoBody && request.ContentLength != 0 && request.ContentLength <= maxBody && request.Header.Get("Expect") == ""
}

// drainBody reads the rest of a body for a short time and reports whether that
// sufficed. Many clients read the response only after they have sent everything.
func drainBody(request *http.Request, w http.ResponseWriter) (inTime bool) {
	ctx, cancel := context.WithTimeout(request.Context(), bodyGrace)
	defer cancel()
	stop := stopReadingAfter(ctx, w)
	// net/http gets the same error and closes the connection.
	_, _ = io.CopyN(io.Discard, request.Body, maxBody)
	return stop()
}

// stopReadingAfter makes reads of a request's body fail once the context is done.
func stopReadingAfter(ctx context.Context, w http.ResponseWriter) (stop func() bool) {
	return afterDone(ctx, func() {
		// A writer without deadlines is not a connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
}

// afterDone runs work once the context is done. The caller must call stop once, before its
// request ends: then neither work runs nor will it, because the connection and echo's context
// may serve the next request from then on. stop reports whether it came before work.
func afterDone(ctx context.Context, work func()) (stop func() bool) {
	ended := make(chan struct{})
	prevent := context.AfterFunc(ctx, func() {
		defer close(ended)
		work()
	})
	return func() bool {
		if prevent() {
			return true
		}
		<-ended
		return false
	}
}
