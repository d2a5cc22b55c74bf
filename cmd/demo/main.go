// Command demo runs the server on a database engine inside the process, loaded with a small practice, so
// that it can be tried without installing anything. Changes are gone when it ends.
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
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/cmd/internal/server"
	"bookside/cmd/internal/settings"
	"bookside/fixtures"
	"bookside/fixtures/embedded"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], time.Now, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, now domain.Clock, stdout, stderr io.Writer) error {
	c := settings.Default()
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.Server.Listen, "listen", c.Server.Listen, "address to listen on; another port is taken where this one is in use")
	flags.StringVar(&c.Admin.Listen, "console", c.Admin.Listen, "address of the console; another port is taken where this one is in use")
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
	c.DB.DSN, c.DB.Prefix = engine.DSN, site.Prefix
	c.Server.RequestTimeout = time.Minute // the embedded database is slow
	c.Server.DrainDelay = 0               // there is no proxy
	c.Changes.Interval = time.Second
	c.RateLimit.Enabled = false
	c.Webhooks.AllowPrivate = true // receivers on this machine
	err = load(ctx, engine.DSN, site)
	if err == nil {
		log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		err = serve(ctx, server.Server{Config: c, Now: now, Stdout: stdout, Log: log})
	}
	return errors.Join(err, engine.Close())
}

// load loads the site into the database.
func load(ctx context.Context, dsn string, site fixtures.Site) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return fmt.Errorf("connect to load the site: %w", err)
	}
	if err := errors.Join(fixtures.Load(ctx, db, site), db.Close()); err != nil {
		return fmt.Errorf("load the site: %w", err)
	}
	return nil
}

// serve opens the ports, prints what can be tried there, and serves.
func serve(ctx context.Context, s server.Server) error {
	key, token, err := newCredentials(ctx, s.Config, s.Now)
	if err != nil {
		return err
	}
	if s.Listener, err = listen(ctx, s.Config.Server.Listen); err != nil {
		return err
	}
	if s.AdminListener, err = listen(ctx, s.Config.Admin.Listen); err != nil {
		return errors.Join(err, s.Listener.Close())
	}
	greet(s.Stdout, s.Listener.Addr(), s.AdminListener.Addr(), key, token)
	return s.Run(ctx)
}

// newCredentials returns a key and a login token of the console.
func newCredentials(ctx context.Context, c settings.Config, now domain.Clock) (key, token string, err error) {
	target, err := server.NewTarget(c)
	if err != nil {
		return "", "", err
	}
	db, err := target.Open(ctx)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.CreateOwnTables(ctx); err != nil {
		return "", "", err
	}
	key, _, err = keys.NewStore(db, now, rand.Reader).Create(ctx, keys.NewKey{Name: "demo", Kind: keys.Test, Permissions: []string{"read", "write", "delete", "read_changes", "write_webhooks"}})
	if err != nil {
		return "", "", err
	}
	token, err = keys.NewAdminTokens(db, now, rand.Reader).Issue(ctx, "")
	return key, token, err
}

// listen uses a free port if the address is in use.
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

// greet prints what to do next; the curl line can be pasted unchanged. The server adds a line when it is
// ready.
func greet(stdout io.Writer, address, console net.Addr, key, token string) {
	_, _ = fmt.Fprintf(stdout, `
key            %[3]s
curl -H 'X-API-Key: %[3]s' 'http://%[1]s/v1/bookings?per_page=2'

documentation  http://%[1]s/docs
console        http://%[2]s  (login token, valid for ten minutes: %[4]s)

`, address, console, key, token)
}
