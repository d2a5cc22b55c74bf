package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// setting documents one setting of the configuration; help config and
// CONFIGURATION.md are made from it. Its type and default value are those of
// defaultConfig.
type setting struct {
	key   string
	about string
	// note explains the default value, or stands for one that is empty.
	note string
}

// settings are all settings, in the order of the fields of config.
var settings = []setting{
	{keyDSN, "database, as user:password@tcp(host:3306)/database; in place of wordpress.config", ""},
	{keyPrefix, "table prefix of the site; overrides the one in wp-config.php", "$table_prefix of the wp-config.php, else wp_"},
	{keyTLS, "whether connections to the database are encrypted: off; required, with any certificate; verify, with one that is valid for the server's name; auto is required unless the server is on this machine, at a socket or a loopback address, and verify if db.tls_ca is set; the parameter tls of db.dsn (true, skip-verify, preferred, false) and MYSQL_CLIENT_FLAGS of wp-config.php decide in place of auto", ""},
	{keyTLSCA, "file with the certificates of the authorities, in PEM, by which verify checks the server's certificate", "none: those of the system"},
	{"db.max_open", "maximum number of connections", ""},
	{"db.acquire_timeout", "how long a request waits while all connections are in use", ""},
	{"db.connect_wait", "how long serve waits for a database that is down", ""},
	{"db.statement_timeout", "time limit of a statement, enforced by the server", ""},
	{"db.kill_abandoned", "kill the statements of abandoned requests on the server; set it to false behind a proxy that multiplexes connections without showing it", ""},
	{"db.prepare", "prepare frequent statements on the server, and send several statements of a transaction together; set it to false behind a proxy that shares connections without keeping track of prepared statements, or that refuses several statements at once", ""},

	{keyWPConfig, "path of the site's wp-config.php, or of the directory that it is in, from which the database, the table prefix and the site's addresses are read; in place of db.dsn", ""},
	{"wordpress.site_id", "number of the site in a network, from 2 on; its tables have the prefix wp_2_ and so on", "for no network or its first site"},
	{"wordpress.home", "address of the site's pages, if the constant WP_HOME sets it; overrides the one in wp-config.php", "WP_HOME of the wp-config.php, else the option home"},
	{"wordpress.site_url", "address of WordPress, which links in notifications begin with, if the constant WP_SITEURL sets it; overrides the one in wp-config.php", "WP_SITEURL of the wp-config.php, else the option siteurl"},
	{keyContent, "path of the site's wp-content, in which the plugin's translations are: texts that Bookside stores or mails are then in the site's language, and otherwise English", "WP_CONTENT_DIR of the wp-config.php, else wp-content beside it; none without wordpress.config"},

	{keyListen, "address of the API", ""},
	{"server.base_paths", "paths under which the API is served", ""},
	{"server.trusted_proxies", "addresses and networks of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8", "none"},
	{"server.max_concurrent", "maximum number of requests processed at a time, 0 for no limit; others get 503 at once", ""},
	{"server.memory_mib", "memory that all requests together may use, in MiB, from 64; others wait up to 5s", "for two thirds of GOMEMLIMIT, or 128 if that is not set"},
	{"server.header_timeout", "time limit for receiving the header of a request", ""},
	{"server.request_timeout", "time limit of a request, from its header to its response", ""},
	{"server.write_timeout", "additional time for the client to read the response", ""},
	{"server.drain_delay", "how long new requests are still accepted after SIGTERM, while /readyz reports stopping", ""},
	{"server.shutdown_timeout", "time limit for running requests to finish after that", ""},
	{"server.cors_origins", "origins whose pages may call the API, such as https://example.com; * for all", "none, which disables CORS"},

	{"admin.listen", "address of /livez, /readyz, /metrics and the console; empty to disable them", ""},
	{"admin.keys_page", "serve the console, /console, which needs a login (see help admin-token)", ""},
	{"admin.hosts", "host names allowed in requests to admin.listen, besides localhost and IP addresses, such as the name that a scraper uses", "none"},
	{"admin.pprof", "serve profiles of the program at /debug/pprof/ of admin.listen", ""},

	{"conflicts.interval", "how often to look for overlapping bookings; 0s for never", ""},

	{"changes.interval", "how often to look for changes of records that others made; 0s for never", ""},
	{"changes.sweep", "within which time to compare all records, to find deleted ones and changes by plain SQL; longer if it would take more than 2 % of a core of the database", ""},
	{"changes.keep", "how long to keep the journal of changes", ""},
	{"changes.max_waiting", "requests to /changes that may wait at the same time; others get 503", ""},

	{"auth.query_parameter", "query parameter that may contain the API key; empty to disable it", ""},
	{"auth.failed_keys_per_minute", "invalid keys that an address may send per minute before it gets 429; 0 for no limit", ""},

	{"rate_limit.enabled", "limit the number of requests of API keys", ""},
	{"rate_limit.live_per_minute", "requests of a live key per minute", ""},
	{"rate_limit.live_per_hour", "requests of a live key per hour", ""},
	{"rate_limit.test_per_minute", "requests of a test key per minute", ""},
	{"rate_limit.test_per_hour", "requests of a test key per hour", ""},
	{keyRedis, "Redis in which all servers of a site count together, such as redis://user:password@host:6379/0", "none: each server counts by itself"},

	{"mcp.enabled", "serve tools for AI agents at /mcp, by the Model Context Protocol; pages in browsers may call it from server.cors_origins only", ""},

	{"lists.exact_count_ms", "milliseconds that counting a list may take for its total to be exact; one that takes longer is counted once for all requests within lists.count_max_age", ""},
	{"lists.count_max_age", "how long such a total is shared after it was counted; the header X-Total-Age shows its age; 0s to count for every request", ""},
	{"lists.max_exports", "lists that may be sent as CSV or iCalendar at the same time; others get 503", ""},

	{"mail.enabled", "send notifications from here if the site itself does not", ""},
	{"mail.from", "sender address of notifications, such as office@example.com", "that of the site's own notifications"},
	{"mail.from_name", "sender name of notifications, such as the name of the business", "that of the site's own notifications"},
	{"mail.smtp.host", "mail server, such as smtp.example.com", "none"},
	{"mail.smtp.port", "port of the mail server; usually 465 with tls", ""},
	{"mail.smtp.tls", "starttls, tls (from the start of the connection) or none", ""},
	{"mail.smtp.user", "user name, if the mail server requires a login", "none"},
	{keyMailPassword, "password of that user", "none"},

	{"webhooks.enabled", "send webhooks from this server; set it to false where a copy of the site must not reach its receivers", ""},
	{keySecretKey, "key of at least 32 characters with which the secrets of webhooks are encrypted, such as the output of openssl rand -base64 32; the same on all servers", "none: secrets are stored readable"},
	{"webhooks.allow_private", "webhooks that are added through the API or the console may lead to private addresses; bookside webhooks add has the flag --allow-private for that", ""},

	{"compat.timestamps", "stored returns timestamps as they are stored, in UTC, like the PHP extension; site returns them in the site's time zone", ""},
	{"compat.booking_meta_keys", "keys of booking metadata to show in addition to custom fields, such as zoom_join_url", "none"},

	{"log.level", "debug, info, warn or error", ""},
	{"log.format", "text is for people, json for programs; auto is text in a terminal and json elsewhere", ""},
	{"log.clients", "log the address of each client too, for fail2ban and the like; addresses are personal data", ""},
}

