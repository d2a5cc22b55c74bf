package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/console"
)

// overlapping books an agent twice at the same time, as PHP may, and once across midnight.
const overlapping = `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
	(7001, 1, 1, 1, 'approved', '2026-12-06', 540, '2026-12-06', 600, 0, 0, 1),
	(7002, 1, 1, 1, 'approved', '2026-12-06', 570, '2026-12-06', 635, 0, 0, 2),
	(7003, 2, 1, 1, 'approved', '2026-12-13', 1380, '2026-12-14', 30, 0, 0, 1),
	(7004, 2, 1, 1, 'approved', '2026-12-14', 10, '2026-12-14', 60, 0, 0, 2)`

// inWPAdmin is the address of the site, where LatePoint's own pages are.
const inWPAdmin = `UPDATE wp_options SET option_value = 'https://practice.example' WHERE option_name = 'siteurl'`

// bookingAt is the address of LatePoint's page of a booking.
func bookingAt(id int) string {
	return fmt.Sprintf(`href="https://practice.example/wp-admin/admin.php?page=latepoint&route_name=bookings__index&filter%%5Bid%%5D=%d"`, id)
}

// TestOverview: the first page shows what needs somebody, the next bookings, and how many bookings and requests there are.
func TestOverview(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	k.visitor().open("/console").leadsTo("/console/login")
	database.Execute(t, overlapping, inWPAdmin,
		`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
			(7005, 1, 1, 1, 'approved', '2026-11-21', 660, '2026-11-21', 720, 0, 0, 1), (7006, 1, 1, 1, 'cancelled', '2026-11-21', 660, '2026-11-21', 720, 0, 0, 1),
			(7007, 2, 1, 1, 'approved', '2026-11-20', 1380, '2026-11-21', 90, 0, 0, 1), (7008, 2, 1, 1, 'approved', '2026-11-20', 1320, '2026-11-21', 0, 0, 0, 1)`,
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id) VALUES (1, 'bookings', 7001, 'created', '2026-11-20 10:00:00', 'api', 1), (2, 'bookings', 7002, 'created', '2026-11-20 10:00:00', 'found', NULL)",
		`INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) VALUES
			(5, 'till <b>', '', '', '', '', '', 0, 0, 0, '', 'enabled', '', '2026-11-20 10:00:00', 0, '2026-01-01'),
			(6, 'crm', '', '', '', '', '', 0, 0, 0, '', 'disabled', 'it failed for three days', NULL, 0, '2026-01-01')`)
	k.get("/v1/bookings", http.Header{"X-Api-Key": {k.key}}).want(http.StatusOK)
	k.get("/v1/services/x", http.Header{"X-Api-Key": {k.key}})
	for range 3 {
		k.get("/v1/bookings", nil).want(http.StatusUnauthorized)
	}
	k.kept.Flush(t.Context())
	v := k.login()
	page := v.open("/console").says(http.StatusOK,
		" things need you.", "plugin</dt><dd>LatePoint is active", "in Europe/Berlin", "Move one of each pair.", "<summary>Technical details", `aria-current="page">Overview</a>`,
		`1 failing since <time datetime="2026-11-20T10:00:00Z" title="2026-11-20 10:00 UTC">2026-11-20 11:00</time>`, "Open it: its log says what the receiver answered.",
		`<a href="/console/webhooks/5">5 (till <b>)</a>`, `<a href="/console/webhooks/6">6 (crm, it failed for three days)</a>`, "Enable it once its receiver works, or delete it.",
		`<a href="/console/day?day=2026-12-06" class="name">Sunday, 6 December 2026</a>`, "09:00–10:00 Lena Hoffmann, ", "23:00–00:30", bookingAt(7002),
		`<h3><a href="/console/day?day=2026-11-21">Saturday, 21 November 2026: 2 bookings</a>`, `<h3><a href="/console/day?day=2026-11-22">Sunday, 22 November 2026: 0 bookings</a>`,
		bookingAt(7007), `<time datetime="2026-11-20T22:00:00Z" title="2026-11-20 22:00 UTC">23:00–01:30</time>`, "11:00–12:00</time>",
		`made through Bookside <strong>1</strong>`, "since 2026-11-20", `<th scope="row">2026-12-06</th><td>1</td>`,
		`done <strong>1</strong>`, `refused <strong>4</strong>`, `failed <strong>0</strong>`, `<th scope="row">01:00</th><td>1</td><td>4</td>`)
	if strings.Contains(page.text, `class="problem"`) || strings.Contains(string(page.body), "till <b>") {
		t.Errorf("a part cannot be shown, or a name is not escaped: %s", page.text)
	}
	for _, link := range regexp.MustCompile(`href="(/console[^"]+)`).FindAllStringSubmatch(page.text, -1) {
		v.open(link[1]).says(http.StatusOK)
	}
	v.inGerman("/console").says(http.StatusOK, "Samstag, 21. November 2026: 2 Buchungen").wantGerman("the overview")

	// What is booked and waits is not kept, and what a form changes is there at once; the rest after a minute.
	page.says(http.StatusOK, "1 valid of 1")
	database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = 675 WHERE id = 7005", "UPDATE wp_bookside_webhooks SET name = 'shop' WHERE id = 5",
		fmt.Sprintf("INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_seen', '0.2.0 %d')", now.Unix()))
	v.open("/console").says(http.StatusOK, "11:15–12:00", "5 (shop)", "none in WordPress, which therefore takes no locks")
	v.fill("/console/webhooks/6/delete", nil).leadsTo("/console/webhooks")
	v.open("/console").says(http.StatusOK, "0.2.0, last seen on 2026-11-21")
	database.Execute(t, "UPDATE wp_bookside_api_keys SET expires_at = '2026-11-23' WHERE id = 1")
	k.clock = now.Add(2 * time.Minute)
	v.open("/console").says(http.StatusOK, `<a href="/console/keys/1">1 (TestOverview, 2026-11-23 00:00:00 UTC)</a>`, "Roll it, and give the new key to those who use it.")

	// Each part is shown without the others.
	database.Execute(t, "RENAME TABLE wp_bookside_requests TO elsewhere", "ALTER TABLE wp_latepoint_bookings RENAME COLUMN buffer_before TO elsewhere")
	k.clock = now.Add(4 * time.Minute)
	v.open("/console").says(http.StatusOK, `<p class="problem">`, "in Europe/Berlin", `done <strong>0</strong>`)
}

