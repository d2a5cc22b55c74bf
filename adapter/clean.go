package adapter

import (
	"net/mail"
	"regexp"
	"strings"
	"unicode"
)

// tags are what looks like a tag of HTML, an unfinished one at the end too, and
// what browsers do not show.
var tags = regexp.MustCompile(`(?is)<!--.*?(?:-->|$)|<(?:script|style)\b[^<>]*>.*?</(?:script|style)\s*>|</?[a-z!?][^<>]*(?:>|$)`)

// opening is the beginning of a tag.
var opening = regexp.MustCompile(`<+([a-zA-Z/!?])`)

// withoutTags takes tags from a text. What becomes a tag only now, as in
// <<b>script>, loses its bracket. What is no UTF-8 would be refused by the
// database.
func withoutTags(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return opening.ReplaceAllString(tags.ReplaceAllString(text, ""), "$1")
}

// cleanLine makes a text one line without tags and control characters
// (sanitize_text_field). The site's mail templates insert such texts as they
// are.
func cleanLine(text string) string { return oneLine(withoutTags(oneLine(text))) }

// newlines are those of other systems.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// cleanText takes tags and control characters from a text of several lines
// (sanitize_textarea_field).
func cleanText(text string) string { return strings.TrimSpace(withoutTags(withoutControls(text))) }

// withoutControls keeps of the control characters those that lay out a text.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, newlines.Replace(text))
}

// cleanPhone keeps the digits of a phone number, up to an extension, and a
// leading plus (OsUtilHelper::sanitize_phone_number, LatePoint 5.6.5).
func cleanPhone(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, "xX"); i >= 0 {
		text = text[:i]
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	if strings.HasPrefix(text, "+") {
		return "+" + digits
	}
	return digits
}

// validEmail tells whether a text is one plain address such as PHP's
// FILTER_VALIDATE_EMAIL takes: ASCII, with a domain of letters, digits, dots
// and hyphens.
func validEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || address.Name != "" {
		return false
	}
	local, domain, ok := strings.Cut(text, "@")
	return ok && len(local) <= 64 && len(text) <= 254 && emailDomain.MatchString(domain) && isASCII(local)
}

var emailDomain = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
