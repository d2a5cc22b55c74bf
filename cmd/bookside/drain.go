package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// closingHandler asks clients, while the program is stopping, to send their next request over
// another connection. Closing an idle connection instead could lose a request that is already on its
// way.
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

// drain keeps serving for server.drain_delay: time for load balancers to see in /readyz that the
// program is stopping, and for proxies to close their connections.
func (s *service) drain(ctx context.Context, api *closingHandler) error {
	s.probes.Stopping()
	api.closing.Store(true)
	s.log.Info("stopping: new requests are accepted for a while, running ones may finish",
		"for", s.config.Server.DrainDelay.String(), "within", s.config.Server.ShutdownTimeout.String())
	s.notifySystemd(context.WithoutCancel(ctx), stateStopping)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(s.config.Server.DrainDelay):
		return nil
	}
}

func (s *service) notifySystemd(ctx context.Context, state string) {
	if err := notifySystemd(ctx, s.env, state); err != nil {
		s.log.Warn("systemd could not be notified", "error", err)
	}
}
