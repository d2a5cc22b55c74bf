package handlers

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/compat/masks"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// keep adds a request to the console's list of requests, without personal data. Documents, which need no
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
	e := requestlog.Entry{
		At: start, RequestID: middleware.RequestID(c), KeyID: principal.ID, UserID: principal.UserID, FromConsole: principal.Kind == keys.Admin,
		Method: middleware.KnownMethod(c.Request().Method), Route: requestlog.NoRoute, Status: status, Took: a.now().Sub(start), Statements: usage.Queries(),
	}
	e.Code, _ = c.Get(codeEntry).(string)
	e.Tool, _ = c.Get(toolEntry).(string)
	e.DryRun, _ = c.Get(dryRunEntry).(bool)
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
	request := masks.Request{Known: a.vocabulary.Of("")}
	if routed {
		request.Known = a.vocabulary.Of(r.operation.id)
	}
	if raw := c.Request().URL.RawQuery; raw != "" {
		e.Query = request.Query(raw)
	}
	err, _ := c.Get(errorEntry).(error)
	var refused map[string]string
	if failure, ok := errors.AsType[*domain.Error](err); ok {
		refused = failure.Fields
	}
	keepsBody := a.options.KeepBodies && principal.Kind == keys.Test
	if body, sent := c.Get(bodyEntry).([]byte); sent && (len(refused) > 0 || keepsBody) {
		if shown := request.Body(body); keepsBody {
			e.Body = shown
		}
	}
	if len(refused) > 0 {
		e.Fields = make(map[string]string, len(refused))
		for name, message := range refused {
			e.Fields[request.Field(name)] = request.Message(message)
		}
	}
	if ignored := c.Response().Header().Get(ignoredHeader); ignored != "" {
		for name := range strings.SplitSeq(ignored, ", ") {
			e.Ignored = append(e.Ignored, request.Field(name))
		}
	}
	if !a.options.Requests.Add(e) {
		a.metrics.Unlogged.Inc()
	}
}

// bodyEntry is set in a request's context to its body.
const bodyEntry = "bookside.body"

// dryRunEntry is set in a request's context to true if it is a dry run.
const dryRunEntry = "bookside.dry_run"

// errorEntry is set in a request's context to the error that answers it.
const errorEntry = "bookside.error"
