package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/wpdb"
)

// grantsExcept returns grants of all privileges on all tables except some.
func grantsExcept(t *testing.T, db *fixtures.Database, hidden ...string) []string {
	t.Helper()
	rows, err := db.SQL.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	expect.NoError(t, err)
	defer rows.Close()
	var grants []string
	for rows.Next() {
		var table string
		expect.NoError(t, rows.Scan(&table))
		if !slices.Contains(hidden, table) {
			grants = append(grants, "SELECT, INSERT, UPDATE, DELETE ON "+table)
		}
	}
	expect.NoError(t, rows.Err())
	return grants
}

func TestCheckPrivileges(t *testing.T) {
	t.Parallel()
	const lacks = "writes refused the database user lacks "
	for _, test := range []struct {
		name       string
		grants     []string
		hidden     []string // tables without any privilege, if grants is empty
		more       string   // one more grant
		code       int
		wantStdout []string
		wantStderr string
	}{
		{name: "all", grants: []string{"SELECT, INSERT, UPDATE, DELETE, ALTER ON *"}, wantStdout: []string{"✓ privileges to read and to write ", "✓ writes none is refused"}},
		{name: "all but ALTER", grants: []string{"SELECT, INSERT, UPDATE, DELETE ON *"}, wantStdout: []string{"✓ writes none is refused",
			"! own tables refused the database user lacks ALTER on wp_bookside_", "GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON "}},
		{name: "to read", grants: []string{"SELECT ON *"}, wantStdout: []string{
			"! " + lacks + "DELETE on wp_latepoint_blocked_periods, ", "; INSERT on wp_latepoint_activities, ", "; UPDATE on wp_latepoint_", ", wp_bookside_webhooks: requests that write there are refused. Grant what",
		}},
		{name: "to write but one", grants: []string{"SELECT, INSERT, UPDATE ON *", "DELETE ON wp_latepoint_bookings"}, wantStdout: []string{
			"! " + lacks + "DELETE on wp_latepoint_blocked_periods, wp_latepoint_booking_meta, wp_latepoint_coupons, ",
		}},
		{name: "no own table", hidden: []string{"wp_bookside_api_keys"}, code: exit.Refused,
			wantStdout: []string{"✓ plugin LatePoint is active"}, wantStderr: "the database user may not read wp_bookside_api_keys. Grant it SELECT on them."},
		{name: "own table not to read", hidden: []string{"wp_bookside_api_keys"}, more: "INSERT ON wp_bookside_api_keys", code: exit.Refused,
			wantStdout: []string{"✓ own tables complete "}, wantStderr: "the database user may not read wp_bookside_api_keys. Grant it SELECT on them."},
		{name: "optional table not to read", hidden: []string{"wp_latepoint_coupons"}, more: "INSERT ON wp_latepoint_coupons", code: exit.Refused,
			wantStdout: []string{"GRANT SELECT, INSERT, UPDATE, DELETE ON "}, wantStderr: "may not read wp_latepoint_coupons. Grant it SELECT"},
		{name: "no users", hidden: []string{"wp_users", "wp_usermeta"}, code: exit.Refused, wantStderr: "may not read wp_users, wp_usermeta. Grant it SELECT"},
		{name: "options only", grants: []string{"SELECT ON wp_options"}, code: exit.NoTables,
			wantStderr: "no LatePoint tables are visible with the prefix wp_ or any other in the database"},
		{name: "options only, reason", grants: []string{"SELECT ON wp_options"}, code: exit.NoTables,
			wantStderr: "either they are missing, or the database user may not see them: grant it SELECT on wp_latepoint_bookings"},
		{name: "no options", hidden: []string{"wp_options"}, code: exit.Refused, wantStdout: []string{"✗ reads refused"},
			wantStderr: "the site cannot be served:\n  reads refused: the database user may not read wp_options. Grant it SELECT on them."},
		{name: "no orders", hidden: []string{"wp_latepoint_orders", "wp_latepoint_settings"}, code: exit.Refused,
			wantStderr: "the database user may not read wp_latepoint_orders, wp_latepoint_settings. Grant it SELECT"},
	} {
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
			expect.Texts(t, oneSpaced(got.stdout), test.wantStdout...)
			if test.name == "all" && strings.Contains(got.stdout, "the database user lacks") {
				t.Errorf("warned: %s", got.stdout)
			}
		})
	}
}

