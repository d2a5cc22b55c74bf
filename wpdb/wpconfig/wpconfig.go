// Package wpconfig reads the database settings and the addresses in a site's wp-config.php. It tokenizes
// the PHP and never runs it.
//
// From this module it imports only wpdb, for the rules of table prefixes.
package wpconfig

import (
	"errors"
	"fmt"
	"io"
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
	Charset              string // empty if the file does not set it
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
)

// Error is a setting whose value cannot be read from the file. It never
// contains the value.
type Error struct {
	Line   int    // of the setting; 0 if it is missing
	Name   string // the constant, or TablePrefix; empty if the PHP itself cannot be read
	Reason string
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Name + " " + e.Reason)
	if e.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", e.Line, text)
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

// maxSize is far more than the constants of many plugins need.
const maxSize = 1 << 20

// Read parses a file of at most 1 MiB; see Parse.
func Read(path string) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("open the site's configuration: %w", err)
	}
	src, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return Config{}, fmt.Errorf("read the site's configuration: %w", err)
	}
	if len(src) > maxSize {
		return Config{}, fmt.Errorf("read the site's configuration %s: larger than %d bytes", path, maxSize)
	}
	c, err := Parse(src)
	if err != nil {
		return c, fmt.Errorf("read the site's configuration %s: %w", path, err)
	}
	return c, nil
}

// Parse extracts the settings from the source of a wp-config.php. Only values written as a single literal
// count, and included files are not read. As in PHP, the first definition of a constant wins, and the last
// assignment of $table_prefix. A conditional definition counts if no other contradicts it.
//
// A computed, contradictory or missing value is an *Error, except for the addresses, which a site need not
// set here. The table prefix is checked last: an error about it comes with all other settings. A
// *NoSocketError comes with all but Network and Address.
func Parse(src []byte) (Config, error) { return parse(src, trustedOwners().haveSocket) }

func parse(src []byte, isSocket func(path string) bool) (Config, error) {
	found, err := findSettings(string(src))
	if err != nil {
		return Config{}, err
	}
	r := reader{found: found}
	c := Config{Name: r.required("DB_NAME"), User: r.required("DB_USER"), Password: r.required("DB_PASSWORD")}
	c.Network, c.Address = r.host(isSocket)
	c.Charset = r.setting("DB_CHARSET").value
	multisite := r.setting(Multisite).value
	c.Multisite = multisite == "1" || strings.EqualFold(multisite, "true")
	if !c.Multisite {
		c.Home, c.SiteURL = r.optional("WP_HOME"), r.optional("WP_SITEURL")
	}
	c.Content = r.optional("WP_CONTENT_DIR")
	c.TLS = r.tls()
	c.TablePrefix = r.prefix()
	return c, r.err
}

// reader picks the effective definition of each setting and keeps the first
// error, so that parse reads as a plain list of settings.
type reader struct {
	found []setting
	err   error
}

func (r *reader) fail(line int, name, reason string) {
	if r.err == nil {
		r.err = &Error{Line: line, Name: name, Reason: reason}
	}
}

// setting returns the definition that is in effect when PHP runs the file; its
// line is 0 if there is none. Every definition up to the first unconditional one
// must have the same value.
func (r *reader) setting(name string) setting {
	candidates := slices.DeleteFunc(slices.Clone(r.found), func(s setting) bool { return s.name != name })
	if name == TablePrefix {
		slices.Reverse(candidates)
	}
	var effective setting
	for _, s := range candidates {
		switch {
		case !s.literal:
			r.fail(s.line, name, "is computed, not a single literal")
			return setting{line: s.line}
		case effective.line == 0:
			effective = s
		case s.value != effective.value:
			r.fail(s.line, name, fmt.Sprintf("has different values on lines %d and %d",
				min(s.line, effective.line), max(s.line, effective.line)))
			return setting{line: s.line}
		}
		if s.unconditional {
			break
		}
	}
	return effective
}

func (r *reader) required(name string) string {
	s := r.setting(name)
	switch {
	case s.line == 0:
		r.fail(0, name, "is not defined in the file itself")
	case s.value == "" && name != "DB_PASSWORD":
		r.fail(s.line, name, "is empty")
	}
	return s.value
}

// optional returns the value of a setting that may be stored elsewhere.
func (r *reader) optional(name string) string {
	unreported := reader{found: r.found}
	return unreported.setting(name).value
}

func (r *reader) host(isSocket func(path string) bool) (network, address string) {
	s := r.setting("DB_HOST")
	network, address, err := parseDBHost(s.value, isSocket)
	var none *NoSocketError
	switch {
	case errors.As(err, &none):
		if none.Line = s.line; r.err == nil {
			r.err = none
		}
	case err != nil:
		r.fail(s.line, "DB_HOST", dbHostForms)
	}
	return network, address
}

