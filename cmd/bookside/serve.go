package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/handlers"
	"bookside/handlers/keyspage"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

const aboutServe = `Serves the API, and /livez, /readyz, /metrics and /keys on an address of their own, until SIGTERM or SIGINT;
requests that are running then may end. Once the API answers, its address is printed to the
standard output in one line; the log goes to the standard error as JSON lines.`

func (p *program) serve(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	given.short(flags, "listen", keyListen, "`ADDRESS` of the API, such as 127.0.0.1:8080; port 0 is any free one")
	printOnly := flags.Bool("print-config", false, "print the configuration without its secrets, and end")
	return func(ctx context.Context, _ []string) error {
		c, err := readConfig(p.env, given)
		if err == nil {
			err = c.validate()
		}
		switch {
		case err != nil:
			return err
		case *printOnly:
			return p.printConfig(c)
		}
		s, err := newService(c, p)
		if err != nil {
			return err
		}
		return s.run(ctx)
	}
}

// printConfig prints the configuration with the prefix that wp-config.php has.
func (p *program) printConfig(c config) error {
	t, err := c.target()
	if err != nil {
		return err
	}
	c.DB.Prefix = t.basePrefix
	text, err := c.masked()
	if err != nil {
		return err
	}
	return p.print(text)
}

// service is the program while it serves.
type service struct {
	config  config
	target  target
	env     []string
	now     domain.Clock
	stdout  io.Writer
	log     *slog.Logger
	probes  *handlers.Admin
	metrics *handlers.Metrics
	page    *keyspage.Page // nil where it is switched off
	ended   chan error     // a listener that stopped by itself
}

func newService(c config, p *program) (*service, error) {
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	level, err := logLevel(c.Log.Level)
	if err != nil {
		return nil, err
	}
	s := &service{
		config: c, target: t, env: p.env, now: p.now, stdout: p.stdout,
		log:     slog.New(slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: level})),
		metrics: handlers.NewMetrics(build()),
		ended:   make(chan error, 2),
	}
	s.probes = handlers.NewAdmin(s.log, c.adminHosts())
	s.probes.ServeMetrics(s.metrics)
	if c.Admin.PProf {
		s.probes.ServeProfiles()
	}
	if c.Admin.KeysPage {
		s.page = keyspage.New(p.now, s.log)
		s.probes.Mount("/keys", s.page)
	}
	return s, nil
}

