package page

import (
	"net/url"
	"strings"
)

// ValidQuery removes bytes that are no text from the values of a query: some databases refuse statements with them.
func ValidQuery(u *url.URL) *url.URL {
	changed, query := false, u.Query()
	for _, values := range query {
		for i, value := range values {
			values[i] = strings.ToValidUTF8(value, "")
			changed = changed || values[i] != value
		}
	}
	if !changed {
		return u
	}
	valid := *u
	valid.RawQuery = query.Encode()
	return &valid
}
