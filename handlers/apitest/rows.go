package apitest

import (
	std "cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// Query returns the rows that a SELECT finds in the site's database.
func (s *Server) Query(query string, args ...any) fixtures.Table {
	s.T.Helper()
	found, err := fixtures.Query(s.T.Context(), s.Database.SQL, query, args...)
	if err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
	return found
}

// Texts returns the values of a column, with NULL as an empty text. {bookings} is the plugin's table of bookings.
func (s *Server) Texts(query string) []string {
	s.T.Helper()
	found := []string{}
	for _, row := range s.Query(regexp.MustCompile(`\{(\w+)\}`).ReplaceAllString(query, "`"+s.Database.Prefix+"latepoint_$1`")).Rows {
		text, _ := row[0].(string)
		found = append(found, text)
	}
	return found
}

// Begin begins a transaction of somebody else, such as the site's PHP, and runs statements in it. If it is not committed, it is
// rolled back when the test ends.
func Begin(t testing.TB, database *fixtures.Database, statements ...string) *sql.Tx {
	t.Helper()
	tx, err := database.SQL.BeginTx(context.WithoutCancel(t.Context()), nil)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	RunIn(t, tx, statements...)
	return tx
}

// RunIn runs statements in a transaction.
func RunIn(t testing.TB, tx *sql.Tx, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := tx.ExecContext(t.Context(), statement)
		expect.NoError(t, err)
	}
}

// Scalar reads one value from the site's database.
func Scalar[T any](t *testing.T, s *Server, query string) (value T) {
	t.Helper()
	s.Database.Scan(t, query, &value)
	return value
}

// ReasonsOf returns what is stored of the reasons for changes of a booking: meta, and entries of the activity log.
func ReasonsOf(t testing.TB, database *fixtures.Database, booking string) []string {
	t.Helper()
	return slices.Concat(
		RowsOf(t, database, "SELECT meta_key, meta_value FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key LIKE '%_reason' ORDER BY id", booking),
		RowsOf(t, database, "SELECT code, description, customer_id, initiated_by, initiated_by_id FROM wp_latepoint_activities WHERE booking_id = ? AND code LIKE '%_reason' ORDER BY id", booking))
}

// WantNoWrites fails the test if any row differs from the snapshot.
func WantNoWrites(t testing.TB, where string, before *fixtures.Snapshot, except ...string) {
	t.Helper()
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		if !slices.Contains(except, change.Table) {
			t.Errorf("%s: %s of %s %s: %v %v", where, change.Op, change.Table, change.Key, change.Values, change.Changed)
		}
	}
}

// CustomFieldsOf returns the meta of a booking except its keys, and its order item's custom fields and the
// members next to them.
func (s *Server) CustomFieldsOf(t testing.TB, booking any) (meta []string, item string) {
	t.Helper()
	return RowsOf(t, s.Database, "SELECT CONCAT(meta_key, '=', meta_value) FROM wp_latepoint_booking_meta WHERE object_id = ? AND meta_key NOT LIKE 'key_to_manage%' ORDER BY id", booking),
		RowOf(t, s.Database, "SELECT SUBSTRING(i.item_data, LOCATE('\"total_attendees\"', i.item_data)) FROM wp_latepoint_order_items i JOIN wp_latepoint_bookings b ON b.order_item_id = i.id WHERE b.id = ?", booking)
}

// SummarizeChanges summarises changes: table, operation, and the columns with their new
// values, without timestamps and ids.
func SummarizeChanges(changes []fixtures.Change) []string {
	var summaries []string
	for _, c := range changes {
		values := map[string]any{}
		maps.Copy(values, c.Values)
		for column, pair := range c.Changed {
			values[column] = pair[1]
		}
		for _, column := range []string{"id", "umeta_id", "created_at", "initiated_by", "initiated_by_id", "description"} {
			delete(values, column)
		}
		text := strings.TrimPrefix(c.Table, "latepoint_") + " " + string(c.Op)
		for _, column := range slices.Sorted(maps.Keys(values)) {
			switch value := values[column]; {
			case column == "updated_at" && value == "2026-11-21 00:43:00":
				text += " now"
			case value != nil || c.Op == fixtures.Update:
				text += fmt.Sprintf(" %s=%v", column, value)
			}
		}
		summaries = append(summaries, text)
	}
	return summaries
}

// Count returns the number of rows of a table that match a condition.
func (s *Server) Count(table, where string) (n int) {
	s.T.Helper()
	s.Database.Scan(s.T, "SELECT COUNT(*) FROM wp_"+table+" WHERE "+where, &n)
	return n
}

// WaitForLock waits until a transaction of this database waits for a row.
func (s *Server) WaitForLock(t testing.TB) {
	t.Helper()
	for range 100 {
		time.Sleep(200 * time.Millisecond) // queried more often, the table shows nothing new
		waiting, err := s.Database.Threads(t.Context(), "db = DATABASE() AND id IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT')")
		expect.NoError(t, err)
		if len(waiting) > 0 {
			return
		}
	}
	t.Fatal("no request waits")
}

// RowOf returns the columns of the only row that a SELECT finds, separated by "|".
func RowOf(t testing.TB, database *fixtures.Database, query string, args ...any) string {
	t.Helper()
	rows := RowsOf(t, database, query, args...)
	if len(rows) != 1 {
		t.Fatalf("%d rows of %s", len(rows), query)
	}
	return rows[0]
}

// RowsOf returns the columns of each row that a SELECT finds, separated by "|".
func RowsOf(t testing.TB, database *fixtures.Database, query string, args ...any) (found []string) {
	t.Helper()
	table, err := fixtures.Query(t.Context(), database.SQL, query, args...)
	expect.NoError(t, err)
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprint(std.Or(cell, any("NULL")))
		}
		found = append(found, strings.Join(cells, "|"))
	}
	return found
}
