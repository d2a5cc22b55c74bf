package middleware

import (
	"bytes"
	"sync"
)

// bufferPool reuses the buffers of responses; large ones are left to the garbage
// collector.
type bufferPool struct{ pool sync.Pool }

// Buffers are those of responses.
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
