package main

import (
	"archive/zip"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bookside/fixtures"
)

// wordPressClient is a browser without scripts, which is logged in.
type wordPressClient struct {
	t      *testing.T
	site   string
	client *http.Client
}

// logInto logs a user in, whose password is the name.
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

// hiddenFields are the hidden fields of a form.
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

// TestCompanionPagesNeedRights: only who may manage the site sees the pages, and only its own
// forms act, once.
func TestCompanionPagesNeedRights(t *testing.T) {
	t.Parallel()
	const page = "/wp-admin/admin.php?page=bookside"
	db := fixtures.New(t, fixtures.Small(now))
	w := newCompanionSite(t, db)
	s := serve(t, settingsFor(db))
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
	if status, _ := author.get(page); status != http.StatusForbidden {
		t.Errorf("an author: status %d", status)
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

	stale := admin.form(page + "&tab=keys&form=restrict&key=1")
	stale.Set("name", "stale")
	w.Run(t, `Bookside\restrict_key(1, ['permissions' => 'read']);`)
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

// TestCompanionAsUploadedPlugin: without the must-use plugin in its place, the plugin brings its
// function along, and takes LatePoint's jobs out of the cron when it is deactivated.
func TestCompanionAsUploadedPlugin(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	w := fixtures.NewWordPress(t, db)
	file := filepath.Join(t.TempDir(), "bookside.zip")
	run(t, nil, "", "companion", "zip", file).want(t, exitOK)
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
			strpos(serialize(_get_cron_array()), '`+jobs+`') ? ' scheduled' : '';`)
	}
	w.Run(t, `update_option('bookside_companion', ['jobs' => true]);`)
	w.Run(t, `do_action('init');`)
	if got := state(); got != "loaded scheduled" {
		t.Errorf("active: %s", got)
	}
	// Uploaded over an installed one, whose must-use plugin keeps running.
	run(t, nil, "", "companion", "install", "--wordpress", w.Dir).want(t, exitOK)
	if err := os.CopyFS(filepath.Join(w.Content, "plugins", "bookside", "mu-plugins"), os.DirFS(filepath.Join(w.Content, "mu-plugins"))); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "loaded in place scheduled" {
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
