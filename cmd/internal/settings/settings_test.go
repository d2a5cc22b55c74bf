package settings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// configFrom reads a configuration from the three sources; yaml may be empty.
func configFrom(t *testing.T, yaml string, env []string, args ...string) (Config, error) {
	t.Helper()
	if yaml != "" {
		args = append([]string{"--config", fixtures.WriteFile(t, "bookside.yaml", yaml)}, args...)
	}
	var given Flags
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	given.Define(flags)
	given.Short(flags, "listen", Listen, "")
	expect.NoError(t, flags.Parse(args))
	return Read(env, given)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := configFrom(t, "", nil)
	expect.NoError(t, err)
	want := Default()
	want.DB.Prefix = "wp_"
	expect.Equal(t, want, got)
}

func TestLayers(t *testing.T) {
	t.Parallel()
	const yaml = "server:\n  listen: 127.0.0.1:1\n  request_timeout: 1m30s\ndb:\n  max_open: 1\n"
	env := []string{"BOOKSIDE_SERVER__LISTEN=127.0.0.1:2", "BOOKSIDE_DB__MAX_OPEN=2"}
	tests := []struct {
		name        string
		yaml        string
		env         []string
		args        []string
		wantListen  string
		wantOpen    int
		wantTimeout time.Duration
	}{
		{"defaults", "", nil, nil, "127.0.0.1:8080", 10, 15 * time.Second},
		{"file", yaml, nil, nil, "127.0.0.1:1", 1, 90 * time.Second},
		{"environment over defaults", "", env, nil, "127.0.0.1:2", 2, 15 * time.Second},
		{"environment over file", yaml, env, nil, "127.0.0.1:2", 2, 90 * time.Second},
		{"flag over environment", yaml, env, []string{"--listen", "127.0.0.1:3"}, "127.0.0.1:3", 2, 90 * time.Second},
		{"--set over environment", yaml, env, []string{"--set", "db.max_open=3"}, "127.0.0.1:2", 3, 90 * time.Second},
		{"last flag", yaml, env, []string{"--set", "server.listen=127.0.0.1:4", "--listen=127.0.0.1:5"}, "127.0.0.1:5", 2, 90 * time.Second},
		{"last --set", yaml, env, []string{"--listen=127.0.0.1:5", "--set", "server.listen=127.0.0.1:4"}, "127.0.0.1:4", 2, 90 * time.Second},
		{"empty sections", "server:\ndb: {}\nlog:\n  level:\n", nil, nil, "127.0.0.1:8080", 10, 15 * time.Second},
		{"empty file", "# nothing yet\n", nil, nil, "127.0.0.1:8080", 10, 15 * time.Second},
		{"one document", "# settings\n---\ndb:\n  max_open: 7\n...\n", nil, nil, "127.0.0.1:8080", 7, 15 * time.Second},
		{"keys with dots", "db.max_open: 7\n", nil, nil, "127.0.0.1:8080", 7, 15 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := configFrom(t, test.yaml, test.env, test.args...)
			expect.NoError(t, err)
			if c.Server.Listen != test.wantListen || c.DB.MaxOpen != test.wantOpen || c.Server.RequestTimeout != test.wantTimeout {
				t.Errorf("listen %s, max_open %d, request_timeout %s; want %s, %d, %s",
					c.Server.Listen, c.DB.MaxOpen, c.Server.RequestTimeout, test.wantListen, test.wantOpen, test.wantTimeout)
			}
			expect.Equal(t, "info", c.Log.Level, "log.level")
		})
	}
}

