package wpdb_test

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	sq "github.com/Masterminds/squirrel"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// openAsAdmin opens a sample site with all privileges.
func openAsAdmin(t *testing.T, database *fixtures.Database) *wpdb.DB {
	t.Helper()
	return wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.AdminDSN, Prefix: database.Prefix, MaxOpen: 2})
}

// TestAddIndex: an index is created, found by its columns, and dropped.
func TestAddIndex(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := openAsAdmin(t, fixtures.New(t, fixtures.Small(now)))
	index := wpdb.OwnIndex(wpdb.Transactions, "kind", "order_id")
	find := func() (found *wpdb.Index) {
		t.Helper()
		all, err := db.Indexes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := slices.IndexFunc(all, func(i wpdb.Index) bool { return i.Table == index.Table && i.Name == "bookside_kind_order_id" }); n >= 0 {
			found = &all[n]
		}
		return found
	}
	if err := db.AddIndex(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&index, find()); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	wantKind(t, db.AddIndex(t.Context(), index), wpdb.ErrDuplicate)
	if err := db.DropIndex(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	if found := find(); found != nil {
		t.Errorf("after it was dropped: %+v", found)
	}
	wantKind(t, db.DropIndex(t.Context(), index), wpdb.ErrNoIndex)
}

// TestAddIndexFails: a failed in-place creation leaves no index behind, and the next session is like any
// other.
func TestAddIndexFails(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	db := openAsAdmin(t, database)
	arrange(t, database.SQL, "ALTER TABLE wp_latepoint_transactions ENGINE = MyISAM",
		"ALTER TABLE wp_latepoint_customers MODIFY first_name VARCHAR(3000), MODIFY last_name VARCHAR(3000)")
	for name, c := range map[string]struct {
		index wpdb.Index
		want  error
	}{
		"by a copy":      {wpdb.OwnIndex(wpdb.Transactions, "order_id"), wpdb.ErrCopies},
		"too long":       {wpdb.OwnIndex(wpdb.Customers, "first_name", "last_name"), wpdb.ErrKeyTooLong},
		"no such column": {wpdb.OwnIndex(wpdb.Orders, "colour"), wpdb.ErrSchema},
	} {
		t.Run(name, func(t *testing.T) {
			wantKind(t, db.AddIndex(t.Context(), c.index), c.want)
			all, err := db.Indexes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if left := slices.IndexFunc(all, wpdb.Index.Own); left >= 0 {
				t.Errorf("left: %+v", all[left])
			}
			wait, err := read(t.Context(), db, "SELECT @@lock_wait_timeout")
			if err != nil || !slices.Equal(wait, []string{"5"}) {
				t.Errorf("lock_wait_timeout %v, %v", wait, err)
			}
		})
	}
}

// TestProgress: MariaDB reports its progress even to an account without global privileges.
func TestProgress(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.Shared(t, fixtures.SiteA())
	percent, ok, err := wpdbtest.OpenConfig(t, configOf(database)).Progress(t.Context())
	if err != nil || ok != (database.Engine == "mariadb") || percent < 0 || percent > 100 {
		t.Errorf("%v %%, %t, %v", percent, ok, err)
	}
}

// TestDropIndexByCopy: a table whose engine has changed meanwhile is not copied either.
func TestDropIndexByCopy(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Small(now))
	index := wpdb.OwnIndex(wpdb.Transactions, "order_id")
	arrange(t, database.SQL, "CREATE INDEX bookside_order_id ON wp_latepoint_transactions (order_id)", "ALTER TABLE wp_latepoint_transactions ENGINE = MyISAM")
	wantKind(t, openAsAdmin(t, database).DropIndex(t.Context(), index), wpdb.ErrCopies)
	const left = "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = 'bookside_order_id'"
	if got := singleValue(t, database.SQL, left); got != "1" {
		t.Errorf("%s such indexes are left", got)
	}
}

