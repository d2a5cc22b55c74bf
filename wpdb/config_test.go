package wpdb_test

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

func TestSitePrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base string
		site int
		want string
	}{
		{"wp_", 0, "wp_"},
		{"wp_", 1, "wp_"},
		{"wp_", 2, "wp_2_"},
		{"shop_", 731, "shop_731_"},
	} {
		expect.Equal(t, c.want, wpdb.SitePrefix(c.base, c.site), c.want, ": site ", c.site, " of ", c.base, " has")
	}
}

func TestTableNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, options, users, usermeta, sitemeta string }{
		{"wp_", "`wp_options`", "`wp_users`", "`wp_usermeta`", "`wp_sitemeta`"},
		{"wp_7_", "`wp_7_options`", "`wp_users`", "`wp_usermeta`", "`wp_sitemeta`"},
		{"a_b_12_", "`a_b_12_options`", "`a_b_users`", "`a_b_usermeta`", "`a_b_sitemeta`"},
		{"wp7_", "`wp7_options`", "`wp7_users`", "`wp7_usermeta`", "`wp7_sitemeta`"},
		{"wp_07_", "`wp_07_options`", "`wp_07_users`", "`wp_07_usermeta`", "`wp_07_sitemeta`"},
		{"7_", "`7_options`", "`7_users`", "`7_usermeta`", "`7_sitemeta`"},
		{"WP", "`WPoptions`", "`WPusers`", "`WPusermeta`", "`WPsitemeta`"},
	} {
		db := wpdb.New(nil, c.prefix)
		got := []string{db.Prefix(), db.Name(wpdb.Options), db.Name(wpdb.Users), db.Name(wpdb.Usermeta), db.Name(wpdb.Sitemeta)}
		want := []string{c.prefix, c.options, c.users, c.usermeta, c.sitemeta}
		expect.Equal(t, want, got, "prefix ", c.prefix)
		if got, want := db.As(wpdb.Options, "o"), c.options+" AS o"; got != want {
			t.Errorf("%s: %s, want %s", c.prefix, got, want)
		}
	}
}

func TestOpenRejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dsn, prefix string
		want        string
	}{
		"no data source":     {"", "wp_", "invalid data source name: it names no database"},
		"not a data source":  {"user:secret@tcp(db:3306", "wp_", "invalid data source name"},
		"host without net":   {"user:secret@db:3306/shop", "wp_", "invalid data source name"},
		"bad parameter":      {"user:secret@tcp(db:3306)/shop?parseTime=secret", "wp_", "invalid data source name"},
		"a URL":              {"mysql://user:secret@db/shop", "wp_", "invalid data source name"},
		"no database":        {"user:secret@tcp(db:3306)/", "wp_", "invalid data source name: it names no database"},
		"unknown TLS":        {"user:secret@tcp(db:3306)/shop?tls=secret", "wp_", "invalid data source name: write user:password@tcp(host:3306)/database; parameters after ?"},
		"mistyped TLS":       {"user:secret@tcp(db:3306)/shop?tsl=true", "wp_", "invalid data source name: there is no parameter tsl; did you mean tls?"},
		"TLS in capitals":    {"user:secret@tcp(db:3306)/shop?TLS=true", "wp_", "invalid data source name: there is no parameter TLS; did you mean tls?"},
		"TLS of others":      {"user:secret@tcp(db:3306)/shop?ssl_mode=required", "wp_", "invalid data source name: there is no parameter ssl_mode; did you mean tls?"},
		"TLS without value":  {"user:secret@tcp(db:3306)/shop?tls", "wp_", "invalid data source name: its parameter tls has no value; write tls=…"},
		"session variable":   {"user:secret@tcp(db:3306)/shop?parseTime=true&sql_mode=secret", "wp_", "invalid data source name: there is no parameter sql_mode; the settings of the session are Bookside's own"},
		"former parameter":   {"user:secret@tcp(db:3306)/shop?strict=true", "wp_", "invalid data source name: write user"},
		"no parameter":       {"user:secret@tcp(db:3306)/shop?se-cret=1", "wp_", "invalid data source name: after ? it has something that is no parameter"},
		"bad escape":         {"user:secret@tcp(db:3306)/shop?foo=%zzsecret", "wp_", "invalid data source name: write user:password@tcp(host:3306)/database; parameters after ?"},
		"no prefix":          {"user:secret@tcp(db:3306)/shop", "", `table prefix ""`},
		"prefix with a tick": {"user:secret@tcp(db:3306)/shop", "wp`_", "table prefix \"wp`_\""},
		"prefix with blanks": {"user:secret@tcp(db:3306)/shop", "wp _", `table prefix "wp _"`},
		"prefix with a hash": {"user:secret@tcp(db:3306)/shop", "wp-", `table prefix "wp-"`},
		"prefix too long":    {"user:secret@tcp(db:3306)/shop", strings.Repeat("w", 51), `table prefix "www`},
		"prefix of letters":  {"user:secret@tcp(db:3306)/shop", "präfix_", `table prefix "präfix_"`},
	} {
		db, err := wpdb.Open(t.Context(), wpdb.Config{DSN: c.dsn, Prefix: c.prefix})
		if err == nil {
			t.Fatalf("%s: opened %v", name, db)
		}
		if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q", name, err, c.want)
		}
		expect.NoTexts(t, err.Error(), "secret")
	}
}
