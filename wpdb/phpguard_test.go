package wpdb_test

import (
	"strings"
	"testing"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestExecRejectsTablesOfPHP: only functions that serialise can write to tables whose values PHP
// unserialises.
func TestExecRejectsTablesOfPHP(t *testing.T) {
	t.Parallel()
	db, _ := wpdbtest.MockExact(t, 1) // expects no statement
	tables := []string{"wp_7_options", "WP_UserMeta", "`wp`.`wp_usermeta`", "wp_postmeta", "wp_termmeta", "wp_commentmeta", "wp_blogmeta", "wp_latepoint_sessions"}
	for _, table := range []wpdb.Table{wpdb.Options, wpdb.Usermeta, wpdb.Sitemeta, wpdb.Settings} {
		tables = append(tables, db.Name(table), db.FullName(table), db.As(table, "m"))
	}
	for _, table := range tables {
		for name, stmt := range map[string]sq.Sqlizer{
			"insert":        sq.Insert(table).Columns("a").Values("b"),
			"replace":       sq.Replace(table).Columns("a").Values("b"),
			"update":        sq.Update(table).Set("a", "b").Where(sq.Eq{"c": 1}),
			"delete":        sq.Delete(table).Where(sq.Eq{"c": 1}),
			"a joined one":  sq.Expr("UPDATE wp_users AS u, " + table + " SET a = ? WHERE u.ID = 1"),
			"on duplicates": sq.Insert(table).Columns("a").Values("b").Suffix("ON DUPLICATE KEY UPDATE a = 'b'"),
		} {
			if _, err := wpdb.Exec(t.Context(), db, "change", stmt); err == nil || !strings.Contains(err.Error(), "not allowed: PHP unserialises") {
				t.Errorf("%s: %s %s: error %v", name+" "+table, name, table, err)
			}
		}
	}
	for _, table := range []wpdb.Table{wpdb.Options, wpdb.Settings, wpdb.Sitemeta} {
		expect.Empty(t, table.WritePrivileges(), table)
	}
}

// TestUserMetaIsSerialised: a text that PHP would unserialise is stored so that PHP
// reads it as that text, on insert and on update.
func TestUserMetaIsSerialised(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	const object, harmless = `O:12:"Some_Class":1:{s:1:"a";i:1;}`, `s:34:"O:12:"Some_Class":1:{s:1:"a";i:1;}";`
	if err := db.AddUserMeta(t.Context(), 900,
		wpdb.UserMeta{Key: "first_name", Value: wpdb.PHPText(object)},
		wpdb.UserMeta{Key: "last_name", Value: wpdb.PHPText("Zoë")},
		wpdb.UserMeta{Key: "wp_capabilities", Value: wpdb.PHPRole("subscriber")},
	); err != nil {
		t.Fatal(err)
	}
	check := func(key, want string) {
		t.Helper()
		got := singleValue(t, database.SQL, "SELECT GROUP_CONCAT(meta_value) FROM wp_usermeta WHERE user_id = 900 AND meta_key = '"+key+"'")
		expect.Equal(t, want, got, key, " is")
	}
	check("first_name", harmless)
	check("last_name", "Zoë")
	check("wp_capabilities", `a:1:{s:10:"subscriber";b:1;}`)
	for _, c := range []struct{ key, text, want string }{
		{"first_name", "Rita", "Rita"},
		{"last_name", object, harmless},
		{"last_name", object, harmless},
		{"nickname", "b:1;x", `s:5:"b:1;x";`}, // does not exist yet
	} {
		expect.NoError(t, db.UpdateUserMeta(t.Context(), 900, wpdb.UserMeta{Key: c.key, Value: wpdb.PHPText(c.text)}), c.key)
		check(c.key, c.want)
	}
}
