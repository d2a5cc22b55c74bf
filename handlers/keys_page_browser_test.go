package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"bookside/fixtures"
)

// keyboard is somebody before a browser who has no mouse.
type keyboard struct {
	t       *testing.T
	browser context.Context
	label   string // of the screenshots
}

func (k *keyboard) press(keys string) {
	k.t.Helper()
	if err := chromedp.Do(k.browser, chromedp.KeyEvent(keys)); err != nil {
		k.t.Fatal(err)
	}
}

// tell evaluates an expression in the page.
func (k *keyboard) tell(expression string) string {
	k.t.Helper()
	text, err := chromedp.Run(k.browser, chromedp.Evaluate[string]("Promise.resolve("+expression+").then(String)", chromedp.EvalAwaitPromise))
	if err != nil {
		k.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// until waits for an expression of the page to become true. In between pages
// there is none to ask.
func (k *keyboard) until(expression string) {
	k.t.Helper()
	ready := "document.readyState === 'complete' && Boolean(" + expression + ")"
	deadline := time.Now().Add(time.Minute)
	for {
		holds, err := chromedp.Run(k.browser, chromedp.Evaluate[bool](ready))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("%s: %v, at %s", expression, err, k.tell("document.body.innerText"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// arrives waits for a page by its title, and where one of its elements takes the
// focus, for that: it happens with the first picture. It looks at what every
// page must be.
func (k *keyboard) arrives(title string) {
	k.t.Helper()
	k.until("document.title.startsWith(" + quote(title) + ") && (!document.querySelector('[autofocus]') || document.activeElement !== document.body)")
	if wide := k.tell("document.documentElement.scrollWidth - window.innerWidth"); wide != "0" && !strings.HasPrefix(wide, "-") {
		k.t.Errorf("%s: wider than the screen by %s", title, wide)
	}
	screenshot(k.browser, k.t, k.label+" "+strings.NewReplacer("?", "", ": ", " ").Replace(title))
}

// quote makes a text one of the script.
func quote(text string) string { return "`" + strings.ReplaceAll(text, "`", "\\`") + "`" }

// focused is how the element that has the focus is called.
const focused = `(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent).trim().replace(/\s+/g, " "))(document.activeElement)`

// reach presses Tab until the focus is on what is called so, and can be seen
// there.
func (k *keyboard) reach(name string) {
	k.t.Helper()
	var passed []string
	for range 60 {
		k.press(kb.Tab)
		at := k.tell(focused)
		if at == name {
			if outline := k.tell("getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
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

// TestKeysPageInBrowser logs in, makes, copies, restricts and revokes a key
// without a mouse.
func TestKeysPageInBrowser(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]struct {
		screen chromedp.Action[chromedp.Void]
		copies browser.PermissionSetting // denied: the older way to copy
	}{
		"desk":  {chromedp.EmulateViewport(1280, 900), browser.PermissionSettingGranted},
		"phone": {chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch), browser.PermissionSettingDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keyboard{t, newBrowser(t), name}
			if err := chromedp.Do(k.browser, on.screen); err != nil {
				t.Fatal(err)
			}
			manageKeys(k, newKeysPage(t, fixtures.New(t, fixtures.Small(now))), on.copies)
		})
	}
}

func manageKeys(k *keyboard, page *keysPage, copies browser.PermissionSetting) {
	t := k.t
	t.Helper()
	seen := watchTraffic(k.browser, t)
	if err := chromedp.Do(k.browser, chromedp.Navigate(page.admin.URL+"/keys")); err != nil {
		t.Fatal(err)
	}
	k.arrives("Log in")
	k.press("guess" + kb.Enter)
	k.arrives("Error: Log in")
	k.press(page.token() + kb.Enter)
	k.arrives("API keys")
	k.activate("New key")

	k.arrives("New key")
	k.press("Kasse <1>")
	k.reach("read bookings")
	k.press(" ")
	k.reach("Networks")
	k.press("192.0.2.1x")
	k.activate("Make the key")
	k.arrives("Error: New key")
	if got := k.tell("document.activeElement.getAttribute('role')"); got != "alert" {
		t.Errorf("the focus is on %s", k.tell("document.activeElement.outerHTML"))
	}
	k.activate(`"192.0.2.1x" is no network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address.`)
	k.until("document.activeElement.id === 'networks'")
	k.press(kb.End + kb.Backspace)
	k.activate("Make the key")

	k.arrives("Key 2 is made")
	secret := k.tell("document.activeElement.value")
	if !secretForm.MatchString(secret) {
		t.Fatalf("the focus is on %s", k.tell("document.activeElement.outerHTML"))
	}
	k.permit("clipboard-write", copies)
	k.activate("Copy")
	k.until("document.getElementById('copied').textContent === 'Copied.'")
	k.permit("clipboard-read", browser.PermissionSettingGranted)
	if got := k.tell("navigator.clipboard.readText()"); got != secret {
		t.Errorf("%d characters were copied of %d", len(got), len(secret))
	}
	header := http.Header{"X-Api-Key": {secret}}
	page.do(http.MethodGet, "/v1/bookings", header).want(http.StatusOK)
	page.do(http.MethodGet, "/v1/services", header).want(http.StatusForbidden)
	k.activate("I have kept it: back to all keys")

	k.arrives("API keys")
	k.activate("Change Kasse <1>")
	k.arrives("Change key 2")
	k.press(kb.End + " b")
	k.reach("read services")
	k.press(" ")
	k.activate("Change the key")
	k.arrives("API keys")
	if got := k.tell(focused); got != "Key 2 was changed. The change holds already." {
		t.Errorf("the focus is on %q", got)
	}
	page.do(http.MethodGet, "/v1/services", header).want(http.StatusOK)

	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Keep it")
	k.arrives("API keys")
	page.do(http.MethodGet, "/v1/services", header).want(http.StatusOK)
	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Revoke the key")
	k.arrives("API keys")
	page.do(http.MethodGet, "/v1/services", header).want(http.StatusUnauthorized)
	k.activate("Revoked and expired keys (1)")
	k.until("document.querySelector('details').open && document.querySelector('details').innerText.includes('Kasse <1> b')")
	k.dark()
	k.arrives("API keys")
	k.activate("New key")
	k.arrives("New key")
	k.activate("Log out")
	k.arrives("Log in")
	if faults := seen.faults(page.admin.URL); len(faults) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
	}
}

// permit decides what pages may do.
func (k *keyboard) permit(name string, setting browser.PermissionSetting) {
	k.t.Helper()
	_, err := chromedp.CallBrowser(k.browser, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: name}, Setting: setting,
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

// dark switches to the dark scheme, for the pictures.
func (k *keyboard) dark() {
	k.t.Helper()
	_, err := chromedp.Call(k.browser, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.label += " dark"
}
