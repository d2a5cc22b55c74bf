package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

func TestCheckHealthySite(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	got := run(t, env, "", "check").want(t, exit.OK)
	wantTexts(t, got.stdout, "\n✓ table prefix   wp_\n", "\n! API keys ", "\nThe site can be served; ", "next: bookside keys create --name", "LatePoint      active\n", "its database   version 2.3.1\n", "its tables     complete\n", "privileges     to read",
		"time zone      Europe/Berlin, now 2026-11-21 10:30:00\n", "own tables     none yet; serve and keys create create them\n", "API keys       0 valid of 0\n")

	newKey(t, env)
	newKey(t, env)
	if strings.Contains(got.stdout, "\x1b") {
		t.Errorf("colors outside a terminal: %q", got.stdout)
	}
	run(t, env, "", "keys", "revoke", "1").want(t, exit.OK)
	got = run(t, env, "", "check").want(t, exit.OK)
	wantTexts(t, got.stdout, "own tables     complete\n", "API keys       1 valid of 2\n")
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

// TestCheckFindsChangesWithoutNumbers: check reports that no server numbers changes, and for how long.
func TestCheckFindsChangesWithoutNumbers(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	if got := run(t, env, "", "check").want(t, exit.OK).stdout; strings.Contains(got, "changes") {
		t.Errorf("changes are rated without a table: %s", got)
	}
	newKey(t, env)
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "✓ changes        none waits for its number\n", "✓ webhooks       none fails\n", "✓ key expiry     none within a week\n")
	execute(t, db.SQL, "INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('customers', 1, 'updated', 'api', '2026-11-21 09:27:00')")
	wantTexts(t, run(t, env, "", "check").want(t, exit.Failure, "the site can be served, but not all is well:\n  changes: the oldest has been").stdout, "✗ changes        the oldest has been waiting for its number for 3m0s: webhooks")
	wantTexts(t, run(t, env, "", "check", "--json").want(t, exit.Failure).stdout, `"ok": false`, `"changes_waiting_seconds": 180`, `"code": "changes_late"`)
}

// TestCheckNamesWhatStandsStill: check names what it counts.
func TestCheckNamesWhatStandsStill(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	newKey(t, env)
	execute(t, db.SQL, "UPDATE wp_bookside_api_keys SET expires_at = '2026-11-23'")
	execute(t, db.SQL, "INSERT INTO wp_bookside_webhooks (id, name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, reason, failing_since, position, created_at) "+
		"VALUES (5, 'till', '', '', '', '', '', 0, 0, 0, '', 'enabled', '', '2026-11-20 10:00:00', 0, '2026-01-01'), (6, 'crm', '', '', '', '', '', 0, 0, 0, '', 'disabled', 'a backup was restored', NULL, 0, '2026-01-01')")
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout,
		"! webhooks       1 failing since 2026-11-20 10:00:00; see its deliveries on the console: 5 (till)\n", "! webhooks       1 disabled, but by nobody; enable or delete them: 6 (crm, a backup was restored)\n",
		"! key expiry     1 within a week, the first on 2026-11-23 00:00:00; see bookside keys roll: 1 (", "! jobs           not run by the site")
}

