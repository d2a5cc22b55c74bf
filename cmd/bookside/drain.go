package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// farewell serves a handler and, once the program ends, asks clients with each answer to send their
// next request over another connection. A connection that is merely closed while it is idle may
// have a request under way to it, which would be lost.
type farewell struct {
	next   http.Handler
	ending atomic.Bool
}

func (f *farewell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.ending.Load() {
		w.Header().Set("Connection", "close")
	}
	f.next.ServeHTTP(w, r)
}

// drain goes on serving for server.drain_delay: time for balancers to see in /readyz that the
// program ends, and for proxies to leave their connections.
func (s *service) drain(ctx context.Context, api *farewell) error {
	s.probes.Stopping()
	api.ending.Store(true)
	s.log.Info("stopping; requests are taken for a while and may then end",
		"for", s.config.Server.DrainDelay.String(), "within", s.config.Server.ShutdownTimeout.String())
	s.tellSystemd(context.WithoutCancel(ctx), stateStopping)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(s.config.Server.DrainDelay):
		return nil
	}
}

func (s *service) tellSystemd(ctx context.Context, state string) {
	if err := notifySystemd(ctx, s.env, state); err != nil {
		s.log.Warn("systemd was not told", "error", err)
	}
}
