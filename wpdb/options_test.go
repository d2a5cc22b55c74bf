package wpdb_test

import (
	"fmt"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestOptionValues(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	read := func(want map[string]string, names ...string) {
		t.Helper()
		got, err := db.OptionValues(t.Context(), names...)
		expect.NoError(t, err)
		expect.Equal(t, want, got)
	}
	read(map[string]string{"blogname": "Legacy", "gmt_offset": "1"}, "blogname", "gmt_offset", "not_there")
	read(map[string]string{})
	database.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'blogname'",
		"DELETE FROM wp_options WHERE option_name = 'gmt_offset'", "INSERT INTO wp_options (option_name, option_value) VALUES ('not_there', 'now')")
	read(map[string]string{"blogname": "", "not_there": "now"}, "blogname", "gmt_offset", "not_there")
	read(map[string]string{}, "%", "blog_ame", "' OR 1 = 1 --")
	database.Execute(t, "RENAME TABLE wp_options TO elsewhere")
	_, err := db.OptionValues(t.Context(), "blogname")
	wantKind(t, err, wpdb.ErrSchema)
}

// TestConstantsReplaceOptions: WP_HOME and WP_SITEURL override the options, exist without them, and lose a
// trailing slash.
func TestConstantsReplaceOptions(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, "DELETE FROM wp_options WHERE option_name IN ('home', 'siteurl')",
		"INSERT INTO wp_options (option_name, option_value) VALUES ('siteurl', 'https://old.example')")
	names := []string{"home", "siteurl", "blogname"}
	for _, test := range []struct {
		home, siteURL string
		want          map[string]string
	}{
		{"", "", map[string]string{"siteurl": "https://old.example", "blogname": "Legacy"}},
		{"https://a.example/", "", map[string]string{"home": "https://a.example", "siteurl": "https://old.example", "blogname": "Legacy"}},
		{"", "https://a.example/wp//", map[string]string{"siteurl": "https://a.example/wp", "blogname": "Legacy"}},
	} {
		config := configOf(database)
		config.Home, config.SiteURL = test.home, test.siteURL
		got, err := wpdbtest.OpenConfig(t, config).OptionValues(t.Context(), names...)
		expect.NoError(t, err)
		expect.Equal(t, test.want, got, fmt.Sprintf("WP_HOME %q, WP_SITEURL %q", test.home, test.siteURL))
		if blogname, err := wpdbtest.OpenConfig(t, config).OptionValues(t.Context(), "blogname"); err != nil || len(blogname) != 1 {
			t.Errorf("%v, error %v", blogname, err)
		}
	}
}

func TestSettingValues(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	names := []string{"default_booking_status", "not_there", "twice", "null"}
	read := func(want map[string]string) {
		t.Helper()
		got, err := db.SettingValues(t.Context(), names...)
		expect.NoError(t, err)
		expect.Equal(t, want, got)
	}
	read(map[string]string{"default_booking_status": "approved"})
	database.Execute(t, "UPDATE wp_latepoint_settings SET value = 'pending' WHERE name = 'default_booking_status'",
		"INSERT INTO wp_latepoint_settings (id, name, value) VALUES (92, 'twice', 'second'), (91, 'twice', 'first'), (93, 'null', NULL), (94, 'null', 'later')")
	read(map[string]string{"default_booking_status": "pending", "twice": "first", "null": ""})
	// The values that maybe_unserialize returns.
	database.Execute(t, `UPDATE wp_latepoint_settings SET value = 's:8:"approved";' WHERE name = 'default_booking_status'`,
		`UPDATE wp_latepoint_settings SET value = 's:4:"b:1;";' WHERE id = 91`, `UPDATE wp_latepoint_settings SET value = 'a:1:{i:0;s:2:"on";}' WHERE id = 93`)
	read(map[string]string{"default_booking_status": "approved", "twice": "b:1;", "null": `a:1:{i:0;s:2:"on";}`})
}

// phpList returns a list serialised by PHP.
func phpList(values ...string) string {
	text := fmt.Sprintf("a:%d:{", len(values))
	for i, value := range values {
		text += fmt.Sprintf(`i:%d;s:%d:"%s";`, i, len(value), value)
	}
	return text + "}"
}

