package handlers

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
)

// request is a request to an operation.
type request struct {
	*endpoint
	input
	api     *api
	context context.Context
	echo    echo.Context
	path    middleware.PathValues
	session *session.Session
	// lockedWebhooks are the webhooks within the transaction of lockWebhook; nil outside it.
	lockedWebhooks *jobs.HookStore
	principal      keys.Principal // the holder of the key
	view           compat.View
	cursor         *session.ExportCursor // of an export; nil for a complete response
}

// input is what a client sent.
type input struct {
	query       *compat.Query
	recordQuery string // the query of the GET of the record that a write names in its body; "" for that of the request
	rawBody     []byte
	document    compat.Document // what rawBody and the query have; of a write
}

func (r *request) ctx() context.Context { return r.context }

// maxID returns the largest id that fits the column of a resource.
func maxID(resource domain.Resource) int64 {
	switch resource {
	case domain.BookingResource:
		return math.MaxInt32
	case domain.OrderResource, domain.InvoiceResource, domain.WebhookResource, domain.HoldResource, domain.TimeOffResource:
		return math.MaxInt64
	default:
		return 1<<23 - 1 // MEDIUMINT
	}
}

// id returns an id from the path. If it is not a number, no route serves the path; if it does not fit its
// column, the record cannot exist.
func (r *request) id(p pathParameter) (int64, error) {
	text := r.param(p.name)
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789") != "" {
		return 0, failures.ErrNoRoute
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > maxID(p.resource) {
		return 0, domain.NotFound(p.resource, text)
	}
	return id, nil
}

// code returns a code from the path. In echo the last parameter of a path can contain slashes; no route
// serves such a path.
func (r *request) code(p pathParameter) (string, error) {
	if strings.Contains(r.path.Encoded(p.name), "/") {
		return "", failures.ErrNoRoute
	}
	return r.param(p.name), nil
}

// param returns a decoded parameter of the path.
func (r *request) param(name string) string { return r.path.Decoded(name) }

// response is the result of an operation, to be encoded as JSON, or a file.
type response struct {
	status int
	body   any
}

// file is the body of a response that is not JSON.
type file struct {
	typ  string
	text []byte
}
