package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// maxURL is how long the address of a request may be; nobody's filters come
// near it.
const maxURL = 8 << 10

var (
	// errURLTooLong is an address beyond maxURL.
	errURLTooLong = errors.New("address too long")
	// errOverloaded is a request beyond Options.MaxConcurrent.
	errOverloaded = errors.New("too many requests at a time")
	// errSlowBody is a body that took longer than a request may.
	errSlowBody = errors.New("body too slow")
)

// shortURL refuses addresses that nobody needs.
func shortURL(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(c.Request().RequestURI) > maxURL {
			return errURLTooLong
		}
		return next(c)
	}
}

// gate bounds how many requests are worked on at a time; a nil one does not. A
// request is behind it while the database is asked, and not while its client
// sends a body or reads the answer: slow clients take no place from others.
type gate chan struct{}

func newGate(places int) gate {
	if places == 0 {
		return nil
	}
	return make(gate, places)
}

// pass does work, or nothing where all places are taken. Those beyond are told
// at once to come again: they would wait for a database that has too much to do.
func (g gate) pass(work func() error) error {
	if g == nil {
		return work()
	}
	select {
	case g <- struct{}{}:
		defer func() { <-g }()
		return work()
	default:
		return errOverloaded
	}
}

// deadline bounds the time a request may take, until its answer is sent.
func (a *api) deadline(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, cancel := context.WithTimeout(c.Request().Context(), a.options.RequestTimeout)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// bodyGrace is how long an answer waits for the rest of a body that nobody needs.
const bodyGrace = time.Second

// dropBody keeps answers from waiting for a body that they do not depend on:
// net/http reads it before it sends them, for as long as a connection may last.
func dropBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Before(func() {
			if bodyComes(c.Request()) && !readAway(c.Request(), c.Response().Writer) {
				c.Response().Header().Set("Connection", "close")
			}
		})
		return next(c)
	}
}

// bodyComes tells whether a client may be sending a body that was not read, and
// that is not too large to be waited for. Who expects to be told to go on sends
// none before.
func bodyComes(request *http.Request) bool {
	return request.Body != http.NoBody && request.ContentLength != 0 && request.ContentLength <= maxBody && request.Header.Get("Expect") == ""
}

// readAway takes what comes of a body in a short time, because many clients look
// for the answer only when they have sent everything.
func readAway(request *http.Request, w http.ResponseWriter) (inTime bool) {
	ctx, cancel := context.WithTimeout(request.Context(), bodyGrace)
	defer cancel()
	stop := endReadingWith(ctx, w)
	// net/http meets the same error, and closes the connection.
	_, _ = io.CopyN(io.Discard, request.Body, maxBody)
	return stop()
}

// endReadingWith ends the reading of a request's body when the context ends.
func endReadingWith(ctx context.Context, w http.ResponseWriter) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		// What cannot set a deadline is no connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
}
