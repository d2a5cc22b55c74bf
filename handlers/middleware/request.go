package middleware

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"

	"github.com/labstack/echo/v4"
)

// RequestIDHeader has the id of a request.
const RequestIDHeader = "X-Request-Id"

// validRequestID matches the ids that a client may choose; they are logged.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// Headers is middleware that gives every request an id, the client's if it is valid, and every response the headers that all
// have.
func Headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header, id := c.Response().Header(), c.Request().Header.Get(RequestIDHeader)
		if !validRequestID.MatchString(id) {
			id = rand.Text()
		}
		header.Set(RequestIDHeader, id)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// RequestID returns the id of a request.
func RequestID(c echo.Context) string { return c.Response().Header().Get(RequestIDHeader) }

// Recover turns a panic into an error.
func Recover(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				value := recover()
				if value == nil {
					return
				}
				if aborted, ok := value.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
					panic(value)
				}
				log.ErrorContext(c.Request().Context(), "panic", "request_id", RequestID(c), "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", value)
			}()
			return next(c)
		}
	}
}

// abortedEntry is set in the context of a request whose response broke off.
const abortedEntry = "bookside.aborted"

// MarkAborted records that the response of a request broke off.
func MarkAborted(c echo.Context) { c.Set(abortedEntry, true) }

// Aborted reports whether the response of a request broke off.
func Aborted(c echo.Context) bool { return c.Get(abortedEntry) != nil }
