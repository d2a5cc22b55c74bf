package handlers

import (
	"context"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/compat"
)

// request is what an operation works with.
type request struct {
	api   *api
	route *route
	guard *compat.Guard // of the route's answers
	echo  echo.Context
	site  *adapter.Site
	view  compat.View
	query *compat.Query
	sent  []byte // the body
	// mayRead is how much the work may read from the database, see wpdb.Allow.
	mayRead int64
}

func (r *request) ctx() context.Context { return r.echo.Request().Context() }

// errNoRoute is a path that no route serves.
var errNoRoute = errors.New("no route")

// largestID is the largest id that a resource's column holds.
func largestID(resource domain.Resource) int64 {
	switch resource {
	case domain.BookingResource:
		return math.MaxInt32
	case domain.OrderResource, domain.InvoiceResource:
		return math.MaxInt64
	default:
		return 1<<23 - 1 // MEDIUMINT
	}
}

// id reads an id of the path. One that is no number is a path nobody serves;
// one beyond its column names a record that cannot exist.
func (r *request) id(p pathParameter) (int64, error) {
	text := r.param(p.name)
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789") != "" {
		return 0, errNoRoute
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > largestID(p.resource) {
		return 0, domain.NotFound(p.resource, text)
	}
	return id, nil
}

// code reads a code of the path. echo lets the last parameter of a path run on
// over slashes, into paths nobody serves.
func (r *request) code(p pathParameter) (string, error) {
	if strings.Contains(r.echo.Param(p.name), "/") {
		return "", errNoRoute
	}
	return r.param(p.name), nil
}

// param is a parameter of the path, decoded. echo leaves it encoded where the
// path holds an encoded slash.
func (r *request) param(name string) string {
	text := r.echo.Param(name)
	if r.echo.Request().URL.RawPath == "" {
		return text
	}
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return decoded
}

// response is the answer of an operation.
type response struct {
	status int
	body   any
}
