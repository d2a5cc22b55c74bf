package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
)

// checkJSON runs check --json.
func checkJSON(t *testing.T, env []string, code int, flags ...string) checkReport {
	t.Helper()
	var r checkReport
	decoder := json.NewDecoder(strings.NewReader(run(t, env, "", append([]string{"check", "--json"}, flags...)...).want(t, code).stdout))
	decoder.DisallowUnknownFields()
	expect.NoError(t, decoder.Decode(&r))
	return r
}

// line returns what a report says about a code, with its level; "" for nothing.
func (r checkReport) line(code monitor.Code) string {
	for _, e := range r.Report {
		if e.Code == code {
			return e.Level.String() + " " + e.String()
		}
	}
	return ""
}

// TestCheck: check prints the report as text and as JSON, and what to do next.
func TestCheck(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	got := run(t, env, "", "check").want(t, exit.OK)
	if strings.Contains(got.stdout, "\x1b") || got.stderr != "" {
		t.Errorf("colors outside a terminal: %q, stderr %q", got.stdout, got.stderr)
	}
	expect.Texts(t, oneSpaced(got.stdout), "✓ database ", ", table prefix wp_ ", "✓ plugin LatePoint is active, the version of its tables is 2.3.1 ", "✓ time zone Europe/Berlin, now 2026-11-21 10:30:00 ",
		"! own tables none yet; ", "! keys 0 valid of 0. Create one", "The site can be served; read the lines with ! above; next: bookside keys create --name")
	newKey(t, env)
	expect.Texts(t, oneSpaced(run(t, env, "", "check").want(t, exit.OK).stdout), "✓ own tables complete ", "✓ keys 1 valid of 1 ", "✓ changes none waits", "next: bookside serve")
	db.Execute(t, "INSERT INTO wp_bookside_change_inbox (resource, resource_id, kind, origin, at) VALUES ('customers', 1, 'updated', 'api', '2026-11-21 09:27:00')")
	expect.Texts(t, oneSpaced(run(t, env, "", "check").want(t, exit.Failure, "the site can be served, but not all is well:\n  changes late: the oldest has been").stdout), "✗ changes late the oldest")
	r := checkJSON(t, env, exit.Failure)
	if late := r.line(monitor.ChangesLate); r.OK || !strings.HasPrefix(late, "broken the oldest has been waiting for its number for 3m0s: ") || len(r.Grants.Needed) == 0 {
		t.Errorf("ok %t, %s, grants %+v", r.OK, late, r.Grants)
	}
}

