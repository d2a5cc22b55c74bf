package handlers

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
)

// Reference is a server with the single route /reference, which checks the key
// as every route does, runs work and answers with what it returns. It is the
// yardstick of the load tests: what any answer at all costs on a machine.
func Reference(keys *keys.Store, now domain.Clock, log *slog.Logger, options Options, work func(context.Context) (any, error)) http.Handler {
	a := newAPI(nil, keys, now, log, options)
	e := a.router()
	e.GET("/reference", func(c echo.Context) error {
		body, err := work(c.Request().Context())
		if err != nil {
			return err
		}
		return send(c, ok(body))
	}, a.authenticate, a.limiter.Middleware)
	return e
}
