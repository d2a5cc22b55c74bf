package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/console"
)

// overlapping books an agent twice at the same time, as PHP may, and once across midnight.
const overlapping = `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
	(7001, 1, 1, 1, 'approved', '2026-12-06', 540, '2026-12-06', 600, 0, 0, 1),
	(7002, 1, 1, 1, 'approved', '2026-12-06', 570, '2026-12-06', 635, 0, 0, 2),
	(7003, 2, 1, 1, 'approved', '2026-12-13', 1380, '2026-12-14', 30, 0, 0, 1),
	(7004, 2, 1, 1, 'approved', '2026-12-14', 10, '2026-12-14', 60, 0, 0, 2)`

// TestOverview: the first page shows the state of the site, the requests, the bookings and the overlaps.
func TestOverview(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	k.visitor().open("/console").leadsTo("/console/login")
	database.Execute(t, overlapping,
		`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
			(7005, 1, 1, 1, 'approved', '2026-11-21', 660, '2026-11-21', 720, 0, 0, 1), (7006, 1, 1, 1, 'cancelled', '2026-11-21', 660, '2026-11-21', 720, 0, 0, 1),
			(7007, 2, 1, 1, 'approved', '2026-11-20', 1380, '2026-11-21', 90, 0, 0, 1), (7008, 2, 1, 1, 'approved', '2026-11-20', 1320, '2026-11-21', 0, 0, 0, 1)`,
		"INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id) VALUES (1, 'bookings', 7001, 'created', '2026-11-20 10:00:00', 'api', 1), (2, 'bookings', 7002, 'created', '2026-11-20 10:00:00', 'found', NULL)",
		"INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at) VALUES ('', 'a@example.com', 's', '', 'failed', 3, NOW(), 'mail rejected', NOW())")
	for range 3 {
		k.get("/v1/bookings", http.Header{"X-Api-Key": {k.key}}).want(http.StatusOK)
	}
	k.get("/v1/bookings", nil).want(http.StatusUnauthorized)
	v := k.login()
	page := v.open("/console").says(http.StatusOK,
		"The site can be served. ", " things need you.", "LatePoint</dt><dd>active", "in Europe/Berlin", "0 waiting, 1 failed, 0 sent", "Move one of each pair.", "<summary>Technical details",
		`<h3><a href="/console/bookings?day=2026-11-21">Saturday, 21 November 2026: 2 bookings</a>`, `href="/console/bookings/7007"><time datetime="2026-11-20T22:00:00Z" title="2026-11-20 22:00 UTC">23:00–01:30</time>`, `href="/console/bookings/7005"><time datetime="2026-11-21T10:00:00Z" title="2026-11-21 10:00 UTC">11:00–12:00</time>`,
		`<h3><a href="/console/bookings?day=2026-11-22">Sunday, 22 November 2026: 0 bookings</a>`,
		`succeeded <strong>3</strong>`, `rejected <strong>1</strong>`, `failed <strong>0</strong>`, `refused <strong>0</strong>`,
		`made through Bookside <strong>1</strong>`, "it goes back to 2026-11-20", `<th scope="row">2026-12-06</th><td>1</td>`,
		"Sunday, 6 December 2026</h3>", "<strong>09:00–10:00</strong>", "<strong>09:30–10:35</strong>", "booking 7001", "filter%5Bid%5D=7002", "<span>09:00</span><span>11:00</span>",
		"Sunday, 13 December 2026</h3>", "<strong>23:00–00:30</strong>", "<strong>00:10–01:00</strong>", "<span>23:00</span><span>01:00</span>",
		`aria-current="page">Overview</a>`)
	if strings.Contains(page.text, `class="problem"`) {
		t.Errorf("a part cannot be shown: %s", page.text)
	}

	// What is booked today is never cached.
	database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = 675 WHERE id = 7005")
	v.open("/console").says(http.StatusOK, "11:15–12:00")

	// What a form changes is there at once.
	page.says(http.StatusOK, "1 valid of 1")
	v.fill("/console/keys/new", url.Values{"name": {"till"}, "kind": {"live"}, "permissions": {"read_bookings"}}).want(http.StatusOK)
	v.open("/console").says(http.StatusOK, "2 valid of 2")

	// Each part is cached on its own until it expires.
	database.Execute(t, "RENAME TABLE wp_latepoint_bookings TO elsewhere")
	v.open("/console").says(http.StatusOK, "Sunday, 6 December 2026</h3>", "Examined just now")
	k.clock = now.Add(2 * time.Minute)
	v.open("/console").says(http.StatusOK, `succeeded <strong>3</strong>`, "cannot be served", "The database cannot be used at the moment.", "in Europe/Berlin", `<th scope="row">01:31</th>`)
	v.inGerman("/console").says(http.StatusOK, "wp_latepoint_bookings: Aktivieren Sie LatePoint 5 in der Verwaltung der Website, damit es seine Tabellen anlegt",
		"die Uhr des Datenbankservers weicht um ").wantGerman("a site that cannot be served")
	database.Execute(t, "RENAME TABLE elsewhere TO wp_latepoint_bookings", "RENAME TABLE wp_bookside_figures TO elsewhere")
	k.clock = now.Add(4 * time.Minute)
	v.open("/console").says(http.StatusOK, "Sunday, 6 December 2026</h3>", "those of this server alone", `succeeded <strong>3</strong>`)

	// The requests are in the zone of the site even if the bookings cannot be shown.
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings RENAME COLUMN buffer_before TO elsewhere")
	k.clock = now.Add(6 * time.Minute)
	v.open("/console").says(http.StatusOK, `<p class="problem">`, "in Europe/Berlin", `<th scope="row">01:35</th>`)
}

