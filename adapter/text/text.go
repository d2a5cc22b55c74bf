package text

import (
	"regexp"
	"strings"
)

// Field reduces a text to one line without tags and percent-encoded characters
// (sanitize_text_field).
func Field(text string) string { return withoutOctets(plain(text, false)) }

// TextareaField removes tags and percent-encoded characters from a text of several lines
// (sanitize_textarea_field).
func TextareaField(text string) string { return withoutOctets(plain(text, true)) }

// URL reduces a URL to one line without tags. Its percent-encoded characters stay:
// without them it would lead elsewhere.
func URL(text string) string { return plain(text, false) }

// plain removes tags from a text. Unlike WordPress, which leaves nothing of a text that is not valid UTF-8,
// it replaces invalid bytes with U+FFFD.
func plain(text string, keepLines bool) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.Contains(text, "<") {
		text = stripAllTags(escapeUnclosed(text))
		// Joining lines below must not form a tag.
		text = strings.ReplaceAll(text, "<\n", "&lt;\n")
	}
	if !keepLines {
		text = blanks.ReplaceAllString(text, " ")
	}
	return trim(text)
}

var (
	blanks = regexp.MustCompile(`[\r\n\t ]+`)
	spaces = regexp.MustCompile(` +`)
	// The content of scripts and styles is removed with their tags. PHP matches bytes here, whereas (?i)
	// would match U+017F as an s.
	scripts = regexp.MustCompile(`<[sS][cC][rR][iI][pP][tT][^>]*>(?s:.*?)</[sS][cC][rR][iI][pP][tT]>|<[sS][tT][yY][lL][eE][^>]*>(?s:.*?)</[sS][tT][yY][lL][eE]>`)
)

// phpBlanks are the characters that PHP's trim removes.
const phpBlanks = " \t\n\r\x00\x0b"

func trim(text string) string { return strings.Trim(text, phpBlanks) }

// stripAllTags removes tags, and scripts and styles with their content
// (wp_strip_all_tags).
func stripAllTags(text string) string { return trim(stripTags(scripts.ReplaceAllString(text, ""))) }

// escapeUnclosed escapes a < that begins no tag because another < or the end comes before
// its > (wp_pre_kses_less_than).
func escapeUnclosed(text string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '<')
		if start < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:start])
		text = text[start:]
		end := 1 + strings.IndexAny(text[1:], "<>")
		switch {
		case end == 0: // a trailing newline is not part of it
			end = len(strings.TrimSuffix(text, "\n"))
			b.WriteString(escape(text[:end], quoted))
		case text[end] == '<':
			b.WriteString(escape(text[:end], quoted))
		default:
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
}

// withoutOctets removes percent-encoded characters, including those that only form when
// others are removed, and all but one of the blanks around them.
func withoutOctets(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	rest := make([]byte, 0, len(text))
	for i := range len(text) {
		rest = append(rest, text[i])
		if n := len(rest); n > 2 && rest[n-3] == '%' && isHex(rest[n-2]) && isHex(rest[n-1]) {
			rest = rest[:n-3]
		}
	}
	if len(rest) == len(text) {
		return text
	}
	return trim(spaces.ReplaceAllString(string(rest), " "))
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
