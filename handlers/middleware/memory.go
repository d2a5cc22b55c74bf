package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"
)

// ErrNoMemory is the error of a request for which no memory became free in time.
var ErrNoMemory = fmt.Errorf("no memory for the request: %w", ErrOverloaded)

// Parts of the memory of requests, in bytes.
const (
	MaxOrdinary = 2 << 20  // limit of a request that does not wait for heavy ones
	FreeBytes   = 32 << 10 // of a body or a response, not counted
)

// Memory bounds the memory that requests use together. It is divided so that ordinary requests do not wait
// for heavy ones, and none waits for clients that send or read slowly. A request acquires its parts in the
// order of the fields, so that requests cannot deadlock.
type Memory struct {
	bodies    budget // of requests being received or processed
	ordinary  budget // for processing up to MaxOrdinary each
	heavy     budget // for processing more
	responses budget // being read by clients
	// Wait is how long a request waits for each of them.
	Wait time.Duration
}

// NewMemory divides a number of bytes; 0 for no limit.
func NewMemory(bytes int64, wait time.Duration) Memory {
	return Memory{newBudget(bytes / 8), newBudget(bytes / 4), newBudget(bytes / 2), newBudget(bytes / 8), wait}
}

// ReadBody returns the body of a POST or PUT. It is read up front, because the operation may run twice. Its
// memory is counted until release is called.
func (m *Memory) ReadBody(c echo.Context) (body []byte, release func(), err error) {
	request := c.Request()
	if request.Method != http.MethodPost && request.Method != http.MethodPut {
		return nil, func() {}, nil
	}
	length := request.ContentLength
	if length > MaxBody {
		return nil, nil, ErrBodyTooLarge
	}
	if length < 0 {
		length = MaxBody // unknown
	}
	release, err = m.bodies.acquire(request.Context(), counted(length), m.Wait)
	if err != nil {
		return nil, nil, err
	}
	body, err = ReadAll(c, MaxBody)
	if err != nil {
		release()
		return nil, nil, err
	}
	return body, release, nil
}

// Work acquires the memory for processing a request.
func (m *Memory) Work(ctx context.Context, bytes int64) (release func(), err error) {
	if bytes > MaxOrdinary {
		return m.heavy.acquire(ctx, bytes, m.Wait)
	}
	return m.ordinary.acquire(ctx, bytes, m.Wait)
}

// Response acquires the memory of a response until its client has read it.
func (m *Memory) Response(ctx context.Context, bytes int, wait time.Duration) (release func(), err error) {
	return m.responses.acquire(ctx, counted(int64(bytes)), wait)
}

// counted returns how many bytes of a body or a response are counted.
func counted(bytes int64) int64 {
	if bytes <= FreeBytes {
		return 0
	}
	return bytes
}

// budget is a number of bytes that requests acquire in the order of their arrival.
type budget struct {
	size  int64
	bytes *semaphore.Weighted // nil for no limit
}

// newBudget returns a budget of this many bytes; 0 for no limit.
func newBudget(size int64) budget {
	if size == 0 {
		return budget{}
	}
	return budget{size, semaphore.NewWeighted(size)}
}

// acquire waits until this many bytes are free, and returns ErrNoMemory if that takes too long.
func (b *budget) acquire(ctx context.Context, bytes int64, wait time.Duration) (release func(), err error) {
	if b.bytes == nil || bytes == 0 {
		return func() {}, nil
	}
	bytes = min(bytes, b.size)
	if !b.bytes.TryAcquire(bytes) {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if b.bytes.Acquire(waiting, bytes) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, ErrNoMemory
		}
	}
	return func() { b.bytes.Release(bytes) }, nil
}
