package handlers

import (
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/typed"
)

// Responses for generated clients: what was made in the usual form changes when it is sent, so that reads
// are still shared, and stored responses can be sent in either form.

// typedIDs are the places of ids in the responses of routes, by operation, found at the first request.
var typedIDs sync.Map

func (r *route) ids() *typed.IDs {
	known, ok := typedIDs.Load(r.operation.id)
	if !ok {
		known, _ = typedIDs.LoadOrStore(r.operation.id, typed.IDsIn(r.samples()...))
	}
	return known.(*typed.IDs)
}

// bodyIn returns a body in the form that the request asks for.
func bodyIn(c echo.Context, body []byte) ([]byte, error) {
	r, known := routeOf(c)
	if !known || !typed.Wanted(c.Request().Header) {
		return body, nil
	}
	return r.ids().Integers(body)
}

// tagIn returns the tag of a response in the form that the request asks for.
func tagIn(c echo.Context, tag string) string {
	if tag == "" || !typed.Wanted(c.Request().Header) {
		return tag
	}
	return typed.Tag(tag)
}

// sendFailure sends an error in the form that the request asks for.
func sendFailure(c echo.Context, failure compat.Failure, shape compat.ErrorShape) error {
	if !typed.Wanted(c.Request().Header) {
		return middleware.SendJSON(c, failure.Status, failure.Body(shape))
	}
	var record *typed.IDs
	if r, known := routeOf(c); known {
		if read := readOf(r); read != nil {
			record = read.route.recordIDs()
		}
	}
	body, err := typed.Encode(failure, record)
	if err != nil {
		return err
	}
	return c.Blob(failure.Status, middleware.JSON, body)
}

// recordIDs returns the places of ids in the record that a single read shows.
func (r *route) recordIDs() *typed.IDs {
	if compat.Enveloped(r.operation.answers[0].body) {
		return r.ids().Member("data")
	}
	return r.ids()
}
