package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// newCompanionSite installs the companion in a WordPress with a stand-in for LatePoint that has its
// constant and its menu. It waits longer for the server than a page would, because the machine may be busy
// with other tests.
func newCompanionSite(t *testing.T, db *fixtures.Database) *fixtures.WordPress {
	t.Helper()
	w := fixtures.NewWordPress(t, db)
	writeBelow(t, w.Content, map[string]string{"plugins/latepoint/latepoint.php": `<?php
/* Plugin Name: LatePoint */
define('LATEPOINT_VERSION', '5.6.5');
add_action('admin_menu', function () {
	add_menu_page('LatePoint', 'LatePoint', 'read', 'latepoint', fn() => print('<div class="wrap"><h1>LatePoint</h1></div>'));
});
add_filter('http_request_args', fn($sent) => ['timeout' => 60] + $sent);
`})
	installCompanion(t, w)
	w.Activate(t, "latepoint/latepoint.php")
	return w
}

// fromPHP decodes what PHP code returns as JSON.
func fromPHP[T any](t *testing.T, w *fixtures.WordPress, code string) (value T) {
	t.Helper()
	text := w.Run(t, "echo json_encode((function () {"+code+"})(), JSON_THROW_ON_ERROR);")
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v in %s", code, err, text)
	}
	return value
}

// phpText returns a PHP literal.
func phpText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// TestCompanionPlugin tests the plugin's PHP on one site, which it changes.
func TestCompanionPlugin(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	s := serveAt(t, settingsFor(db), time.Now) // WordPress uses the real clock
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']);`)
	s.awaitFingerprint()
	t.Run("server", func(t *testing.T) { testServerOfPHP(t, w) })
	t.Run("health", func(t *testing.T) { testHealthOfPHP(t, w) })
	t.Run("addresses", func(t *testing.T) { testAddressesOfPHP(t, w) })
	t.Run("a person", func(t *testing.T) { testPersonOfPHP(t, w, db) })
	t.Run("a person with an address like others", func(t *testing.T) { testAlikePersonOfPHP(t, w, db) })
	expect.Equal(t, "", w.Faults(t))
}

