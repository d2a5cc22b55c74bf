package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb/wpconfig"
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
	expect.NoError(t, flags.Parse(args))
	return settings.Read(env, given)
}

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	env := []string{"BOOKSIDE_DB__DSN=wp:s3cret@tcp(db:3306)/site", "BOOKSIDE_DB__MAX_OPEN=20", "BOOKSIDE_SERVER__TRUSTED_PROXIES=10.0.0.0/8,::1"}
	got := run(t, env, "", "serve", "--print-config", "--set", "server.request_timeout=2m").want(t, exit.OK)
	expect.Texts(t, got.stdout, "dsn: wp:***@tcp(db:3306)/site\n", "max_open: 20\n", "prefix: wp_\n", "request_timeout: 2m0s\n", "- 10.0.0.0/8\n", "enabled: true\n")
	expect.NoTexts(t, got.stdout+got.stderr, "s3cret")
	// The output can be read back.
	c, err := configFrom(t, got.stdout, nil)
	expect.NoError(t, err)
	want, err := configFrom(t, "", env, "--set", "server.request_timeout=2m")
	expect.NoError(t, err)
	want.DB.DSN = "wp:***@tcp(db:3306)/site"
	expect.Equal(t, want, c)
}

// TestPrintConfigPrefix: the printed prefix is the one in wp-config.php, unless another is set; a network
// site's number is printed separately.
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
		{[]string{"--set", "wordpress.home=https://b.example"}, "home: https://b.example\n    loopback: \"\"\n    site_id: 0\n    site_url: https://a.example/wp\n"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := run(t, nil, "", append([]string{"serve", "--print-config", "--wp-config", path}, test.args...)...).want(t, exit.OK)
			expect.Texts(t, got.stdout, test.want)
			expect.NoTexts(t, got.stdout, "s3cret")
		})
	}
	for _, directory := range []string{filepath.Dir(path), filepath.Dir(path) + "/"} {
		expect.Texts(t, run(t, nil, "", "serve", "--print-config", "--wp-config", directory).want(t, exit.OK).stdout, "prefix: wpx_\n", "config: "+path)
	}
	run(t, nil, "", "serve", "--print-config", "--wp-config", t.TempDir()).want(t, exit.Usage, "wp-config.php", "no such file")
	run(t, nil, "", "serve", "--print-config", "--wp-config", "/nowhere/wp-config.php").want(t, exit.Usage, "no such file")
}

// TestLocalhostWithoutASocket: every reader of wp-config.php names the sockets that it looked for and the
// setting for another one, and connects to nothing else.
func TestLocalhostWithoutASocket(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "wp-config.php", "<?php\ndefine('DB_NAME', 'site');\ndefine('DB_USER', 'wp');\ndefine('DB_PASSWORD', 's3cret');\ndefine('DB_HOST', 'localhost');\n")
	var none *wpconfig.NoSocketError
	if _, err := wpconfig.Read(path); !errors.As(err, &none) {
		fixtures.LacksServer(t, "a database listens on a usual socket of this machine, and this test needs one without")
	}
	for _, command := range [][]string{{"check"}, {"serve"}, {"migrate"}, {"keys", "list"}, {"indexes"}} {
		result := run(t, nil, "", append(command, "--wp-config", path)...)
		result.want(t, exit.Unreachable, "wordpress.config: ", "line 5: DB_HOST is localhost", "/run/mysqld/mysqld.sock, ", "/tmp/mysql.sock", "set db.dsn (BOOKSIDE_DB__DSN)")
		expect.NoTexts(t, result.stderr, "s3cret")
	}
}
