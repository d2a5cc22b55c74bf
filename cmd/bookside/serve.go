package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"bookside/adapter/daystats"
	"bookside/adapter/diagnose"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/adapter/upkeep"
	"bookside/adapter/webhooks"
	"bookside/cmd/internal/settings"
	"bookside/handlers"
	"bookside/handlers/console"
	"bookside/handlers/monitor"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

func (p *program) serve() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "serve the API",
		Long: `Serves the API, and /livez, /readyz, /metrics and the console at a separate address, until SIGTERM or
SIGINT; running requests may finish. When the API is ready, its address is printed to the standard
output; the log is written to the standard error as lines of JSON.`,
	}
	flags := p.configFlags(command)
	p.given.Short(flags, "listen", settings.Listen, "`ADDRESS` of the API, such as 127.0.0.1:8080; port 0 for any free one")
	printOnly := flags.Bool("print-config", false, "print the configuration without its secrets and exit")
	command.RunE = func(command *cobra.Command, _ []string) error {
		c, err := p.config()
		if err == nil {
			err = c.Validate()
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
		return s.run(command.Context())
	}
	return command
}

// printConfig prints the configuration, with what was read from wp-config.php.
func (p *program) printConfig(c settings.Config) error {
	t, err := newTarget(c)
	if err != nil {
		return err
	}
	c.DB.Prefix, c.WordPress.Home, c.WordPress.SiteURL, c.WordPress.Content = t.basePrefix, t.config.Home, t.config.SiteURL, t.config.Content
	text, err := c.Masked()
	if err != nil {
		return err
	}
	return p.print(text)
}

// service is a running server.
type service struct {
	config  settings.Config
	target  target
	env     []string
	now     domain.Clock
	stdout  io.Writer
	log     *slog.Logger
	probes  *monitor.Admin
	metrics *monitor.Metrics
	console *console.Console // nil if disabled
	ended   chan error       // errors of listeners that failed
	// last ends when the program has to, once it was told to.
	last context.Context //nolint:containedctx // of all that is stopped, while the context of run has ended
}

func newService(c settings.Config, p *program) (*service, error) {
	t, err := newTarget(c)
	if err != nil {
		return nil, err
	}
	s := &service{
		config: c, target: t, env: p.env, now: p.now, stdout: p.stdout,
		log:     newLog(p.stderr, c.Log.Level, c.Log.Format, p.env),
		metrics: monitor.NewMetrics(build()),
		ended:   make(chan error, 2),
	}
	s.probes = monitor.NewAdmin(s.log, adminHosts(c))
	brings, err := companionToInstall()
	if err != nil {
		return nil, err
	}
	s.probes.SetCompanionVersion(brings.version)
	s.probes.ServeMetrics(s.metrics)
	if c.Admin.PProf {
		s.probes.ServeProfiles()
	}
	if c.Admin.KeysPage {
		s.console = console.New(p.now, s.log)
		s.probes.Mount(console.Path, s.console)
	}
	return s, nil
}

// startWait is how long requests wait for the site to be opened: a restart takes less.
const startWait = 3 * time.Second

// apiServer is the API's port, and what serves it.
type apiServer struct {
	address  string
	options  handlers.Options
	starting *handlers.Starting
	closing  *closingHandler
	stop     func() error
}

// startAPI opens the API's port. Requests wait for the site, or get 503 if it takes long.
func (s *service) startAPI(ctx context.Context) (*apiServer, error) {
	options, err := handlerOptions(s.config)
	if err != nil {
		return nil, err
	}
	options.Metrics = s.metrics
	listener, err := s.listenAPI(ctx)
	if err != nil {
		return nil, err
	}
	s.log.Info("listening; requests wait for the site", "address", listener.Addr().String())
	starting := handlers.NewStarting(s.now, s.log, options, startWait)
	closing := &closingHandler{next: starting}
	stop := s.start(listener, closing, options.Memory/connectionShare)
	return &apiServer{listener.Addr().String(), options, starting, closing, stop}, nil
}

// run opens both ports first, so that a port in use is reported at once. From then
// on probes are answered.
func (s *service) run(ctx context.Context) (err error) {
	collectLess(s.env)
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

	db, platform, err := s.open(ctx)
	if err != nil && ctx.Err() != nil {
		s.log.Info("stopped before the site could be served")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		var closed error
		if s.beforeLast("the database", func() { closed = db.Close() }) {
			err = errors.Join(err, closed)
		}
	}()
	s.metrics.Observe(platform)
	s.metrics.OverlapInterval(s.config.Conflicts.Interval)
	recorder := daystats.NewRecorder(db, s.now, s.log)
	defer s.startWork(ctx, db, platform, recorder)()
	return s.serveAPI(ctx, api, db, platform, recorder)
}

