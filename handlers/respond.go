package handlers

import (
	"bytes"
	"net/http"

	"github.com/bookside/bookside/handlers/middleware"
)

// ok returns a response with status 200.
func ok(body any) response { return response{status: http.StatusOK, body: body} }

// created returns a response with status 201.
func created(body any) response { return response{status: http.StatusCreated, body: body} }

// encodeAny writes a body in the form in which it is sent, and returns its
// content type.
func encodeAny(buffer *bytes.Buffer, body any) (typ string, err error) {
	if f, is := body.(file); is {
		buffer.Write(f.text)
		return f.typ, nil
	}
	return middleware.JSON, middleware.EncodeJSON(buffer, body)
}
