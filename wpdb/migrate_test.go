package wpdb_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestCreateOwnTables: on a network, own tables have the prefix of the site.
func TestCreateOwnTables(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Prefixed())
	db := wpdbtest.OpenConfig(t, configOf(database))
	const count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	before := singleValue(t, database.SQL, "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT LIKE '%bookside%'")
	s, err := db.Schema(t.Context(), "2.1.4")
	if err != nil || s.Has(wpdb.APIKeys) {
		t.Fatalf("has keys: %t, error %v", s.Has(wpdb.APIKeys), err)
	}
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	created := singleValue(t, database.SQL, count)
	insert := sq.Insert(db.Name(wpdb.CustomerFields)).Columns("meta_key").Values("Vorname 🎁")
	_, err = wpdb.Exec(t.Context(), db, "store field", insert)
	expect.NoError(t, err)
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	expect.Equal(t, created, singleValue(t, database.SQL, count), "tables")
	expect.Equal(t, "1", singleValue(t, database.SQL, "SELECT COUNT(*) FROM wpx_7_bookside_customer_fields"), "rows left")
	if got := singleValue(t, database.SQL, "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT LIKE '%bookside%'"); got != before {
		t.Errorf("the site's own tables have %s columns, before %s", got, before)
	}
	s, err = db.Schema(t.Context(), "2.1.4")
	expect.NoError(t, err)
	for _, table := range []wpdb.Table{wpdb.APIKeys, wpdb.CustomerFields} {
		if !s.Has(table) {
			t.Errorf("the schema lacks %s", table)
		}
	}
}

// user creates a database user with privileges on the whole database and returns the
// configuration for it.
func user(t testing.TB, database *fixtures.Database, privileges string) wpdb.Config {
	t.Helper()
	return userOf(t, database, privileges, "*")
}

// userOf is like user, with privileges on some tables, or * for all.
func userOf(t testing.TB, database *fixtures.Database, privileges string, tables ...string) wpdb.Config {
	t.Helper()
	name := strings.ToLower("bookside_" + rand.Text())[:30]
	config := configOf(database)
	config = withDSN(t, config, func(d *mysql.Config) {
		// An anonymous user at localhost would take precedence over name@'%'.
		for _, host := range []string{"'%'", "localhost"} {
			account := name + "@" + host
			database.Execute(t, "CREATE USER "+account+" IDENTIFIED BY 'secret'")
			t.Cleanup(func() {
				if _, err := database.SQL.ExecContext(context.Background(), "DROP USER "+account); err != nil {
					t.Error(err)
				}
			})
			for _, table := range tables {
				database.Execute(t, "GRANT "+privileges+" ON `"+d.DBName+"`."+table+" TO "+account)
			}
		}
		d.User, d.Passwd = name, "secret"
	})
	return config
}

// TestOwnTablesCreatedByAnotherUser: a user without CREATE can use tables that exist.
func TestOwnTablesCreatedByAnotherUser(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	db := wpdbtest.OpenConfig(t, user(t, database, "SELECT, INSERT, UPDATE, DELETE"))
	err := db.CreateOwnTables(t.Context())
	wantKind(t, err, wpdb.ErrAccessDenied)
	if want := "create table wp_bookside_admin_tokens: create table: access denied (error 1142)"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	s, err := db.Schema(t.Context(), "2.1.4")
	if err != nil || s.Has(wpdb.APIKeys) || len(s.Missing()) > 0 {
		t.Errorf("has keys: %t, missing %v, error %v", s.Has(wpdb.APIKeys), s.Missing(), err)
	}
	expect.NoError(t, wpdbtest.OpenConfig(t, configOf(database)).CreateOwnTables(t.Context()))
	db.ForgetSchema()
	s, err = db.Schema(t.Context(), "2.1.4")
	if err != nil || !s.Has(wpdb.APIKeys) || !s.Has(wpdb.CustomerFields) {
		t.Errorf("has keys: %t, error %v", s.Has(wpdb.APIKeys), err)
	}
	insert := sq.Insert(db.Name(wpdb.CustomerFields)).Columns("meta_key").Values("x")
	if _, err := wpdb.Exec(t.Context(), db, "store field", insert); err != nil {
		t.Error(err)
	}
}

// TestSelectSufficesForReads: reads need no other privilege.
func TestSelectSufficesForReads(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	db := wpdbtest.OpenConfig(t, user(t, database, "SELECT"))
	if plugins, err := db.Plugins(t.Context(), phpList(), "latepoint.php"); plugins != nil || err != nil {
		t.Errorf("active: %q, error %v", plugins, err)
	}
	if _, err := db.SettingValues(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if prefixes, err := db.SitePrefixes(t.Context()); err != nil || len(prefixes) != 1 {
		t.Errorf("%v, error %v", prefixes, err)
	}
	err := db.Transact(t.Context(), "mark", func(tx *wpdb.DB) error { return change(t.Context(), tx, mark) })
	expect.Error(t, wpdb.ErrAccessDenied, err)
}

// TestMigrateOwnTables: several processes bring tables to this version at the same time, and each
// statement is run by one of them.
func TestMigrateOwnTables(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	expect.NoError(t, wpdbtest.OpenConfig(t, configOf(database)).CreateOwnTables(t.Context()))
	database.Execute(t, "ALTER TABLE wp_bookside_webhooks DROP COLUMN old_secret", "ALTER TABLE wp_bookside_holds DROP KEY expires_at")
	all := make(chan []string, 4)
	for range cap(all) {
		db := wpdbtest.OpenConfig(t, configOf(database))
		go func() {
			done, err := db.MigrateOwnTables(t.Context())
			expect.Succeeded(t, err)
			all <- done
		}()
	}
	var done []string
	for range cap(all) {
		done = append(done, <-all...)
	}
	slices.Sort(done)
	want := []string{
		"ALTER TABLE `wp_bookside_holds` ADD KEY expires_at (expires_at)",
		"ALTER TABLE `wp_bookside_webhooks` ADD COLUMN old_secret VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''",
	}
	if !slices.Equal(done, want) {
		t.Errorf("%q, want %q", done, want)
	}
	statements, err := wpdbtest.OpenConfig(t, configOf(database)).MigrationStatements(t.Context())
	if err != nil || len(statements) > 0 {
		t.Errorf("left %q, %v", statements, err)
	}
}
