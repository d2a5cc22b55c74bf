package server

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

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

// Target is the configured database, and how messages refer to it without secrets.
type Target struct {
	Config      wpdb.Config
	BasePrefix  string // without the number of a site in a network
	Address     string
	Database    string
	Source      string // the setting that names the database
	Credentials string // where user and password are configured
}

// NewTarget returns the configured database and prefix, from wp-config.php if one is configured and from a DSN otherwise.
func NewTarget(c settings.Config) (Target, error) {
	t := targetOfDSN(c)
	if c.WordPress.Config != "" {
		var err error
		if t, err = targetOfWPConfig(c); err != nil {
			return Target{}, err
		}
	}
	if t.Address == "" {
		t.Address = "the default address of MySQL on this machine"
	}
	t.Config.Prefix = wpdb.SitePrefix(t.BasePrefix, c.WordPress.SiteID)
	t.Config.TLS, t.Config.TLSCA = wpdb.TLS(c.DB.TLS), c.DB.TLSCA
	t.Config.MaxOpen = c.DB.MaxOpen
	t.Config.AcquireTimeout = c.Limits.AcquireTimeout
	t.Config.StatementTimeout = c.Limits.StatementTimeout
	t.Config.LockWait = lockWait(c)
	return t, nil
}

// targetOfDSN returns the database that a DSN names.
func targetOfDSN(c settings.Config) Target {
	parts, _ := settings.ParseDSN(c.DB.DSN) // checked when the settings were loaded
	setting := settings.Named(settings.DSN)
	return Target{
		Config:     wpdb.Config{DSN: c.DB.DSN, Home: c.WordPress.Home, SiteURL: c.WordPress.SiteURL, Content: c.WordPress.Content},
		BasePrefix: c.DB.Prefix, Address: parts.Address, Database: parts.Database, Source: setting, Credentials: setting,
	}
}

// targetOfWPConfig returns the database that wp-config.php names. Settings go before addresses, prefix and wp-content in it.
func targetOfWPConfig(c settings.Config) (Target, error) {
	site, err := readWPConfig(c)
	return Target{
		Config: wpdb.Config{
			DSN: site.FormatDSN(), Home: cmp.Or(c.WordPress.Home, site.Home), SiteURL: cmp.Or(c.WordPress.SiteURL, site.SiteURL),
			Content: cmp.Or(c.WordPress.Content, site.Content, filepath.Join(filepath.Dir(c.WordPress.Config), "wp-content")),
		},
		BasePrefix: cmp.Or(c.DB.Prefix, site.TablePrefix), Address: site.Address, Database: site.Name,
		Source: settings.WPConfig, Credentials: "DB_USER and DB_PASSWORD in " + c.WordPress.Config,
	}, err
}

// lockWait leaves a request enough time for all attempts of its transaction. Servers accept only whole
// seconds.
func lockWait(c settings.Config) time.Duration {
	return max(time.Second, (c.Server.RequestTimeout / 4).Truncate(time.Second))
}

// readWPConfig ignores an unreadable table prefix if the configuration sets one.
func readWPConfig(c settings.Config) (wpconfig.Config, error) {
	site, err := wpconfig.Read(c.WordPress.Config)
	var unreadable *wpconfig.Error
	var noSocket *wpconfig.NoSocketError
	switch {
	case err == nil:
		return site, nil
	case errors.As(err, &noSocket):
		return wpconfig.Config{}, exit.Errorf(exit.Unreachable, err, "%s: %v; start the database server, or set %s instead, which names its socket or its address", settings.WPConfig, err, insteadOf("DB_HOST"))
	case !errors.As(err, &unreadable), unreadable.Name == wpconfig.Charset:
		return wpconfig.Config{}, exit.Errorf(exit.Usage, err, "%s: %v", settings.WPConfig, err)
	case unreadable.Name == wpconfig.TablePrefix && c.DB.Prefix != "":
		return site, nil
	default:
		return wpconfig.Config{}, exit.Errorf(exit.Usage, err, "%s: %v; set %s instead", settings.WPConfig, err, insteadOf(unreadable.Name))
	}
}

// insteadOf names the settings that replace one in wp-config.php; name is empty
// for a file that cannot be parsed.
func insteadOf(name string) string {
	dsn := settings.Named(settings.DSN)
	prefix := settings.Named(settings.Prefix)
	switch name {
	case wpconfig.TablePrefix:
		return prefix
	case wpconfig.Multisite, "":
		return dsn + " and " + prefix
	default:
		return dsn
	}
}

// Open connects without waiting for the server.
func (t Target) Open(ctx context.Context) (*wpdb.DB, error) {
	config := t.Config
	config.GiveUp = true // a person is waiting
	db, err := wpdb.Open(ctx, config)
	if err != nil {
		return nil, t.Explain(err)
	}
	return db, nil
}

