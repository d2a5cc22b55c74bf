package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// wordPressClient is a logged-in browser without scripts.
type wordPressClient struct {
	t      *testing.T
	site   string
	client *http.Client
}

// logInto logs in a user whose password is the name.
func logInto(t *testing.T, site, user string) *wordPressClient {
	t.Helper()
	jar, err := cookiejar.New(nil)
	expect.NoError(t, err)
	c := &wordPressClient{t, site, &http.Client{Jar: jar}}
	address, err := url.Parse(site)
	expect.NoError(t, err)
	jar.SetCookies(address, []*http.Cookie{{Name: "wordpress_test_cookie", Value: "WP Cookie check", Path: "/"}})
	if status, _ := c.post("/wp-login.php", url.Values{"log": {user}, "pwd": {user}, "testcookie": {"1"}, "redirect_to": {site + "/wp-admin/profile.php"}}); status != http.StatusOK {
		t.Fatalf("log in: status %d", status)
	}
	return c
}

func (c *wordPressClient) get(path string) (status int, body string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.site+path, nil)
	expect.NoError(c.t, err)
	return c.do(request)
}

func (c *wordPressClient) post(path string, form url.Values) (status int, body string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.site+path, strings.NewReader(form.Encode()))
	expect.NoError(c.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(request)
}

func (c *wordPressClient) do(request *http.Request) (status int, body string) {
	c.t.Helper()
	response, err := c.client.Do(request)
	expect.NoError(c.t, err)
	content, err := io.ReadAll(response.Body)
	expect.NoError(c.t, err)
	expect.NoError(c.t, response.Body.Close())
	return response.StatusCode, string(content)
}

// hiddenFields matches the hidden fields of a form.
var hiddenFields = regexp.MustCompile(`<input type=["']hidden["'][^>]* name=["']([a-z_]+)["'] value=["']([^"']*)["']`)

// form returns the fields of the page's form that a person does not fill in.
func (c *wordPressClient) form(path string) url.Values {
	c.t.Helper()
	_, body := c.get(path)
	fields := url.Values{}
	for _, field := range hiddenFields.FindAllStringSubmatch(body, -1) {
		fields.Set(field[1], html.UnescapeString(field[2]))
	}
	if fields.Get("_wpnonce") == "" {
		c.t.Fatalf("no form at %s: %s", path, body)
	}
	return fields
}

