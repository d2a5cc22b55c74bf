package handlers

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// keep adds a request to the console's list of requests, without what it sent. Documents, which need no
// key, are not in it.
func (a *api) keep(c echo.Context, start time.Time, usage *wpdb.Usage) {
	if a.options.Requests == nil {
		return
	}
	status := c.Response().Status
	r, routed := routeOf(c)
	if !routed && status >= http.StatusBadRequest { // nothing has looked at the key yet
		_ = a.authenticate(func(echo.Context) error { return nil })(c) // an error leaves the request without one
	}
	principal, known := principalOf(c)
	if !known && status < http.StatusBadRequest {
		return
	}
	e := keys.LogEntry{
		At: start, RequestID: middleware.RequestID(c), KeyID: principal.ID, UserID: principal.UserID, FromConsole: principal.Kind == keys.Admin,
		Method: middleware.KnownMethod(c.Request().Method), Route: keys.NoRoute, Status: status, Took: a.now().Sub(start), Statements: usage.Queries(),
	}
	e.Code, _ = c.Get(codeEntry).(string)
	e.Tool, _ = c.Get(toolEntry).(string)
	if routed {
		e.Route = r.path
		if id := c.Param("id"); len(id) < 10 { // a longer one may be the number of a telephone
			number, _ := strconv.ParseUint(id, 10, 32)
			e.RecordID = int64(number)
		}
	}
	if !known {
		a.options.Requests.Refuse(e)
		return
	}
	err, _ := c.Get(errorEntry).(error)
	if failure, ok := errors.AsType[*domain.Error](err); ok {
		for _, name := range slices.Sorted(maps.Keys(failure.Fields)) {
			if !fieldName.MatchString(name) {
				name = "…"
			}
			e.Fields = append(e.Fields, name)
		}
	}
	if !a.options.Requests.Add(e) {
		a.metrics.Unlogged.Inc()
	}
}

// fieldName matches names of fields; others may be what a client sent.
var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_.]{0,60}$`)

// errorEntry is set in a request's context to the error that answers it.
const errorEntry = "bookside.error"
