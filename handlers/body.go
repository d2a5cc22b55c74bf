package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"bookside/adapter/domain"
	"bookside/compat"
)

// maxBody is the limit of the body of a request in bytes.
const maxBody = 1 << 20

// errBodyTooLarge is the error for a body larger than maxBody.
var errBodyTooLarge = errors.New("body too large")

// readBody returns the body of a POST or PUT. It is read once, because the operation
// may run twice. Its memory is counted until release is called.
func (a *api) readBody(c echo.Context) (body []byte, release func(), err error) {
	request := c.Request()
	if request.Method != http.MethodPost && request.Method != http.MethodPut {
		return nil, func() {}, nil
	}
	if request.ContentLength > maxBody {
		return nil, nil, errBodyTooLarge
	}
	length := request.ContentLength
	if length < 0 {
		length = maxBody // unknown
	}
	release, err = a.memory.bodies.acquire(request.Context(), countedBytes(length), a.memory.wait)
	if err != nil {
		return nil, nil, err
	}
	body, err = readAll(c, maxBody)
	if err != nil {
		release()
		return nil, nil, err
	}
	return body, release, nil
}

// readAll reads a body of at most some bytes.
func readAll(c echo.Context, most int64) ([]byte, error) {
	request := c.Request()
	stop := stopReadingAfter(request.Context(), c.Response().Writer)
	defer stop()
	body := request.Body
	request.Body = http.NoBody // the response must not wait for the rest
	sent, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, body, most))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return sent, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(request.Context().Err(), context.Canceled):
		return nil, errBodyTimeout
	case errors.As(err, &large):
		return nil, errBodyTooLarge
	case request.Context().Err() != nil:
		return nil, request.Context().Err()
	default:
		return nil, &compat.BodyError{Message: "The request body broke off"}
	}
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
	return []string{a.options.QueryParameter, routeParameter, methodParameter}
}

// body parses the request's body, which must be an object.
func (r *request) body() (*compat.Body, error) {
	document, err := r.document()
	if err != nil {
		return nil, err
	}
	return document.Body()
}