// TestCompanionPagesNeedRights: only users who may manage the site see the pages, and only the pages' own
// forms take effect, once.
func TestCompanionPagesNeedRights(t *testing.T) {
	t.Parallel()
	const page, newKey = "/wp-admin/admin.php?page=bookside", "/wp-admin/admin.php?page=bookside&at=%2Fkeys%2Fnew"
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	s := serveAt(t, settingsFor(db), time.Now) // WordPress uses the real clock
	s.awaitFingerprint()
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']);
		foreach (['author' => 'author', 'desk' => 'editor'] as $name => $role) { wp_insert_user(['user_login' => $name, 'user_pass' => $name, 'user_email' => "$name@example.test", 'role' => $role]); }`)
	site := w.Serve(t)
	keyCount := func() string { return queryText(t, db, "SELECT COUNT(*) FROM wp_bookside_api_keys") }
	admin := logInto(t, site, "admin")
	create := func() url.Values {
		form := admin.form(newKey)
		for name, value := range map[string]string{"name": `A "key" <b>of</b> O'Neil \ 1`, "kind": "live", "preset": "custom"} {
			form.Set(name, value)
		}
		form["permissions"] = []string{"read_bookings", "read_services"}
		for _, all := range []string{"agents", "services", "locations"} {
			form[all] = []string{"-", ""}
		}
		return form
	}

	if status, body := (&wordPressClient{t, site, &http.Client{}}).get(page); !strings.Contains(body, "loginform") {
		t.Errorf("a visitor: status %d", status)
	}
	author := logInto(t, site, "author")
	for _, of := range []string{"", "&at=%2Frequests", "&tab=settings"} {
		if status, _ := author.get(page + of); status != http.StatusForbidden {
			t.Errorf("an author: %s: status %d", of, status)
		}
	}
	const link = `<span class='bookside'><a href="%s/wp-admin/admin.php?page=bookside">API</a>`
	if _, plugins := admin.get("/wp-admin/plugins.php"); strings.Count(plugins, fmt.Sprintf(link, site)) != 2 {
		t.Errorf("links in the rows of this plugin and of LatePoint: %s", plugins)
	}
	if status, _ := author.post(newKey, create()); status != http.StatusForbidden || keyCount() != "0" {
		t.Errorf("the form of an author: status %d, %s keys", status, keyCount())
	}
	for name, nonce := range map[string]string{"no nonce": "", "a forged nonce": "0123456789", "the nonce of the settings": admin.form(page + "&tab=settings").Get("_wpnonce")} {
		form := create()
		form.Set("_wpnonce", nonce)
		if status, _ := admin.post(newKey, form); status != http.StatusForbidden || keyCount() != "0" {
			t.Errorf("%s: status %d, %s keys", name, status, keyCount())
		}
	}

	form := create()
	status, body := admin.post(newKey, form)
	if status != http.StatusOK || !strings.Contains(body, "was created") || keyCount() != "1" {
		t.Fatalf("status %d, %s keys: %s", status, keyCount(), body)
	}
	expect.Equal(t, form.Get("name")+" read_bookings,read_services admin, WordPress", queryText(t, db, "SELECT CONCAT_WS(' ', name, permissions, created_by) FROM wp_bookside_api_keys"), "stored")
	if _, body := admin.post(newKey, form); !strings.Contains(body, "already submitted") || keyCount() != "1" {
		t.Errorf("the form sent again made %s keys", keyCount())
	}
	if _, body := admin.get(page + "&at=%2Fkeys"); !strings.Contains(body, `A &#34;key&#34; &lt;b&gt;of&lt;/b&gt; O&#39;Neil \ 1`) {
		t.Errorf("the name is not escaped: %s", body)
	}
	revoke := page + "&at=%2Fkeys%2F1%2Frevoke"
	if _, body := admin.post(revoke, admin.form(revoke)); !strings.Contains(body, "revoked") || queryText(t, db, "SELECT status FROM wp_bookside_api_keys") != "revoked" {
		t.Errorf("revoking: %s", body)
	}

	settings := admin.form(page + "&tab=settings")
	settings.Set("bookside_companion[forward]", "javascript:alert(1)")
	settings.Set("bookside_companion[admin]", "http://"+s.admin()+"/")
	settings.Set("bookside_companion[jobs]", "1")
	if status, _ := author.post("/wp-admin/options.php", settings); status != http.StatusForbidden {
		t.Errorf("settings of an author: status %d", status)
	}
	if _, body := admin.post("/wp-admin/options.php", settings); !strings.Contains(body, "Enter an address such as") {
		t.Errorf("a wrong address: %s", body)
	}
	if got := w.Run(t, `echo json_encode(Bookside\settings(), JSON_UNESCAPED_SLASHES);`); got != `{"staff_overbooking":false,"jobs":true,"forward":"","admin":"http://`+s.admin()+`"}` {
		t.Errorf("stored %s", got)
	}
	w.Run(t, `bookside_companion_failed('lock', 'away <b>');`)
	if _, body := admin.get(page); !strings.Contains(body, "away &lt;b&gt;") {
		t.Errorf("failures are not shown: %s", body)
	}
	if _, body := admin.post(page, merged(admin.form(page), "bookside_forget", "1")); strings.Contains(body, "away") || w.Run(t, `echo count(bookside_companion_failures());`) != "0" {
		t.Errorf("failures are left: %s", body)
	}

	writeBelow(t, w.Content, map[string]string{"mu-plugins/rights.php": `<?php add_filter('bookside_capability', fn() => 'edit_others_posts');`})
	if status, _ := logInto(t, site, "desk").get(page); status != http.StatusOK {
		t.Errorf("an editor, by the filter: status %d", status)
	}
	if status, _ := author.get(page); status != http.StatusForbidden {
		t.Errorf("an author, still: status %d", status)
	}
	expect.Equal(t, "", w.Faults(t))
}

