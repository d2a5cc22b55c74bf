// Package server serves a site: it opens the database named in the settings and both ports, works in the
// background, and stops without losing a request. cmd/bookside uses [Server], and so does cmd/demo, with a
// database inside the process. It wires all packages together and has no rules of its own.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/jobs"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/cmd/bookside/companion/plugins/bookside/languages"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/console"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// Server serves one site. Its exported fields are set before Run.
type Server struct {
	Config settings.Config // valid
	Env    []string        // NAME=value, for systemd and the Go runtime
	Now    domain.Clock
	Stdout io.Writer // gets a line with the address when the API is ready
	Log    *slog.Logger
	// Listener and AdminListener are already open; nil for the addresses in Config.
	Listener, AdminListener net.Listener
	// Routes are more paths of the admin address, for programs that serve a site for tests. Their handlers may
	// call Reopen.
	Routes map[string]http.Handler

	target   Target
	probes   *monitor.Admin
	metrics  *monitor.Metrics
	console  *console.Console
	webhooks *jobs.HookStore
	ended    chan error // errors of failed listeners
	gate     *gate      // nil without Routes
	reopen   chan *reopening
	// reopened is the call that opens the site again; nil for the first time.
	reopened *reopening
	over     <-chan struct{} // closed when the context of Run ends
	// last ends when the program has to, once it was told to.
	last context.Context //nolint:containedctx // of all that is stopped, while the context of Run has ended
}

// Run serves until ctx ends. It opens both ports first, so that a port in use is reported at once and
// probes are answered from then on.
func (s *Server) Run(ctx context.Context) (err error) {
	if s.target, err = NewTarget(s.Config); err != nil {
		return err
	}
	s.ended, s.over = make(chan error, 2), ctx.Done()
	if len(s.Routes) > 0 {
		s.gate, s.reopen = newGate(s.Routes), make(chan *reopening)
	}
	s.metrics = monitor.NewMetrics(Build())
	s.makeProbes()
	collectLess(s.Env)
	defer s.limitStopping(ctx)()
	api, err := s.startAPI(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, api.stop()) }() // after serving it has stopped
	stopProbes, err := s.serveProbes(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProbes()) }()
	for {
		again, err := s.serveSite(ctx, api)
		if s.reopened != nil { // the site could not be opened again
			s.gate.open()
			s.reopened.done <- errors.Join(s.reopened.err, err)
		}
		if again == nil {
			return err
		}
		again.err = errors.Join(err, again.between(ctx))
		s.reopened = again
	}
}

// serveSite opens the site and serves it until ctx ends, or until it has to be opened again.
func (s *Server) serveSite(ctx context.Context, api *apiServer) (again *reopening, err error) {
	db, platform, err := s.open(ctx)
	if err != nil && ctx.Err() != nil {
		s.Log.Info("stopped before the site could be served")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		var closed error
		if s.beforeLast("the database", func() { closed = db.Close() }) {
			err = errors.Join(err, closed)
		}
	}()
	s.metrics.OverlapInterval(s.Config.Limits.ConflictsInterval)
	if err := extensions.MakeSharedSecret(ctx, db, s.Now, rand.Reader); err != nil { // WordPress creates it when it needs it
		s.Log.Warn("the secret with which WordPress asks could not be made", "error", err)
	}
	var requests *keys.RequestLog
	if s.Config.Requests.Keep > 0 {
		requests = keys.NewRequestLog(db, s.Now, s.Log, s.Config.Requests.Keep)
	}
	defer s.startWork(ctx, db, platform, requests)()
	return s.serveAPI(ctx, api, db, platform, requests)
}

