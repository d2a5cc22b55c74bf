package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
)

const contentType = "application/json; charset=UTF-8"

// ok answers 200.
func ok(body any) response { return response{status: http.StatusOK, body: body} }

// buffers are reused between responses; large ones are left to the collector.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const keepBuffer = 256 << 10

// send encodes the body before the status is written, so that a failure to
// encode can still become an error response.
func send(c echo.Context, r response) error {
	buffer := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= keepBuffer {
			buffers.Put(buffer)
		}
	}()
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.body); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	return c.Blob(r.status, contentType, bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
}
