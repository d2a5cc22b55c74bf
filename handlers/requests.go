package handlers

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/masks"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/wpdb"
)

// keep adds a request to the console's list of requests, without personal data. Documents, which need no
// key, are not in it.
func (a *api) keep(c echo.Context, start time.Time, usage *wpdb.Usage) {
	status := c.Response().Status
	principal, known := principalOf(c)
	if a.options.Requests == nil || !known && status < http.StatusBadRequest {
		return
	}
	e := requestlog.Entry{
		At: start, RequestID: middleware.RequestID(c), KeyID: principal.ID, UserID: principal.UserID, FromConsole: principal.Kind == keys.Admin,
		Method: middleware.KnownMethod(c.Request().Method), Route: requestlog.NoRoute, Status: status, Took: a.now().Sub(start), Statements: usage.Queries(),
	}
	e.Code, _ = c.Get(codeEntry).(string)
	e.Tool, _ = c.Get(toolEntry).(string)
	e.DryRun, _ = c.Get(dryRunEntry).(bool)
	r, routed := routeOf(c)
	if routed {
		e.Route = r.path
		if id, err := strconv.ParseUint(c.Param("id"), 10, 63); err == nil {
			e.RecordID = int64(id)
		}
	}
	if !known {
		a.options.Requests.Refuse(e)
		return
	}
	if raw := c.Request().URL.RawQuery; raw != "" {
		e.Query = masks.Query(raw, func(name string) bool { return routed && a.plain[r][name] })
	}
	if err, failed := c.Get(errorEntry).(error); failed {
		e.Fields = refusedFields(err)
	}
	if body, kept := c.Get(bodyEntry).([]byte); kept {
		e.Body = masks.Body(body)
	}
	if ignored := c.Response().Header().Get(ignoredHeader); ignored != "" {
		for name := range strings.SplitSeq(ignored, ", ") {
			e.Ignored = append(e.Ignored, masks.Name(name))
		}
	}
	if !a.options.Requests.Add(e) {
		a.metrics.Unlogged.Inc()
	}
}

// bodyEntry is set in a request's context to its body, if a masked form is kept.
const bodyEntry = "bookside.body"

// dryRunEntry is set in a request's context to true if it is a dry run.
const dryRunEntry = "bookside.dry_run"

// errorEntry is set in a request's context to the error that answers it.
const errorEntry = "bookside.error"

// refusedFields returns why fields were refused, by name, without what the request sent.
func refusedFields(err error) map[string]string {
	var known *domain.Error
	if !errors.As(err, &known) || len(known.Fields) == 0 {
		return nil
	}
	fields := make(map[string]string, len(known.Fields))
	for name, message := range known.Fields {
		fields[masks.Name(name)] = masks.Message(message)
	}
	return fields
}

// plainParameters are the parameters whose values are no texts, so that they can be shown.
func plainParameters(input compat.QueryInput) map[string]bool {
	plain := map[string]bool{}
	if input == nil {
		return plain
	}
	texts := input.Texts()
	for _, name := range input.Names() {
		plain[name] = !slices.Contains(texts, name)
	}
	return plain
}
