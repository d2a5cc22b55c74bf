package handlers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"bookside/wpdb"
)

const requestIDHeader = "X-Request-Id"

// validRequestID matches the ids that a client may choose: they go into logs.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// validTraceparent matches a position in a trace (W3C Trace Context).
var validTraceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// identify gives every request an id, that of the client if it is valid.
func (a *api) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(requestIDHeader)
		if !validRequestID.MatchString(id) {
			id = rand.Text()
		}
		c.Response().Header().Set(requestIDHeader, id)
		return next(c)
	}
}

func requestID(c echo.Context) string { return c.Response().Header().Get(requestIDHeader) }

// logRequest logs one line per request, without keys, URLs or personal data. It
// turns errors into responses, so that the line has the status that was sent.
func (a *api) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		ctx, usage := wpdb.WithUsage(c.Request().Context())
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Before(func() {
			c.Response().Header().Set("Server-Timing", fmt.Sprintf("db;dur=%g, wait;dur=%g, total;dur=%g",
				milliseconds(usage.Busy()), milliseconds(usage.Waited()), milliseconds(a.now().Sub(start))))
		})
		if err := next(c); err != nil {
			c.Error(err)
		}
		level := slog.LevelInfo
		if !a.log.Enabled(ctx, level) {
			return nil
		}
		principal, _ := principalOf(c)
		attrs := []slog.Attr{
			slog.String("request_id", requestID(c)), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Int64("key_id", principal.ID), slog.Float64("duration_ms", milliseconds(a.now().Sub(start))),
			slog.Int64("queries", usage.Queries()), slog.Int64("rows", usage.Rows()), slog.Int64("bytes", c.Response().Size),
		}
		if parent := c.Request().Header.Get("Traceparent"); validTraceparent.MatchString(parent) {
			attrs = append(attrs, slog.String("traceparent", parent))
		}
		if tool, called := c.Get(toolEntry).(string); called {
			attrs = append(attrs, slog.String("tool", tool))
		}
		if code, failed := c.Get(codeEntry).(string); failed {
			attrs = append(attrs, slog.String("code", code))
		}
		if a.options.LogClients {
			attrs = append(attrs, slog.String("client", c.RealIP()))
		}
		a.log.LogAttrs(ctx, level, "request", attrs...)
		return nil
	}
}

// milliseconds returns a time in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// codeEntry is set in a request's context to the code of the error that answers it.
const codeEntry = "bookside.code"

// recover turns a panic into an internal error.
func (a *api) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if aborted, ok := value.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(value)
			}
			a.log.ErrorContext(c.Request().Context(), "panic", "request_id", requestID(c), "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", value)
		}()
		return next(c)
	}
}

// headers sets the headers of every response.
func (a *api) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}
