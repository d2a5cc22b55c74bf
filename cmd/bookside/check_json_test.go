package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// checkJSON runs check --json.
func checkJSON(t *testing.T, env []string, code int, flags ...string) checkReport {
	t.Helper()
	var r checkReport
	decoder := json.NewDecoder(strings.NewReader(run(t, env, "", append([]string{"check", "--json"}, flags...)...).want(t, code).stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCheckJSON: the findings for a healthy site, one with overlapping bookings and one that cannot be
// served.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	good := checkJSON(t, env, exit.OK)
	if !good.OK || len(good.Problems) > 0 || good.Prefix != "wp_" || good.Platform.State != "active" || good.Conflicts == nil || len(good.OwnTables.Missing) == 0 {
		t.Errorf("%+v", good)
	}
	overlap(t, db)
	found := checkJSON(t, env, exit.OK).Conflicts
	if diff := cmp.Diff([]conflictPair{{Agent: 1, Bookings: [2]int64{7001, 7002}}}, found.Pairs); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	failed := checkJSON(t, env, exit.Conflicts, "--conflicts")
	if diff := cmp.Diff([]string{"1 pair of bookings overlaps"}, failed.Problems); diff != "" || failed.OK {
		t.Errorf("ok: %t, problems (-want +got):\n%s", failed.OK, diff)
	}
	execute(t, db.SQL, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	bad := checkJSON(t, env, exit.Failure)
	if bad.OK || len(bad.Problems) != 1 || bad.Conflicts != nil || bad.Platform.JobCron != nil {
		t.Errorf("%+v", bad)
	}
}

// TestCheckJSONOfSiteThatCannotBeExamined: the reason is printed as JSON too.
func TestCheckJSONOfSiteThatCannotBeExamined(t *testing.T) {
	t.Parallel()
	db := small(t)
	execute(t, db.SQL, "DROP TABLE wp_latepoint_bookings")
	r := checkJSON(t, settingsFor(db), exit.NoTables)
	if r.OK || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "wp_latepoint_bookings is missing") {
		t.Errorf("%+v", r)
	}
}

func TestCheckConflicts(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
	overlap(t, db)
	got := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts, "1 pair of bookings overlaps")
	wantTexts(t, got.stdout, "overlaps       1 pair of bookings overlaps, of ", "\nMiriam Albers, 2027-06-01\n"+
		"  09:00-10:00   booking 7001   Quick check   Lena Hoffmann   https://practice.example.org/wp-admin/admin.php?page=latepoint&route_name=bookings__index&filter%5Bid%5D=7001\n"+
		"  09:30-10:30   booking 7002   ")
	execute(t, db.SQL, "UPDATE wp_options SET option_value = '' WHERE option_name = 'siteurl'")
	without := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts).stdout
	if strings.Contains(without, "wp-admin") {
		t.Errorf("a link to a site whose address is not known:\n%s", without)
	}
}

// TestCheckConflictsOfAssets: bookings of different agents conflict if together they take more units of an asset than there are.
func TestCheckConflictsOfAssets(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := fixtures.New(t, fixtures.Small(now).WithAssets())
	env := settingsFor(db)
	room := db.InsertAsset(t, 1, []int{1})
	overlap(t, db)
	execute(t, db.SQL, "UPDATE wp_latepoint_bookings SET agent_id = 2 WHERE id = 7002")
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
	execute(t, db.SQL, fmt.Sprintf("INSERT INTO wp_latepoint_bookings_assets (booking_id, asset_id) VALUES (7001, %[1]d), (7002, %[1]d), (7002, %[1]d)", room))
	got := run(t, env, "", "check", "--conflicts").want(t, exit.Conflicts, "1 pair of bookings overlaps")
	wantTexts(t, got.stdout, "\nRoom, 2027-06-01\n  09:00-10:00   booking 7001   ", "\n  09:30-10:30   booking 7002   ")
	if r := checkJSON(t, env, exit.OK); len(r.Conflicts.Pairs) != 1 || r.Conflicts.Pairs[0].Asset != room || r.Conflicts.Pairs[0].Agent != 2 {
		t.Errorf("%+v", r.Conflicts)
	}
	execute(t, db.SQL, "UPDATE wp_latepoint_assets SET status = 'disabled'")
	run(t, env, "", "check", "--conflicts").want(t, exit.OK)
}

