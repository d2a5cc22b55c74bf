package main

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/records"
	"bookside/adapter/webhooks"
	"bookside/handlers"
	"bookside/wpdb"
)

// validate returns an error with all problems of the configuration.
func (c config) validate() error {
	var lines []string
	for _, p := range c.problems() {
		lines = append(lines, p.String())
	}
	return configFailure(lines)
}

// problems returns the settings whose values are not allowed.
func (c config) problems() []problem {
	var v validation
	c.validateDatabase(&v)
	c.validateServer(&v)
	c.validateLimits(&v)
	c.validateMail(&v)
	v.check(c.Webhooks.SecretKey == "" || len(c.Webhooks.SecretKey) >= webhooks.MinSecretKey, keySecretKey, "write at least %d characters, such as the output of openssl rand -base64 32", webhooks.MinSecretKey)
	v.check(c.Compat.Timestamps == "stored" || c.Compat.Timestamps == "site", "compat.timestamps", "write stored or site")
	for _, key := range c.Compat.BookingMetaKeys {
		v.check(metaKey.MatchString(key), "compat.booking_meta_keys", "%q: write a key of at most 110 characters without spaces, such as zoom_join_url", key)
		v.check(!records.SecretMeta(key), "compat.booking_meta_keys", "%q: this value lets anyone manage the booking, so it is never shown", key)
	}
	_, err := logLevel(c.Log.Level)
	v.check(err == nil, "log.level", "write debug, info, warn or error")
	v.check(slices.Contains(logFormats, c.Log.Format), "log.format", "write %s", strings.Join(logFormats, ", "))
	return v.problems
}

// metaKey matches keys that fit the plugin's column.
var metaKey = regexp.MustCompile(`^[!-~]{1,110}$`)

// problem is what is wrong with the value of a setting.
type problem struct{ key, text string }

func (p problem) String() string { return p.key + ": " + p.text }

type validation struct{ problems []problem }

func (v *validation) check(ok bool, key, format string, args ...any) {
	if !ok {
		v.problems = append(v.problems, problem{key, fmt.Sprintf(format, args...)})
	}
}

