package monitor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// TestEntryItems: ten of many items are named, and beyond a bound the total is not given.
func TestEntryItems(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1 failing: 0. Open", 10: "10 failing: 0, 1", 11: ", 9, and more. Open", ItemLimit: "more than 100 failing"} {
		e := Entry{Items: make([]Item, n), Do: Say("Open it.")}
		for i := range e.Items {
			e.Items[i].ID = int64(i)
		}
		e.Text = Say("%s failing", e.Count())
		if text := e.String(); !strings.Contains(text, want) || n == 10 && strings.Contains(text, "more") {
			t.Errorf("%d: %s, want %s", n, text, want)
		}
	}
}

// TestEntryJSON: an entry reads what it writes, and leaves out what it does not have.
func TestEntryJSON(t *testing.T) {
	t.Parallel()
	for text, e := range map[string]Entry{
		`{"code":"keys","level":"good","text":"1 valid of 2"}`: {Code: KeysGood, Text: Say("%d valid of %d", 1, 2)},
		`{"code":"jobs_late","level":"minor","text":"late","do":"Run it.","since":"2026-11-21T09:30:00Z","items":[{"id":1,"name":"booking 12"},{"id":2}]}`: {
			Code: JobsLate, Level: Minor, Text: Say("late"), Do: Say("Run it."), Since: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC), Items: []Item{{1, "booking 12"}, {ID: 2}},
		},
	} {
		written, err := json.Marshal(e)
		if err != nil || string(written) != text {
			t.Errorf("%s, %v", written, err)
		}
		var read Entry
		if err := json.Unmarshal(written, &read); err != nil || read.String() != e.String() || read.Level != e.Level || !read.Since.Equal(e.Since) {
			t.Errorf("%+v, %v", read, err)
		}
	}
}

// TestServerEntries: what is well with a database server, and what is not.
func TestServerEntries(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Entry{
		"good what was confirmed survives a failure of the machine":                         durabilityEntry(wpdb.Durability{FlushLog: "1"}),
		"good what was confirmed survives a failure of the machine ":                        durabilityEntry(wpdb.Durability{FlushLog: "1", SyncBinlog: "1"}),
		"minor bookings of the last second can be lost":                                     durabilityEntry(wpdb.Durability{FlushLog: "2", SyncBinlog: "1"}),
		"minor replicas and restored backups can lack":                                      durabilityEntry(wpdb.Durability{FlushLog: "1", SyncBinlog: "0"}),
		"good encrypted, TLS 1.3, the server's certificate":                                 connectionEntry(&wpdb.Encryption{Version: "TLS 1.3", Verified: true}),
		"good plain text, within this machine":                                              connectionEntry(&wpdb.Encryption{Local: true}),
		"minor plain text: anyone in between sees":                                          connectionEntry(&wpdb.Encryption{}),
		"good time zone SYSTEM, clock 30s from ours, sql_mode empty":                        clockEntry(wpdb.ServerSettings{TimeZone: "SYSTEM"}, clockTolerance),
		"minor time zone SYSTEM, clock -31s from ours, sql_mode ANSI":                       clockEntry(wpdb.ServerSettings{TimeZone: "SYSTEM", SQLMode: "ANSI"}, -clockTolerance-time.Second),
		"good Galera, members: 3, state of this one: Synced, behind a load-balancing proxy": clusterEntry(wpdb.Cluster{Kind: wpdb.Galera, Members: 3, State: "Synced", Serving: true, Balanced: true}),
		"minor Galera, members: 1, state of this one: Initialized. The database server has": clusterEntry(wpdb.Cluster{Kind: wpdb.Galera, Members: 1, State: "Initialized"}),
		"good MySQL Group Replication, multi-primary, members: 3":                           clusterEntry(wpdb.Cluster{Kind: wpdb.GroupReplication, Members: 3, State: "ONLINE", Serving: true}),
		"minor MySQL Group Replication, single-primary, read-only. Configure":               clusterEntry(wpdb.Cluster{Kind: wpdb.GroupReplication, SinglePrimary: true, Serving: true, ReadOnly: true}),
		"minor replica of another server. Configure the server that this one":               clusterEntry(wpdb.Cluster{Kind: wpdb.Replica, Serving: true}),
		"minor replica of another server, read-only. Configure a server":                    clusterEntry(wpdb.Cluster{Kind: wpdb.Replica, Serving: true, ReadOnly: true}),
		"good not in a cluster":             clusterEntry(wpdb.Cluster{Kind: wpdb.Standalone, Serving: true}),
		"minor not in a cluster, read-only": clusterEntry(wpdb.Cluster{Kind: wpdb.Standalone, Serving: true, ReadOnly: true}),
	} {
		if got := e.Level.String() + " " + e.String(); !strings.HasPrefix(got, strings.TrimSpace(want)) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestUnknownWritePrivileges: the examination succeeds even if the server does not say whether it may write.
func TestUnknownWritePrivileges(t *testing.T) {
	t.Parallel()
	pool, mock, err := sqlmock.New()
	expect.NoError(t, err)
	defer pool.Close()
	mock.MatchExpectationsInOrder(false)
	mock.ExpectQuery("latepoint_settings").WillReturnRows(sqlmock.NewRows([]string{"name", "value"}))
	mock.ExpectQuery("information_schema.columns").WillReturnRows(sqlmock.NewRows([]string{"table_name"}))
	mock.ExpectQuery("information_schema.tables").WillReturnRows(sqlmock.NewRows([]string{"table_name", "engine"}))
	for range 100 {
		mock.ExpectQuery("^SELECT (1|ID|user_id)").WillReturnRows(sqlmock.NewRows([]string{"1"}))
		mock.ExpectQuery("^EXPLAIN").WillReturnError(&mysql.MySQLError{Number: 1290})
	}
	db := wpdb.New(pool, "wp_")
	p, err := probe(t.Context(), db)
	expect.NoError(t, err)
	want := []Entry{{Code: PrivilegesGood, Level: Minor, Text: Say("the server does not say whether the database user may write to all tables")}}
	if diff := cmp.Diff(want, p.entries(db)); diff != "" || p.complete() {
		t.Error(diff)
	}
}