func TestIndexServes(t *testing.T) {
	t.Parallel()
	wanted := wpdb.OwnIndex(wpdb.Orders, "status", "created_at")
	for name, c := range map[string]struct {
		index wpdb.Index
		want  bool
	}{
		"the same":        {wpdb.Index{Table: wpdb.Orders, Name: "x", Columns: []string{"status", "created_at"}}, true},
		"longer":          {wpdb.Index{Table: wpdb.Orders, Name: "x", Columns: []string{"Status", "created_at", "total"}}, true},
		"shorter":         {wpdb.Index{Table: wpdb.Orders, Name: "x", Columns: []string{"status"}}, false},
		"another order":   {wpdb.Index{Table: wpdb.Orders, Name: "x", Columns: []string{"created_at", "status"}}, false},
		"another table":   {wpdb.Index{Table: wpdb.Bookings, Name: "x", Columns: []string{"status", "created_at"}}, false},
		"ignored":         {wpdb.Index{Table: wpdb.Orders, Name: "x", Columns: []string{"status", "created_at"}, Ignored: true}, false},
		"of no column":    {wpdb.Index{Table: wpdb.Orders, Name: "x"}, false},
		"our own of more": {wpdb.OwnIndex(wpdb.Orders, "status", "created_at", "total"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.index.Serves(wanted); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// TestReaches counts no further than it has to.
func TestReaches(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.SiteA())))
	for rows, want := range map[int64]bool{1: true, 2000: true, 2001: false} {
		got, err := db.Reaches(t.Context(), wpdb.Bookings, rows)
		if err != nil || got != want {
			t.Errorf("%d rows: %t, %v", rows, got, err)
		}
	}
}

// bookingsOf selects the bookings of a customer.
func bookingsOf(table string) sq.SelectBuilder {
	return sq.Select("service_id").From(table).Where(sq.Eq{"customer_id": 7})
}

// TestExplain: the plan without an index reads the whole table.
func TestExplain(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.SiteA())))
	with, err := db.Explain(t.Context(), "explain", bookingsOf(db.Name(wpdb.Bookings)))
	if err != nil || with.Index != "customer_id_index" || with.Rows > 1000 {
		t.Errorf("with the index: %+v, %v", with, err)
	}
	without, err := db.Explain(t.Context(), "explain", bookingsOf(db.Ignoring(wpdb.Bookings, "customer_id_index")))
	if err != nil || without.Index != "" || without.Rows < 1000 {
		t.Errorf("without it: %+v, %v", without, err)
	}
	if _, err := db.Explain(t.Context(), "explain", bookingsOf("nothing")); !errors.Is(err, wpdb.ErrSchema) {
		t.Errorf("of no table: %v", err)
	}
}

// TestEstimatesOfFilteredRows: MariaDB's plan of rows that a second index filters is read, too.
func TestEstimatesOfFilteredRows(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	columns := strings.Fields("id select_type table type possible_keys key key_len ref rows Extra")
	if !strings.Contains(db.Version(), "MariaDB") {
		columns = strings.Fields("id select_type table partitions type possible_keys key key_len ref rows filtered Extra")
	}
	rows := func(estimate any) *sqlmock.Rows {
		values := make([]driver.Value, len(columns))
		values[slices.Index(columns, "rows")] = estimate
		return sqlmock.NewRows(columns).AddRow(values...)
	}
	for estimate, want := range map[any]int64{int64(7): 7, "12 (50%)": 12, nil: 0} {
		mock.ExpectQuery("EXPLAIN FORMAT=TRADITIONAL SELECT 1").WillReturnRows(rows(estimate))
		steps, err := db.Steps(t.Context(), wpdb.Statement{Op: "a", Text: "SELECT 1"})
		if err != nil || len(steps) != 1 || steps[0].Rows != want {
			t.Errorf("%v: %+v, error %v", estimate, steps, err)
		}
	}
}