// TestDay: the agenda has a column for each agent, with bookings as wide as the time leaves room, and time off only where it is.
func TestDay(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	database.Execute(t, overlapping, inWPAdmin,
		"DELETE FROM wp_latepoint_bookings WHERE start_date = '2026-12-06' AND id < 7000",
		`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
			(7010, 1, 1, 1, 'pending', '2026-12-06', 660, '2026-12-06', 720, 0, 0, 3), (7011, 1, 1, 1, 'cancelled', '2026-12-06', 660, '2026-12-06', 720, 0, 0, 3)`,
		`INSERT INTO wp_bookside_holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees, expires_at, created_at)
			VALUES (1, 2, 1, 1, '2026-12-06', '2026-12-06', 780, 840, 60, 0, 15, 1, '2026-12-31 00:00:00', '2026-11-20 00:00:00')`,
		`INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (2, 0, 0, 0, 0, 7, '2026-12-06'), (0, 2, 0, 0, 0, 7, '2026-12-06'), (1, 0, 2, 0, 0, 7, '2026-12-06')`)
	const path = "/console/day?day=2026-12-06"
	k.visitor().open(path).leadsTo("/console/login")
	v := k.login()
	page := v.open(path).says(http.StatusOK, "<h1>Sunday, 6 December 2026</h1>", "in Europe/Berlin",
		`href="/console/day?day=2026-11-29"`, `href="/console/day?day=2026-12-05"`, `href="/console/day?day=2026-11-21"`, `href="/console/day?day=2026-12-07"`, `href="/console/free-times?day=2026-12-06"`,
		bookingAt(7001), `title="09:00–10:00 Lena Hoffmann, Quick check, overlaps"`, "pending", "Time off of First visit: Sunday, 6 December 2026", "Time off of Miriam Albers, Studio by the Canal: Sunday, 6 December 2026", "route_name=calendars__view")
	if strings.Contains(page.text, bookingAt(7011)) || strings.Contains(page.text, "<form method=\"post\" action=\"/console/day") {
		t.Errorf("%s", page.text)
	}
	columns := strings.Split(page.text, "<section>")
	if len(columns) < 3 {
		t.Fatalf("no columns: %s", page.text)
	}
	for text, in := range map[string]int{"Miriam Albers": 1, "the whole day": 2, "Held for a customer": 2} {
		for i, column := range columns[1:] {
			expect.Equal(t, i+1 == in, strings.Contains(column, text), text, " is in column ", i+1)
		}
	}
	// Two beside each other, and one over the whole width; their rules are those that the policy allows.
	place := func(id int) string {
		t.Helper()
		class := regexp.MustCompile(`<li class="booking [^"]*(at-\d+)"><a ` + regexp.QuoteMeta(bookingAt(id))).FindStringSubmatch(page.text)
		if class == nil {
			t.Fatalf("no booking %d: %s", id, page.text)
		}
		return regexp.MustCompile(`\.` + class[1] + `\{[^}]*\}`).FindString(page.text)
	}
	for id, want := range map[int]string{7001: "margin-left:0%;width:50%", 7002: "margin-left:50%;width:50%", 7010: "margin-left:0%;width:100%"} {
		if got := place(id); !strings.Contains(got, want) {
			t.Errorf("booking %d: %s, want %s", id, got, want)
		}
	}
	if policy := page.header.Get("Content-Security-Policy"); !regexp.MustCompile(`style-src 'self' 'sha256-[^']+'`).MatchString(policy) {
		t.Errorf("policy %s", policy)
	}
	v.open("/console/day?day=9999-12-31&from=-1").says(http.StatusOK, "Saturday, 21 November 2026")
	database.Execute(t, "DROP TABLE wp_bookside_holds", "DELETE FROM wp_latepoint_agents")
	v.open("/console/day?day=2026-12-08").says(http.StatusOK, "There is no active agent. Create one in LatePoint")
}

