package monitor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

var now = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// found is what a report says about a code.
type found struct {
	Level monitor.Level
	IDs   []int64
	Since string
}

// troubled are changes of a site, each with the codes that come of it, in this order, and what their lines say.
var troubled = []struct {
	statements []string
	want       map[monitor.Code]found
	lines      []string
}{
	{nil, map[monitor.Code]found{monitor.KeysGood: {Level: monitor.Minor}, monitor.Companion: {Level: monitor.Minor}},
		[]string{"0 valid of 0. Create one", "none in WordPress, which therefore takes no locks. Upload", "Europe/Berlin, now 2026-11-21 10:30:00", "none missing", "complete", "to read and to write", "LatePoint is active, the version of its tables is 2.3.1"}},
	{[]string{
		keyRow(6001, "live", "active", "'{48h}'"), keyRow(6002, "live", "revoked", "'{48h}'"), keyRow(6003, "calendar", "active", "'{48h}'"),
		keyRow(6004, "live", "active", "'{200h}'"), keyRow(6005, "live", "active", "'{-1h}'"), keyRow(6006, "test", "active", "NULL"),
		"UPDATE wp_bookside_api_keys SET key_start = '', last_four = '' WHERE id IN (6004, 6005)",
	}, map[monitor.Code]found{
		monitor.KeysGood: {}, monitor.KeysExpiring: {monitor.Minor, []int64{6001}, "{48h}"}, monitor.KeysWeak: {Level: monitor.Minor, IDs: []int64{6004}},
	}, []string{"3 valid of 5", "1 within a week, the first on {48h}: 6001 (app, {48h} UTC). Roll it", "can be guessed: 6004 (app). Give"}},
	{[]string{"INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('customers', 1, 'updated', 'api', '{-3m}')"},
		map[monitor.Code]found{monitor.ChangesLate: {Level: monitor.Broken, Since: "{-3m}"}}, []string{"the oldest has been waiting for its number for 3m0s: webhooks"}},
	{[]string{"DELETE FROM wp_latepoint_process_jobs", "DELETE FROM wp_options WHERE option_name = 'cron'"},
		map[monitor.Code]found{monitor.JobsUnscheduled: {Level: monitor.Minor}}, []string{"messages about bookings are not sent, and confirmation_sent is false. Let the site's cron run."}},
	{[]string{"INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_seen', '0.2.0 {unix}'), ('bookside_companion_events', 'messages')"},
		map[monitor.Code]found{monitor.JobsUnscheduled: {Level: monitor.Minor}, monitor.Companion: {}}, []string{"so that reminders are not sent", "0.2.0, last seen on 2026-11-21"}},
	{[]string{"UPDATE wp_options SET option_value = '0.2.0 1700000000' WHERE option_name = 'bookside_companion_seen'"},
		map[monitor.Code]found{monitor.Companion: {Level: monitor.Minor}}, []string{"0.2.0, not seen since 2023-11-14: if it was removed"}},
	{[]string{"INSERT INTO wp_latepoint_process_jobs (id, process_id, object_id, object_model_type, to_run_after_utc, status) VALUES " +
		"(9001, 1, 12, 'booking', '{-2h}', 'scheduled'), (9002, 1, 13, 'booking', '{-10m}', 'scheduled'), (9003, 1, 14, 'booking', '{-3h}', 'completed')"},
		map[monitor.Code]found{monitor.JobsLate: {monitor.Minor, []int64{9001}, "{-2h}"}}, []string{"1 late since {-2h}, such as reminders: the site's cron does not run, or not its jobs: 9001 (booking 12). Let"}},
	{[]string{
		webhookRow(8001, "enabled", "", "'{-5h}'"), webhookRow(8002, "enabled", "", "'{-10m}'"), webhookRow(8003, "disabled", "", "'{-5h}'"),
		webhookRow(8004, "disabled", "it failed for three days", "NULL"), webhookRow(8005, "disabled", "disabled on the console", "NULL"),
		webhookRow(8006, "disabled", "a backup was restored", "NULL"), webhookRow(8007, "deleted", "it failed for three days", "NULL"),
	}, map[monitor.Code]found{monitor.WebhooksFailing: {monitor.Minor, []int64{8001, 8002}, "{-5h}"}, monitor.WebhooksDisabled: {Level: monitor.Minor, IDs: []int64{8004, 8006}}},
		[]string{"2 failing since {-5h}: 8001 (till), 8002 (till). Open it", "2 disabled, but by nobody: 8004 (till, it failed for three days), 8006"}},
	{[]string{eventRow(5001, "failed", "{-2h}"), eventRow(5002, "failed", "{-100h}"), eventRow(5004, "done", "{-2h}"), eventRow(5003, "waiting", "{-2h}"), eventRow(5005, "waiting", "{-5m}"), eventRow(5006, "started", "{-15m}")},
		map[monitor.Code]found{monitor.ExtensionsFailed: {Level: monitor.Minor, IDs: []int64{5001}}, monitor.ExtensionsLate: {Level: monitor.Minor, IDs: []int64{5006, 5003}}},
		[]string{"1 changes of the last three days failed in an extension of the site: 5001 (booking_created 12). Tell", "2 changes have waited"}},
	{[]string{`INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '["latepoint-zoom"]'), ('enable_zoom', 'on')`},
		map[monitor.Code]found{monitor.ExtensionsIgnored: {Level: monitor.Minor}}, []string{"not honoured: Zoom: "}},
	{[]string{`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) VALUES
		(7001, 1, 1, 1, 'approved', '2027-06-01', 540, '2027-06-01', 600, 0, 0, 1), (7002, 1, 1, 1, 'approved', '2027-06-01', 570, '2027-06-01', 630, 0, 0, 1)`},
		map[monitor.Code]found{monitor.Overlaps: {Level: monitor.Minor, IDs: []int64{7001}}}, []string{"1 pair of bookings overlaps, of ", " from today on: 7001 (+ 7002). Move"}},
	{[]string{wrongEnd(7011, "'2026-12-01', 660"), wrongEnd(7012, "'2026-12-02', 1440"), wrongEnd(7013, "'9999-12-31', 660"), wrongEnd(7014, "'2026-11-30', 660"), wrongEnd(7015, "'2026-12-01', 599"), wrongEnd(7016, "NULL, NULL"), wrongEnd(7017, "'2026-12-01', 0"), wrongEnd(7018, "NULL, 660"), wrongEnd(7019, "'0000-00-00', 660")},
		map[monitor.Code]found{monitor.WrongEnds: {Level: monitor.Minor, IDs: []int64{7013, 7014, 7015, 7016, 7017, 7018, 7019}}}, []string{"their duration is over: 7013, 7014, 7015, 7016, 7017, 7018, 7019. Save"}},
	{[]string{"INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', 'de_DE') ON DUPLICATE KEY UPDATE option_value = 'de_DE'", "REPLACE INTO wp_latepoint_settings (name, value) VALUES ('any_agent_order', 'alphabetical')"},
		map[monitor.Code]found{monitor.Language: {Level: monitor.Minor}, monitor.AgentOrder: {Level: monitor.Minor}},
		[]string{"does not know where the site's files are. Name its wp-content in wordpress.content.", "any_agent_order, which is alphabetical: "}},
	{[]string{"REPLACE INTO wp_latepoint_settings (name, value) VALUES ('default_booking_status', 'approved'), ('additional_booking_statuses', 'To Check')", "UPDATE wp_latepoint_services SET override_default_booking_status = 'to_check' WHERE id = 1", "UPDATE wp_latepoint_services SET override_default_booking_status = 'gone' WHERE id = 2"},
		map[monitor.Code]found{monitor.DefaultStatus: {Level: monitor.Minor}}, []string{"new bookings are to_check, but those of the API are approved"}},
	{[]string{"DELETE FROM wp_latepoint_settings WHERE name = 'default_booking_status'", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('default_booking_status', 'pending')"},
		map[monitor.Code]found{monitor.DefaultStatus: {Level: monitor.Minor}}, []string{"new bookings are pending, to_check, but those of the API are approved unless they are sent with a status. If you confirm"}},
	{[]string{"ALTER TABLE wp_latepoint_orders ENGINE=MyISAM", "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL"},
		map[monitor.Code]found{monitor.WritesRefused: {Level: monitor.Minor}}, []string{"wp_latepoint_bookings: it requires a value for fresh (enum)", "wp_latepoint_orders: its engine is MyISAM", ": requests that write there are refused"}},
	{[]string{"DROP TABLE wp_bookside_holds"}, map[monitor.Code]found{monitor.OwnTables: {Level: monitor.Broken}}, []string{"missing wp_bookside_holds; a running server is not ready without them. Restart serve"}},
	{[]string{"UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'"}, map[monitor.Code]found{monitor.Plugin: {Level: monitor.Broken}}, []string{"LatePoint is not active on this site. Activate"}},
}

func keyRow(id int, kind, status, expires string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_api_keys (id, key_hash, key_start, last_four, name, kind, permissions, status, expires_at, created_at) "+
		"VALUES (%d, SHA2('%[1]d', 256), 'lp_live_', 'abcd', 'app', '%s', 'read', '%s', %s, '2026-01-01')", id, kind, status, expires)
}

