package main

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/fixtures/expect"
)

// visitor is a person using wp-admin without a mouse.
type visitor struct {
	t     *testing.T
	page  context.Context
	site  string // its URL
	label string // of the screenshots
}

func (v *visitor) eval(expression string) string {
	v.t.Helper()
	text, err := chromedp.Run(v.page, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		v.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// until waits for an expression to become true on the page. While the browser is between pages, evaluation
// fails.
func (v *visitor) until(expression string) {
	v.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		holds, err := chromedp.Run(v.page, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+expression+")"))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s: %v, at %s", expression, err, v.eval("document.body.innerText"))
		}
	}
}

// shows waits for a text on the page, which must not be wider than the screen. In states with a screenshot, axe must find
// nothing wrong with what is ours.
func (v *visitor) shows(text, screenshot string) {
	v.t.Helper()
	v.until("!window.left && ([..." + root + ".children].map(e => e.innerText).join(' ') + document.querySelector('#wpbody-content').innerText).includes(`" + text + "`)")
	expect.Equal(v.t, "0", v.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"), text, " is wider than the screen by")
	if screenshot != "" {
		browser.Screenshot(v.page, v.t, v.label+" "+screenshot)
		if v.label == "desk" || fixtures.Thorough() {
			browser.AccessibleWithin(v.page, v.t, "#wpbody-content", v.label+" "+screenshot)
		}
	}
}

func (v *visitor) press(keys string) {
	v.t.Helper()
	expect.NoError(v.t, chromedp.Do(v.page, chromedp.KeyEvent(keys)))
}

// name is an expression for the accessible name of the focused element.
const name = `(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent || e.value || "").trim().replace(/\s+/g, " "))(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)`

// reach presses Tab until the element with this name has the focus, which must be visible. It starts after
// WordPress's menus.
func (v *visitor) reach(text string) {
	v.t.Helper()
	v.eval("[" + root + ".querySelector('h1')].forEach(e => { e.tabIndex = -1; e.focus(); })")
	var passed []string
	for range 80 {
		v.press(kb.Tab)
		at := v.eval(name)
		if at == text {
			const unseen = `['', '::before'].every(part => (s => s.outlineStyle === 'none' && s.boxShadow === 'none')(getComputedStyle(` + focused + `, part)))`
			if v.eval(unseen) == "true" {
				v.t.Errorf("%s: the focus cannot be seen", text)
			}
			return
		}
		passed = append(passed, at)
	}
	v.t.Fatalf("no way to %q: %q", text, passed)
}

func (v *visitor) activate(text string) {
	v.t.Helper()
	v.reach(text)
	v.press(kb.Enter)
}

// follow activates an element that leads to another page.
func (v *visitor) follow(text string) {
	v.t.Helper()
	v.eval("window.left = true")
	v.activate(text)
}

// write replaces the text of the focused field.
func (v *visitor) write(text string) {
	v.t.Helper()
	v.eval(focused + ".select()")
	v.press(text)
}

// open opens an address below wp-admin.
func (v *visitor) open(address string) {
	v.t.Helper()
	expect.NoError(v.t, chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-admin/"+address)))
}

// screens are the screen sizes on which the pages are tested.
var screens = map[string]chromedp.Action[chromedp.Void]{
	"desk":  chromedp.EmulateViewport(1440, 900),
	"phone": chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch),
}

// TestCompanionPages uses the console inside of wp-admin, and the settings, in a browser.
func TestCompanionPages(t *testing.T) {
	t.Parallel()
	page := browser.New(t)
	db := fixtures.New(t, fixtures.Small(now))
	overlap(t, db)
	w := newCompanionSite(t, db)
	s := serveAt(t, settingsFor(db), time.Now) // WordPress uses the real clock
	s.awaitFingerprint()
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']); update_option('show_avatars', 0);`)
	site := w.Serve(t)
	for label, screen := range screens {
		t.Run(label, func(t *testing.T) {
			expect.NoError(t, chromedp.Do(page, screen))
			v := &visitor{t, page, site, label}
			traffic := browser.Watch(page, t)
			v.logIn()
			v.readPages()
			if label == "desk" || fixtures.Thorough() {
				v.makeKey(func(secret string) int {
					status, _ := get(t, s.url+"/v1/bookings", secret)
					return status
				})
				v.changeSettings()
			}
			if faults := traffic.Faults(site); len(faults) > 0 {
				t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
			}
		})
	}
	expect.Equal(t, "", w.Faults(t))
}

func (v *visitor) logIn() {
	v.t.Helper()
	expect.NoError(v.t, chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-login.php?action=logout")))
	expect.NoError(v.t, chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-login.php")))
	v.until("document.getElementById('user_login')")
	v.eval("document.getElementById('user_login').value = 'admin', document.getElementById('user_pass').value = 'admin', document.getElementById('loginform').submit()")
	v.until("document.getElementById('wpbody-content')")
}

// root is where the console is, and focused is what has the focus, there or outside.
const (
	root    = "(document.getElementById('bookside')?.shadowRoot ?? document.getElementById('wpbody-content'))"
	focused = "(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)"
)

// readPages opens each page. The styles of wp-admin and those of the console do not reach each other.
func (v *visitor) readPages() {
	v.t.Helper()
	v.open("admin.php?page=bookside")
	v.shows("Overview", "overview")
	v.looksLike("getComputedStyle("+root+".querySelector('nav a')).fontFamily", "system-ui, sans-serif")
	const ofWordPress = "['body', '#adminmenu a', 'h1', '.page-title-action'].map(e => getComputedStyle(document.querySelector(e))).map(s => s.font + s.color + s.margin + s.padding).join()"
	with := v.eval(ofWordPress)
	v.open("admin.php?page=bookside&tab=settings")
	v.shows("Forward requests", "")
	v.looksLike(ofWordPress, with)
	v.open("admin.php?page=bookside")
	v.shows("Overview", "")
	for _, path := range strings.Fields(v.eval("[..." + root + ".querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(a.getAttribute('href').indexOf('admin.php'))).join(' ')")) {
		v.open(path)
		v.until(root + ".querySelector('h1')")
		title := v.eval(root + ".querySelector('h1').innerText")
		v.shows(title, title)
		if at := v.eval("document.title"); !strings.HasPrefix(at, title) {
			v.t.Errorf("%s: the title is %s", title, at)
		}
	}
}

func (v *visitor) looksLike(expression, want string) {
	v.t.Helper()
	expect.Equal(v.t, want, v.eval(expression), expression)
}

var secretOfPage = regexp.MustCompile(`^lp_live_[0-9A-Za-z]{38}$`)

// makeKey creates a key and revokes it.
func (v *visitor) makeKey(status func(secret string) int) {
	v.t.Helper()
	v.open("admin.php?page=bookside&at=%2Fkeys")
	v.follow("New key")
	v.until(root + ".getElementById?.('networks')")
	v.reach("Name")
	v.write("Kasse <1>")
	v.reach("Networks")
	v.write("192.0.2.1x")
	v.follow("Create the key")
	v.shows("Nothing was saved", "new key with errors")
	v.activate(`"192.0.2.1x" is not a network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address.`)
	v.until(focused + ".id === 'networks'")
	v.write("127.0.0.1")
	v.follow("Create the key")
	v.shows("was created", "key")
	secret := v.eval(root + ".getElementById('secret').value")
	if !secretOfPage.MatchString(secret) {
		v.t.Fatalf("secret %q", secret)
	}
	v.activate("Copy")
	v.until(root + ".getElementById('copied').textContent !== ''")
	expect.Equal(v.t, http.StatusOK, status(secret), "new key: status")
	v.open("admin.php?page=bookside&at=%2Fkeys")
	v.shows("Kasse <1>", "keys")
	v.follow("Revoke Kasse <1>")
	v.shows("Kasse <1>", "revoke")
	v.follow("Revoke the key")
	v.until("location.search.includes('done%3Drevoked')")
	expect.Equal(v.t, http.StatusUnauthorized, status(secret), "revoked key: status")
}

func (v *visitor) changeSettings() {
	v.t.Helper()
	v.open("admin.php?page=bookside&tab=settings")
	v.shows("Forward requests", "settings")
	v.reach("Forward requests")
	v.write("http://127.0.0.1:8080/v1")
	v.follow("Save Changes")
	v.shows("Enter the address of the server alone", "settings with errors")
	v.reach("Forward requests")
	v.write("http://127.0.0.1:8080/")
	v.follow("Save Changes")
	v.shows("Settings saved.", "")
	v.looksLike("document.getElementById('bookside-forward').value", "http://127.0.0.1:8080")
	v.reach("Forward requests")
	v.eval("document.activeElement.value = ''")
	v.follow("Save Changes")
	v.shows("Settings saved.", "")
}
