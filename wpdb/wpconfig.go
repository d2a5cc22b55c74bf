package wpdb

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// WPConfig holds what wp-config.php says about the database.
type WPConfig struct {
	Name, User, Password string
	Network              string // "tcp" or "unix"
	Address              string // host:port, or the path of a socket
	Charset              string // empty when the file does not say
	TablePrefix          string // with Multisite, of the network's first site
	Multisite            bool
}

// WPConfigError is a setting that wp-config.php does not give plainly. It
// never carries the setting's value.
type WPConfigError struct {
	Line   int    // where the setting stands; 0 when it is missing
	Name   string // the constant, or $table_prefix; empty when the PHP itself cannot be read
	Reason string // what was found, and which setting of ours to use instead
}

func (e *WPConfigError) Error() string {
	text := strings.TrimSpace(e.Name + " " + e.Reason)
	if e.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", e.Line, text)
}

// maxWPConfig is many times what the constants of every plugin take.
const maxWPConfig = 1 << 20

// ReadWPConfig is ParseWPConfig for a file of at most 1 MiB.
func ReadWPConfig(path string) (WPConfig, error) {
	file, err := os.Open(path)
	if err != nil {
		return WPConfig{}, fmt.Errorf("open the site's configuration: %w", err)
	}
	src, err := io.ReadAll(io.LimitReader(file, maxWPConfig+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return WPConfig{}, fmt.Errorf("read the site's configuration: %w", err)
	}
	if len(src) > maxWPConfig {
		return WPConfig{}, fmt.Errorf("read the site's configuration %s: larger than %d bytes", path, maxWPConfig)
	}
	c, err := ParseWPConfig(src)
	if err != nil {
		return c, fmt.Errorf("read the site's configuration %s: %w", path, err)
	}
	return c, nil
}

// ParseWPConfig takes the database settings out of the PHP of a wp-config.php
// without running it: only values written as one literal count, and files that
// it includes are not read. As in PHP the first definition of a constant holds,
// and the last assignment of $table_prefix. A definition under a condition is
// taken when no other contradicts it.
//
// Whatever is computed, contradictory or missing is a *WPConfigError. The table
// prefix is looked at last: an error that names $table_prefix comes with all
// the rest.
func ParseWPConfig(src []byte) (WPConfig, error) { return parseWPConfig(src, isSocket) }

func parseWPConfig(src []byte, isSocket func(path string) bool) (WPConfig, error) {
	found, err := findWPSettings(string(src))
	if err != nil {
		return WPConfig{}, err
	}
	r := wpConfigReader{found: found}
	c := WPConfig{Name: r.required("DB_NAME"), User: r.required("DB_USER"), Password: r.required("DB_PASSWORD")}
	c.Network, c.Address = r.host(isSocket)
	c.Charset = r.setting("DB_CHARSET").value
	multisite := r.setting("MULTISITE").value
	c.Multisite = multisite == "1" || strings.EqualFold(multisite, "true")
	c.TablePrefix = r.prefix()
	return c, r.err
}

// wpConfigReader decides between definitions and keeps the first error, so that
// its caller reads as the list of settings that it is.
type wpConfigReader struct {
	found []wpSetting
	err   error
}

const (
	tablePrefixVariable = "$table_prefix"

	dsnInstead    = "set db.dsn (BOOKSIDE_DB__DSN) instead"
	prefixInstead = "set db.prefix (BOOKSIDE_DB__PREFIX) instead"
	bothInstead   = "set db.dsn (BOOKSIDE_DB__DSN) and db.prefix (BOOKSIDE_DB__PREFIX) instead"
)

func (r *wpConfigReader) fail(line int, name, reason string) {
	instead := dsnInstead
	switch name {
	case tablePrefixVariable:
		instead = prefixInstead
	case "MULTISITE":
		instead = bothInstead
	}
	if r.err == nil {
		r.err = &WPConfigError{Line: line, Name: name, Reason: reason + "; " + instead}
	}
}

// setting is the definition that holds when PHP runs the file; its line is 0
// when there is none. All that may come before the first certain one must agree.
func (r *wpConfigReader) setting(name string) wpSetting {
	candidates := slices.DeleteFunc(slices.Clone(r.found), func(s wpSetting) bool { return s.name != name })
	if name == tablePrefixVariable {
		slices.Reverse(candidates)
	}
	var held wpSetting
	for _, s := range candidates {
		switch {
		case !s.literal:
			r.fail(s.line, name, "is computed, not written as one plain value")
			return wpSetting{line: s.line}
		case held.line == 0:
			held = s
		case s.value != held.value:
			r.fail(s.line, name, fmt.Sprintf("has different values on lines %d and %d",
				min(s.line, held.line), max(s.line, held.line)))
			return wpSetting{line: s.line}
		}
		if s.certain {
			break
		}
	}
	return held
}

func (r *wpConfigReader) required(name string) string {
	s := r.setting(name)
	switch {
	case s.line == 0:
		r.fail(0, name, "is not defined in the file itself")
	case s.value == "" && name != "DB_PASSWORD":
		r.fail(s.line, name, "is empty")
	}
	return s.value
}

func (r *wpConfigReader) host(isSocket func(path string) bool) (network, address string) {
	s := r.setting("DB_HOST")
	network, address, err := parseDBHost(s.value, isSocket)
	if err != nil {
		r.fail(s.line, "DB_HOST", dbHostForms)
	}
	return network, address
}

func (r *wpConfigReader) prefix() string {
	s := r.setting(tablePrefixVariable)
	if s.line == 0 {
		return "wp_"
	}
	if !prefixPattern.MatchString(s.value) {
		r.fail(s.line, tablePrefixVariable, "is not made of letters, digits and _")
		return ""
	}
	return s.value
}

// ParseDBHost reads a DB_HOST as WordPress and mysqli do: host, host:port, an
// IPv6 address with or without brackets, host:/socket, :/socket, each with or
// without mysqli's p: in front. Network and address are as the driver wants
// them. As in PHP a socket serves only localhost, which is also what an empty
// host means; localhost without a port is the first usual socket that exists,
// else 127.0.0.1:3306. The error does not carry s.
func ParseDBHost(s string) (network, address string, err error) { return parseDBHost(s, isSocket) }

// usualSockets are where packages of MySQL and MariaDB put the socket that PHP
// uses for localhost.
var usualSockets = []string{
	"/run/mysqld/mysqld.sock",
	"/var/run/mysqld/mysqld.sock",
	"/var/lib/mysql/mysql.sock",
	"/tmp/mysql.sock",
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeSocket != 0
}

func parseDBHost(s string, isSocket func(path string) bool) (network, address string, err error) {
	host, socket := s, ""
	if before, after, ok := strings.Cut(s, ":/"); ok {
		host, socket = before, "/"+after
	}
	if rest, ok := strings.CutPrefix(host, "p:"); ok && !dbPortPattern.MatchString(rest) { // p:3306 is a host p
		host = rest
	}
	host, port, err := splitDBHost(host)
	if err != nil {
		return "", "", err
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		if socket != "" {
			return "unix", socket, nil
		}
		if i := slices.IndexFunc(usualSockets, isSocket); i >= 0 && port == "" {
			return "unix", usualSockets[i], nil
		}
		host = "127.0.0.1"
	}
	return "tcp", net.JoinHostPort(host, cmp.Or(port, "3306")), nil
}

const dbHostForms = "is not written as host, host:port, [address]:port or host:/socket"

var (
	errDBHost     = errors.New("the database host " + dbHostForms)
	dbHostPattern = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	dbPortPattern = regexp.MustCompile(`^[0-9]+$`)
)

// splitDBHost takes host:port apart. Nothing it calls may word the error, for
// that would quote s.
func splitDBHost(s string) (host, port string, err error) {
	host = s
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	switch {
	case isIPv6(bare) && len(s)-len(bare) != 1: // brackets, both or none
		return bare, "", nil
	case strings.Contains(s, ":"):
		if host, port, err = net.SplitHostPort(s); err != nil {
			return "", "", errDBHost
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "", "", errDBHost
	}
	if !dbHostPattern.MatchString(host) && !isIPv6(host) {
		return "", "", errDBHost
	}
	return host, port, nil
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// wpSetting is one definition of a constant, or one assignment of $table_prefix.
type wpSetting struct {
	name    string
	line    int
	value   string
	literal bool // value is what PHP will see
	certain bool // a top-level statement under no condition
}

// findWPSettings collects, in the order of the file, the definitions of all
// constants and the assignments of $table_prefix.
func findWPSettings(src string) ([]wpSetting, error) {
	code, err := phpTokens(src)
	if err != nil {
		return nil, err
	}
	var found []wpSetting
	depth, doubtful := 0, 0
	for i, t := range code {
		switch {
		case t.isOp("{"):
			depth++
		case t.isOp("}"):
			depth--
		case t.isWord("endif", "endwhile", "endfor", "endforeach", "endswitch"):
			// Where such a block began is not tracked: all so far may be in it.
			doubtful = len(found)
		case depth == 0 && code.definesConst(i): // deeper it belongs to a class
			constant := code.setting(i, t.text, i+2, ";", ",")
			constant.certain = true
			found = append(found, constant)
		default:
			if s, ok := code.settingAt(i); ok {
				s.certain = depth == 0 && (i == 0 || code[i-1].isOp(";", "}"))
				found = append(found, s)
			}
		}
	}
	for i := range found[:doubtful] {
		found[i].certain = false
	}
	return found, nil
}

// phpCode is a whole file.
type phpCode []phpToken

// at is the token at i, or none outside of the file.
func (c phpCode) at(i int) phpToken {
	if i < 0 || i >= len(c) {
		return phpToken{}
	}
	return c[i]
}

// definesConst reports whether i is the name in const NAME = …, or in the same
// after a comma. Nowhere else in PHP does = follow a plain word after a comma.
func (c phpCode) definesConst(i int) bool {
	before := c.at(i - 1)
	return c[i].kind == phpWord && c.at(i+1).isOp("=") && (before.isWord("const") || before.isOp(","))
}

// settingAt reads the setting that begins at i: with define, or the variable.
func (c phpCode) settingAt(i int) (s wpSetting, ok bool) {
	t, before, next := c[i], c.at(i-1), c.at(i+1)
	switch variable := t.kind == phpVariable && t.text == tablePrefixVariable; {
	case before.isOp("->", "?->", "::"), before.isWord("function", "new"): // a class's own
	case t.isWord("define", `\define`) && next.isOp("(") && c.at(i+2).kind == phpString && c.at(i+3).isOp(","):
		return c.setting(i, c[i+2].text, i+4, ")", ","), true
	case variable && next.isOp("="):
		return c.setting(i, t.text, i+2, ";"), true
	case variable && next.isOp(".=", "??="):
		return c.setting(i, t.text, i+1), true
	}
	return wpSetting{}, false
}

// setting begins at the token start. Its value is the token at value if one of
// ends follows; else more is computed there.
func (c phpCode) setting(start int, name string, value int, ends ...string) wpSetting {
	t := c.at(value)
	literal := t.kind == phpString
	if name == "MULTISITE" {
		literal = t.isWord("true", "false", "1", "0")
	}
	return wpSetting{name: name, line: c[start].line, value: t.text, literal: literal && c.at(value+1).isOp(ends...)}
}