// TestFreeTimes: the page says of every start what the API says, with links to what is in the way and to where it is changed.
func TestFreeTimes(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	database.Execute(t, inWPAdmin,
		`DELETE FROM wp_latepoint_bookings WHERE start_date BETWEEN '2026-12-07' AND '2026-12-09'`,
		`INSERT INTO wp_latepoint_bookings (id, booking_code, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
			VALUES (7001, 'CODE7001', 1, 1, 1, 'approved', '2026-12-08', 600, '2026-12-08', 660, 0, 15, 1)`,
		`INSERT INTO wp_bookside_holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees, expires_at, created_at)
			VALUES (1, 1, 1, 1, '2026-12-08', '2026-12-08', 780, 840, 60, 0, 15, 1, '2026-12-31 00:00:00', '2026-11-20 00:00:00')`,
		`INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (0, 0, 0, 0, 0, 3, '2026-12-09')`)
	const asked = "/console/free-times?agent=1&location=1&service=1&day="
	k.visitor().open(asked + "2026-12-08").leadsTo("/console/login")
	v := k.login()
	v.open(asked+"2026-12-08").says(http.StatusOK, "in Europe/Berlin", "22 of 32 starts are free", "Tuesday, 8 December 2026", `class="start free">09:45`, `class="start">10:00`, `class="start free">11:15`,
		"Another booking overlaps.", "too close to another booking", "Lena Hoffmann, <time", `title="2026-12-08 09:00 UTC"`, bookingAt(7001),
		"kept for somebody who is booking it", "too close to a time that is kept for somebody", `href="/console/day?day=2026-12-08"`, "route_name=agents__edit_form&id=1", "route_name=settings__work_periods")
	v.open(asked+"2026-12-09").says(http.StatusOK, "Nothing can be booked on Wednesday, 9 December 2026. That day is off.", "schedule of the agent", "Closed", "the whole site")
	v.open("/console/free-times").says(http.StatusOK, "Nothing can be booked on Saturday, 21 November 2026. Nobody works on that day.", `value="2026-11-21"`)
	v.open("/console/free-times?service=99").says(http.StatusBadRequest, "Invalid input data. Service not found.")
	v.inGerman("/console/free-times?service=99").says(http.StatusBadRequest, "Die Angaben sind ungültig. Die Leistung gibt es nicht.")
	v.open("/console/free-times?day=9999-12-31&agent=x&location=-1").says(http.StatusOK, `value="2026-11-21"`)
	leadFromEveryReason(t, database)
	database.Execute(t, "DELETE FROM wp_latepoint_services")
	v.open("/console/free-times").says(http.StatusOK, "The site has no services yet. Create one in LatePoint")
}

