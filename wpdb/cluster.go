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

// ClusterKind is how a server shares its data with others.
type ClusterKind string

// The kinds of clusters.
const (
	Standalone       ClusterKind = "none"
	Galera           ClusterKind = "galera"
	GroupReplication ClusterKind = "group_replication"
	Replica          ClusterKind = "replica" // of a server whose changes it repeats
)

// Cluster is what a server says of those that it shares its data with.
type Cluster struct {
	Kind          ClusterKind
	Members       int    // 0 where it is not known
	State         string // of this member, in the server's word, as Synced or ONLINE; empty where it is not known
	Serving       bool   // false where this member refuses statements, having lost the others or being behind
	SinglePrimary bool   // of Group Replication: one member takes all writes
	ReadOnly      bool   // this server takes no writes
	Balanced      bool   // two connections led to different servers: a proxy stands between
}

// MultiPrimary tells whether several members take writes.
func (c Cluster) MultiPrimary() bool {
	return c.Kind == Galera || c.Kind == GroupReplication && !c.SinglePrimary
}

// identityVariables are the variables in which servers differ from each other.
var identityVariables = []string{"hostname", "port", "server_id", "server_uuid", "datadir", "wsrep_node_name"}

var clusterVariables = []string{
	"wsrep_on", "wsrep_provider", "read_only", "super_read_only", "group_replication_group_name", "group_replication_single_primary_mode",
}

var clusterStatuses = []string{"wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready", "Slaves_running"}

// Cluster asks the server. Its variables and statuses may be read by everybody;
// what MySQL tells of its members only in the performance_schema is left out
// where the account may not read that.
func (db *DB) Cluster(ctx context.Context) (Cluster, error) {
	variables, balanced, err := db.clusterVariables(ctx)
	if err != nil {
		return Cluster{}, err
	}
	statuses, err := Map[string, string](ctx, db, "read cluster status", showing("STATUS", clusterStatuses))
	if err != nil {
		return Cluster{}, err
	}
	c := clusterOf(lowered(variables), lowered(statuses))
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

// clusterVariables asks over two connections at a time, where there may be two,
// whether they end at the same server.
func (db *DB) clusterVariables(ctx context.Context) (variables map[string]string, balanced bool, err error) {
	const op = "read cluster variables"
	stmt := showing("VARIABLES", slices.Concat(clusterVariables, identityVariables))
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

// showing is a SHOW of some variables or statuses.
func showing(what string, names []string) sq.Sqlizer {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	return sq.Expr("SHOW GLOBAL "+what+" WHERE Variable_name IN ("+marks+")", args...)
}

// lowered has names in lower case; servers differ in theirs.
func lowered(values map[string]string) map[string]string {
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

// isOn reads a switch; some servers have more words than ON.
func isOn(value string) bool { return value != "" && value != "OFF" && value != "0" }

// addMembers asks a MySQL server for its group and for those it repeats.
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
			c.Kind, c.Members = Replica, 0
		}
		return struct{}{}, err
	})
	return err
}
