package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/embedded"
	"github.com/bookside/bookside/fixtures/sitefile"
	"github.com/bookside/bookside/handlers/middleware"
)

// embeddedDatabase stands for the database inside the process.
const embeddedDatabase = "embedded"

// serveOptions are the flags of the program itself.
type serveOptions struct {
	source

	key, database string
	force         bool
	untilEOF      bool
}

// serve returns the program without a command, which serves a site under the settings and its flags.
func serve(c settings.Config, now domain.Clock) *cobra.Command {
	var o serveOptions
	root := newCommand(program+" [flags]", "serve a sample site", `Serves a small practice, or the site that fixtures describe, from memory. Changes are gone when it ends.
It prints a key, and where to use it.`, cobra.NoArgs)
	flags := root.Flags()
	flags.StringArrayVar(&o.files, "fixtures", nil, "fixture to serve, or a directory of them; may be repeated (see FIXTURES.md). Or one dump, whose name ends in .sql")
	flags.StringVar(&o.key, "key", "", "API key for everything, which clients know beforehand")
	flags.StringVar(&c.Server.Listen, "listen", c.Server.Listen, "address to listen on; another port is taken where this one is in use")
	flags.StringVar(&c.Admin.Listen, "console", c.Admin.Listen, "address of the console; another port is taken where this one is in use")
	flags.StringVar(&o.database, "database", embeddedDatabase, "embedded, or the data source name of a database on a MariaDB or MySQL server, which gets the site in place of the one that is there")
	flags.BoolVar(&o.force, "force", false, "use the database even if it has other tables")
	flags.BoolVar(&o.untilEOF, "until-eof", false, "end when the standard input ends, as it does with the program that started this one")
	o.bindNow(root)
	root.RunE = func(root *cobra.Command, _ []string) error {
		return o.run(root.Context(), c, now, root.OutOrStdout(), root.ErrOrStderr())
	}
	return root
}