// testServerOfPHP: a server accepts its own secret alone, and an answer of anybody else is not shown.
func testServerOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	const table = `global $wpdb; $table = Bookside\own_table('secrets'); `
	answers := func(status, headers, body string) string {
		return `add_filter('pre_http_request', fn() => ['headers' => [` + headers + `], 'body' => '` + body + `', 'response' => ['code' => ` + status + `]]);`
	}
	for name, c := range map[string]struct{ before, want string }{
		"the server":                 {"", "served"},
		"another secret":             {table + `add_filter('http_request_args', function ($sent) use ($table) { global $wpdb; $wpdb->query("UPDATE $table SET secret = REVERSE(secret)"); return $sent; }); register_shutdown_function(fn() => $wpdb->query("UPDATE $table SET secret = REVERSE(secret)"));`, "does not know the signature"},
		"sent twice":                 {`add_filter('pre_http_request', function ($no, $sent, $url) { remove_all_filters('pre_http_request'); wp_remote_request($url, $sent); return $no; }, 10, 3);`, "sent before"},
		"an answer of somebody else": {answers("200", `'x-bookside-signature' => str_repeat('0', 64)`, `{"content":"<p>"}`), "Something else answers"},
		"a page":                     {answers("200", "", "<html>"), "Something else answers"},
		"a refusal":                  {answers("403", "", `{"message":"This request was sent before."}`), "sent before"},
		"no address":                 {"add_filter('option_bookside_companion', fn() => ['admin' => '']);", "enter the address of its administration"},
		"nobody":                     {"add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:1']);", `Start it with "systemctl start bookside"`},
		"no secret":                  {table + `$wpdb->query("RENAME TABLE $table TO elsewhere"); register_shutdown_function(fn() => $wpdb->query("RENAME TABLE elsewhere TO $table"));`, "tables of Bookside are missing"},
	} {
		got := w.Run(t, c.before+`$page = Bookside\ask_server('/page', ['method' => 'GET', 'path' => '/keys']); echo is_wp_error($page) ? $page->get_error_message() : (isset($page['content']) ? 'served' : 'nothing');`)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// testAddressesOfPHP: whoever manages a site says where its server is, in a network only who manages that, and it is at no link-local
// address.
func testAddressesOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	const check = `require_once ABSPATH . 'wp-admin/includes/admin.php'; require_once WP_PLUGIN_DIR . '/bookside/admin/settings.php'; wp_set_current_user(get_user_by('login', 'admin')->ID);
		add_filter('option_bookside_companion', fn() => ['forward' => 'http://kept:1', 'admin' => 'http://kept:2']);
		ob_start(); Bookside\show_settings(); $form = ob_get_clean();
		$checked = Bookside\checked_settings(['jobs' => '1', 'forward' => '%s', 'admin' => 'http://127.0.0.1:9']);
		return [$checked['forward'], $checked['admin'], $checked['jobs'], strpos($form, '[forward]') !== false];`
	const network = `eval('namespace Bookside; function is_multisite() { return true; }');`
	for name, c := range map[string]struct {
		before, forward string
		want            []any
	}{
		"a site":                {"", "http://127.0.0.1:8", []any{"http://127.0.0.1:8", "http://127.0.0.1:9", true, true}},
		"a site of a network":   {network, "http://127.0.0.1:8", []any{"http://kept:1", "http://kept:2", true, false}},
		"a network":             {network + `add_filter('user_has_cap', fn($all) => ['manage_network_options' => true] + $all);`, "http://127.0.0.1:8", []any{"http://127.0.0.1:8", "http://127.0.0.1:9", true, true}},
		"link-local":            {"", "http://169.254.169.254", []any{"http://kept:1", "http://127.0.0.1:9", true, true}},
		"link-local, a number":  {"", "http://2852039166:80", []any{"http://kept:1", "http://127.0.0.1:9", true, true}},
		"link-local, in IPv6":   {"", "http://[fe80::1]", []any{"http://kept:1", "http://127.0.0.1:9", true, true}},
		"link-local, as mapped": {"", "http://[::ffff:169.254.169.254]:8", []any{"http://kept:1", "http://127.0.0.1:9", true, true}},
		"another in IPv6":       {"", "http://[::1]:8", []any{"http://[::1]:8", "http://127.0.0.1:9", true, true}},
	} {
		got := fromPHP[[]any](t, w, c.before+strings.Replace(check, "%s", c.forward, 1))
		expect.Equal(t, c.want, got, name)
	}
}

// testHealthOfPHP: the test of Site Health shows what the server reports, or why it reports nothing.
func testHealthOfPHP(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	type result struct{ Status, Label, Description string }
	for name, c := range map[string]struct{ before, status, text string }{
		"the server's report": {"", "", "<"},
		"no server":           {"add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:1']);", "critical", "systemctl start bookside"},
		"failures":            {"add_filter('pre_option_bookside_companion_failures', fn() => ['lock' => ['count' => 2, 'at' => 1, 'message' => 'away <b>']]);", "critical", "): away &lt;b&gt;"},
		"a lost slot":         {"add_filter('pre_option_bookside_companion_failures', fn() => ['payment' => ['count' => 1, 'at' => 1, 'message' => 'Order 7']]);", "critical", "refund it. payment (1, last on"},
	} {
		got := fromPHP[result](t, w, c.before+`return call_user_func(apply_filters('site_status_tests', ['direct' => []])['direct']['bookside']['test']);`)
		if got.Label == "" || c.status != "" && got.Status != c.status || !strings.Contains(got.Description, c.text) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	german := w.Run(t, `$wp_filter = ['locale' => [10 => [['function' => fn() => 'de_DE', 'accepted_args' => 0]]]];`,
		`add_filter('option_bookside_companion', fn() => ['admin' => 'http://localhost:1']); echo Bookside\test_health()['label'];`)
	expect.Texts(t, german, "Der Server der Buchungs-API antwortet nicht")
}
