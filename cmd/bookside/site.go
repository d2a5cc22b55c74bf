package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// openSite opens the configured database without waiting for it, and checks that it contains a LatePoint
// site. If the configuration is valid, it returns the target along with any error.
func openSite(ctx context.Context, c settings.Config) (server.Target, *wpdb.DB, error) {
	if err := c.Validate(); err != nil {
		return server.Target{}, nil, err
	}
	t, err := server.NewTarget(c)
	if err != nil {
		return server.Target{}, nil, err
	}
	db, err := t.Open(ctx)
	if err != nil {
		return t, nil, err
	}
	if err := t.RequireTables(ctx, db); err != nil {
		return t, nil, errors.Join(err, db.Close())
	}
	return t, db, nil
}

// open opens the configured site.
func (p *program) open(ctx context.Context) (settings.Config, server.Target, *wpdb.DB, error) {
	c, err := p.config()
	if err != nil {
		return c, server.Target{}, nil, err
	}
	t, db, err := openSite(ctx, c)
	return c, t, db, err
}

// withSite calls use with the open site. The needed tables of Bookside must be those of this version:
// others may wait for a migration.
func (p *program) withSite(ctx context.Context, needed wpdb.Table, use func(*wpdb.DB) error) (err error) {
	_, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := requireOwnColumns(ctx, db, needed); err != nil {
		return t.ExplainPrivilege(ctx, err)
	}
	return t.ExplainPrivilege(ctx, use(db))
}

// withOwnTables is like withSite, but creates our own tables first; it fails without the needed one.
func (p *program) withOwnTables(ctx context.Context, needed wpdb.Table, use func(*wpdb.DB) error) error {
	return p.withSite(ctx, needed, func(db *wpdb.DB) error {
		missing, err := server.EnsureOwnTables(ctx, db)
		switch {
		case err != nil:
			return err
		case slices.Contains(missing, needed):
			return exit.Errorf(exit.Refused, nil, "the database user may not create the table %s; run this command as one that may", db.FullName(needed))
		default:
			return use(db)
		}
	})
}

// requireOwnColumns returns an error if one of our tables was created by an earlier version and lacks a
// column of this one.
func requireOwnColumns(ctx context.Context, db *wpdb.DB, table wpdb.Table) error {
	statements, err := db.MigrationStatements(ctx, table)
	if err == nil && len(statements) > 0 {
		err = exit.Errorf(exit.Failure, nil, "tables of Bookside lack columns or indexes of this version; run bookside migrate, which adds them with\n  %s", strings.Join(statements, ";\n  "))
	}
	return err
}
