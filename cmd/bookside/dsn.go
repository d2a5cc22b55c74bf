package main

import "regexp"

// dsnPattern is user:password@network(address)/database?parameters. As in the
// driver the password may hold any character, and the last @ ends it.
var dsnPattern = regexp.MustCompile(`(?s)^(?:([^:]*)(:.*)?@)?((?:tcp[46]?|unix)?(?:\(([^()]*)\))?/([^/@?]+)(?:\?.*)?)$`)

// dsn is what may be shown of a data source name.
type dsn struct {
	address  string // empty for the driver's default
	database string
	masked   string
}

// parseDSN reads a data source name; ok is false where it has another form.
func parseDSN(text string) (parts dsn, ok bool) {
	m := dsnPattern.FindStringSubmatch(text)
	if m == nil {
		return dsn{}, false
	}
	user, password, rest := m[1], m[2], m[3]
	switch {
	case password != "":
		user += ":***@"
	case user != "":
		user += "@"
	}
	return dsn{address: m[4], database: m[5], masked: user + rest}, true
}

// maskDSN hides the password, and everything where it is not clear which part
// the password is.
func maskDSN(text string) string {
	if text == "" {
		return ""
	}
	parts, ok := parseDSN(text)
	if !ok {
		return "***"
	}
	return parts.masked
}
