package sanitize

import (
	"regexp"
	"strings"
)

// TextField makes a text one line without tags and percent-encoded characters
// (sanitize_text_field).
func TextField(text string) string { return withoutOctets(plain(text, false)) }

// TextareaField takes tags and percent-encoded characters from a text of several
// lines (sanitize_textarea_field).
func TextareaField(text string) string { return withoutOctets(plain(text, true)) }

// URL makes the address of a page one line without tags. Its percent-encoded
// characters stay: without them it would lead elsewhere.
func URL(text string) string { return plain(text, false) }

// plain takes tags from a text. It differs from WordPress in one thing: of a text
// that is no UTF-8, of which nothing would remain there, the bytes that are none
// become U+FFFD.
func plain(text string, keepLines bool) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.Contains(text, "<") {
		text = stripAllTags(escapeUnclosed(text))
		// No tag may come of what is joined below.
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
	// What a script or style does is taken away with its tags. PHP matches bytes
	// here: (?i) would take U+017F for an s.
	scripts = regexp.MustCompile(`<[sS][cC][rR][iI][pP][tT][^>]*>(?s:.*?)</[sS][cC][rR][iI][pP][tT]>|<[sS][tT][yY][lL][eE][^>]*>(?s:.*?)</[sS][tT][yY][lL][eE]>`)
)

// phpBlanks are what PHP's trim takes off.
const phpBlanks = " \t\n\r\x00\x0b"

func trim(text string) string { return strings.Trim(text, phpBlanks) }

// stripAllTags takes away tags, and scripts and styles with what is between
// (wp_strip_all_tags).
func stripAllTags(text string) string { return trim(stripTags(scripts.ReplaceAllString(text, ""))) }

// escapeUnclosed escapes what begins like a tag and is none, because another one
// or the end comes before it is closed (wp_pre_kses_less_than).
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
		case end == 0: // a newline at the end is not part of it
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

// withoutOctets takes percent-encoded characters away, those too that come
// together only when others have gone, and of the blanks around them all but one.
func withoutOctets(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		kept = append(kept, text[i])
		if n := len(kept); n > 2 && kept[n-3] == '%' && isHex(kept[n-2]) && isHex(kept[n-1]) {
			kept = kept[:n-3]
		}
	}
	if len(kept) == len(text) {
		return text
	}
	return trim(spaces.ReplaceAllString(string(kept), " "))
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
