// Package wpconfig reads the database settings and the addresses in a site's wp-config.php. It evaluates a small
// part of PHP, in every way that it may run, and knows where it leaves that part.
//
// From this module it imports only wpdb, for the rules of table prefixes.
package wpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/wpdb"
)

// Config is what a wp-config.php says about the database and the site's addresses.
type Config struct {
	Name, User, Password string
	Network              string // "tcp" or "unix"
	Address              string // host:port, or the path of a socket
	Charset              string // empty if missing or computed
	TablePrefix          string // with Multisite, the prefix of the network's first site
	Multisite            bool
	Home, SiteURL        string // WP_HOME and WP_SITEURL; empty if missing, computed, or without effect because of Multisite
	Content              string // WP_CONTENT_DIR; empty if missing or computed
	// TLS is what MYSQL_CLIENT_FLAGS implies: empty, required or verify. Callers that know better may
	// change it.
	TLS wpdb.TLS
}

// FormatDSN returns the data source name, as go-sql-driver/mysql writes it, with the file's TLS setting.
func (c Config) FormatDSN() string {
	driver := mysql.NewConfig()
	driver.User, driver.Passwd = c.User, c.Password
	driver.Net, driver.Addr, driver.DBName = c.Network, c.Address, c.Name
	driver.TLSConfig = map[wpdb.TLS]string{wpdb.TLSOff: "false", wpdb.TLSRequired: "skip-verify", wpdb.TLSVerify: "true"}[c.TLS]
	return driver.FormatDSN()
}

// Names of settings whose errors a caller may want to distinguish.
const (
	TablePrefix = "$table_prefix"
	Multisite   = "MULTISITE"
	Charset     = "DB_CHARSET" // no other setting helps: the site's texts are the reason
)

// Error is a setting whose value cannot be told. It never contains the value.
type Error struct {
	File   string // that is included; empty for the wp-config.php itself
	Line   int    // of the setting, or of what hides it; 0 if it is missing
	Name   string // the constant, or TablePrefix; empty if the PHP itself cannot be read
	Reason string
}

func (e *Error) Error() string {
	said := strings.TrimSpace(e.Name + " " + e.Reason)
	if e.Line > 0 {
		said = fmt.Sprintf("line %d: %s", e.Line, said)
	}
	if e.File != "" {
		said = e.File + ", " + said
	}
	return said
}

// Locate returns the wp-config.php for a path that may be WordPress's directory. As in wp-load.php
// (WordPress 7.0), the file may be one directory above. Any other path is returned unchanged.
func Locate(path string) string {
	if info, err := os.Stat(path); path == "" || err != nil || !info.IsDir() {
		return path
	}
	exists := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	within, above := filepath.Join(path, "wp-config.php"), filepath.Join(path, "..", "wp-config.php")
	if !exists(within) && exists(above) && !exists(filepath.Join(path, "..", "wp-settings.php")) {
		return above
	}
	return within
}

// Read returns the settings that PHP has when a wp-config.php, of at most 1 MiB, and what it includes have run up
// to wp-settings.php.
//
// What cannot be told, because it depends on a request, on the environment or on code that is beyond this reader,
// is an *Error, except for the addresses, the content and the character set, which a site need not set here. The
// table prefix is checked last: an error about it comes with all other settings. A *NoSocketError comes with all
// but Network and Address.
func Read(path string) (Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Config{}, fmt.Errorf("open the site's configuration: %w", err)
	}
	src, err := readFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the site's configuration %s: %w", path, err)
	}
	c, err := read(path, info, src, trustedOwners().haveSocket)
	if err != nil {
		return c, fmt.Errorf("read the site's configuration %s: %w", path, err)
	}
	return c, nil
}

func read(path string, info fs.FileInfo, src []byte, isSocket func(path string) bool) (Config, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Config{}, err
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return Config{}, err
	}
	r := newReader(filepath.Dir(absolute), info)
	if _, failed := r.parse(resolved, "", src); failed != nil {
		return Config{}, failed
	}
	r.run(resolved, place{})
	if r.failed != nil {
		return Config{}, r.failed
	}
	found := settings{state: cmp.Or(r.settled, r.state), reached: r.settled != nil}
	if found.state == nil {
		return Config{}, r.stopped
	}
	c := Config{Name: found.required("DB_NAME"), User: found.required("DB_USER"), Password: found.required("DB_PASSWORD")}
	c.Network, c.Address = found.host(isSocket)
	c.Charset = found.charset()
	if c.Multisite = found.multisite(); !c.Multisite {
		c.Home, c.SiteURL = found.optional("WP_HOME"), found.optional("WP_SITEURL")
	}
	c.Content = found.optional("WP_CONTENT_DIR")
	c.TLS = found.tls(r.flags)
	c.TablePrefix = found.prefix(r.elsewhere)
	return c, found.err
}