// defaultText returns the default of a setting as it is written in the
// environment, and its note; both are empty for a setting without a default.
func (s setting) defaultText(defaults map[string]any) (value, note string) {
	switch v := defaults[s.key].(type) {
	case []string:
		value = strings.Join(v, ",")
	case time.Duration:
		value = shortDuration(v)
	default:
		value = fmt.Sprint(v)
	}
	return value, s.note
}

// description says what the setting is for, and its default.
func (s setting) description(defaults map[string]any) string {
	value, note := s.defaultText(defaults)
	if value+note == "" {
		return s.about
	}
	return s.about + "; default " + strings.TrimSpace(value+" "+note)
}

// shortDuration omits the zeros at the end: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// variables returns the names of a setting in the environment.
func (s setting) variables() []string {
	names := []string{envName(s.key)}
	if slices.Contains(secretKeys, s.key) {
		names = append(names, envName(s.key)+fileSuffix)
	}
	return names
}

const aboutSettings = `Settings come from these sources; later ones override earlier ones:
  1. the defaults below
  2. a YAML file named by --config or BOOKSIDE_CONFIG, with sections and names as below; if none is
     named, /etc/bookside/config.yaml
  3. the environment: db.dsn is BOOKSIDE_DB__DSN, and so on; lists are separated by commas.
     BOOKSIDE_DB__DSN_FILE, or db.dsn_file in the YAML file, names a file that contains the value;
     so it is with every secret.
  4. flags: --set db.max_open=20, and the short forms listed in the help of a command.
     All users of the machine can see the flags of a program, so keep secrets out of them.

Either db.dsn or wordpress.config is required. bookside serve --print-config prints the result.
`

// settingsHelp is the text of help config.
func settingsHelp() (string, error) {
	l, err := newLayers()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(aboutSettings)
	section := ""
	for _, s := range settings {
		name, _, _ := strings.Cut(s.key, ".")
		if name != section {
			b.WriteByte('\n')
			section = name
		}
		for i, line := range wrapWords(s.description(l.defaults), 90) {
			key := ""
			if i == 0 {
				key = s.key
			}
			fmt.Fprintf(&b, "%s\n", strings.TrimRight(fmt.Sprintf("%-28s %s", key, line), " "))
		}
	}
	return b.String(), nil
}

// wrapWords breaks a text into lines of at most width bytes, unless a word is
// longer.
func wrapWords(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
