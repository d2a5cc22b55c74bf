// Package wpconfig reads the database settings and the addresses in a site's wp-config.php. It evaluates a small
// part of PHP: constants, the table prefix, if, include and the tests of what is defined and of which files there are.
// What depends on a request or on the environment has no value; where other code begins, the reading ends, and what is
// not yet set by then is an error. From this module it imports only wpdb, for the rules of table prefixes.
package wpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/wpdb"
)

// Config is what a wp-config.php says about the database and the site's addresses.
type Config struct {
	Name, User, Password string
	Network              string // "tcp" or "unix"
	Address              string // host:port, or the path of a socket
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
	c, err := read(path, trustedOwners().haveSocket)
	if err != nil {
		return c, fmt.Errorf("read the site's configuration %s: %w", path, err)
	}
	return c, nil
}

func read(path string, isSocket func(path string) bool) (Config, error) {
	src, err := readFile(path)
	absolute, relative := filepath.Abs(path)
	resolved, broken := filepath.EvalSymlinks(absolute)
	info, missing := os.Stat(path)
	if err := cmp.Or(err, relative, broken, missing); err != nil {
		return Config{}, err
	}
	r := newReader(filepath.Dir(absolute), info)
	r.run(resolved, "", src)
	if r.failed != nil {
		return Config{}, r.failed
	}
	c := Config{Name: r.required("DB_NAME"), User: r.required("DB_USER"), Password: r.required("DB_PASSWORD")}
	c.Network, c.Address = r.host(isSocket)
	r.checkCharset()
	if c.Multisite = r.multisite(); !c.Multisite {
		c.Home, c.SiteURL = r.optional("WP_HOME"), r.optional("WP_SITEURL")
	}
	c.Content = r.optional("WP_CONTENT_DIR")
	c.TLS = r.tls()
	c.TablePrefix = r.prefix()
	return c, r.err
}

// refuse keeps the first error of a setting, so that read is a plain list of settings.
func (r *reader) refuse(name string, at place, reason string) {
	if r.err == nil {
		r.err = &Error{File: at.file, Line: at.line, Name: name, Reason: reason}
	}
}

// text returns the text of a setting, or notes why it cannot be told.
func (r *reader) text(name string, found setting) string {
	switch v := found.value.(type) {
	case string, int64:
		return asText(v)
	case bool, null:
		r.refuse(name, found.at, "is not a text")
	default:
		r.refuse(name, found.at, cmp.Or(found.why, computed))
	}
	return ""
}

func (r *reader) required(name string) string {
	found := r.constant(name)
	text := r.text(name, found)
	if text == "" && name != "DB_PASSWORD" {
		r.refuse(name, found.at, "is empty")
	}
	return text
}

// optional returns the value of a setting that may be stored elsewhere.
func (r *reader) optional(name string) string {
	text, _ := r.constant(name).value.(string)
	return text
}

func (r *reader) host(isSocket func(path string) bool) (network, address string) {
	found, host := r.constant("DB_HOST"), ""
	if found.why != undefined { // WordPress has a default
		host = r.text("DB_HOST", found)
	}
	network, address, err := parseDBHost(host, isSocket)
	var none *NoSocketError
	switch {
	case errors.As(err, &none):
		if none.Line = found.at.line; r.err == nil {
			r.err = none
		}
	case err != nil:
		r.refuse("DB_HOST", found.at, err.Error())
	}
	return network, address
}

// checkCharset refuses a connection of WordPress that is not UTF-8. Over one, it stores the bytes of UTF-8 as if they were
// that character set's, and reads them back likewise; everybody else reads other letters.
func (r *reader) checkCharset() {
	name := r.optional(Charset)
	if name != "" && !slices.Contains([]string{"utf8", "utf8mb3", "utf8mb4"}, strings.ToLower(name)) {
		r.refuse(Charset, r.constant(Charset).at, "is neither utf8 nor utf8mb4: WordPress stores letters like ü over such a connection so that only it can read them. "+
			"Convert the texts in the database, and set it to utf8mb4")
	}
}

// multisite is WordPress's is_multisite.
func (r *reader) multisite() bool {
	found, explicit := r.constants[Multisite]
	switch {
	case !explicit:
		return slices.ContainsFunc([]string{"SUBDOMAIN_INSTALL", "VHOST", "SUNRISE"}, func(name string) bool {
			return r.constant(name).why == ""
		})
	case found.value == nil:
		r.text(Multisite, found)
	}
	return truthy(found.value)
}

// clientFlags are the constants for MYSQL_CLIENT_FLAGS that are about TLS. Like here, PHP verifies nothing
// unless told to.
var clientFlags = map[string]int64{"MYSQLI_CLIENT_SSL": ssl, "MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT": sslVerifies}

const (
	ssl         = 1 << 11
	sslVerifies = 1 << 30
)

// tls returns the TLS mode that the flags of mysqli_real_connect imply (wpdb::db_connect, WordPress 7.0.4). If
// they cannot be told, all that are named count: when in doubt, connections are encrypted.
func (r *reader) tls() wpdb.TLS {
	found, explicit := r.constants["MYSQL_CLIENT_FLAGS"]
	flags, known := found.value.(int64)
	if !known {
		flags = r.flags
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

// prefix returns the table prefix. A file for Debian's wp-config.php, which has a default, need not set it. Code that
// cannot be followed may set it at any time, or leave behind what does, such as an autoloader.
func (r *reader) prefix() string {
	found := r.variables[TablePrefix]
	switch {
	case r.beyond != place{}:
		r.refuse(TablePrefix, r.beyond, hidden)
		return ""
	case found.value == null{} && !r.settled:
		return "wp_"
	case found.value == null{}:
		r.refuse(TablePrefix, found.at, "is not set")
		return ""
	}
	prefix := r.text(TablePrefix, found)
	if !wpdb.ValidPrefix(prefix) {
		r.refuse(TablePrefix, found.at, "contains other characters than letters, digits and _, or is empty or too long")
	}
	return prefix
}
