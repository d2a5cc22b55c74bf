package wpdb_test

import (
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestClusterOfTestServer: a server that is not part of a cluster reports so, even to an
// account without privileges.
func TestClusterOfTestServer(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Small(now))))
	got, err := db.Cluster(t.Context())
	expect.NoError(t, err)
	expect.Equal(t, wpdb.Cluster{Kind: wpdb.Standalone, Serving: true, Members: got.Members}, got, "cluster")
}

// TestClusterOfGalera: a node reports itself and the size of its cluster.
func TestClusterOfGalera(t *testing.T) {
	t.Parallel()
	got, err := wpdbtest.OpenConfig(t, configOf(fixtures.NewGalera(t, fixtures.Small(now)))).Cluster(t.Context())
	expect.NoError(t, err)
	expect.Equal(t, wpdb.Cluster{Kind: wpdb.Galera, Members: 1, State: "Synced", Serving: true}, got, "cluster")
	if !got.MultiPrimary() {
		t.Error("every node of Galera takes writes")
	}
}

// pairs returns the rows of a SHOW statement.
func pairs(values map[string]string) *sqlmock.Rows {
	rows := sqlmock.NewRows([]string{"Variable_name", "Value"})
	for name, value := range values {
		rows.AddRow(name, value)
	}
	return rows
}

// TestClusterKinds covers the answers of each kind of server.
func TestClusterKinds(t *testing.T) {
	t.Parallel()
	const (
		variablesQuery = "SHOW GLOBAL VARIABLES WHERE Variable_name IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		statusQuery    = "SHOW GLOBAL STATUS WHERE Variable_name IN (?, ?, ?, ?, ?)"
		membersQuery   = `SELECT (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'), ` +
			`(SELECT MAX(MEMBER_STATE) FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid), ` +
			`(SELECT COUNT(*) FROM performance_schema.replication_connection_configuration WHERE CHANNEL_NAME NOT LIKE 'group\_replication\_%')`
	)
	group := map[string]string{"group_replication_group_name": "3e11fa47-71ca-11e1-9e33-c80aa9429562", "group_replication_single_primary_mode": "OFF", "read_only": "OFF"}
	single := map[string]string{"group_replication_group_name": "3e11fa47-71ca-11e1-9e33-c80aa9429562", "group_replication_single_primary_mode": "ON", "super_read_only": "ON"}
	for name, c := range map[string]struct {
		variables, others, statuses map[string]string
		members                     []any // nil if the user may not read them
		want                        wpdb.Cluster
	}{
		"a group with several primaries": {
			variables: group, members: []any{3, "ONLINE", 0},
			want: wpdb.Cluster{Kind: wpdb.GroupReplication, Members: 3, State: "ONLINE", Serving: true},
		},
		"a member that has lost its group": {
			variables: group, members: []any{0, "ERROR", 0},
			want: wpdb.Cluster{Kind: wpdb.GroupReplication, State: "ERROR"},
		},
		"a group with one primary, seen without rights": {
			variables: single,
			want:      wpdb.Cluster{Kind: wpdb.GroupReplication, Serving: true, SinglePrimary: true, ReadOnly: true},
		},
		"a replica of MySQL": {
			variables: map[string]string{"read_only": "ON"}, members: []any{0, nil, 1},
			want: wpdb.Cluster{Kind: wpdb.Replica, Serving: true, ReadOnly: true},
		},
		"a replica of MariaDB": {
			variables: map[string]string{"read_only": "ON", "wsrep_on": "OFF"}, statuses: map[string]string{"Slaves_running": "1"}, members: []any{0, nil, 0},
			want: wpdb.Cluster{Kind: wpdb.Replica, Serving: true, ReadOnly: true},
		},
		"Galera behind a proxy": {
			variables: map[string]string{"wsrep_on": "ON", "wsrep_provider": "/usr/lib/libgalera_smm.so", "hostname": "one"}, others: map[string]string{"hostname": "two"},
			statuses: map[string]string{"wsrep_cluster_size": "3", "wsrep_cluster_status": "Primary", "wsrep_local_state_comment": "Synced", "wsrep_ready": "ON"},
			want:     wpdb.Cluster{Kind: wpdb.Galera, Members: 3, State: "Synced", Serving: true, Balanced: true},
		},
		"Galera without a majority": {
			variables: map[string]string{"wsrep_on": "ON", "wsrep_provider": "/usr/lib/libgalera_smm.so"},
			statuses:  map[string]string{"wsrep_cluster_size": "1", "wsrep_cluster_status": "non-Primary", "wsrep_local_state_comment": "Initialized", "wsrep_ready": "OFF"},
			want:      wpdb.Cluster{Kind: wpdb.Galera, Members: 1, State: "Initialized"},
		},
		"MariaDB with Galera installed and switched off": {
			variables: map[string]string{"wsrep_on": "ON", "wsrep_provider": "none"}, members: []any{0, nil, 0},
			want: wpdb.Cluster{Kind: wpdb.Standalone, Serving: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.MockExact(t, 2)
			if c.others == nil {
				c.others = c.variables
			}
			mock.ExpectQuery(variablesQuery).WillReturnRows(pairs(c.variables))
			mock.ExpectQuery(variablesQuery).WillReturnRows(pairs(c.others))
			mock.ExpectQuery(statusQuery).WillReturnRows(pairs(c.statuses))
			switch {
			case c.want.Kind == wpdb.Galera:
			case c.members == nil:
				mock.ExpectQuery(membersQuery).WillReturnError(&mysql.MySQLError{Number: 1142})
			default:
				row := sqlmock.NewRows([]string{"members", "state", "sources"})
				row.AddRow(c.members[0], c.members[1], c.members[2])
				mock.ExpectQuery(membersQuery).WillReturnRows(row)
			}
			got, err := db.Cluster(t.Context())
			expect.NoError(t, err)
			expect.Equal(t, c.want, got, "cluster")
		})
	}
}

// TestClusterOverOneConnection: a pool of one connection cannot detect a proxy, and must
// not wait for a second connection.
func TestClusterOverOneConnection(t *testing.T) {
	t.Parallel()
	c := configOf(fixtures.Shared(t, fixtures.Small(now)))
	c.MaxOpen = 1
	got, err := wpdbtest.OpenConfig(t, c).Cluster(t.Context())
	if err != nil || got.Balanced {
		t.Errorf("%+v, %v", got, err)
	}
}
