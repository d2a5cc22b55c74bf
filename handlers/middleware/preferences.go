package middleware

import (
	"net/url"
	"strings"
)

// Handling is how to treat mistakes in a request; "" if the client has no preference.
type Handling string

// The ways to treat mistakes.
const (
	Strict  Handling = "strict"
	Lenient Handling = "lenient"
)

// PreferredHandling returns the first preference of a request about handling.
func PreferredHandling(preferences []string) Handling {
	for preference := range strings.SplitSeq(strings.Join(preferences, ","), ",") {
		preference, _, _ = strings.Cut(preference, ";")
		name, value, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "handling") {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		for _, known := range []Handling{Strict, Lenient} {
			if strings.EqualFold(value, string(known)) {
				return known
			}
		}
		return ""
	}
	return ""
}

// More stands for the names that Legible leaves out.
const More = "..."

const (
	maxIgnored   = 16 // names listed
	ignoredBytes = 64 // bytes of a name shown, then three dots
)

// Legible abridges names for a header: few, short, and escaped unless they are words.
func Legible(names []string) []string {
	var shown []string
	for i, name := range names {
		if i == maxIgnored {
			return append(shown, More)
		}
		escaped := url.QueryEscape(name)
		if len(escaped) > ignoredBytes {
			escaped = escaped[:ignoredBytes]
			if cut := strings.LastIndexByte(escaped, '%'); cut > ignoredBytes-3 {
				escaped = escaped[:cut]
			}
			escaped += "..."
		}
		shown = append(shown, escaped)
	}
	return shown
}
