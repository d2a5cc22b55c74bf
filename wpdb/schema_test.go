package wpdb_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	sq "github.com/Masterminds/squirrel"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// readSchema returns the schema of a site with database version 2.3.1.
func readSchema(t testing.TB, db *wpdb.DB) *wpdb.Schema {
	t.Helper()
	s, err := db.Schema(t.Context(), "2.3.1")
	expect.NoError(t, err)
	return s
}

// other returns the same site with another prefix.
func other(site fixtures.Site, prefix string) fixtures.Site {
	site.Prefix = prefix
	return site
}

func TestColumn(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, `ALTER TABLE wp_latepoint_processes
		ADD COLUMN made datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,
		ADD COLUMN named varchar(120) GENERATED ALWAYS AS (CONCAT(name, '!')) STORED,
		ADD COLUMN old varchar(40) CHARACTER SET latin1 NOT NULL,
		ADD COLUMN blank varchar(5) NOT NULL DEFAULT '',
		ADD COLUMN zero int NOT NULL DEFAULT 0,
		ADD COLUMN long_text longtext NOT NULL`)
	db := wpdbtest.OpenConfig(t, configOf(database))
	s := readSchema(t, db)
	for _, c := range []struct {
		table wpdb.Table
		want  wpdb.Column
	}{
		{wpdb.Bookings, wpdb.Column{Name: "id", Type: "int", HasDefault: true}},
		{wpdb.Bookings, wpdb.Column{Name: "customer_id", Type: "mediumint"}},
		{wpdb.Bookings, wpdb.Column{Name: "start_date", Type: "date", Nullable: true, HasDefault: true}},
		{wpdb.Bookings, wpdb.Column{Name: "status", Type: "varchar", HasDefault: true, MaxLength: 30, Charset: "utf8mb4"}},
		{wpdb.Customers, wpdb.Column{Name: "email", Type: "varchar", MaxLength: 110, Charset: "utf8mb4"}},
		{wpdb.Customers, wpdb.Column{Name: "phone", Type: "varchar", Nullable: true, HasDefault: true, MaxLength: 255, Charset: "utf8mb4"}},
		{wpdb.Customers, wpdb.Column{Name: "notes", Type: "text", Nullable: true, HasDefault: true, MaxLength: 65535, Charset: "utf8mb4"}},
		{wpdb.Orders, wpdb.Column{Name: "total", Type: "decimal", Nullable: true, HasDefault: true}},
		{wpdb.Orders, wpdb.Column{Name: "id", Type: "bigint", HasDefault: true}},
		{wpdb.Processes, wpdb.Column{Name: "made", Type: "datetime", HasDefault: true}},
		{wpdb.Processes, wpdb.Column{Name: "named", Type: "varchar", Nullable: true, HasDefault: true, MaxLength: 120, Charset: "utf8mb4"}},
		{wpdb.Processes, wpdb.Column{Name: "old", Type: "varchar", MaxLength: 40, Charset: "latin1"}},
		{wpdb.Processes, wpdb.Column{Name: "blank", Type: "varchar", HasDefault: true, MaxLength: 5, Charset: "utf8mb4"}},
		{wpdb.Processes, wpdb.Column{Name: "zero", Type: "int", HasDefault: true}},
		{wpdb.Processes, wpdb.Column{Name: "long_text", Type: "longtext", MaxLength: 1<<32 - 1, Charset: "utf8mb4"}},
	} {
		t.Run(wpdb.TableColumn{Table: c.table, Column: c.want.Name}.String(), func(t *testing.T) {
			got, ok := s.Column(c.table, c.want.Name)
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("%s.%s: %s", c.table, c.want.Name, diff)
			}
		})
	}
	for _, table := range []wpdb.Table{wpdb.Bookings, "not_there"} {
		if c, ok := s.Column(table, "not_there"); ok || c != (wpdb.Column{}) {
			t.Errorf("%s.not_there: %v, %t", table, c, ok)
		}
	}
}

