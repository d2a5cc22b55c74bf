package handlers

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// validTraceparent matches a position in a trace (W3C Trace Context).
var validTraceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// record is middleware that counts and times a request, logs one line about it, without keys, URLs or personal data, and keeps
// it for the console. It turns errors into responses, so that all have the status that was sent. It closes the connection of
// a response that broke off, so that the client notices.
func (a *api) record(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		a.metrics.Running.Inc()
		defer a.metrics.Running.Dec()
		ctx, usage := wpdb.WithUsage(c.Request().Context())
		c.SetRequest(c.Request().WithContext(journal.ForRequest(ctx, middleware.RequestID(c))))
		c.Response().Before(func() { c.Response().Header().Set("Server-Timing", timing(usage, a.now().Sub(start))) })
		if err := next(c); err != nil {
			c.Error(err)
		}
		a.keep(c, start, usage)
		a.logRequest(c, start, usage)
		a.count(c, start)
		if middleware.Aborted(c) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// timing returns the header that says what a response took.
func timing(usage *wpdb.Usage, total time.Duration) string {
	text := fmt.Sprintf("db;dur=%g, wait;dur=%g, total;dur=%g", milliseconds(usage.Busy()), milliseconds(usage.Waited()), milliseconds(total))
	if asked := usage.Asked(); asked > 0 {
		text += fmt.Sprintf(", wordpress;dur=%g", milliseconds(asked))
	}
	return text
}

// logRequest logs a line about a request that was answered.
func (a *api) logRequest(c echo.Context, start time.Time, usage *wpdb.Usage) {
	ctx := c.Request().Context()
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	principal, _ := principalOf(c)
	attrs := []slog.Attr{
		slog.String("request_id", middleware.RequestID(c)), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
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
	a.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// milliseconds converts a duration to milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// codeEntry is set in a request's context to the code of the error that answers it.
const codeEntry = "bookside.code"
