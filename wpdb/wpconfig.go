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
	"unicode/utf8"
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
			return wpSetting{}
		case held.line == 0:
			held = s
		case s.value != held.value:
			r.fail(s.line, name, fmt.Sprintf("has different values on lines %d and %d",
				min(s.line, held.line), max(s.line, held.line)))
			return wpSetting{}
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
	host, socket := strings.TrimPrefix(s, "p:"), ""
	if i := strings.Index(host, ":/"); i >= 0 {
		host, socket = host[:i], host[i+1:]
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
)

// splitDBHost takes host:port apart. Nothing it calls may word the error, for
// that would quote s.
func splitDBHost(s string) (host, port string, err error) {
	host = s
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	switch {
	case isIPv6(bare) && len(s)-len(bare) != 1:
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
	return err == nil && addr.Is6()
}

// wpSetting is one definition of a constant, or one assignment of $table_prefix.
type wpSetting struct {
	name    string
	line    int
	value   string
	literal bool // value is what PHP will see
	certain bool // a top-level statement under no condition
}

// wpConfigScan walks over the tokens of a wp-config.php and collects settings.
type wpConfigScan struct {
	tokens []phpToken
	found  []wpSetting
	depth  int // of braces
}

// findWPSettings collects, in the order of the file, the definitions of all
// constants and the assignments of $table_prefix.
func findWPSettings(src string) ([]wpSetting, error) {
	tokens, err := phpTokens(src)
	if err != nil {
		return nil, err
	}
	scan := wpConfigScan{tokens: tokens}
	doubtful := 0
	for i, t := range tokens {
		switch {
		case t.isOp("{"):
			scan.depth++
		case t.isOp("}"):
			scan.depth--
		case t.isWord("endif", "endwhile", "endfor", "endforeach", "endswitch"):
			// Where such a block began is not tracked: all so far may be in it.
			doubtful = len(scan.found)
		case t.isWord("define", `\define`):
			scan.define(i)
		case t.isWord("const") && scan.depth == 0: // deeper it belongs to a class
			scan.constants(i)
		case t.kind == phpVariable && t.text == tablePrefixVariable:
			scan.assignment(i)
		}
	}
	for i := range scan.found[:doubtful] {
		scan.found[i].certain = false
	}
	return scan.found, nil
}

// at is the token at i, or none outside of the file.
func (s *wpConfigScan) at(i int) phpToken {
	if i < 0 || i >= len(s.tokens) {
		return phpToken{}
	}
	return s.tokens[i]
}

func (s *wpConfigScan) define(i int) {
	before, name := s.at(i-1), s.at(i+2)
	if before.isOp("->", "?->", "::") || before.isWord("function", "new") {
		return
	}
	if s.at(i+1).isOp("(") && name.kind == phpString && s.at(i+3).isOp(",") {
		s.add(i, name.text, i+4, ")", ",")
	}
}

func (s *wpConfigScan) constants(i int) {
	for j := i + 1; s.at(j).kind == phpWord && s.at(j+1).isOp("="); j += 4 {
		s.add(i, s.at(j).text, j+2, ";", ",")
	}
}

func (s *wpConfigScan) assignment(i int) {
	switch {
	case s.at(i - 1).isOp("::"): // a class's own
	case s.at(i + 1).isOp("="):
		s.add(i, tablePrefixVariable, i+2, ";")
	case s.at(i+1).isOp(".=", "??="):
		s.add(i, tablePrefixVariable, i+1)
	}
}

// add records the setting whose statement begins at the token start and whose
// value is the token at value: a literal only if one of ends follows.
func (s *wpConfigScan) add(start int, name string, value int, ends ...string) {
	literal := s.at(value).kind == phpString
	if name == "MULTISITE" {
		literal = s.at(value).isWord("true", "false", "1", "0")
	}
	s.found = append(s.found, wpSetting{
		name:    name,
		line:    s.at(start).line,
		value:   s.at(value).text,
		literal: literal && s.at(value+1).isOp(ends...),
		certain: s.depth == 0 && (start == 0 || s.at(start-1).isOp(";", "}")),
	})
}

// phpKind tells tokens apart as far as settings need it.
type phpKind byte

const (
	phpOp       phpKind = iota + 1 // operators and brackets; ?> counts as ;
	phpWord                        // names, keywords, numbers
	phpVariable                    // with its $
	phpString                      // text is what PHP has in memory
	phpComputed                    // a string with variables, a heredoc, a shell command
)

type phpToken struct {
	kind phpKind
	text string
	line int
}

func (t phpToken) isOp(texts ...string) bool {
	return t.kind == phpOp && slices.Contains(texts, t.text)
}

// isWord compares as PHP does keywords and names of functions.
func (t phpToken) isWord(words ...string) bool {
	return t.kind == phpWord && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.text, w) })
}

