package wpdb_test

import (
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestCreateIndex: an index is created by its statement, found by its columns, and dropped.
func TestCreateIndex(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(now))
	db := wpdbtest.OpenConfig(t, configOf(database))
	index := wpdb.OwnIndex(wpdb.Transactions, "kind", "order_id")
	find := func() (found *wpdb.Index) {
		t.Helper()
		all, err := db.Indexes(t.Context())
		expect.NoError(t, err)
		if n := slices.IndexFunc(all, func(i wpdb.Index) bool { return i.Table == index.Table && i.Name == "bookside_kind_order_id" }); n >= 0 {
			found = &all[n]
		}
		return found
	}
	database.Execute(t, db.CreateIndexStatement(index))
	expect.Equal(t, &index, find(), "index")
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
		expect.Equal(t, c.want, c.index.Serves(wanted), name)
	}
}

// TestReaches counts no further than it has to.
func TestReaches(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.SiteA())))
	for rows, want := range map[int64]bool{1: true, 2000: true, 2001: false} {
		got, err := db.Reaches(t.Context(), wpdb.Bookings, rows)
		if err != nil || got != want {
			t.Errorf("%d rows: %t, %v", rows, got, err)
		}
	}
}
