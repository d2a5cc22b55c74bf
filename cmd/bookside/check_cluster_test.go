package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
	"bookside/wpdb"
)

// TestCheckCluster: check reports the kind of cluster, as text and as JSON.
func TestCheckCluster(t *testing.T) {
	t.Parallel()
	one := 1
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		env := settingsFor(small(t))
		wantTexts(t, run(t, env, "", "check").want(t, exitOK).stdout, "cluster        none\n", "companion      none in WordPress")
		want := &clusterJSON{Kind: wpdb.Standalone, Serving: true}
		if diff := cmp.Diff(want, checkJSON(t, env, exitOK).Database.Cluster); diff != "" {
			t.Errorf("cluster (-want +got):\n%s", diff)
		}
	})
	t.Run("Galera", func(t *testing.T) {
		t.Parallel()
		db := fixtures.NewGalera(t, fixtures.Small(now))
		env := settingsFor(db)
		execute(t, db.SQL, fmt.Sprintf("INSERT INTO %soptions (option_name, option_value) VALUES ('bookside_companion_seen', '0.2.0 1795305600')", db.Prefix))
		wantTexts(t, run(t, env, "", "check").want(t, exitOK).stdout, "cluster        Galera, members: 1, state of this one: Synced\n",
			"companion      0.2.0, last seen on 2026-11-22\n", "warning: WordPress's lock holds on one node of the cluster")
		want := &clusterJSON{Kind: wpdb.Galera, Members: &one, State: "Synced", Serving: true, MultiPrimary: true}
		if diff := cmp.Diff(want, checkJSON(t, env, exitOK).Database.Cluster); diff != "" {
			t.Errorf("cluster (-want +got):\n%s", diff)
		}
		// Like a node that is cut off from the others.
		execute(t, db.SQL, "SET GLOBAL wsrep_reject_queries = 'ALL'")
		run(t, env, "", "check").want(t, exitUnreachable, "or is a node that has lost its cluster")
	})
}

func TestClusterLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cluster *wpdb.Cluster
		want    string
	}{
		"unknown":           {nil, "unknown"},
		"Galera":            {&wpdb.Cluster{Kind: wpdb.Galera, Members: 3, State: "Synced", Serving: true, Balanced: true}, "Galera, members: 3, state of this one: Synced, behind a load-balancing proxy"},
		"lost":              {&wpdb.Cluster{Kind: wpdb.Galera, Members: 1, State: "Initialized"}, "Galera, members: 1, state of this one: Initialized"},
		"multi-primary":     {&wpdb.Cluster{Kind: wpdb.GroupReplication, Members: 3, State: "ONLINE", Serving: true}, "MySQL Group Replication, multi-primary, members: 3, state of this one: ONLINE"},
		"secondary":         {&wpdb.Cluster{Kind: wpdb.GroupReplication, SinglePrimary: true, Serving: true, ReadOnly: true}, "MySQL Group Replication, single-primary, read-only"},
		"replica":           {&wpdb.Cluster{Kind: wpdb.Replica, Serving: true}, "replica of another server"},
		"read-only replica": {&wpdb.Cluster{Kind: wpdb.Replica, Serving: true, ReadOnly: true}, "replica of another server, read-only"},
		"read-only":         {&wpdb.Cluster{Kind: wpdb.Standalone, Serving: true, ReadOnly: true}, "none, read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clusterLine(c.cluster); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
