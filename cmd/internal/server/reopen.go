package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Reopen stops everything that uses the site: running requests end or, after a while, are cut off, and so
// does background work. It then calls between, and serves the site as if the program had just been started.
// Other requests wait meanwhile, except those of [Server.Routes], which are the callers. An error of between
// is returned; the site is served all the same.
func (s *Server) Reopen(ctx context.Context, between func(context.Context) error) error {
	r := &reopening{between: between, done: make(chan error, 1)}
	select {
	case s.reopen <- r:
		return <-r.done
	case <-s.over:
		return errors.New("the server is stopping")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reopening is a call of Reopen.
type reopening struct {
	between func(context.Context) error
	err     error // of between
	done    chan error
}

// gate lets requests pass unless the site is being reopened.
type gate struct {
	free map[string]http.Handler // by paths that pass always
	site sync.RWMutex            // read-locked by each request
	// passing ends, by cut, when requests that passed are cut off.
	passing context.Context //nolint:containedctx // of many requests
	cut     context.CancelFunc
}

func newGate(free map[string]http.Handler) *gate {
	g := &gate{free: free}
	g.passing, g.cut = context.WithCancel(context.Background())
	return g
}

// guard returns a handler whose requests pass the gate. A nil gate guards nothing.
func (g *gate) guard(next http.Handler) http.Handler {
	if g == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.free[r.URL.Path] != nil {
			next.ServeHTTP(w, r)
			return
		}
		g.site.RLock()
		defer g.site.RUnlock()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(g.passing, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
		if g.passing.Err() != nil {
			panic(http.ErrAbortHandler) // its response may be that of a client that went away
		}
	})
}

// reopenPatience is how long running requests may take to end before the site is reopened.
const reopenPatience = time.Second

// close waits until all requests that passed have ended; others wait until open is called.
func (g *gate) close() {
	late := time.AfterFunc(reopenPatience, g.cut)
	g.site.Lock()
	late.Stop()
	g.cut()
	g.passing, g.cut = context.WithCancel(context.Background())
}

func (g *gate) open() { g.site.Unlock() }
