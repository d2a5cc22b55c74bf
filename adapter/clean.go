package adapter

import (
	"strings"

	"bookside/adapter/sanitize"
)

// cleanLine makes a text one line without tags. The site's mail templates insert
// such texts as they are.
func cleanLine(text string) string { return sanitize.TextField(text) }

// cleanText takes tags from a text of several lines.
func cleanText(text string) string { return sanitize.TextareaField(text) }

// cleanPhone keeps the digits of a phone number, up to an extension, and a
// leading plus (OsUtilHelper::sanitize_phone_number, LatePoint 5.6.5).
func cleanPhone(text string) string {
	text = cleanLine(text)
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

// cleanEmail takes the blanks around an address away and nothing else: with a
// character less it may be somebody else's.
func cleanEmail(text string) string { return strings.TrimSpace(text) }

// validEmail tells whether a text is an address that WordPress takes. One with a
// percent-encoded character is refused: cleaned like other texts it would become
// another address.
// One to which no mail can be sent because it is too long is refused, too.
func validEmail(text string) bool {
	return len(text) <= maxAddress && sanitize.IsEmail(text) && cleanLine(text) == text
}
