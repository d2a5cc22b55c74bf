package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// listenAPI takes the port that systemd hands over, else the configured one.
func (s *service) listenAPI(ctx context.Context) (net.Listener, error) {
	if listener, err := inheritedListener(s.env); listener != nil || err != nil {
		return listener, err
	}
	return listen(ctx, keyListen, s.config.Server.Listen)
}

// listen takes a port; key is the setting that named it.
func listen(ctx context.Context, key, address string) (net.Listener, error) {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, failf(exitPortTaken, err, "another program listens on %s; stop it, or set %s (%s) to another address", address, key, envName(key))
	}
	if err != nil {
		return nil, failf(exitFailure, err, "%s: %v", key, err)
	}
	return listener, nil
}

// adminMemory is for the connections of the admin address, in bytes.
const adminMemory = 4 << 20

// serveProbes answers on the admin address, where there is one.
func (s *service) serveProbes(ctx context.Context) (stop func() error, err error) {
	if s.config.Admin.Listen == "" {
		return func() error { return nil }, nil
	}
	listener, err := listen(ctx, "admin.listen", s.config.Admin.Listen)
	if err != nil {
		return nil, err
	}
	s.log.Info("probes are served", "address", listener.Addr().String())
	return s.start(listener, s.probes, adminMemory), nil
}

// Limits of a request's header. Ordinary proxies send no more than two lines of
// 8 KiB, the address and cookies; the memory of a header depends most on its
// fields, of which Apache too lets a hundred through.
const (
	maxHeader = 16 << 10 // bytes, to which net/http adds 4 KiB
	maxFields = 100
)

// writeBuffer is what the system keeps of answers that a client has not read
// yet. By itself it takes megabytes, and a slow reader would not be noticed.
const writeBuffer = 64 << 10

// fewFields refuses headers of too many fields, as net/http refuses long ones.
func fewFields(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fields := 0
		for _, values := range r.Header {
			fields += len(values)
		}
		if fields <= maxFields {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // at once, whatever is still to come
		const status = http.StatusRequestHeaderFieldsTooLarge
		http.Error(w, fmt.Sprint(status, " ", http.StatusText(status)), status)
	})
}

// start serves in the background, with so many bytes of memory for connections. The returned function stops that once
// running requests have ended, or were cut off after the configured time.
func (s *service) start(listener net.Listener, handler http.Handler, memory int64) (stop func() error) {
	c := s.config.Server
	connections := newConnections(memory, s.metrics.ConnectionDropped)
	listener = &boundedListener{listener, connections}
	server := &http.Server{
		Handler:           fewFields(handler),
		ReadHeaderTimeout: c.HeaderTimeout,
		// When it is over, a request that still runs is cancelled.
		ReadTimeout:    c.HeaderTimeout + c.RequestTimeout,
		WriteTimeout:   c.RequestTimeout + c.WriteTimeout,
		IdleTimeout:    2 * time.Minute, // longer than the usual proxy keeps a connection
		MaxHeaderBytes: maxHeader,
		// "OPTIONS *" is for the handler too, which may refuse its Host.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnState:                    connections.note,
	}
	var stopping atomic.Bool
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		if err := server.Serve(listener); !stopping.Load() {
			s.ended <- fmt.Errorf("serve %s: %w", listener.Addr(), err)
		}
	}()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), s.config.Server.ShutdownTimeout)
		defer cancel()
		// Shutdown drops requests that it finds on a connection just accepted, so
		// the port is closed before.
		stopping.Store(true)
		_ = listener.Close() // one that broke is closed already
		<-accepting
		connections.wait(ctx)
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.Join(errors.New("requests still running at the end of server.shutdown_timeout were cut off"), server.Close())
		}
		return err
	}
}