// phpTokens cuts a PHP file into tokens, without comments and the text outside
// of its tags.
func phpTokens(src string) ([]phpToken, error) {
	l := phpLexer{src: src, line: 1}
	var tokens []phpToken
	for {
		t, err := l.next()
		if err != nil || t.kind == 0 {
			return tokens, err
		}
		tokens = append(tokens, t)
	}
}

// phpLexer knows as much of the language as it takes never to mistake text for
// code.
type phpLexer struct {
	src    string
	pos    int
	line   int  // of the last token
	lineAt int  // its position
	code   bool // between <?php and ?>
	nested int  // expressions inside of strings
}

// maxPHPNesting bounds strings in expressions in strings.
const maxPHPNesting = 16

// phpName is a name as PHP has it: every byte beyond ASCII is a letter.
const phpName = `[A-Za-z_[:^ascii:]][\w[:^ascii:]]*`

var (
	phpOpenTag      = regexp.MustCompile(`(?i)<\?(?:=|php(?:[ \t\r\n]|$))`)
	phpBlank        = regexp.MustCompile(`^(?:[ \t\r\n]+|(?s:/\*.*?(?:\*/|$)))`)
	phpLineComment  = regexp.MustCompile(`^((?://|#).*?)(?:[\r\n]|\?>|$)`)
	phpHeredoc      = regexp.MustCompile(`^<<<[ \t]*(?:(` + phpName + `)|"(` + phpName + `)"|'(` + phpName + `)')[\r\n]`)
	phpVariableName = regexp.MustCompile(`^\$` + phpName)
	phpWordOrNumber = regexp.MustCompile(`^[\w\\[:^ascii:]]+`)
	// Of operators with several characters, those whose parts would mislead.
	phpOperator = regexp.MustCompile(`^(?:===?|=>|\?\?=|\.=|\?->|->|::|\?>|(?s:.))`)
)

// next is the token at the lexer; its kind is 0 at the end of the file.
func (l *phpLexer) next() (phpToken, error) {
	l.skip()
	rest := l.src[l.pos:]
	if rest == "" {
		return phpToken{}, nil
	}
	if strings.IndexByte("'\"`", rest[0]) >= 0 {
		return l.quoted()
	}
	if m := phpHeredoc.FindStringSubmatch(rest); m != nil {
		return l.heredoc(m)
	}
	if n := len(phpVariableName.FindString(rest)); n > 0 {
		return l.take(phpVariable, n), nil
	}
	if n := len(phpWordOrNumber.FindString(rest)); n > 0 {
		return l.take(phpWord, n), nil
	}
	t := l.take(phpOp, len(phpOperator.FindString(rest)))
	if t.text == "?>" {
		t.text, l.code = ";", false
	}
	return t, nil
}

func (l *phpLexer) take(kind phpKind, n int) phpToken {
	l.line += strings.Count(l.src[l.lineAt:l.pos], "\n")
	l.lineAt = l.pos
	l.pos += n
	return phpToken{kind: kind, text: l.src[l.lineAt:l.pos], line: l.line}
}

// skip moves over text outside of the tags, blanks and comments.
func (l *phpLexer) skip() {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		n := len(phpBlank.FindString(rest))
		switch {
		case !l.code:
			n = len(rest)
			if tag := phpOpenTag.FindStringIndex(rest); tag != nil {
				n, l.code = tag[1], true
			}
		case n > 0:
		case strings.HasPrefix(rest, "#["): // an attribute
			return
		default:
			comment := phpLineComment.FindStringSubmatch(rest)
			if comment == nil {
				return
			}
			n = len(comment[1])
		}
		l.pos += n
	}
}

// The bytes that can mean something in a double-quoted string or heredoc, and
// in a single-quoted string.
const (
	specialInDouble = `\{$`
	specialInSingle = `\`
)

var singleQuotedEscapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`)