// TestCheckGrants: an account with exactly the grants that check prints lacks nothing; for a read-only
// account, check prints the rest.
func TestCheckGrants(t *testing.T) {
	t.Parallel()
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db, "SELECT ON *")
	first := checkJSON(t, env, exit.OK)
	if len(first.Grants.Missing) == 0 || len(first.Grants.Missing) >= len(first.Grants.Needed) {
		t.Fatalf("%d grants of %d are missing", len(first.Grants.Missing), len(first.Grants.Needed))
	}
	parts, _ := settings.ParseDSN(db.DSN)
	_, name, _ := strings.Cut(first.Grants.Needed[0], " TO ")
	expect.Texts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "GRANT SELECT, INSERT, UPDATE, DELETE ON `"+parts.Database+"`.`wp_latepoint_bookings` TO "+name+";\n", ", account "+name+", ")
	db.Execute(t, fmt.Sprintf("REVOKE SELECT ON `%s`.* FROM %s", parts.Database, name))
	for _, statement := range first.Grants.Needed {
		db.Execute(t, statement)
	}
	second := checkJSON(t, env, exit.OK)
	if len(second.Grants.Missing) > 0 || second.line(monitor.PrivilegesGood) != "good to read and to write" || !strings.HasPrefix(second.line(monitor.WritesGood), "good ") {
		t.Errorf("after all grants: %+v", second)
	}
	if diff := cmp.Diff(first.Grants.Needed, second.Grants.Needed); diff != "" {
		t.Errorf("grants (-first +second):\n%s", diff)
	}
}

