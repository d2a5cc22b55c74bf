package middleware

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/compat"
)

// MaxBody is the limit of the body of a request in bytes.
const MaxBody = 1 << 20

// Errors for a body larger than MaxBody, and for a compressed one.
var (
	ErrBodyTooLarge = errors.New("body too large")
	ErrBodyEncoded  = errors.New("body encoded")
)

// ReadBody returns the body of a write. It is read up front, because the operation may run twice.
func ReadBody(c echo.Context) ([]byte, error) {
	if c.Request().ContentLength > MaxBody {
		return nil, ErrBodyTooLarge
	}
	return ReadAll(c, MaxBody)
}

// ReadAll reads a body of at most some bytes.
func ReadAll(c echo.Context, most int64) ([]byte, error) {
	request := c.Request()
	if encoding := request.Header.Get(echo.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, ErrBodyEncoded
	}
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
		return nil, ErrBodyTimeout
	case errors.As(err, &large):
		return nil, ErrBodyTooLarge
	case request.Context().Err() != nil:
		return nil, request.Context().Err()
	default:
		return nil, &compat.BodyError{Message: "The request body broke off"}
	}
}

// bodyGrace is how long a response waits for the rest of a body that is not needed.
const bodyGrace = time.Second

// DiscardBody keeps responses from waiting for an unneeded body, which net/http would read first, for as
// long as the connection may last.
func DiscardBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Before(func() {
			if bodyPending(c.Request()) && !drainBody(c.Request(), c.Response().Writer) {
				c.Response().Header().Set("Connection", "close")
			}
		})
		return next(c)
	}
}

// bodyPending reports whether a client may still be sending a body that is not too large to wait for. A
// client that expects 100-continue has not started.
func bodyPending(request *http.Request) bool {
	return request.Body != http.NoBody && request.ContentLength != 0 && request.ContentLength <= MaxBody && request.Header.Get("Expect") == ""
}

// drainBody reads the rest of a body for a short time and reports whether that was enough. Many clients
// read the response only after they have sent everything.
func drainBody(request *http.Request, w http.ResponseWriter) (inTime bool) {
	ctx, cancel := context.WithTimeout(request.Context(), bodyGrace)
	defer cancel()
	stop := stopReadingAfter(ctx, w)
	// net/http gets the same error and closes the connection.
	_, _ = io.CopyN(io.Discard, request.Body, MaxBody)
	return stop()
}

// stopReadingAfter makes reads of a request's body fail once the context is done.
func stopReadingAfter(ctx context.Context, w http.ResponseWriter) (stop func() bool) {
	return afterDone(ctx, func() {
		// A writer without deadlines is not a connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
}

// afterDone runs work once the context is done. The caller must call stop once, before its request ends,
// because the connection and echo's context may then serve the next request: work has then finished or
// never runs. stop reports whether it came before work.
func afterDone(ctx context.Context, work func()) (stop func() bool) {
	ended := make(chan struct{})
	prevent := context.AfterFunc(ctx, func() {
		defer close(ended)
		work()
	})
	return func() bool {
		if prevent() {
			return true
		}
		<-ended
		return false
	}
}

// StopWritingAfter makes writes to the client fail once the context is done.
func StopWritingAfter(ctx context.Context, c echo.Context) (stop func() bool) {
	controller := http.NewResponseController(c.Response())
	return afterDone(ctx, func() { _ = controller.SetWriteDeadline(time.Unix(1, 0)) })
}
