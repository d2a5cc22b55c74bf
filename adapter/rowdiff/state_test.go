package rowdiff

import (
	"database/sql/driver"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestStateReadsTablesInPages: a large table is read to its end, page by page, by its key.
func TestStateReadsTablesInPages(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.Mock(t)
	c := &Copy{db: db, page: 2, tables: []table{{name: wpdb.Bookings, key: "id", columns: []string{"id", "status"}}}}
	page := func(rows ...[]driver.Value) *sqlmock.Rows {
		return sqlmock.NewRows([]string{"id", "hash"}).AddRows(rows...)
	}
	const query = "SELECT `id`, SHA2\\(CONCAT_WS\\(0x1F, COALESCE\\(`id`, 0x00\\), COALESCE\\(`status`, 0x00\\)\\), 256\\) FROM `wp_latepoint_bookings` "
	mock.ExpectQuery(query + "ORDER BY `id` LIMIT 2").WillReturnRows(page([]driver.Value{1, "a"}, []driver.Value{5, "b"}))
	mock.ExpectQuery(query + "WHERE `id` > \\? ORDER BY `id` LIMIT 2").WithArgs(5).WillReturnRows(page([]driver.Value{6, "c"}, []driver.Value{9, "d"}))
	mock.ExpectQuery(query + "WHERE `id` > \\? ORDER BY `id` LIMIT 2").WithArgs(9).WillReturnRows(page())
	got, err := c.state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state{wpdb.Bookings: {1: "a", 5: "b", 6: "c", 9: "d"}}, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestChangesBetweenStates(t *testing.T) {
	t.Parallel()
	got := changesBetween(map[int64]string{1: "a", 2: "b", 3: "c"}, map[int64]string{2: "b", 3: "x", 9: "n", 7: "m"})
	if got.rows() != 4 {
		t.Errorf("%d rows", got.rows())
	}
	if diff := cmp.Diff(changes{inserted: []int64{7, 9}, updated: []int64{3}, deleted: []int64{1}}, got, cmp.AllowUnexported(changes{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestTablesWithoutANumberAsKeyAreSkipped: rows without a unique number would hide each other.
func TestTablesWithoutANumberAsKeyAreSkipped(t *testing.T) {
	t.Parallel()
	id := columnRow{column: "id", key: "PRI", kind: "bigint"}
	c := &Copy{}
	c.addTable("one", []columnRow{id, {column: "name", kind: "varchar"}})
	c.addTable("two", []columnRow{id, {column: "other_id", key: "PRI", kind: "int"}})
	c.addTable("number_and_text", []columnRow{id, {column: "name", key: "PRI", kind: "varchar"}})
	c.addTable("text", []columnRow{{column: "name", key: "PRI", kind: "varchar"}})
	c.addTable("none", []columnRow{{column: "id", kind: "int"}})
	if diff := cmp.Diff([]string{"two", "number_and_text", "text", "none"}, c.Skipped); diff != "" || len(c.tables) != 1 {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}
