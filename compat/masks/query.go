package masks

import (
	"net/url"
	"regexp"
	"strings"
)

// maxParameters and maxRaw bound what is read of a query.
const (
	maxParameters = 100
	maxRaw        = 4 << 10
)

// plainValue matches ids, numbers, dates, times and words: the values of parameters that are no free texts.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_,:.+ -]{0,60}$`)

// Query returns a query for people, with the values of parameters masked unless plain allows their names
// and they look like an id, a date or a word.
func Query(raw string, plain func(name string) bool) string {
	return maskedQuery(raw, func(name, value string) bool { return plain(name) && plainValue.MatchString(value) })
}

// maskedQuery masks the values that are not plain.
func maskedQuery(raw string, plain func(name, value string) bool) string {
	raw = raw[:min(len(raw), maxRaw)]
	var shown strings.Builder
	for i, pair := range strings.SplitN(raw, "&", maxParameters+1) {
		if i > 0 {
			shown.WriteByte('&')
		}
		if i == maxParameters {
			shown.WriteString("…")
			break
		}
		escapedName, escapedValue, hasValue := strings.Cut(pair, "=")
		name, value := unescape(escapedName), unescape(escapedValue)
		shown.WriteString(Name(name))
		if !hasValue {
			continue
		}
		shown.WriteByte('=')
		if !plain(name, value) {
			value = Text(value)
		}
		shown.WriteString(value)
	}
	return shown.String()
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// fieldName matches the names of fields and parameters, such as customer[email] or sort_by.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.\[\]-]{0,63}$`)

// Name returns the name of a field or a parameter that a client chose, masked unless it looks like one.
func Name(name string) string {
	if name == "" || fieldName.MatchString(name) {
		return name
	}
	return Text(name)
}

// quoted matches what messages repeat of a request: quoted words, and anything with an @.
var quoted = regexp.MustCompile(`"[^"]*"|\S*@\S*`)

// Message returns the message of an error without what it repeats of the request.
func Message(message string) string { return quoted.ReplaceAllString(message, Text("x")) }
