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

// request is a request to an operation.
type request struct {
	api     *api
	route   *route
	guard   *compat.Guard // of the route's responses
	echo    echo.Context
	site    *adapter.Site
	view    compat.View
	query   *compat.Query
	rawBody []byte
	// mayRead is the number of bytes that the operation may read from the database,
	// see wpdb.Allow.
	mayRead int64
}

func (r *request) ctx() context.Context { return r.echo.Request().Context() }

// errNoRoute is the error for a path that no route serves.
var errNoRoute = errors.New("no route")

// largestID returns the largest id that fits the column of a resource.
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

// id returns an id from the path. If it is not a number, no route serves the path;
// if it does not fit its column, the record cannot exist.
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

// code returns a code from the path. In echo the last parameter of a path can
// contain slashes; no route serves such a path.
func (r *request) code(p pathParameter) (string, error) {
	if strings.Contains(r.echo.Param(p.name), "/") {
		return "", errNoRoute
	}
	return r.param(p.name), nil
}

// param returns a decoded parameter of the path. echo leaves it encoded if the path
// contains an encoded slash.
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

// response is the result of an operation, to be encoded as JSON.
type response struct {
	status int
	body   any
}
