package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/console"
)

// listenAPI returns the listener that the caller or systemd passes, or opens the configured port.
func (s *Server) listenAPI(ctx context.Context) (net.Listener, error) {
	if s.Listener != nil {
		return s.Listener, nil
	}
	if listener, err := inheritedListener(s.Env); listener != nil || err != nil {
		return listener, err
	}
	return listen(ctx, settings.Listen, s.Config.Server.Listen)
}

// listen opens a port; key is the setting with the address.
func listen(ctx context.Context, key, address string) (net.Listener, error) {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, exit.Errorf(exit.PortTaken, err, "another program is listening on %s; stop it, or set %s to another address", address, settings.Named(key))
	}
	if err != nil {
		return nil, exit.Errorf(exit.Failure, err, "%s: %v", key, err)
	}
	return listener, nil
}

// serveProbes serves the admin address, if there is one.
func (s *Server) serveProbes(ctx context.Context) (stop func() error, err error) {
	listener := s.AdminListener
	switch {
	case listener != nil:
	case s.Config.Admin.Listen == "":
		return func() error { return nil }, nil
	default:
		if listener, err = listen(ctx, settings.AdminListen, s.Config.Admin.Listen); err != nil {
			return nil, err
		}
	}
	s.Log.Info("serving probes", "address", listener.Addr().String())
	return s.start(listener, s.gate.guard(s.probes), adminConnections), nil
}

// Limits of a request's header. Common proxies forward at most two lines of 8 KiB, the URL and the cookies.
// The memory of a header depends mostly on the number of its fields; Apache's limit is a hundred too.
const (
	maxHeader = 16 << 10 // bytes; net/http adds 4 KiB
	maxFields = 100
)

// limitFields rejects headers with too many fields, as net/http rejects long
// ones.
func limitFields(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fields := 0
		for _, values := range r.Header {
			fields += len(values)
		}
		if fields <= maxFields {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // without waiting for the body
		const status = http.StatusRequestHeaderFieldsTooLarge
		http.Error(w, fmt.Sprint(status, " ", http.StatusText(status)), status)
	})
}

// start serves in the background, with a limit for the number of connections. stop waits for running
// requests to finish and cancels them after the configured time; calling it once is enough.
func (s *Server) start(listener net.Listener, handler http.Handler, most int) (stop func() error) {
	requests, limits := s.Config.Server.RequestTimeout, s.Config.Limits
	listener = netutil.LimitListener(shortWrites{listener}, most)
	var pending pending
	server := &http.Server{
		Handler:           limitFields(handler),
		ReadHeaderTimeout: limits.HeaderTimeout,
		// After this time a request that is still running is canceled.
		ReadTimeout:    limits.HeaderTimeout + requests,
		WriteTimeout:   requests + limits.WriteTimeout,
		IdleTimeout:    2 * time.Minute, // longer than most proxies keep a connection
		MaxHeaderBytes: maxHeader,
		// The handler also gets "OPTIONS *", because it may reject the Host.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ConnState:                    pending.note,
	}
	var stopping atomic.Bool
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		if err := server.Serve(listener); !stopping.Load() {
			s.ended <- fmt.Errorf("serve %s: %w", listener.Addr(), err)
		}
	}()
	return sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), s.Config.Limits.ShutdownTimeout)
		defer cancel()
		defer context.AfterFunc(s.last, func() { time.AfterFunc(lastWait, cancel) })()
		// Shutdown drops requests whose header it has not seen, so the port is closed first.
		stopping.Store(true)
		_ = listener.Close() // after a failure it is already closed
		<-accepting
		pending.wait(ctx)
		err := server.Shutdown(ctx)
		if err != nil && ctx.Err() != nil {
			return errors.Join(errors.New("requests were canceled that still ran when the program had to end"), server.Close())
		}
		return err
	})
}

// adminHosts returns the host names allowed in requests to the admin address.
func adminHosts(c settings.Config) []string {
	hosts := c.Admin.Hosts
	if base, err := url.Parse(c.Admin.BaseURL); err == nil && base.Hostname() != "" {
		hosts = append(slices.Clip(hosts), base.Hostname())
	}
	if host, _, err := net.SplitHostPort(c.Admin.Listen); err == nil && host != "" {
		hosts = append(slices.Clip(hosts), host)
	}
	return hosts
}

// ConsoleAddress returns the address at which the console is opened.
func ConsoleAddress(c settings.Config) string {
	return cmp.Or(c.Admin.BaseURL, "http://"+Dialable(c.Admin.Listen)) + console.Path
}

// Dialable returns the address at which a listener can be reached from its own
// machine.
func Dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) bool {
	parsed, err := netip.ParseAddrPort(address)
	return err == nil && parsed.Addr().IsLoopback()
}
