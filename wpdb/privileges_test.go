package wpdb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

var readAndWrite = []wpdb.Privilege{wpdb.Select, wpdb.Insert, wpdb.Update, wpdb.Delete}

// TestHasPrivilege checks every privilege on every table, as users with different
// privileges.
func TestHasPrivilege(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge().WithProFeatures())
	database.AddCalendars(t)
	expect.NoError(t, wpdbtest.OpenConfig(t, configOf(database)).CreateOwnTables(t.Context()))
	const rows = "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM wp_latepoint_bookings UNION ALL SELECT COUNT(*) FROM wp_users UNION ALL SELECT COUNT(*) FROM wp_bookside_api_keys) AS counts"
	before := singleValue(t, database.SQL, rows)
	tables := slices.Concat([]wpdb.Table{wpdb.Options, wpdb.Users, wpdb.Usermeta}, wpdb.PluginTables(), wpdb.OwnTables())
	for granted, want := range map[string][]wpdb.Privilege{
		"SELECT":                         {wpdb.Select},
		"SELECT, INSERT, UPDATE, DELETE": readAndWrite,
		"SELECT, INSERT":                 {wpdb.Select, wpdb.Insert},
		"SELECT, UPDATE":                 {wpdb.Select, wpdb.Update},
		"SELECT, DELETE":                 {wpdb.Select, wpdb.Delete},
		"INSERT":                         {wpdb.Insert},
		"SELECT, ALTER":                  {wpdb.Select, wpdb.Alter},
	} {
		t.Run(granted, func(t *testing.T) {
			db := wpdbtest.OpenConfig(t, user(t, database, granted))
			for _, table := range tables {
				for _, privilege := range append(readAndWrite, wpdb.Alter) {
					got, err := db.HasPrivilege(t.Context(), privilege, table)
					if err != nil || got != slices.Contains(want, privilege) {
						t.Errorf("with %s: %s on %s: %t, %v", granted, privilege, table, got, err)
					}
				}
			}
			wantRights(t, db, want)
		})
	}
	expect.Equal(t, before, singleValue(t, database.SQL, rows), "rows, before")
}

// wantRights checks that Rights knows the same privileges, and asks once if all that requests need are granted.
func wantRights(t *testing.T, db *wpdb.DB, want []wpdb.Privilege) {
	t.Helper()
	schema, err := db.Schema(t.Context(), "")
	expect.NoError(t, err)
	ctx, used := wpdb.WithUsage(t.Context())
	rights := db.Rights(ctx, schema, true)
	asked := int64(1)
	for _, table := range wpdb.Tables() {
		if !schema.Has(table) {
			continue
		}
		for _, privilege := range table.Privileges(wpdb.Needs{Exists: true, CustomersAreUsers: true}) {
			if len(want) < len(readAndWrite) || privilege == wpdb.Alter {
				asked++
			}
			if got, err := rights.Has(ctx, privilege, table); err != nil || got != slices.Contains(want, privilege) {
				t.Errorf("%s on %s: %t, %v", privilege, table, got, err)
			}
		}
	}
	expect.Equal(t, asked, used.Queries(), "statements")
}

// TestHasPrivilegeOnMissingTable: a user must have a privilege on all tables to learn that a table is
// missing.
func TestHasPrivilegeOnMissingTable(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	_, err := wpdbtest.OpenConfig(t, user(t, database, "SELECT")).HasPrivilege(t.Context(), wpdb.Select, wpdb.Coupons)
	wantKind(t, err, wpdb.ErrSchema)

	db := wpdbtest.OpenConfig(t, userOf(t, database, "SELECT", "wp_options"))
	for table, want := range map[wpdb.Table]bool{wpdb.Options: true, wpdb.Bookings: false, wpdb.Coupons: false} {
		if got, err := db.HasPrivilege(t.Context(), wpdb.Select, table); err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", table, got, err, want)
		}
	}
}

// TestHasPrivilegeOnMissingOwnTable checks every privilege before the table exists; none
// of the checks creates it.
func TestHasPrivilegeOnMissingOwnTable(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	const count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE '%bookside%'"
	everything := wpdb.APIKeys.Privileges(wpdb.Needs{})
	for _, test := range []struct {
		granted, on string
		want        []wpdb.Privilege
	}{
		{"SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER", "*", everything},
		{"SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER", "wp_bookside_api_keys", everything},
		{"SELECT, INSERT, UPDATE, DELETE", "*", readAndWrite},
		{"SELECT, CREATE", "wp_bookside_api_keys", []wpdb.Privilege{wpdb.Select, wpdb.Create}},
		{"INSERT, UPDATE, CREATE", "wp_bookside_api_keys", []wpdb.Privilege{wpdb.Insert, wpdb.Update, wpdb.Create}},
		{"SELECT", "wp_options", nil},
	} {
		t.Run(test.granted+" on "+test.on, func(t *testing.T) {
			db := wpdbtest.OpenConfig(t, userOf(t, database, test.granted, test.on))
			for _, privilege := range everything {
				allowed, err := db.HasPrivilege(t.Context(), privilege, wpdb.APIKeys)
				if got, want := errors.Is(err, wpdb.ErrSchema), slices.Contains(test.want, privilege); got != want || allowed || !got && err != nil {
					t.Errorf("with %s on %s: %s: %t, %v; want the privilege: %t", test.granted, test.on, privilege, allowed, err, want)
				}
			}
		})
	}
	expect.Equal(t, "0", singleValue(t, database.SQL, count), "tables of ours")
}
