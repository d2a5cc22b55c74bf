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

// longNumber matches what may be a number of a telephone, an account or an identity card.
var longNumber = regexp.MustCompile(`[0-9]{10}`)

// Query returns a query for people, with the values of parameters masked unless they have the form of their parameter.
func (r *Request) Query(raw string) string {
	return r.query(raw, func(name, value string) bool { return r.Value(name, value) && !longNumber.MatchString(value) })
}

// query masks the values that are not plain.
func (r *Request) query(raw string, plain func(name, value string) bool) string {
	if len(raw) > maxRaw {
		raw, r.unread = raw[:maxRaw], true
	}
	var shown strings.Builder
	for i, pair := range strings.SplitN(raw, "&", maxParameters+1) {
		if i > 0 {
			shown.WriteByte('&')
		}
		if i == maxParameters {
			shown.WriteString("…")
			r.unread = true
			break
		}
		escapedName, escapedValue, hasValue := strings.Cut(pair, "=")
		name, value := unescape(escapedName), unescape(escapedValue)
		shown.WriteString(r.Field(name))
		if !hasValue {
			continue
		}
		shown.WriteByte('=')
		if !plain(name, value) {
			value = r.mask(value)
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