// TestOverviewNamesWhatItCounts: counted items are named or linked, and so are items that need attention.
func TestOverviewNamesWhatItCounts(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	database.Execute(t,
		`INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) VALUES
			(5, 'till <b>', '', '', '', '', '', 0, 0, 0, '', 'enabled', '', '2026-11-20 10:00:00', 0, '2026-01-01'),
			(6, 'crm', '', '', '', '', '', 0, 0, 0, '', 'disabled', 'it failed for three days', NULL, 0, '2026-01-01')`,
		`INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at, finished_at) VALUES
			('', 'a@example.com', 's', '', 'failed', 3, '2026-12-20', 'mail rejected', '2026-11-20', '2026-11-20'), ('', 'a@example.com', 's', '', 'held', 0, '2026-12-20', '', '2026-11-20', NULL)`,
		`INSERT INTO wp_latepoint_process_jobs (id, process_id, object_id, object_model_type, to_run_after_utc, status) VALUES (9001, 1, 12, 'booking', '2026-11-20 10:00:00', 'scheduled')`,
		`UPDATE wp_bookside_api_keys SET expires_at = '2026-11-23' WHERE id = 1`,
		`INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '["latepoint-mailchimp"]')`)
	page := k.login().open("/console").says(http.StatusOK,
		` things need you.`, `not honoured: Mailchimp: `, "Read what that means for bookings by the API.",
		"Open it: its log says what the receiver answered.", "Enable it once its receiver works, or delete it.", "Roll it, and give the new key to those who use it.",
		`1 failing since <time datetime="2026-11-20T10:00:00Z" title="2026-11-20 10:00 UTC">2026-11-20 11:00</time>`,
		`9001 (booking 12)`,
		`<a href="/console/webhooks/5">5 (till <b>)</a>`, `<a href="/console/webhooks/6">6 (crm, it failed for three days)</a>`,
		`<a href="/console/keys/1">1 (TestOverviewNamesWhatItCounts, 2026-11-23 00:00:00 UTC)</a>`)
	needs, _, _ := strings.Cut(page.text, "</dl>")
	listed := strings.Count(needs, "<dt>")
	page.says(http.StatusOK, fmt.Sprintf("%d things need you.", listed))
	v := k.login()
	for _, link := range regexp.MustCompile(`href="(/console[^"]+)`).FindAllStringSubmatch(needs, -1) {
		v.open(link[1]).says(http.StatusOK)
	}
	if strings.Contains(string(page.body), "till <b>") {
		t.Error("a name is not escaped")
	}
}

// TestOverviewCountsRefusals: requests refused by a limit are counted separately.
func TestOverviewCountsRefusals(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	for outcome, n := range map[daystats.Outcome]int{daystats.Limited: 1, daystats.Throttled: 2, daystats.Overloaded: 3, daystats.Disconnected: 4, daystats.Failed: 5} {
		for range n {
			k.figures.Add(daystats.Request{Outcome: outcome, Took: time.Millisecond})
		}
	}
	k.login().open("/console").says(http.StatusOK, `refused <strong>10</strong>`, `failed <strong>5</strong>`, `limit of a key <strong>1</strong>`,
		`invalid keys <strong>2</strong>`, `too many at a time <strong>3</strong>`, `no connection free <strong>4</strong>`)
}