// collectLess makes the garbage collector run less often, unless GOGC is set: the
// heap is small, and a few more megabytes save time in every request.
func collectLess(env []string) {
	if settings.Lookup(env, "GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// open opens the site, waiting for its database.
func (s *service) open(ctx context.Context) (*wpdb.DB, *session.Platform, error) {
	db, err := wpdb.OpenWhenUp(ctx, s.target.config, s.config.DB.ConnectWait, s.logWait)
	if err != nil {
		return nil, nil, s.target.explain(err)
	}
	platform := newPlatform(s.config, db, s.now)
	platform.Totals.ExactTime = time.Duration(s.config.Lists.ExactCountMS) * time.Millisecond
	platform.Totals.MaxAge = s.config.Lists.CountMaxAge
	platform.Languages.Log = s.log
	vault, err := newVault(s.config)
	if err == nil {
		platform.Webhooks = webhooks.NewStore(db, s.now, rand.Reader, vault, platform.Journal)
		platform.Webhooks.AllowPrivate = s.config.Webhooks.AllowPrivate
		err = s.prepare(ctx, db, platform)
	}
	if err == nil {
		platform.Outbox, err = s.newOutbox(ctx, db)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, platform, nil
}

func (s *service) logWait(err error) {
	s.log.Warn("waiting for the database", "address", s.target.address, "error", reason(err))
}

// prepare checks the site and creates our own tables. A wrong table prefix is an
// error; an inactive plugin, or a database that can only be read, is not.
func (s *service) prepare(ctx context.Context, db *wpdb.DB, platform *session.Platform) error {
	if err := s.target.requireTables(ctx, db); err != nil {
		return err
	}
	site, err := platform.Session(ctx)
	if err == nil {
		err = upkeep.CheckColumns(site)
	}
	switch {
	case domain.CodeOf(err) == domain.CodeUnavailable:
		s.log.Warn("the site cannot be served yet; requests get 503 until it can", "error", err)
	case err != nil:
		return fmt.Errorf("examine the site: %w", err)
	}
	missing, err := ensureOwnTables(ctx, db)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		s.log.Warn("the database user may not create the tables of Bookside; run keys create as one that may", "missing", strings.Join(db.FullNames(missing), ", "))
	}
	return s.migrate(ctx, db)
}

// migrateInterval is that of the looks whether somebody else has brought our own tables up to date.
const migrateInterval = 2 * time.Second

// migrate brings our own tables to this version. Where that is not possible now, requests get 503
// until it is, or somebody else has done it: a process that ends would only be started again.
func (s *service) migrate(ctx context.Context, db *wpdb.DB) error {
	for told := false; ; told = true {
		done, err := db.MigrateOwnTables(ctx)
		s.logMigration(done)
		if !errors.Is(err, wpdb.ErrAccessDenied) && !errors.Is(err, wpdb.ErrReadOnly) && !errors.Is(err, wpdb.ErrConflict) && !errors.Is(err, wpdb.ErrTimeout) {
			return err
		}
		if !told {
			s.log.Error("requests get 503 until tables of Bookside have the columns and indexes of this version: run bookside migrate as a user of the database who may add them", "error", err)
			s.probes.Waits("tables of Bookside wait for bookside migrate")
			s.notifySystemd(ctx, stateReady) // or it would end the process, and with it the answers
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(migrateInterval):
			db.ForgetSchema()
		}
	}
}

// startWork starts the background work. It runs until ctx ends or stop is called;
// stop waits for work in progress.
func (s *service) startWork(ctx context.Context, db *wpdb.DB, platform *session.Platform, recorder *daystats.Recorder) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { every(ctx, schemaAge, db.ForgetSchema) })
	work.Go(func() { s.addLostColumns(ctx, db) })
	work.Go(func() { s.watchWrites(ctx, db) })
	work.Go(func() { upkeep.NewSweeper(db, s.now, s.log).Run(ctx) })
	work.Go(func() { recorder.Run(ctx) })
	work.Go(func() { platform.RunJournal(ctx, s.journalOptions(), s.log) })
	if platform.Outbox != nil {
		work.Go(func() { s.sendMails(ctx, platform.Outbox) })
	}
	if s.config.Webhooks.Enabled {
		work.Go(func() { s.sendWebhooks(ctx, db, platform) })
	}
	if s.config.Conflicts.Interval > 0 {
		work.Go(func() { s.watchConflicts(ctx, platform) })
	}
	return func() {
		cancel()
		s.beforeLast("work in the background", work.Wait)
	}
}

// limitStopping makes last end when server.drain_delay and server.shutdown_timeout have passed after ctx.
func (s *service) limitStopping(ctx context.Context) (release func()) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.last = last
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(s.config.Server.DrainDelay+s.config.Server.ShutdownTimeout, cancel)
	})
	return func() { stop(); cancel() }
}

// lastWait is for what is done at once when all that could wait was given up.
const lastWait = 100 * time.Millisecond

// beforeLast waits for the end of something, and reports whether it was there in time. Otherwise the
// program ends without it, as if it had been killed, for which everything is prepared: a dependency that
// hangs must not keep it from ending.
func (s *service) beforeLast(what string, end func()) bool {
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
		s.log.Warn("the program ends without waiting any longer", "for", what)
		return false
	}
}

