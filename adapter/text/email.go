package text

import (
	"regexp"
	"strings"
)

var (
	emailLocal = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]+$")
	emailLabel = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$`)
)

// minEmailLength is the length of a@b.co.
const minEmailLength = 6

// IsEmail reports whether WordPress accepts a text as an e-mail address (is_email). Unlike there, no line
// may end before the @.
func IsEmail(text string) bool {
	local, domain, ok := strings.Cut(text, "@")
	if len(text) < minEmailLength || !ok || !emailLocal.MatchString(local) {
		return false
	}
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if !emailLabel.MatchString(label) {
			return false
		}
	}
	return len(labels) > 1
}
