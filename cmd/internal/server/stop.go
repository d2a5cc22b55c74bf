package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// limitStopping makes last end once the drain delay and the time to stop have passed after ctx.
func (s *Server) limitStopping(ctx context.Context) (release func()) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.last = last
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(s.Config.Limits.DrainDelay+s.Config.Limits.ShutdownTimeout, cancel)
	})
	return func() { stop(); cancel() }
}

// lastWait is the time for immediate work after everything that could wait was given up.
const lastWait = 100 * time.Millisecond

// beforeLast waits for something to end, and reports whether it did in time. Otherwise the program exits
// without it, as if it had been killed, which everything is prepared for: a hanging dependency must not
// keep it from exiting.
func (s *Server) beforeLast(what string, end func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end()
	}()
	select {
	case <-ended:
		return true
	case <-s.last.Done():
	}
	select {
	case <-ended:
		return true
	case <-time.After(lastWait):
		s.Log.Warn("the program ends without waiting any longer", "for", what)
		return false
	}
}

// closingHandler asks clients, while the program is stopping, to send their next request over another
// connection. Closing an idle connection instead could lose a request that is already in transit.
type closingHandler struct {
	next    http.Handler
	closing atomic.Bool
}

func (h *closingHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.closing.Load() {
		w.Header().Set("Connection", "close")
	}
	h.next.ServeHTTP(w, r)
}

// drain keeps serving for a while, so that load balancers can see in /readyz that the program is
// stopping, and proxies can close their connections.
func (s *Server) drain(ctx context.Context, api *closingHandler) error {
	s.probes.Stopping()
	api.closing.Store(true)
	s.Log.Info("stopping: new requests are accepted for a while, running ones may finish",
		"for", s.Config.Limits.DrainDelay.String(), "within", s.Config.Limits.ShutdownTimeout.String())
	s.notifySystemd(context.WithoutCancel(ctx), stateStopping)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(s.Config.Limits.DrainDelay):
		return nil
	}
}

func (s *Server) notifySystemd(ctx context.Context, state string) {
	if err := notifySystemd(ctx, s.Env, state); err != nil {
		s.Log.Warn("systemd could not be notified", "error", err)
	}
}
