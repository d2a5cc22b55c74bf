package main

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"bookside/cmd/internal/exit"
	"bookside/cmd/internal/settings"
	"bookside/fixtures"
	"bookside/wpdb/wpconfig"
)

// configFrom reads a configuration from the three sources; yaml may be empty.
func configFrom(t *testing.T, yaml string, env []string, args ...string) (settings.Config, error) {
	t.Helper()
	if yaml != "" {
		args = append([]string{"--config", fixtures.WriteFile(t, "bookside.yaml", yaml)}, args...)
	}
	var given settings.Flags
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	given.Define(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return settings.Read(env, given)
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	env := []string{"BOOKSIDE_DB__DSN=wp:s3cret@tcp(db:3306)/site", "BOOKSIDE_DB__MAX_OPEN=20", "BOOKSIDE_SERVER__TRUSTED_PROXIES=10.0.0.0/8,::1"}
	got := run(t, env, "", "serve", "--print-config", "--set", "db.connect_wait=2m").want(t, exit.OK)
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
	path := fixtures.WriteFile(t, "wp-config.php", "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', 's3cret');\ndefine('DB_HOST', 'db');\n"+
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
			got := run(t, nil, "", append([]string{"serve", "--print-config", "--wp-config", path}, test.args...)...).want(t, exit.OK)
			wantTexts(t, got.stdout, test.want)
			if strings.Contains(got.stdout, "s3cret") {
				t.Error("the password is printed")
			}
		})
	}
	for _, directory := range []string{filepath.Dir(path), filepath.Dir(path) + "/"} {
		wantTexts(t, run(t, nil, "", "serve", "--print-config", "--wp-config", directory).want(t, exit.OK).stdout, "prefix: wpx_\n", "config: "+path)
	}
	run(t, nil, "", "serve", "--print-config", "--wp-config", t.TempDir()).want(t, exit.Usage, "wp-config.php", "no such file")
	run(t, nil, "", "serve", "--print-config", "--wp-config", "/nowhere/wp-config.php").want(t, exit.Usage, "no such file")
}

// configOfSite returns the configuration of a site with a wp-config.php of this content, or
// with a DSN if there is none.
func configOfSite(t *testing.T, wpConfig string, args ...string) settings.Config {
	t.Helper()
	database := []string{"--set", "db.dsn=u:p@tcp(h)/d"}
	if wpConfig != "" {
		database = []string{"--wp-config", fixtures.WriteFile(t, "wp-config.php", wpConfig)}
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
			got, err := newTarget(c)
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
			if got, err := newTarget(c); err != nil || got.config.Content != test.want {
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
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			got, err := newTarget(c)
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
	run(t, nil, "", "serve", "--wp-config", "/nowhere/wp-config.php").want(t, exit.Usage, "wordpress.config: ", "/nowhere/wp-config.php", "no such file")
}

// TestLocalhostWithoutASocket: whatever reads wp-config.php names the sockets that it looked for and
// the setting that names another, and connects to nothing else.
func TestLocalhostWithoutASocket(t *testing.T) {
	t.Parallel()
	var none *wpconfig.NoSocketError
	if _, _, err := wpconfig.ParseDBHost("localhost"); !errors.As(err, &none) {
		fixtures.LacksServer(t, "a database listens on a usual socket of this machine, and this test needs one without")
	}
	path := fixtures.WriteFile(t, "wp-config.php", "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', 's3cret');\ndefine('DB_HOST', 'localhost');\n")
	for _, command := range [][]string{{"check"}, {"serve"}, {"migrate"}, {"keys", "list"}, {"indexes"}, {"webhooks", "list"}} {
		result := run(t, nil, "", append(command, "--wp-config", path)...)
		result.want(t, exit.Unreachable, "wordpress.config: ", "line 5: DB_HOST is localhost", "/run/mysqld/mysqld.sock, ", "/tmp/mysql.sock", "set db.dsn (BOOKSIDE_DB__DSN)")
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
		opened, err := newTarget(c)
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
			var c settings.Config
			c.Server.MemoryMiB = test.configured
			if got := requestMemory(c, test.limit); got != test.wanted {
				t.Errorf("%s: %d bytes, want %d", name, got, test.wanted)
			}
		})
	}
}