// TestColumnOfJSON: MariaDB reports the type json as longtext, and an account with
// privileges on single tables sees the CHECK only in the table's definition. The probe
// reads the definition only of tables with such a column to fill.
func TestColumnOfJSON(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	db := wpdbtest.OpenConfig(t, userOf(t, database, "SELECT, INSERT", "wp_latepoint_bookings", "wp_latepoint_customers", "wp_latepoint_order_items", "wp_latepoint_processes"))
	probe := func(want int64) *wpdb.Schema {
		t.Helper()
		db.ForgetSchema()
		ctx, usage := wpdb.WithUsage(t.Context())
		s, err := db.Schema(ctx, "2.1.4")
		expect.NoError(t, err)
		expect.Equal(t, want, usage.Queries(), "statements")
		return s
	}
	probe(2)
	database.Execute(t,
		`ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL, ADD COLUMN plain longtext NOT NULL COMMENT 'it''s CHECK (json_valid(`+"`plain`"+`)) \\',
			ADD COLUMN ruled int NOT NULL CHECK (ruled < 5), ADD COLUMN `+"`odd ``name` longtext NOT NULL",
		"UPDATE wp_latepoint_bookings SET fresh = '{}', `odd ``name` = '{}'",
		"ALTER TABLE wp_latepoint_bookings ADD CHECK (json_valid(`odd ``name`))",
		"ALTER TABLE wp_latepoint_order_items ADD COLUMN fresh longtext NOT NULL, ADD COLUMN word varchar(90) NOT NULL DEFAULT 'CHECK (json_valid(fresh))', ADD UNIQUE KEY fresh (id)",
		"ALTER TABLE wp_latepoint_customers ADD COLUMN fresh json",
		"ALTER TABLE wp_latepoint_processes ADD COLUMN fresh longtext NOT NULL")
	s := probe(4) // customers has no such column to fill, and processes is not written
	for _, c := range []struct {
		table      wpdb.Table
		name, want string
	}{
		{wpdb.Bookings, "fresh", "json"}, {wpdb.Bookings, "odd `name", "json"}, {wpdb.Bookings, "plain", "longtext"}, {wpdb.Bookings, "ruled", "int"},
		{wpdb.OrderItems, "fresh", "longtext"}, {wpdb.Processes, "fresh", "longtext"},
	} {
		t.Run(wpdb.TableColumn{Table: c.table, Column: c.name}.String(), func(t *testing.T) {
			if got, ok := s.Column(c.table, c.name); got.Type != c.want || !ok {
				t.Errorf("%s.%s: there %t, type %s, want %s", c.table, c.name, ok, got.Type, c.want)
			}
		})
	}
}

// TestColumnOfJSONIsUnwritable: the empty text that PHP would store is not JSON.
func TestColumnOfJSONIsUnwritable(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh json NOT NULL, ADD COLUMN plain longtext NOT NULL")
	want := []wpdb.UnwritableTable{{Table: wpdb.Bookings, Reason: "it requires a value for fresh (json)"}}
	expect.Equal(t, want, readSchema(t, wpdbtest.OpenConfig(t, configOf(database))).Unwritables())
}

func TestEngine(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, "ALTER TABLE wp_latepoint_agents ENGINE=MyISAM",
		"RENAME TABLE wp_latepoint_services TO elsewhere", "CREATE VIEW wp_latepoint_services AS SELECT * FROM elsewhere")
	s := readSchema(t, wpdbtest.OpenConfig(t, configOf(database)))
	for table, want := range map[wpdb.Table]string{wpdb.Agents: "MyISAM", wpdb.Bookings: "InnoDB", wpdb.Services: ""} {
		expect.Equal(t, want, s.Engine(table), table)
		if !s.Has(table) {
			t.Errorf("%s is not there", table)
		}
	}
}

// TestColumnsOfAnOlderSite: missing columns read as NULL.
func TestColumnsOfAnOlderSite(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.Legacy())
	db := wpdbtest.OpenConfig(t, configOf(database))
	s, err := db.Schema(t.Context(), "2.1.4")
	expect.NoError(t, err)
	expect.Empty(t, s.Missing(), "missing")
	for _, table := range []wpdb.Table{wpdb.BlockedPeriods, wpdb.Coupons, wpdb.TransactionRefunds} {
		if s.Has(table) {
			t.Errorf("%s is there", table)
		}
	}
	columns := s.Columns(wpdb.Customers, "c", "first_name", "uuid", "email")
	expect.Equal(t, []string{"c.first_name", "NULL", "c.email"}, columns)
	expect.Equal(t, "NULL", s.Expr(wpdb.Coupons, "k", "code"), "a table that is not there")
	stmt := sq.Select(columns...).From(db.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": 1})
	uuid := "before"
	_, ok, err := wpdb.One(t.Context(), db, "read customer", stmt, func(row wpdb.Scanner) (name string, err error) {
		var email string
		err = row.Scan(&name, wpdb.OrZero(&uuid), &email)
		return name, err
	})
	if err != nil || !ok || uuid != "" {
		t.Errorf("%t, uuid %q, error %v", ok, uuid, err)
	}
}

