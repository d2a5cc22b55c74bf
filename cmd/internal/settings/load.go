package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

// Names of environment variables.
const (
	EnvPrefix = "BOOKSIDE_"       // of all settings
	EnvFile   = "BOOKSIDE_CONFIG" // the configuration file
)

// fileSuffix ends the names of variables that name a file containing a secret.
const fileSuffix = "_FILE"

// SystemFile is the configuration file of the packages.
const SystemFile = "/etc/bookside/config.yaml"

// Flags are the flags of all commands that read the configuration.
type Flags struct {
	file     string
	settings []flagSetting // in command-line order; the last one wins
}

type flagSetting struct{ flag, key, value string }

// Define adds the flags to those of a command.
func (f *Flags) Define(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "config", "", "read settings from this YAML `FILE` (BOOKSIDE_CONFIG); default "+SystemFile+" if it exists")
	f.Short(flags, "wp-config", WPConfig, "read the database and the table prefix from the site's wp-config.php at this `PATH`, or in this directory")
	f.Short(flags, "prefix", Prefix, "table `PREFIX` of the site")
	// Invalid settings are reported later: the flag package would quote the value,
	// which may be a secret.
	flags.Func("set", "set any setting (see help config), `KEY=VALUE`; can be repeated", func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			key = ""
		}
		f.settings = append(f.settings, flagSetting{"--set", key, value})
		return nil
	})
}

// Short adds a flag for one setting.
func (f *Flags) Short(flags *pflag.FlagSet, name, key, usage string) {
	flags.Func(name, usage, func(value string) error {
		f.settings = append(f.settings, flagSetting{"--" + name, key, value})
		return nil
	})
}

// Read merges the layers. It rejects unknown keys, values of the wrong type and, together with these,
// values that are not allowed. If only the latter occur, Config.Validate reports them.
func Read(environ []string, flags Flags) (Config, error) {
	l, err := newLayers()
	if err != nil {
		return Config{}, err
	}
	path := flags.file
	if path == "" {
		path = Lookup(environ, EnvFile)
	}
	if err := errors.Join(l.loadFile(path), l.loadEnvironment(environ), l.loadFlags(flags.settings)); err != nil {
		return Config{}, err
	}
	c := l.config()
	c.WordPress.Config = wpconfig.Locate(c.WordPress.Config)
	return c, configFailure(l.withInvalid(c))
}

// withInvalid returns the problems so far, if there are any, and the values that are not allowed. Rejected
// settings have their defaults, which need no comment; and a database that seems to be missing may be
// behind a misspelt name.
func (l *layers) withInvalid(c Config) []string {
	if len(l.problems) == 0 {
		return nil
	}
	all := l.problems
	for _, s := range All {
		if !l.rejected[s.Key] && (s.Key != DSN || c.DB.DSN != "") {
			all = append(all, s.problems(&c)...)
		}
	}
	return all
}

// Validate returns an error that lists all values that are not allowed.
func (c Config) Validate() error {
	var problems []string
	for _, s := range All {
		problems = append(problems, s.problems(&c)...)
	}
	return configFailure(problems)
}

func (s Setting) problems(c *Config) []string {
	problems := s.check(c)
	for i, text := range problems {
		problems[i] = s.Key + ": " + text
	}
	return problems
}

// configFailure returns nil if there are no problems.
func configFailure(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return exit.Errorf(exit.Usage, nil, "invalid configuration:\n  %s", strings.Join(problems, "\n  "))
}

// WithSystemFile returns the environment with the file at path as its configuration, if the file exists and
// the environment names no other.
func WithSystemFile(environ []string, path string) []string {
	if slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, EnvFile+"=") }) {
		return environ
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return environ
	}
	return append(environ, EnvFile+"="+path)
}

