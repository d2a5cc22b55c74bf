package handlers

import (
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
)

// readDocument parses the body of a write, an object or a list, and adds fields from the query that it lacks. A DELETE is
// read like any other: nothing is written for a client that only meant to try it.
func (r *request) readDocument() error {
	document, err := compat.ParseBody(r.echo.Request().Header.Get("Content-Type"), r.rawBody)
	if err != nil {
		return err
	}
	if r.document, err = document.WithQuery(r.echo.Request().URL.RawQuery, r.api.reservedParameters()...); err != nil {
		return err
	}
	if r.document.AsksForDryRun() || r.query.AsksForDryRun() {
		if !r.allowsDryRun {
			return compat.NoDryRun()
		}
		if err := r.principal.Require(r.reading); err != nil {
			return err
		}
	}
	if r.route.operation.body == nil {
		if _, err := r.body(); err != nil {
			return err
		}
	}
	if err := r.refuseUnknownFields(); err != nil {
		return err
	}
	if name := r.document.Personal(); name != "" && r.principal.MaskPersonal {
		return domain.PersonalMasked(name)
	}
	return nil
}

// reservedParameters returns the parameters of a query that are not fields of a body.
func (a *api) reservedParameters() []string {
	return []string{a.options.QueryParameter, wordpress.RouteParameter, middleware.MethodParameter}
}

// body returns the request's body, which must be an object.
func (r *request) body() (*compat.Body, error) { return r.document.Body() }
