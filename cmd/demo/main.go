// Command demo is the server on a database engine inside the process, loaded
// with a small practice: something to try without installing anything. What it
// is told is gone when it ends.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata"

	"bookside/adapter/daystats"
	"bookside/adapter/diagnose"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/keys"
	"bookside/adapter/session"
	"bookside/adapter/webhooks"
	"bookside/fixtures"
	"bookside/fixtures/embedded"
	"bookside/handlers"
	"bookside/handlers/console"
	"bookside/handlers/documents"
	"bookside/handlers/mcp"
	"bookside/handlers/monitor"
	"bookside/wpdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the first
	if err := run(ctx, os.Args[1:], time.Now, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, now domain.Clock, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("listen", "127.0.0.1:8080", "address to listen on; another port is taken where this one is in use")
	console := flags.String("console", "127.0.0.1:8081", "address of the console; another port is taken where this one is in use")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, "starting: a small practice with about 300 bookings, served from memory\n"); err != nil {
		return err
	}
	engine, err := embedded.Start(ctx)
	if err != nil {
		return fmt.Errorf("start database engine: %w", err)
	}
	site := fixtures.Small(now())
	db, err := open(ctx, engine.DSN, site)
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d := &demo{db: db, now: now, log: log, store: keys.NewStore(db, now, rand.Reader), tokens: keys.NewAdminTokens(db, now, rand.Reader), platform: session.NewPlatform(db, now), config: wpdb.Config{DSN: engine.DSN, Prefix: site.Prefix}, recorder: daystats.NewRecorder(db, now, log)}
	err = d.serve(ctx, *address, *console, stdout)
	return errors.Join(err, db.Close(), engine.Close())
}

// open loads the site and opens it as the server does.
func open(ctx context.Context, dsn string, site fixtures.Site) (*wpdb.DB, error) {
	loader, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to load the site: %w", err)
	}
	err = errors.Join(fixtures.Load(ctx, loader, site), loader.Close())
	if err != nil {
		return nil, fmt.Errorf("load the site: %w", err)
	}
	return wpdb.Open(ctx, wpdb.Config{DSN: dsn, Prefix: site.Prefix})
}

// demo is a server and its console.
type demo struct {
	db       *wpdb.DB
	now      domain.Clock
	log      *slog.Logger
	store    *keys.Store
	tokens   *keys.AdminTokens
	platform *session.Platform
	config   wpdb.Config // of db
	recorder *daystats.Recorder
}

func (d *demo) serve(ctx context.Context, address, console string, stdout io.Writer) error {
	if err := d.db.CreateOwnTables(ctx); err != nil {
		return err
	}
	secret, _, err := d.store.Create(ctx, keys.NewKey{Name: "demo", Kind: keys.Test, Permissions: []string{"read", "write", "delete", "read_changes", "write_webhooks"}})
	if err != nil {
		return err
	}
	token, err := d.tokens.Issue(ctx, "")
	if err != nil {
		return err
	}
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	consoleListener, err := listen(ctx, console)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	d.platform.Webhooks = webhooks.NewStore(d.db, d.now, rand.Reader, webhooks.Vault{}, d.platform.Journal)
	d.platform.Webhooks.AllowPrivate = true // receivers on this machine
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		d.platform.RunJournal(ctx, journal.Options{Interval: time.Second, Share: 1, Sweep: time.Minute, Keep: time.Hour, Owner: "demo"}, d.log)
	})
	work.Go(func() { d.recorder.Run(ctx) })
	work.Go(func() {
		webhooks.NewWorker(d.platform.Webhooks, d.store, d.log, handlers.WebhookOptions(d.platform, d.store, false)).Run(ctx, time.Second)
	})
	servers := []*http.Server{{Handler: d.api(), ReadHeaderTimeout: 10 * time.Second}, {Handler: d.admin(listener.Addr()), ReadHeaderTimeout: 10 * time.Second}}
	stopped := make(chan error, len(servers))
	go func() { stopped <- servers[0].Serve(listener) }()
	go func() { stopped <- servers[1].Serve(consoleListener) }()
	greet(stdout, listener.Addr(), consoleListener.Addr(), secret, token)
	select {
	case err = <-stopped:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	for _, server := range servers {
		err = errors.Join(err, server.Shutdown(drain))
	}
	return err
}

func (d *demo) api() http.Handler {
	return handlers.New(d.platform, d.store, d.now, d.log, handlers.Options{
		BasePaths:      []string{"/wp-json/latepoint-api/v1", "/v1"},
		QueryParameter: "api_key",
		RequestTimeout: requestTimeout,
		Memory:         2 * handlers.MinMemory,
		MCP:            true,
		MemoryWait:     5 * time.Second,
		Figures:        d.recorder,
	})
}

// requestTimeout is generous: the embedded database is slow.
const requestTimeout = time.Minute

// admin returns the console, and the probes beside it.
func (d *demo) admin(api net.Addr) http.Handler {
	page := console.New(d.now, d.log)
	page.Open(console.Site{
		Platform: d.platform, Keys: d.store, Tokens: d.tokens, Figures: d.recorder, API: fmt.Sprintf("http://%s/v1", api),
		Timeout: requestTimeout, Documents: sync.OnceValues(library),
		Examine: func(ctx context.Context) (diagnose.Report, error) {
			return diagnose.Examine(ctx, d.config, d.db, d.now)
		},
	})
	admin := monitor.NewAdmin(d.log, nil)
	admin.Mount(console.Path, page)
	admin.Started(d.platform)
	return admin
}

// library returns the documents that the console shows.
func library() (*documents.Library, error) {
	return documents.New(console.DocumentsPath, handlers.Documents, mcp.Documents, keys.Documents, webhooks.Documents)
}

// listen takes a free port where the address is in use.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return listener, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// greet prints what to do next; the curl line can be pasted as it is.
func greet(stdout io.Writer, address, console net.Addr, secret, token string) {
	_, _ = fmt.Fprintf(stdout, `
key            %[3]s
curl -H 'X-API-Key: %[3]s' 'http://%[1]s/v1/bookings?per_page=2'

documentation  http://%[1]s/docs
console        http://%[2]s  (login token, valid for ten minutes: %[4]s)

listening on http://%[1]s
`, address, console, secret, token)
}
