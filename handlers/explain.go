package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Explained is the result of a GET request that the program sent to itself.
type Explained struct {
	Status     int
	Body       []byte
	Took       time.Duration
	Statements []wpdb.Statement
}

// Explain answers a GET request, such as /bookings?search=anna, as for a key, and returns the statements
// that it took. It shares none with other requests. It does not support routes that wait, such as /changes.
func Explain(ctx context.Context, platform *session.Platform, now domain.Clock, options Options, key keys.Key, target string) (Explained, error) {
	principal, err := platform.Principal(ctx, key)
	if err != nil {
		return Explained{}, err
	}
	for _, base := range options.BasePaths {
		target = strings.TrimPrefix(target, base)
	}
	const base = "/v1"
	options.BasePaths = []string{base}
	a := newAPI(platform, nil, now, slog.New(slog.DiscardHandler), options)
	e := a.router()
	admit := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(principalEntry, principal)
			return next(c)
		}
	}
	for i := range routes {
		if r := &routes[i]; r.method == http.MethodGet && r.operation.wrap == nil {
			e.GET(base+r.path, a.serve(a.endpoint(r)), r.set, admit, requirePermission(r.permission))
		}
	}
	if _, err := platform.Session(ctx); err != nil { // reads the schema, which a running server already has
		return Explained{}, err
	}
	ctx, trace := wpdb.WithTrace(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+target, http.NoBody)
	if err != nil {
		return Explained{}, fmt.Errorf("read the request: %w", err)
	}
	answer := &bufferedAnswer{header: http.Header{}}
	began := time.Now()
	e.ServeHTTP(answer, request)
	return Explained{answer.status, answer.body.Bytes(), time.Since(began), trace.Statements()}, nil
}
