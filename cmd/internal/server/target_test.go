package server

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// configOfSite returns the configuration of a site with a wp-config.php of this content, or with a DSN if
// it is empty.
func configOfSite(t *testing.T, wpConfig string, env ...string) settings.Config {
	t.Helper()
	database := "BOOKSIDE_DB__DSN=u:p@tcp(h)/d"
	if wpConfig != "" {
		database = "BOOKSIDE_WORDPRESS__CONFIG=" + fixtures.WriteFile(t, "wp-config.php", wpConfig)
	}
	c, err := settings.Read(append([]string{database}, env...), settings.Flags{})
	expect.NoError(t, err)
	return c
}

// TestTargetAddresses: the site's addresses are the constants in wp-config.php, unless the
// configuration sets others.
func TestTargetAddresses(t *testing.T) {
	t.Parallel()
	const database = "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', '');\ndefine('DB_HOST', 'db');\n"
	const constants = database + "define('WP_HOME', 'https://a.example');\ndefine('WP_SITEURL', 'https://a.example/wp');\n"
	set := []string{"BOOKSIDE_WORDPRESS__HOME=https://b.example", "BOOKSIDE_WORDPRESS__SITE_URL=https://b.example/wp"}
	for name, test := range map[string]struct {
		wpConfig      string // content; "" if a DSN is configured
		env           []string
		home, siteURL string
	}{
		"constants":               {constants, nil, "https://a.example", "https://a.example/wp"},
		"configured instead":      {constants, set, "https://b.example", "https://b.example/wp"},
		"no constants":            {database, nil, "", ""},
		"a computed constant":     {database + "define('WP_HOME', 'https://' . $host);\n", set[:1], "https://b.example", ""},
		"constants of a network":  {constants + "define('MULTISITE', true);\n", nil, "", ""},
		"a DSN and configuration": {"", set, "https://b.example", "https://b.example/wp"},
	} {
		c := configOfSite(t, test.wpConfig, test.env...)
		got, err := NewTarget(c)
		if err != nil || got.Config.Home != test.home || got.Config.SiteURL != test.siteURL {
			t.Errorf("%s: %q and %q, error %v; want %q and %q", name, got.Config.Home, got.Config.SiteURL, err, test.home, test.siteURL)
		}
	}
}

// TestTargetContent: wp-content is beside wp-config.php unless the file or the configuration
// names another.
func TestTargetContent(t *testing.T) {
	t.Parallel()
	const database = "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', '');\ndefine('DB_HOST', 'db');\n"
	const constant = database + "define('WP_CONTENT_DIR', '/srv/content');\n"
	set := []string{"BOOKSIDE_WORDPRESS__CONTENT=/srv/other"}
	for name, test := range map[string]struct {
		wpConfig string // content; "" if a DSN is configured
		env      []string
		want     string // below the directory of wp-config.php, if not absolute
	}{
		"beside wp-config.php":    {database, nil, "wp-content"},
		"a constant":              {constant, nil, "/srv/content"},
		"a computed constant":     {database + "define('WP_CONTENT_DIR', __DIR__ . '/app');\n", nil, "wp-content"},
		"configured instead":      {constant, set, "/srv/other"},
		"a DSN":                   {"", nil, ""},
		"a DSN and configuration": {"", set, "/srv/other"},
	} {
		c := configOfSite(t, test.wpConfig, test.env...)
		if test.want == "wp-content" {
			test.want = filepath.Join(filepath.Dir(c.WordPress.Config), test.want)
		}
		if got, err := NewTarget(c); err != nil || got.Config.Content != test.want {
			t.Errorf("%s: %q, error %v; want %q", name, got.Config.Content, err, test.want)
		}
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
		env        []string
		wantPrefix string
		wantDSN    string
		wantErr    string
	}{
		{"DSN", "", nil, "wp_", "u:p@tcp(h)/d", ""},
		{"DSN with prefix", "", []string{"BOOKSIDE_DB__PREFIX=abc_"}, "abc_", "u:p@tcp(h)/d", ""},
		{"DSN of a network's site", "", []string{"BOOKSIDE_WORDPRESS__SITE_ID=7"}, "wp_7_", "u:p@tcp(h)/d", ""},
		{"network's first site", "", []string{"BOOKSIDE_WORDPRESS__SITE_ID=1"}, "wp_", "u:p@tcp(h)/d", ""},
		{"wp-config", wpConfig("$table_prefix = 'wpx_';"), nil, "wpx_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"wp-config of a network", wpConfig("$table_prefix = 'wpx_';"), []string{"BOOKSIDE_WORDPRESS__SITE_ID=7"}, "wpx_7_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"prefix over wp-config", wpConfig("$table_prefix = 'wpx_';"), []string{"BOOKSIDE_DB__PREFIX=abc_"}, "abc_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"prefix over an unreadable one", wpConfig("$table_prefix = getenv('P');"), []string{"BOOKSIDE_DB__PREFIX=abc_"}, "abc_", "wp:s3cret@tcp(db:3307)/site", ""},
		{"unreadable prefix", wpConfig("$table_prefix = getenv('P');"), nil, "", "", "set db.prefix (BOOKSIDE_DB__PREFIX) instead"},
		{"unreadable credentials", "<?php\ndefine('DB_NAME', getenv('X'));\n", nil, "", "", "set db.dsn (BOOKSIDE_DB__DSN) instead"},
		{"unreadable multisite", wpConfig("$table_prefix = 'wpx_';\ndefine('MULTISITE', f());"), nil, "", "", "set db.prefix (BOOKSIDE_DB__PREFIX) instead"},
		{"character set", wpConfig("$table_prefix = 'wpx_';\ndefine('DB_CHARSET', 'latin1');"), nil, "", "", "line 7: DB_CHARSET is neither utf8 nor utf8mb4"},
		{"character set and a prefix", wpConfig("define('DB_CHARSET', 'latin1');"), []string{"BOOKSIDE_DB__PREFIX=abc_"}, "", "", "and set it to utf8mb4"},
		{"unreadable PHP", wpConfig("$a = 'no end"), nil, "", "", "set db.dsn (BOOKSIDE_DB__DSN) and db.prefix (BOOKSIDE_DB__PREFIX) instead"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := configOfSite(t, test.wpConfig, test.env...)
			expect.NoError(t, c.Validate())
			got, err := NewTarget(c)
			if test.wantErr != "" {
				if err == nil {
					t.Fatal("no error")
				}
				expect.Texts(t, err.Error(), "wordpress.config: ", test.wantErr)
				return
			}
			expect.NoError(t, err)
			if got.Config.Prefix != test.wantPrefix || got.Config.DSN != test.wantDSN {
				t.Errorf("prefix %q, DSN %q; want %q, %q", got.Config.Prefix, got.Config.DSN, test.wantPrefix, test.wantDSN)
			}
			expect.NoTexts(t, got.Address+got.Database+got.Credentials, password)
		})
	}
}

// TestLockWait: a transaction has time for all its attempts.
func TestLockWait(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]time.Duration{"1s": time.Second, "7s": time.Second, "15s": 3 * time.Second, "1m": 15 * time.Second} {
		opened, err := NewTarget(configOfSite(t, "", "BOOKSIDE_SERVER__REQUEST_TIMEOUT="+request))
		expect.NoError(t, err)
		expect.Equal(t, want, opened.Config.LockWait, request)
	}
}
