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
	phpRunning                     // the same, with more than variables in it
)

type phpToken struct {
	kind phpKind
	text string
	line int
}

func (t phpToken) isOp(texts ...string) bool {
	return t.kind == phpOp && slices.Contains(texts, t.text)
}

// endsOperand reports whether an operator after the token has an operand before it.
func (t phpToken) endsOperand() bool { return t.kind != phpOp && t.kind != 0 || t.isOp(")", "]", "}") }

// isWord ignores case, as PHP does for keywords and function names.
func (t phpToken) isWord(words ...string) bool {
	return t.kind == phpWord && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.text, w) })
}

// phpTokens returns the tokens of a PHP file, without comments, the text outside of its tags, and @, which
// changes no value.
func phpTokens(src string) (phpCode, *Error) {
	l := phpLexer{src: src, line: 1}
	var code phpCode
	for {
		t, err := l.next()
		if err != nil || t.kind == 0 || t.isWord("__halt_compiler") {
			return code, err
		}
		if !t.isOp("@") {
			code = append(code, t)
		}
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
	runs   bool // one of them has more than variables
}

// maxPHPNesting limits how deeply strings and expressions nest.
const maxPHPNesting = 16

// phpName matches a name: to PHP every byte beyond ASCII is a letter.
const phpName = `[A-Za-z_[:^ascii:]][\w[:^ascii:]]*`

var (
	phpOpenTag      = regexp.MustCompile(`(?i)<\?(?:=|php(?:[ \t\r\n]|$))`)
	phpShortTag     = regexp.MustCompile(`<\?(?:[^xX=]|$)`)
	phpBlank        = regexp.MustCompile(`^(?:[ \t\r\n]+|(?s:/\*.*?(?:\*/|$)))`)
	phpLineComment  = regexp.MustCompile(`^((?://|#).*?)(?:[\r\n]|\?>|$)`)
	phpHeredoc      = regexp.MustCompile(`^<<<[ \t]*(?:(` + phpName + `)|"(` + phpName + `)"|'(` + phpName + `)')[\r\n]`)
	phpNameGoesOn   = regexp.MustCompile(`^[\w[:^ascii:]]`)
	phpVariableName = regexp.MustCompile(`^\$` + phpName)
	phpWordOrNumber = regexp.MustCompile(`^(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*|[\w\\[:^ascii:]]+)`)
	phpOperator     = regexp.MustCompile(`^(?:===|!==|<=>|\*\*=|\.\.\.|<<=|>>=|\?\?=|\?->|[=!<>.+*/%&|^-]=|[=-]>|<>|::|&&|\|\||\?\?|\+\+|--|<<|>>|\*\*|\?>|#\[|(?s:.))`)
)

// next returns the next token; its kind is 0 at the end of the file.
func (l *phpLexer) next() (phpToken, *Error) {
	if err := l.skip(); err != nil {
		return phpToken{}, err
	}
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
func (l *phpLexer) skip() *Error {
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		n := len(phpBlank.FindString(rest))
		switch {
		case !l.code:
			n = len(rest)
			tag := phpOpenTag.FindStringIndex(rest)
			if tag != nil {
				n, l.code = tag[1], true
			}
			if short := phpShortTag.FindStringIndex(rest); short != nil && (tag == nil || short[0] < tag[0]) {
				return &Error{Line: 1 + strings.Count(l.src[:l.pos+short[0]], "\n"), Reason: "<? is code or text here, as php.ini says: write <?php"}
			}
		case n > 0:
		case strings.HasPrefix(rest, "#["): // an attribute
			return nil
		default:
			comment := phpLineComment.FindStringSubmatch(rest)
			if comment == nil {
				return nil
			}
			n = len(comment[1])
		}
		l.pos += n
	}
	return nil
}

// The bytes that have a special meaning in a double-quoted string or heredoc,
// and in a single-quoted string.
const (
	specialInDouble = `\{$`
	specialInSingle = `\`
)

var singleQuotedEscapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`)

func (l *phpLexer) quoted() (phpToken, *Error) {
	t := l.take(phpComputed, 1)
	quote, special := t.text, specialInDouble
	if quote == `'` {
		special = specialInSingle
	}
	l.runs = l.runs && l.nested > 0
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
	case l.runs:
		t.kind = phpRunning
	}
	return t, nil
}

// heredoc moves past a heredoc or nowdoc. It counts as computed: its
// indentation rules are not worth implementing for a password.
func (l *phpLexer) heredoc(start []string) (phpToken, *Error) {
	t := l.take(phpComputed, len(start[0])-1) // the newline may also be the one before the closing label
	label, special := cmp.Or(start[1:]...), specialInDouble
	if start[3] != "" {
		special = ""
	}
	l.runs = l.runs && l.nested > 0
	_, _, err := l.body(t.line, special, func(rest string) int {
		if rest[0] != '\n' && rest[0] != '\r' {
			return 0
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(rest[1:], " \t"), label)
		if !ok || phpNameGoesOn.MatchString(after) {
			return 0
		}
		return len(rest) - len(after)
	})
	if l.runs {
		t.kind = phpRunning
	}
	return t, err
}

// body moves past a string, up to and including its end, whose length the
// function end returns. It is plain if it contains no variables.
func (l *phpLexer) body(line int, special string, end func(rest string) int) (body string, plain bool, err *Error) {
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
func (l *phpLexer) expression(line int) *Error {
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
		default:
			l.runs = l.runs || t.kind == phpOp && !t.isOp("[", "]")
		}
	}
	return nil
}

func unclosedString(line int) *Error {
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
