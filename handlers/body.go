package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/compat"
	"bookside/handlers/middleware"
	"bookside/handlers/wordpress"
)

// readBody returns the body of a POST or PUT. It is read once, because the operation
// may run twice. Its memory is counted until release is called.
func (a *api) readBody(c echo.Context) (body []byte, release func(), err error) {
	request := c.Request()
	if request.Method != http.MethodPost && request.Method != http.MethodPut {
		return nil, func() {}, nil
	}
	if request.ContentLength > middleware.MaxBody {
		return nil, nil, middleware.ErrBodyTooLarge
	}
	length := request.ContentLength
	if length < 0 {
		length = middleware.MaxBody // unknown
	}
	release, err = a.memory.bodies.Acquire(request.Context(), countedBytes(length), a.memory.wait)
	if err != nil {
		return nil, nil, err
	}
	body, err = middleware.ReadAll(c, middleware.MaxBody)
	if err != nil {
		release()
		return nil, nil, err
	}
	return body, release, nil
}

// document parses the request's body, an object or a list, and adds the fields of the
// query that it lacks.
func (r *request) document() (compat.Document, error) {
	document, err := compat.ParseBody(r.echo.Request().Header.Get("Content-Type"), r.rawBody)
	if err != nil {
		return compat.Document{}, err
	}
	document, err = document.WithQuery(r.echo.Request().URL.RawQuery, r.api.reservedParameters()...)
	if err == nil && !r.allowsDryRun && document.AsksForDryRun() {
		err = compat.NoDryRun()
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

// body parses the request's body, which must be an object.
func (r *request) body() (*compat.Body, error) {
	document, err := r.document()
	if err != nil {
		return nil, err
	}
	return document.Body()
}
