package handlers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"

	"github.com/labstack/echo/v4"

	"bookside/wpdb"
)

const requestIDHeader = "X-Request-Id"

// saneRequestID is what a client's own id may look like: it goes into logs.
var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// identify gives every request an id, the client's own when it is sane.
func (a *api) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(requestIDHeader)
		if !saneRequestID.MatchString(id) {
			id = rand.Text()
		}
		c.Response().Header().Set(requestIDHeader, id)
		return next(c)
	}
}

func requestID(c echo.Context) string { return c.Response().Header().Get(requestIDHeader) }

// logRequest writes one line a request: never a key, an address of a page or a
// person's data. Errors become responses here, so that the line tells the
// status that was sent.
func (a *api) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		ctx, used := wpdb.WithUsage(c.Request().Context())
		c.SetRequest(c.Request().WithContext(ctx))
		if err := next(c); err != nil {
			c.Error(err)
		}
		level := slog.LevelInfo
		if !a.log.Enabled(ctx, level) {
			return nil
		}
		principal, _ := principalOf(c)
		a.log.LogAttrs(ctx, level, "request",
			slog.String("request_id", requestID(c)), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Int64("key_id", principal.ID), slog.Duration("duration", a.now().Sub(start)),
			slog.Int64("queries", used.Queries()), slog.Int64("rows", used.Rows()), slog.Int64("bytes", c.Response().Size))
		return nil
	}
}

// recover turns a panic into a failure of ours.
func (a *api) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			thrown := recover()
			if thrown == nil {
				return
			}
			if aborted, ok := thrown.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(thrown)
			}
			a.log.ErrorContext(c.Request().Context(), "panic", "request_id", requestID(c), "panic", fmt.Sprint(thrown), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", thrown)
		}()
		return next(c)
	}
}

// headers are on every response.
func (a *api) headers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}
