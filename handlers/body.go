package handlers

import (
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
)

// readDocument parses the body of a write, an object or a list, and adds fields from the query that it lacks. A DELETE is
// read like any other: nothing is written for a client that only meant to try it.
func (r *request) readDocument() (compat.Document, error) {
	document, err := compat.ParseBody(r.echo.Request().Header.Get("Content-Type"), r.rawBody)
	if err != nil {
		return compat.Document{}, err
	}
	document, err = document.WithQuery(r.echo.Request().URL.RawQuery, r.api.reservedParameters()...)
	if err == nil && (document.AsksForDryRun() || r.query.AsksForDryRun()) {
		if err = r.principal.Require(r.reading); !r.allowsDryRun {
			err = compat.NoDryRun()
		}
	}
	if err == nil && r.route.operation.body == nil {
		_, err = document.Body()
	}
	if err != nil || !r.principal.MaskPersonal {
		return document, err
	}
	if name := document.Personal(); name != "" {
		return compat.Document{}, domain.PersonalMasked(name)
	}
	return document, nil
}

// reservedParameters returns the parameters of a query that are not fields of a body.
func (a *api) reservedParameters() []string {
	return []string{a.options.QueryParameter, wordpress.RouteParameter, middleware.MethodParameter}
}

// body returns the request's body, which must be an object.
func (r *request) body() (*compat.Body, error) {
	body, err := r.document.Body()
	if err == nil && r.route.operation.strictBody {
		unknown := body.Others(func(name string) bool { return r.known.include(name, false) })
		body.Refuse(r.known.mistakes("field", middleware.Legible(unknown)))
	}
	return body, err
}
