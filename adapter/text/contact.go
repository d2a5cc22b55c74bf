package text

import (
	"strings"
)

// Phone keeps the digits of a phone number, up to an extension, and a
// leading plus (OsUtilHelper::sanitize_phone_number, LatePoint 5.6.5).
func Phone(text string) string {
	text = Field(text)
	if i := strings.IndexAny(text, "xX"); i >= 0 {
		text = text[:i]
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	if digits == "" || digits == "0" { // which PHP treats as empty
		return ""
	}
	if strings.HasPrefix(text, "+") {
		return "+" + digits
	}
	return digits
}

// maxEmail is the longest address that mail servers accept (RFC 5321).
// WordPress has no such limit.
const maxEmail = 254

// TrimEmail removes the blanks around an address and nothing else: with any other character removed it
// might be somebody else's address.
func TrimEmail(text string) string { return strings.TrimSpace(text) }

// ValidEmail reports whether a text is an address that WordPress accepts and mail can be sent to. An
// address with a percent-encoded character is invalid, because sanitizing it like other texts would turn it
// into a different address.
func ValidEmail(text string) bool {
	return len(text) <= maxEmail && IsEmail(text) && Field(text) == text
}