// tls returns the TLS mode that the flags of mysqli_real_connect imply (wpdb::db_connect, WordPress 7.0.4).
// Every definition counts, and every flag in it: when in doubt, connections are encrypted.
func (r *reader) tls() (mode wpdb.TLS) {
	for _, s := range r.found {
		switch {
		case s.name != clientFlags:
		case s.flags&sslVerifies != 0:
			return wpdb.TLSVerify
		case s.flags&ssl != 0:
			mode = wpdb.TLSRequired
		}
	}
	return mode
}

func (r *reader) prefix() string {
	s := r.setting(TablePrefix)
	if s.line == 0 {
		return "wp_"
	}
	if !wpdb.ValidPrefix(s.value) {
		r.fail(s.line, TablePrefix, "contains other characters than letters, digits and _, or is empty or too long")
		return ""
	}
	return s.value
}

// clientFlags is the constant whose value consists of flags.
const clientFlags = "MYSQL_CLIENT_FLAGS"

// The flags about TLS. Like here, PHP verifies nothing unless told to.
const (
	ssl         = 1 << 11
	sslVerifies = 1 << 30
)

var flagNames = map[string]int64{"MYSQLI_CLIENT_SSL": ssl, "MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT": sslVerifies}

// setting is one definition of a constant, or one assignment of $table_prefix.
type setting struct {
	name    string
	line    int
	value   string
	literal bool  // value is what PHP sees
	flags   int64 // those that the value of MYSQL_CLIENT_FLAGS names
	// unconditional is set for a top-level statement outside of any condition.
	unconditional bool
}

// findSettings returns the definitions of all constants and the assignments of
// $table_prefix, in the order of the file.
func findSettings(src string) ([]setting, error) {
	code, err := phpTokens(src)
	if err != nil {
		return nil, err
	}
	var found []setting
	depth, inBlock := 0, 0
	for i, t := range code {
		switch {
		case t.isOp("{"):
			depth++
		case t.isOp("}"):
			depth--
		case t.isWord("endif", "endwhile", "endfor", "endforeach", "endswitch"):
			// The start of such a block is not tracked: all settings so far may be inside.
			inBlock = len(found)
		case depth == 0 && code.definesConst(i): // deeper, it belongs to a class
			constant := code.setting(i, t.text, i+2, ";", ",")
			constant.unconditional = true
			found = append(found, constant)
		default:
			if s, ok := code.settingAt(i); ok {
				s.unconditional = depth == 0 && (i == 0 || code[i-1].isOp(";", "}"))
				found = append(found, s)
			}
		}
	}
	for i := range found[:inBlock] {
		found[i].unconditional = false
	}
	return found, nil
}

// phpCode is the tokens of a whole file.
type phpCode []phpToken

// at returns the token at i, or the zero token outside of the file.
func (c phpCode) at(i int) phpToken {
	if i < 0 || i >= len(c) {
		return phpToken{}
	}
	return c[i]
}

// definesConst reports whether i is the name in const NAME = …, or a later name
// of the same statement. Nowhere else in PHP does = follow a word after a comma.
func (c phpCode) definesConst(i int) bool {
	before := c.at(i - 1)
	return c[i].kind == phpWord && c.at(i+1).isOp("=") && (before.isWord("const") || before.isOp(","))
}

// settingAt returns the setting that begins at i with define or the variable.
func (c phpCode) settingAt(i int) (s setting, ok bool) {
	t, before, next := c[i], c.at(i-1), c.at(i+1)
	switch variable := t.kind == phpVariable && t.text == TablePrefix; {
	case before.isOp("->", "?->", "::"), before.isWord("function", "new"): // a member of a class
	case t.isWord("define", `\define`) && next.isOp("(") && c.at(i+2).kind == phpString && c.at(i+3).isOp(","):
		return c.setting(i, c[i+2].text, i+4, ")", ","), true
	case variable && next.isOp("="):
		return c.setting(i, t.text, i+2, ";"), true
	case variable && next.isOp(".=", "??="):
		return c.setting(i, t.text, i+1), true
	}
	return setting{}, false
}

// setting returns the setting that begins at start. Its value is literal if it
// consists of the token at value alone, followed by one of ends.
func (c phpCode) setting(start int, name string, value int, ends ...string) setting {
	t := c.at(value)
	literal := t.kind == phpString
	if name == Multisite {
		literal = t.isWord("true", "false", "1", "0")
	}
	s := setting{name: name, line: c[start].line, value: t.text, literal: literal && c.at(value+1).isOp(ends...)}
	if name == clientFlags {
		s.flags = c.flags(value)
	}
	return s
}

// flags returns the flags named in the rest of a statement.
func (c phpCode) flags(from int) (flags int64) {
	for i := from; i < len(c) && !c[i].isOp(";"); i++ {
		if c[i].kind != phpWord {
			continue
		}
		flags |= flagNames[strings.TrimPrefix(c[i].text, `\`)]
		if number, err := strconv.ParseInt(c[i].text, 0, 64); err == nil {
			flags |= number
		}
	}
	return flags
}
