package main

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
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
	if err != nil {
		t.Fatal(err)
	}
	c := &wordPressClient{t, site, &http.Client{Jar: jar}}
	address, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(address, []*http.Cookie{{Name: "wordpress_test_cookie", Value: "WP Cookie check", Path: "/"}})
	if status, _ := c.post("/wp-login.php", url.Values{"log": {user}, "pwd": {user}, "testcookie": {"1"}, "redirect_to": {site + "/wp-admin/profile.php"}}); status != http.StatusOK {
		t.Fatalf("log in: status %d", status)
	}
	return c
}

func (c *wordPressClient) get(path string) (status int, body string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.site+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.do(request)
}

func (c *wordPressClient) post(path string, form url.Values) (status int, body string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.site+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(request)
}

func (c *wordPressClient) do(request *http.Request) (status int, body string) {
	c.t.Helper()
	response, err := c.client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// hiddenFields matches the hidden fields of a form.
var hiddenFields = regexp.MustCompile(`<input type="hidden"[^>]* name="([a-z_]+)" value="([^"]*)"`)

// form returns the fields of the page's form that a person does not fill in.
func (c *wordPressClient) form(path string) url.Values {
	c.t.Helper()
	_, body := c.get(path)
	fields := url.Values{}
	for _, field := range hiddenFields.FindAllStringSubmatch(body, -1) {
		fields.Set(field[1], field[2])
	}
	if fields.Get("bookside_nonce") == "" {
		c.t.Fatalf("no form at %s: %s", path, body)
	}
	return fields
}

// TestCompanionPagesNeedRights: only users who may manage the site see the pages, and only the pages' own
// forms take effect, once.
func TestCompanionPagesNeedRights(t *testing.T) {
	t.Parallel()
	const page = "/wp-admin/admin.php?page=bookside"
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
		form := admin.form(page + "&tab=keys&form=create")
		form["permissions[]"] = []string{"read_bookings"}
		form.Set("name", `A "key" <b>of</b> O'Neil \ 1`)
		form.Set("kind", "live")
		return form
	}

	if status, body := (&wordPressClient{t, site, &http.Client{}}).get(page); !strings.Contains(body, "loginform") {
		t.Errorf("a visitor: status %d", status)
	}
	author := logInto(t, site, "author")
	for _, tab := range []string{"", "&tab=requests", "&tab=times"} {
		if status, _ := author.get(page + tab); status != http.StatusForbidden {
			t.Errorf("an author: %s: status %d", tab, status)
		}
	}
	const link = `<span class='bookside'><a href="%s/wp-admin/admin.php?page=bookside">API</a>`
	if _, plugins := admin.get("/wp-admin/plugins.php"); strings.Count(plugins, fmt.Sprintf(link, site)) != 2 {
		t.Errorf("links in the rows of this plugin and of LatePoint: %s", plugins)
	}
	if status, _ := author.post(page+"&tab=keys&form=create", create()); status != http.StatusForbidden || keyCount() != "0" {
		t.Errorf("the form of an author: status %d, %s keys", status, keyCount())
	}
	for name, change := range map[string]func(url.Values){
		"no nonce":                 func(form url.Values) { form.Del("bookside_nonce") },
		"nonce of another form":    func(form url.Values) { form.Set("bookside_action", "settings") },
		"a form that there is not": func(form url.Values) { form.Set("bookside_action", "bake") },
	} {
		form := create()
		change(form)
		if status, _ := admin.post(page+"&tab=keys&form=create", form); status != http.StatusForbidden && status != http.StatusBadRequest || keyCount() != "0" {
			t.Errorf("%s: status %d, %s keys", name, status, keyCount())
		}
	}

	form := create()
	status, body := admin.post(page+"&tab=keys&form=create", form)
	if status != http.StatusOK || !strings.Contains(body, "was created") || keyCount() != "1" {
		t.Fatalf("status %d, %s keys: %s", status, keyCount(), body)
	}
	if got := queryText(t, db, "SELECT name FROM wp_bookside_api_keys"); got != form.Get("name") {
		t.Errorf("name %q", got)
	}
	if _, body := admin.post(page+"&tab=keys&form=create", form); !strings.Contains(body, "This form was already sent") || keyCount() != "1" {
		t.Errorf("the form sent again made %s keys", keyCount())
	}
	if _, body := admin.get(page + "&tab=keys"); !strings.Contains(body, `A &quot;key&quot; &lt;b&gt;of&lt;/b&gt; O&#039;Neil \ 1`) {
		t.Error("the name is not escaped")
	}

	// Agents, services and locations are given by ids or names, must exist, and are shown with both.
	limited := create()
	limited.Set("name", "limited")
	limited.Set("agents", "3,999")
	limited.Set("services", "Nothing")
	if _, body := admin.post(page+"&tab=keys&form=create", limited); !strings.Contains(body, "There is no agent with the ID 999; write ids or names of these: 1 ") ||
		!strings.Contains(body, "There is no service &quot;Nothing&quot;; write ids or names of these: 1 ") || keyCount() != "1" {
		t.Errorf("unknown agents made %s keys: %s", keyCount(), body)
	}
	agent := queryText(t, db, "SELECT TRIM(CONCAT(first_name, ' ', last_name)) FROM wp_latepoint_agents WHERE id = 3")
	limited.Set("agents", strings.ToLower(agent))
	limited.Del("services")
	if _, body := admin.post(page+"&tab=keys&form=create", limited); !strings.Contains(body, "was created") || queryText(t, db, "SELECT agents FROM wp_bookside_api_keys WHERE id = 2") != "3" {
		t.Errorf("an agent's name: %s", body)
	}
	execute(t, db.SQL, `INSERT INTO wp_bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at)
		VALUES ('CRM', 'https://crm.example/', '*', '3', '', '', 0, 0, 0, '', 'disabled', 0, NOW())`)
	for _, tab := range []string{"keys", "webhooks"} {
		if _, body := admin.get(page + "&tab=" + tab); !strings.Contains(body, "agents 3 "+agent) {
			t.Errorf("%s: no name beside the id", tab)
		}
	}
	// An agent that was deleted meanwhile stays in the key until somebody changes it.
	w.Run(t, `global $wpdb; $wpdb->update(Bookside\own_table('api_keys'), ['agents' => '999'], ['id' => 2]);`)
	orphaned := admin.form(page + "&tab=keys&form=restrict&key=2")
	orphaned.Set("name", "renamed")
	orphaned.Set("agents", "999")
	orphaned["permissions[]"] = []string{"read_bookings"}
	if _, body := admin.post(page+"&tab=keys&form=restrict&key=2", orphaned); queryText(t, db, "SELECT CONCAT(name, agents) FROM wp_bookside_api_keys WHERE id = 2") != "renamed999" {
		t.Errorf("a key of a deleted agent: %s", body)
	}
	execute(t, db.SQL, "DELETE FROM wp_bookside_api_keys WHERE id = 2")

	stale := admin.form(page + "&tab=keys&form=restrict&key=1")
	stale.Set("name", "stale")
	w.Run(t, `global $wpdb; $wpdb->update(Bookside\own_table('api_keys'), ['permissions' => 'read'], ['id' => 1]);`)
	if _, body := admin.post(page+"&tab=keys&form=restrict&key=1", stale); !strings.Contains(body, "Somebody else has changed this key") || queryText(t, db, "SELECT name FROM wp_bookside_api_keys") == "stale" {
		t.Error("a form overwrote what somebody else had changed")
	}

	writeBelow(t, w.Content, map[string]string{"mu-plugins/rights.php": `<?php add_filter('bookside_capability', fn() => 'edit_others_posts');`})
	if status, _ := logInto(t, site, "desk").get(page); status != http.StatusOK {
		t.Errorf("an editor, by the filter: status %d", status)
	}
	if status, _ := author.get(page); status != http.StatusForbidden {
		t.Errorf("an author, still: status %d", status)
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// TestCompanionWithoutServer: while the server is down, the pages say so and how to start it, a key can be
// revoked nevertheless, and nothing else in wp-admin breaks.
func TestCompanionWithoutServer(t *testing.T) {
	t.Parallel()
	const page = "/wp-admin/admin.php?page=bookside"
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	settings := settingsFor(db)
	secret := newKey(t, settings, "--permissions", "read")
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://localhost:1']);`)
	site := w.Serve(t)
	admin := logInto(t, site, "admin")
	const advice = "Start it with &quot;systemctl start bookside&quot;"
	for _, tab := range []string{"requests", "requests&request=1", "times", "webhooks", "webhooks&webhook=1", "changes", "overlaps", "keys", "keys&form=create", "keys&form=restrict&key=1", "keys&form=roll&key=1"} {
		if status, body := admin.get(page + "&tab=" + tab); status != http.StatusOK || strings.Count(body, advice)+strings.Count(body, "The tables of Bookside are missing") != 1 {
			t.Errorf("%s: status %d: %s", tab, status, body)
		}
	}
	s := serve(t, settings) // draws the id that the signature includes
	s.awaitFingerprint()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	for _, tab := range []string{"requests", "times", "webhooks", "changes", "overlaps", "keys", "keys&form=create"} {
		if _, body := admin.get(page + "&tab=" + tab); strings.Count(body, advice) != 1 {
			t.Errorf("%s: %s", tab, body)
		}
	}
	if status, body := admin.get(page); status != http.StatusOK || !strings.Contains(body, "Nobody checked for overlapping bookings") || !strings.Contains(body, advice) {
		t.Errorf("status: %d %s", status, body)
	}
	if status, body := admin.get("/wp-admin/site-health.php?tab=debug"); status != http.StatusOK || !strings.Contains(body, "Server of the API") {
		t.Errorf("Site Health: status %d", status)
	}
	for _, path := range []string{page + "&tab=settings", "/wp-admin/", "/wp-admin/plugins.php"} {
		if status, _ := admin.get(path); status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
	}
	_, list := admin.get(page + "&tab=keys")
	wantTexts(t, list, "keys can only be revoked", secret[:8]+"…"+secret[len(secret)-4:])
	form := admin.form(page + "&tab=keys&form=revoke&key=1")
	if _, body := admin.post(page+"&tab=keys&form=revoke&key=1", form); !strings.Contains(body, "The key was revoked") || queryText(t, db, "SELECT status FROM wp_bookside_api_keys") != "revoked" {
		t.Errorf("revoking: %s", body)
	}
	writeBelow(t, w.Dir, map[string]string{"wp-cli.php": "<?php " + wpCLI})
	command := func(arguments string) string {
		return w.Run(t, "require '"+w.Dir+"/wp-cli.php';", `(new WP_CLI::$commands['bookside']())->keys(`+arguments+`);`)
	}
	newKey(t, settings, "--permissions", "read")
	const start = `Start it with "systemctl start bookside"`
	wantTexts(t, command("['list'], []"), "Warning: ", start, "2\ttest\tlive")
	wantTexts(t, command("['create'], ['name' => 'n', 'permissions' => 'read']"), "Error: ", start)
	wantTexts(t, command("['restrict', '2'], ['name' => 'n']"), "Error: ", start)
	wantTexts(t, command("['roll', '2'], []"), "Error: ", start)
	wantTexts(t, command("['revoke', '2'], []"), "Success: Revoked.")
	if left := queryText(t, db, "SELECT GROUP_CONCAT(CONCAT(name, ' ', status)) FROM wp_bookside_api_keys"); strings.Contains(left, "active") {
		t.Errorf("keys %s", left)
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// TestCompanionAsUploadedPlugin: without the must-use plugin in its place, the plugin provides its
// function, and removes LatePoint's jobs from the cron when it is deactivated.
func TestCompanionAsUploadedPlugin(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := fixtures.NewWordPress(t, db)
	file := filepath.Join(t.TempDir(), "bookside.zip")
	run(t, nil, "", "companion", "zip", file).want(t, exit.OK)
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(w.Content, "plugins"), archive); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	w.Activate(t, "bookside/bookside.php")
	const jobs = "latepoint_process_scheduled_jobs"
	state := func() string {
		return w.Run(t, `echo defined('BOOKSIDE_COMPANION_VERSION') ? 'loaded' : 'not loaded', function_exists('Bookside\companion_in_place') && Bookside\companion_in_place() ? ' in place' : '',
			strpos(serialize(_get_cron_array()), '`+jobs+`') ? ' scheduled' : '', get_option('bookside_companion_seen') ? ' seen' : '';`)
	}
	w.Run(t, `update_option('bookside_companion', ['jobs' => true]);`)
	w.Run(t, `do_action('init');`)
	if got := state(); got != "loaded scheduled seen" {
		t.Errorf("active: %s", got)
	}
	// Uploaded over an installed companion, whose must-use plugin keeps running.
	run(t, nil, "", "companion", "install", "--wordpress", w.Dir).want(t, exit.OK)
	if err := os.CopyFS(filepath.Join(w.Content, "plugins", "bookside", "mu-plugins"), os.DirFS(filepath.Join(w.Content, "mu-plugins"))); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "loaded in place scheduled seen" {
		t.Errorf("uploaded over an installed one: %s", got)
	}
	removeFile(t, w.Content, "mu-plugins/bookside.php")
	w.Run(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('bookside/bookside.php');`)
	if got := state(); got != "not loaded" {
		t.Errorf("deactivated: %s", got)
	}
	w.Run(t, `require_once ABSPATH . 'wp-admin/includes/plugin.php'; uninstall_plugin('bookside/bookside.php');`)
	if got := queryText(t, db, "SELECT COUNT(*) FROM wp_options WHERE option_name LIKE 'bookside%'"); got != "0" {
		t.Errorf("%s options are left", got)
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// TestCompanionAlone: while the plugin is inactive, the page of plugins says that the must-use plugin is at
// work, and can remove it. Settings that were never saved cost no query.
func TestCompanionAlone(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	w.Run(t, "echo 'a first request';")
	asked := w.Run(t, "define('SAVEQUERIES', true);", `global $wpdb; echo implode("\n", array_filter(array_column($wpdb->queries, 0), fn($query) => strpos($query, "'bookside_companion'")));`)
	if asked != "" {
		t.Errorf("queries for the settings: %s", asked)
	}
	admin := logInto(t, w.Serve(t), "admin")
	const page, notice = "/wp-admin/plugins.php", "its must-use plugin is at work"
	if _, body := admin.get(page); strings.Contains(body, notice) {
		t.Error("the notice is there while the plugin is active")
	}
	w.Run(t, `update_option('bookside_companion', ['jobs' => true]); require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('bookside/bookside.php');`)
	_, body := admin.get(page)
	wantTexts(t, body, notice, "Remove the must-use plugin")
	file := filepath.Join(w.Content, "mu-plugins", "bookside.php")
	if status, _ := admin.post(page, url.Values{"bookside_remove_must_use": {"1"}, "_wpnonce": {"forged"}}); status != http.StatusForbidden || !exists(file) {
		t.Errorf("a forged form: status %d", status)
	}
	nonce := regexp.MustCompile(`(?s)notice-warning.*?name="_wpnonce" value="([^"]+)"`).FindStringSubmatch(body)
	if nonce == nil {
		t.Fatal("no form")
	}
	status, body := admin.post(page, url.Values{"bookside_remove_must_use": {"1"}, "_wpnonce": {nonce[1]}})
	if status != http.StatusOK || exists(file) || exists(strings.TrimSuffix(file, ".php")) || strings.Contains(body, notice) {
		t.Errorf("status %d, there %t: %s", status, exists(file), body)
	}
	if left := queryText(t, db, "SELECT option_value LIKE '%latepoint_process_scheduled_jobs%' FROM wp_options WHERE option_name = 'cron'"); left != "0" {
		t.Error("jobs are scheduled that nobody runs")
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
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
		function delete_transient($name) { delete_option($name); }
		require '` + companionFolder + `/uninstall.php'; echo implode(';', $done);`
	output, err := exec.CommandContext(t.Context(), fixtures.RequireTool(t, "php"), "-d", "error_reporting=-1", "-r", code).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var want []string
	for _, site := range []string{"1", "2", "5"} {
		for _, what := range []string{"event ours", "bookside_companion", "bookside_companion_extensions", "bookside_companion_failures", "bookside_companion_seen", "bookside_companion_jobs_until", "bookside_companion_events", "bookside_agenda"} {
			want = append(want, site+" "+what)
		}
	}
	if got := string(output); got != strings.Join(want, ";") {
		t.Errorf("%s", got)
	}
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
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	environment := adminSettings(db) // an account that may write users
	s := serve(t, environment)
	key := newKey(t, environment, "--permissions", "read,write")
	user := w.Run(t, `echo wp_insert_user(['user_login' => 'zora', 'user_email' => 'old@people.example', 'user_pass' => 'x', 'role' => 'subscriber']);`)
	execute(t, db.SQL, "UPDATE wp_latepoint_customers SET email = 'old@people.example', wordpress_user_id = "+user+" WHERE id = 1")
	execute(t, db.SQL, "DELETE FROM wp_latepoint_settings WHERE name = 'wp_users_as_customers'")
	execute(t, db.SQL, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('wp_users_as_customers', 'on')")
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
	if got := seen("POST"); got != "new@people.example new" {
		t.Errorf("after: %s", got)
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

// TestCompanionCorrectsWhatItNoted: what the companion noted by a clock that was ahead does not stay.
func TestCompanionCorrectsWhatItNoted(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	w.Run(t, "echo 'a page';")
	const ahead = "SUBSTRING_INDEX(option_value, ' ', -1) > UNIX_TIMESTAMP() + 86400 FROM wp_options WHERE option_name = 'bookside_companion_seen'"
	execute(t, db.SQL, "UPDATE wp_options SET option_value = CONCAT(SUBSTRING_INDEX(option_value, ' ', 1), ' ', UNIX_TIMESTAMP() + 366 * 86400) WHERE option_name = 'bookside_companion_seen'")
	if got := queryText(t, db, "SELECT "+ahead); got != "1" {
		t.Fatalf("it is not ahead: %q", got)
	}
	w.Run(t, "echo 'a page';")
	if got := queryText(t, db, "SELECT "+ahead); got != "0" {
		t.Errorf("it is still ahead: %q", got)
	}
}

// TestCompanionIsBackBehindACache: where WordPress caches options, the command that installs the companion, or its activation, makes the
// server go by it again.
func TestCompanionIsBackBehindACache(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	writeBelow(t, w.Content, map[string]string{"object-cache.php": objectCache})
	noted := func() string {
		return queryText(t, db, "SELECT option_value FROM wp_options WHERE option_name = 'bookside_companion_seen'")
	}
	companionCommand := func(name string) { run(t, nil, "", "companion", name, "--wordpress", w.Dir).want(t, exit.OK) }
	w.Run(t, "echo 'a page';")
	if noted() == "" {
		t.Fatal("it is not noted")
	}
	companionCommand("remove")
	if got := noted(); got != "" {
		t.Errorf("removed: %q", got)
	}
	companionCommand("install")
	if noted() == "" {
		t.Error("installed: it is not noted")
	}
	execute(t, db.SQL, "UPDATE wp_options SET option_value = '' WHERE option_name = 'bookside_companion_seen'")
	w.Run(t, "echo 'a page';")
	if got := noted(); got != "" {
		t.Errorf("the cache has no older value: %q", got)
	}
	w.Run(t, "require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('bookside/bookside.php'); activate_plugin('bookside/bookside.php');")
	if noted() == "" {
		t.Error("activated: it is not noted")
	}
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}
