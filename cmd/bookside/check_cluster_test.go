package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// companionSeen is what the companion stores once a day: its version and the time.
const companionSeen = "INSERT INTO %soptions (option_name, option_value) VALUES ('bookside_companion_seen', '%s %d')"

// TestCheckCompanionThatWasRemoved: a companion that has been silent for days does not count as taking
// locks.
func TestCheckCompanionThatWasRemoved(t *testing.T) {
	t.Parallel()
	db := small(t)
	execute(t, db.SQL, fmt.Sprintf(companionSeen, db.Prefix, "0.1.9", 1_700_000_000))
	wantTexts(t, run(t, settingsFor(db), "", "check").want(t, exit.OK).stdout, "companion      0.1.9, not seen since 2023-11-14: if it was removed")
}

// TestCheckCluster: check reports the kind of cluster, as text and as JSON.
func TestCheckCluster(t *testing.T) {
	t.Parallel()
	one := 1
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		env := settingsFor(small(t))
		wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "cluster        none\n", "companion      none in WordPress")
		want := &clusterJSON{Kind: wpdb.Standalone, Serving: true}
		if diff := cmp.Diff(want, checkJSON(t, env, exit.OK).Database.Cluster); diff != "" {
			t.Errorf("cluster (-want +got):\n%s", diff)
		}
	})
	t.Run("Galera", func(t *testing.T) {
		t.Parallel()
		db := fixtures.NewGalera(t, fixtures.Small(now))
		env := settingsFor(db)
		seen := time.Now()
		execute(t, db.SQL, fmt.Sprintf(companionSeen, db.Prefix, "0.2.0", seen.Unix()))
		wantTexts(t, run(t, env, "", "check").want(t, exit.OK).stdout, "cluster        Galera, members: 1, state of this one: Synced\n",
			"companion      0.2.0, last seen on "+seen.UTC().Format(time.DateOnly)+"\n", "warning: WordPress's lock holds on one node of the cluster")
		want := &clusterJSON{Kind: wpdb.Galera, Members: &one, State: "Synced", Serving: true, MultiPrimary: true}
		if diff := cmp.Diff(want, checkJSON(t, env, exit.OK).Database.Cluster); diff != "" {
			t.Errorf("cluster (-want +got):\n%s", diff)
		}
		// Like a node that is cut off from the others.
		execute(t, db.SQL, "SET GLOBAL wsrep_reject_queries = 'ALL'")
		run(t, env, "", "check").want(t, exit.Unreachable, "or is a node that has lost its cluster")
	})
}