// TestEverySetting sets each key by file, environment and flag.
func TestEverySetting(t *testing.T) {
	t.Parallel()
	var want Config
	want.DB.DSN, want.DB.Prefix, want.DB.MaxOpen = "u:p=q,r@tcp(h)/d", "abc_", 3
	want.Limits = StandardLimits()
	want.DB.TLS, want.DB.TLSCA = "verify", "/ca.pem"
	want.WordPress.Config, want.WordPress.SiteID = "/wp-config.php", 4
	want.WordPress.Home, want.WordPress.SiteURL, want.WordPress.Content = "https://a.example", "https://a.example/wp", "/wp-content"
	want.WordPress.Loopback = "http://127.0.0.1:81"
	want.Server.Listen, want.Server.BasePaths = ":1", []string{"/a", "/b"}
	want.Server.TrustedProxies, want.Server.CORSOrigins = []string{"10.0.0.0/8"}, []string{}
	want.Server.RequestTimeout = 3 * time.Second
	want.Admin.Listen, want.Admin.Hosts = "", []string{"keys.example.com", "b"}
	want.RateLimit.LivePerMinute, want.RateLimit.LivePerHour = 1, 2
	want.RateLimit.TestPerMinute, want.RateLimit.TestPerHour = 3, 4
	want.RateLimit.Redis = "redis://u:p=q,r@h:1/2"
	want.Compat.Timestamps, want.Compat.BookingMetaKeys, want.Log.Level = "site", []string{"zoom_join_url", "x-y"}, "debug"
	want.Log.Clients, want.Extensions.Unknown, want.Bookings.DefaultStatus = true, "refuse", "site"
	want.Extensions.Unreachable = "serve"
	want.Changes.Keep = 48 * time.Hour
	want.Webhooks.Enabled, want.Webhooks.SecretKey, want.Webhooks.AllowPrivate = false, strings.Repeat("k", 43)+"=", true
	want.Admin.BaseURL, want.Admin.TrustedUserHeader, want.Requests.Keep = "https://bookings.example.com", "X-Forwarded-User", 100
	samples := []struct{ key, value, yaml string }{
		{"db.dsn", "u:p=q,r@tcp(h)/d", ""}, {"db.prefix", "abc_", ""}, {"db.max_open", "3", ""},
		{"db.tls", "verify", ""}, {"db.tls_ca", "/ca.pem", ""},
		{"wordpress.config", "/wp-config.php", ""}, {"wordpress.site_id", "4", ""},
		{"wordpress.home", "https://a.example", ""}, {"wordpress.site_url", "https://a.example/wp", ""}, {"wordpress.content", "/wp-content", ""}, {"wordpress.loopback", "http://127.0.0.1:81", ""},
		{"server.listen", ":1", `":1"`}, {"server.base_paths", "/a, /b", "[/a, /b]"}, {"server.trusted_proxies", "10.0.0.0/8", "[10.0.0.0/8]"},
		{"server.request_timeout", "3s", ""}, {"server.cors_origins", "", "[]"},
		{"admin.listen", "", `""`}, {"admin.base_url", "https://bookings.example.com", ""}, {"admin.trusted_user_header", "X-Forwarded-User", ""}, {"admin.hosts", "keys.example.com, b", "[keys.example.com, b]"},
		{"auth.query_parameter", "", `""`},
		{"rate_limit.live_per_minute", "1", ""}, {"rate_limit.live_per_hour", "2", ""},
		{"rate_limit.test_per_minute", "3", ""}, {"rate_limit.test_per_hour", "4", ""},
		{"rate_limit.redis", "redis://u:p=q,r@h:1/2", ""},
		{"bookings.default_status", "site", ""}, {"compat.timestamps", "site", ""}, {"compat.booking_meta_keys", "zoom_join_url, x-y", "[zoom_join_url, x-y]"}, {"log.level", "debug", ""}, {"log.clients", "true", ""},
		{"changes.keep", "48h", ""}, {"requests.keep", "100", ""},
		{"webhooks.enabled", "false", ""}, {"webhooks.secret_key", strings.Repeat("k", 43) + "=", ""}, {"webhooks.allow_private", "true", ""},
		{"extensions.unreachable", "serve", ""},
		{"extensions.unknown", "refuse", ""},
	}
	l, err := newLayers()
	expect.NoError(t, err)
	if len(samples) != len(l.defaults) {
		t.Fatalf("%d settings are tested of %d", len(samples), len(l.defaults))
	}
	var yaml strings.Builder
	var env, args []string
	for _, s := range samples {
		env = append(env, EnvName(s.key)+"="+s.value)
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
			expect.NoError(t, err)
			expect.Equal(t, want, got)
		})
	}
}

