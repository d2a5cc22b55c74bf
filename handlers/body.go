package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/labstack/echo/v4"

	"bookside/compat"
)

// maxBody is how large the body of a request may be.
const maxBody = 1 << 20

// errBodyTooLarge is a body beyond maxBody.
var errBodyTooLarge = errors.New("body too large")

// readBody reads what a POST or PUT sent. It does so once: the site may be
// looked at twice. Until forget is called its memory is counted.
func (a *api) readBody(c echo.Context) (sent []byte, forget func(), err error) {
	request := c.Request()
	if request.Method != http.MethodPost && request.Method != http.MethodPut {
		return nil, func() {}, nil
	}
	if request.ContentLength > maxBody {
		return nil, nil, errBodyTooLarge
	}
	length := request.ContentLength
	if length < 0 {
		length = maxBody // it is not told, and may be that
	}
	forget, err = a.memory.bodies.take(request.Context(), counted(length), a.memory.wait)
	if err != nil {
		return nil, nil, err
	}
	sent, err = readAll(c)
	if err != nil {
		forget()
		return nil, nil, err
	}
	return sent, forget, nil
}

func readAll(c echo.Context) ([]byte, error) {
	request := c.Request()
	stop := endReadingWith(request.Context(), c.Response().Writer)
	defer stop()
	body := request.Body
	request.Body = http.NoBody // whatever comes of it, the answer waits for no more
	sent, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, body, maxBody))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return sent, nil
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(request.Context().Err(), context.Canceled):
		return nil, errSlowBody
	case errors.As(err, &large):
		return nil, errBodyTooLarge
	case request.Context().Err() != nil:
		return nil, request.Context().Err()
	default:
		return nil, &compat.BodyError{Message: "The request body broke off"}
	}
}

// document is the request's body, an object or a list, with the fields of the query that
// it lacks.
func (r *request) document() (compat.Document, error) {
	document, err := compat.ParseBody(r.echo.Request().Header.Get("Content-Type"), r.sent)
	if err != nil {
		return compat.Document{}, err
	}
	return document.WithQuery(r.echo.Request().URL.RawQuery, r.api.reserved()...)
}

// reserved are the parameters of a query that are no fields of a body.
func (a *api) reserved() []string {
	return []string{a.options.QueryParameter, routeParameter, methodParameter}
}

// body is the request's body, an object.
func (r *request) body() (*compat.Body, error) {
	document, err := r.document()
	if err != nil {
		return nil, err
	}
	return document.Body()
}
