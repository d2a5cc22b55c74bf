package slots_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// TestTimetableTakesFewStatements: bookings take a few statements, however many there are, and are those of the table.
func TestTimetableTakesFewStatements(t *testing.T) {
	t.Parallel()
	now := fixtures.RecordedNow()
	database := fixtures.Shared(t, fixtures.Small(now))
	config, err := mysql.ParseDSN(database.DSN)
	expect.NoError(t, err)
	config.InterpolateParams, config.ClientFoundRows = true, true
	connector, err := mysql.NewConnector(config)
	expect.NoError(t, err)
	statements := 0
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(string, []any) error { statements++; return nil }})
	defer pool.Close()
	site, err := session.NewPlatform(wpdb.New(pool, database.Prefix), func() time.Time { return now }).Session(t.Context())
	expect.NoError(t, err)
	day := availability.MomentOf(site.LocalNow()).Day + 3
	load := func(day availability.Day, limit int64) (slots.Timetable, int) {
		statements = 0
		table, err := slots.LoadTimetable(t.Context(), site, []int64{1, 2, 3}, day, limit)
		expect.NoError(t, err)
		return table, statements
	}
	load(day, 500) // reads what is read once
	full, many := load(day, 500)
	if _, few := load(day+3650, 500); few > many || many-few > 6 {
		t.Errorf("%d statements for %d bookings, %d for none", many, len(full.Bookings), few)
	}
	var stored int
	expect.NoError(t, database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE status <> 'cancelled' AND start_date = ? AND agent_id IN (1, 2, 3)", day.String()).Scan(&stored))
	if len(full.Bookings) != stored || stored < 2 || full.More {
		t.Errorf("%d bookings of %d, more: %v", len(full.Bookings), stored, full.More)
	}
	if part, _ := load(day, 1); len(part.Bookings) != 1 || !part.More || part.Bookings[0].ID != full.Bookings[0].ID {
		t.Errorf("%d bookings of at most 1, more: %v", len(part.Bookings), part.More)
	}
	expect.Equal(t, 3, len(full.Hours), "hours")
}
