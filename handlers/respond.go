package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"bookside/handlers/middleware"
)

const contentType = "application/json; charset=UTF-8"

// ok returns a response with status 200.
func ok(body any) response { return response{status: http.StatusOK, body: body} }

// created returns a response with status 201.
func created(body any) response { return response{status: http.StatusCreated, body: body} }

// send encodes the body before it writes the status, so that an encoding error can
// still become an error response.
func send(c echo.Context, r response) error {
	buffer := middleware.Buffers.Get()
	defer middleware.Buffers.Put(buffer)
	if err := encode(buffer, r.body); err != nil {
		return err
	}
	return c.Blob(r.status, contentType, buffer.Bytes())
}

// encodeAny writes a body as it is sent, and returns its content type.
func encodeAny(buffer *bytes.Buffer, body any) (typ string, err error) {
	if f, is := body.(file); is {
		buffer.Write(f.text)
		return f.typ, nil
	}
	return contentType, encode(buffer, body)
}

func encode(buffer *bytes.Buffer, body any) error {
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	buffer.Truncate(buffer.Len() - 1) // the encoder appends a newline
	return nil
}
