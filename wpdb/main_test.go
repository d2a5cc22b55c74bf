package wpdb_test

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.Run(m)) }

// now is the date of the sample sites.
var now = time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)

// configOf returns the configuration for a sample site.
func configOf(database *fixtures.Database) wpdb.Config {
	return wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 2}
}

// newSite opens a new site of LatePoint 5.1 as the program does.
func newSite(t *testing.T) (*fixtures.Database, *wpdb.DB) {
	t.Helper()
	database := fixtures.New(t, fixtures.Legacy())
	return database, wpdbtest.OpenConfig(t, configOf(database))
}

// withDSN changes the DSN of a configuration.
func withDSN(t testing.TB, c wpdb.Config, change func(*mysql.Config)) wpdb.Config {
	t.Helper()
	driver, err := mysql.ParseDSN(c.DSN)
	expect.NoError(t, err)
	change(driver)
	c.DSN = driver.FormatDSN()
	return c
}

// singleValue returns the single value of a query, as PHP would get it.
func singleValue(t testing.TB, on *sql.DB, query string) string {
	t.Helper()
	var value string
	if err := on.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// read runs a SELECT of one column.
func read(ctx context.Context, db *wpdb.DB, text string, args ...any) ([]string, error) {
	return wpdb.All(ctx, db, "read", sq.Expr(text, args...), wpdb.Value[string])
}

// ping checks whether the database answers.
func ping(ctx context.Context, db *wpdb.DB) error {
	_, err := read(ctx, db, "SELECT 1")
	return err
}

// change runs a statement that changes rows.
func change(ctx context.Context, db *wpdb.DB, text string, args ...any) error {
	_, err := wpdb.Exec(ctx, db, "change", sq.Expr(text, args...))
	return err
}
