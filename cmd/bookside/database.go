package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"bookside/wpdb"
	"bookside/wpdb/wpconfig"
)

// target is the database that a configuration leads to, and how to speak of it
// to people without its secrets.
type target struct {
	config      wpdb.Config
	basePrefix  string // before the number of a network's site
	address     string
	database    string
	source      string // the setting that names the database
	credentials string // where user and password are written
}

// target finds database and prefix, in wp-config.php where one is named.
func (c config) target() (target, error) {
	t := target{source: keyDSN + " (" + envName(keyDSN) + ")"}
	t.credentials = t.source
	t.basePrefix = c.DB.Prefix
	if c.WordPress.Config != "" {
		site, err := c.readWPConfig()
		if err != nil {
			return target{}, err
		}
		if t.basePrefix == "" {
			t.basePrefix = site.TablePrefix
		}
		t.config.DSN, t.address, t.database = site.FormatDSN(), site.Address, site.Name
		t.source = keyWPConfig
		t.credentials = "DB_USER and DB_PASSWORD in " + c.WordPress.Config
	} else {
		parts, _ := parseDSN(c.DB.DSN)
		t.config.DSN, t.address, t.database = c.DB.DSN, parts.address, parts.database
	}
	if t.address == "" {
		t.address = "the usual address of MySQL on this machine"
	}
	t.config.Prefix = wpdb.SitePrefix(t.basePrefix, c.WordPress.SiteID)
	t.config.MaxOpen = c.DB.MaxOpen
	t.config.AcquireTimeout = c.DB.AcquireTimeout
	t.config.StatementTimeout = c.DB.StatementTimeout
	t.config.LockWait = c.lockWait()
	t.config.NoKill = !c.DB.KillAbandoned
	// The server must be the first to give up on a statement: it says why.
	t.config.IOTimeout = c.DB.StatementTimeout + 5*time.Second
	return t, nil
}

// lockWait leaves a request time for every try of its transaction. Servers take
// whole seconds.
func (c config) lockWait() time.Duration {
	return max(time.Second, (c.Server.RequestTimeout / 4).Truncate(time.Second))
}

// readWPConfig ignores an unreadable table prefix if the configuration sets one.
func (c config) readWPConfig() (wpconfig.Config, error) {
	site, err := wpconfig.Read(c.WordPress.Config)
	var unreadable *wpconfig.Error
	switch {
	case err == nil:
		return site, nil
	case !errors.As(err, &unreadable):
		return wpconfig.Config{}, failf(exitUsage, err, "%s: %v", keyWPConfig, err)
	case unreadable.Name == wpconfig.TablePrefix && c.DB.Prefix != "":
		return site, nil
	default:
		return wpconfig.Config{}, failf(exitUsage, err, "%s: %v; set %s instead", keyWPConfig, err, insteadOf(unreadable.Name))
	}
}

// insteadOf names the settings that replace one in wp-config.php; name is empty
// for a file that cannot be parsed.
func insteadOf(name string) string {
	dsn := keyDSN + " (" + envName(keyDSN) + ")"
	prefix := keyPrefix + " (" + envName(keyPrefix) + ")"
	switch name {
	case wpconfig.TablePrefix:
		return prefix
	case wpconfig.Multisite, "":
		return dsn + " and " + prefix
	default:
		return dsn
	}
}

// open connects without waiting.
func (t target) open(ctx context.Context) (*wpdb.DB, error) {
	db, err := wpdb.Open(ctx, t.config)
	if err != nil {
		return nil, t.explain(err)
	}
	return db, nil
}

// explain words an error of opening the database.
func (t target) explain(err error) error {
	var statement *wpdb.Error
	switch {
	case errors.Is(err, wpdb.ErrAccessDenied):
		return failf(exitRefused, err, "the database server at %s refuses the user or the password, or the user may not use the database %s; correct %s, or grant the user what check --grants prints (%v)", t.address, t.database, t.credentials, err)
	case errors.Is(err, wpdb.ErrNoDatabase):
		return failf(exitRefused, err, "there is no database %s on the server at %s; correct its name (%v)", t.database, t.address, err)
	case errors.Is(err, wpdb.ErrUnavailable), errors.Is(err, wpdb.ErrLinkLost), errors.Is(err, wpdb.ErrTimeout):
		return failf(exitUnreachable, err, "the database at %s cannot be reached, takes no more connections, or is a node that has lost its cluster; see that it runs and that the address is right (%v)", t.address, reason(err))
	case errors.Is(err, wpdb.ErrDSN):
		return failf(exitUsage, err, "%s: %v", t.source, err)
	case !errors.As(err, &statement):
		return failf(exitUsage, err, "%v", err) // the settings themselves, before any connection
	default:
		return err
	}
}

// reason is why a connection failed, in the words of the system where it has
// some: they name the host and nothing secret.
func reason(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Err
	}
	return err
}

// requireTables fails unless the prefix is that of a site with LatePoint.
func (t target) requireTables(ctx context.Context, db *wpdb.DB) error {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return t.explain(err)
	}
	if schema.Has(wpdb.Bookings) {
		return nil
	}
	// Whoever may do nothing with a table is not even told that it is there.
	readable, err := db.HasPrivilege(ctx, wpdb.Select, wpdb.Bookings)
	var hidden error
	switch {
	case err == nil && !readable:
		hidden = wpdb.ErrAccessDenied
	case err != nil && !errors.Is(err, wpdb.ErrSchema):
		return t.explain(err)
	}
	if schema.Has(wpdb.Services) {
		return failf(exitNoTables, hidden, "the LatePoint table %s is missing, or the database user may not see it", db.FullName(wpdb.Bookings))
	}
	found, err := t.otherPrefixes(ctx, db)
	if err != nil {
		return err
	}
	if hidden != nil {
		return failf(exitNoTables, hidden, "no LatePoint tables are to be seen under the prefix %s%s; either they are missing, or the database user may not see them: grant it SELECT on %slatepoint_bookings and the others, as check --grants tells",
			t.config.Prefix, found, t.config.Prefix)
	}
	return failf(exitNoTables, nil, "no LatePoint tables under the prefix %s%s", t.config.Prefix, found)
}

// otherPrefixes tells where the database has LatePoint tables, as the rest of a
// sentence.
func (t target) otherPrefixes(ctx context.Context, db *wpdb.DB) (string, error) {
	prefixes, err := db.SitePrefixes(ctx)
	switch {
	case err != nil:
		return "", t.explain(err)
	case len(prefixes) == 0:
		return fmt.Sprintf(" or any other in the database %s; see that it is the site's database and that the plugin was activated once", t.database), nil
	default:
		return fmt.Sprintf("; this database has them under: %s; set db.prefix (%s)", strings.Join(prefixes, ", "), envName(keyPrefix)), nil
	}
}

// ensureOwnTables makes the tables of ours that are missing. Where that is not
// allowed, missing are those that still are.
func ensureOwnTables(ctx context.Context, db *wpdb.DB) (missing []wpdb.Table, err error) {
	err = db.CreateOwnTables(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) || errors.Is(err, wpdb.ErrReadOnly) {
		return db.MissingOwnTables(ctx) // who may not create may still find them there
	}
	return nil, err
}

// requireOwnColumns fails where a table of ours was made by an earlier version
// and lacks a column: its keys would all look unknown.
func requireOwnColumns(ctx context.Context, db *wpdb.DB) error {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return err
	}
	if statements := db.MigrationStatements(schema); len(statements) > 0 {
		return failf(exitFailure, nil, "tables of Bookside lack columns of this version; add them with\n  %s", strings.Join(statements, ";\n  "))
	}
	return nil
}
