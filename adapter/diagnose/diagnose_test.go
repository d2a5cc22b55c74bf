package diagnose

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/adapter/language"
	"github.com/bookside/bookside/wpdb"
)

// TestUnknownWritePrivilegesAreAWarning: the examination succeeds even if the server does not say whether
// it may write.
func TestUnknownWritePrivilegesAreAWarning(t *testing.T) {
	t.Parallel()
	pool, mock, err := sqlmock.New()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	mock.MatchExpectationsInOrder(false)
	readOnly := &mysql.MySQLError{Number: 1290}
	mock.ExpectQuery("latepoint_settings").WillReturnRows(sqlmock.NewRows([]string{"name", "value"}))
	mock.ExpectQuery("information_schema.columns").WillReturnRows(sqlmock.NewRows([]string{"table_name"}))
	mock.ExpectQuery("information_schema.tables").WillReturnRows(sqlmock.NewRows([]string{"table_name", "engine"}))
	for range 100 {
		mock.ExpectQuery("^SELECT (1|ID|user_id)").WillReturnRows(sqlmock.NewRows([]string{"1"}))
		mock.ExpectQuery("^EXPLAIN").WillReturnError(readOnly)
	}
	db := wpdb.New(pool, "wp_")
	p, err := probe(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Unknown || len(p.Lacking) > 0 || len(p.Unreadable) > 0 {
		t.Errorf("%+v", p)
	}
	want := []string{"the server does not say whether the database user may write to all tables"}
	if diff := cmp.Diff(want, Texts(p.warnings(db))); diff != "" {
		t.Error(diff)
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found *wpdb.Durability
		level Level
		text  string
	}{
		"durable":               {&wpdb.Durability{FlushLog: "1"}, Good, "survives"},
		"with a binary log":     {&wpdb.Durability{FlushLog: "1", SyncBinlog: "1"}, Good, "survives"},
		"once a second":         {&wpdb.Durability{FlushLog: "2", SyncBinlog: "1"}, Minor, "innodb_flush_log_at_trx_commit is 2"},
		"binary log as it goes": {&wpdb.Durability{FlushLog: "1", SyncBinlog: "0"}, Minor, "sync_binlog is 0"},
		"unknown":               {nil, Minor, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := durabilityFinding(c.found); got.Level != c.level || !strings.Contains(got.Text.String(), c.text) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestClusterWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cluster wpdb.Cluster
		warning string // part of the only one; empty for none
	}{
		"Galera":            {wpdb.Cluster{Kind: wpdb.Galera, Members: 3, State: "Synced", Serving: true, Balanced: true}, ""},
		"lost":              {wpdb.Cluster{Kind: wpdb.Galera, Members: 1, State: "Initialized"}, "lost its cluster"},
		"multi-primary":     {wpdb.Cluster{Kind: wpdb.GroupReplication, Members: 3, State: "ONLINE", Serving: true}, ""},
		"secondary":         {wpdb.Cluster{Kind: wpdb.GroupReplication, SinglePrimary: true, Serving: true, ReadOnly: true}, "is read-only"},
		"replica":           {wpdb.Cluster{Kind: wpdb.Replica, Serving: true}, "is a replica"},
		"read-only replica": {wpdb.Cluster{Kind: wpdb.Replica, Serving: true, ReadOnly: true}, "is read-only"},
		"read-only":         {wpdb.Cluster{Kind: wpdb.Standalone, Serving: true, ReadOnly: true}, "is read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := clusterWarnings(c.cluster)
			if len(got) != min(len(c.warning), 1) || !strings.Contains(strings.Join(Texts(got), ""), c.warning) {
				t.Errorf("%q", got)
			}
		})
	}
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
		"read-only":         {&wpdb.Cluster{Kind: wpdb.Standalone, Serving: true, ReadOnly: true}, "not in a cluster, read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clusterLine(c.cluster).String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestIndexesLine: the reason for not knowing the indexes depends on whether the site was examined.
func TestIndexesLine(t *testing.T) {
	t.Parallel()
	examined := Platform{RunsJobs: new(false)}
	for name, test := range map[string]struct {
		Report
		want string
	}{
		"not examined":         {Report{}, unknown.String()},
		"server without costs": {Report{Platform: examined}, "not known, because the server does not tell"},
		"complete":             {Report{Platform: examined, Indexes: []indexes.Index{}}, "none missing"},
	} {
		if got := test.indexesLine().String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestTranslationWarning: each reason for English comes with what to do about it.
func TestTranslationWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason error
		want   string
	}{
		{language.ErrNoContent, "name its wp-content in wordpress.content"},
		{fmt.Errorf("no file.mo: %w", fs.ErrNotExist), "no file.mo: file does not exist: if that is not the site's wp-content, correct wordpress.content"},
		{fmt.Errorf("file.mo: %w", fs.ErrPermission), "file.mo: permission denied: let Bookside's user read it"},
	} {
		got := translationWarning(language.Problem{Locale: "de_DE", Reason: c.reason}).String()
		if !strings.HasPrefix(got, "the site's language is de_DE, ") || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q in it", c.reason, got, c.want)
		}
	}
}

// TestUnknownAgentOrder: an unknown order of agents is a warning.
func TestUnknownAgentOrder(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]bool{"": false, "alphabetical": true} {
		e := examination{Report: Report{Platform: Platform{AgentOrder: order}}}
		if got := strings.Contains(strings.Join(Texts(e.warnings()), "\n"), "any_agent_order, which is alphabetical: "); got != want {
			t.Errorf("%q: warned %t", order, got)
		}
	}
}
