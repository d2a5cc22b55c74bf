package wpconfig

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// phpKind is the kind of a token, as far as reading settings needs it.
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

// isWord ignores case, as PHP does for keywords and function names.
func (t phpToken) isWord(words ...string) bool {
	return t.kind == phpWord && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.text, w) })
}

// phpTokens returns the tokens of a PHP file, without comments and the text
// outside of its tags.
func phpTokens(src string) (phpCode, error) {
	l := phpLexer{src: src, line: 1}
	var code phpCode
	for {
		t, err := l.next()
		if err != nil || t.kind == 0 || t.isWord("__halt_compiler") {
			return code, err
		}
		code = append(code, t)
	}
}

// phpLexer understands enough PHP to tell code from text, comments and strings.
type phpLexer struct {
	src    string
	pos    int
	line   int  // of the last token
	lineAt int  // its position
	code   bool // between <?php and ?>
	nested int  // open expressions inside strings
}

// maxPHPNesting limits how deeply strings and expressions nest.
const maxPHPNesting = 16

// phpName matches a name: to PHP every byte beyond ASCII is a letter.
const phpName = `[A-Za-z_[:^ascii:]][\w[:^ascii:]]*`

var (
	phpOpenTag      = regexp.MustCompile(`(?i)<\?(?:=|php(?:[ \t\r\n]|$))`)
	phpBlank        = regexp.MustCompile(`^(?:[ \t\r\n]+|(?s:/\*.*?(?:\*/|$)))`)
	phpLineComment  = regexp.MustCompile(`^((?://|#).*?)(?:[\r\n]|\?>|$)`)
	phpHeredoc      = regexp.MustCompile(`^<<<[ \t]*(?:(` + phpName + `)|"(` + phpName + `)"|'(` + phpName + `)')[\r\n]`)
	phpVariableName = regexp.MustCompile(`^\$` + phpName)
	phpWordOrNumber = regexp.MustCompile(`^[\w\\[:^ascii:]]+`)
	// Only operators of several characters whose parts would mislead are
	// listed.
	phpOperator = regexp.MustCompile(`^(?:===?|=>|\?\?=|\.=|\?->|->|::|\?>|(?s:.))`)
)

// next returns the next token; its kind is 0 at the end of the file.
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

// skip moves past text outside of the tags, blanks and comments.
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

// The bytes that have a special meaning in a double-quoted string or heredoc,
// and in a single-quoted string.
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

// heredoc moves past a heredoc or nowdoc. It counts as computed: its
// indentation rules are not worth implementing for a password.
func (l *phpLexer) heredoc(start []string) (phpToken, error) {
	t := l.take(phpComputed, len(start[0])-1) // the newline may also be the one before the closing label
	label, special := cmp.Or(start[1:]...), specialInDouble
	if start[3] != "" {
		special = ""
	}
	_, _, err := l.body(t.line, special, func(rest string) int {
		if rest[0] != '\n' && rest[0] != '\r' {
			return 0
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(rest[1:], " \t"), label)
		if !ok || phpWordOrNumber.MatchString(after) {
			return 0
		}
		return len(rest) - len(after)
	})
	return t, err
}

// body moves past a string, up to and including its end, whose length the
// function end returns. It is plain if it contains no variables.
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
	return "", false, unclosedString(line)
}

// expression moves past the code in a string, including its closing brace.
func (l *phpLexer) expression(line int) error {
	if l.nested == maxPHPNesting {
		return &Error{Line: line, Reason: "strings are nested too deeply here"}
	}
	l.nested++
	defer func() { l.nested-- }()
	for open := 1; open > 0; {
		t, err := l.next()
		switch {
		case err != nil:
			return err
		case t.kind == 0:
			return unclosedString(line)
		case t.isOp("{"):
			open++
		case t.isOp("}"):
			open--
		}
	}
	return nil
}

func unclosedString(line int) error {
	return &Error{Line: line, Reason: "a string that begins here does not end"}
}

var (
	// doubleQuotedEscape matches every escape; any other backslash is literal.
	doubleQuotedEscape = regexp.MustCompile(`\\(?:[ntrvef\\$"]|([0-7]{1,3})|[xX]([[:xdigit:]]{1,2})|u\{([[:xdigit:]]+)\})`)
	doubleQuotedNamed  = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\v`, "\v", `\e`, "\x1b", `\f`, "\f", `\\`, `\`, `\$`, "$", `\"`, `"`)
)

// unescapePHP returns the text of a double-quoted string; ok is false if it
// contains an invalid code point.
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