// collectLess makes the garbage collector run less often, unless GOGC is set: the
// heap is small, and a few more megabytes save time in every request.
func collectLess(env []string) {
	if settings.Lookup(env, "GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// makeProbes creates the handler for the admin address.
func (s *Server) makeProbes() {
	s.probes = monitor.NewAdmin(s.Log, adminHosts(s.Config))
	s.probes.ServeMetrics(s.metrics)
	if loopback(s.Config.Admin.Listen) {
		s.probes.ServeProfiles()
	}
	german, err := text.ParseMO(languages.German)
	if err != nil { // a test compiles it
		s.Log.Error("the console speaks English only", "error", err)
	}
	s.console = console.New(s.Now, s.Log, german)
	s.probes.Handle(console.WordPressPath, s.console)
	s.probes.Mount(console.Path, s.console)
	for path, handler := range s.Routes {
		s.probes.HandleExact(path, handler)
	}
}

// startWait is how long requests wait for the site to be opened; a restart takes less.
const startWait = 3 * time.Second

// apiServer is the API's port and its handler.
type apiServer struct {
	address  string
	options  handlers.Options
	starting *handlers.Starting
	closing  *closingHandler
	stop     func() error
}

// startAPI opens the API's port. Requests wait for the site, or get 503 if it takes long.
func (s *Server) startAPI(ctx context.Context) (*apiServer, error) {
	options, err := handlerOptions(s.Config)
	if err != nil {
		return nil, err
	}
	options.Metrics = s.metrics
	listener, err := s.listenAPI(ctx)
	if err != nil {
		return nil, err
	}
	s.Log.Info("listening; requests wait for the site", "address", listener.Addr().String())
	starting := handlers.NewStarting(s.Now, s.Log, options, startWait)
	closing := &closingHandler{next: s.gate.guard(starting)}
	stop := s.start(listener, closing, apiConnections)
	return &apiServer{listener.Addr().String(), options, starting, closing, stop}, nil
}

// serveAPI serves until ctx ends or the site has to be opened again, and then lets running requests finish.
func (s *Server) serveAPI(ctx context.Context, api *apiServer, db *wpdb.DB, platform *session.Platform, requests *keys.RequestLog) (again *reopening, err error) {
	options := api.options
	shared, closeShared, err := s.sharedCounts(ctx, db)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeShared()) }()
	options.RateLimit.Shared = shared
	options.Requests, options.Webhooks = requests, s.webhooks
	store := keys.NewStore(db, s.Now, rand.Reader)
	stopping := make(chan struct{})
	options.Stopping = stopping
	serving, base := handlers.New(platform, store, s.Now, s.Log, options), strings.TrimSuffix(options.BasePaths[0], "/")
	api.starting.Open(serving)
	s.console.Open(console.Site{
		Platform: platform, Webhooks: s.webhooks, Reports: s.probes.Started(platform), Keys: store, Tokens: keys.NewAdminTokens(db, s.Now, rand.Reader), Limits: options.RateLimit, Requests: requests,
		Ask: func(user keys.Key, r *http.Request) (int, http.Header, []byte) {
			return handlers.AskFor(serving, user, r)
		},
		API:     "http://" + Dialable(api.address) + base,
		Proxied: len(options.TrustedProxies) > 0,
		Proxy: console.Proxy{
			Address:    s.Config.Admin.BaseURL,
			UserHeader: s.Config.Admin.TrustedUserHeader, Networks: options.TrustedProxies,
		},
		Timeout: options.RequestTimeout,
	})
	s.Log.Info("serving", "address", api.address, "prefix", db.Prefix(), "database", db.Version())
	if s.reopened != nil {
		s.gate.open()
		s.reopened.done <- s.reopened.err
		s.reopened = nil
	} else if _, err := fmt.Fprintf(s.Stdout, "listening on http://%s\n", api.address); err != nil {
		return nil, errors.Join(fmt.Errorf("write to the standard output: %w", err), api.stop())
	}
	s.notifySystemd(ctx, stateReady)
	select {
	case err = <-s.ended:
	case again = <-s.reopen:
		close(stopping)
		s.gate.close()
		return again, nil
	case <-ctx.Done():
		close(stopping)
		err = s.drain(ctx, api.closing)
	}
	s.probes.Stopping()
	return nil, errors.Join(err, api.stop())
}
