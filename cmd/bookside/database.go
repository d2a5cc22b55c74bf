package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bookside/wpdb"
	"bookside/wpdb/wpconfig"
)

// target is the configured database, and how messages refer to it without its
// secrets.
type target struct {
	config      wpdb.Config
	basePrefix  string // without the number of a site in a network
	address     string
	database    string
	source      string // the setting that names the database
	credentials string // where user and password are configured
}

// target returns the configured database and prefix, reading wp-config.php if one
// is configured.
func (c config) target() (target, error) {
	t := target{source: keyDSN + " (" + envName(keyDSN) + ")"}
	t.credentials = t.source
	t.basePrefix = c.DB.Prefix
	t.config.Home, t.config.SiteURL, t.config.Content = c.WordPress.Home, c.WordPress.SiteURL, c.WordPress.Content
	if c.WordPress.Config != "" {
		site, err := c.readWPConfig()
		if err != nil {
			return target{}, err
		}
		if t.basePrefix == "" {
			t.basePrefix = site.TablePrefix
		}
		t.config.DSN, t.address, t.database = site.FormatDSN(), site.Address, site.Name
		t.config.Home, t.config.SiteURL = cmp.Or(t.config.Home, site.Home), cmp.Or(t.config.SiteURL, site.SiteURL)
		t.config.Content = cmp.Or(t.config.Content, site.Content, filepath.Join(filepath.Dir(c.WordPress.Config), "wp-content"))
		t.source = keyWPConfig
		t.credentials = "DB_USER and DB_PASSWORD in " + c.WordPress.Config
	} else {
		parts, _ := parseDSN(c.DB.DSN)
		t.config.DSN, t.address, t.database = c.DB.DSN, parts.address, parts.database
	}
	if t.address == "" {
		t.address = "the default address of MySQL on this machine"
	}
	t.config.Prefix = wpdb.SitePrefix(t.basePrefix, c.WordPress.SiteID)
	t.config.TLS, t.config.TLSCA = wpdb.TLS(c.DB.TLS), c.DB.TLSCA
	t.config.MaxOpen = c.DB.MaxOpen
	t.config.AcquireTimeout = c.DB.AcquireTimeout
	t.config.StatementTimeout = c.DB.StatementTimeout
	t.config.LockWait = c.lockWait()
	t.config.NoKill = !c.DB.KillAbandoned
	t.config.TextOnly = !c.DB.Prepare
	return t, nil
}

// lockWait leaves a request enough time for all attempts of its transaction.
// Servers accept only whole seconds.
func (c config) lockWait() time.Duration {
	return max(time.Second, (c.Server.RequestTimeout / 4).Truncate(time.Second))
}

// readWPConfig ignores an unreadable table prefix if the configuration sets one.
func (c config) readWPConfig() (wpconfig.Config, error) {
	site, err := wpconfig.Read(c.WordPress.Config)
	var unreadable *wpconfig.Error
	var noSocket *wpconfig.NoSocketError
	switch {
	case err == nil:
		return site, nil
	case errors.As(err, &noSocket):
		return wpconfig.Config{}, failf(exitUnreachable, err, "%s: %v; start the database server, or set %s instead, which names its socket or its address", keyWPConfig, err, insteadOf("DB_HOST"))
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

// open connects without waiting for the server.
func (t target) open(ctx context.Context) (*wpdb.DB, error) {
	config := t.config
	config.GiveUp = true // somebody waits
	db, err := wpdb.Open(ctx, config)
	if err != nil {
		return nil, t.explain(err)
	}
	return db, nil
}

// explain returns an error of opening the database with an exit code and advice.
func (t target) explain(err error) error {
	var statement *wpdb.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, wpdb.ErrTLSDemanded):
		return failf(exitRefused, err, "the database server at %s accepts this user only over TLS; set %s to %s (%v)", t.address, keyTLS, wpdb.TLSRequired, err)
	case errors.Is(err, wpdb.ErrNoTLS):
		return failf(exitRefused, err, "the database server at %s does not offer TLS, and without it passwords and customers' data would cross the network in plain text: give the server a certificate, or, if nobody can listen on the way, set %s to %s, or run setup with --db-tls %s (%v)", t.address, keyTLS, wpdb.TLSOff, wpdb.TLSOff, err)
	case errors.As(err, &certificate):
		return failf(exitRefused, err, "the certificate of the database server at %s is refused: %v; correct the server's name or %s, or set %s to %s, which accepts any", t.address, certificate.Err, keyTLSCA, keyTLS, wpdb.TLSRequired)
	case errors.Is(err, wpdb.ErrTLS):
		return failf(exitUsage, err, "%s: %v", keyTLS, err)
	case errors.Is(err, wpdb.ErrAccessDenied) && errors.As(err, &statement) && statement.Number == noDatabasePrivilege:
		return failf(exitRefused, err, "the database user may not use the database %s at %s; check its name in %s, or run the statements of check --grants (%v)", t.database, t.address, t.source, err)
	case errors.Is(err, wpdb.ErrAccessDenied):
		return failf(exitRefused, err, "the database server at %s rejects the user or the password; correct %s (%v)", t.address, t.credentials, err)
	case errors.Is(err, wpdb.ErrNoDatabase):
		return failf(exitRefused, err, "there is no database %s on the server at %s; correct its name (%v)", t.database, t.address, err)
	case errors.Is(err, wpdb.ErrUnavailable), errors.Is(err, wpdb.ErrLinkLost), errors.Is(err, wpdb.ErrTimeout):
		return failf(exitUnreachable, err, "the database at %s cannot be reached: %s", t.address, unreachable(err))
	case errors.Is(err, wpdb.ErrDSN):
		return failf(exitUsage, err, "%s: %v", t.source, err)
	case !errors.As(err, &statement):
		return failf(exitUsage, err, "%v", err) // invalid settings, before any connection
	default:
		return err
	}
}