func TestCheckSitesThatCannotBeServed(t *testing.T) {
	t.Parallel()
	const todo = "the site cannot be served:\n  "
	for _, test := range []struct {
		name       string
		statement  string // {prefix} stands for the site's prefix
		code       int
		wantStderr string
	}{
		{"plugin off", "UPDATE {prefix}options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'", exit.Failure,
			todo + "plugin: LatePoint is not active on this site. Activate LatePoint 5"},
		{"table missing", "DROP TABLE {prefix}latepoint_order_meta", exit.Failure, todo + "plugin: LatePoint tables are missing: wp_latepoint_order_meta. Activate LatePoint 5"},
		{"old plugin", "UPDATE {prefix}options SET option_value = '1.4.0' WHERE option_name = 'latepoint_db_version'", exit.Failure, todo + "plugin: LatePoint 5 is not installed on this site"},
		{"no version", "DELETE FROM {prefix}options WHERE option_name = 'latepoint_db_version'", exit.Failure, todo},
		{"no WordPress", "DROP TABLE {prefix}options", exit.Failure, todo + "plugin: No WordPress tables under this prefix. Correct the table prefix, db.prefix."},
		{"no bookings", "DROP TABLE {prefix}latepoint_bookings", exit.NoTables, "the LatePoint table wp_latepoint_bookings is missing"},
		{"column missing", "ALTER TABLE {prefix}latepoint_services DROP COLUMN visibility, DROP COLUMN status", exit.Failure,
			todo + "plugin: LatePoint columns are missing: wp_latepoint_services.status, wp_latepoint_services.visibility. Deactivate LatePoint"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			db.Execute(t, strings.ReplaceAll(test.statement, "{prefix}", db.Prefix))
			run(t, settingsFor(db), "", "check").want(t, test.code, test.wantStderr)
			if r := checkJSON(t, settingsFor(db), test.code); r.OK || !slices.ContainsFunc(r.Report, monitor.Entry.Stops) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestCheckLostTables: our own tables must all exist, or none.
func TestCheckLostTables(t *testing.T) {
	t.Parallel()
	for lost, wantKeys := range map[string]string{"wp_bookside_locks": "1 valid of 1", "wp_bookside_api_keys": "0 valid of 0", "wp_bookside_holds, wp_bookside_idempotency": "1 valid of 1"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			env := settingsFor(db)
			newKey(t, env)
			db.Execute(t, "DROP TABLE "+lost)
			got := run(t, env, "", "check").want(t, exit.Failure, "own tables: missing "+lost+"; a running server is not ready without them. Restart serve, which creates them, empty.")
			expect.Texts(t, oneSpaced(got.stdout), wantKeys)
			newKey(t, env)
			if r := checkJSON(t, env, exit.OK); !r.OK || r.line(monitor.OwnTables) != "good complete" {
				t.Errorf("after they are created again: %+v", r)
			}
		})
	}
}

// TestCheckHiddenNetwork: a plugin missing from the site's list of active plugins may be in the network's
// list, which the user may not be able to read.
func TestCheckHiddenNetwork(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Prefixed())
	newKey(t, settingsFor(db))
	db.Execute(t, "UPDATE "+db.Prefix+"options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	run(t, account(t, db, grantsExcept(t, db, "wpx_sitemeta")...), "", "check").
		want(t, exit.Failure, "LatePoint is not active on this site itself. Activate it, or, if it is active for a whole network, grant the database user SELECT on wpx_sitemeta.")
}

// TestCheckCalendars: if a calendar add-on is active, its events must be readable.
func TestCheckCalendars(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	db.AddCalendars(t)
	newKey(t, settingsFor(db))
	granted := account(t, db, grantsExcept(t, db)...)
	hidden := account(t, db, grantsExcept(t, db, "wp_latepoint_gcal_events", "wp_latepoint_gcal_recurrences")...)
	warned := func(settings []string) bool {
		return strings.HasPrefix(checkJSON(t, settings, exit.OK).line(monitor.ExtensionsIgnored),
			"minor not honoured: Google Calendar: Appointments in agents' own calendars do not block times: the add-on has no tables")
	}
	if warned(hidden) {
		t.Error("warned although no add-on is active")
	}
	db.Execute(t, `UPDATE wp_options SET option_value = 'a:2:{i:0;s:23:"latepoint/latepoint.php";i:1;s:55:"latepoint-google-calendar/latepoint-google-calendar.php";}' WHERE option_name = 'active_plugins'`)
	if !warned(hidden) || warned(granted) {
		t.Error("warned of tables that can be read, or not of those that cannot")
	}
}

func TestCheckConflicts(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
	overlap(t, db)
	got := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts, "1 pair of bookings overlaps")
	expect.Texts(t, got.stdout, "1 pair of bookings overlaps, of ", "\nMiriam Albers, 2027-06-01\n"+
		"  09:00-10:00   booking 7001   Quick check   Lena Hoffmann   https://practice.example.org/wp-admin/admin.php?page=latepoint&route_name=bookings__index&filter%5Bid%5D=7001\n"+
		"  09:30-10:30   booking 7002   ")
	for flag, code := range map[string]int{"--conflicts": exit.Conflicts, "--json": exit.OK} {
		r := checkJSON(t, env, code, flag)
		i := slices.IndexFunc(r.Report, func(e monitor.Entry) bool { return e.Code == monitor.Overlaps })
		if diff := cmp.Diff([]monitor.Item{{ID: 7001, Name: "+ 7002"}}, r.Report[i].Items); diff != "" || r.OK != (code == exit.OK) {
			t.Errorf("%s: ok %t, items (-want +got):\n%s", flag, r.OK, diff)
		}
	}
	db.Execute(t, "UPDATE wp_options SET option_value = '' WHERE option_name = 'siteurl'")
	without := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts).stdout
	expect.NoTexts(t, without, "wp-admin/")
}

// TestCheckConflictsOfAssets: bookings of different agents conflict if together they take more units of an asset than there are.
func TestCheckConflictsOfAssets(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now).WithAssets())
	env := settingsFor(db)
	room := db.InsertAsset(t, 1, []int{1})
	overlap(t, db)
	db.Execute(t, "UPDATE wp_latepoint_bookings SET agent_id = 2 WHERE id = 7002")
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
	db.Execute(t, fmt.Sprintf("INSERT INTO wp_latepoint_bookings_assets (booking_id, asset_id) VALUES (7001, %[1]d), (7002, %[1]d), (7002, %[1]d)", room))
	got := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts, "1 pair of bookings overlaps")
	expect.Texts(t, got.stdout, "\nRoom, 2027-06-01\n  09:00-10:00   booking 7001   ", "\n  09:30-10:30   booking 7002   ")
	db.Execute(t, "UPDATE wp_latepoint_assets SET status = 'disabled'")
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
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
	address := freeAddress(t)
	run(t, nil, "", "check", "--live", "--set", "admin.listen="+address).want(t, exit.Failure, "the server does not answer probes at "+address)
	run(t, nil, "", "check", "--live", "--set", "admin.listen=").want(t, exit.Failure, "admin.listen (BOOKSIDE_ADMIN__LISTEN) is empty")
}