// Lookup returns the value of a variable, or "" if it is not set.
func Lookup(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// layers merges the sources of settings and collects their problems.
type layers struct {
	merged   *koanf.Koanf
	defaults map[string]any    // by key, with the setting's type
	names    map[string]string // keys by environment variable
	problems []string
	rejected map[string]bool // keys with a value of the wrong type
}

func newLayers() (*layers, error) {
	l := &layers{merged: koanf.New("."), defaults: map[string]any{}, names: map[string]string{}, rejected: map[string]bool{}}
	for _, s := range All {
		l.defaults[s.Key] = s.Default
		for _, name := range s.Variables() {
			l.names[name] = s.Key
		}
	}
	return l, l.overlay(l.defaults)
}

// Default returns the configuration without any source.
func Default() (c Config) {
	c.Limits = StandardLimits()
	for _, s := range All {
		s.set(&c, s.Default)
	}
	return c
}

// config returns the merged settings.
func (l *layers) config() (c Config) {
	c.Limits = StandardLimits()
	for _, s := range All {
		s.set(&c, l.merged.Get(s.Key))
	}
	if c.DB.Prefix == "" && c.WordPress.Config == "" {
		c.DB.Prefix = DefaultPrefix
	}
	return c
}

// EnvName returns the environment variable of a setting.
func EnvName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

// Named returns a setting and its environment variable, as messages name it.
func Named(key string) string { return key + " (" + EnvName(key) + ")" }

func (l *layers) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// yamlLine matches the line number in a parser error. The rest of the error is not shown, because it quotes
// the file, which may contain a password.
var yamlLine = regexp.MustCompile(`\bline [0-9]+`)

func (l *layers) loadFile(path string) error {
	if path == "" {
		return nil
	}
	content := koanf.New(".")
	err := content.Load(file.Provider(path), &singleDocument{})
	var unreadable *fs.PathError
	switch {
	case errors.Is(err, errSecondDocument):
		l.problem("%s: contains a second YAML document, after a line ---; move all settings into the first", path)
		return nil
	case errors.Is(err, fs.ErrPermission): // only root and the service may read the packages' file
		l.problem("configuration file: %v; run this as somebody who may read it, such as with sudo", err)
		return nil
	case errors.As(err, &unreadable):
		l.problem("configuration file: %v", unreadable)
		return nil
	case err != nil:
		where := strings.TrimSpace(path + " " + yamlLine.FindString(err.Error()))
		l.problem("%s: not YAML of the form section, colon, indented name, colon, value", where)
		return nil
	}
	accepted := map[string]any{}
	values := content.All()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		if isEmpty(value) && (l.known(key) || l.isSection(key)) {
			continue // use the default
		}
		source := path + ": " + showKey(key)
		if secret, ok := l.secretOfFile(key); ok {
			if _, both := values[secret]; both {
				l.problem("%s: %s and %s: set only one of them", path, secret, key)
				continue
			}
			name, _ := value.(string)
			if value, ok = l.readSecret(source, secret, secret, name); !ok {
				continue
			}
			key = secret
		}
		if decoded, ok := l.accept(source, key, value); ok {
			accepted[key] = decoded
		}
	}
	return l.overlay(accepted)
}

// secretOfFile returns the secret in the file that a key such as db.dsn_file names.
func (l *layers) secretOfFile(key string) (secret string, ok bool) {
	secret, ok = strings.CutSuffix(key, strings.ToLower(fileSuffix))
	return secret, ok && l.names[EnvName(secret)+fileSuffix] == secret
}

// readSecret reads the value of a setting from a file that source names; place is where the value itself
// could be written.
func (l *layers) readSecret(source, place, key, path string) (value string, ok bool) {
	content, err := os.ReadFile(path)
	var failed *fs.PathError
	switch {
	case err == nil:
		return strings.TrimRight(string(content), "\r\n"), true
	case errors.As(err, &failed) && !filepath.IsAbs(path): // it may be the secret itself
		l.problem("%s: the file cannot be read: %v; a value itself belongs in %s", source, failed.Err, place)
	default:
		l.problem("%s: %v", source, err)
	}
	l.rejected[key] = true
	return "", false
}

// singleDocument is koanf's YAML parser, except that it rejects a second document, which that parser
// ignores.
type singleDocument struct{ yaml.YAML }

var errSecondDocument = errors.New("second YAML document")

// Unmarshal implements koanf.Parser.
func (*singleDocument) Unmarshal(content []byte) (map[string]any, error) {
	documents := yamlv3.NewDecoder(bytes.NewReader(content))
	var settings map[string]any
	if err := documents.Decode(&settings); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var second any
	switch err := documents.Decode(&second); {
	case errors.Is(err, io.EOF):
		return settings, nil
	case err != nil:
		return nil, err
	default:
		return nil, errSecondDocument
	}
}

// isEmpty reports whether a setting or section has no value.
func isEmpty(value any) bool {
	section, ok := value.(map[string]any)
	return value == nil || ok && len(section) == 0
}

func (l *layers) known(key string) bool {
	_, ok := l.defaults[key]
	return ok
}

func (l *layers) isSection(key string) bool {
	for known := range l.defaults {
		if strings.HasPrefix(known, key+".") {
			return true
		}
	}
	return false
}

