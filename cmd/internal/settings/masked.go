package settings

import (
	"fmt"
	"net/url"
	"regexp"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/bookside/bookside/handlers/ratelimit"
)

// Masked returns the configuration as YAML without its secrets.
func (c Config) Masked() (string, error) {
	values := map[string]any{}
	for _, s := range All {
		shown := s.get(&c)
		if text, ok := shown.(string); ok && s.Secret() {
			shown = s.mask(text)
		}
		values[s.Key] = shown
	}
	sections := koanf.New(".")
	if err := sections.Load(confmap.Provider(values, "."), nil); err != nil {
		return "", fmt.Errorf("print configuration: %w", err)
	}
	text, err := sections.Marshal(yaml.Parser())
	if err != nil {
		return "", fmt.Errorf("print configuration: %w", err)
	}
	return string(text), nil
}

func maskAll(text string) string {
	if text == "" {
		return ""
	}
	return "***"
}

// dsnPattern matches user:password@network(address)/database?parameters. As in
// the driver, the password may contain any character and ends at the last @.
var dsnPattern = regexp.MustCompile(`(?s)^(?:([^:]*)(:.*)?@)?((?:tcp[46]?|unix)?(?:\(([^()]*)\))?/([^/@?]+)(?:\?.*)?)$`)

// Source is the public part of a data source name.
type Source struct {
	Address  string // empty for the driver's default
	Database string
	masked   string
}

// ParseDSN parses a data source name; ok is false if it has another form.
func ParseDSN(text string) (parts Source, ok bool) {
	m := dsnPattern.FindStringSubmatch(text)
	if m == nil {
		return Source{}, false
	}
	user, password, rest := m[1], m[2], m[3]
	switch {
	case password != "":
		user += ":***@"
	case user != "":
		user += "@"
	}
	return Source{Address: m[4], Database: m[5], masked: user + rest}, true
}

// maskDSN hides the password, or everything if the password cannot be located.
func maskDSN(text string) string {
	if text == "" {
		return ""
	}
	parts, ok := ParseDSN(text)
	if !ok {
		return "***"
	}
	return parts.masked
}

// maskRedis hides the password of a URL, or everything if the password cannot be
// located.
func maskRedis(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if _, invalid := ratelimit.NewRedis(text); err != nil || invalid != nil {
		return "***"
	}
	user := ""
	if u.User != nil {
		user = u.User.Username() + ":***@"
	}
	return u.Scheme + "://" + user + u.Host + u.Path
}
