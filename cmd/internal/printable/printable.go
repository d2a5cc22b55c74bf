// Package printable makes text harmless for the terminal that shows it: names in a site's database are
// anybody's text, and could move the cursor, set the title or reverse a line. It imports no other package of
// the project.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text whose control characters, apart from line ends and tabs, and invisible format characters,
// which override the direction of text, are escaped as in JSON. So a JSON text stays the same value.
func Text(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether a rune does something to its surroundings instead of being seen. The joiners only shape letters
// and emoji.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != '\n' && r != '\t' && r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Writer passes texts on as [Text] returns them. Each call of Write has whole characters.
type Writer struct{ To io.Writer }

func (w Writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.To, Text(string(text))); err != nil {
		return 0, err //nolint:wrapcheck // it is that of the writer below
	}
	return len(text), nil
}
