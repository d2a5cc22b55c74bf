package handlers

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
)

// Starting serves the API from the moment its port is open. Requests wait until the site is open, as during
// a restart; if that takes longer than it should, further requests get 503 at once, because it may be
// impossible.
type Starting struct {
	refuse http.Handler
	late   chan struct{}

	api    http.Handler
	opened chan struct{}
	open   func() // closes opened, once
}

// NewStarting returns a handler that lets requests wait for at most this long, altogether.
func NewStarting(now domain.Clock, log *slog.Logger, options Options, wait time.Duration) *Starting {
	s := &Starting{late: make(chan struct{}), opened: make(chan struct{})}
	s.open = sync.OnceFunc(func() { close(s.opened) })
	a := newAPI(nil, nil, now, log, options)
	e := a.router()
	e.RouteNotFound("/*", func(echo.Context) error { return domain.Unavailable("The server is starting", nil) })
	s.refuse = e
	time.AfterFunc(wait, func() { close(s.late) })
	return s
}

// Open passes all requests on to the API, including those that are waiting. It may be called again while
// there are no requests.
func (s *Starting) Open(api http.Handler) {
	s.api = api
	s.open()
}

func (s *Starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.opened:
		s.api.ServeHTTP(w, r)
		return
	default:
	}
	select {
	case <-s.opened:
		s.api.ServeHTTP(w, r)
	case <-s.late:
		s.refuse.ServeHTTP(w, r)
	case <-r.Context().Done():
		s.refuse.ServeHTTP(w, r)
	}
}
