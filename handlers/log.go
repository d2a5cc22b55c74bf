package handlers

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// validTraceparent matches a position in a trace (W3C Trace Context).
var validTraceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// logRequest logs one line per request, without keys, URLs or personal data, and keeps it for the console. It turns errors into
// responses, so that the line has the status that was sent.
func (a *api) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		ctx, usage := wpdb.WithUsage(c.Request().Context())
		c.SetRequest(c.Request().WithContext(journal.ForRequest(ctx, middleware.RequestID(c))))
		c.Response().Before(func() {
			timing := fmt.Sprintf("db;dur=%g, wait;dur=%g, total;dur=%g", milliseconds(usage.Busy()), milliseconds(usage.Waited()), milliseconds(a.now().Sub(start)))
			if asked := usage.Asked(); asked > 0 {
				timing += fmt.Sprintf(", wordpress;dur=%g", milliseconds(asked))
			}
			c.Response().Header().Set("Server-Timing", timing)
		})
		if err := next(c); err != nil {
			c.Error(err)
		}
		a.keep(c, start, usage)
		level := slog.LevelInfo
		if !a.log.Enabled(ctx, level) {
			return nil
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
		a.log.LogAttrs(ctx, level, "request", attrs...)
		return nil
	}
}

// milliseconds converts a duration to milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// codeEntry is set in a request's context to the code of the error that answers it.
const codeEntry = "bookside.code"
