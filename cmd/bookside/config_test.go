package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"bookside/wpdb/wpconfig"
)

// configFrom reads a configuration from the three sources; yaml may be empty.
func configFrom(t *testing.T, yaml string, env []string, args ...string) (config, error) {
	t.Helper()
	if yaml != "" {
		args = append([]string{"--config", writeFile(t, "bookside.yaml", yaml)}, args...)
	}
	var given configFlags
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	given.define(flags)
	given.short(flags, "listen", keyListen, "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return readConfig(env, given)
}

func writeFile(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := configFrom(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultConfig()
	want.DB.Prefix = "wp_"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	const yaml = "server:\n  listen: 127.0.0.1:1\ndb:\n  max_open: 1\n  connect_wait: 1m30s\n"
	env := []string{"BOOKSIDE_SERVER__LISTEN=127.0.0.1:2", "BOOKSIDE_DB__MAX_OPEN=2"}
	tests := []struct {
		name       string
		yaml       string
		env        []string
		args       []string
		wantListen string
		wantOpen   int
		wantWait   time.Duration
	}{
		{"defaults", "", nil, nil, "127.0.0.1:8080", 10, 30 * time.Second},
		{"file", yaml, nil, nil, "127.0.0.1:1", 1, 90 * time.Second},
		{"environment over defaults", "", env, nil, "127.0.0.1:2", 2, 30 * time.Second},
		{"environment over file", yaml, env, nil, "127.0.0.1:2", 2, 90 * time.Second},
		{"flag over environment", yaml, env, []string{"--listen", "127.0.0.1:3"}, "127.0.0.1:3", 2, 90 * time.Second},
		{"--set over environment", yaml, env, []string{"--set", "db.max_open=3"}, "127.0.0.1:2", 3, 90 * time.Second},
		{"last flag", yaml, env, []string{"--set", "server.listen=127.0.0.1:4", "--listen=127.0.0.1:5"}, "127.0.0.1:5", 2, 90 * time.Second},
		{"last --set", yaml, env, []string{"--listen=127.0.0.1:5", "--set", "server.listen=127.0.0.1:4"}, "127.0.0.1:4", 2, 90 * time.Second},
		{"empty sections", "server:\ndb: {}\nlog:\n  level:\n", nil, nil, "127.0.0.1:8080", 10, 30 * time.Second},
		{"empty file", "# nothing yet\n", nil, nil, "127.0.0.1:8080", 10, 30 * time.Second},
		{"one document", "# settings\n---\ndb:\n  max_open: 7\n...\n", nil, nil, "127.0.0.1:8080", 7, 30 * time.Second},
		{"keys with dots", "db.max_open: 7\n", nil, nil, "127.0.0.1:8080", 7, 30 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := configFrom(t, test.yaml, test.env, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if c.Server.Listen != test.wantListen || c.DB.MaxOpen != test.wantOpen || c.DB.ConnectWait != test.wantWait {
				t.Errorf("listen %s, max_open %d, connect_wait %s; want %s, %d, %s",
					c.Server.Listen, c.DB.MaxOpen, c.DB.ConnectWait, test.wantListen, test.wantOpen, test.wantWait)
			}
			if c.Log.Level != "info" {
				t.Errorf("log.level %q", c.Log.Level)
			}
		})
	}
}

// TestEverySetting sets each key by file, environment and flag.
func TestEverySetting(t *testing.T) {
	t.Parallel()
	var want config
	want.DB.DSN, want.DB.Prefix, want.DB.MaxOpen = "u:p=q,r@tcp(h)/d", "abc_", 3
	want.DB.AcquireTimeout, want.DB.ConnectWait, want.DB.StatementTimeout = 3*time.Second, time.Second, 2*time.Second
	want.DB.TLS, want.DB.TLSCA = "verify", "/ca.pem"
	want.WordPress.Config, want.WordPress.SiteID = "/wp-config.php", 4
	want.WordPress.Home, want.WordPress.SiteURL, want.WordPress.Content = "https://a.example", "https://a.example/wp", "/wp-content"
	want.Server.Listen, want.Server.BasePaths = ":1", []string{"/a", "/b"}
	want.Server.TrustedProxies, want.Server.CORSOrigins = []string{"10.0.0.0/8"}, []string{}
	want.Server.MaxConcurrent, want.Server.HeaderTimeout, want.Server.WriteTimeout = 7, 5*time.Second, 6*time.Second
	want.Server.MemoryMiB = 100
	want.Server.RequestTimeout, want.Server.ShutdownTimeout, want.Server.DrainDelay = 3*time.Second, 4*time.Second, 5*time.Second
	want.Admin.PProf, want.Conflicts.Interval = true, time.Hour
	want.Admin.Listen, want.Admin.Hosts = "", []string{"keys.example.com", "b"}
	want.Auth.QueryParameter, want.Auth.FailedKeysPerMinute = "", 0
	want.RateLimit.LivePerMinute, want.RateLimit.LivePerHour = 1, 2
	want.RateLimit.TestPerMinute, want.RateLimit.TestPerHour = 3, 4
	want.RateLimit.Redis = "redis://u:p=q,r@h:1/2"
	want.Mail.Enabled, want.Mail.From, want.Mail.FromName = true, "a@example.com", "A, B"
	want.Mail.SMTP.Host, want.Mail.SMTP.Port, want.Mail.SMTP.TLS = "h", 25, "none"
	want.Mail.SMTP.User, want.Mail.SMTP.Password = "u", "p=q,r"
	want.Compat.Timestamps, want.Compat.BookingMetaKeys, want.Log.Level = "site", []string{"zoom_join_url", "x-y"}, "debug"
	want.Log.Format, want.Log.Clients = "json", true
	want.Changes.Interval, want.Changes.Sweep, want.Changes.Keep, want.Changes.Waiting = 2*time.Second, time.Minute, 48*time.Hour, 9
	want.Webhooks.Enabled, want.Webhooks.SecretKey, want.Webhooks.AllowPrivate = false, strings.Repeat("k", 43)+"=", true
	want.Lists.ExactCountMS, want.Lists.CountMaxAge, want.Lists.MaxExports = 7, 3*time.Second, 2
	samples := []struct{ key, value, yaml string }{
		{"db.dsn", "u:p=q,r@tcp(h)/d", ""}, {"db.prefix", "abc_", ""}, {"db.max_open", "3", ""},
		{"db.acquire_timeout", "3s", ""}, {"db.connect_wait", "1s", ""}, {"db.statement_timeout", "2s", ""}, {"db.kill_abandoned", "false", ""}, {"db.prepare", "false", ""},
		{"db.tls", "verify", ""}, {"db.tls_ca", "/ca.pem", ""},
		{"wordpress.config", "/wp-config.php", ""}, {"wordpress.site_id", "4", ""},
		{"wordpress.home", "https://a.example", ""}, {"wordpress.site_url", "https://a.example/wp", ""}, {"wordpress.content", "/wp-content", ""},
		{"server.listen", ":1", `":1"`}, {"server.base_paths", "/a, /b", "[/a, /b]"}, {"server.trusted_proxies", "10.0.0.0/8", "[10.0.0.0/8]"},
		{"server.max_concurrent", "7", ""}, {"server.memory_mib", "100", ""}, {"server.header_timeout", "5s", ""}, {"server.write_timeout", "6s", ""},
		{"server.request_timeout", "3s", ""}, {"server.shutdown_timeout", "4s", ""}, {"server.drain_delay", "5s", ""}, {"server.cors_origins", "", "[]"},
		{"admin.listen", "", `""`}, {"admin.keys_page", "false", ""}, {"admin.pprof", "true", ""}, {"conflicts.interval", "1h", ""}, {"admin.hosts", "keys.example.com, b", "[keys.example.com, b]"},
		{"auth.query_parameter", "", `""`}, {"auth.failed_keys_per_minute", "0", ""},
		{"rate_limit.enabled", "false", ""}, {"rate_limit.live_per_minute", "1", ""}, {"rate_limit.live_per_hour", "2", ""},
		{"rate_limit.test_per_minute", "3", ""}, {"rate_limit.test_per_hour", "4", ""},
		{"rate_limit.redis", "redis://u:p=q,r@h:1/2", ""},
		{"mail.enabled", "true", ""}, {"mail.from", "a@example.com", ""}, {"mail.from_name", "A, B", ""},
		{"mail.smtp.host", "h", ""}, {"mail.smtp.port", "25", ""}, {"mail.smtp.tls", "none", ""},
		{"mail.smtp.user", "u", ""}, {"mail.smtp.password", "p=q,r", ""},
		{"compat.timestamps", "site", ""}, {"compat.booking_meta_keys", "zoom_join_url, x-y", "[zoom_join_url, x-y]"}, {"log.level", "debug", ""}, {"log.format", "json", ""}, {"log.clients", "true", ""},
		{"changes.interval", "2s", ""}, {"changes.sweep", "1m", ""}, {"changes.keep", "48h", ""}, {"changes.max_waiting", "9", ""},
		{"webhooks.enabled", "false", ""}, {"webhooks.secret_key", strings.Repeat("k", 43) + "=", ""}, {"webhooks.allow_private", "true", ""},
		{"mcp.enabled", "false", ""}, {"lists.exact_count_ms", "7", ""}, {"lists.count_max_age", "3s", ""}, {"lists.max_exports", "2", ""},
	}
	l, err := newLayers()
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != len(l.defaults) {
		t.Fatalf("%d settings are tested of %d", len(samples), len(l.defaults))
	}
	var yaml strings.Builder
	var env, args []string
	for _, s := range samples {
		env = append(env, envName(s.key)+"="+s.value)
		args = append(args, "--set", s.key+"="+s.value)
		if s.yaml == "" {
			s.yaml = s.value
		}
		yaml.WriteString(s.key + ": " + s.yaml + "\n")
	}
	for _, way := range []struct {
		name string
		yaml string
		env  []string
		args []string
	}{{"file", yaml.String(), nil, nil}, {"environment", "", env, nil}, {"flags", "", nil, args}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			got, err := configFrom(t, way.yaml, way.env, way.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigFileByEnvironment(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "a.yaml", "db:\n  max_open: 4\n")
	c, err := configFrom(t, "", []string{"BOOKSIDE_CONFIG=" + path})
	if err != nil || c.DB.MaxOpen != 4 {
		t.Errorf("max_open %d, %v", c.DB.MaxOpen, err)
	}
	c, err = configFrom(t, "db:\n  max_open: 5\n", []string{"BOOKSIDE_CONFIG=" + path})
	if err != nil || c.DB.MaxOpen != 5 {
		t.Errorf("with --config: max_open %d, %v", c.DB.MaxOpen, err)
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "dsn", "u:p@tcp(h)/d\n")
	c, err := configFrom(t, "", []string{"BOOKSIDE_DB__DSN_FILE=" + path})
	if err != nil || c.DB.DSN != "u:p@tcp(h)/d" {
		t.Errorf("dsn %q, %v", c.DB.DSN, err)
	}
	c, err = configFrom(t, "db:\n  dsn_file: "+path+"\n", nil)
	if err != nil || c.DB.DSN != "u:p@tcp(h)/d" {
		t.Errorf("dsn %q of the YAML file, %v", c.DB.DSN, err)
	}
}

func TestOtherProgramsVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	_, err := configFrom(t, "", []string{
		"PATH=/bin", "BOOKSIDE=1", "BOOKSIDE_CONFIG=", "BOOKSIDE_TEST_DSN=x",
		// variables that Kubernetes and Docker set for services
		"BOOKSIDE_SERVICE_HOST=10.0.0.1", "BOOKSIDE_SERVICE_PORT=80", "BOOKSIDE_SERVICE_PORT_HTTP=80", "BOOKSIDE_PORT=tcp://10.0.0.1:80",
		"BOOKSIDE_PORT_80_TCP=tcp://10.0.0.1:80", "BOOKSIDE_PORT_80_TCP_ADDR=10.0.0.1", "BOOKSIDE_MYSQL_SERVICE_HOST=10.0.0.2",
	})
	if err != nil {
		t.Error(err)
	}
}

func TestInvalidSources(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	tests := []struct {
		name string
		yaml string
		env  []string
		args []string
		want string
	}{
		{"unknown key in the file", "db:\n  dns: x\n", nil, nil, "bookside.yaml: db.dns: no such setting; did you mean db.dsn?"},
		{"unknown section in the file", "serve:\n  listen: x\n", nil, nil, "serve.listen: no such setting; did you mean server.listen?"},
		{"section with a value", "log: debug\n", nil, nil, "log: is a section; write its settings below it"},
		{"setting with a section", "db:\n  dsn:\n    a: b\n", nil, nil, "db.dsn.a: no such setting; did you mean db.dsn?"},
		{"unknown variable", "", []string{"BOOKSIDE_DB_DSN=" + secret}, nil, "BOOKSIDE_DB_DSN: no such setting; did you mean BOOKSIDE_DB__DSN?"},
		{"port without a service", "", []string{"BOOKSIDE_PORT=8080"}, nil, "BOOKSIDE_PORT: no such setting"},
		{"lower case variable", "", []string{"BOOKSIDE_db__dsn=" + secret}, nil, "BOOKSIDE_db__dsn: no such setting; did you mean BOOKSIDE_DB__DSN?"},
		{"_FILE of no secret", "", []string{"BOOKSIDE_DB__PREFIX_FILE=x"}, nil, "BOOKSIDE_DB__PREFIX_FILE: no such setting"},
		{"unknown key in a flag", "", nil, []string{"--set", "db.dns=x"}, "--set db.dns: no such setting; did you mean db.dsn?"},
		{"--set without a value", "", nil, []string{"--set", "db.dsn"}, "--set: write KEY=VALUE"},
		{"number in the file", "db:\n  max_open: many\n", nil, nil, "db.max_open: write a whole number"},
		{"fraction", "db:\n  max_open: 1.5\n", nil, nil, "db.max_open: write a whole number"},
		{"number in the environment", "", []string{"BOOKSIDE_DB__MAX_OPEN="}, nil, "BOOKSIDE_DB__MAX_OPEN: write a whole number"},
		{"boolean", "rate_limit:\n  enabled: maybe\n", nil, nil, "rate_limit.enabled: write true or false"},
		{"boolean as a number", "rate_limit:\n  enabled: 1\n", nil, nil, "rate_limit.enabled: write true or false"},
		{"time without unit in the file", "db:\n  connect_wait: 30\n", nil, nil, "db.connect_wait: write a duration with its unit, such as 15s"},
		{"time without unit in a flag", "", nil, []string{"--set", "db.connect_wait=30"}, "--set db.connect_wait: write a duration with its unit"},
		{"text that is a number", "db:\n  prefix: 7\n", nil, nil, "db.prefix: write a text, in quotes"},
		{"list of numbers", "server:\n  base_paths: [1]\n", nil, nil, "server.base_paths: write a list of texts"},
		{"no mapping", secret + "\n", nil, nil, "bookside.yaml line 1: not YAML of the form"},
		{"bad YAML", "db:\n  dsn: *" + secret + "\n", nil, nil, "bookside.yaml: not YAML of the form"},
		{"bad YAML with its line", "db:\n  dsn: a\n   b: c\n", nil, nil, "line 3"},
		{"key that may be a secret", "wp:" + secret + "@tcp(h)/d: 1\n", nil, nil, "not a valid key"},
		{"second document", "db:\n  max_open: 4\n---\ndb:\n  dsn: " + secret + "\n", nil, nil, "bookside.yaml: contains a second YAML document, after a line ---"},
		{"second document, empty", "db:\n  max_open: 4\n---\n", nil, nil, "a second YAML document"},
		{"second document, bad", "db:\n  max_open: 4\n---\n*" + secret + "\n", nil, nil, "bookside.yaml: not YAML of the form"},
		{"missing file", "", nil, []string{"--config", "/nowhere/b.yaml"}, "configuration file: open /nowhere/b.yaml: no such file"},
		{"file of somebody else", "", nil, []string{"--config", "/proc/sys/vm/drop_caches"}, // not even root may read it
			"configuration file: open /proc/sys/vm/drop_caches: permission denied; run this as somebody who may read it, such as with sudo"},
		{"missing secret file", "", []string{"BOOKSIDE_DB__DSN_FILE=/nowhere/dsn"}, nil, "BOOKSIDE_DB__DSN_FILE: open /nowhere/dsn: no such file"},
		{"secret in place of its file", "", []string{"BOOKSIDE_DB__DSN_FILE=u:" + secret + "@tcp(h)/d"}, nil,
			"BOOKSIDE_DB__DSN_FILE: the file cannot be read: no such file or directory; a value itself belongs in BOOKSIDE_DB__DSN"},
		{"missing secret file of the file", "db:\n  dsn_file: /nowhere/dsn\n", nil, nil, "db.dsn_file: open /nowhere/dsn: no such file"},
		{"secret in place of its file in the file", "db:\n  dsn_file: u:" + secret + "@tcp(h)/d\n", nil, nil, "db.dsn_file: the file cannot be read: no such file or directory; a value itself belongs in "},
		{"secret twice in the file", "db:\n  dsn: " + secret + "\n  dsn_file: /nowhere/dsn\n", nil, nil, "db.dsn and db.dsn_file: set only one of them"},
		{"_FILE of no secret in the file", "db:\n  prefix_file: x\n", nil, nil, "db.prefix_file: no such setting"},
		{"secret twice", "", []string{"BOOKSIDE_DB__DSN=" + secret, "BOOKSIDE_DB__DSN_FILE=/nowhere/dsn"}, nil, "BOOKSIDE_DB__DSN and BOOKSIDE_DB__DSN_FILE: set only one of them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := configFrom(t, test.yaml, test.env, test.args...)
			var rejected *failure
			if !errors.As(err, &rejected) || rejected.code != exitUsage {
				t.Fatalf("error %v, want exit code %d", err, exitUsage)
			}
			wantTexts(t, err.Error(), test.want)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the secret is told: %v", err)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := configFrom(t, "db:\n  dns: x\n  max_open: a\n", []string{"BOOKSIDE_X=1"}, "--set", "log.levl=a")
	if err == nil {
		t.Fatal("no error")
	}
	wantTexts(t, err.Error(), "db.dns", "db.max_open", "BOOKSIDE_X", "log.levl")
}

// TestInvalidValuesAreReportedWithWrongTypes: what has the wrong type, is unknown or is not
// allowed is reported together, and each setting once.
func TestInvalidValuesAreReportedWithWrongTypes(t *testing.T) {
	t.Parallel()
	_, err := configFrom(t, "db:\n  max_open: a\n  acquire_timeout: 1ms\nlog:\n  level: loud\n  colour: red\n", nil)
	if err == nil {
		t.Fatal("no error")
	}
	wantTexts(t, err.Error(), "db.max_open: write a whole number", "db.acquire_timeout: write a duration of at least 10ms", "log.level: write debug", "log.colour: no such setting")
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("%d problems, want 4:\n%v", n, err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*config)
		want   string // "" if valid
	}{
		{"valid", func(*config) {}, ""},
		{"wp-config", func(c *config) { c.DB.DSN, c.WordPress.Config = "", "/wp-config.php" }, ""},
		{"no database", func(c *config) { c.DB.DSN = "" }, "db.dsn: write user:password@tcp(host:3306)/database (BOOKSIDE_DB__DSN), or name the site's wp-config.php"},
		{"two databases", func(c *config) { c.WordPress.Config = "/wp-config.php" }, "db.dsn: conflicts with wordpress.config"},
		{"DSN", func(c *config) { c.DB.DSN = "mysql://h/d" }, "db.dsn: cannot be read; write user:password@tcp(host:3306)/database"},
		{"DSN without database", func(c *config) { c.DB.DSN = "u:p@tcp(h)/" }, "db.dsn: cannot be read"},
		{"prefix", func(c *config) { c.DB.Prefix = "wp-" }, "db.prefix: write at most 40 letters, digits and _"},
		{"max_open", func(c *config) { c.DB.MaxOpen = 0 }, "db.max_open: write a number from 1 to 1000"},
		{"max_open, large", func(c *config) { c.DB.MaxOpen = 1001 }, "db.max_open: write a number from 1 to 1000"},
		{"acquire_timeout", func(c *config) { c.DB.AcquireTimeout = time.Millisecond }, "db.acquire_timeout: write a duration of at least 10ms"},
		{"connect_wait", func(c *config) { c.DB.ConnectWait = -1 }, "db.connect_wait: write a duration such as 30s"},
		{"no connect_wait", func(c *config) { c.DB.ConnectWait = 0 }, ""},
		{"exact_count_ms", func(c *config) { c.Lists.ExactCountMS = -1 }, "lists.exact_count_ms: write a number of milliseconds such as 20"},
		{"count_max_age", func(c *config) { c.Lists.CountMaxAge = 2 * time.Hour }, "lists.count_max_age: write a duration up to 1h, such as 5s, or 0s for exact totals"},
		{"statement_timeout", func(c *config) { c.DB.StatementTimeout = 0 }, "db.statement_timeout: write a duration of at least 100ms"},
		{"site_id", func(c *config) { c.WordPress.SiteID = -1 }, "wordpress.site_id: write the number of the site"},
		{"home", func(c *config) { c.WordPress.Home = "example.com" }, "wordpress.home: write an address such as https://example.com"},
		{"site_url", func(c *config) { c.WordPress.SiteURL = "https:///wp" }, "wordpress.site_url: write an address such as https://example.com/wordpress"},
		{"listen", func(c *config) { c.Server.Listen = "8080" }, "server.listen: write an address and a port"},
		{"listen, port", func(c *config) { c.Server.Listen = ":99999" }, "server.listen: write an address and a port"},
		{"listen, IPv6", func(c *config) { c.Server.Listen = "[::1]:80" }, ""},
		{"admin.listen", func(c *config) { c.Admin.Listen = "x" }, "admin.listen: write an address and a port"},
		{"admin.hosts", func(c *config) { c.Admin.Hosts = []string{"a.example", "http://b"} }, `admin.hosts: "http://b": write a host name`},
		{"admin.hosts with a port", func(c *config) { c.Admin.Hosts = []string{"a.example:80"} }, `admin.hosts: "a.example:80": write a host name`},
		{"admin.listen off", func(c *config) { c.Admin.Listen = "" }, ""},
		{"one address", func(c *config) { c.Admin.Listen = c.Server.Listen }, "admin.listen: is the same as server.listen"},
		{"one free port", func(c *config) { c.Admin.Listen, c.Server.Listen = "127.0.0.1:0", "127.0.0.1:0" }, ""},
		{"no base path", func(c *config) { c.Server.BasePaths = nil }, "server.base_paths: write at least one path"},
		{"base path", func(c *config) { c.Server.BasePaths = []string{"v1"} }, `server.base_paths: "v1": write a path that begins but does not end with /`},
		{"base path with slash", func(c *config) { c.Server.BasePaths = []string{"/v1/"} }, `server.base_paths: "/v1/": write a path`},
		{"base path with parameter", func(c *config) { c.Server.BasePaths = []string{"/:x"} }, `server.base_paths: "/:x": write a path`},
		{"base path twice", func(c *config) { c.Server.BasePaths = []string{"/v1", "/v1"} }, `server.base_paths: "/v1" is listed twice`},
		{"trusted proxy", func(c *config) { c.Server.TrustedProxies = []string{"proxy"} }, `server.trusted_proxies: "proxy": write an address or a network`},
		{"trusted proxies", func(c *config) { c.Server.TrustedProxies = []string{"10.0.0.0/8", "127.0.0.1", "::1"} }, ""},
		{"origin", func(c *config) { c.Server.CORSOrigins = []string{"example.com"} }, `server.cors_origins: "example.com": write scheme and host`},
		{"origin with path", func(c *config) { c.Server.CORSOrigins = []string{"https://example.com/"} }, "server.cors_origins:"},
		{"origins", func(c *config) { c.Server.CORSOrigins = []string{"https://example.com", "http://localhost:3000"} }, ""},
		{"every origin", func(c *config) { c.Server.CORSOrigins = []string{"*"} }, ""},
		{"request_timeout", func(c *config) { c.Server.RequestTimeout = time.Millisecond }, "server.request_timeout: write a duration of at least 1s"},
		{"max_concurrent", func(c *config) { c.Server.MaxConcurrent = -1 }, "server.max_concurrent: write a number"},
		{"no max_concurrent", func(c *config) { c.Server.MaxConcurrent = 0 }, ""},
		{"memory_mib", func(c *config) { c.Server.MemoryMiB = 63 }, "server.memory_mib: write a number from 64"},
		{"negative memory_mib", func(c *config) { c.Server.MemoryMiB = -1 }, "server.memory_mib: write a number from 64"},
		{"least memory_mib", func(c *config) { c.Server.MemoryMiB = 64 }, ""},
		{"header_timeout", func(c *config) { c.Server.HeaderTimeout = 0 }, "server.header_timeout: write a duration of at least 100ms"},
		{"write_timeout", func(c *config) { c.Server.WriteTimeout = 0 }, "server.write_timeout: write a duration of at least 100ms"},
		{"drain_delay", func(c *config) { c.Server.DrainDelay = -1 }, "server.drain_delay: write a duration"},
		{"shutdown_timeout", func(c *config) { c.Server.ShutdownTimeout = 0 }, "server.shutdown_timeout: write a duration"},
		{"query_parameter", func(c *config) { c.Auth.QueryParameter = "a b" }, "auth.query_parameter: write only letters, digits"},
		{"no query_parameter", func(c *config) { c.Auth.QueryParameter = "" }, ""},
		{"failed keys", func(c *config) { c.Auth.FailedKeysPerMinute = -1 }, "auth.failed_keys_per_minute: write a number"},
		{"live a minute", func(c *config) { c.RateLimit.LivePerMinute = 0 }, "rate_limit.live_per_minute: write a number from 1"},
		{"live an hour", func(c *config) { c.RateLimit.LivePerHour = 0 }, "rate_limit.live_per_hour: write a number from 1"},
		{"test a minute", func(c *config) { c.RateLimit.TestPerMinute = 0 }, "rate_limit.test_per_minute: write a number from 1"},
		{"test an hour", func(c *config) { c.RateLimit.TestPerHour = 0 }, "rate_limit.test_per_hour: write a number from 1"},
		{"Redis", func(c *config) { c.RateLimit.Redis = "redis://:p@h:6379/0" }, ""},
		{"Redis with TLS", func(c *config) { c.RateLimit.Redis = "rediss://u:p@h/0" }, ""},
		{"Redis by socket", func(c *config) { c.RateLimit.Redis = "unix:///run/redis.sock" }, ""},
		{"Redis without scheme", func(c *config) { c.RateLimit.Redis = "h:6379" }, "rate_limit.redis: cannot be read; write redis://user:password@host:6379/0"},
		{"Redis, database", func(c *config) { c.RateLimit.Redis = "redis://h/x" }, "rate_limit.redis: cannot be read"},
		{"timestamps", func(c *config) { c.Compat.Timestamps = "utc" }, "compat.timestamps: write stored or site"},
		{"meta keys", func(c *config) {
			c.Compat.BookingMetaKeys = []string{"zoom_join_url", "Zoom-ID", strings.Repeat("k", 110)}
		}, ""},
		{"a long meta key", func(c *config) { c.Compat.BookingMetaKeys = []string{strings.Repeat("k", 111)} }, "compat.booking_meta_keys: \"kkk"},
		{"an empty meta key", func(c *config) { c.Compat.BookingMetaKeys = []string{""} }, "compat.booking_meta_keys: \"\": write a key"},
		{"a meta key with a space", func(c *config) { c.Compat.BookingMetaKeys = []string{"zoom url"} }, "compat.booking_meta_keys: \"zoom url\": write a key"},
		{"a secret meta key", func(c *config) { c.Compat.BookingMetaKeys = []string{"Key_To_Manage_for_agent"} }, "compat.booking_meta_keys: \"Key_To_Manage_for_agent\": this value lets anyone manage the booking"},
		{"level", func(c *config) { c.Log.Level = "INFO+2" }, "log.level: write debug, info, warn or error"},
		{"format", func(c *config) { c.Log.Format = "xml" }, "log.format: write auto, text, json"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := defaultConfig()
			c.DB.DSN = "u:p@tcp(h)/d"
			test.change(&c)
			err := c.validate()
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && err == nil:
				t.Error("no error")
			case test.want != "":
				wantTexts(t, err.Error(), "\n  "+test.want)
			}
		})
	}
}

func TestValidateReportsAllProblems(t *testing.T) {
	t.Parallel()
	err := config{}.validate()
	if err == nil {
		t.Fatal("no error")
	}
	if got := strings.Count(err.Error(), "\n"); got < 10 {
		t.Errorf("%d problems: %v", got, err)
	}
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	env := []string{"BOOKSIDE_DB__DSN=wp:s3cret@tcp(db:3306)/site", "BOOKSIDE_DB__MAX_OPEN=20", "BOOKSIDE_SERVER__TRUSTED_PROXIES=10.0.0.0/8,::1"}
	got := run(t, env, "", "serve", "--print-config", "--set", "db.connect_wait=2m").want(t, exitOK)
	wantTexts(t, got.stdout, "dsn: wp:***@tcp(db:3306)/site\n", "max_open: 20\n", "prefix: wp_\n", "connect_wait: 2m0s\n", "- 10.0.0.0/8\n", "enabled: true\n")
	if strings.Contains(got.stdout+got.stderr, "s3cret") {
		t.Error("the password is printed")
	}
	// The output can be read back.
	c, err := configFrom(t, got.stdout, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := configFrom(t, "", env, "--set", "db.connect_wait=2m")
	if err != nil {
		t.Fatal(err)
	}
	want.DB.DSN = "wp:***@tcp(db:3306)/site"
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

// TestPrintConfigPrefix: the printed prefix is the one in wp-config.php, unless another
// one is set; a network site's number is printed separately.
func TestPrintConfigPrefix(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "wp-config.php", "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', 's3cret');\ndefine('DB_HOST', 'db');\n"+
		"define('WP_SITEURL', 'https://a.example/wp');\n$table_prefix = 'wpx_';\n")
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "prefix: wpx_\n"},
		{[]string{"--prefix", "abc_"}, "prefix: abc_\n"},
		{[]string{"--set", "wordpress.site_id=7"}, "prefix: wpx_\n"},
		{[]string{"--set", "wordpress.home=https://b.example"}, "home: https://b.example\n    site_id: 0\n    site_url: https://a.example/wp\n"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := run(t, nil, "", append([]string{"serve", "--print-config", "--wp-config", path}, test.args...)...).want(t, exitOK)
			wantTexts(t, got.stdout, test.want)
			if strings.Contains(got.stdout, "s3cret") {
				t.Error("the password is printed")
			}
		})
	}
	for _, directory := range []string{filepath.Dir(path), filepath.Dir(path) + "/"} {
		wantTexts(t, run(t, nil, "", "serve", "--print-config", "--wp-config", directory).want(t, exitOK).stdout, "prefix: wpx_\n", "config: "+path)
	}
	run(t, nil, "", "serve", "--print-config", "--wp-config", t.TempDir()).want(t, exitUsage, "wp-config.php", "no such file")
	run(t, nil, "", "serve", "--print-config", "--wp-config", "/nowhere/wp-config.php").want(t, exitUsage, "no such file")
}