// noDatabasePrivilege is ER_DBACCESS_DENIED_ERROR: user and password are right.
const noDatabasePrivilege = 1044

// unreachable says why a database cannot be reached, and what to do.
func unreachable(err error) string {
	var name *net.DNSError
	var timeout net.Error
	switch cause := reason(err); {
	case errors.As(err, &name):
		return fmt.Sprintf("the host %s is unknown; correct its name", name.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there (connection refused); start the server, or correct the port"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such socket; start the server, or correct the path"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not open the socket"
	case errors.Is(err, wpdb.ErrSilent):
		return "it accepts connections, but does not answer: it may be stopped or overloaded, or its disk full; see its log"
	case errors.Is(err, wpdb.ErrTimeout), errors.As(err, &timeout) && timeout.Timeout():
		return "it does not answer in time; check the address, and whether a firewall is between"
	default:
		return fmt.Sprintf("it accepts no more connections, or is a node that has lost its cluster (%v)", cause)
	}
}

// explainPrivilege returns an error of a statement that the database user may not run with
// its exit code, the table, the account and the statement that allows it.
func (t target) explainPrivilege(ctx context.Context, err error) error {
	var known *failure
	if errors.Is(err, wpdb.ErrSilent) && !errors.As(err, &known) {
		return t.explain(err)
	}
	if !errors.Is(err, wpdb.ErrAccessDenied) || errors.As(err, &known) {
		return err
	}
	privileges, table, ok := wpdb.Denied(err)
	account, database, failed := t.config.Account(ctx)
	if !ok || failed != nil {
		return failf(exitRefused, err, "%v; see bookside check --grants", err)
	}
	return failf(exitRefused, err, "the database user %s lacks %s on the table %s; run as an administrator of the database:\n  %s;",
		account, privileges, table, wpdb.Grant(privileges, database, table, account))
}

// reason returns the system's own error of a failed connection, if there is one: it
// names the host and nothing secret.
func reason(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Err
	}
	return err
}

// requireTables returns an error unless there is a site with LatePoint under the
// prefix.
func (t target) requireTables(ctx context.Context, db *wpdb.DB) error {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return t.explain(err)
	}
	if schema.Has(wpdb.Bookings) {
		return nil
	}
	// A user without any privilege on a table cannot even see it.
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
		return failf(exitNoTables, hidden, "no LatePoint tables are visible with the prefix %s%s; either they are missing, or the database user may not see them: grant it SELECT on %slatepoint_bookings and the others, see check --grants",
			t.config.Prefix, found, t.config.Prefix)
	}
	return failf(exitNoTables, nil, "no LatePoint tables with the prefix %s%s", t.config.Prefix, found)
}

// otherPrefixes returns the prefixes with LatePoint tables, as the end of a
// sentence.
func (t target) otherPrefixes(ctx context.Context, db *wpdb.DB) (string, error) {
	prefixes, err := db.SitePrefixes(ctx)
	switch {
	case err != nil:
		return "", t.explain(err)
	case len(prefixes) == 0:
		return fmt.Sprintf(" or any other in the database %s; check that it is the site's database and that the plugin was activated once", t.database), nil
	default:
		return fmt.Sprintf("; the database has these prefixes: %s; set db.prefix (%s)", strings.Join(prefixes, ", "), envName(keyPrefix)), nil
	}
}

// ensureOwnTables creates our own tables. If that is not allowed, it returns those
// that are missing.
func ensureOwnTables(ctx context.Context, db *wpdb.DB) (missing []wpdb.Table, err error) {
	err = db.CreateOwnTables(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) || errors.Is(err, wpdb.ErrReadOnly) {
		return db.MissingOwnTables(ctx) // another user may have created them
	}
	return nil, err
}

// requireOwnColumns returns an error if a table of ours was created by an earlier version and lacks
// something of this one.
func requireOwnColumns(ctx context.Context, db *wpdb.DB, table wpdb.Table) error {
	statements, err := db.MigrationStatements(ctx, table)
	if err == nil && len(statements) > 0 {
		err = failf(exitFailure, nil, "tables of Bookside lack columns or indexes of this version; run bookside migrate, which adds them with\n  %s", strings.Join(statements, ";\n  "))
	}
	return err
}