// tablePrefix matches prefixes that wpdb accepts, with room for the number of a
// site.
var tablePrefix = regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`)

func (c config) validateDatabase(v *validation) {
	dsn, wpConfig := c.DB.DSN != "", c.WordPress.Config != ""
	v.check(dsn || wpConfig, keyDSN, "write user:password@tcp(host:3306)/database (BOOKSIDE_DB__DSN), or name the site's wp-config.php in wordpress.config (--wp-config)")
	v.check(!dsn || !wpConfig, keyDSN, "conflicts with wordpress.config; remove one of them")
	_, readable := parseDSN(c.DB.DSN)
	v.check(!dsn || readable, keyDSN, "cannot be read; write user:password@tcp(host:3306)/database or user:password@unix(/path/of/socket)/database")
	v.check(c.DB.Prefix == "" || tablePrefix.MatchString(c.DB.Prefix), keyPrefix, "write at most 40 letters, digits and _, such as wp_")
	v.check(slices.Contains(wpdb.TLSModes(), wpdb.TLS(c.DB.TLS)), keyTLS, "write auto, off, required or verify")
	v.check(c.DB.TLSCA == "" || c.DB.TLS == string(wpdb.TLSAuto) || c.DB.TLS == string(wpdb.TLSVerify), keyTLSCA, "is used only where db.tls is verify or auto; change db.tls, or remove it")
	v.check(c.DB.MaxOpen >= 1 && c.DB.MaxOpen <= 1000, "db.max_open", "write a number from 1 to 1000")
	v.check(c.DB.AcquireTimeout >= 10*time.Millisecond, "db.acquire_timeout", "write a duration of at least 10ms, such as 2s")
	v.check(c.DB.ConnectWait >= 0, "db.connect_wait", "write a duration such as 30s, or 0s to not wait")
	v.check(c.DB.StatementTimeout >= 100*time.Millisecond, "db.statement_timeout", "write a duration of at least 100ms, such as 10s")
	v.check(c.WordPress.SiteID >= 0, "wordpress.site_id", "write the number of the site in its network, or 0")
	v.check(c.WordPress.Home == "" || validSiteAddress(c.WordPress.Home), "wordpress.home", "write an address such as https://example.com")
	v.check(c.WordPress.SiteURL == "" || validSiteAddress(c.WordPress.SiteURL), "wordpress.site_url", "write an address such as https://example.com/wordpress")
}

func (c config) validateServer(v *validation) {
	v.check(validAddress(c.Server.Listen), keyListen, "write an address and a port, such as 127.0.0.1:8080")
	v.check(c.Admin.Listen == "" || validAddress(c.Admin.Listen), "admin.listen", "write an address and a port, such as 127.0.0.1:8081, or leave it empty to disable it")
	v.check(c.Admin.Listen != c.Server.Listen || strings.HasSuffix(c.Server.Listen, ":0"), "admin.listen", "is the same as server.listen; write another port")
	for _, host := range c.Admin.Hosts {
		v.check(hostName.MatchString(host), "admin.hosts", "%q: write a host name without scheme and port, such as keys.example.com", host)
	}
	v.check(len(c.Server.BasePaths) > 0, "server.base_paths", "write at least one path, such as /v1")
	seen := map[string]bool{}
	for _, path := range c.Server.BasePaths {
		v.check(basePath.MatchString(path), "server.base_paths", "%q: write a path that begins but does not end with /, such as /v1", path)
		v.check(!seen[path], "server.base_paths", "%q is listed twice", path)
		seen[path] = true
	}
	for _, proxy := range c.Server.TrustedProxies {
		_, err := parseNetwork(proxy)
		v.check(err == nil, "server.trusted_proxies", "%q: write an address or a network, such as 10.0.0.1 or 10.0.0.0/8", proxy)
	}
	for _, origin := range c.Server.CORSOrigins {
		v.check(validOrigin(origin), "server.cors_origins", "%q: write scheme and host, such as https://example.com, or * for every origin", origin)
	}
	v.check(c.Server.MaxConcurrent >= 0, "server.max_concurrent", "write a number such as 256, or 0 for no limit")
	v.check(c.Server.MemoryMiB == 0 || c.Server.MemoryMiB >= handlers.MinMemory/mebibyte && c.Server.MemoryMiB <= 1<<20,
		"server.memory_mib", "write a number from %d, or 0 for a share of GOMEMLIMIT", handlers.MinMemory/mebibyte)
	v.check(c.Server.HeaderTimeout >= 100*time.Millisecond, "server.header_timeout", "write a duration of at least 100ms, such as 10s")
	v.check(c.Server.WriteTimeout >= 100*time.Millisecond, "server.write_timeout", "write a duration of at least 100ms, such as 10s")
	v.check(c.Conflicts.Interval == 0 || c.Conflicts.Interval >= time.Second, "conflicts.interval", "write a duration of at least 1s, such as 5m, or 0s for never")
	v.check(c.Changes.Interval == 0 || c.Changes.Interval >= 100*time.Millisecond, "changes.interval", "write a duration of at least 100ms, such as 5s, or 0s for never")
	v.check(c.Changes.Sweep >= time.Second, "changes.sweep", "write a duration of at least 1s, such as 10m")
	v.check(c.Changes.Waiting >= 1, "changes.max_waiting", "write a number of at least 1, such as 1000")
	v.check(c.Changes.Keep >= time.Hour, "changes.keep", "write a duration of at least 1h, such as 720h")
	v.check(c.Server.RequestTimeout >= time.Second, "server.request_timeout", "write a duration of at least 1s, such as 15s")
	v.check(c.Server.DrainDelay >= 0, "server.drain_delay", "write a duration such as 1s, or 0s for none")
	v.check(c.Server.ShutdownTimeout > 0, "server.shutdown_timeout", "write a duration such as 15s")
}

func (c config) validateLimits(v *validation) {
	v.check(c.Auth.QueryParameter == "" || queryParameter.MatchString(c.Auth.QueryParameter), "auth.query_parameter", "write only letters, digits, _ and -, such as api_key, or leave it empty to disable it")
	v.check(c.Auth.FailedKeysPerMinute >= 0, "auth.failed_keys_per_minute", "write a number such as 100, or 0 for no limit")
	limits := []struct {
		key   string
		value int
	}{
		{"rate_limit.live_per_minute", c.RateLimit.LivePerMinute}, {"rate_limit.live_per_hour", c.RateLimit.LivePerHour},
		{"rate_limit.test_per_minute", c.RateLimit.TestPerMinute}, {"rate_limit.test_per_hour", c.RateLimit.TestPerHour},
	}
	for _, limit := range limits {
		v.check(limit.value >= 1, limit.key, "write a number from 1; to disable all limits, set rate_limit.enabled to false")
	}
	v.check(c.Lists.ExactCountMS >= 0, "lists.exact_count_ms", "write a number of milliseconds such as 20")
	v.check(c.Lists.MaxExports >= 1, "lists.max_exports", "write a number of at least 1, such as 4")
	v.check(c.Lists.CountMaxAge >= 0 && c.Lists.CountMaxAge <= time.Hour, "lists.count_max_age", "write a duration up to 1h, such as 5s, or 0s for exact totals")
	_, err := parseRedis(c.RateLimit.Redis)
	v.check(c.RateLimit.Redis == "" || err == nil, keyRedis, "cannot be read; write redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/of/socket")
}

var (
	basePath       = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
	hostName       = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	queryParameter = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

func validAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && !strings.ContainsAny(host, " /@")
}

func validOrigin(text string) bool {
	u, ok := webAddress(text)
	return text == "*" || ok && text == u.Scheme+"://"+u.Host
}

func validSiteAddress(text string) bool {
	_, ok := webAddress(text)
	return ok
}

func webAddress(text string) (u *url.URL, ok bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// parseNetwork parses a network, or a single address as a network.
func parseNetwork(text string) (*net.IPNet, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		text = netip.PrefixFrom(address, address.BitLen()).String()
	}
	_, network, err := net.ParseCIDR(text)
	return network, err
}
