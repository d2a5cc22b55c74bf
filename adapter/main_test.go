package adapter

import (
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"bookside/fixtures"
	"bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// recordedNow returns the moment at which the recorded site was recorded.
func recordedNow() time.Time { return time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC) }

// openDatabase opens a database as the program does.
func openDatabase(t testing.TB, database *fixtures.Database) *wpdb.DB {
	t.Helper()
	return openAt(t, database.DSN, database.Prefix, 2)
}

// openAt opens a sample site's database by this DSN, with at most so many
// connections, and makes the tables of ours.
func openAt(t testing.TB, dsn, prefix string, connections int) *wpdb.DB {
	t.Helper()
	db, err := wpdb.Open(t.Context(), wpdb.Config{DSN: dsn, Prefix: prefix, MaxOpen: connections, AcquireTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}