// TestExampleThroughTheSite: where a web server forwards to the API, a new key comes with a line for the
// site's own address, and a calendar has its whole address there, if that is known.
func TestExampleThroughTheSite(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	const local, path = "http://127.0.0.1:8080", "/wp-json/latepoint-api/v1"
	for _, test := range []struct {
		name, home string
		proxied    bool
		basePath   string
		want       string // "" for none
	}{
		{"proxied", "https://practice.example", true, path, "https://practice.example" + path},
		{"below the root", "https://practice.example/blog/", true, "/blog" + path, "https://practice.example/blog" + path},
		{"not proxied", "https://practice.example", false, path, ""},
		{"another path", "https://practice.example", true, "/v1", ""},
		{"no address", "practice", true, path, ""},
		{"a quote", "https://practice.example'$(reboot)'", true, path, ""},
	} {
		t.Run(test.name, func(t *testing.T) { // sequential, because all change the same site
			database.Execute(t, "DELETE FROM wp_options WHERE option_name = 'home'")
			if _, err := database.SQL.ExecContext(t.Context(), "INSERT INTO wp_options (option_name, option_value) VALUES ('home', ?)", test.home); err != nil {
				t.Fatal(err)
			}
			k := serveSite(t, database, func(s *console.Site) { s.API, s.Proxied = local+test.basePath, test.proxied })
			made := k.login().fill("/console/keys/new", url.Values{"name": {"app"}}).says(http.StatusOK, "' '"+local+test.basePath+"/status'")
			docs, lines := local+test.basePath, 1
			if test.want != "" {
				docs, lines = test.want, 2
				made.says(http.StatusOK, "' '"+test.want+"/status'")
			}
			made.says(http.StatusOK, `href="`+docs+`/docs"`)
			if n := strings.Count(made.text, "curl -H"); n != lines {
				t.Errorf("%d lines for curl", n)
			}
			calendar := k.login().fill("/console/calendars/new", url.Values{"subject": {"agent 1"}}).
				says(http.StatusOK, cmp.Or(test.want, local+test.basePath)+"/agents/1/calendar.ics?api_key=lp_calendar_")
			if coded := strings.Contains(calendar.text, "as a QR code"); coded != (test.want != "") {
				t.Errorf("a QR code: %v", coded)
			}
		})
	}
}

// TestPresetsAndSearch: a preset gives its permissions whichever boxes are ticked, and a search finds keys
// by the columns of the list.
func TestPresetsAndSearch(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	for _, preset := range []string{"read only", "booking app", "everything"} {
		form := v.open("/console/keys/new").form("/console/keys/new")
		if got := form.Get("preset"); got != "read only" {
			t.Fatalf("%s is chosen", got)
		}
		form.Set("preset", preset)
		form.Set("permissions", "delete_orders")
		form.Set("name", "key: "+preset)
		secret := v.post("/console/keys/new", form).says(http.StatusOK, "curl -H 'X-API-Key: lp_live_", "' 'http://127.0.0.1:8080/v1/status'", `href="http://127.0.0.1:8080/v1/docs"`).secret()
		k.get("/v1/bookings", http.Header{"X-Api-Key": {secret}}).want(http.StatusOK)
	}
	v.open("/console/keys").says(http.StatusOK, "read bookings, write bookings, read customers", "ada, console", "<strong>1</strong> in 24 hours", ">just now</time>")
	if got := v.open("/console/keys/3").form("/console/keys/3").Get("preset"); got != "booking app" {
		t.Errorf("the key seems to have %s", got)
	}
	v.fill("/console/keys/3", url.Values{"preset": {"read only"}}).leadsTo("/console/keys?done=changed&id=3")
	if key, _, err := k.keys.Find(t.Context(), 3); err != nil || strings.Join(key.Permissions, ",") != "read" {
		t.Errorf("%v, %v", key.Permissions, err)
	}
	for search, found := range map[string]string{
		"BOOKING APP": "3", "ada": "2 3 4", "write webhooks": "4", "write_users": "4", "testpresets": "1", "nobody": "", " ": "1 2 3 4", "live": "1 2 3 4",
	} {
		t.Run(search, func(t *testing.T) {
			page := v.open("/console/keys?q="+url.QueryEscape(search)).says(http.StatusOK, `value="`+strings.TrimSpace(search)+`"`)
			var got []string
			for id := range 5 {
				if strings.Contains(page.text, fmt.Sprintf(`href="/console/keys/%d"`, id)) {
					got = append(got, fmt.Sprint(id))
				}
			}
			if strings.Join(got, " ") != found {
				t.Errorf("%q finds %q, want %q", search, got, found)
			}
		})
	}
}

