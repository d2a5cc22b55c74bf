package wpdb_test

import (
	"errors"
	"slices"
	"testing"

	"bookside/fixtures"
	"bookside/wpdb"
)

var allRights = []wpdb.Right{wpdb.Select, wpdb.Insert, wpdb.Update, wpdb.Delete}

// TestMay tries every right on every table, as users with some of them.
func TestMay(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Edge())
	if err := open(t, configOf(database)).CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	const rows = "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM wp_latepoint_bookings UNION ALL SELECT COUNT(*) FROM wp_users UNION ALL SELECT COUNT(*) FROM wp_bookside_api_keys) AS counts"
	before := stored(t, database.SQL, rows)
	tables := slices.Concat([]wpdb.Table{wpdb.Options, wpdb.Users, wpdb.Usermeta}, wpdb.PluginTables(), wpdb.OwnTables())
	for granted, held := range map[string][]wpdb.Right{
		"SELECT":                         {wpdb.Select},
		"SELECT, INSERT, UPDATE, DELETE": allRights,
		"SELECT, INSERT":                 {wpdb.Select, wpdb.Insert},
		"SELECT, UPDATE":                 {wpdb.Select, wpdb.Update},
		"SELECT, DELETE":                 {wpdb.Select, wpdb.Delete},
		"INSERT":                         {wpdb.Insert},
	} {
		db := open(t, user(t, database, granted))
		for _, table := range tables {
			for _, right := range allRights {
				got, err := db.May(t.Context(), right, table)
				if want := slices.Contains(held, right); err != nil || got != want {
					t.Errorf("with %s: %s on %s: %t, %v; want %t", granted, right, table, got, err, want)
				}
			}
		}
	}
	if after := stored(t, database.SQL, rows); after != before {
		t.Errorf("%s rows, before %s", after, before)
	}
}

// TestMayOnATableThatIsNotThere: only who may do something with all tables
// learns of it.
func TestMayOnATableThatIsNotThere(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Legacy())
	_, err := open(t, user(t, database, "SELECT")).May(t.Context(), wpdb.Select, wpdb.Coupons)
	wantKind(t, err, wpdb.ErrSchema)

	db := open(t, userOf(t, database, "SELECT", "wp_options"))
	for table, want := range map[wpdb.Table]bool{wpdb.Options: true, wpdb.Bookings: false, wpdb.Coupons: false} {
		if got, err := db.May(t.Context(), wpdb.Select, table); err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", table, got, err, want)
		}
	}
}

// TestMayOnOurTableThatIsNotThere tries every right before the table is made,
// and makes it by none of them.
func TestMayOnOurTableThatIsNotThere(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.Legacy())
	const seen = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%bookside%'"
	everything := wpdb.APIKeys.Rights(false)
	for _, test := range []struct {
		granted, on string
		held        []wpdb.Right
	}{
		{"SELECT, INSERT, UPDATE, DELETE, CREATE", "*", everything},
		{"SELECT, INSERT, UPDATE, DELETE, CREATE", "wp_bookside_api_keys", everything},
		{"SELECT, INSERT, UPDATE, DELETE", "*", allRights},
		{"SELECT, CREATE", "wp_bookside_api_keys", []wpdb.Right{wpdb.Select, wpdb.Create}},
		{"INSERT, UPDATE, CREATE", "wp_bookside_api_keys", []wpdb.Right{wpdb.Insert, wpdb.Update, wpdb.Create}},
		{"SELECT", "wp_options", nil},
	} {
		db := open(t, userOf(t, database, test.granted, test.on))
		for _, right := range everything {
			allowed, err := db.May(t.Context(), right, wpdb.APIKeys)
			if got, want := errors.Is(err, wpdb.ErrSchema), slices.Contains(test.held, right); got != want || allowed || !got && err != nil {
				t.Errorf("with %s on %s: %s: %t, %v; want the right: %t", test.granted, test.on, right, allowed, err, want)
			}
		}
	}
	if n := stored(t, database.SQL, seen); n != "0" {
		t.Errorf("%s tables of ours were made", n)
	}
}

// TestMayFails with what is no answer.
func TestMayFails(t *testing.T) {
	t.Parallel()
	db, mock := mocked(t)
	mock.ExpectQuery("EXPLAIN UPDATE `wp_latepoint_bookings` SET id = id WHERE FALSE").WillReturnError(errDeadlock)
	_, err := db.May(t.Context(), wpdb.Update, wpdb.Bookings)
	wantKind(t, err, wpdb.ErrConflict)
	if want := "try UPDATE on wp_latepoint_bookings: deadlock or lock wait (error 1213)"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