func TestConfigFileByEnvironment(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "a.yaml", "db:\n  max_open: 4\n")
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
	path := fixtures.WriteFile(t, "dsn", "u:p@tcp(h)/d\n")
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
	expect.Succeeded(t, err)
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
		{"boolean", "log:\n  clients: maybe\n", nil, nil, "log.clients: write true or false"},
		{"boolean as a number", "log:\n  clients: 1\n", nil, nil, "log.clients: write true or false"},
		{"time without unit in the file", "server:\n  request_timeout: 30\n", nil, nil, "server.request_timeout: write a duration with its unit, such as 15s"},
		{"time without unit in a flag", "", nil, []string{"--set", "server.request_timeout=30"}, "--set server.request_timeout: write a duration with its unit"},
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
		_, err := configFrom(t, test.yaml, test.env, test.args...)
		var rejected *exit.Error
		if !errors.As(err, &rejected) || rejected.Code != exit.Usage {
			t.Fatalf("%s: error %v, want exit code %d", test.name, err, exit.Usage)
		}
		expect.Texts(t, err.Error(), test.want)
		expect.NoTexts(t, err.Error(), secret)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := configFrom(t, "db:\n  dns: x\n  max_open: a\n", []string{"BOOKSIDE_X=1"}, "--set", "log.levl=a")
	if err == nil {
		t.Fatal("no error")
	}
	expect.Texts(t, err.Error(), "db.dns", "db.max_open", "BOOKSIDE_X", "log.levl")
}

// TestInvalidValuesAreReportedWithWrongTypes: wrong types, unknown keys and values that are not allowed are
// reported together, and each setting once.
func TestInvalidValuesAreReportedWithWrongTypes(t *testing.T) {
	t.Parallel()
	_, err := configFrom(t, "db:\n  max_open: a\nserver:\n  request_timeout: 1ms\nlog:\n  level: loud\n  colour: red\n", nil)
	if err == nil {
		t.Fatal("no error")
	}
	expect.Texts(t, err.Error(), "db.max_open: write a whole number", "server.request_timeout: write a duration of at least 1s", "log.level: write debug", "log.colour: no such setting")
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("%d problems, want 4:\n%v", n, err)
	}
}

// validation is a change to a valid configuration, and the problem that it causes.
type validation struct {
	name   string
	change func(*Config)
	want   string // "" if valid
}

// validate applies each change to a copy of a valid configuration.
func validate(t *testing.T, base Config, tests []validation) {
	t.Helper()
	for _, test := range tests {
		c := base
		test.change(&c)
		err := c.Validate()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && err == nil:
			t.Errorf("%s: no error", test.name)
		case test.want != "":
			expect.Texts(t, err.Error(), "\n  "+test.want)
		}
	}
}

// valid returns a valid configuration.
func valid() Config {
	c := Default()
	c.DB.DSN = "u:p@tcp(h)/d"
	return c
}