// TestRoll: the new key has the terms of the old one, which works until it expires. A form creates one key.
func TestRoll(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	v := k.login()
	old := v.fill("/console/keys/new", url.Values{"name": {"till"}, "permissions": {"read_bookings"}, "agents": {"1"}}).secret()
	form := v.open("/console/keys/2/roll").says(http.StatusOK, "till", "never used").form("/console/keys/2/roll")
	v.post("/console/keys/2/roll", merge(form, url.Values{"overlap": {"31d"}})).says(http.StatusUnprocessableEntity, "Choose how long")
	v.post("/console/keys/2/roll", merge(form, url.Values{"csrf": {"x"}})).says(http.StatusForbidden, "earlier login")
	secret := v.post("/console/keys/2/roll", merge(form, url.Values{"overlap": {"7d"}})).
		says(http.StatusOK, "Key 3 was created", "The old key, 2, is valid until", "2026-11-28 00:43").secret()
	v.post("/console/keys/2/roll", form).says(http.StatusConflict, "already submitted")
	v.open("/console/keys").says(http.StatusOK, "only agent 1", "until ")
	status := func(secret string, want int) {
		t.Helper()
		k.get("/v1/bookings", http.Header{"X-Api-Key": {secret}}).want(want)
	}
	status(old, http.StatusOK)
	status(secret, http.StatusOK)
	k.get("/v1/services", http.Header{"X-Api-Key": {secret}}).want(http.StatusForbidden)
	v.fill("/console/keys/3/roll", url.Values{"overlap": {"0"}}).says(http.StatusOK, "Key 4 was created")
	status(secret, http.StatusUnauthorized)
	v.fill("/console/keys/3/roll", url.Values{"overlap": {"1d"}}).says(http.StatusConflict, "has expired")
	v.open("/console/keys/9/roll").says(http.StatusNotFound, "no such key")
	k.clock = now.AddDate(0, 0, 7)
	status(old, http.StatusUnauthorized)
	if log := k.pages.String(); !strings.Contains(log, `"msg":"console: key rolled","key_id":2,"new_key_id":3`) || strings.Contains(log, secret) {
		t.Error(log)
	}
}

// TestJournal: changes are shown with their authors.
func TestJournal(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	k := serve(t, database)
	v := k.login()
	v.open("/console/journal").says(http.StatusOK, "The journal is empty")
	database.Execute(t,
		"REPLACE INTO wp_bookside_change_positions (name, position) VALUES ('journal', 10)",
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin, actor_id, old_status, new_status, agent_id, service_id, location_id, customer_id, old_agent_id, old_service_id, old_location_id, old_customer_id) VALUES
			(1, 'customers', 5, 'updated', '2026-11-20 10:00:00', 'site', 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			(2, 'bookings', 8, 'updated', '2026-11-20 10:00:00', 'api', 1, 'pending', 'approved', 1, 2, 1, 7, 3, 2, 99, 8),
			(3, 'bookings', 9, 'deleted', '2026-11-20 10:00:00', 'found', NULL, 'approved', NULL, 1, 2, 1, 7, NULL, NULL, NULL, NULL),
			(4, 'services', 3, 'updated', '2026-11-20 10:00:00', 'found', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
		`INSERT INTO wp_bookside_changes (number, resource, resource_id, kind, at, origin) VALUES (5, 'orders', 3, 'updated', '2026-11-20 10:00:00', 'found'),
			(6, 'payments', 3, 'created', '2026-11-20 10:00:00', 'found'), (7, 'invoices', 2, 'updated', '2026-11-20 10:00:00', 'found'),
			(8, 'coupons', 2, 'updated', '2026-11-20 10:00:00', 'found'), (9, 'customers', 999, 'deleted', '2026-11-20 10:00:00', 'found')`)
	v.open("/console/journal").says(http.StatusOK, "Customer 5 updated", "WordPress user 3", "Booking 8 updated", `href="/console/keys/1">TestJournal</a>`,
		"pending → approved, Emil Brandt → Chloé Durand, Nadia Okafor → Miriam Albers, First visit, location 99 → Practice by the Park", "Booking 9 deleted", "was approved, Chloé Durand, Miriam Albers, First visit", "not known", "Service 3 updated", `data-label="Details"><div>Massage</div>`,
		`data-label="Details"><div>Aylin Demir</div>`, `data-label="Details"><div>Sofia Conti</div>`, `data-label="Details"><div>Mehmet Yıldız</div>`,
		`data-label="Details"><div>Greta Vogel</div>`, `data-label="Details"><div>PARK5</div>`, "Customer 999 deleted")
	v.inGerman("/console/journal").says(http.StatusOK, "Buchung 8 geändert", "Standort 99 → Practice by the Park").wantGerman("the journal")
	if bookings := v.open("/console/journal?resource=bookings").says(http.StatusOK, "Booking 9 deleted"); strings.Contains(bookings.text, "Customer 5") {
		t.Error("a customer is among the bookings")
	}
	database.Execute(t, "RENAME TABLE wp_bookside_changes TO nowhere")
	v.open("/console/journal").says(http.StatusOK, "The journal is empty")
	v.open("/console/journal?resource=coupons").says(http.StatusOK, "no such changes")
	v.open("/console").want(http.StatusOK) // learns that the schema is another one
	v.open("/console").says(http.StatusOK, "Bookings a day")
}
