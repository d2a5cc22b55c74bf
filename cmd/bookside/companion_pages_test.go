package main

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/browser"
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
	v.until("!window.left && document.querySelector('#wpbody-content').innerText.includes(`" + text + "`)")
	if wide := v.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != "0" {
		v.t.Errorf("%s: wider than the screen by %s", text, wide)
	}
	if screenshot != "" {
		browser.Screenshot(v.page, v.t, v.label+" "+screenshot)
		if v.label == "desk" || fixtures.Thorough() {
			browser.AccessibleWithin(v.page, v.t, ".bookside", v.label+" "+screenshot)
		}
	}
}

func (v *visitor) press(keys string) {
	v.t.Helper()
	if err := chromedp.Do(v.page, chromedp.KeyEvent(keys)); err != nil {
		v.t.Fatal(err)
	}
}

// name is an expression for the accessible name of the focused element.
const name = `(e => (e.labels && e.labels.length ? e.labels[0].textContent : e.textContent).trim().replace(/\s+/g, " "))(document.activeElement)`

// reach presses Tab until the element with this name has the focus, which must be visible. It starts after
// WordPress's menus.
func (v *visitor) reach(text string) {
	v.t.Helper()
	v.eval(`document.querySelector('.bookside h1').setAttribute('tabindex', '-1') || document.querySelector('.bookside h1').focus()`)
	var passed []string
	for range 80 {
		v.press(kb.Tab)
		at := v.eval(name)
		if at == text {
			const unseen = `['', '::before'].every(part => (s => s.outlineStyle === 'none' && s.boxShadow === 'none')(getComputedStyle(document.activeElement, part)))`
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
	v.eval("document.activeElement.select()")
	v.press(text)
}

// expand opens the rows of a table, of which phones show only the first column.
func (v *visitor) expand() {
	v.t.Helper()
	const closed = "[...document.querySelectorAll('.toggle-row')].filter(e => e.offsetParent && !e.closest('tr').matches('.is-expanded'))"
	if v.eval(closed+".length") == "0" {
		return
	}
	v.activate("Show more details")
	v.until("document.querySelector('tr.is-expanded')")
	v.eval(closed + ".forEach(e => e.click())")
	// As in WordPress 7.1, whatever the version here.
	v.eval(`document.head.insertAdjacentHTML('beforeend', '<style>@media (max-width: 782px) {' +
		'.wp-list-table tr { display: flex; flex-wrap: wrap } .wp-list-table td.column-primary { flex: 1 } .wp-list-table td:nth-child(n + 3) { flex: 0 1 100% }' +
		'.wp-list-table td::before { content: attr(data-colname) } }</style>')`)
	const first = "[...document.querySelectorAll('.bookside tbody td.column-primary')].filter(e => e.offsetParent)"
	if label := v.eval(first + ".map(e => getComputedStyle(e, '::before').content).find(text => text.length > 2)"); label != "undefined" {
		v.t.Errorf("%s is written over a cell", label)
	}
	if beside := v.eval(first + ".filter(e => e.nextElementSibling.getBoundingClientRect().top < e.getBoundingClientRect().bottom - 1).length"); beside != "0" {
		v.t.Errorf("%s cells stand beside the first of their row", beside)
	}
}

// open opens an address below wp-admin.
func (v *visitor) open(address string) {
	v.t.Helper()
	if err := chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-admin/"+address)); err != nil {
		v.t.Fatal(err)
	}
}

// screens are the screen sizes on which the pages are tested.
var screens = map[string]chromedp.Action[chromedp.Void]{
	"desk":  chromedp.EmulateViewport(1440, 900),
	"phone": chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch),
}

var secretOfPage = regexp.MustCompile(`^lp_live_[0-9A-Za-z]{38}$`)

