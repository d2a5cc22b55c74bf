package main

import (
	"context"
	"net"
	"net/http"
	"sync"
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

// busyConnections are those of a server that have a request, or have yet to
// send their first one.
type busyConnections struct {
	mu   sync.Mutex
	busy map[net.Conn]bool
}

func newBusyConnections() *busyConnections {
	return &busyConnections{busy: map[net.Conn]bool{}}
}

// note is for http.Server.ConnState.
func (b *busyConnections) note(conn net.Conn, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state == http.StateNew || state == http.StateActive {
		b.busy[conn] = true
	} else {
		delete(b.busy, conn)
	}
}

func (b *busyConnections) none() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.busy) == 0
}

// wait ends when there are none, or with the context.
func (b *busyConnections) wait(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !b.none() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
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
