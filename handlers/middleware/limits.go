package middleware

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// maxURL limits a request's URL in bytes, with ample room for filters.
const maxURL = 8 << 10

var (
	// ErrURLTooLong is the error for a URL longer than maxURL.
	ErrURLTooLong = errors.New("URL too long")
	// ErrOverloaded is the error for a request beyond the limit of requests in flight.
	ErrOverloaded = errors.New("too many concurrent requests")
	// ErrBodyTimeout is the error for a body that did not arrive within the time
	// limit of the request.
	ErrBodyTimeout = errors.New("body did not arrive in time")
)

// InFlight bounds the number of requests that are processed at the same time, and lets each key have half of
// them. A request only has a place while it uses the database, not while its client sends the body or reads the
// response, so slow clients block nobody.
type InFlight struct{ places *places }

// NewInFlight returns a limit of n; 0 for none.
func NewInFlight(n int) InFlight { return InFlight{newPlaces(n)} }

// Do calls work in one of the places, for a key or, while none is known, for 0. If there is none it returns
// ErrOverloaded at once: waiting would only add load to a busy database.
func (f InFlight) Do(key int64, work func() error) error {
	most := f.places.half()
	if key == 0 {
		most = f.places.number
	}
	if !f.places.take(key, most) {
		return ErrOverloaded
	}
	defer f.places.leave(key)
	return work()
}

// connectionEntry is the context key of the connection's context, which has no time limit.
const connectionEntry = "bookside.connection"

// Deadline bounds the time of a request until its response is sent, also where its body is not needed, see DiscardBody.
func Deadline(limit time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(connectionEntry, c.Request().Context())
			ctx, cancel := context.WithTimeout(c.Request().Context(), limit)
			defer cancel()
			c.SetRequest(c.Request().WithContext(ctx))
			return DiscardBody(next)(c)
		}
	}
}

// Detach returns a context for a long request: it ends with the connection, whose time limits are lifted.
func Detach(c echo.Context) (context.Context, context.CancelFunc) {
	controller := http.NewResponseController(c.Response())
	// A writer without deadlines is not a connection.
	_ = controller.SetWriteDeadline(time.Time{})
	_ = controller.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Request().Context()))
	connection, known := c.Get(connectionEntry).(context.Context)
	if !known {
		return ctx, cancel
	}
	stop := context.AfterFunc(connection, cancel)
	return ctx, func() { stop(); cancel() }
}
