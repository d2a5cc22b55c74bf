package console_test

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
	"github.com/bookside/bookside/fixtures/expect"
)

// keyboard drives a browser without a mouse.
type keyboard struct {
	t     *testing.T
	page  context.Context
	label string // of the screenshots
}

func (k *keyboard) press(keys string) {
	k.t.Helper()
	expect.NoError(k.t, chromedp.Do(k.page, chromedp.KeyEvent(keys)))
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

// until waits for an expression to become true in the page. Evaluating fails while the browser is between
// pages.
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
			k.t.Fatalf("%s: %v, with the focus on %s, at %s", expression, err, k.eval("document.activeElement.outerHTML.slice(0, 300)"), k.eval("document.body.innerText"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// arrives waits for a page by its title, and for the element that takes the focus at the first paint, if
// there is one. It checks what must hold for every page.
func (k *keyboard) arrives(title string) {
	k.t.Helper()
	k.until("document.title.startsWith(" + quote(title) + ") && (!document.querySelector('[autofocus]') || document.activeElement !== document.body)")
	if wide := k.eval("document.documentElement.scrollWidth - window.innerWidth"); wide != "0" && !strings.HasPrefix(wide, "-") {
		k.t.Errorf("%s: wider than the screen by %s", title, wide)
	}
	browser.Screenshot(k.page, k.t, k.label+" "+strings.NewReplacer("?", "", ": ", " ", "/", " ").Replace(title))
}

// quote returns text as a string literal of a script.
func quote(text string) string { return "`" + strings.ReplaceAll(text, "`", "\\`") + "`" }

// focusName is an expression for the name of the element that has the focus.
const focusName = `(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.ariaLabel || e.textContent).trim().replace(/\s+/g, " "))(document.activeElement)`

// reach presses Tab until the element with this name has the focus, and checks that the focus is visible.
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
	page := browser.New(t) // shared by both screens, because it takes a second to start
	for name, on := range map[string]struct {
		screen chromedp.Action[chromedp.Void]
		copies cdp.PermissionSetting // denied, to test the older way to copy
	}{
		"desk":  {chromedp.EmulateViewport(1280, 900), cdp.PermissionSettingGranted},
		"phone": {chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch), cdp.PermissionSettingDenied},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "phone" {
				fixtures.RequireThorough(t)
			}
			k := &keyboard{t, page, name}
			expect.NoError(t, chromedp.Do(k.page, on.screen))
			k.scheme("light")
			manageKeys(k, serve(t, fixtures.New(t, fixtures.Small(now))), on.copies)
		})
	}
}

func manageKeys(k *keyboard, s *consoleServer, copies cdp.PermissionSetting) {
	t := k.t
	t.Helper()
	traffic := browser.Watch(k.page, t)
	expect.NoError(t, chromedp.Do(k.page, chromedp.Navigate(s.admin.URL+"/console")))
	k.arrives("Log in")
	k.press("guess" + kb.Enter)
	k.arrives("Error: Log in")
	k.press(s.token() + kb.Enter)
	k.arrives("Overview")
	k.activate("Keys")
	k.arrives("Keys and calendars")
	k.activate("New key")

	k.arrives("New key")
	k.press("Kasse <1>")
	k.reach("read only sees everything")
	k.press(kb.ArrowUp) // custom, which is the last one
	k.reach("read bookings")
	k.press(" ")
	k.reach("Networks")
	k.press("192.0.2.1x")
	k.reach("3 Nadia Okafor")
	k.press(" ")
	const ticked = `[...document.querySelectorAll("#agents :checked")].map(box => box.value).join()`
	k.until(ticked + " === '3'") // and no longer all
	expect.Equal(k.t, "", k.eval(`document.querySelector("#agents [type=checkbox]").click() || `+ticked), "after all")
	k.activate("Create the key")
	k.arrives("Error: New key")
	expect.Equal(t, "alert", k.eval("document.activeElement.getAttribute('role')"), "the focus is on ", k.eval("document.activeElement.outerHTML"))
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
	s.get("/v1/bookings", header).want(http.StatusOK)
	s.get("/v1/services", header).want(http.StatusForbidden)
	k.activate("I have copied it: back to the list")

	k.arrives("Keys and calendars")
	k.activate("Change Kasse <1>")
	k.arrives("Change key 2")
	k.press(kb.End + " b")
	k.reach("read services")
	k.press(" ")
	k.activate("Change the key")
	k.arrives("Keys and calendars")
	expect.Equal(t, "Key 2 was changed. The change is in effect.", k.eval(focusName), "the focus is on")
	s.get("/v1/services", header).want(http.StatusOK)

	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Keep it")
	k.arrives("Keys and calendars")
	s.get("/v1/services", header).want(http.StatusOK)
	k.activate("Revoke Kasse <1> b")
	k.arrives("Revoke key 2?")
	k.activate("Revoke the key")
	k.arrives("Keys and calendars")
	s.get("/v1/services", header).want(http.StatusUnauthorized)
	k.activate("Revoked and expired (1)")
	k.until("document.querySelector('details').open && document.querySelector('details').innerText.includes('Kasse <1> b')")
	k.dark()
	k.arrives("Keys and calendars")
	k.activate("New key")
	k.arrives("New key")
	k.activate("Log out")
	k.arrives("Log in")
	if faults := traffic.Faults(s.admin.URL); len(faults) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
	}
}

