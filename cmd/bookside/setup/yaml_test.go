package setup

import (
	"os"
	"strings"
	"testing"
)

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %q", err, text)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	assignments := []assignment{{"db", "dsn", nil}, {"db", "dsn_file", "/etc/bookside/dsn"}, {"db", "prefix", "7"}, {"server", "trusted_proxies", []string{"127.0.0.1", "::1"}}, {"wordpress", "site_id", 3}}
	for _, test := range []struct{ name, before, want string }{
		{"none yet", "", "# Written by \"bookside setup\"; \"bookside help config\" lists all settings.\n\ndb:\n  prefix: \"7\"\n  dsn_file: /etc/bookside/dsn\n\nserver:\n  trusted_proxies: [127.0.0.1, '::1']\n\nwordpress:\n  site_id: 3\n"},
		{"of the packages", "db:\n  # the database\n  #dsn: \"\"\n  # the prefix\n  #prefix: \"\"\n  #max_open: 10\n\nserver:\n  #trusted_proxies: []\n\nwordpress:\n  #site_id: 0\n",
			"db:\n  # the database\n  #dsn: \"\"\n  dsn_file: /etc/bookside/dsn\n  # the prefix\n  #prefix: \"\"\n  prefix: \"7\"\n  #max_open: 10\n\nserver:\n  #trusted_proxies: []\n  trusted_proxies: [127.0.0.1, '::1']\n\nwordpress:\n  #site_id: 0\n  site_id: 3\n"},
		{"somebody's", "mail:\n    enabled: true # always\nserver:\n    trusted_proxies:\n      - 10.0.0.1\n      - 10.0.0.2\n    # mine\n    max_concurrent: 7\ndb:\n    dsn: secret\n    max_open: 3\n",
			"mail:\n    enabled: true # always\nserver:\n    trusted_proxies: [127.0.0.1, '::1']\n    # mine\n    max_concurrent: 7\ndb:\n    prefix: \"7\"\n    dsn_file: /etc/bookside/dsn\n    max_open: 3\n\nwordpress:\n  site_id: 3\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := configure(test.before, assignments)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
			again, err := configure(got, assignments)
			if err != nil || again != got {
				t.Errorf("once more, %v:\n%s", err, again)
			}
		})
	}
	for name, before := range map[string]string{"in braces": "db: {max_open: 3}\n", "keys with dots": "db.prefix: wp_\n", "no YAML": "\tdb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := configure(before, assignments)
			wantError(t, err, "is not of the form that setup can edit")
		})
	}
}

// TestConfigurePackaged: the packages' configuration can be edited.
func TestConfigurePackaged(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../docker/package/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := configure(string(content), []assignment{{"db", "dsn_file", "/etc/bookside/dsn"}, {"db", "prefix", "wp_"}, {"admin", "listen", "127.0.0.1:9"}})
	if err != nil {
		t.Fatal(err)
	}
	if added := strings.Count(got, "\n") - strings.Count(string(content), "\n"); added != 3 {
		t.Errorf("%d lines were added", added)
	}
}