// run takes both ports first, so that a taken one is told at once. The probes
// answer from then on; clients of the API wait in the port's queue until the
// database is open.
func (s *service) run(ctx context.Context) (err error) {
	collectLess(s.env)
	listener, err := s.listenAPI(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // where it was served it is closed already
	stopProbes, err := s.serveProbes(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProbes()) }()

	db, platform, err := s.open(ctx)
	if err != nil && ctx.Err() != nil {
		s.log.Info("stopped before the site could be served")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.metrics.Observe(platform)
	defer s.startWork(ctx, db, platform)()
	return s.serveAPI(ctx, listener, db, platform)
}

// collectLess lets the heap, which is small here, grow further between two
// collections: a part of the work of a request is spared for some megabytes.
// Who sets GOGC decides otherwise.
func collectLess(env []string) {
	if lookup(env, "GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// open opens the site as soon as its database is up.
func (s *service) open(ctx context.Context) (*wpdb.DB, *adapter.Platform, error) {
	db, err := wpdb.OpenWhenUp(ctx, s.target.config, s.config.DB.ConnectWait, s.logWait)
	if err != nil {
		return nil, nil, s.target.explain(err)
	}
	platform := adapter.NewPlatform(db, s.now)
	platform.BookingMetaKeys = s.config.Compat.BookingMetaKeys
	err = s.prepare(ctx, db, platform)
	if err == nil {
		platform.Outbox, err = s.newOutbox(ctx, db)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, platform, nil
}

func (s *service) logWait(err error) {
	s.log.Warn("waiting for the database", "address", s.target.address, "error", err)
}

// prepare looks at the site and makes the tables of ours. A wrong prefix ends
// the program; a plugin that is off, or a database that lets us only read,
// does not.
func (s *service) prepare(ctx context.Context, db *wpdb.DB, platform *adapter.Platform) error {
	if err := s.target.requireTables(ctx, db); err != nil {
		return err
	}
	site, err := platform.Site(ctx)
	if err == nil {
		err = site.CheckColumns()
	}
	switch {
	case domain.CodeOf(err) == domain.CodeUnavailable:
		s.log.Warn("the site cannot be served yet; requests get 503 until it can", "error", err)
	case err != nil:
		return fmt.Errorf("look at the site: %w", err)
	}
	missing, err := ensureOwnTables(ctx, db)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		s.log.Warn("the database user may not create the tables of Bookside; run keys create as one that may", "missing", strings.Join(db.FullNames(missing), ", "))
	}
	return requireOwnColumns(ctx, db)
}

// startWork does what no request asks for, until ctx ends or stop is called,
// which waits for what is at hand.
func (s *service) startWork(ctx context.Context, db *wpdb.DB, platform *adapter.Platform) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { forgetSchema(ctx, db) })
	work.Go(func() { adapter.NewSweeper(db, s.now, s.log).Run(ctx) })
	if platform.Outbox != nil {
		work.Go(func() { s.sendMails(ctx, platform.Outbox) })
	}
	if s.config.Conflicts.Interval > 0 {
		work.Go(func() { s.watchConflicts(ctx, platform) })
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// schemaAge is how long a change of the site's tables may stay unseen that no
// statement fails for, such as one of the engine.
const schemaAge = time.Minute

// forgetSchema makes requests look at the site's tables anew now and then.
func forgetSchema(ctx context.Context, db *wpdb.DB) {
	ticker := time.NewTicker(schemaAge)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			db.ForgetSchema()
		case <-ctx.Done():
			return
		}
	}
}

// serveAPI serves until ctx ends, then lets running requests end.
func (s *service) serveAPI(ctx context.Context, listener net.Listener, db *wpdb.DB, platform *adapter.Platform) (err error) {
	options, err := s.config.handlerOptions()
	if err != nil {
		return err
	}
	shared, closeShared, err := s.sharedCounts(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeShared()) }()
	options.RateLimit.Shared = shared
	options.Metrics = s.metrics
	store := keys.NewStore(db, s.now, rand.Reader)
	api := &farewell{next: handlers.New(platform, store, s.now, s.log, options)}
	stop := s.start(listener, api, options.Memory/connectionShare)
	s.probes.Started(platform)
	if s.page != nil {
		s.page.Open(store, keys.NewAdminTokens(db, s.now, rand.Reader), options.RateLimit)
	}
	s.log.Info("serving", "address", listener.Addr().String(), "prefix", db.Prefix(), "database", db.Version())
	if _, err := fmt.Fprintf(s.stdout, "listening on http://%s\n", listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("write to the standard output: %w", err), stop())
	}
	s.tellSystemd(ctx, stateReady)
	select {
	case err = <-s.ended:
	case <-ctx.Done():
		err = s.drain(ctx, api)
	}
	s.probes.Stopping()
	return errors.Join(err, stop())
}

const mebibyte = 1 << 20

// memoryWait is how long a request waits for memory that others use: some heavy
// ones are over by then, and the limit of a request is not.
const memoryWait = 5 * time.Second

// requestMemory is what requests may use together, in bytes: the configured
// number, else two thirds of the limit of the runtime, which is math.MaxInt64
// where the environment has no GOMEMLIMIT. The rest is for connections and for
// the program itself.
func (c config) requestMemory(limit int64) int64 {
	switch {
	case c.Server.MemoryMiB > 0:
		return int64(c.Server.MemoryMiB) * mebibyte
	case limit == math.MaxInt64:
		return 2 * handlers.LeastMemory
	default:
		return max(limit/3*2, handlers.LeastMemory)
	}
}

// connectionShare is the part of the memory of requests that connections may use
// beside it.
const connectionShare = 4

func (c config) handlerOptions() (handlers.Options, error) {
	o := handlers.Options{
		BasePaths:           c.Server.BasePaths,
		QueryParameter:      c.Auth.QueryParameter,
		SiteTimestamps:      c.Compat.Timestamps == "site",
		RequestTimeout:      c.Server.RequestTimeout,
		MaxConcurrent:       c.Server.MaxConcurrent,
		Memory:              c.requestMemory(debug.SetMemoryLimit(-1)),
		MemoryWait:          memoryWait,
		AllowedOrigins:      c.Server.CORSOrigins,
		FailedKeysPerMinute: c.Auth.FailedKeysPerMinute,
		RateLimit: ratelimit.Options{
			Enabled: c.RateLimit.Enabled,
			Live:    ratelimit.Limits{PerMinute: int64(c.RateLimit.LivePerMinute), PerHour: int64(c.RateLimit.LivePerHour)},
			Test:    ratelimit.Limits{PerMinute: int64(c.RateLimit.TestPerMinute), PerHour: int64(c.RateLimit.TestPerHour)},
		},
	}
	for _, text := range c.Server.TrustedProxies {
		network, err := parseNetwork(text)
		if err != nil {
			return handlers.Options{}, fmt.Errorf("server.trusted_proxies: %w", err)
		}
		o.TrustedProxies = append(o.TrustedProxies, network)
	}
	return o, nil
}
