package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"bookside/fixtures"
	"bookside/fixtures/browser"
)

// keyboard is a person at a browser who has no mouse.
type keyboard struct {
	t     *testing.T
	page  context.Context
	label string // of the screenshots
}

func (k *keyboard) press(keys string) {
	k.t.Helper()
	if err := chromedp.Do(k.page, chromedp.KeyEvent(keys)); err != nil {
		k.t.Fatal(err)
	}
}

// eval evaluates an expression in the page.
func (k *keyboard) eval(expression string) string {
	k.t.Helper()
	text, err := chromedp.Run(k.page, chromedp.Evaluate[string]("Promise.resolve("+expression+").then(String)", chromedp.EvalAwaitPromise))
	if err != nil {
		k.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// until waits for an expression to become true in the page. While the browser is
// between pages, evaluating fails.
func (k *keyboard) until(expression string) {
	k.t.Helper()
	ready := "document.readyState === 'complete' && Boolean(" + expression + ")"
	deadline := time.Now().Add(time.Minute)
	for {
		holds, err := chromedp.Run(k.page, chromedp.Evaluate[bool](ready))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("%s: %v, at %s", expression, err, k.eval("document.body.innerText"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// arrives waits for a page by its title, and for the element that takes the
// focus, if there is one: it does so at the first paint. It checks what has to
// hold for every page.
func (k *keyboard) arrives(title string) {
	k.t.Helper()
	k.until("document.title.startsWith(" + quote(title) + ") && (!document.querySelector('[autofocus]') || document.activeElement !== document.body)")
	if wide := k.eval("document.documentElement.scrollWidth - window.innerWidth"); wide != "0" && !strings.HasPrefix(wide, "-") {
		k.t.Errorf("%s: wider than the screen by %s", title, wide)
	}
	browser.Screenshot(k.page, k.t, k.label+" "+strings.NewReplacer("?", "", ": ", " ").Replace(title))
}

// quote returns text as a string literal of a script.
func quote(text string) string { return "`" + strings.ReplaceAll(text, "`", "\\`") + "`" }

// focusName is an expression for the name of the element that has the focus.
const focusName = `(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent).trim().replace(/\s+/g, " "))(document.activeElement)`

// reach presses Tab until the element with this name has the focus, which must be
// visible.
func (k *keyboard) reach(name string) {
	k.t.Helper()
	var passed []string
	for range 60 {
		k.press(kb.Tab)
		at := k.eval(focusName)
		if at == name {
			if outline := k.eval("getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
				k.t.Errorf("%s: the focus cannot be seen", name)
			}
			return
		}
		passed = append(passed, at)
	}
	k.t.Fatalf("no way to %q: %q", name, passed)
}

// activate reaches a link or button and presses Enter.
func (k *keyboard) activate(name string) {
	k.t.Helper()
	k.reach(name)
	k.press(kb.Enter)
}

// TestPageWithTheKeyboardAlone logs in and creates, copies, changes and revokes a
// key in a browser without a mouse.
func TestPageWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	page := browser.New(t) // one for both screens, because its start takes a second
	for name, on := range map[string]struct {
		screen chromedp.Action[chromedp.Void]
		copies cdp.PermissionSetting // denied: the older way to copy
	}{
		"desk":  {chromedp.EmulateViewport(1280, 900), cdp.PermissionSettingGranted},
		"phone": {chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch), cdp.PermissionSettingDenied},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keyboard{t, page, name}
			if err := chromedp.Do(k.page, on.screen); err != nil {
				t.Fatal(err)
			}
			manageKeys(k, serve(t, fixtures.New(t, fixtures.Small(now))), on.copies)
		})
	}
}

func manageKeys(k *keyboard, keys *consoleServer, copies cdp.PermissionSetting) {
	t := k.t
	t.Helper()
	traffic := browser.Watch(k.page, t)
	if err := chromedp.Do(k.page, chromedp.Navigate(keys.admin.URL+"/console/keys")); err != nil {
		t.Fatal(err)
	}
	k.arrives("Log in")
	k.press("guess" + kb.Enter)
	k.arrives("Error: Log in")
	k.press(keys.token() + kb.Enter)
	k.arrives("API keys")
	k.activate("New key")

	k.arrives("New key")
	k.press("Kasse <1>")
	k.reach("read bookings")
	k.press(" ")
	k.reach("Networks")
	k.press("192.0.2.1x")
	k.activate("Create the key")
	k.arrives("Error: New key")
	if got := k.eval("document.activeElement.getAttribute('role')"); got != "alert" {
		t.Errorf("the focus is on %s", k.eval("document.activeElement.outerHTML"))
	}
	k.activate(`"192.0.2.1x" is not a network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address.`)
	k.until("document.activeElement.id === 'networks'")
	k.press(kb.End + kb.Backspace)
	k.activate("Create the key")

	k.arrives("Key 2 was created")
	secret := k.eval("document.activeElement.value")
	if !secretForm.MatchString(secret) {
		t.Fatalf("the focus is on %s", k.eval("document.activeElement.outerHTML"))
	}
	k.permit("clipboard-write", copies)
	k.activate("Copy")
	k.until("document.getElementById('copied').textContent === 'Copied.'")
	k.permit("clipboard-read", cdp.PermissionSettingGranted)
	if got := k.eval("navigator.clipboard.readText()"); got != secret {
		t.Errorf("%d characters were copied of %d", len(got), len(secret))
	}
	header := http.Header{"X-Api-Key": {secret}}
	keys.get("/v1/bookings", header).want(http.StatusOK)
	keys.get("/v1/services", header).want(http.StatusForbidden)
	k.activate("I have copied it: back to all keys")

	k.arrives("API keys")
	k.activate("Change Kasse <1>")
	k.arrives("Change key 2")
	k.press(kb.End + " b")
	k.reach("read services")
	k.press(" ")
	k.activate("Change the key")
	k.arrives("API keys")
	if got := k.eval(focusName); got != "Key 2 was changed. The change is in effect." {
		t.Errorf("the focus is on %q", got)
	}
	keys.get("/v1/services", header).want(http.StatusOK)

	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Keep it")
	k.arrives("API keys")
	keys.get("/v1/services", header).want(http.StatusOK)
	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Revoke the key")
	k.arrives("API keys")
	keys.get("/v1/services", header).want(http.StatusUnauthorized)
	k.activate("Revoked and expired keys (1)")
	k.until("document.querySelector('details').open && document.querySelector('details').innerText.includes('Kasse <1> b')")
	k.dark()
	k.arrives("API keys")
	k.activate("New key")
	k.arrives("New key")
	k.activate("Log out")
	k.arrives("Log in")
	if faults := traffic.Faults(keys.admin.URL); len(faults) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
	}
}

// permit sets a permission of the page.
func (k *keyboard) permit(name string, setting cdp.PermissionSetting) {
	k.t.Helper()
	_, err := chromedp.CallBrowser(k.page, cdp.SetPermission, cdp.SetPermissionParams{
		Permission: &cdp.PermissionDescriptor{Name: name}, Setting: setting,
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

// dark switches to the dark color scheme, for the screenshots.
func (k *keyboard) dark() {
	k.t.Helper()
	_, err := chromedp.Call(k.page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.label += " dark"
}
