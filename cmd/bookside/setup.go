package main

import (
	"cmp"
	"context"
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/bookside/setup"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// setup installs Bookside beside a site, or takes that back.
func (p *program) setup() *cobra.Command {
	command := &cobra.Command{
		Use:   "setup",
		Short: "connect Bookside with the site on this machine",
		Long: `Connects Bookside with a WordPress site on this machine, as root:

  1. finds WordPress, reads its wp-config.php and runs check
  2. creates a database account for Bookside alone, with the privileges it needs
  3. writes /etc/bookside/config.yaml, and the password into a file that only the service can read
  4. starts the service
  5. creates a key, tries it and prints it
  6. prints the line to include in the configuration of the site's web server (nginx, Apache or Caddy;
     for others, what to forward), waits for it, and checks through the site's own address that GET,
     PUT and DELETE arrive, and that a site with https does not answer the API over http

Setup shows all steps and asks before doing them, and changes no file of a web server. If a step fails,
it undoes them all. Changes are recorded in /var/lib/bookside/setup.json, and --undo undoes them at any
time; what somebody else has changed since stays unchanged, and Bookside's tables stay too.

Run again, setup only checks that calls arrive.`,
	}
	flags := command.Flags()
	s := &setup.Setup{
		Host: cmp.Or(p.host, setup.Local()), // tests have another
		Now:  p.now, In: p.stdin, Out: p.stdout, Check: p.checkForSetup,
	}
	flags.StringVar(&s.WordPress, "wordpress", "", "`DIRECTORY` of WordPress; default the only one that is found")
	flags.IntVar(&s.SiteID, "site-id", 0, "`NUMBER` of the site in a network of sites; default the first one")
	flags.StringVar(&s.Address, "url", "", "`URL` of the site; default the one that WordPress has")
	flags.StringVar(&s.Listen, "listen", "127.0.0.1:8080", "`ADDRESS` of the API, for the web server")
	flags.StringVar(&s.AdminListen, "admin-listen", "127.0.0.1:8081", "`ADDRESS` of probes, metrics and the console")
	flags.StringVar(&s.TLS, "db-tls", string(wpdb.TLSAuto), "`MODE` of the encryption to the database: auto, off, required or verify, as in db.tls")
	flags.StringVar(&s.WebServer, "web-server", "", "`NAME` of the web server: nginx, apache, caddy or other; default the one that answers at the site's address")
	flags.BoolVar(&s.Yes, "yes", false, "ask nothing")
	flags.BoolVar(&s.DryRun, "dry-run", false, "show what would be done, and do nothing")
	flags.BoolVar(&s.NoWait, "no-wait", false, "do not wait for the line in the web server's configuration")
	undo := flags.Bool("undo", false, "take back what setup has done")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		for _, flag := range []string{"listen", "admin-listen"} {
			// Not a host name: systemd and the web servers use it too.
			address, err := netip.ParseAddrPort(command.Flag(flag).Value.String())
			if err != nil || address.Port() == 0 || address.Addr().Zone() != "" {
				return usageErrorf("--%s: write an IP address and a port, such as 127.0.0.1:8080", flag)
			}
		}
		if !slices.Contains(wpdb.TLSModes(), wpdb.TLS(s.TLS)) {
			return usageErrorf("--db-tls: write auto, off, required or verify")
		}
		if s.WebServer != "" && !slices.Contains([]string{"nginx", "apache", "caddy", "other"}, s.WebServer) {
			return usageErrorf("--web-server: write nginx, apache, caddy or other")
		}
		if s.Listen == s.AdminListen {
			return usageErrorf("--admin-listen: is the same as --listen; write another port")
		}
		var err error
		if s.Program, err = os.Executable(); err != nil {
			return err
		}
		if *undo {
			return s.Undo(ctx)
		}
		return s.Run(ctx)
	}
	return command
}

// checkForSetup runs check for a database that no configuration names yet.
func (p *program) checkForSetup(ctx context.Context, database setup.Database, quiet bool) error {
	c := settings.Default()
	c.DB.DSN, c.DB.Prefix, c.WordPress.SiteID = database.DSN, database.Prefix, database.SiteID
	if quiet {
		silent := *p
		silent.stdout = io.Discard
		p = &silent
	}
	return p.checkSite(ctx, c, checkOutput{unfinished: true})
}
