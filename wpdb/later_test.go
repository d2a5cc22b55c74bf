package wpdb_test

import (
	"errors"
	"strings"
	"testing"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestLater: statements of Later take no round trip of their own, run in order and before whatever comes
// next, have their own results, and are as atomic as others.
func TestLater(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	together := wpdbtest.OpenConfig(t, configOf(database))
	for name, db := range map[string]*wpdb.DB{"together": together, "one by one": together.OneByOne()} {
		insert := func(name any) sq.InsertBuilder {
			return sq.Insert(db.Name(wpdb.Locations)).Columns("name", "status").Values(name, "active")
		}
		ctx, usage := wpdb.WithUsage(t.Context())
		awkward := `a'; DELETE FROM wp_latepoint_locations; -- \`
		err := db.Transact(ctx, "write", func(tx *wpdb.DB) error {
			first, err := wpdb.Later(ctx, tx, "insert", insert(awkward))
			if err != nil {
				return err
			}
			// The id that the previous statement produced.
			second, err := wpdb.Later(ctx, tx, "insert", insert(sq.Expr("LAST_INSERT_ID()")))
			if err != nil {
				return err
			}
			touched, err := wpdb.Later(ctx, tx, "update", sq.Update(db.Name(wpdb.Locations)).Set("status", "disabled").Where(sq.Eq{"name": awkward}))
			if err != nil {
				return err
			}
			third, err := wpdb.Exec(ctx, tx, "insert", insert("third"))
			if err != nil {
				return err
			}
			if second.ID != first.ID+1 || third.ID != second.ID+1 || touched.Rows != 1 {
				t.Errorf("%s: ids %d, %d, %d; %d rows", name, first.ID, second.ID, third.ID, touched.Rows)
			}
			if _, err := wpdb.Later(ctx, tx, "insert", insert("fourth")); err != nil {
				return err
			}
			found, err := read(ctx, tx, "SELECT CONCAT(name, ' ', status) FROM wp_latepoint_locations WHERE id >= ? ORDER BY id", first.ID)
			if want := awkward + " disabled"; err != nil || len(found) != 4 || found[0] != want || found[3] != "fourth active" {
				t.Errorf("%s: %q, %v", name, found, err)
			}
			_, err = wpdb.Later(ctx, tx, "insert", insert("before COMMIT"))
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := int64(9) // BEGIN, six statements, a SELECT, COMMIT
		if name == "together" {
			want = 6
		}
		expect.Equal(t, want, usage.Queries(), name)
		expect.Equal(t, "1", singleValue(t, database.SQL, "SELECT COUNT(*) FROM wp_latepoint_locations WHERE name = 'before COMMIT'"), name)
		database.Execute(t, "DELETE FROM wp_latepoint_locations WHERE name = 'before COMMIT' OR status = 'disabled'")
		failed := db.Transact(ctx, "write", func(tx *wpdb.DB) error {
			for _, status := range []string{"kept?", strings.Repeat("too long ", 100), "never sent"} {
				if _, err := wpdb.Later(ctx, tx, "insert", sq.Insert(db.Name(wpdb.Locations)).Columns("name", "status").Values("half", status)); err != nil {
					return err
				}
			}
			return nil
		})
		if n := singleValue(t, database.SQL, "SELECT COUNT(*) FROM wp_latepoint_locations WHERE name = 'half'"); n != "0" || !errors.Is(failed, wpdb.ErrBadValue) {
			t.Errorf("%s: %s rows after %v", name, n, failed)
		}
	}
}

// TestLaterOnACluster: statements are sent one by one where another node may abort the transaction between
// them; so are those of Together.
func TestLaterOnACluster(t *testing.T) {
	t.Parallel()
	database := fixtures.NewGalera(t, fixtures.Legacy())
	db := wpdbtest.OpenConfig(t, configOf(database))
	ctx, usage := wpdb.WithUsage(t.Context())
	err := db.Transact(ctx, "write", func(tx *wpdb.DB) error {
		for range 3 {
			if _, err := wpdb.Later(ctx, tx, "insert", sq.Insert(db.Name(wpdb.Locations)).Columns("name", "status").Values("new", "active")); err != nil {
				return err
			}
		}
		var names []string
		query := wpdb.Rows(&names, "read names", sq.Select("name").From(db.Name(wpdb.Locations)), wpdb.Value[string])
		return wpdb.Together(ctx, tx, query, query)
	})
	if got := usage.Queries(); got != 7 || err != nil { // BEGIN, three INSERTs, two SELECTs, COMMIT
		t.Errorf("%d round trips, %v", got, err)
	}
	expect.Equal(t, "3", singleValue(t, database.SQL, "SELECT COUNT(*) FROM wp_latepoint_locations WHERE name = 'new'"), "rows")
}

// TestOneStatementPerText: Later alone sends several statements in one text.
func TestOneStatementPerText(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.Shared(t, fixtures.Legacy())))
	const several = "DO 1; DO 2"
	if err := change(t.Context(), db, several); err == nil {
		t.Error("Exec sends several")
	}
	if _, err := read(t.Context(), db, "SELECT 1; SELECT 2"); err == nil {
		t.Error("All sends several")
	}
}

// TestLaterWithMuch: statements that are too large together are sent one by one.
func TestLaterWithMuch(t *testing.T) {
	t.Parallel()
	database, db := newSite(t)
	err := db.Transact(t.Context(), "write", func(tx *wpdb.DB) error {
		for range 5 {
			_, err := wpdb.Later(t.Context(), tx, "insert", sq.Insert(db.Name(wpdb.Activities)).Columns("code", "description").Values("large", strings.Repeat("x", 60_000)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if n := singleValue(t, database.SQL, "SELECT COUNT(*) FROM wp_latepoint_activities WHERE code = 'large'"); n != "5" || err != nil {
		t.Errorf("%s rows, %v", n, err)
	}
}
