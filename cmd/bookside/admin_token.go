package main

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) adminToken() *cobra.Command {
	command := &cobra.Command{
		Use:   "admin-token",
		Short: "print a login token for the console",
		Long: `Prints a login token for the console at admin.listen of the running server.
It works once, within ten minutes, on every server of this database; only a hash of it is stored.
The login lasts an hour.

If the server runs on another machine, forward its port first:

  ssh -L 8081:127.0.0.1:8081 SERVER`,
	}
	flags := p.configFlags(command)
	quiet := flags.Bool("quiet", false, "print the token and nothing else")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		c, err := p.config()
		switch {
		case err != nil:
			return err
		case c.Admin.Listen == "":
			return exit.Errorf(exit.Failure, nil, "the console is disabled: %s is empty", settings.Named(settings.AdminListen))
		}
		return p.withOwnTables(ctx, wpdb.AdminTokens, func(db *wpdb.DB) error {
			token, err := keys.NewAdminTokens(db, p.now, rand.Reader).Issue(ctx, p.person())
			if err != nil {
				return err
			}
			if *quiet {
				return p.print(token + "\n")
			}
			return p.print(fmt.Sprintf("%s\n\nOpen %s and enter it within %.0f minutes. It works once.\n",
				token, server.ConsoleAddress(c), keys.LoginTokenLife.Minutes()))
		})
	}
	return command
}
