package text

import "strings"

// stripTags removes HTML tags, comments and PHP code from a text (strip_tags of PHP 8.2).
// A < before a blank begins no tag; quotes and nested tags are tracked.
func stripTags(text string) string {
	s := stripper{text: text, kept: make([]byte, 0, len(text))}
	for s.at = range len(text) {
		if c := text[s.at]; c != 0 {
			s.within(c)
		}
	}
	return string(s.kept)
}

// stripper is the state of strip_tags within a text.
type stripper struct {
	text   string
	at     int
	kept   []byte
	state  stripState
	depth  int  // nested tags that are open
	quote  byte // the open quote within a tag, or 0
	last   byte // of the bytes that matter within PHP code
	braces int  // open parentheses in PHP code
	xml    bool // within <?xml
}

type stripState byte

const (
	inText stripState = iota
	inTag
	inCode        // <? ... ?>
	inDeclaration // <! ... >
	inComment     // <!-- ... -->
)

// before reports whether the text before the current byte ends with a word, ignoring
// case.
func (s *stripper) before(ending string) bool {
	return s.at >= len(ending) && strings.EqualFold(s.text[s.at-len(ending):s.at], ending)
}

// beforeBlank reports whether the next byte is a blank.
func (s *stripper) beforeBlank() bool {
	return s.at+1 < len(s.text) && strings.IndexByte(" \t\n\v\f\r", s.text[s.at+1]) >= 0
}

// closes reports whether a > ends what began with the outermost <.
func (s *stripper) closes() bool {
	if s.depth > 0 {
		s.depth--
		return false
	}
	return s.quote == 0
}

func (s *stripper) end() { s.state, s.quote, s.xml = inText, 0, false }

func (s *stripper) toggle(quote byte) {
	switch s.quote {
	case 0:
		s.quote = quote
	case quote:
		s.quote = 0
	}
}

func (s *stripper) within(c byte) {
	switch s.state {
	case inText:
		s.inText(c)
	case inTag:
		s.inTag(c)
	case inCode:
		s.inCode(c)
	case inDeclaration:
		s.inDeclaration(c)
	case inComment:
		if c == '>' && s.quote == 0 && s.before("--") {
			s.end()
		}
	}
}

func (s *stripper) inText(c byte) {
	switch {
	case c == '<' && !s.beforeBlank():
		s.last, s.state = c, inTag
	case c == '>' && s.depth > 0:
		s.depth--
	default:
		s.kept = append(s.kept, c)
	}
}

func (s *stripper) inTag(c byte) {
	switch c {
	case '<':
		if s.quote == 0 && !s.beforeBlank() {
			s.depth++
		}
	case '>':
		if s.closes() {
			s.last = c
			if !s.xml || !s.before("-") {
				s.end()
			}
		}
	case '"', '\'':
		s.toggle(c)
	case '!':
		if s.before("<") {
			s.state, s.last = inDeclaration, c
		}
	case '?':
		if s.before("<") {
			s.state, s.braces = inCode, 0
		}
	}
}

func (s *stripper) inCode(c byte) {
	switch c {
	case '(':
		if s.last != '"' && s.last != '\'' {
			s.last = c
			s.braces++
		}
	case ')':
		if s.last != '"' && s.last != '\'' {
			s.last = c
			s.braces--
		}
	case '>':
		if s.closes() && s.braces == 0 && s.last != '"' && s.before("?") {
			s.end()
		}
	case '"', '\'':
		if s.before(`\`) {
			return
		}
		if s.last == c {
			s.last = 0
		} else if s.last != '\\' {
			s.last = c
		}
		s.toggle(c)
	case 'l', 'L':
		if s.at > len("<?xm") && s.before("<?xm") {
			s.state, s.xml = inTag, true
		}
	}
}

func (s *stripper) inDeclaration(c byte) {
	switch c {
	case '>':
		if s.closes() {
			s.end()
		}
	case '"', '\'':
		if !s.before(`\`) {
			s.toggle(c)
		}
	case '-':
		if s.before("!-") {
			s.state = inComment
		}
	case 'e', 'E':
		if s.before("doctyp") {
			s.state = inTag
		}
	}
}
