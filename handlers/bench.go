package handlers

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
)

// Bench returns a server with the single route /bench, which authenticates the
// key as every route does, calls work and responds with its result. It is the
// baseline of the load test: what any response at all costs on a machine.
func Bench(keys *keys.Store, now domain.Clock, log *slog.Logger, options Options, work func(context.Context) (any, error)) http.Handler {
	a := newAPI(nil, keys, now, log, options)
	e := a.router()
	e.GET("/bench", func(c echo.Context) error {
		body, err := work(c.Request().Context())
		if err != nil {
			return err
		}
		return send(c, ok(body))
	}, a.authenticate, a.limiter.Middleware)
	return e
}