// TestCompanionPages uses the pages in a browser, with only the keyboard.
func TestCompanionPages(t *testing.T) {
	t.Parallel()
	page := browser.New(t)
	db := fixtures.New(t, fixtures.Small(now))
	overlap(t, db)
	w := newCompanionSite(t, db)
	s := serveAt(t, settingsFor(db), time.Now) // WordPress uses the real clock
	s.awaitFingerprint()
	w.Run(t, `update_option('bookside_companion', ['admin' => 'http://`+s.admin()+`']); update_option('show_avatars', 0); update_option('date_format', 'Y-m-d'); update_option('time_format', 'G.i \\h');
		global $wpdb;
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at)
			VALUES (1, 'CRM', 'https://crm.example/hook?token=geheim', 'booking.created', '', '', '', 0, 0, 0, 'whsec_geheim', 'enabled', 0, '2026-11-21 08:00:00')");
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_webhook_deliveries (id, webhook_id, number, event, resource, resource_id, at, data, status, tries, due_at, created_at)
			VALUES (1, 1, 5, 'booking.created', 'bookings', 7001, '2026-11-21 08:00:00', '{}', 'delivered', 1, '2026-11-21 08:00:00', '2026-11-21 08:00:00')");
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_webhook_tries (webhook_id, delivery_id, at, status, took_ms, failure, answer) VALUES (1, 1, '2026-11-21 08:00:00', 204, 31, '', '')");
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_events (event, record_id, status, tries, failure, due_at, created_at)
			VALUES ('booking_created', 7001, 'failed', 1, 'no <b>answer', '2026-11-21 08:00:00', '2026-11-21 08:00:00'), ('booking_created', 7002, 'failed', 1, '', '2026-11-21 08:00:00', '2026-11-21 08:00:00')");
		$wpdb->query("INSERT INTO {$wpdb->prefix}bookside_requests (id, at, request_id, key_id, user_id, from_console, method, route, record_id, tool, status, code, took_us, statements, query, fields, ignored, refused)
			VALUES (900001, UTC_TIMESTAMP(3), 'desk-1', 0, 0, 1, 'PUT', '/bookings/:id', 7001, '', 422, 'invalid_parameters', 8000, 9, '', '{\"start_time\":\"Must be a time\"}', '', 0)");
		$wpdb->query("UPDATE {$wpdb->prefix}bookside_change_positions SET position = 900002 WHERE name = 'journal'");
		$wpdb->query($wpdb->prepare("INSERT INTO {$wpdb->prefix}bookside_changes (number, resource, resource_id, kind, origin, actor_id, at, old_status, new_status, agent_id, service_id, location_id, customer_id)
			VALUES (900001, 'bookings', 7001, 'updated', 'site', %d, UTC_TIMESTAMP(), 'pending', 'approved', 1, 1, 1, 1), (900002, 'customers', 1, 'created', 'found', NULL, UTC_TIMESTAMP(), NULL, NULL, NULL, NULL, NULL, NULL)",
			get_user_by('login', 'admin')->ID));`)
	site := w.Serve(t)
	for label, screen := range screens {
		t.Run(label, func(t *testing.T) {
			if err := chromedp.Do(page, screen); err != nil {
				t.Fatal(err)
			}
			v := &visitor{t, page, site, label}
			traffic := browser.Watch(page, t)
			v.logIn()
			v.readPages()
			if label == "desk" || fixtures.Thorough() {
				v.askQuestions()
				v.sendAgain()
				v.manageKeys(func(secret string) int {
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
	if faults := w.Faults(t); faults != "" {
		t.Error(faults)
	}
}

func (v *visitor) logIn() {
	v.t.Helper()
	if err := chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-login.php?action=logout")); err != nil {
		v.t.Fatal(err)
	}
	if err := chromedp.Do(v.page, chromedp.Navigate(v.site+"/wp-login.php")); err != nil {
		v.t.Fatal(err)
	}
	v.until("document.getElementById('user_login')")
	v.eval("document.getElementById('user_login').value = 'admin', document.getElementById('user_pass').value = 'admin', document.getElementById('loginform').submit()")
	v.until("document.getElementById('wpbody-content')")
}

// readPages opens each tab.
func (v *visitor) readPages() {
	v.t.Helper()
	v.open("admin.php?page=bookside")
	v.shows("The server of the booking API is ready", "status")
	v.shows("The lock for bookings works", "")
	v.reach("Agenda")
	if link := v.eval("document.activeElement.getAttribute('href')"); !strings.HasSuffix(link, "/console/bookings") {
		v.t.Errorf("agenda: %s", link)
	}
	v.shows("This address does not lead to the server of the API", "")
	v.open("admin.php?page=latepoint")
	v.shows("History and requests", "")
	if link := v.eval("document.querySelector('#wpbody-content a').getAttribute('href')"); !strings.HasSuffix(link, "/console/bookings/7001") {
		v.t.Errorf("history: %s", link)
	}
	v.open("admin.php?page=bookside")
	v.follow("Webhooks")
	v.shows("CRM", "webhooks")
	if text := v.eval("document.documentElement.outerHTML"); strings.Contains(text, "geheim") {
		v.t.Error("a secret is on the page")
	}
	v.follow("CRM")
	v.shows("booking.created", "")
	v.expand()
	v.shows("delivered", "webhook")
	v.follow("Requests")
	v.shows("PUT /bookings/7001", "")
	v.expand()
	v.shows("invalid_parameters", "requests")
	v.follow("PUT /bookings/7001")
	v.shows("What was refused", "")
	v.expand()
	v.shows("Must be a time", "request")
	v.open("admin.php?page=bookside&tab=requests&request=99999999")
	v.shows("There is no such request", "")
	if text := v.eval("document.querySelector('.bookside .notice').innerText"); strings.Contains(text, "at the moment") {
		v.t.Errorf("untrue, as there will never be one: %s", text)
	}
	v.open("admin.php?page=bookside&tab=times&service=1&agent=1&day=2027-06-01")
	v.shows("starts are free", "")
	v.shows("9.15\u00a0h, 9.30\u00a0h", "")
	v.expand()
	v.shows("Another booking overlaps.", "free times")
	v.follow("Changes")
	v.shows("What changed in the last 24 hours", "")
	v.expand()
	v.shows("pending → approved", "changes")
	v.shows("admin", "")
	v.follow("Overlaps")
	v.shows("that need the same agent, room or device", "")
	v.shows("9.00\u00a0h–10.00\u00a0h", "") // on a phone, too
	v.expand()
	v.shows("9.00\u00a0h–10.00\u00a0h", "overlaps")
	link := v.eval("document.querySelector('.bookside td a').getAttribute('href')")
	if address, err := url.Parse(link); err != nil || address.Query().Get("route_name") != "bookings__index" || address.Query().Get("filter[id]") != "7001" {
		v.t.Errorf("link %s", link)
	}
}

// askQuestions filters requests, and asks for the free times of any agent.
func (v *visitor) askQuestions() {
	v.t.Helper()
	v.open("admin.php?page=bookside&tab=requests")
	v.reach("Key")
	v.press(kb.Tab)
	v.press("4") // all refused ones
	v.follow("Filter")
	v.until("location.search.includes('status=4')")
	v.shows("PUT /bookings/7001", "")
	v.open("admin.php?page=bookside&tab=times&service=1&agent=1&day=2027-06-01")
	v.reach("Agent")
	v.press("a") // any
	v.follow("Explain")
	v.until("location.search.includes('agent&')")
	v.shows("starts are free", "")
}

// sendAgain sends an event to plugins again; each screen has one.
func (v *visitor) sendAgain() {
	v.t.Helper()
	event := map[string]string{"desk": "booking_created 7001", "phone": "booking_created 7002"}[v.label]
	v.follow("Extensions")
	v.shows(event, "extensions")
	v.expand()
	v.follow("Send again " + event)
	v.shows("Send "+event+" again?", "send again")
	v.follow("Send again")
	v.shows("The plugins will be told about it again.", "")
	if text := v.eval("document.querySelector('#wpbody-content').innerText"); strings.Contains(text, "Send again "+event) {
		v.t.Errorf("it can be sent once more: %s", text)
	}
}

// manageKeys creates, changes, rolls and revokes a key.
func (v *visitor) manageKeys(status func(secret string) int) {
	v.t.Helper()
	v.open("admin.php?page=bookside&tab=keys")
	v.follow("New key")
	v.shows("Distinguishes this key from others", "new key")
	v.reach("Networks")
	v.write("192.0.2.1x")
	v.follow("Create the key")
	v.shows("Nothing was saved", "new key with errors")
	if got := v.eval("document.activeElement.getAttribute('role')"); got != "alert" {
		v.t.Errorf("the focus is on %s", v.eval("document.activeElement.outerHTML"))
	}
	v.activate(`"192.0.2.1x" is not a network; write one such as 192.0.2.0/24 or 2001:db8::/32, or an address.`)
	v.until("document.activeElement.id === 'bookside-networks'")
	v.write("127.0.0.0/8")
	v.reach("Name")
	v.write("Kasse <1>")
	v.reach("Purpose")
	v.press("r") // read only
	v.reach("all")
	v.press(" ")
	v.reach("3 Nadia Okafor")
	v.press(" ")
	v.reach("4 Hanna Petersen")
	v.press(" ")
	v.reach("Mask e-mail addresses, phone numbers, addresses and notes; the key can neither search nor write them")
	v.press(" ")
	v.until("document.querySelector('input[value=read]').checked")
	v.follow("Create the key")
	v.shows("was created", "key")
	v.until("document.activeElement.id === 'bookside-secret'")
	secret := v.eval("document.activeElement.value")
	if !secretOfPage.MatchString(secret) {
		v.t.Fatalf("secret %q", secret)
	}
	v.activate("Copy new key")
	v.until("document.querySelector('[data-bookside-copy]').textContent.startsWith('Copied.')")
	if got := status(secret); got != http.StatusOK {
		v.t.Errorf("new key: status %d", got)
	}
	v.open("admin.php?page=bookside&tab=keys")
	v.shows("Kasse <1>", "keys")
	v.follow("Change Kasse <1>")
	v.shows("Change the key Kasse <1>", "change")
	if limits := v.eval("[...document.querySelectorAll('#bookside-agents :checked')].map(box => box.value) + ' ' + document.getElementById('bookside-mask_personal').checked"); limits != "3,4 true" {
		v.t.Errorf("limited to %s", limits)
	}
	v.reach("read everything")
	v.press(" ")
	v.reach("read services")
	v.press(" ")
	v.follow("Change the key")
	v.shows("The key was changed", "")
	if got := status(secret); got != http.StatusForbidden {
		v.t.Errorf("changed key: status %d", got)
	}
	v.follow("Roll Kasse <1>")
	v.shows("Roll the key Kasse <1>", "roll")
	v.reach("a day")
	v.press(kb.ArrowUp) // no time
	v.follow("Create the new key")
	v.shows("was created", "")
	if got := status(secret); got != http.StatusUnauthorized {
		v.t.Errorf("rolled key: status %d", got)
	}
	rolled := v.eval("document.getElementById('bookside-secret').value")
	v.open("admin.php?page=bookside&tab=keys")
	v.follow("Revoke Kasse <1>")
	v.shows("Its clients are rejected at once", "revoke")
	v.follow("Revoke the key")
	v.shows("The key was revoked", "")
	if got := status(rolled); got != http.StatusUnauthorized {
		v.t.Errorf("revoked key: status %d", got)
	}
}

func (v *visitor) changeSettings() {
	v.t.Helper()
	v.follow("Settings")
	v.shows("Forward requests", "settings")
	v.reach("Forward requests")
	v.write("javascript:alert(1)")
	v.follow("Save the settings")
	v.shows("Enter an address such as", "settings with errors")
	for _, path := range []string{"/v1", "/wp-json/latepoint-api/v1/"} {
		v.reach("Forward requests")
		v.write("http://127.0.0.1:8080" + path)
		v.follow("Save the settings")
		v.shows("Enter the address of the server alone", "")
	}
	v.reach("Forward requests")
	v.write("http://127.0.0.1:8080/")
	v.follow("Save the settings")
	v.shows("The settings were saved", "")
	if got := v.eval("document.getElementById('bookside-forward').value"); got != "http://127.0.0.1:8080" {
		v.t.Errorf("stored %s", got)
	}
	v.reach("Forward requests")
	v.eval("document.activeElement.value = ''")
	v.follow("Save the settings")
	v.shows("The settings were saved", "")
}