// TestEveryPageLooks opens every page on a desktop, in dark mode and on a phone. No page may be wider than
// the screen, break a part of a network or show a label without a value, axe must find nothing wrong, and in
// German nothing may be English.
func TestEveryPageLooks(t *testing.T) {
	t.Parallel()
	window := browser.New(t)
	database := fixtures.New(t, fixtures.Small(now))
	server := serve(t, database)
	busy(t, server, database)
	expect.NoError(t, chromedp.Do(window, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(server.admin.URL+"/console")))
	k := &keyboard{t, window, "page"}
	traffic := browser.Watch(window, t)
	k.arrives("Log in")
	browser.Accessible(window, t, "Log in")
	k.press(server.token() + kb.Enter)
	k.arrives("Overview")
	reader := server.login()
	titles := map[string]string{
		"": "Overview", "/day?day=2026-12-06": "Sunday, 6 December 2026", "/free-times?day=2026-11-24&agent=1": "Why is this time not free?",
		"/requests": "Requests", "/requests?record=x": "Error: Requests", "/changes": "Changes", "/none": "There is no such page",
		"/keys": "Keys and calendars", "/keys/new": "New key", "/keys/new-calendar": "New calendar", "/keys/2": "Change key 2", "/keys/2/roll": "Roll key 2", "/keys/2/revoke": "Revoke key 2?", "/keys/77": "There is no such key",
		"/webhooks": "Webhooks", "/webhooks/new": "New webhook", "/webhooks/1": "Webhook shop", "/webhooks/1/edit": "Change webhook 1", "/webhooks/1/delete": "Delete webhook 1?",
	}
	phone := chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch)
	for on, looks := range map[string]struct {
		screen chromedp.Action[chromedp.Void]
		scheme string
	}{"dark desk": {chromedp.EmulateViewport(1440, 900), "dark"}, "light laptop": {chromedp.EmulateViewport(1024, 768), "light"}, "light phone": {phone, "light"}} {
		k.label = "page " + on
		k.scheme(looks.scheme)
		expect.NoError(t, chromedp.Do(window, looks.screen))
		shown := slices.Sorted(maps.Keys(titles))
		if on != "dark desk" {
			shown = fixtures.Sample(shown, 4)
		}
		for _, path := range shown {
			title := titles[path]
			expect.NoError(t, chromedp.Do(window, chromedp.Navigate(server.admin.URL+"/console"+path)))
			k.eval("document.querySelectorAll('details').forEach(d => { d.open = true })")
			k.arrives(title)
			browser.Accessible(window, t, on+" "+title)
			if on == "dark desk" {
				reader.inGerman("/console" + path).wantGerman(path)
			}
			for flaw, find := range map[string]string{"broken": brokenNetworks, "labels of nothing": emptyCards} {
				expect.Equal(t, "", k.eval(find), on, " ", title, ": ", flaw)
			}
			if lines := k.eval("new Set([...document.querySelectorAll('.pages a')].map(a => a.offsetTop)).size"); on != "light phone" && lines != "1" {
				t.Errorf("%s %s: the navigation has %s lines", on, title, lines)
			}
		}
	}
	for _, fault := range traffic.Faults(server.admin.URL) {
		if !strings.Contains(fault, "404") { // of the key that does not exist
			t.Error(fault)
		}
	}
}

// brokenNetworks is an expression for the parts of networks that wrap over two lines.
const brokenNetworks = `[...document.querySelectorAll(".network")].flatMap(network => [...network.childNodes]).filter(part => {
	const range = document.createRange();
	range.selectNodeContents(part);
	return part.nodeType === Node.TEXT_NODE && range.getClientRects().length > 1;
}).map(part => part.textContent).join(", ")`

// emptyCards is an expression for the labels in cards that have no value beside them.
const emptyCards = `[...document.querySelectorAll(".list td[data-label]")].filter(cell =>
	cell.offsetHeight > 0 && cell.innerText.trim() === "" && getComputedStyle(cell, "::before").content !== "none"
).map(cell => cell.dataset.label).join(", ")`