// run loads the site and serves it until the context ends.
func (o serveOptions) run(ctx context.Context, c settings.Config, now domain.Clock, stdout, stderr io.Writer) (err error) {
	if o.untilEOF {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	loaded, err := o.read(ctx, now)
	if err != nil {
		return err
	}
	s := &server.Server{Now: loaded.clock.now, Stdout: stdout, Log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if s.Listener, err = listen(ctx, c.Server.Listen); err != nil {
		return err
	}
	defer func() { _ = s.Listener.Close() }() // Run has closed it, if it ran
	if s.AdminListener, err = listen(ctx, c.Admin.Listen); err != nil {
		return err
	}
	defer func() { _ = s.AdminListener.Close() }()
	what := "a small practice with about 300 bookings"
	if len(o.files) > 0 {
		what = "the site of your fixtures"
	}
	today := loaded.clock.now()
	if _, err := fmt.Fprintf(stdout, "making %s; %s will be at http://%s/v1/bookings?date_from=%[4]s&date_to=%[4]s\n",
		what, today.Format("Monday, 2 January 2006,"), reachable(s.Listener), today.Format(time.DateOnly)); err != nil {
		return err
	}
	if o.key != "" {
		loaded.keys = append([]sitefile.Key{{
			Noun: sitefile.Noun{Place: sitefile.Place{File: "--key"}}, Name: "demo", Secret: o.key, Permissions: allPermissions,
		}}, loaded.keys...)
	}
	c.DB.Prefix = loaded.Prefix
	var save func(context.Context) (restore func(context.Context) error, err error)
	if o.database != embeddedDatabase {
		if c.DB.DSN, err = fixtures.PreferTLS(o.database); err != nil {
			return err
		}
		save = func(ctx context.Context) (func(context.Context) error, error) {
			return fixtures.Save(ctx, c.DB.DSN, loaded.Site)
		}
	} else {
		engine, err := embedded.Start(ctx)
		if err != nil {
			return fmt.Errorf("start database engine: %w", err)
		}
		defer func() { err = errors.Join(err, engine.Close()) }()
		c.DB.DSN, save = engine.DSN, engine.Save
		c.Server.RequestTimeout = time.Minute // the embedded database is slow
	}
	c.Limits.DrainDelay, c.Limits.ShutdownTimeout = 0, 2*time.Second // there is no proxy, and tests are in a hurry
	c.Limits.ChangesInterval = time.Second
	c.Webhooks.AllowPrivate = true // receivers on this machine
	if err := loaded.store(ctx, c, o.force); err != nil {
		return err
	}
	key, tokens, closeTokens, err := newCredentials(ctx, c, loaded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTokens()) }()
	login := func(ctx context.Context) (string, error) { return tokens.Issue(ctx, "") }
	token, err := login(ctx)
	if err != nil {
		return err
	}
	restore, err := save(ctx)
	if err != nil {
		return err
	}
	s.Config, s.Routes = c, control{
		clock: loaded.clock, key: key, guesses: middleware.NewThrottle(now, server.FailedKeysPerMinute),
		login: login, restore: restore, reopen: s.Reopen,
	}.routes()
	greet(stdout, reachable(s.Listener), reachable(s.AdminListener), key, token)
	if o.database == embeddedDatabase {
		_, _ = fmt.Fprintf(stdout, "database       %s\n", c.DB.DSN)
	}
	for _, hook := range loaded.webhooks {
		_, _ = fmt.Fprintf(stdout, "webhook        %s  (secret: %s)\n", hook.URL, hook.Secret)
	}
	return s.Run(ctx)
}

// allPermissions are those of a key for everything but users of WordPress.
var allPermissions = []string{"read", "write", "delete", "read_changes", "write_webhooks"}

// newCredentials returns a key, the first that the site has or a new one, and what issues login tokens of the console
// until it is closed.
func newCredentials(ctx context.Context, c settings.Config, loaded site) (key string, tokens *keys.AdminTokens, closeTokens func() error, err error) {
	target, err := server.NewTarget(c)
	if err != nil {
		return "", nil, nil, err
	}
	db, err := target.Open(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	if len(loaded.keys) > 0 {
		key = loaded.keys[0].Secret
	} else if key, _, err = keys.NewStore(db, loaded.clock.now, rand.Reader).Create(ctx, keys.NewKey{Name: "demo", Kind: keys.Test, Permissions: allPermissions}); err != nil {
		return "", nil, nil, errors.Join(err, db.Close())
	}
	return key, keys.NewAdminTokens(db, loaded.clock.now, rand.Reader), db.Close, nil
}

// errWindowsAddressInUse is WSAEADDRINUSE, which [syscall.EADDRINUSE] does not stand for.
const errWindowsAddressInUse = syscall.Errno(10048)

// listen uses a free port if the address is in use.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, errWindowsAddressInUse) {
		return listener, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// listening returns the settings of the demo. Its environment says where it listens and under which names, as
// bookside's does, so that an image can say it for all commands. Other settings are for a real site.
func listening(environ []string) (settings.Config, error) {
	own := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains([]string{settings.EnvName(settings.Listen), settings.EnvName(settings.AdminListen), settings.EnvName(settings.AdminHosts)}, name)
	})
	return settings.Read(own, settings.Flags{})
}

// reachable returns an address to print. One that listens everywhere, as in a container, is reached under the
// name of this machine, whose Docker publishes the port.
func reachable(listener net.Listener) string {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsUnspecified() {
		return listener.Addr().String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(address.Port))
}

// greet prints what to do next; the curl line can be pasted unchanged. The server adds a line when it is
// ready.
func greet(stdout io.Writer, address, console, key, token string) {
	_, _ = fmt.Fprintf(stdout, `
key            %[3]s
curl -H 'X-API-Key: %[3]s' 'http://%[1]s/v1/bookings?per_page=2'

documentation  http://%[1]s/docs
console        http://%[2]s  (login token, valid for ten minutes: %[4]s)
another token  curl -X POST -H 'X-API-Key: %[3]s' http://%[2]s/login-token
reset          curl -X POST -H 'X-API-Key: %[3]s' http://%[2]s/reset
`, address, console, key, token)
}
