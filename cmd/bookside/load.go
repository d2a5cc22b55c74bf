package main

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
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	yamlv3 "go.yaml.in/yaml/v3"

	"bookside/adapter/domain"
	"bookside/wpdb/wpconfig"
)

const (
	envPrefix  = "BOOKSIDE_"
	envFile    = "BOOKSIDE_CONFIG"
	fileSuffix = "_FILE"

	// systemConfig is the configuration file of the packages.
	systemConfig = "/etc/bookside/config.yaml"
)

// secretKeys are the settings that can also be read from a file.
var secretKeys = []string{keyDSN, keyMailPassword, keyRedis, keySecretKey}

// configFlags are the flags of all commands that read the configuration.
type configFlags struct {
	file     string
	settings []flagSetting // in command-line order; the last one wins
}

type flagSetting struct{ flag, key, value string }

func (f *configFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "config", "", "read settings from this YAML `FILE` (BOOKSIDE_CONFIG); default "+systemConfig+" if it exists")
	f.short(flags, "wp-config", keyWPConfig, "read the database and the table prefix from the site's wp-config.php at this `PATH`, or in this directory")
	f.short(flags, "prefix", keyPrefix, "table `PREFIX` of the site")
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

// short defines a flag for one setting.
func (f *configFlags) short(flags *pflag.FlagSet, name, key, usage string) {
	flags.Func(name, usage, func(value string) error {
		f.settings = append(f.settings, flagSetting{"--" + name, key, value})
		return nil
	})
}

// configFlags gives a command the flags that name settings, and returns all of its flags.
func (p *program) configFlags(command *cobra.Command) *pflag.FlagSet {
	p.given.define(command.Flags())
	return command.Flags()
}

// config reads the configuration, with the flags of the command.
func (p *program) config() (config, error) { return readConfig(p.env, p.given) }

// readConfig merges the layers and rejects unknown keys and values of the wrong
// type, along with all values that are not allowed. If there are none of the former,
// config.validate finds the latter.
func readConfig(environ []string, flags configFlags) (config, error) {
	l, err := newLayers()
	if err != nil {
		return config{}, err
	}
	path := flags.file
	if path == "" {
		path = lookup(environ, envFile)
	}
	if err := errors.Join(l.loadFile(path), l.loadEnvironment(environ), l.loadFlags(flags.settings)); err != nil {
		return config{}, err
	}
	c, err := l.decode()
	if err != nil {
		return config{}, err
	}
	c.WordPress.Config = wpconfig.Locate(c.WordPress.Config)
	return c, configFailure(l.withInvalid(c))
}

// withInvalid returns the problems so far, if there are any, and the values that are not
// allowed. Settings that were rejected have their defaults, about which there is nothing to
// say; and a database that seems to be missing may be behind a misspelt name.
func (l *layers) withInvalid(c config) []string {
	if len(l.problems) == 0 {
		return nil
	}
	all := l.problems
	for _, p := range c.problems() {
		if !l.rejected[p.key] && (p.key != keyDSN || c.DB.DSN != "") {
			all = append(all, p.String())
		}
	}
	return all
}

// configFailure returns nil if there are no problems.
func configFailure(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return failf(exitUsage, nil, "invalid configuration:\n  %s", strings.Join(problems, "\n  "))
}

// withSystemConfig returns the environment with the file at path as configuration, if it exists and
// the environment names no other.
func withSystemConfig(environ []string, path string) []string {
	if slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, envFile+"=") }) {
		return environ
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return environ
	}
	return append(environ, envFile+"="+path)
}

func lookup(environ []string, name string) string {
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
	defaults map[string]any    // by key; a value's type is that of the setting
	names    map[string]string // keys by environment variable
	problems []string
	rejected map[string]bool // keys with a value of the wrong type
}

func newLayers() (*layers, error) {
	l := &layers{merged: koanf.New("."), names: map[string]string{}, rejected: map[string]bool{}}
	if err := l.merged.Load(structs.Provider(defaultConfig(), "koanf"), nil); err != nil {
		return nil, fmt.Errorf("load default configuration: %w", err)
	}
	l.defaults = l.merged.All()
	for key := range l.defaults {
		l.names[envName(key)] = key
	}
	for _, key := range secretKeys {
		l.names[envName(key)+fileSuffix] = key
	}
	return l, nil
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func (l *layers) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// yamlLine matches the line number in an error of the parser. The rest of the
// error is not shown, because it quotes the file, which may contain a password.
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
	case errors.Is(err, fs.ErrPermission): // only root and the service may read that of the packages
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
		if secret, ok := secretOfFile(key); ok {
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

// secretOfFile returns the secret that is in the file which a key such as db.dsn_file names.
func secretOfFile(key string) (secret string, ok bool) {
	secret, ok = strings.CutSuffix(key, strings.ToLower(fileSuffix))
	return secret, ok && slices.Contains(secretKeys, secret)
}

// readSecret reads the value of a setting from a file that source names; place is where the
// value itself could be written.
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

// singleDocument is koanf's YAML parser, but rejects a second document, which that
// one ignores.
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

// showKey returns a key for a message, unless it cannot be a key: then it may be a
// secret in the wrong place.
func showKey(key string) string {
	if !keyPattern.MatchString(key) {
		return "(not a valid key)"
	}
	return key
}

// accept checks that the key exists and that the value has its type. source names
// the setting in messages, as the user wrote it.
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
	return strings.HasPrefix(entry, envFile+"=") ||
		strings.HasPrefix(entry, "BOOKSIDE_TEST_") || // the project's own tests
		serviceLink.MatchString(entry)
}

func (l *layers) loadEnvironment(environ []string) error {
	setBy := map[string]string{}
	provider := env.Provider(".", env.Opt{
		Prefix:      envPrefix,
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
	if name == envName(key)+fileSuffix {
		content, ok := l.readSecret(name, envName(key), key, value)
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

// decode decodes the merged settings; one without a field is an error.
func (l *layers) decode() (config, error) {
	var c config
	err := l.merged.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		ErrorUnused: true,
		DecodeHook:  mapstructure.StringToTimeDurationHookFunc(),
	}})
	if err != nil {
		return config{}, fmt.Errorf("decode configuration: %w", err)
	}
	if c.DB.Prefix == "" && c.WordPress.Config == "" {
		c.DB.Prefix = defaultPrefix
	}
	return c, nil
}