// configOfSite returns the configuration of a site with a wp-config.php of this content, or
// with a DSN if there is none.
func configOfSite(t *testing.T, wpConfig string, args ...string) config {
	t.Helper()
	database := []string{"--set", "db.dsn=u:p@tcp(h)/d"}
	if wpConfig != "" {
		database = []string{"--wp-config", writeFile(t, "wp-config.php", wpConfig)}
	}
	c, err := configFrom(t, "", nil, append(database, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTargetAddresses: the site's addresses are the constants in wp-config.php, unless the
// configuration sets others.
func TestTargetAddresses(t *testing.T) {
	t.Parallel()
	const database = "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', '');\ndefine('DB_HOST', 'db');\n"
	const constants = database + "define('WP_HOME', 'https://a.example');\ndefine('WP_SITEURL', 'https://a.example/wp');\n"
	set := []string{"--set", "wordpress.home=https://b.example", "--set", "wordpress.site_url=https://b.example/wp"}
	for name, test := range map[string]struct {
		wpConfig      string // content; "" if a DSN is configured
		args          []string
		home, siteURL string
	}{
		"constants":               {constants, nil, "https://a.example", "https://a.example/wp"},
		"configured instead":      {constants, set, "https://b.example", "https://b.example/wp"},
		"no constants":            {database, nil, "", ""},
		"a computed constant":     {database + "define('WP_HOME', 'https://' . $host);\n", set[:2], "https://b.example", ""},
		"constants of a network":  {constants + "define('MULTISITE', true);\n", nil, "", ""},
		"a DSN and configuration": {"", set, "https://b.example", "https://b.example/wp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := configOfSite(t, test.wpConfig, test.args...)
			got, err := c.target()
			if err != nil || got.config.Home != test.home || got.config.SiteURL != test.siteURL {
				t.Errorf("%q and %q, error %v; want %q and %q", got.config.Home, got.config.SiteURL, err, test.home, test.siteURL)
			}
		})
	}
}

// TestTargetContent: wp-content is beside wp-config.php unless the file or the configuration
// names another.
func TestTargetContent(t *testing.T) {
	t.Parallel()
	const database = "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', '');\ndefine('DB_HOST', 'db');\n"
	const constant = database + "define('WP_CONTENT_DIR', '/srv/content');\n"
	set := []string{"--set", "wordpress.content=/srv/other"}
	for name, test := range map[string]struct {
		wpConfig string // content; "" if a DSN is configured
		args     []string
		want     string // below the directory of wp-config.php, if not absolute
	}{
		"beside wp-config.php":    {database, nil, "wp-content"},
		"a constant":              {constant, nil, "/srv/content"},
		"a computed constant":     {database + "define('WP_CONTENT_DIR', __DIR__ . '/app');\n", nil, "wp-content"},
		"configured instead":      {constant, set, "/srv/other"},
		"a DSN":                   {"", nil, ""},
		"a DSN and configuration": {"", set, "/srv/other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := configOfSite(t, test.wpConfig, test.args...)
			if test.want == "wp-content" {
				test.want = filepath.Join(filepath.Dir(c.WordPress.Config), test.want)
			}
			if got, err := c.target(); err != nil || got.config.Content != test.want {
				t.Errorf("%q, error %v; want %q", got.config.Content, err, test.want)
			}
		})
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	const password = "s3cret"
	wpConfig := func(lines string) string {
		return "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', '" + password + "');\ndefine('DB_HOST', 'db:3307');\n" + lines
	}
	tests := []struct {
		name       string
		wpConfig   string // content; "" if a DSN is configured
		args       []string
		wantPrefix string
		wantDSN    string
		wantErr    string
	}{
		{"DSN", "", nil, "wp_", "u:p@tcp(h)/d", ""},
		{"DSN with prefix", "", []string{"--prefix", "abc_"}, "abc_", "u:p@tcp(h)/d", ""},
		{"DSN of a network's site", "", []string{"--set", "wordpress.site_id=7"}, "wp_7_", "u:p@tcp(h)/d", ""},
		{"network's first site", "", []string{"--set", "wordpress.site_id=1"}, "wp_", "u:p@tcp(h)/d", ""},
		{"wp-config", wpConfig("$table_prefix = 'wpx_';"), nil, "wpx_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"wp-config of a network", wpConfig("$table_prefix = 'wpx_';"), []string{"--set", "wordpress.site_id=7"}, "wpx_7_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"prefix over wp-config", wpConfig("$table_prefix = 'wpx_';"), []string{"--prefix", "abc_"}, "abc_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"prefix over an unreadable one", wpConfig("$table_prefix = getenv('P');"), []string{"--prefix", "abc_"}, "abc_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"unreadable prefix", wpConfig("$table_prefix = getenv('P');"), nil, "", "", "set db.prefix (BOOKSIDE_DB__PREFIX) instead"},
		{"unreadable credentials", "<?php\ndefine('DB_NAME', getenv('X'));\n", nil, "", "", "set db.dsn (BOOKSIDE_DB__DSN) instead"},
		{"unreadable multisite", wpConfig("define('MULTISITE', f());"), nil, "", "", "set db.dsn (BOOKSIDE_DB__DSN) and db.prefix (BOOKSIDE_DB__PREFIX) instead"},
		{"unreadable PHP", wpConfig("$a = 'no end"), nil, "", "", "set db.dsn (BOOKSIDE_DB__DSN) and db.prefix (BOOKSIDE_DB__PREFIX) instead"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := configOfSite(t, test.wpConfig, test.args...)
			if err := c.validate(); err != nil {
				t.Fatal(err)
			}
			got, err := c.target()
			if test.wantErr != "" {
				if err == nil {
					t.Fatal("no error")
				}
				wantTexts(t, err.Error(), "wordpress.config: ", test.wantErr)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.config.Prefix != test.wantPrefix || got.config.DSN != test.wantDSN {
				t.Errorf("prefix %q, DSN %q; want %q, %q", got.config.Prefix, got.config.DSN, test.wantPrefix, test.wantDSN)
			}
			if printed := got.address + got.database + got.credentials; strings.Contains(printed, password) {
				t.Errorf("told to people: %s", printed)
			}
		})
	}
}

func TestMissingWPConfig(t *testing.T) {
	t.Parallel()
	run(t, nil, "", "serve", "--wp-config", "/nowhere/wp-config.php").want(t, exitUsage, "wordpress.config: ", "/nowhere/wp-config.php", "no such file")
}

// TestLocalhostWithoutASocket: whatever reads wp-config.php names the sockets that it looked for and
// the setting that names another, and connects to nothing else.
func TestLocalhostWithoutASocket(t *testing.T) {
	t.Parallel()
	var none *wpconfig.NoSocketError
	if _, _, err := wpconfig.ParseDBHost("localhost"); !errors.As(err, &none) {
		t.Skip("a database listens on a socket of this machine; the test needs one without")
	}
	path := writeFile(t, "wp-config.php", "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', 's3cret');\ndefine('DB_HOST', 'localhost');\n")
	for _, command := range [][]string{{"check"}, {"serve"}, {"migrate"}, {"keys", "list"}, {"indexes"}, {"webhooks", "list"}} {
		result := run(t, nil, "", append(command, "--wp-config", path)...)
		result.want(t, exitUnreachable, "wordpress.config: ", "line 5: DB_HOST is localhost", "/run/mysqld/mysqld.sock, ", "/tmp/mysql.sock", "set db.dsn (BOOKSIDE_DB__DSN)")
		if strings.Contains(result.stderr, "s3cret") {
			t.Errorf("%v prints the password: %s", command, result.stderr)
		}
	}
}

// TestLockWait: a transaction has time for all its attempts.
func TestLockWait(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]time.Duration{"1s": time.Second, "7s": time.Second, "15s": 3 * time.Second, "1m": 15 * time.Second} {
		c, err := configFrom(t, "", nil, "--set", "db.dsn=u@tcp(h)/d", "--set", "server.request_timeout="+request, "--set", "db.kill_abandoned=false")
		if err != nil {
			t.Fatal(err)
		}
		opened, err := c.target()
		if err != nil {
			t.Fatal(err)
		}
		if got := opened.config; got.LockWait != want || !got.NoKill {
			t.Errorf("%s: %v, kills %t; want %v and no kills", request, got.LockWait, !got.NoKill, want)
		}
	}
}

// TestRequestMemory: the memory for requests follows the runtime's limit, unless it is
// configured.
func TestRequestMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		configured    int
		limit, wanted int64
	}{
		"no limit":             {0, math.MaxInt64, 128 << 20},
		"the unit's limit":     {0, 192 << 20, 128 << 20},
		"a higher limit":       {0, 3 << 30, 2 << 30},
		"a limit too low":      {0, 32 << 20, 64 << 20},
		"configured":           {100, 192 << 20, 100 << 20},
		"configured, no limit": {100, math.MaxInt64, 100 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var c config
			c.Server.MemoryMiB = test.configured
			if got := c.requestMemory(test.limit); got != test.wanted {
				t.Errorf("%s: %d bytes, want %d", name, got, test.wanted)
			}
		})
	}
}