// TestCheckFindsWrongEnds: bookings whose stored end cannot be right are named.
func TestCheckFindsWrongEnds(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	execute(t, db.SQL, "DELETE FROM wp_latepoint_bookings")
	for i, ends := range []string{"'2026-12-01', 660", "'2026-12-02', 60", "'2026-12-02', 1440", "'9999-12-31', 660", "'2026-12-15', 660", "'2026-11-30', 660", "'2026-12-01', 599", "NULL, NULL", "'0000-00-00', 660"} {
		execute(t, db.SQL, fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
			VALUES (%d, 1, 1, 1, 'cancelled', '2026-12-01', 600, %s, 0, 0, 1)`, 7001+i, ends))
	}
	got := run(t, env, "", "check").want(t, exit.OK)
	wantTexts(t, got.stdout+got.stderr, "bookings end before they begin, or later than on the next day: 7004, 7005, 7006, 7007; ")
	execute(t, db.SQL, "INSERT INTO wp_latepoint_bookings (agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id) "+
		"SELECT 1, 1, 1, status, start_date, start_time, '9999-12-31', end_time, 0, 0, 1 FROM wp_latepoint_bookings")
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "7007, 7010, 7011, 7012, 7013, 7014, 7015, and more; ")
	execute(t, db.SQL, "DELETE FROM wp_latepoint_bookings WHERE DATEDIFF(end_date, start_date) NOT BETWEEN 0 AND 1 OR end_time < start_time AND end_date = start_date")
	execute(t, db.SQL, `INSERT INTO wp_latepoint_bookings (id, agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time, buffer_before, buffer_after, customer_id)
		VALUES (6001, 1, 1, 1, 'cancelled', '2026-11-01', 600, '2026-11-01', 540, 0, 0, 1)`) // is over, and in nobody's way
	if got := run(t, env, "", "check").want(t, exit.OK).stdout; strings.Contains(got, "before they begin") {
		t.Errorf("no booking ends wrongly: %s", got)
	}
}

// TestCheckLanguage: check says why texts are not in the language of the site.
func TestCheckLanguage(t *testing.T) {
	t.Parallel()
	db := small(t)
	content := t.TempDir()
	const warning = "the site's language is de_DE, but texts that Bookside stores or mails are English. "
	check := func(setting, want string) {
		t.Helper()
		out := run(t, settingsFor(db, "BOOKSIDE_WORDPRESS__CONTENT="+setting), "", "check").want(t, exit.OK).stdout
		if want == "" && strings.Contains(out, "language") || !strings.Contains(out, want) {
			t.Errorf("%s, want %q", out, want)
		}
	}
	check("", "")
	execute(t, db.SQL, "INSERT INTO wp_options (option_name, option_value) VALUES ('WPLANG', 'de_DE') ON DUPLICATE KEY UPDATE option_value = 'de_DE'")
	check("", warning+"Bookside does not know where the site's files are: name its wp-content in wordpress.content")
	check(content, warning+"neither "+content)
	path := fixtures.WriteTranslation(t, content, "de_DE", map[string]string{"Service": "Dienstleistung"})
	check(content, "")
	if err := os.WriteFile(path, []byte("no translation"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(content, warning+"the plugin's translation "+path+" cannot be read")
}

func TestCheckSitesThatCannotBeServed(t *testing.T) {
	t.Parallel()
	const todo = "the site cannot be served:\n  "
	tests := []struct {
		name       string
		statement  string // {prefix} stands for the site's prefix
		code       int
		wantStdout string
		wantStderr string
	}{
		{"plugin off", "UPDATE {prefix}options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'", exit.Failure,
			"LatePoint      LatePoint is not active on this site\n", todo + "LatePoint is not active on this site: activate LatePoint 5"},
		{"table missing", "DROP TABLE {prefix}latepoint_order_meta", exit.Failure,
			"its tables     missing wp_latepoint_order_meta\n", todo + "LatePoint tables are missing: wp_latepoint_order_meta: activate LatePoint 5"},
		{"old plugin", "UPDATE {prefix}options SET option_value = '1.4.0' WHERE option_name = 'latepoint_db_version'", exit.Failure,
			"its database   version 1.4.0\n", todo + "LatePoint 5 is not installed on this site"},
		{"no version", "DELETE FROM {prefix}options WHERE option_name = 'latepoint_db_version'", exit.Failure, "its database   version unknown\n", todo},
		{"no WordPress", "DROP TABLE {prefix}options", exit.Failure, "time zone      not known", todo + "No WordPress tables under this prefix: correct the table prefix, db.prefix"},
		{"no bookings", "DROP TABLE {prefix}latepoint_bookings", exit.NoTables, "", "the LatePoint table wp_latepoint_bookings is missing"},
		{"column missing", "ALTER TABLE {prefix}latepoint_services DROP COLUMN visibility, DROP COLUMN status", exit.Failure,
			"LatePoint      LatePoint columns are missing: wp_latepoint_services.status, wp_latepoint_services.visibility\n",
			todo + "LatePoint columns are missing: wp_latepoint_services.status, wp_latepoint_services.visibility: deactivate LatePoint"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			execute(t, db.SQL, strings.ReplaceAll(test.statement, "{prefix}", db.Prefix))
			got := run(t, settingsFor(db), "", "check").want(t, test.code, test.wantStderr)
			wantTexts(t, got.stdout, test.wantStdout)
		})
	}
}

// TestCheckLostTables: our own tables must all exist, or none. A running server that loses one is not ready
// and says so in /readyz.
func TestCheckLostTables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, lost string
		wantKeys   string
	}{
		{"locks", "wp_bookside_locks", "1 valid of 1"},
		{"keys", "wp_bookside_api_keys", "0 valid of 0"},
		{"several", "wp_bookside_holds, wp_bookside_idempotency", "1 valid of 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			env := settingsFor(db)
			newKey(t, env)
			execute(t, db.SQL, "DROP TABLE "+test.lost)
			want := "Bookside's own tables are missing: " + test.lost + "; a running server is not ready without them: restart serve, which creates them, empty"
			got := run(t, env, "", "check").want(t, exit.Failure, want)
			wantTexts(t, got.stdout, "own tables     missing "+test.lost+"; serve and keys create create them\n", "API keys       "+test.wantKeys+"\n")
			report := checkJSON(t, env, exit.Failure)
			if diff := cmp.Diff([]string{want}, report.Problems); diff != "" || report.OK {
				t.Errorf("ok: %t, problems (-want +got):\n%s", report.OK, diff)
			}
			newKey(t, env)
			if report := checkJSON(t, env, exit.OK); !report.OK || len(report.OwnTables.Missing) > 0 {
				t.Errorf("after they are created again: %+v", report)
			}
		})
	}
}

// grantsExcept returns grants of all privileges on all tables except some.
func grantsExcept(t *testing.T, db *fixtures.Database, hidden ...string) []string {
	t.Helper()
	rows, err := db.SQL.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var grants []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(hidden, table) {
			grants = append(grants, "SELECT, INSERT, UPDATE, DELETE ON "+table)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return grants
}

func TestCheckPrivileges(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	tests := []struct {
		name       string
		grants     []string
		hidden     []string // tables without any privilege, if grants is empty
		more       string   // one more grant
		code       int
		wantStdout []string
		wantStderr string
	}{
		{name: "all", grants: []string{"SELECT, INSERT, UPDATE, DELETE, ALTER ON *"}, wantStdout: []string{"privileges     to read and to write\n"}},
		{name: "all but ALTER", grants: []string{"SELECT, INSERT, UPDATE, DELETE ON *"}, wantStdout: []string{"privileges     to read and to write\n",
			"warning: the database user lacks ALTER on Bookside's own tables: an upgrade that adds columns to them needs bookside migrate",
			"GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON "}},
		{name: "to read", grants: []string{"SELECT ON *"}, wantStdout: []string{
			"privileges     to read, but not to write everything\n",
			"warning: the database user lacks INSERT, UPDATE on wp_latepoint_order_invoices, wp_latepoint_services: requests that write there will fail\n",
			"warning: the database user lacks INSERT, UPDATE, DELETE on wp_latepoint_booking_meta, wp_latepoint_bookings, wp_latepoint_coupons, ", ", wp_bookside_webhooks: requests",
		}},
		{name: "to write but one", grants: []string{"SELECT, INSERT, UPDATE ON *", "DELETE ON wp_latepoint_bookings"}, wantStdout: []string{
			"warning: the database user lacks DELETE on wp_latepoint_blocked_periods, wp_latepoint_booking_meta, wp_latepoint_coupons, ",
		}},
		{name: "no own table", hidden: []string{"wp_bookside_api_keys"}, code: exit.Refused,
			wantStdout: []string{"own tables     missing wp_bookside_api_keys; serve and keys create create them\n", "LatePoint      active\n"},
			wantStderr: "the database user may not read wp_bookside_api_keys: grant it SELECT on them"},
		{name: "own table not to read", hidden: []string{"wp_bookside_api_keys"}, more: "INSERT ON wp_bookside_api_keys", code: exit.Refused,
			wantStdout: []string{"own tables     complete\n", "API keys       cannot be read\n"},
			wantStderr: "the database user may not read wp_bookside_api_keys: grant it SELECT on them"},
		{name: "optional table not to read", hidden: []string{"wp_latepoint_coupons"}, more: "INSERT ON wp_latepoint_coupons", code: exit.Refused,
			wantStdout: []string{"its tables     complete\n", "GRANT SELECT, INSERT, UPDATE, DELETE ON "}, wantStderr: "may not read wp_latepoint_coupons: grant it SELECT"},
		{name: "jobs not to read", hidden: []string{"wp_latepoint_process_jobs"}, more: "INSERT ON wp_latepoint_process_jobs", code: exit.Refused,
			wantStderr: "may not read wp_latepoint_process_jobs: grant it SELECT"},
		{name: "no users", hidden: []string{"wp_users", "wp_usermeta"}, code: exit.Refused, wantStderr: "may not read wp_users, wp_usermeta: grant it SELECT"},
		{name: "options only", grants: []string{"SELECT ON wp_options"}, code: exit.NoTables,
			wantStderr: "no LatePoint tables are visible with the prefix wp_ or any other in the database"},
		{name: "options only, reason", grants: []string{"SELECT ON wp_options"}, code: exit.NoTables,
			wantStderr: "either they are missing, or the database user may not see them: grant it SELECT on wp_latepoint_bookings"},
		{name: "no options", hidden: []string{"wp_options"}, code: exit.Refused, wantStdout: []string{"privileges     not enough to read\n", "LatePoint      not known before"},
			wantStderr: "the site cannot be served:\n  the database user may not read wp_options: grant it SELECT on them"},
		{name: "no orders", hidden: []string{"wp_latepoint_orders", "wp_latepoint_settings"}, code: exit.Refused, wantStdout: []string{"its tables     cannot be read\n"},
			wantStderr: "the database user may not read wp_latepoint_orders, wp_latepoint_settings: grant it SELECT"},
		{name: "orders not to read", hidden: []string{"wp_latepoint_orders"}, more: "INSERT ON wp_latepoint_orders", code: exit.Refused,
			wantStderr: "the database user may not read wp_latepoint_orders: grant it SELECT"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			newKey(t, settingsFor(db))
			if test.grants == nil {
				test.grants = grantsExcept(t, db, test.hidden...)
			}
			if test.more != "" {
				test.grants = append(test.grants, test.more)
			}
			got := run(t, account(t, db, test.grants...), "", "check").want(t, test.code, test.wantStderr)
			wantTexts(t, got.stdout, test.wantStdout...)
			if test.name == "all" && strings.Contains(got.stdout, "warning: the database user") {
				t.Errorf("warned: %s", got.stdout)
			}
		})
	}
}

// TestCheckHiddenNetwork: a plugin missing from the site's list of active plugins may be in the network's
// list, which the user may not be able to read.
func TestCheckHiddenNetwork(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Prefixed())
	newKey(t, settingsFor(db))
	execute(t, db.SQL, "UPDATE "+db.Prefix+"options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	run(t, account(t, db, grantsExcept(t, db, "wpx_sitemeta")...), "", "check").
		want(t, exit.Failure, "LatePoint is not active on this site itself: activate it, or, if it is active for a whole network, grant the database user SELECT on wpx_sitemeta")
}

// TestCheckCalendars: if a calendar add-on is active, its events must be readable.
func TestCheckCalendars(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now))
	db.AddCalendars(t)
	newKey(t, settingsFor(db))
	granted := account(t, db, grantsExcept(t, db)...)
	hidden := account(t, db, grantsExcept(t, db, "wp_latepoint_gcal_events", "wp_latepoint_gcal_recurrences")...)
	const warning = "! extensions     not honoured: Google Calendar: Appointments in agents' own calendars do not block times: the add-on has no tables"
	warned := func(settings []string) bool {
		return strings.Contains(run(t, settings, "", "check").want(t, exit.OK, "").stdout, warning)
	}
	if warned(hidden) {
		t.Error("warned although no add-on is active")
	}
	execute(t, db.SQL, `UPDATE wp_options SET option_value = 'a:2:{i:0;s:23:"latepoint/latepoint.php";i:1;s:55:"latepoint-google-calendar/latepoint-google-calendar.php";}' WHERE option_name = 'active_plugins'`)
	if !warned(hidden) || warned(granted) {
		t.Error("warned of tables that can be read, or not of those that cannot")
	}
}

func TestCheckUnreachable(t *testing.T) {
	t.Parallel()
	for dsn, reason := range map[string]string{
		"u:p@tcp(127.0.0.1:1)/d":    "the database at 127.0.0.1:1 cannot be reached: nothing listens there",
		"u:p@tcp(db.invalid:1)/d":   "the host db.invalid is unknown",
		"u:p@unix(/no/such.sock)/d": "there is no such socket",
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			run(t, []string{"BOOKSIDE_DB__DSN=" + dsn}, "", "check").want(t, exit.Unreachable, reason)
		})
	}
}

func TestCheckWrongPrefix(t *testing.T) {
	t.Parallel()
	db := fixtures.Shared(t, fixtures.Small(now))
	run(t, adminSettings(db), "", "check", "--prefix", "wpx_").want(t, exit.NoTables, "no LatePoint tables with the prefix wpx_; the database has these prefixes: wp_;")
}

func TestCheckConfiguration(t *testing.T) {
	t.Parallel()
	run(t, nil, "", "check").want(t, exit.Usage, "db.dsn: write user:password@tcp(host:3306)/database")
}

func TestCheckLiveWithoutServer(t *testing.T) {
	t.Parallel()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "", "check", "--live", "--set", "admin.listen="+address).want(t, exit.Failure, "the server does not answer probes at "+address)
	run(t, nil, "", "check", "--live", "--set", "admin.listen=").want(t, exit.Failure, "admin.listen (BOOKSIDE_ADMIN__LISTEN) is empty")
}
