// Package settings defines the program's settings: their names, meanings and allowed values, and how they
// are read from a file, the environment and flags ([Config] is the result). It imports what checks their values, and opens
// nothing that they name.
package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// Setting is one setting. CONFIGURATION.md, help config and the packages' configuration file are generated
// from it.
type Setting struct {
	Key   string // a section and a name, such as db.dsn
	About string
	// Note explains the default value, or replaces an empty one.
	Note string
	// Default has the type of the setting: bool, int, string, time.Duration or []string.
	Default any
	// mask hides the secret part of the value; nil if nothing is secret. A secret can also be read from a
	// file.
	mask  func(string) string
	get   func(*Config) any
	set   func(*Config, any)
	check func(*Config) []string
}

// Secret reports whether the value is secret.
func (s Setting) Secret() bool { return s.mask != nil }

// newSetting returns a setting with the rules for its value.
func newSetting[T any](key string, field func(*Config) *T, standard T, about string, rules ...rule[T]) Setting {
	return Setting{
		Key: key, About: about, Default: standard,
		get: func(c *Config) any { return *field(c) },
		set: func(c *Config, value any) { *field(c) = value.(T) },
		check: func(c *Config) (problems []string) {
			for _, broken := range rules {
				if text := broken(*field(c), c); text != "" {
					problems = append(problems, text)
				}
			}
			return problems
		},
	}
}

func (s Setting) noted(note string) Setting               { s.Note = note; return s }
func (s Setting) secret(mask func(string) string) Setting { s.mask = mask; return s }

// Keys that other code names in messages or sets.
const (
	DSN         = "db.dsn"
	Prefix      = "db.prefix"
	TLS         = "db.tls"
	TLSCA       = "db.tls_ca"
	WPConfig    = "wordpress.config"
	Listen      = "server.listen"
	AdminListen = "admin.listen"
	AdminHosts  = "admin.hosts"
	SecretKey   = "webhooks.secret_key"
	Redis       = "rate_limit.redis"
)

// DefaultPrefix is WordPress's default.
const DefaultPrefix = "wp_"

// The values of extensions.unreachable.
const (
	RefuseUnreachable = "refuse"
	ServeUnreachable  = "serve"
)

// The values of extensions.unknown.
const (
	ServeUnknown  = "serve"
	RefuseUnknown = "refuse"
)

// The values of bookings.default_status.
const (
	DefaultApproved = "approved"
	DefaultSite     = "site"
)