func (l *phpLexer) quoted() (phpToken, error) {
	t := l.take(phpComputed, 1)
	quote, special := t.text, specialInDouble
	if quote == `'` {
		special = specialInSingle
	}
	body, plain, err := l.body(t.line, special, func(rest string) int {
		return len(rest) - len(strings.TrimPrefix(rest, quote))
	})
	if err != nil {
		return t, err
	}
	switch text, ok := unescapePHP(body); {
	case quote == `'`:
		t.kind, t.text = phpString, singleQuotedEscapes.Replace(body)
	case quote == `"` && plain && ok:
		t.kind, t.text = phpString, text
	}
	return t, nil
}

// heredoc moves over a heredoc or nowdoc. As a value it counts as computed:
// its rules of indentation are not worth having for a password.
func (l *phpLexer) heredoc(start []string) (phpToken, error) {
	t := l.take(phpComputed, len(start[0])-1) // the newline may be the one before the end
	label, special := cmp.Or(start[1:]...), specialInDouble
	if start[3] != "" {
		special = ""
	}
	_, _, err := l.body(t.line, special, func(rest string) int {
		if rest[0] != '\n' && rest[0] != '\r' {
			return 0
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(rest[1:], " \t"), label)
		if !ok || phpWordOrNumber.MatchString(after) && after[0] != '\\' {
			return 0
		}
		return len(rest) - len(after)
	})
	return t, err
}

// body moves over the inside of a string to where end finds the length of its
// end. It is plain if PHP fills nothing in.
func (l *phpLexer) body(line int, special string, end func(rest string) int) (body string, plain bool, err error) {
	start, plain := l.pos, true
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		if n := end(rest); n > 0 {
			l.pos += n
			return l.src[start : l.pos-n], plain, nil
		}
		l.pos++
		switch {
		case strings.IndexByte(special, rest[0]) < 0:
		case rest[0] == '\\':
			if len(rest) > 1 && rest[1] != '\n' && rest[1] != '\r' {
				l.pos++
			}
		case strings.HasPrefix(rest, "{$"), strings.HasPrefix(rest, "${"):
			plain = false
			l.pos += strings.IndexByte(rest, '{')
			if err := l.expression(line); err != nil {
				return "", false, err
			}
		default:
			plain = plain && !phpVariableName.MatchString(rest)
		}
	}
	return "", false, errPHPString(line)
}

// expression moves over code inside of a string, to behind its closing brace.
func (l *phpLexer) expression(line int) error {
	l.nested++
	defer func() { l.nested-- }()
	for open := 1; open > 0; {
		t, err := l.next()
		switch {
		case err != nil:
			return err
		case t.kind == 0 || l.nested > maxPHPNesting:
			return errPHPString(line)
		case t.isOp("{"):
			open++
		case t.isOp("}"):
			open--
		}
	}
	return nil
}

func errPHPString(line int) error {
	return &WPConfigError{Line: line, Reason: "a string that begins here does not end; " + bothInstead}
}

var (
	// doubleQuotedEscape is every escape there is: another backslash is itself.
	doubleQuotedEscape = regexp.MustCompile(`\\(?:[ntrvef\\$"]|([0-7]{1,3})|[xX]([[:xdigit:]]{1,2})|u\{([[:xdigit:]]+)\})`)
	doubleQuotedNamed  = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\v`, "\v", `\e`, "\x1b", `\f`, "\f", `\\`, `\`, `\$`, "$", `\"`, `"`)
)

// unescapePHP is the text of a double-quoted string. It is not ok with a code
// point that Unicode does not have.
func unescapePHP(s string) (text string, ok bool) {
	ok = true
	text = doubleQuotedEscape.ReplaceAllStringFunc(s, func(escape string) string {
		m := doubleQuotedEscape.FindStringSubmatch(escape)
		digits, base := cmp.Or(m[1:]...), 16
		if digits == "" {
			return doubleQuotedNamed.Replace(escape)
		}
		if m[1] != "" {
			base = 8
		}
		n, err := strconv.ParseUint(digits, base, 31)
		if m[3] == "" {
			return string([]byte{byte(n)}) // PHP keeps the low byte of \777
		}
		ok = ok && err == nil && utf8.ValidRune(rune(n))
		return string(rune(n))
	})
	return text, ok
}