func (l *layers) overlay(settings map[string]any) error {
	if err := l.merged.Load(confmap.Provider(settings, "."), nil); err != nil {
		return fmt.Errorf("load configuration: %w", err)
	}
	return nil
}

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,60}$`)

// showKey returns a key for a message, unless it cannot be one: then it may be a secret in the wrong place.
func showKey(key string) string {
	if !keyPattern.MatchString(key) {
		return "(not a valid key)"
	}
	return key
}

// accept checks that the key exists and that the value has its type. source names the setting in messages
// as the user wrote it.
func (l *layers) accept(source, key string, value any) (any, bool) {
	if l.isSection(key) {
		l.problem("%s: is a section; write its settings below it", source)
		return nil, false
	}
	if !l.known(key) {
		closest, _ := domain.Closest(key, slices.Collect(maps.Keys(l.defaults)))
		l.problem("%s: no such setting; did you mean %s?", source, closest)
		return nil, false
	}
	decoded, expected := decodeValue(value, l.defaults[key])
	if expected != "" {
		l.problem("%s: write %s", source, expected)
		l.rejected[key] = true
		return nil, false
	}
	return decoded, true
}

// serviceLink matches variables that container platforms set for a service whose
// name begins with bookside. They are not settings.
var serviceLink = regexp.MustCompile(`^BOOKSIDE_([A-Z0-9_]*_)?(SERVICE_HOST=|SERVICE_PORT(_[A-Z0-9_]+)?=|PORT=(tcp|udp|sctp)://|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=)`)

func foreign(entry string) bool {
	return strings.HasPrefix(entry, EnvFile+"=") ||
		strings.HasPrefix(entry, "BOOKSIDE_TEST_") || // the project's own tests
		serviceLink.MatchString(entry)
}

func (l *layers) loadEnvironment(environ []string) error {
	setBy := map[string]string{}
	provider := env.Provider(".", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: func() []string { return slices.DeleteFunc(slices.Clone(environ), foreign) },
		TransformFunc: func(name, value string) (string, any) {
			key, known := l.names[name]
			if !known {
				closest, _ := domain.Closest(name, slices.Collect(maps.Keys(l.names)))
				l.problem("%s: no such setting; did you mean %s?", name, closest)
				return "", nil
			}
			if other, ok := setBy[key]; ok && other != name {
				l.problem("%s and %s: set only one of them", min(name, other), max(name, other))
				return "", nil
			}
			setBy[key] = name
			return l.variable(name, key, value)
		},
	})
	if err := l.merged.Load(provider, nil); err != nil {
		return fmt.Errorf("load configuration: %w", err)
	}
	return nil
}

// variable returns the key and value of an environment variable; an empty key
// skips it.
func (l *layers) variable(name, key, value string) (string, any) {
	if name == EnvName(key)+fileSuffix {
		content, ok := l.readSecret(name, EnvName(key), key, value)
		if !ok {
			return "", nil
		}
		value = content
	}
	decoded, ok := l.accept(name, key, value)
	if !ok {
		return "", nil
	}
	return key, decoded
}

func (l *layers) loadFlags(settings []flagSetting) error {
	accepted := map[string]any{}
	for _, s := range settings {
		source := s.flag
		if s.key == "" {
			l.problem("--set: write KEY=VALUE, such as db.max_open=20")
			continue
		}
		if source == "--set" {
			source += " " + showKey(s.key)
		}
		if decoded, ok := l.accept(source, s.key, s.value); ok {
			accepted[s.key] = decoded
		}
	}
	return l.overlay(accepted)
}

// decodeValue converts a value to the type of example. A value of any type may be written as text, because
// the environment and flags contain only text. If the value is invalid, expected describes what to write.
func decodeValue(value, example any) (decoded any, expected string) {
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch example.(type) {
	case int:
		if _, ok := value.(int); ok {
			return value, ""
		}
		n, err := strconv.Atoi(text)
		return n, otherwise(err == nil, "a whole number such as 10")
	case bool:
		if _, ok := value.(bool); ok {
			return value, ""
		}
		b, err := strconv.ParseBool(text)
		return b, otherwise(err == nil, "true or false")
	case time.Duration:
		d, err := time.ParseDuration(text)
		return d, otherwise(err == nil, "a duration with its unit, such as 15s or 2m")
	case []string:
		if isText {
			return splitList(text), ""
		}
		list, ok := textList(value)
		return list, otherwise(ok, "a list of texts")
	default:
		return value, otherwise(isText, "a text, in quotes")
	}
}

func otherwise(ok bool, expected string) string {
	if ok {
		return ""
	}
	return expected
}

func splitList(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func textList(value any) ([]string, bool) {
	elements, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, len(elements))
	for i, element := range elements {
		if list[i], ok = element.(string); !ok {
			return nil, false
		}
	}
	return list, true
}