// TestCheckGrantsWithoutAccess: for an account without any privilege, check prints all grants, the same
// ones that the tests use for their accounts.
func TestCheckGrantsWithoutAccess(t *testing.T) {
	t.Parallel()
	db := small(t)
	db.AddCalendars(t)
	env := account(t, db)
	r := checkJSON(t, env, exit.Refused).Grants
	parts, _ := settings.ParseDSN(db.DSN)
	text := run(t, env, "", "check", "--grants").want(t, exit.Refused, "the database user may not use the database").stdout
	needed, optional, ok := strings.Cut(text, "-- The site may lack these tables")
	const again = "-- Run this again afterwards: what is needed depends on settings of LatePoint, which cannot be read yet.\n"
	if !ok || needed != statements(r.Needed) || !strings.HasSuffix(optional, "\n"+statements(r.Optional)+again) || !cmp.Equal(r.Needed, r.Missing) {
		t.Errorf("printed %s\nas JSON %+v", text, r)
	}
	// Refunds are added and deleted; the records of limited keys are in our own table.
	expect.Texts(t, text, "GRANT SELECT, INSERT, DELETE ON `"+parts.Database+"`.`wp_latepoint_transaction_refunds` TO ",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `"+parts.Database+"`.`wp_bookside_booking_customers` TO ")
	for _, statement := range r.Needed {
		db.Execute(t, statement)
	}
	var granted []string
	for _, statement := range r.Optional {
		if _, err := db.SQL.ExecContext(t.Context(), statement); err == nil {
			granted = append(granted, statement)
		}
	}
	_, name, _ := strings.Cut(r.Needed[0], " TO ")
	want := wpdb.GrantStatements(parts.Database, name, db.Prefix, false, func(table string) bool {
		addOns := slices.DeleteFunc(wpdb.ProTables(), func(t wpdb.Table) bool { return t == wpdb.Coupons })
		lacks := table == "wp_sitemeta" || slices.Contains(addOns, wpdb.Table(strings.TrimPrefix(table, "wp_")))
		return !lacks && !strings.HasPrefix(table, "wp_bookside_")
	})
	if diff := cmp.Diff(want, append(granted, r.Needed...), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("what is granted (-want +got):\n%s", diff)
	}
	got := checkJSON(t, env, exit.OK)
	if len(got.Grants.Missing) > 0 || got.line(monitor.PrivilegesGood) != "good to read and to write" {
		t.Errorf("with all grants: %+v", got)
	}
	newKey(t, env)
	if got := checkJSON(t, env, exit.OK); len(got.Grants.Missing) > 0 || got.line(monitor.OwnTables) != "good complete" {
		t.Errorf("once the own tables are there: %+v", got)
	}
}

// TestCheckGrantsOfUsers: no grant allows reading passwords, and users are writable only if customers are
// users. An account with broader grants is reported.
func TestCheckGrantsOfUsers(t *testing.T) {
	t.Parallel()
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db)
	parts, _ := settings.ParseDSN(db.DSN)
	for _, statement := range checkJSON(t, env, exit.Refused).Grants.Needed {
		db.Execute(t, statement)
	}
	ofUsers := func(statements []string) (list []string) {
		for _, s := range statements {
			if rights, on, _ := strings.Cut(s, " ON `"+parts.Database+"`."); strings.HasPrefix(on, "`wp_user") {
				table, _, _ := strings.Cut(on, " TO ")
				list = append(list, rights+" "+table)
			}
		}
		return list
	}
	got := checkJSON(t, env, exit.OK)
	want := []string{
		"GRANT SELECT (ID, user_login, user_nicename, user_email) `wp_users`",
		"GRANT SELECT (user_id, meta_key, meta_value) `wp_usermeta`",
	}
	if diff := cmp.Diff(want, ofUsers(got.Grants.Needed)); diff != "" || len(got.Grants.Missing) > 0 {
		t.Errorf("missing %q, of users (-want +got):\n%s", got.Grants.Missing, diff)
	}
	_, name, _ := strings.Cut(got.Grants.Needed[0], " TO ")
	user, _, _ := strings.Cut(strings.TrimPrefix(name, "'"), "'")
	limited, err := wpdb.Open(t.Context(), wpdb.Config{DSN: withUser(db.DSN, user), Prefix: "wp_"})
	expect.NoError(t, err)
	defer limited.Close()
	if reads, err := limited.ReadsPasswords(t.Context()); reads || err != nil {
		t.Errorf("reads passwords: %t, %v", reads, err)
	}

	db.MakeCustomersUsers(t)
	got = checkJSON(t, env, exit.OK)
	want = []string{
		"GRANT SELECT (ID, user_login, user_nicename, user_email), INSERT (user_login, user_pass, user_nicename, user_email, user_url, user_registered, user_activation_key, user_status, display_name), UPDATE (user_email, user_activation_key) `wp_users`",
		"GRANT SELECT (user_id, meta_key, meta_value), INSERT (user_id, meta_key, meta_value), UPDATE (meta_value) `wp_usermeta`",
	}
	if diff := cmp.Diff(want, ofUsers(got.Grants.Missing)); diff != "" || !strings.Contains(got.line(monitor.WritesRefused), "lacks INSERT on wp_users, wp_usermeta; UPDATE on wp_users, wp_usermeta: ") {
		t.Errorf("%s, missing (-want +got):\n%s", got.line(monitor.WritesRefused), diff)
	}
	for _, statement := range got.Grants.Missing {
		db.Execute(t, statement)
	}
	if got := checkJSON(t, env, exit.OK); len(got.Grants.Missing) > 0 || got.line(monitor.PasswordsRead) != "" {
		t.Errorf("missing %q, %s", got.Grants.Missing, got.line(monitor.PasswordsRead))
	}
	db.Execute(t, "GRANT SELECT ON `"+parts.Database+"`.`wp_users` TO "+name)
	expect.Texts(t, checkJSON(t, env, exit.OK).line(monitor.PasswordsRead), "minor the database user may read the hashes of passwords in wp_users, which Bookside never does. Revoke its privileges on wp_users and wp_usermeta, then")
	expect.Equal(t, "", checkJSON(t, settingsFor(db, "BOOKSIDE_DB__DSN="+db.AdminDSN), exit.OK).line(monitor.PasswordsRead), "the site's own account is warned")
}

