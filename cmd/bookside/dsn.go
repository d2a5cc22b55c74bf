package main

import "regexp"

// dsnPattern matches user:password@network(address)/database?parameters. As in
// the driver, the password may contain any character and ends at the last @.
var dsnPattern = regexp.MustCompile(`(?s)^(?:([^:]*)(:.*)?@)?((?:tcp[46]?|unix)?(?:\(([^()]*)\))?/([^/@?]+)(?:\?.*)?)$`)

// dsn is the public part of a data source name.
type dsn struct {
	address  string // empty for the driver's default
	database string
	masked   string
}

// parseDSN parses a data source name; ok is false if it has another form.
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

// maskDSN hides the password, or everything if the password cannot be located.
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