// leadFromEveryReason checks that each reason of the API leads to what it is and to where it is changed, as far as it can be changed.
func leadFromEveryReason(t *testing.T, database *fixtures.Database) {
	t.Helper()
	const agenda = "/console/day?day=2026-12-08"
	reasons := []struct{ reason, cause, place string }{
		{`"booked","booking_id":1`, "filter%5Bid%5D=1", "filter%5Bid%5D=1"},
		{`"buffer","booking_id":1`, "filter%5Bid%5D=1", "filter%5Bid%5D=1"},
		{`"asset","booking_id":1`, "filter%5Bid%5D=1", "services__edit_form&id=2"},
		{`"asset"`, agenda, "services__edit_form&id=2"},
		{`"booked"`, agenda, ""},
		{`"hold"`, agenda, ""},
		{`"capacity"`, agenda, "services__edit_form&id=2"},
		{`"off_period"`, agenda, "agents__edit_form&id=1"},
		{`"calendar"`, agenda, "agents__edit_form&id=1"},
		{`"extension","extension":"House Rules"`, "", "/wp-admin/plugins.php"},
		{`"outside_window"`, "", "settings__general"},
		{`"past"`, "", ""},
	}
	var answer string
	k := serveSite(t, database, func(s *console.Site) {
		s.Ask = func(keys.Key, *http.Request) (int, http.Header, []byte) { return http.StatusOK, nil, []byte(answer) }
	})
	v := k.login()
	for _, r := range reasons {
		answer = fmt.Sprintf(`{"data":{"available_slots":[],"explain":{"missing":null,"unavailable":[{"start_time":"10:00","message":"Because.","reason":%s}]}}}`, r.reason)
		page := v.open("/console/free-times?service=2&agent=1&day=2026-12-08").says(http.StatusOK, "0 of 1 starts are free")
		_, row, _ := strings.Cut(page.text, `<th role="rowheader"`)
		row, _, _ = strings.Cut(row, "</tr>")
		if !strings.Contains(row, "Because.") || !strings.Contains(row, r.cause) || !strings.Contains(row, r.place) || strings.Contains(row, "wp-admin/") != (r.place != "") {
			t.Errorf("%s: %s", r.reason, row)
		}
	}
	for missing, place := range map[string]string{"status": "services__edit_form&id=2", "connection": "agents__edit_form&id=1", "working_hours": "settings__work_periods", "day_off": "settings__work_periods", "long_hours": "settings__work_periods"} {
		answer = fmt.Sprintf(`{"data":{"available_slots":[],"explain":{"missing":%q,"message":"Because.","unavailable":[]}}}`, missing)
		v.open("/console/free-times?service=2&agent=1&location=1&day=2026-12-08").says(http.StatusOK, "Because.", place)
	}
}