// sendWebhooks sends what happens to webhooks until ctx ends.
func (s *service) sendWebhooks(ctx context.Context, db *wpdb.DB, platform *session.Platform) {
	store := keys.NewStore(db, s.now, rand.Reader)
	worker := webhooks.NewWorker(platform.Webhooks, store, s.log, handlers.WebhookOptions(platform, store, s.config.Compat.Timestamps == "site"))
	s.metrics.ObserveWebhooks(worker)
	worker.Run(ctx, s.config.Server.ShutdownTimeout)
}

func (s *service) journalOptions() journal.Options {
	c := s.config.Changes
	return journal.Options{Interval: c.Interval, Sweep: c.Sweep, Keep: c.Keep, Owner: rand.Text()}
}

// schemaAge limits how long a change of the site's tables may go unnoticed if no
// statement fails because of it, such as another storage engine.
const schemaAge = time.Minute

// serveAPI serves until ctx ends, and then lets running requests finish.
func (s *service) serveAPI(ctx context.Context, api *apiServer, db *wpdb.DB, platform *session.Platform, recorder *daystats.Recorder) (err error) {
	options := api.options
	shared, closeShared, err := s.sharedCounts(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeShared()) }()
	options.RateLimit.Shared = shared
	options.Figures = recorder
	store := keys.NewStore(db, s.now, rand.Reader)
	stopping := make(chan struct{})
	options.Stopping = stopping
	api.starting.Open(handlers.New(platform, store, s.now, s.log, options))
	s.probes.Started(platform)
	if s.console != nil {
		s.console.Open(console.Site{
			Platform: platform, Keys: store, Tokens: keys.NewAdminTokens(db, s.now, rand.Reader), Limits: options.RateLimit, Figures: recorder,
			Examine: func(ctx context.Context) (diagnose.Report, error) {
				return diagnose.Examine(ctx, s.target.config, db, s.now)
			},
			API:     "http://" + dialable(api.address) + strings.TrimSuffix(options.BasePaths[0], "/"),
			Proxied: len(options.TrustedProxies) > 0,
			Timeout: options.RequestTimeout, Documents: sync.OnceValues(library),
		})
	}
	s.log.Info("serving", "address", api.address, "prefix", db.Prefix(), "database", db.Version())
	if _, err := fmt.Fprintf(s.stdout, "listening on http://%s\n", api.address); err != nil {
		return errors.Join(fmt.Errorf("write to the standard output: %w", err), api.stop())
	}
	s.notifySystemd(ctx, stateReady)
	select {
	case err = <-s.ended:
	case <-ctx.Done():
		close(stopping)
		err = s.drain(ctx, api.closing)
	}
	s.probes.Stopping()
	return errors.Join(err, api.stop())
}

const mebibyte = 1 << 20

// memoryWait is how long a request waits for memory that others use: long enough
// for several heavy requests, and shorter than the time limit of a request.
const memoryWait = 5 * time.Second

// requestMemory returns the memory that all requests together may use, in bytes:
// the configured amount, else two thirds of the runtime's limit, which is
// math.MaxInt64 if GOMEMLIMIT is not set. The rest is for connections and the
// program itself.
func requestMemory(c settings.Config, limit int64) int64 {
	switch {
	case c.Server.MemoryMiB > 0:
		return int64(c.Server.MemoryMiB) * mebibyte
	case limit == math.MaxInt64:
		return 2 * handlers.MinMemory
	default:
		return max(limit/3*2, handlers.MinMemory)
	}
}

// connectionShare is the fraction of the memory of requests that connections may
// use in addition to it: a quarter.
const connectionShare = 4

func handlerOptions(c settings.Config) (handlers.Options, error) {
	o := handlers.Options{
		BasePaths:           c.Server.BasePaths,
		QueryParameter:      c.Auth.QueryParameter,
		SiteTimestamps:      c.Compat.Timestamps == "site",
		RequestTimeout:      c.Server.RequestTimeout,
		MaxConcurrent:       c.Server.MaxConcurrent,
		MaxWaiting:          c.Changes.Waiting,
		MaxExports:          c.Lists.MaxExports,
		Memory:              requestMemory(c, debug.SetMemoryLimit(-1)),
		MemoryWait:          memoryWait,
		AllowedOrigins:      c.Server.CORSOrigins,
		FailedKeysPerMinute: c.Auth.FailedKeysPerMinute,
		LogClients:          c.Log.Clients,
		MCP:                 c.MCP.Enabled,
		Version:             build().Version,
		RateLimit: ratelimit.Options{
			Enabled: c.RateLimit.Enabled,
			Live:    ratelimit.Limits{PerMinute: int64(c.RateLimit.LivePerMinute), PerHour: int64(c.RateLimit.LivePerHour)},
			Test:    ratelimit.Limits{PerMinute: int64(c.RateLimit.TestPerMinute), PerHour: int64(c.RateLimit.TestPerHour)},
		},
	}
	for _, text := range c.Server.TrustedProxies {
		network, err := settings.ParseNetwork(text)
		if err != nil {
			return handlers.Options{}, fmt.Errorf("server.trusted_proxies: %w", err)
		}
		o.TrustedProxies = append(o.TrustedProxies, network)
	}
	return o, nil
}