// TestSchemaIsProbedAgain: it is probed again only after ForgetSchema and for another version.
func TestSchemaIsProbedAgain(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	has := func(version, column string, want bool) {
		t.Helper()
		s, err := db.Schema(t.Context(), version)
		expect.NoError(t, err)
		if _, ok := s.Column(wpdb.Bookings, column); ok != want {
			t.Errorf("%s is there: %t, want %t", column, ok, want)
		}
	}
	has("2.1.4", "customer_timezone", false)
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings ADD COLUMN customer_timezone varchar(100)")
	has("2.1.4", "customer_timezone", false)
	has("2.1.5", "customer_timezone", true)
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings DROP COLUMN customer_timezone")
	has("2.1.5", "customer_timezone", true)
	db.ForgetSchema()
	has("2.1.5", "customer_timezone", false)

	ctx, usage := wpdb.WithUsage(t.Context())
	first, err := db.Schema(ctx, "2.1.5")
	expect.NoError(t, err)
	if again, err := db.Schema(ctx, "2.1.5"); err != nil || again != first || usage.Queries() != 0 {
		t.Errorf("probed again: %d statements, error %v", usage.Queries(), err)
	}
}

// TestMissingTables: lost and restored tables are noticed without ForgetSchema.
func TestMissingTables(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	database.Execute(t, "RENAME TABLE wp_latepoint_bookings TO elsewhere", "DROP TABLE wp_latepoint_activities")
	expect.Equal(t, []wpdb.Table{wpdb.Bookings}, readSchema(t, db).Missing())
	database.Execute(t, "RENAME TABLE elsewhere TO wp_latepoint_bookings")
	expect.Empty(t, readSchema(t, db).Missing(), "missing")
	none := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: "blog_"})
	s := readSchema(t, none)
	if missing := s.Missing(); len(missing) != 18 || s.Has(wpdb.Bookings) {
		t.Errorf("%d tables missing under a prefix nobody has: %v", len(missing), missing)
	}
}

// TestMissingColumns: lost and restored columns are noticed. No version of the plugin or the add-on lacks
// any.
func TestMissingColumns(t *testing.T) {
	t.Parallel()
	for _, site := range []fixtures.Site{fixtures.Legacy(), fixtures.Edge(), fixtures.Small(now)} {
		db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, site)))
		expect.Empty(t, readSchema(t, db).MissingColumns(), site.Name, ": missing")
	}
	database := fixtures.New(t, fixtures.Edge())
	db := wpdbtest.OpenConfig(t, configOf(database))
	readSchema(t, db)
	database.Execute(t, "ALTER TABLE wp_latepoint_services DROP COLUMN visibility", "ALTER TABLE wp_latepoint_coupons DROP COLUMN name, DROP COLUMN rules",
		"DROP TABLE wp_latepoint_agents", "DROP TABLE wp_latepoint_blocked_periods")
	expect.Empty(t, readSchema(t, db).MissingColumns(), "the kept schema lacks")
	db.ForgetSchema()
	s := readSchema(t, db)
	want := []wpdb.TableColumn{{Table: wpdb.Services, Column: "visibility"}, {Table: wpdb.Coupons, Column: "name"}}
	expect.Equal(t, want, s.MissingColumns())
	expect.Equal(t, "latepoint_services.visibility", want[0].String())
	expect.Equal(t, []wpdb.Table{wpdb.Agents}, s.Missing())
	database.Execute(t, "CREATE TABLE wp_latepoint_agents LIKE wp_latepoint_customers", "ALTER TABLE wp_latepoint_agents ADD COLUMN display_name text, ADD COLUMN bio text, ADD COLUMN features text",
		"ALTER TABLE wp_latepoint_coupons ADD COLUMN name text")
	expect.Equal(t, want[:1], readSchema(t, db).MissingColumns())
	database.Execute(t, "ALTER TABLE wp_latepoint_services ADD COLUMN visibility varchar(20)")
	expect.Empty(t, readSchema(t, db).MissingColumns(), "still missing")
}