func TestValidate(t *testing.T) {
	t.Parallel()
	validate(t, valid(), []validation{
		{"valid", func(*Config) {}, ""},
		{"wp-config", func(c *Config) { c.DB.DSN, c.WordPress.Config = "", "/wp-config.php" }, ""},
		{"no database", func(c *Config) { c.DB.DSN = "" }, "db.dsn: write user:password@tcp(host:3306)/database (BOOKSIDE_DB__DSN), or name the site's wp-config.php"},
		{"two databases", func(c *Config) { c.WordPress.Config = "/wp-config.php" }, "db.dsn: conflicts with wordpress.config"},
		{"DSN", func(c *Config) { c.DB.DSN = "mysql://h/d" }, "db.dsn: cannot be read; write user:password@tcp(host:3306)/database"},
		{"DSN without database", func(c *Config) { c.DB.DSN = "u:p@tcp(h)/" }, "db.dsn: cannot be read"},
		{"prefix", func(c *Config) { c.DB.Prefix = "wp-" }, "db.prefix: write at most 40 letters, digits and _"},
		{"max_open", func(c *Config) { c.DB.MaxOpen = 0 }, "db.max_open: write a number from 1 to 1000"},
		{"max_open, large", func(c *Config) { c.DB.MaxOpen = 1001 }, "db.max_open: write a number from 1 to 1000"},
		{"site_id", func(c *Config) { c.WordPress.SiteID = -1 }, "wordpress.site_id: write the number of the site"},
		{"home", func(c *Config) { c.WordPress.Home = "example.com" }, "wordpress.home: write an address such as https://example.com"},
		{"site_url", func(c *Config) { c.WordPress.SiteURL = "https:///wp" }, "wordpress.site_url: write an address such as https://example.com/wordpress"},
		{"listen", func(c *Config) { c.Server.Listen = "8080" }, "server.listen: write an address and a port"},
		{"listen, port", func(c *Config) { c.Server.Listen = ":99999" }, "server.listen: write an address and a port"},
		{"listen, IPv6", func(c *Config) { c.Server.Listen = "[::1]:80" }, ""},
		{"admin.listen", func(c *Config) { c.Admin.Listen = "x" }, "admin.listen: write an address and a port"},
		{"admin.hosts", func(c *Config) { c.Admin.Hosts = []string{"a.example", "http://b"} }, `admin.hosts: "http://b": write a host name`},
		{"admin.hosts with a port", func(c *Config) { c.Admin.Hosts = []string{"a.example:80"} }, `admin.hosts: "a.example:80": write a host name`},
		{"admin.base_url", func(c *Config) { c.Admin.BaseURL = "https://a.example/console" }, "admin.base_url: write scheme and host"},
		{"admin.base_url for all", func(c *Config) { c.Admin.BaseURL = "*" }, "admin.base_url: write scheme and host"},
		{"admin.trusted_user_header", func(c *Config) {
			c.Admin.TrustedUserHeader, c.Server.TrustedProxies = "X User", []string{"127.0.0.1"}
		}, "admin.trusted_user_header: write the name of a header"},
		{"admin.trusted_user_header of nobody", func(c *Config) { c.Admin.TrustedUserHeader = "X-User" }, "admin.trusted_user_header: needs the address of that web server in server.trusted_proxies"},
		{"admin.listen off", func(c *Config) { c.Admin.Listen = "" }, ""},
		{"one address", func(c *Config) { c.Admin.Listen = c.Server.Listen }, "admin.listen: is the same as server.listen"},
		{"one free port", func(c *Config) { c.Admin.Listen, c.Server.Listen = "127.0.0.1:0", "127.0.0.1:0" }, ""},
		{"no base path", func(c *Config) { c.Server.BasePaths = nil }, "server.base_paths: write at least one path"},
		{"base path", func(c *Config) { c.Server.BasePaths = []string{"v1"} }, `server.base_paths: "v1": write a path that begins but does not end with /`},
		{"base path with slash", func(c *Config) { c.Server.BasePaths = []string{"/v1/"} }, `server.base_paths: "/v1/": write a path`},
		{"base path with parameter", func(c *Config) { c.Server.BasePaths = []string{"/:x"} }, `server.base_paths: "/:x": write a path`},
		{"base path twice", func(c *Config) { c.Server.BasePaths = []string{"/v1", "/v1"} }, `server.base_paths: "/v1" is listed twice`},
		{"trusted proxy", func(c *Config) { c.Server.TrustedProxies = []string{"proxy"} }, `server.trusted_proxies: "proxy": write an address or a network`},
		{"trusted proxies", func(c *Config) { c.Server.TrustedProxies = []string{"10.0.0.0/8", "127.0.0.1", "::1"} }, ""},
		{"origin", func(c *Config) { c.Server.CORSOrigins = []string{"example.com"} }, `server.cors_origins: "example.com": write scheme and host`},
		{"origin with path", func(c *Config) { c.Server.CORSOrigins = []string{"https://example.com/"} }, "server.cors_origins:"},
		{"origins", func(c *Config) { c.Server.CORSOrigins = []string{"https://example.com", "http://localhost:3000"} }, ""},
		{"every origin", func(c *Config) { c.Server.CORSOrigins = []string{"*"} }, ""},
		{"request_timeout", func(c *Config) { c.Server.RequestTimeout = time.Millisecond }, "server.request_timeout: write a duration of at least 1s"},
		{"query_parameter", func(c *Config) { c.Auth.QueryParameter = "a b" }, "auth.query_parameter: write only letters, digits"},
		{"no query_parameter", func(c *Config) { c.Auth.QueryParameter = "" }, ""},
		{"live a minute", func(c *Config) { c.RateLimit.LivePerMinute = 0 }, "rate_limit.live_per_minute: write a number from 1"},
		{"live an hour", func(c *Config) { c.RateLimit.LivePerHour = 0 }, "rate_limit.live_per_hour: write a number from 1"},
		{"test a minute", func(c *Config) { c.RateLimit.TestPerMinute = 0 }, "rate_limit.test_per_minute: write a number from 1"},
		{"test an hour", func(c *Config) { c.RateLimit.TestPerHour = 0 }, "rate_limit.test_per_hour: write a number from 1"},
		{"Redis", func(c *Config) { c.RateLimit.Redis = "redis://:p@h:6379/0" }, ""},
		{"Redis with TLS", func(c *Config) { c.RateLimit.Redis = "rediss://u:p@h/0" }, ""},
		{"Redis by socket", func(c *Config) { c.RateLimit.Redis = "unix:///run/redis.sock" }, ""},
		{"Redis without scheme", func(c *Config) { c.RateLimit.Redis = "h:6379" }, "rate_limit.redis: cannot be read; write redis://user:password@host:6379/0"},
		{"Redis, database", func(c *Config) { c.RateLimit.Redis = "redis://h/x" }, "rate_limit.redis: cannot be read"},
		{"timestamps", func(c *Config) { c.Compat.Timestamps = "utc" }, "compat.timestamps: write stored or site"},
		{"meta keys", func(c *Config) {
			c.Compat.BookingMetaKeys = []string{"zoom_join_url", "Zoom-ID", strings.Repeat("k", 110)}
		}, ""},
		{"a long meta key", func(c *Config) { c.Compat.BookingMetaKeys = []string{strings.Repeat("k", 111)} }, "compat.booking_meta_keys: \"kkk"},
		{"an empty meta key", func(c *Config) { c.Compat.BookingMetaKeys = []string{""} }, "compat.booking_meta_keys: \"\": write a key"},
		{"a meta key with a space", func(c *Config) { c.Compat.BookingMetaKeys = []string{"zoom url"} }, "compat.booking_meta_keys: \"zoom url\": write a key"},
		{"a secret meta key", func(c *Config) { c.Compat.BookingMetaKeys = []string{"Key_To_Manage_for_agent"} }, "compat.booking_meta_keys: \"Key_To_Manage_for_agent\": this value lets anyone manage the booking"},
		{"default status", func(c *Config) { c.Bookings.DefaultStatus = "pending" }, "bookings.default_status: write approved or site"},
		{"extensions", func(c *Config) { c.Extensions.Unknown = "ask" }, "extensions.unknown: write serve or refuse"},
		{"without WordPress", func(c *Config) { c.Extensions.Unreachable = "" }, "extensions.unreachable: write refuse or serve"},
		{"level", func(c *Config) { c.Log.Level = "INFO+2" }, "log.level: write debug, info, warn or error"},
	})
}

func TestValidateReportsAllProblems(t *testing.T) {
	t.Parallel()
	err := Config{}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	if got := strings.Count(err.Error(), "\n"); got < 10 {
		t.Errorf("%d problems: %v", got, err)
	}
}
