package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// checkJSON runs check --json.
func checkJSON(t *testing.T, env []string, code int) checkReport {
	t.Helper()
	var r checkReport
	decoder := json.NewDecoder(strings.NewReader(run(t, env, "", "check", "--json").want(t, code).stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCheckJSON: what a program needs to know, good and bad.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	good := checkJSON(t, env, exitOK)
	if !good.OK || len(good.Problems) > 0 || good.Prefix != "wp_" || good.Platform.State != "active" || good.Conflicts == nil || len(good.OwnTables.Missing) == 0 {
		t.Errorf("%+v", good)
	}
	overlap(t, db)
	found := checkJSON(t, env, exitOK).Conflicts
	if diff := cmp.Diff([]conflictPair{{Agent: 1, Bookings: [2]int64{7001, 7002}}}, found.Pairs); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	execute(t, db.SQL, "UPDATE wp_options SET option_value = 'a:0:{}' WHERE option_name = 'active_plugins'")
	bad := checkJSON(t, env, exitFailure)
	if bad.OK || len(bad.Problems) != 1 || bad.Conflicts != nil || bad.Platform.JobCron != nil {
		t.Errorf("%+v", bad)
	}
}

// A site that cannot be looked at is told as JSON too.
func TestUncheckedJSON(t *testing.T) {
	t.Parallel()
	db := small(t)
	execute(t, db.SQL, "DROP TABLE wp_latepoint_bookings")
	r := checkJSON(t, settingsFor(db), exitNoTables)
	if r.OK || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "wp_latepoint_bookings is missing") {
		t.Errorf("%+v", r)
	}
}

func TestCheckConflicts(t *testing.T) {
	t.Parallel()
	db := small(t)
	env := settingsFor(db)
	run(t, env, "", "check", "--conflicts").want(t, exitOK)
	overlap(t, db)
	got := run(t, env, "", "check", "--conflicts").want(t, exitConflicts, "1 pairs of bookings overlap")
	wantTexts(t, got.stdout, "AGENT   BOOKINGS    \n1       7001 7002   \n", "overlaps       1 pairs of ")
}

// TestCheckGrants: an account that is given what check prints, and nothing else,
// lacks nothing; one that can read is told the rest.
func TestCheckGrants(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	newKey(t, settingsFor(db))
	env := account(t, db, "SELECT ON *")
	first := checkJSON(t, env, exitOK)
	if len(first.Rights.Missing) == 0 || len(first.Rights.Missing) >= len(first.Rights.Needed) {
		t.Fatalf("%d grants of %d are missing", len(first.Rights.Missing), len(first.Rights.Needed))
	}
	wantTexts(t, run(t, env, "", "check").want(t, exitOK).stdout, "GRANT SELECT, INSERT, UPDATE, DELETE ON `"+first.Database.Name+"`.`wp_latepoint_bookings` TO "+first.Database.Account+";\n")
	execute(t, db.SQL, fmt.Sprintf("REVOKE SELECT ON `%s`.* FROM %s", first.Database.Name, first.Database.Account))
	for _, statement := range first.Rights.Needed {
		execute(t, db.SQL, statement)
	}
	second := checkJSON(t, env, exitOK)
	if len(second.Rights.Missing) > 0 || len(second.Rights.Lacking) > 0 || second.Rights.Summary != "to read and to write" {
		t.Errorf("after all grants: %+v", second.Rights)
	}
	if diff := cmp.Diff(first.Rights.Needed, second.Rights.Needed); diff != "" {
		t.Errorf("grants (-first +second):\n%s", diff)
	}
}

// TestCheckUnwritable: what an update of the plugin stops is told by name.
func TestCheckUnwritable(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_orders ENGINE=MyISAM")
	execute(t, db.SQL, "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh enum('a', 'b') NOT NULL")
	got := run(t, settingsFor(db), "", "check").want(t, exitOK)
	wantTexts(t, got.stdout, "warning: requests that write wp_latepoint_orders will be refused: its engine is MyISAM\n",
		"warning: requests that write wp_latepoint_bookings will be refused: it demands a value for fresh (enum)\n")
}
