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

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/adapter/journal"
	"bookside/adapter/keys"
	"bookside/fixtures"
	"bookside/fixtures/embedded"
	"bookside/handlers"
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
	if err := flags.Parse(args); err != nil {
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
	failures := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err = serve(ctx, db, now, *address, stdout, failures)
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

func serve(ctx context.Context, db *wpdb.DB, now domain.Clock, address string, stdout io.Writer, log *slog.Logger) error {
	if err := db.CreateOwnTables(ctx); err != nil {
		return err
	}
	store := keys.NewStore(db, now, rand.Reader)
	secret, _, err := store.Create(ctx, keys.NewKey{Name: "demo", Kind: keys.Test, Permissions: []string{"read", "write", "delete", "read_changes"}})
	if err != nil {
		return err
	}
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	platform := adapter.NewPlatform(db, now)
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work.Go(func() {
		platform.RunJournal(ctx, journal.Options{Interval: time.Second, Share: 1, Sweep: time.Minute, Keep: time.Hour, Owner: "demo"}, log)
	})
	api := handlers.New(platform, store, now, log, handlers.Options{
		BasePaths:      []string{"/wp-json/latepoint-api/v1", "/v1"},
		QueryParameter: "api_key",
		RequestTimeout: time.Minute,
		Memory:         2 * handlers.LeastMemory,
		MemoryWait:     5 * time.Second,
	})
	server := http.Server{Handler: api, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	greet(stdout, listener.Addr(), secret)
	select {
	case err := <-stopped:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(drain)
	}
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
func greet(stdout io.Writer, address net.Addr, secret string) {
	_, _ = fmt.Fprintf(stdout, `A small practice with about 300 bookings, served from memory.

key   %[2]s
curl -H 'X-API-Key: %[2]s' 'http://%[1]s/v1/bookings?per_page=2'

listening on http://%[1]s
`, address, secret)
}