// TestCheckGrants: an account with exactly the grants that check prints lacks nothing; for a read-only
// account, check prints the rest.
func TestCheckGrants(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db, "SELECT ON *")
	first := checkJSON(t, env, exit.OK)
	if len(first.Rights.Missing) == 0 || len(first.Rights.Missing) >= len(first.Rights.Needed) {
		t.Fatalf("%d grants of %d are missing", len(first.Rights.Missing), len(first.Rights.Needed))
	}
	wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "GRANT SELECT, INSERT, UPDATE, DELETE ON `"+first.Database.Name+"`.`wp_latepoint_bookings` TO "+first.Database.Account+";\n")
	execute(t, db.SQL, fmt.Sprintf("REVOKE SELECT ON `%s`.* FROM %s", first.Database.Name, first.Database.Account))
	for _, statement := range first.Rights.Needed {
		execute(t, db.SQL, statement)
	}
	second := checkJSON(t, env, exit.OK)
	if len(second.Rights.Missing) > 0 || len(second.Rights.Lacking) > 0 || second.Rights.Summary != "to read and to write" {
		t.Errorf("after all grants: %+v", second.Rights)
	}
	if diff := cmp.Diff(first.Rights.Needed, second.Rights.Needed); diff != "" {
		t.Errorf("grants (-first +second):\n%s", diff)
	}
}

// TestCheckGrantsWithoutAccess: for an account without any privilege, check prints all grants, the same
// ones that the tests use for their accounts.
func TestCheckGrantsWithoutAccess(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	db.AddCalendars(t)
	env := account(t, db)
	r := checkJSON(t, env, exit.Refused).Rights
	parts, _ := settings.ParseDSN(db.DSN)
	text := run(t, env, "", "check", "--grants").want(t, exit.Refused, "the database user may not use the database").stdout
	needed, optional, ok := strings.Cut(text, "-- The site may lack these tables")
	const again = "-- Run this again afterwards: what is needed depends on settings of LatePoint, which cannot be read yet.\n"
	if !ok || needed != statements(r.Needed) || !strings.HasSuffix(optional, "\n"+statements(r.Optional)+again) || !cmp.Equal(r.Needed, r.Missing) {
		t.Errorf("printed %s\nas JSON %+v", text, r)
	}
	// Refunds are added and deleted; the records of limited keys are in our own table.
	wantTexts(t, text, "GRANT SELECT, INSERT, DELETE ON `"+parts.Database+"`.`wp_latepoint_transaction_refunds` TO ",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `"+parts.Database+"`.`wp_bookside_booking_customers` TO ")
	for _, statement := range r.Needed {
		execute(t, db.SQL, statement)
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
	if len(got.Rights.Missing) > 0 || got.Rights.Summary != "to read and to write" || slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "database user") }) {
		t.Errorf("with all grants: %+v, warnings %q", got.Rights, got.Warnings)
	}
	newKey(t, env)
	if got := checkJSON(t, env, exit.OK); len(got.Rights.Missing) > 0 || len(got.OwnTables.Missing) > 0 {
		t.Errorf("once the own tables are there: %+v, %+v", got.Rights, got.OwnTables)
	}
}