func TestPluginActive(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy()))) // a site without sitemeta
	for name, c := range map[string]struct {
		plugins string
		want    bool
	}{
		"as installed":         {phpList("latepoint/latepoint.php"), true},
		"among others":         {phpList("akismet/akismet.php", "latepoint/latepoint.php", "hello.php"), true},
		"renamed folder":       {phpList("latepoint-5.6.5/latepoint.php"), true},
		"without a folder":     {phpList("latepoint.php"), true},
		"not in the list":      {phpList("akismet/akismet.php"), false},
		"an add-on only":       {phpList("latepoint-pro-features/latepoint-pro-features.php"), false},
		"a name that ends so":  {phpList("my/not-latepoint.php"), false},
		"the folder only":      {phpList("latepoint.php/index.php"), false},
		"as a key":             {`a:1:{s:23:"latepoint/latepoint.php";i:1700000000;}`, true},
		"a list in the list":   {`a:1:{i:0;a:1:{i:0;s:23:"latepoint/latepoint.php";}}`, false},
		"empty list":           {phpList(), false},
		"no option":            {"", false},
		"cut off":              {`a:1:{i:0;s:23:"latepoint/latepoint.ph`, false},
		"wrong length":         {`a:1:{i:0;s:22:"latepoint/latepoint.php";}`, false},
		"an object in it":      {`a:2:{i:0;s:23:"latepoint/latepoint.php";i:1;O:8:"stdClass":0:{}}`, false},
		"a text, not a list":   {`s:23:"latepoint/latepoint.php";`, false},
		"numbers in the list":  {`a:2:{i:0;i:7;i:1;s:23:"latepoint/latepoint.php";}`, true},
		"between blanks":       {" " + phpList("latepoint/latepoint.php") + "\n", true},
		"serialised two times": {`s:47:"` + phpList("latepoint/latepoint.php") + `";`, false},
	} {
		got, err := db.Plugins(t.Context(), c.plugins, "latepoint.php")
		if err != nil || got.Active("latepoint.php") != c.want {
			t.Errorf("%s: %q, error %v, want %t", name, got, err, c.want)
		}
	}
}

// TestPluginActiveOnNetwork: if the site's own list does not have the plugin, the
// network's list decides.
func TestPluginActiveOnNetwork(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Prefixed())
	db := wpdbtest.OpenConfig(t, configOf(database))
	active := func(name string, want bool) {
		t.Helper()
		options, err := db.OptionValues(t.Context(), "active_plugins")
		expect.NoError(t, err)
		got, err := db.Plugins(t.Context(), options["active_plugins"], "latepoint.php")
		if err != nil || got.Active("latepoint.php") != want {
			t.Errorf("%s: %q, error %v, want %t", name, got, err, want)
		}
	}
	active("on the network", true)
	const list = "UPDATE wpx_sitemeta SET meta_value = '%s' WHERE meta_key = 'active_sitewide_plugins'"
	database.Execute(t, fmt.Sprintf(list, `a:1:{s:19:"akismet/akismet.php";i:1700000000;}`))
	active("switched off", false)
	database.Execute(t, fmt.Sprintf(list, `a:1:{s:20:"renamed/latepoint.php";i:17`))
	active("cut off", false)
	database.Execute(t, fmt.Sprintf(list, `a:1:{s:21:"renamed/latepoint.php";i:1700000000;}`))
	active("renamed folder", true)
	database.Execute(t, "UPDATE wpx_sitemeta SET meta_value = NULL WHERE meta_key = 'active_sitewide_plugins'")
	active("NULL", false)
	database.Execute(t, "DELETE FROM wpx_sitemeta WHERE meta_key = 'active_sitewide_plugins'")
	active("no list", false)
	database.Execute(t, "UPDATE wpx_7_options SET option_value = '"+phpList("latepoint/latepoint.php")+"' WHERE option_name = 'active_plugins'")
	active("on the site alone", true)
}

// TestHiddenNetwork: an account that sees only some columns of the users, and no table of network options,
// recognises a network by the users' metadata.
func TestHiddenNetwork(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Prefixed())
	db := wpdbtest.OpenConfig(t, userOf(t, database, "SELECT (user_id, meta_key, meta_value)", "wpx_usermeta"))
	if admins, err := db.SuperAdmins(t.Context()); err != nil || admins != nil {
		t.Errorf("without a network: %q, %v", admins, err)
	}
	database.Execute(t, "INSERT INTO wpx_usermeta (user_id, meta_key, meta_value) VALUES (1, 'primary_blog', '1')")
	_, err := db.SuperAdmins(t.Context())
	wantKind(t, err, wpdb.ErrAccessDenied)
}
