package setup

import (
	"os"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestConfigure(t *testing.T) {
	t.Parallel()
	assignments := []assignment{{"db", "dsn_file", "/etc/bookside/dsn"}, {"db", "prefix", "7"}, {"server", "trusted_proxies", []string{"127.0.0.1", "::1"}}, {"wordpress", "site_id", 3}}
	for _, test := range []struct{ name, before, want string }{
		{"none yet", "", "# Written by \"bookside setup\"; \"bookside help config\" lists all settings.\n\ndb:\n  prefix: \"7\"\n  dsn_file: /etc/bookside/dsn\n\nserver:\n  trusted_proxies: [127.0.0.1, '::1']\n\nwordpress:\n  site_id: 3\n"},
		{"somebody's", "mail:\n    enabled: true # always\nserver:\n  # mine\n  max_concurrent: 7\ndb: # here\n  max_open: 3\n",
			"mail:\n    enabled: true # always\nserver:\n  trusted_proxies: [127.0.0.1, '::1']\n  # mine\n  max_concurrent: 7\ndb: # here\n  prefix: \"7\"\n  dsn_file: /etc/bookside/dsn\n  max_open: 3\n\nwordpress:\n  site_id: 3\n"},
	} {
		got, err := configure(test.before, assignments)
		if err != nil || got != test.want {
			t.Errorf("%s: %v, got:\n%s\nwant:\n%s", test.name, err, got, test.want)
		}
	}
	for name, before := range map[string]string{"in braces": "db: {max_open: 3}\n", "keys with dots": "db.prefix: wp_\n", "there already": "db:\n  prefix: wp_\n", "otherwise indented": "db:\n    max_open: 3\n"} {
		if _, err := configure(before, assignments); err == nil || !strings.Contains(err.Error(), "setup cannot write") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigurePackaged: the packages' configuration can be edited.
func TestConfigurePackaged(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../docker/package/config.yaml")
	expect.NoError(t, err)
	got, err := configure(string(content), []assignment{{"db", "dsn_file", "/etc/bookside/dsn"}, {"db", "prefix", "wp_"}, {"admin", "listen", "127.0.0.1:9"}})
	expect.NoError(t, err)
	expect.Equal(t, 3, strings.Count(got, "\n")-strings.Count(string(content), "\n"), "lines added")
}