// TestCheckGrantsOfUsers: no grant allows reading passwords, and users are writable only if customers are
// users. An account with broader grants is reported.
func TestCheckGrantsOfUsers(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db)
	parts, _ := settings.ParseDSN(db.DSN)
	for _, statement := range checkJSON(t, env, exit.Refused).Rights.Needed {
		execute(t, db.SQL, statement)
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
	if diff := cmp.Diff(want, ofUsers(got.Rights.Needed)); diff != "" || len(got.Rights.Missing) > 0 {
		t.Errorf("missing %q, of users (-want +got):\n%s", got.Rights.Missing, diff)
	}
	user, _, _ := strings.Cut(strings.TrimPrefix(got.Database.Account, "'"), "'")
	limited, err := wpdb.Open(t.Context(), wpdb.Config{DSN: withUser(db.DSN, user), Prefix: "wp_"})
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff(want, ofUsers(got.Rights.Missing)); diff != "" || !cmp.Equal(got.Rights.Lacking, map[string][]string{"INSERT, UPDATE": {"wp_users", "wp_usermeta"}}) {
		t.Errorf("lacking %v, missing (-want +got):\n%s", got.Rights.Lacking, diff)
	}
	for _, statement := range got.Rights.Missing {
		execute(t, db.SQL, statement)
	}
	if got := checkJSON(t, env, exit.OK); len(got.Rights.Missing) > 0 || strings.Contains(strings.Join(got.Warnings, "\n"), "passwords") {
		t.Errorf("missing %q, warnings %q", got.Rights.Missing, got.Warnings)
	}
	execute(t, db.SQL, "GRANT SELECT ON `"+parts.Database+"`.`wp_users` TO "+got.Database.Account)
	wantTexts(t, strings.Join(checkJSON(t, env, exit.OK).Warnings, "\n"), "may read the hashes of passwords in wp_users, which Bookside never does: revoke its privileges on wp_users and wp_usermeta, then grant those of check --grants")
	if got := checkJSON(t, settingsFor(db, "BOOKSIDE_DB__DSN="+db.AdminDSN), exit.OK); strings.Contains(strings.Join(got.Warnings, "\n"), "passwords") {
		t.Errorf("the site's own account is warned: %q", got.Warnings)
	}
}

// TestCheckGrantsOfHiddenSites: for an account that the server does not know, the grants are for any host;
// for an account that sees some of the plugin's tables, they include the others.
func TestCheckGrantsOfHiddenSites(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	parts, _ := settings.ParseDSN(db.DSN)
	nobody := lastWins(settingsFor(db, "BOOKSIDE_DB__DSN="+withUser(db.DSN, "no'body")))
	wantTexts(t, run(t, nobody, "", "check", "--grants", "--prefix", "wp_7_").want(t, exit.Refused).stdout,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON `"+parts.Database+"`.`wp_7_latepoint_bookings` TO 'no''body'@'%';\n",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON `"+parts.Database+"`.`wp_7_bookside_api_keys` TO ", "`.`wp_users` TO ")
	for _, visible := range []string{"wp_options", "wp_latepoint_services"} {
		got := run(t, account(t, db, "SELECT ON "+visible), "", "check", "--grants").want(t, exit.NoTables)
		wantTexts(t, got.stdout, "`wp_latepoint_bookings` TO ", "`wp_latepoint_coupons` TO ")
	}
	if got := run(t, account(t, db, "SELECT ON *"), "", "check", "--grants", "--prefix", "wpx_").want(t, exit.NoTables); got.stdout != "" {
		t.Errorf("for a site that is not there: %s", got.stdout)
	}
}

// TestCheckPrivilegesBeforeOwnTables: privileges count for own tables that do not exist yet, at whatever
// level they were granted.
func TestCheckPrivilegesBeforeOwnTables(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
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
			want := map[string][]string{}
			if test.wantMissing != "" {
				want[test.wantMissing] = got.OwnTables.Missing
			}
			if diff := cmp.Diff(want, got.Rights.Lacking); diff != "" || len(got.Rights.Missing) != len(want[test.wantMissing]) {
				t.Errorf("%d statements, lacking (-want +got):\n%s", len(got.Rights.Missing), diff)
			}
		})
	}
}

// TestCheckUnwritable: check names the tables that cannot be written after an
// update of the plugin.
func TestCheckUnwritable(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_orders ENGINE=MyISAM")
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL")
	got := run(t, settingsFor(db), "", "check").want(t, exit.OK)
	wantTexts(t, got.stdout, "warning: requests that write wp_latepoint_orders will be refused: its engine is MyISAM\n",
		"warning: requests that write wp_latepoint_bookings will be refused: it requires a value for fresh (enum)\n")
}