// Explain turns an error of opening the database into one with an exit code and advice.
func (t Target) Explain(err error) error {
	var statement *wpdb.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, wpdb.ErrTLSDemanded):
		return exit.Errorf(exit.Refused, err, "the database server at %s accepts this user only over TLS; set %s to %s (%v)", t.Address, settings.TLS, wpdb.TLSRequired, err)
	case errors.Is(err, wpdb.ErrNoTLS):
		return exit.Errorf(exit.Refused, err, "the database server at %s does not offer TLS, and without it passwords and customers' data would cross the network in plain text: give the server a certificate, or, if nobody can listen on the way, set %s to %s, or run setup with --db-tls %s (%v)", t.Address, settings.TLS, wpdb.TLSOff, wpdb.TLSOff, err)
	case errors.As(err, &certificate):
		return exit.Errorf(exit.Refused, err, "the certificate of the database server at %s is refused: %v; correct the server's name or %s, or set %s to %s, which accepts any", t.Address, certificate.Err, settings.TLSCA, settings.TLS, wpdb.TLSRequired)
	case errors.Is(err, wpdb.ErrTLS):
		return exit.Errorf(exit.Usage, err, "%s: %v", settings.TLS, err)
	case errors.Is(err, wpdb.ErrAccessDenied) && errors.As(err, &statement) && statement.Number == noDatabasePrivilege:
		return exit.Errorf(exit.Refused, err, "the database user may not use the database %s at %s; check its name in %s, or run the statements of check --grants (%v)", t.Database, t.Address, t.Source, err)
	case errors.Is(err, wpdb.ErrAccessDenied):
		return exit.Errorf(exit.Refused, err, "the database server at %s rejects the user or the password; correct %s (%v)", t.Address, t.Credentials, err)
	case errors.Is(err, wpdb.ErrNoDatabase):
		return exit.Errorf(exit.Refused, err, "there is no database %s on the server at %s; correct its name (%v)", t.Database, t.Address, err)
	case errors.Is(err, wpdb.ErrUnavailable), errors.Is(err, wpdb.ErrLinkLost), errors.Is(err, wpdb.ErrTimeout):
		return exit.Errorf(exit.Unreachable, err, "the database at %s cannot be reached: %s", t.Address, unreachable(err))
	case errors.Is(err, wpdb.ErrDSN):
		return exit.Errorf(exit.Usage, err, "%s: %v", t.Source, err)
	case !errors.As(err, &statement):
		return exit.Errorf(exit.Usage, err, "%v", err) // invalid settings, before any connection
	default:
		return err
	}
}

// noDatabasePrivilege is ER_DBACCESS_DENIED_ERROR, with which user and password were correct.
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

// ExplainPrivilege returns the error of a statement that the database user may not run, with an exit code,
// the table, the account and the statement that grants the privilege.
func (t Target) ExplainPrivilege(ctx context.Context, err error) error {
	var known *exit.Error
	if errors.Is(err, wpdb.ErrSilent) && !errors.As(err, &known) {
		return t.Explain(err)
	}
	if !errors.Is(err, wpdb.ErrAccessDenied) || errors.As(err, &known) {
		return err
	}
	privileges, table, ok := wpdb.Denied(err)
	account, database, failed := t.Config.Account(ctx)
	if !ok || failed != nil {
		return exit.Errorf(exit.Refused, err, "%v; see bookside check --grants", err)
	}
	return exit.Errorf(exit.Refused, err, "the database user %s lacks %s on the table %s; run as an administrator of the database:\n  %s;",
		account, privileges, table, wpdb.Grant(privileges, database, table, account))
}

// reason returns the system's own error of a failed connection, if there is one: it names the host but
// nothing secret.
func reason(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Err
	}
	return err
}

// RequireTables returns an error unless there is a site with LatePoint under the
// prefix.
func (t Target) RequireTables(ctx context.Context, db *wpdb.DB) error {
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return t.Explain(err)
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
		return t.Explain(err)
	}
	if schema.Has(wpdb.Services) {
		return exit.Errorf(exit.NoTables, hidden, "the LatePoint table %s is missing, or the database user may not see it", db.FullName(wpdb.Bookings))
	}
	found, err := t.otherPrefixes(ctx, db)
	if err != nil {
		return err
	}
	if hidden != nil {
		return exit.Errorf(exit.NoTables, hidden, "no LatePoint tables are visible with the prefix %s%s; either they are missing, or the database user may not see them: grant it SELECT on %slatepoint_bookings and the others, see check --grants",
			t.Config.Prefix, found, t.Config.Prefix)
	}
	return exit.Errorf(exit.NoTables, nil, "no LatePoint tables with the prefix %s%s", t.Config.Prefix, found)
}

// otherPrefixes returns the prefixes with LatePoint tables, as the end of a
// sentence.
func (t Target) otherPrefixes(ctx context.Context, db *wpdb.DB) (string, error) {
	prefixes, err := db.SitePrefixes(ctx)
	switch {
	case err != nil:
		return "", t.Explain(err)
	case len(prefixes) == 0:
		return fmt.Sprintf(" or any other in the database %s; check that it is the site's database and that the plugin was activated once", t.Database), nil
	default:
		return fmt.Sprintf("; the database has these prefixes: %s; set %s", strings.Join(prefixes, ", "), settings.Named(settings.Prefix)), nil
	}
}

// EnsureOwnTables creates our own tables. If it may not, it returns the missing ones.
func EnsureOwnTables(ctx context.Context, db *wpdb.DB) (missing []wpdb.Table, err error) {
	err = db.CreateOwnTables(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) || errors.Is(err, wpdb.ErrReadOnly) {
		return db.MissingOwnTables(ctx) // another user may have created them
	}
	return nil, err
}
