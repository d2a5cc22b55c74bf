package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/bookside/setup"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) setup() *cobra.Command {
	command := &cobra.Command{
		Use:   "setup",
		Short: "connect Bookside with the site on this machine",
		Long: `Connects Bookside with a WordPress site on this machine, as root:

  1. finds WordPress, reads its wp-config.php and runs check
  2. creates a database account for Bookside alone, with the privileges it needs
  3. writes /etc/bookside/config.yaml, and the password into a file that only the service can read
  4. starts the service
  5. makes the site's web server (nginx, Apache or Caddy) forward API calls to it, and makes
     SELinux allow that
  6. creates a key, tests it through the site's own address, and prints it with a line for curl

Setup shows each step and asks before doing it. If one fails, it undoes them all at once. Changes are
recorded in /var/lib/bookside/setup.json, and --undo undoes them at any time; what somebody else has
changed since stays unchanged, and Bookside's tables stay too.

Without systemd, setup stops before changing the web server, says how to start the service, and
continues from there when it is run again.`,
	}
	flags := command.Flags()
	s := &setup.Setup{}
	flags.StringVar(&s.WordPress, "wordpress", "", "`DIRECTORY` of WordPress; default the only one that is found")
	flags.IntVar(&s.SiteID, "site-id", 0, "`NUMBER` of the site in a network of sites; default the first one")
	flags.StringVar(&s.Address, "url", "", "`URL` of the site; default the one that WordPress has")
	flags.StringVar(&s.Listen, "listen", "127.0.0.1:8080", "`ADDRESS` of the API, for the web server")
	flags.StringVar(&s.AdminListen, "admin-listen", "127.0.0.1:8081", "`ADDRESS` of probes, metrics and the console")
	flags.StringVar(&s.TLS, "db-tls", string(wpdb.TLSAuto), "`MODE` of the encryption to the database: auto, off, required or verify, as in db.tls")
	flags.StringVar(&s.WebServer, "web-server", "", "`NAME` of the web server to change: nginx, apache, caddy or none; default the one that serves the site")
	flags.BoolVar(&s.Yes, "yes", false, "ask nothing")
	flags.BoolVar(&s.DryRun, "dry-run", false, "show what would be done, and do nothing")
	undo := flags.Bool("undo", false, "take back what setup has done")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		for name, address := range map[string]string{"listen": s.Listen, "admin-listen": s.AdminListen} {
			// Not a host name: systemd and the web servers use it too.
			if parsed, err := netip.ParseAddrPort(address); err != nil || parsed.Port() == 0 || parsed.Addr().Zone() != "" {
				return usageErrorf("--%s: write an IP address and a port, such as 127.0.0.1:8080", name)
			}
		}
		if !slices.Contains(wpdb.TLSModes(), wpdb.TLS(s.TLS)) {
			return usageErrorf("--db-tls: write auto, off, required or verify")
		}
		if s.Listen == s.AdminListen {
			return usageErrorf("--admin-listen: is the same as --listen; write another port")
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		s.Host, s.Now, s.In, s.Out, s.Program, s.Check = cmp.Or(p.host, setup.Local()), p.now, p.stdin, p.stdout, program, p.checkForSetup
		if *undo {
			return setupFailure(s.Undo(ctx))
		}
		return setupFailure(s.Run(ctx))
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

// setupFailure gives an error of setup its exit code.
func setupFailure(err error) error {
	var known *setup.Error
	if !errors.As(err, &known) {
		return err
	}
	code := exit.Failure
	if known.Usage {
		code = exit.Usage
	}
	return exit.Errorf(code, err, "%v", err)
}