// TestCheckGrantsOfHiddenSites: for an account that the server does not know, the grants are for any host;
// for an account that sees some of the plugin's tables, they include the others.
func TestCheckGrantsOfHiddenSites(t *testing.T) {
	t.Parallel()
	db := small(t)
	parts, _ := settings.ParseDSN(db.DSN)
	nobody := lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+withUser(db.DSN, "no'body")))
	expect.Texts(t, run(t, nobody, "", "check", "--grants", "--prefix", "wp_7_").want(t, exit.Refused).stdout,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON `"+parts.Database+"`.`wp_7_latepoint_bookings` TO 'no''body'@'%';\n",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `"+parts.Database+"`.`wp_7_bookside_api_keys` TO ", "`.`wp_users` TO ")
	for _, visible := range []string{"wp_options", "wp_latepoint_services"} {
		got := run(t, account(t, db, "SELECT ON "+visible), "", "check", "--grants").want(t, exit.NoTables)
		expect.Texts(t, got.stdout, "`wp_latepoint_bookings` TO ", "`wp_latepoint_coupons` TO ")
	}
	expect.Equal(t, "", run(t, account(t, db, "SELECT ON *"), "", "check", "--grants", "--prefix", "wpx_").want(t, exit.NoTables).stdout, "for a site that is not there")
}

// TestCheckPrivilegesBeforeOwnTables: privileges count for own tables that do not exist yet, at whatever
// level they were granted.
func TestCheckPrivilegesBeforeOwnTables(t *testing.T) {
	t.Parallel()
	create := []string{"SELECT, INSERT, UPDATE, DELETE, ALTER ON *"}
	for _, table := range wpdb.OwnTables() {
		create = append(create, "CREATE ON wp_"+string(table))
	}
	for name, test := range map[string]struct {
		grants      []string
		wantMissing string // privileges, on all of our tables
	}{
		"all":            {[]string{"SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON *"}, ""},
		"all but CREATE": {[]string{"SELECT, INSERT, UPDATE, DELETE, ALTER ON *"}, "CREATE"},
		"CREATE alone":   {create, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := small(t)
			got := checkJSON(t, account(t, db, test.grants...), exit.OK)
			want, missing := "", 0
			if test.wantMissing != "" {
				want, missing = "minor the database user lacks "+test.wantMissing+" on "+"wp_bookside_", len(wpdb.OwnTables())
			}
			if line := got.line(monitor.OwnRefused); !strings.HasPrefix(line, want) || line != "" && want == "" || len(got.Grants.Missing) != missing {
				t.Errorf("%d statements, %s", len(got.Grants.Missing), line)
			}
		})
	}
}

// TestCheckStatementLog: a server that refuses all writes is a fault, unless the account may ask for another log.
func TestCheckStatementLog(t *testing.T) {
	t.Parallel()
	db := fixtures.NewWith(t, fixtures.Small(now), "--log-bin", "--server-id=1")
	db.Execute(t, "SET GLOBAL binlog_format = 'STATEMENT'")
	run(t, adminSettings(db), "", "check").want(t, exit.OK)
	got := run(t, settingsFor(db), "", "check").want(t, exit.Failure, "the site cannot be served:\n  writes refused: the database server refuses all of them, because its binlog_format is STATEMENT. Set binlog_format to ROW")
	expect.Texts(t, got.stdout, "✗ writes refused")
}