// All lists all settings.
var All = []Setting{
	newSetting(DSN, func(c *Config) *string { return &c.DB.DSN }, "",
		"database, as user:password@tcp(host:3306)/database; in place of wordpress.config",
		unless(func(dsn string, c *Config) bool { return dsn != "" || c.WordPress.Config != "" }, "write user:password@tcp(host:3306)/database (BOOKSIDE_DB__DSN), or name the site's wp-config.php in wordpress.config (--wp-config)"),
		unless(func(dsn string, c *Config) bool { return dsn == "" || c.WordPress.Config == "" }, "conflicts with wordpress.config; remove one of them"),
		must(emptyOr(func(dsn string) bool { _, ok := ParseDSN(dsn); return ok }), "cannot be read; write user:password@tcp(host:3306)/database or user:password@unix(/path/of/socket)/database")).
		secret(maskDSN),
	newSetting(Prefix, func(c *Config) *string { return &c.DB.Prefix }, "",
		"table prefix of the site; overrides the one in wp-config.php",
		must(emptyOr(tablePrefix.MatchString), "write at most 40 letters, digits and _, such as wp_")).
		noted("$table_prefix of the wp-config.php, else wp_"),
	newSetting(TLS, func(c *Config) *string { return &c.DB.TLS }, string(wpdb.TLSAuto),
		"whether connections to the database are encrypted: off; required, with any certificate; verify, with one that is valid for the server's name; auto is required unless the server is on this machine, at a socket or a loopback address, and verify if db.tls_ca is set; the parameter tls of db.dsn (true, skip-verify, preferred, false) and MYSQL_CLIENT_FLAGS of wp-config.php take precedence over auto",
		must(func(mode string) bool { return slices.Contains(wpdb.TLSModes(), wpdb.TLS(mode)) }, "write auto, off, required or verify")),
	newSetting(TLSCA, func(c *Config) *string { return &c.DB.TLSCA }, "",
		"PEM file with the certificates of the authorities that verify trusts to sign the server's certificate",
		unless(func(file string, c *Config) bool {
			return file == "" || c.DB.TLS == string(wpdb.TLSAuto) || c.DB.TLS == string(wpdb.TLSVerify)
		}, "is used only where db.tls is verify or auto; change db.tls, or remove it")).
		noted("none: those of the system"),
	newSetting("db.max_open", func(c *Config) *int { return &c.DB.MaxOpen }, 10,
		"maximum number of connections", between(1, 1000, "write a number from 1 to 1000")),

	newSetting(WPConfig, func(c *Config) *string { return &c.WordPress.Config }, "",
		"path of the site's wp-config.php, or of its directory, to read the database, the table prefix and the site's addresses from; in place of db.dsn"),
	newSetting("wordpress.site_id", func(c *Config) *int { return &c.WordPress.SiteID }, 0,
		"number of the site in a network, from 2 on; its tables have the prefix wp_2_ and so on", atLeastNumber(0, "write the number of the site in its network, or 0")).
		noted("for no network or its first site"),
	newSetting("wordpress.home", func(c *Config) *string { return &c.WordPress.Home }, "",
		"address of the site's pages, if the constant WP_HOME sets it; overrides the one in wp-config.php",
		must(emptyOr(isWebAddress), "write an address such as https://example.com")).
		noted("WP_HOME of the wp-config.php, else the option home"),
	newSetting("wordpress.site_url", func(c *Config) *string { return &c.WordPress.SiteURL }, "",
		"address of WordPress, which links in notifications begin with, if the constant WP_SITEURL sets it; overrides the one in wp-config.php",
		must(emptyOr(isWebAddress), "write an address such as https://example.com/wordpress")).
		noted("WP_SITEURL of the wp-config.php, else the option siteurl"),
	newSetting("wordpress.loopback", func(c *Config) *string { return &c.WordPress.Loopback }, "",
		"address at which this machine reaches WordPress, such as http://127.0.0.1:8080, if the site's own does not work; Bookside tells the site's extensions about changes there, under the site's name",
		must(emptyOr(isWebAddress), "write an address such as http://127.0.0.1:8080")).
		noted("the option siteurl"),
	newSetting("wordpress.content", func(c *Config) *string { return &c.WordPress.Content }, "",
		"path of the site's wp-content, which has the plugin's translations; without it, texts that Bookside stores are English instead of in the site's language").
		noted("WP_CONTENT_DIR of the wp-config.php, else wp-content beside it; none without wordpress.config"),

	newSetting(Listen, func(c *Config) *string { return &c.Server.Listen }, "127.0.0.1:8080",
		"address of the API", must(isListenAddress, "write an address and a port, such as 127.0.0.1:8080")),
	newSetting("server.base_paths", func(c *Config) *[]string { return &c.Server.BasePaths }, []string{"/wp-json/latepoint-api/v1", "/v1"},
		"paths under which the API is served",
		must(func(paths []string) bool { return len(paths) > 0 }, "write at least one path, such as /v1"),
		each(basePath.MatchString, "%q: write a path that begins but does not end with /, such as /v1"),
		unique),
	newSetting("server.trusted_proxies", func(c *Config) *[]string { return &c.Server.TrustedProxies }, []string{},
		"addresses and networks of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8",
		each(func(text string) bool { _, err := ParseNetwork(text); return err == nil }, "%q: write an address or a network, such as 10.0.0.1 or 10.0.0.0/8")).
		noted("none"),
	newSetting("server.request_timeout", func(c *Config) *time.Duration { return &c.Server.RequestTimeout }, 15*time.Second,
		"time limit of a request, from its header to its response", atLeast(time.Second, ", such as 15s")),
	newSetting("server.cors_origins", func(c *Config) *[]string { return &c.Server.CORSOrigins }, []string{},
		"origins whose pages may call the API, such as https://example.com; * for all",
		each(isOrigin, "%q: write scheme and host, such as https://example.com, or * for every origin")).
		noted("none, which disables CORS"),

	newSetting(AdminListen, func(c *Config) *string { return &c.Admin.Listen }, "127.0.0.1:8081",
		"address of /livez, /readyz, /metrics, the console and the requests of wp-admin; empty to disable them",
		must(emptyOr(isListenAddress), "write an address and a port, such as 127.0.0.1:8081, or leave it empty to disable it"),
		unless(func(address string, c *Config) bool {
			return address != c.Server.Listen || strings.HasSuffix(address, ":0")
		}, "is the same as server.listen; write another port")),
	newSetting(AdminHosts, func(c *Config) *[]string { return &c.Admin.Hosts }, []string{},
		"host names allowed in requests to admin.listen, besides localhost and IP addresses, such as the name that a scraper uses",
		each(hostName.MatchString, "%q: write a host name without scheme and port, such as keys.example.com")).
		noted("none"),
	newSetting("admin.base_url", func(c *Config) *string { return &c.Admin.BaseURL }, "",
		"address under which a web server of yours forwards /console to admin.listen, such as https://bookings.example.com; admin-token prints it, and its host needs no entry in admin.hosts",
		must(emptyOr(func(address string) bool { return address != "*" && isOrigin(address) }), "write scheme and host, such as https://bookings.example.com")).
		noted("none"),
	newSetting("admin.trusted_user_header", func(c *Config) *string { return &c.Admin.TrustedUserHeader }, "",
		"header in which a web server in server.trusted_proxies names the person who has logged in there, such as X-Forwarded-User; that person uses the console without a token",
		must(emptyOr(headerName.MatchString), "write the name of a header, such as X-Forwarded-User"),
		unless(func(header string, c *Config) bool { return header == "" || len(c.Server.TrustedProxies) > 0 }, "needs the address of that web server in server.trusted_proxies")).
		noted("none: everybody needs a token"),

	newSetting("changes.keep", func(c *Config) *time.Duration { return &c.Changes.Keep }, 30*24*time.Hour,
		"how long to keep the journal of changes", must(func(d time.Duration) bool { return d >= time.Hour }, "write a duration of at least 1h, such as 720h")),

	newSetting("requests.keep", func(c *Config) *int { return &c.Requests.Keep }, 10_000,
		"requests to the API that the console shows, for at most 7 days; 0 to keep none",
		between(0, 100_000, "write a number up to 100000, such as 10000, or 0 to keep none")),

	newSetting("auth.query_parameter", func(c *Config) *string { return &c.Auth.QueryParameter }, "api_key",
		"query parameter that may contain the API key; empty to disable it",
		must(emptyOr(queryParameter.MatchString), "write only letters, digits, _ and -, such as api_key, or leave it empty to disable it")),

	newSetting("rate_limit.live_per_minute", func(c *Config) *int { return &c.RateLimit.LivePerMinute }, 60,
		"requests of a live key per minute", requestLimit),
	newSetting("rate_limit.live_per_hour", func(c *Config) *int { return &c.RateLimit.LivePerHour }, 3600,
		"requests of a live key per hour", requestLimit),
	newSetting("rate_limit.test_per_minute", func(c *Config) *int { return &c.RateLimit.TestPerMinute }, 100,
		"requests of a test key per minute", requestLimit),
	newSetting("rate_limit.test_per_hour", func(c *Config) *int { return &c.RateLimit.TestPerHour }, 1000,
		"requests of a test key per hour", requestLimit),
	newSetting(Redis, func(c *Config) *string { return &c.RateLimit.Redis }, "",
		"Redis in which all servers of a site share their counts, such as redis://user:password@host:6379/0",
		must(emptyOr(func(address string) bool { _, err := ratelimit.NewRedis(address); return err == nil }), "cannot be read; write redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/of/socket")).
		noted("none: each server counts by itself").secret(maskRedis),

	newSetting("webhooks.enabled", func(c *Config) *bool { return &c.Webhooks.Enabled }, true,
		"send webhooks from this server; set it to false where a copy of the site must not reach its receivers"),
	newSetting(SecretKey, func(c *Config) *string { return &c.Webhooks.SecretKey }, "",
		"key of at least 32 characters with which the secrets of webhooks are encrypted, such as the output of openssl rand -base64 32; the same on all servers",
		must(emptyOr(func(key string) bool { return len(key) >= jobs.MinSecretKey }), fmt.Sprintf("write at least %d characters, such as the output of openssl rand -base64 32", jobs.MinSecretKey))).
		noted("none: secrets are stored readable").secret(maskAll),
	newSetting("webhooks.allow_private", func(c *Config) *bool { return &c.Webhooks.AllowPrivate }, false,
		"let webhooks use private addresses, such as those of your own network"),

	newSetting("extensions.unreachable", func(c *Config) *string { return &c.Extensions.Unreachable }, RefuseUnreachable,
		"what to do if WordPress must be asked and does not answer: refuse answers 503; serve continues without the extensions, with a Warning header",
		oneOf("write refuse or serve", RefuseUnreachable, ServeUnreachable)),
	newSetting("extensions.unknown", func(c *Config) *string { return &c.Extensions.Unknown }, ServeUnknown,
		"what to do with a booking that would be affected by an extension that is not honoured: serve writes it; refuse answers 503 and names the extension",
		oneOf("write serve or refuse", ServeUnknown, RefuseUnknown)),

	newSetting("bookings.default_status", func(c *Config) *string { return &c.Bookings.DefaultStatus }, DefaultApproved,
		"status of a booking that is sent without one: approved, as the API says, or site for the service's, else the site's own",
		oneOf("write approved or site", DefaultApproved, DefaultSite)),

	newSetting("compat.timestamps", func(c *Config) *string { return &c.Compat.Timestamps }, "stored",
		"stored returns timestamps as they are stored, in UTC, like the PHP extension; site returns them in the site's time zone",
		oneOf("write stored or site", "stored", "site")),
	newSetting("compat.booking_meta_keys", func(c *Config) *[]string { return &c.Compat.BookingMetaKeys }, []string{},
		"keys of booking metadata to show in addition to custom fields, such as zoom_join_url",
		each(metaKey.MatchString, "%q: write a key of at most 110 characters without spaces, such as zoom_join_url"),
		each(func(key string) bool { return !records.SecretMeta(key) }, "%q: this value lets anyone manage the booking, so it is never shown")).
		noted("none"),

	newSetting("log.level", func(c *Config) *string { return &c.Log.Level }, "info",
		"debug, info, warn or error", oneOf("write debug, info, warn or error", "debug", "info", "warn", "error")),
	newSetting("log.clients", func(c *Config) *bool { return &c.Log.Clients }, false,
		"also log the address of each client, for fail2ban and similar programs; addresses are personal data"),
}

var (
	// tablePrefix matches prefixes that wpdb accepts, with room for the number of a site.
	tablePrefix    = regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`)
	basePath       = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
	headerName     = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	hostName       = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	queryParameter = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	metaKey        = regexp.MustCompile(`^[!-~]{1,110}$`) // fits the plugin's column
)

var requestLimit = atLeastNumber(1, "write a number from 1")