// busy fills every page: requests, keys and a calendar with long names, webhooks, events, changes and overlaps.
func busy(t *testing.T, s *consoleServer, database *fixtures.Database) {
	t.Helper()
	ended, ends := now.AddDate(0, 0, -1), now.AddDate(1, 0, 0)
	for _, n := range []keys.NewKey{
		{Name: "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", Kind: keys.Live, Permissions: []string{"read", "write_bookings"}, CreatedBy: "ada, command line", ExpiresAt: &ends,
			Scope: domain.Scope{Agents: []int64{1, 2}, Locations: []int64{1}}, MaskPersonal: true, Networks: []netip.Prefix{netip.MustParsePrefix("192.168.100.128/25"), netip.MustParsePrefix("2001:db8:1234:5678:9abc:def0:1234:5678/128")}},
		{Name: "till", Kind: keys.Test, Permissions: []string{"read"}, ExpiresAt: &ended},
		{Name: "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetzbesprechung", Kind: keys.Calendar, Details: keys.Names, Scope: keys.CalendarScope(domain.AgentResource, 1), CreatedBy: "ada, console"},
	} {
		_, _, err := s.keys.Create(t.Context(), n)
		expect.NoError(t, err)
	}
	database.Execute(t, overlapping,
		`INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at, failing_since)
			VALUES (1, 'shop', 'https://example.com/hooks/a-rather-long-address-of-a-receiver?token=x', 'booking.*,customer.created', '1,2', '', '', 1, 0, 0, 'x', 'enabled', 0, '2026-11-01 09:00:00', '2026-11-20 10:00:00')`,
		`INSERT INTO wp_bookside_webhook_deliveries (id, webhook_id, number, event, resource, resource_id, at, data, status, tries, due_at, failure, created_at, finished_at) VALUES
			(1, 1, 1, 'booking.created', 'bookings', 7001, '2026-11-20 10:00:00', '{"number":1}', 'delivered', 1, '2026-11-20 10:00:00', '', '2026-11-20 10:00:00', '2026-11-20 10:00:01'),
			(2, 1, 2, 'booking.status_changed', 'bookings', 8, '2026-11-20 10:00:00', '{}', 'waiting', 1, '2026-11-21 01:00:00', 'answered 500', '2026-11-20 10:00:00', NULL)`,
		"INSERT INTO wp_bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (1, 1, '2026-11-20 10:00:01', 200, 41, '', 'ok'), (1, 2, '2026-11-20 10:00:01', 500, 41, 'answered 500', '<html>a server error that is told at some length</html>')",
		"REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 3)",
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id, old_status, new_status, agent_id, service_id, location_id) VALUES
			(1, 'bookings', 7001, 'created', '2026-11-20 10:00:00', 'api', 1, NULL, 'approved', 1, 1, 1),
			(2, 'bookings', 8, 'updated', '2026-11-20 10:00:00', 'site', 3, 'pending', 'approved', 1, 2, 1),
			(3, 'customers', 5, 'updated', '2026-11-20 10:00:00', 'found', NULL, NULL, NULL, NULL, NULL, NULL)`,
		"UPDATE wp_bookside_changes SET request_id = 'a-request-with-a-rather-long-id-of-its-own-0123456789abcdef' WHERE number = 1",
		`INSERT INTO wp_bookside_requests (id, at, request_id, key_id, user_id, method, route, record_id, tool, status, code, took_us, statements, fields, refused) VALUES
			(1, '2026-11-20 10:00:00.125', 'a-request-with-a-rather-long-id-of-its-own-0123456789abcdef', 2, 0, 'GET', '/bookings', 0, '', 400, 'invalid_parameters', 4125, 2, 'page, per_page', 0),
			(2, '2026-11-20 10:00:00.250', 'a-request-with-a-rather-long-id-of-its-own-0123456789abcdef', 1, 0, 'PUT', '/bookings/:id', 7001, '', 200, '', 14125, 12, '', 0),
			(3, '2026-11-20 20:00:00.500', 'x', 0, 0, 'GET', 'none', 0, '', 404, 'rest_no_route', 125, 0, '', 7100),
			(4, '2026-11-20 21:00:00.750', 'y', 1, 0, 'POST', '/mcp', 0, 'find_free_times', 503, 'service_unavailable', 2000000, 0, '', 0)`,
		"INSERT INTO wp_bookside_events (id, event, record_id, status, tries, failure, due_at, created_at, finished_at) VALUES (1, 'booking_created', 12, 'failed', 1, 'WordPress answered 500 and said nothing else', '2026-11-20', '2026-11-20', '2026-11-20')")
}

// permit sets a permission of the page.
func (k *keyboard) permit(name string, setting cdp.PermissionSetting) {
	k.t.Helper()
	_, err := chromedp.CallBrowser(k.page, cdp.SetPermission, cdp.SetPermissionParams{
		Permission: &cdp.PermissionDescriptor{Name: name}, Setting: setting,
	})
	expect.NoError(k.t, err)
}

// dark switches to the dark color scheme, for the screenshots.
func (k *keyboard) dark() {
	k.t.Helper()
	k.scheme("dark")
	k.label += " dark"
}

// scheme switches to a color scheme.
func (k *keyboard) scheme(name string) {
	k.t.Helper()
	_, err := chromedp.Call(k.page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	expect.NoError(k.t, err)
}
