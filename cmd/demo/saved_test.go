package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// TestSavedTables: a site comes back as it was saved, with next ids, bytes that are no text, and tables that
// were altered or dropped; tables of others stay as they are.
func TestSavedTables(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	site := fixtures.Small(clock())
	database := fixtures.New(t, site)
	database.Execute(t, `INSERT INTO wp_options (option_name, option_value) VALUES ('text', 'it\'s "5" \\\\ \n\r\0 €'), ('empty', '')`,
		"INSERT INTO wp_latepoint_sessions (id, session_key, session_value, expiration, hash) VALUES (3, 'a', '', 0, '')",
		"DELETE FROM wp_latepoint_sessions",
		"CREATE TABLE wp_bookside_bytes (id int PRIMARY KEY, bytes varbinary(10) NULL, size double NOT NULL, born date NOT NULL)",
		"INSERT INTO wp_bookside_bytes VALUES (0, x'00ff27', 0.1, '0000-00-00'), (1, NULL, 1e300, '2027-01-11')",
		"CREATE TABLE wp_terms (term_id int PRIMARY KEY)")
	saved, err := saveTables(t.Context(), database.AdminDSN, site)
	if err != nil {
		t.Fatal(err)
	}
	loaded := database.Snapshot(t)
	for _, changes := range [][]string{
		{"INSERT INTO wp_options (option_name, option_value) VALUES ('new', '')", "UPDATE wp_latepoint_agents SET first_name = 'Other'", "UPDATE wp_bookside_bytes SET bytes = x'ff' WHERE id = 0"},
		{"DELETE FROM wp_options", "DELETE FROM wp_bookside_bytes", "TRUNCATE TABLE wp_latepoint_bookings"},
		{"INSERT INTO wp_latepoint_sessions (id, session_key, session_value, expiration, hash) VALUES (7, 'a', '', 0, '')", "DELETE FROM wp_latepoint_sessions"},
		{"ALTER TABLE wp_latepoint_agents ADD COLUMN age int NULL", "ALTER TABLE wp_latepoint_sessions ADD KEY expiry (expiration)", "DROP TABLE wp_latepoint_customers"},
		nil,
	} {
		database.Execute(t, changes...)
		if err := saved.restore(t.Context()); err != nil {
			t.Fatalf("%q: %v", changes, err)
		}
		if diff := cmp.Diff([]fixtures.Change(nil), fixtures.Changes(loaded, loaded.Again(t))); diff != "" {
			t.Fatalf("%q (-saved +restored):\n%s", changes, diff)
		}
		again, err := saveTables(t.Context(), database.AdminDSN, site)
		if err != nil {
			t.Fatal(err)
		}
		for name, table := range saved.tables {
			if diff := cmp.Diff(table.tableState, again.tables[name].tableState, cmp.AllowUnexported(tableState{})); diff != "" {
				t.Errorf("%q: %s (-saved +restored):\n%s", changes, name, diff)
			}
		}
	}
	database.Execute(t, "INSERT INTO wp_terms VALUES (1)", "INSERT INTO wp_latepoint_agents (first_name) VALUES ('Late')")
	tx, err := database.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE wp_latepoint_agents SET first_name = 'Open'"); err != nil {
		t.Fatal(err)
	}
	saved.patience = 1
	if err := saved.restore(t.Context()); err == nil || !strings.Contains(err.Error(), "another connection has a transaction open") {
		t.Errorf("with a transaction of another connection: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := saved.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	var others int
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_terms").Scan(&others); err != nil || others != 1 {
		t.Errorf("the table of others: %v, %d rows", err, others)
	}
}