// TestRequestsAndChanges: requests are found by key, status, route, record and id, without what they sent, and lead to what they
// changed; changes have their authors.
func TestRequestsAndChanges(t *testing.T) {
	t.Parallel()
	k, database := serveSmall(t)
	v := k.login()
	v.open("/console/requests").says(http.StatusOK, "There are no requests yet. Every app")
	v.open("/console/changes").says(http.StatusOK, "The journal is empty")
	till, _, err := k.keys.Create(t.Context(), keys.NewKey{Name: "till <i>", Kind: keys.Live, Permissions: []string{"read_bookings"}})
	expect.NoError(t, err)
	k.get("/v1/bookings?page=x&search=rita.neu@example.test", http.Header{"X-Api-Key": {k.key}})
	k.get("/v1/bookings/7", http.Header{"X-Api-Key": {till}, "X-Request-Id": {"till-1"}})
	k.get("/v1/services", http.Header{"X-Api-Key": {till}})
	for range 3 {
		k.get("/v1/bookings", http.Header{"X-Api-Key": {"guess"}})
	}
	k.kept.Flush(t.Context())
	all := v.open("/console/requests").says(http.StatusOK, "GET /bookings/7", "till <i>", "invalid_parameters", "refused: page", "insufficient_permissions", "3 requests without a valid key", "till-1")
	if strings.Contains(string(all.body), "<i>") || strings.Contains(all.text, "rita") || strings.Contains(all.text, "what it changed") {
		t.Errorf("%s", all.body)
	}
	for query, found := range map[string]int{"key=2": 2, "status=4&key=1": 1, "status=403": 1, "route=GET+%2Fbookings": 2, "record=bookings%2F7": 1, "record=bookings+8": 0, "request=till-1": 1, "before=2": 1, "key=x": 4, "route=GET+%C3%BC": 0, "request=%C3%BC": 0} {
		expect.Equal(t, found, strings.Count(string(v.open("/console/requests?"+query).says(http.StatusOK).body), `role="rowheader"`), query)
	}
	v.open("/console/requests?record=seventeen").says(http.StatusUnprocessableEntity, "Write a record as bookings/17.", `value="seventeen"`)
	v.open("/console/keys").says(http.StatusOK, `href="/console/requests?key=2"`, "<strong>2</strong> in 24 hours")

	database.Execute(t, "REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 10)",
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id, request_id, old_status, new_status, agent_id, service_id, location_id, customer_id, old_agent_id, old_service_id, old_location_id, old_customer_id) VALUES
			(1, 'customers', 5, 'updated', '2026-11-20 10:00:00', 'site', 3, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(2, 'bookings', 9, 'updated', '2026-11-20 10:00:00', 'api', 2, 'move-1', 'pending', 'approved', 1, 2, 1, 7, 3, 2, 99, 8),
			(3, 'bookings', 10, 'deleted', '2026-11-20 10:00:00', 'found', NULL, '', 'approved', NULL, 1, 2, 1, 7, NULL, NULL, NULL, NULL)`,
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin) VALUES (4, 'services', 3, 'updated', '2026-11-20 10:00:00', 'found'), (5, 'orders', 3, 'updated', '2026-11-20 10:00:00', 'found'),
			(6, 'payments', 3, 'created', '2026-11-20 10:00:00', 'found'), (7, 'invoices', 2, 'updated', '2026-11-20 10:00:00', 'found'),
			(8, 'coupons', 2, 'updated', '2026-11-20 10:00:00', 'found'), (9, 'customers', 999, 'deleted', '2026-11-20 10:00:00', 'found')`,
		"INSERT INTO wp_bookside_requests SELECT 50, at, 'move-1', 2, 0, 0, 'POST', '/bookings/:id/cancel', 8, '', 200, '', 100, 1, '', 0 FROM wp_bookside_requests WHERE id = 2")
	v.open("/console/requests?record=bookings/9").says(http.StatusOK, "POST /bookings/8/cancel", `href="/console/changes?request=move-1"`)
	expect.NoTexts(t, v.open("/console/changes?request=move-1").says(http.StatusOK, "What the request <code>move-1</code> changed:", "Booking 9 updated").text, "Customer 5")
	v.open("/console/changes?request=%C3%BC").says(http.StatusOK, "There are no such changes.")
	v.open("/console/changes").says(http.StatusOK, "Customer 5 updated", "WordPress user 3", "Booking 9 updated", `href="/console/keys/2" class="word">till <i></a>`, `href="/console/requests?request=move-1"`,
		"pending → approved, Emil Brandt → Chloé Durand, Nadia Okafor → Miriam Albers, First visit, location 99 → Practice by the Park", "Booking 10 deleted", "was approved, Chloé Durand, Miriam Albers, First visit", "not known", `data-label="Details"><div>Massage</div>`,
		`data-label="Details"><div>Aylin Demir</div>`, `data-label="Details"><div>Sofia Conti</div>`, `data-label="Details"><div>Mehmet Yıldız</div>`,
		`data-label="Details"><div>Greta Vogel</div>`, `data-label="Details"><div>PARK5</div>`, "Customer 999 deleted")
	v.inGerman("/console/changes").says(http.StatusOK, "Buchung 9 geändert", "Standort 99 → Practice by the Park").wantGerman("changes")
	expect.NoTexts(t, v.open("/console/changes?resource=bookings").says(http.StatusOK, "Booking 10 deleted").text, "Customer 5")
	database.Execute(t, "DROP TABLE wp_bookside_requests", "RENAME TABLE wp_bookside_changes TO nowhere")
	v.open("/console/requests?key=1").says(http.StatusOK, "There are no such requests.")
	v.open("/console/changes").says(http.StatusOK, "The journal is empty")
	off := serveSite(t, database, func(s *console.Site) { s.Requests = nil }).login()
	off.open("/console/requests").says(http.StatusOK, "This server keeps no requests", "requests.keep")
}
