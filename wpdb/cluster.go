package wpdb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// ClusterKind is how a server shares its data with other servers.
type ClusterKind string

// The kinds of clusters.
const (
	Standalone       ClusterKind = "none"
	Galera           ClusterKind = "galera"
	GroupReplication ClusterKind = "group_replication"
	Replica          ClusterKind = "replica" // of another server
)

// Cluster describes a server as a member of a cluster.
type Cluster struct {
	Kind          ClusterKind
	Members       int    // 0 if unknown
	State         string // of this member in the server's words, such as Synced or ONLINE; empty if unknown
	Serving       bool   // false if this member rejects statements because it lost the others or lags behind
	SinglePrimary bool   // of Group Replication: one member accepts all writes
	ReadOnly      bool   // this server accepts no writes
	Balanced      bool   // two connections led to different servers, so there is a proxy
}

// MultiPrimary reports whether several members accept writes.
func (c Cluster) MultiPrimary() bool {
	return c.Kind == Galera || c.Kind == GroupReplication && !c.SinglePrimary
}

// identityVariables are variables that differ between servers.
var identityVariables = []string{"hostname", "port", "server_id", "server_uuid", "datadir", "wsrep_node_name"}

var clusterVariables = []string{
	"wsrep_on", "wsrep_provider", "read_only", "super_read_only", "group_replication_group_name", "group_replication_single_primary_mode",
}

var clusterStatuses = []string{"wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready", "Slaves_running"}

// Cluster queries the server's role in a cluster. Every account may read the
// variables and statuses it needs. The members of a MySQL group are only in the
// performance_schema and are omitted if the account may not read that.
func (db *DB) Cluster(ctx context.Context) (Cluster, error) {
	variables, balanced, err := db.clusterVariables(ctx)
	if err != nil {
		return Cluster{}, err
	}
	statuses, err := Map[string, string](ctx, db, "read cluster status", showStatement("STATUS", clusterStatuses))
	if err != nil {
		return Cluster{}, err
	}
	c := clusterOf(lowerNames(variables), lowerNames(statuses))
	c.Balanced = balanced
	if strings.Contains(db.version, "MariaDB") || c.Kind == Galera {
		return c, nil
	}
	err = db.addMembers(ctx, &c)
	if errors.Is(err, ErrAccessDenied) || errors.Is(err, ErrSchema) || errors.Is(err, ErrNoDatabase) {
		return c, nil
	}
	return c, err
}

// clusterVariables uses two connections at a time, if the pool allows, to find
// out whether they lead to the same server.
func (db *DB) clusterVariables(ctx context.Context) (variables map[string]string, balanced bool, err error) {
	const op = "read cluster variables"
	stmt := showStatement("VARIABLES", slices.Concat(clusterVariables, identityVariables))
	if db.pool.Stats().MaxOpenConnections == 1 {
		variables, err = Map[string, string](ctx, db, op, stmt)
		return variables, false, err
	}
	err = db.Session(ctx, op, func(first *DB) error {
		if variables, err = Map[string, string](ctx, first, op, stmt); err != nil {
			return err
		}
		return db.Session(ctx, op, func(second *DB) error {
			others, err := Map[string, string](ctx, second, op, stmt)
			for _, name := range identityVariables {
				balanced = balanced || variables[name] != others[name]
			}
			return err
		})
	})
	return variables, balanced, err
}

// showStatement returns a SHOW of some variables or statuses.
func showStatement(what string, names []string) sq.Sqlizer {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	return sq.Expr("SHOW GLOBAL "+what+" WHERE Variable_name IN ("+marks+")", args...)
}

// lowerNames returns a copy with the names in lower case, because servers differ.
func lowerNames(values map[string]string) map[string]string {
	low := make(map[string]string, len(values))
	for name, value := range maps.All(values) {
		low[strings.ToLower(name)] = value
	}
	return low
}

func clusterOf(variables, statuses map[string]string) Cluster {
	c := Cluster{Kind: Standalone, Serving: true, ReadOnly: isOn(variables["read_only"]) || isOn(variables["super_read_only"])}
	switch {
	case isOn(variables["wsrep_on"]) && cmp.Or(variables["wsrep_provider"], "none") != "none":
		c.Kind, c.State = Galera, statuses["wsrep_local_state_comment"]
		c.Serving = isOn(statuses["wsrep_ready"]) && statuses["wsrep_cluster_status"] == "Primary"
		c.Members, _ = strconv.Atoi(statuses["wsrep_cluster_size"])
	case variables["group_replication_group_name"] != "":
		c.Kind, c.SinglePrimary = GroupReplication, isOn(variables["group_replication_single_primary_mode"])
	case cmp.Or(statuses["slaves_running"], "0") != "0":
		c.Kind = Replica
	}
	return c
}

// isOn parses a switch; some servers have more values than ON and OFF.
func isOn(value string) bool { return value != "" && value != "OFF" && value != "0" }

// addMembers asks a MySQL server for the members of its group and for the servers that it replicates, and notes them in c: a
// server that replicates others, outside of a group, is a replica.
func (db *DB) addMembers(ctx context.Context, c *Cluster) error {
	stmt := sq.Select().
		Column("(SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE')").
		Column("(SELECT MAX(MEMBER_STATE) FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid)").
		Column("(SELECT COUNT(*) FROM performance_schema.replication_connection_configuration WHERE CHANNEL_NAME NOT LIKE 'group\\_replication\\_%')")
	_, _, err := One(ctx, db, "read members of the cluster", stmt, func(row Scanner) (struct{}, error) {
		var sources int
		err := row.Scan(&c.Members, OrZero(&c.State), &sources)
		switch {
		case err != nil:
		case c.Kind == GroupReplication:
			c.Serving = c.State == "ONLINE"
		case sources > 0:
			c.Kind, c.Members = Replica, 0 // how many there are is unknown
		}
		return struct{}{}, err
	})
	return err
}
