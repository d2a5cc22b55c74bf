package wpconfig

import (
	"regexp"
	"slices"
	"strings"
)

// tokenKind is the kind of a token, as far as reading settings needs it.
type tokenKind byte

const (
	operator tokenKind = iota + 1 // and brackets; ?> counts as ;
	word                          // names, keywords, numbers
	variable                      // with its $
	literal                       // text is what PHP has in memory
	template                      // a string with variables in it
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) isOp(texts ...string) bool {
	return t.kind == operator && slices.Contains(texts, t.text)
}

// endsOperand reports whether an operator after the token has an operand before it.
func (t token) endsOperand() bool {
	return t.kind > operator && !t.isWord("and", "or") || t.isOp(")", "]", "}")
}

// isWord ignores case, as PHP does for keywords and function names.
func (t token) isWord(words ...string) bool {
	return t.kind == word && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(t.text, w) })
}

// phpName matches a name: to PHP every byte beyond ASCII is a letter.
const phpName = `[A-Za-z_[:^ascii:]][\w[:^ascii:]]*`

var (
	openTag = regexp.MustCompile(`(?i)<\?(?:(=|php(?:[ \t\r\n]|$))|[^x]|$)`)
	unread  = regexp.MustCompile("^(?:<<<|#\\[|`)")
	blank   = regexp.MustCompile(`^(?:([ \t\r\n]+|(?s:/\*.*?(?:\*/|$)))|((?://|#).*?)(?:[\r\n]|\?>|$))`)

	// patterns are of tokens; the first that matches decides.
	patterns = []struct {
		kind tokenKind
		*regexp.Regexp
	}{
		{variable, regexp.MustCompile(`^\$` + phpName)},
		{word, regexp.MustCompile(`^(?:\d[\d_]*\.[\d_]*|[\w\\[:^ascii:]]+)`)},
		{literal, regexp.MustCompile(`^(?s:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")`)},
		{operator, regexp.MustCompile(`^(?:===|!==|<=>|\*\*=|\.\.\.|<<=|>>=|\?\?=|\?->|[=!<>.+*/%&|^-]=|[=-]>|<>|::|&&|\|\||\?\?|\+\+|--|<<|>>|\*\*|\?>|[^'"])`)},
	}
)

// tokens returns the tokens of a PHP file, without comments, the text outside of its tags, and @, which changes no value.
func tokens(src string) (code []token, err *Error) {
	inside := false // of the tags
	for pos, line := 0, 1; pos < len(src); {
		rest, n := src[pos:], 0
		t := token{line: line}
		switch {
		case !inside:
			tag := openTag.FindStringSubmatchIndex(rest)
			switch {
			case tag == nil:
				return code, nil
			case tag[2] < 0:
				line += strings.Count(rest[:tag[0]], "\n")
				return nil, &Error{Line: line, Reason: "<? is code or text here, as php.ini says: write <?php"}
			}
			n, inside = tag[1], true
		case unread.MatchString(rest):
			return nil, &Error{Line: line, Reason: "a heredoc, an attribute or a shell command is not read"}
		case blank.MatchString(rest):
			found := blank.FindStringSubmatch(rest)
			n = len(found[1] + found[2])
		default:
			for _, pattern := range patterns {
				if n = len(pattern.FindString(rest)); n > 0 {
					t.kind, t.text = pattern.kind, rest[:n]
					break
				}
			}
			switch {
			case n == 0:
				return nil, &Error{Line: line, Reason: "a string that begins here does not end"}
			case t.kind == literal && !t.unquote():
				return nil, &Error{Line: line, Reason: "a string has code in it that is not read"}
			case t.isOp("?>"):
				t.text, inside = ";", false
			}
			if !t.isOp("@") {
				code = append(code, t)
			}
		}
		line += strings.Count(rest[:n], "\n")
		pos += n
	}
	return code, nil
}

var (
	singleQuotedEscapes = strings.NewReplacer(`\\`, `\`, `\'`, `'`)
	doubleQuotedEscapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\v`, "\v", `\e`, "\x1b", `\f`, "\f", `\\`, `\`, `\$`, "$", `\"`, `"`)

	plainEscape = regexp.MustCompile(`\\[\\$"]`)
	// notPlain matches what is more than text in a double-quoted string: variables, and bytes and letters by number.
	notPlain = regexp.MustCompile(`\$(?:` + phpName + `|\{)|\{\$|\\(?:[0-7xX]|u\{)`)
	// inBraces matches a variable between braces that end where they seem to.
	inBraces = regexp.MustCompile(`\{\$` + phpName + `(?:\[(?:'[^'"\\]*'|\w+)\]|->\w+)*\}`)
)

// unquote gives a string the text that PHP has in memory. It reports false if the string may end elsewhere, because
// of quotes in the code in it.
func (t *token) unquote() bool {
	body := t.text[1 : len(t.text)-1]
	if t.text[0] == '\'' {
		t.text = singleQuotedEscapes.Replace(body)
		return true
	}
	t.text = doubleQuotedEscapes.Replace(body)
	body = plainEscape.ReplaceAllString(body, " ")
	if notPlain.MatchString(body) {
		t.kind = template
	}
	body = inBraces.ReplaceAllString(body, "")
	return !strings.Contains(body, "{$") && !strings.Contains(body, "${")
}
