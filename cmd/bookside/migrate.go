package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) migrate() *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate",
		Short: "update Bookside's own tables to this version",
		Long: `Creates missing tables of Bookside, and adds the columns and indexes that are new in this version.
It changes no table of WordPress or the plugin, and nothing that an earlier version needs, so a
running one continues.

serve does the same when it starts, if its database user has ALTER on these tables, as granted by
setup and check --grants. Otherwise run this as another user before an upgrade restarts the service:

  bookside migrate --set db.dsn='admin:PASSWORD@tcp(127.0.0.1:3306)/DATABASE'

With --dry-run it prints the statements without running them.`,
	}
	flags := p.configFlags(command)
	dryRun := flags.Bool("dry-run", false, "print the statements, and run none")
	command.RunE = func(command *cobra.Command, _ []string) error {
		c, err := p.config()
		if err != nil {
			return err
		}
		return p.migrateSite(command.Context(), c, *dryRun)
	}
	return command
}

func (p *program) migrateSite(ctx context.Context, c settings.Config, dryRun bool) (err error) {
	t, db, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if dryRun {
		return p.printMigration(ctx, t, db)
	}
	unhurried, err := wpdb.Open(ctx, t.Config.WithoutTimeouts()) // an index on a large table takes long
	if err != nil {
		return t.Explain(err)
	}
	defer func() { err = errors.Join(err, unhurried.Close()) }()
	missing, err := db.MissingOwnTables(ctx)
	if err != nil {
		return t.Explain(err)
	}
	if len(missing) > 0 {
		if err := unhurried.CreateOwnTables(ctx); err != nil {
			return t.ExplainPrivilege(ctx, err)
		}
		if err := p.print("created " + strings.Join(db.FullNames(missing), ", ") + "\n"); err != nil {
			return err
		}
	}
	done, failed := unhurried.MigrateOwnTables(ctx)
	if err := p.print(statements(done)); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return t.ExplainPrivilege(ctx, failed)
	case len(missing)+len(done) == 0:
		return p.print("The tables of Bookside are those of this version.\n")
	default:
		return nil
	}
}

// printMigration prints the statements that would run.
func (p *program) printMigration(ctx context.Context, t server.Target, db *wpdb.DB) error {
	creating, err := db.CreateStatements(ctx)
	if err != nil {
		return t.Explain(err)
	}
	altering, err := db.MigrationStatements(ctx)
	if err != nil {
		return t.Explain(err)
	}
	return p.print(statements(append(creating, altering...)))
}
