package middleware

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/labstack/echo/v4"
)

// JSON is the content type of responses.
const JSON = "application/json; charset=UTF-8"

// SendJSON encodes a body before it writes the status, so that an encoding error can
// still become an error response.
func SendJSON(c echo.Context, status int, body any) error {
	buffer := Buffers.Get()
	defer Buffers.Put(buffer)
	if err := EncodeJSON(buffer, body); err != nil {
		return err
	}
	return c.Blob(status, JSON, buffer.Bytes())
}

// EncodeJSON encodes a body as it is sent.
func EncodeJSON(to *bytes.Buffer, body any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	to.Truncate(to.Len() - 1) // the encoder appends a newline
	return nil
}

// bufferPool reuses the buffers of responses; large ones are left to the garbage collector.
type bufferPool struct{ pool sync.Pool }

// Buffers is the pool for responses.
var Buffers bufferPool

const maxPooledBuffer = 256 << 10

// Get returns an empty buffer.
func (p *bufferPool) Get() *bytes.Buffer {
	if buffer, ok := p.pool.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return new(bytes.Buffer)
}

// Put gives a buffer back.
func (p *bufferPool) Put(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxPooledBuffer {
		buffer.Reset()
		p.pool.Put(buffer)
	}
}
