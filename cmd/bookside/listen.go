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
	return s.start(listener, s.probes), nil
}

// maxHeader is more than proxies let through.
const maxHeader = 32 << 10

// writeBuffer is what the system keeps of answers that a client has not read
// yet. By itself it takes megabytes, and a slow reader would not be noticed.
const writeBuffer = 64 << 10

// limitBuffer is for http.Server.ConnContext.
func limitBuffer(ctx context.Context, conn net.Conn) context.Context {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // the connection is of use with another one too
	}
	return ctx
}

// start serves in the background. The returned function stops that once
// running requests have ended, or were cut off after the configured time.
func (s *service) start(listener net.Listener, handler http.Handler) (stop func() error) {
	c := s.config.Server
	busy := newBusyConnections()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: c.HeaderTimeout,
		// When it is over, a request that still runs is cancelled.
		ReadTimeout:    c.HeaderTimeout + c.RequestTimeout,
		WriteTimeout:   c.RequestTimeout + c.WriteTimeout,
		IdleTimeout:    2 * time.Minute, // longer than the usual proxy keeps a connection
		MaxHeaderBytes: maxHeader,
		ConnContext:    limitBuffer,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnState:      busy.note,
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
		busy.wait(ctx)
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return errors.Join(errors.New("requests still running at the end of server.shutdown_timeout were cut off"), server.Close())
		}
		return err
	}
}