// merged adds a field to a form.
func merged(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

// TestCompanionWithoutServer: while the server is down, the page says so and how to start it, and nothing else in wp-admin breaks.
func TestCompanionWithoutServer(t *testing.T) {
	t.Parallel()
	const page = "/wp-admin/admin.php?page=bookside"
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://localhost:1']);`)
	admin := logInto(t, w.Serve(t), "admin")
	if _, body := admin.get(page); !strings.Contains(body, "The tables of Bookside are missing") {
		t.Errorf("before the server's first start: %s", body)
	}
	s := serve(t, settingsFor(db)) // draws the id that the signature includes
	s.awaitFingerprint()
	expect.NoError(t, s.stop())
	for _, path := range []string{page, page + "&at=%2Fkeys%2Fnew"} {
		if status, body := admin.get(path); status != http.StatusOK || strings.Count(body, "Start it with &quot;systemctl start bookside&quot;") != 1 {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
	for _, path := range []string{page + "&tab=settings", "/wp-admin/", "/wp-admin/plugins.php", "/wp-admin/site-health.php"} {
		if status, _ := admin.get(path); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
	expect.Equal(t, "", w.Faults(t))
}

// TestCompanionIsDeactivated: the plugin removes LatePoint's jobs from the cron when it is deactivated, and its options when it is
// uninstalled.
func TestCompanionIsDeactivated(t *testing.T) {
	t.Parallel()
	w, db := newForwardingSite(t)
	const jobs = "latepoint_process_scheduled_jobs"
	state := func() string {
		return w.Run(t, `echo defined('BOOKSIDE_COMPANION_VERSION') ? 'loaded' : 'not loaded', strpos(serialize(_get_cron_array()), '`+jobs+`') ? ' scheduled' : '', get_option('bookside_companion_seen') ? ' seen' : '';`)
	}
	w.Run(t, `update_option('bookside_companion', ['jobs' => true]);`)
	w.Run(t, `do_action('init');`)
	expect.Equal(t, "loaded scheduled seen", state(), "active")
	w.Run(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('bookside/bookside.php');`)
	expect.Equal(t, "not loaded", state(), "deactivated")
	w.Run(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php'; uninstall_plugin('bookside/bookside.php');`)
	expect.Equal(t, "0", queryText(t, db, "SELECT COUNT(*) FROM wp_options WHERE option_name LIKE 'bookside%'"), "options left")
	expect.Equal(t, "", w.Faults(t))
}

// TestCompanionIsUninstalledOnANetwork: each site's options and cron are cleaned up.
func TestCompanionIsUninstalledOnANetwork(t *testing.T) {
	t.Parallel()
	fixtures.RequireTime(t)
	code := `define('WP_UNINSTALL_PLUGIN', 'x'); $at = 1; $done = [];
		function is_multisite() { return true; }
		function get_sites($which) { return [1, 2, 5]; }
		function switch_to_blog($site) { $GLOBALS['at'] = $site; }
		function restore_current_blog() { $GLOBALS['at'] = 1; }
		function _get_cron_array() { return [100 => ['latepoint_process_scheduled_jobs' => ['a' => ['schedule' => false, 'args' => ['ours']], 'b' => ['schedule' => 'addon', 'args' => []]]]]; }
		function wp_unschedule_event($time, $hook, $args) { $GLOBALS['done'][] = $GLOBALS['at'] . ' event ' . $args[0]; }
		function delete_option($name) { $GLOBALS['done'][] = $GLOBALS['at'] . ' ' . $name; }
		require '` + companionFolder + `/uninstall.php'; echo implode(';', $done);`
	output, err := exec.CommandContext(t.Context(), fixtures.RequireTool(t, "php"), "-d", "error_reporting=-1", "-r", code).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var want []string
	for _, site := range []string{"1", "2", "5"} {
		for _, what := range []string{"event ours", "bookside_companion", "bookside_companion_extensions", "bookside_companion_failures", "bookside_companion_seen", "bookside_companion_jobs_until", "bookside_companion_events"} {
			want = append(want, site+" "+what)
		}
	}
	expect.Equal(t, strings.Join(want, ";"), string(output))
}

// objectCache is a persistent object cache for tests, in a file.
const objectCache = `<?php
require_once ABSPATH . WPINC . '/class-wp-object-cache.php';
const BOOKSIDE_TEST_CACHE = __DIR__ . '/cache.bin';
function wp_cache_init() {
	$GLOBALS['wp_object_cache'] = is_file(BOOKSIDE_TEST_CACHE) ? unserialize(file_get_contents(BOOKSIDE_TEST_CACHE)) : new WP_Object_Cache();
	register_shutdown_function(function () { file_put_contents(BOOKSIDE_TEST_CACHE, serialize($GLOBALS['wp_object_cache'])); });
}
function wp_cache_add($k, $d, $g = '', $e = 0) { return $GLOBALS['wp_object_cache']->add($k, $d, $g ?: 'default', (int) $e); }
function wp_cache_replace($k, $d, $g = '', $e = 0) { return $GLOBALS['wp_object_cache']->replace($k, $d, $g ?: 'default', (int) $e); }
function wp_cache_set($k, $d, $g = '', $e = 0) { return $GLOBALS['wp_object_cache']->set($k, $d, $g ?: 'default', (int) $e); }
function wp_cache_get($k, $g = '', $force = false, &$found = null) { return $GLOBALS['wp_object_cache']->get($k, $g ?: 'default', $force, $found); }
function wp_cache_delete($k, $g = '') { return $GLOBALS['wp_object_cache']->delete($k, $g ?: 'default'); }
function wp_cache_incr($k, $n = 1, $g = '') { return $GLOBALS['wp_object_cache']->incr($k, $n, $g ?: 'default'); }
function wp_cache_decr($k, $n = 1, $g = '') { return $GLOBALS['wp_object_cache']->decr($k, $n, $g ?: 'default'); }
function wp_cache_flush() { return $GLOBALS['wp_object_cache']->flush(); }
function wp_cache_close() { return true; }
function wp_cache_add_global_groups($groups) { $GLOBALS['wp_object_cache']->add_global_groups($groups); }
function wp_cache_add_non_persistent_groups($groups) {}
function wp_cache_switch_to_blog($blog) { $GLOBALS['wp_object_cache']->switch_to_blog($blog); }
`

// TestCompanionDropsUsersFromTheCache: WordPress sees a user's new address although a persistent cache has
// the old one.
func TestCompanionDropsUsersFromTheCache(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	environment := adminSettings(db) // an account that may write users
	s := serve(t, environment)
	key := newKey(t, environment, "--permissions", "read,write")
	user := w.Run(t, `echo wp_insert_user(['user_login' => 'zora', 'user_email' => 'old@people.example', 'user_pass' => 'x', 'role' => 'subscriber']);`)
	db.Execute(t, "UPDATE wp_latepoint_customers SET email = 'old@people.example', wordpress_user_id = "+user+" WHERE id = 1")
	db.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'wp_users_as_customers'")
	db.Execute(t, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('wp_users_as_customers', 'on')")
	writeBelow(t, w.Content, map[string]string{"object-cache.php": objectCache})
	seen := func(method string) string {
		return w.Run(t, "$_SERVER['REQUEST_METHOD'] = '"+method+"';", `echo get_user_by('login', 'zora')->user_email, ' ', get_user_by('email', 'old@people.example') ? 'old' : 'new';`)
	}
	if got := seen("GET"); got != "old@people.example old" {
		t.Fatalf("before: %s", got)
	}
	e := &erasureSite{t: t, w: w, db: db, s: s, key: key}
	e.send(http.MethodPut, "/customers/1", `{"email":"new@people.example"}`, http.StatusOK)
	if got := queryText(t, db, "SELECT user_email FROM wp_users WHERE ID = "+user); got != "new@people.example" {
		t.Fatalf("the address of the user is %s", got)
	}
	expect.Equal(t, "new@people.example new", seen("POST"), "after")
	expect.Equal(t, "", w.Faults(t))
}