func webhookRow(id int, status, reason, failing string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) "+
		"VALUES (%d, 'till', 'https://till.example', '', '', '', '', 0, 0, 0, '', '%s', '%s', %s, 0, '2026-01-01')", id, status, reason, failing)
}

func eventRow(id int, status, due string) string {
	return fmt.Sprintf("INSERT INTO wp_bookside_events (id, event, record_id, status, tries, due_at, failure, created_at) VALUES (%d, 'booking_created', 12, '%s', 1, '%s', '', '2026-01-01')", id, status, due)
}

func wrongEnd(id int, end string) string {
	return fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
		VALUES (%d, 1, 1, 1, 'cancelled', '2026-12-01', 600, %s, 0, 0, 1)`, id, end)
}

// moments replaces spans such as {-3m} with the time that far from now.
func moments(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "{unix}", fmt.Sprint(now.Unix()))
	for {
		before, rest, found := strings.Cut(text, "{")
		if span, after, closed := strings.Cut(rest, "}"); found && closed && span != "" {
			distance, err := time.ParseDuration(span)
			expect.NoError(t, err)
			text = before + now.Add(distance).Format(time.DateTime) + after
			continue
		}
		return text
	}
}

// TestReport: a report says of each trouble what it is, how bad, since when, and what to do about it.
func TestReport(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	db := wpdbtest.OpenOwn(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix})
	for _, trouble := range troubled {
		for _, statement := range trouble.statements {
			database.Execute(t, moments(t, statement))
		}
		db.ForgetSchema()
		report, err := monitor.Examine(t.Context(), session.NewPlatform(db, func() time.Time { return now }))
		expect.NoError(t, err)
		got, lines := map[monitor.Code]found{}, ""
		for _, e := range report.Entries {
			f := found{Level: e.Level}
			for _, item := range e.Items {
				f.IDs = append(f.IDs, item.ID)
			}
			if !e.Since.IsZero() {
				f.Since = e.Since.UTC().Format(time.DateTime)
			}
			got[e.Code] = f
			lines += e.String() + "\n"
		}
		maps.DeleteFunc(got, func(c monitor.Code, _ found) bool { _, of := trouble.want[c]; return !of })
		for code, want := range trouble.want {
			want.Since = moments(t, want.Since)
			trouble.want[code] = want
		}
		expect.Equal(t, trouble.want, got, fmt.Sprintf("after %q", trouble.statements))
		for _, line := range trouble.lines {
			if want := moments(t, line); !strings.Contains(lines, want) {
				t.Errorf("after %q: no %q in\n%s", trouble.statements, want, lines)
			}
		}
	}
}

// TestReportsProbeOnce: a running server probes privileges once if none is missing, and examines the work each time.
func TestReportsProbeOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	db := wpdbtest.Open(t, database, 2)
	at := now
	reports := monitor.NewReports(session.NewPlatform(db, func() time.Time { return at }))
	statements := func() int64 {
		ctx, usage := wpdb.WithUsage(t.Context())
		if found, _, err := reports.Report(ctx, time.Minute); err != nil || !slices.ContainsFunc(found.Entries, func(e monitor.Entry) bool { return e.Code == monitor.WebhooksGood }) {
			t.Fatalf("%+v, %v", found, err)
		}
		return usage.Queries()
	}
	first, again := statements(), statements()
	at = at.Add(time.Minute)
	if later := statements(); again == 0 || again >= later || later >= first {
		t.Errorf("%d statements, %d within a minute, %d later", first, again, later)
	}
}
