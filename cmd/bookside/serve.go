package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
)

func (p *program) serve() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "serve the API",
		Long: `Serves the API, and /livez, /readyz, /metrics and the console at a separate address, until SIGTERM or
SIGINT; running requests may finish. When the API is ready, its address is printed to standard
output; the log goes to standard error as lines of JSON.`,
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
		return p.serveSite(command.Context(), c)
	}
	return command
}

// printConfig prints the configuration, with what was read from wp-config.php.
func (p *program) printConfig(c settings.Config) error {
	t, err := server.NewTarget(c)
	if err != nil {
		return err
	}
	c.DB.Prefix, c.WordPress.Home, c.WordPress.SiteURL, c.WordPress.Content = t.BasePrefix, t.Config.Home, t.Config.SiteURL, t.Config.Content
	text, err := c.Masked()
	if err != nil {
		return err
	}
	return p.print(text)
}

// serveSite serves until ctx ends.
func (p *program) serveSite(ctx context.Context, c settings.Config) error {
	s := server.Server{
		Config: c, Env: p.env, Now: p.now, Stdout: p.stdout,
		Log: newLog(p.stderr, c.Log.Level, p.env),
	}
	return s.Run(ctx)
}