// TestSitesWithSimilarPrefixes: sites in one database do not see each other's tables,
// and a probe does not even read them, because networks have thousands.
func TestSitesWithSimilarPrefixes(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	expect.NoError(t, fixtures.Load(t.Context(), database.SQL, other(fixtures.Legacy(), "old_site_")))
	columns := func(prefix string) (int64, *wpdb.Schema) {
		t.Helper()
		db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: prefix})
		ctx, usage := wpdb.WithUsage(t.Context())
		s, err := db.Schema(ctx, "2.3.1")
		expect.NoError(t, err)
		return usage.Rows(), s
	}
	alone, _ := columns("wp_")
	for prefix, site := range map[string]fixtures.Site{
		"wpx_": fixtures.Legacy(), "WPX_": fixtures.Edge(), "wp_7_": fixtures.Legacy(), "wp_shop_": fixtures.Legacy(),
	} {
		expect.NoError(t, fixtures.Load(t.Context(), database.SQL, other(site, prefix)))
	}
	for _, c := range []struct {
		prefix  string
		uuid    bool
		coupons bool
	}{{"wp_", true, true}, {"wpx_", false, false}, {"WPX_", true, true}, {"wp_7_", false, false}, {"old_site_", false, false}} {
		t.Run(c.prefix, func(t *testing.T) {
			_, s := columns(c.prefix)
			expect.Empty(t, s.Missing(), c.prefix, ": missing")
			if _, ok := s.Column(wpdb.Customers, "uuid"); ok != c.uuid || s.Has(wpdb.Coupons) != c.coupons {
				t.Errorf("%s has uuid: %t, coupons: %t", c.prefix, ok, s.Has(wpdb.Coupons))
			}
		})
	}
	if now, _ := columns("wp_"); now != alone {
		t.Errorf("the probe read %d columns, alone in the database %d", now, alone)
	}
	if _, s := columns("oldXsite_"); s.Has(wpdb.Bookings) {
		t.Error("an underscore stood for another letter")
	}
	got, err := wpdbtest.OpenConfig(t, configOf(database)).SitePrefixes(t.Context())
	expect.NoError(t, err)
	slices.Sort(got)
	expect.Equal(t, []string{"WPX_", "old_site_", "wp_", "wp_7_", "wp_shop_", "wpx_"}, got)
}

func TestSitePrefixesFails(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.MockExact(t, 1)
	const text = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE ? ORDER BY table_name LIMIT 100"
	mock.ExpectQuery(text).WithArgs(`%latepoint\_bookings`).WillReturnRows(sqlmock.NewRows([]string{"table_name"}).AddRow("latepoint_bookings").AddRow("wp_latepoint_bookings"))
	if got, err := db.SitePrefixes(t.Context()); err != nil || strings.Join(got, ",") != ",wp_" {
		t.Errorf("%q, error %v", got, err)
	}
	mock.ExpectQuery(text).WillReturnError(errDeadlock)
	_, err := db.SitePrefixes(t.Context())
	wantKind(t, err, wpdb.ErrConflict)
}

// TestProbeFails: without the list of columns there is no schema, and without a definition, JSON could be
// mistaken for text.
func TestProbeFails(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	database.Execute(t, "ALTER TABLE wp_latepoint_bookings ADD COLUMN fresh longtext NOT NULL")
	for _, text := range []string{"information_schema", "SHOW CREATE TABLE"} {
		c, _ := withFaults(t, configOf(database), fixtures.Fault{On: text}, fixtures.Fault{On: text})
		db := wpdbtest.OpenConfig(t, c)
		if s, err := db.Schema(t.Context(), "2.1.4"); s != nil || !errors.Is(err, wpdb.ErrLinkLost) {
			t.Errorf("without %s: %v, error %v, want %v", text, s, err, wpdb.ErrLinkLost)
		}
		if _, ok := readSchema(t, db).Column(wpdb.Bookings, "fresh"); !ok {
			t.Error("the column is not there")
		}
	}
}