// settings are what WordPress gets. They keep the first error, so that read is a plain list of settings.
type settings struct {
	state   *state
	reached bool // wp-settings.php is included
	err     error
}

func (s *settings) fail(name string, found setting, reason string) {
	if s.err == nil {
		s.err = &Error{File: found.at.file, Line: found.at.line, Name: name, Reason: reason}
	}
}

// check notes why the value of a setting is not a text that can be told.
func (s *settings) check(name string, found setting) setting {
	switch {
	case found.defined == never:
		s.fail(name, found, "is not defined")
	case found.kind == unknown:
		s.fail(name, found, found.why)
	case found.defined == perhaps:
		s.fail(name, found, "is set in some cases only, and which one holds cannot be told")
	case found.kind != text && found.kind != number:
		s.fail(name, found, "is not a text")
	}
	return found
}

func (s *settings) required(name string) string {
	found := s.check(name, s.state.constant(name))
	if found.text == "" && name != "DB_PASSWORD" {
		s.fail(name, found, "is empty")
	}
	return found.known()
}

// optional returns the value of a setting that may be stored elsewhere.
func (s *settings) optional(name string) string {
	unreported := settings{state: s.state}
	found := unreported.check(name, s.state.constant(name))
	if unreported.err != nil {
		return ""
	}
	return found.known()
}

func (s *settings) host(isSocket func(path string) bool) (network, address string) {
	found := s.state.constant("DB_HOST")
	if found.defined != never { // WordPress has a default
		s.check("DB_HOST", found)
	}
	network, address, err := parseDBHost(found.known(), isSocket)
	var none *NoSocketError
	switch {
	case errors.As(err, &none):
		if none.Line = found.at.line; s.err == nil {
			s.err = none
		}
	case err != nil:
		s.fail("DB_HOST", found, dbHostForms)
	}
	return network, address
}

// charset returns the character set of WordPress's connection. Over one that is not UTF-8, WordPress stores the bytes of
// UTF-8 as if they were that character set's, and reads them back likewise; everybody else reads other letters.
func (s *settings) charset() string {
	name := s.optional(Charset)
	if name != "" && !slices.Contains([]string{"utf8", "utf8mb3", "utf8mb4"}, strings.ToLower(name)) {
		s.fail(Charset, s.state.constant(Charset), "is neither utf8 nor utf8mb4: WordPress stores letters like ü over such a connection so that only it can read them. "+
			"Convert the texts in the database, and set it to utf8mb4")
	}
	return name
}

// multisite is WordPress's is_multisite.
func (s *settings) multisite() bool {
	found, explicit := s.state.constants[Multisite]
	switch {
	case !explicit:
		return slices.ContainsFunc([]string{"SUBDOMAIN_INSTALL", "VHOST", "SUNRISE"}, func(name string) bool {
			return s.state.constant(name).defined == always
		})
	case found.kind == unknown:
		s.fail(Multisite, found, found.why)
	case found.defined == perhaps && found.truthy():
		s.fail(Multisite, found, "is set in some cases only, and which one holds cannot be told")
	}
	return found.truthy()
}

// tls returns the TLS mode that the flags of mysqli_real_connect imply (wpdb::db_connect, WordPress 7.0.4). If
// they cannot be told, all that are named count: when in doubt, connections are encrypted.
func (s *settings) tls(named int64) (mode wpdb.TLS) {
	found, explicit := s.state.constants["MYSQL_CLIENT_FLAGS"]
	flags, err := strconv.ParseInt(found.known(), 10, 64)
	if err != nil || found.defined != always {
		flags = named
	}
	switch {
	case !explicit:
	case flags&sslVerifies != 0:
		return wpdb.TLSVerify
	case flags&ssl != 0:
		return wpdb.TLSRequired
	}
	return ""
}

// prefix returns the table prefix. A file for Debian's wp-config.php, which has a default, need not set it. What cannot be
// followed may have called code that sets it elsewhere, such as that of an autoloader, at any time.
func (s *settings) prefix(elsewhere bool) string {
	found := s.state.variable(TablePrefix)
	switch {
	case elsewhere && s.state.hidden != place{}:
		s.fail(TablePrefix, setting{at: s.state.hidden}, hidden)
	case found.kind == null && !s.reached:
		return "wp_"
	case found.kind == null:
		s.fail(TablePrefix, found, "is not set")
	case !wpdb.ValidPrefix(s.check(TablePrefix, found).known()):
		s.fail(TablePrefix, found, "contains other characters than letters, digits and _, or is empty or too long")
	default:
		return found.text
	}
	return ""
}
