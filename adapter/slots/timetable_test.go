package slots_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// TestTimetableTakesFewStatements: a month takes as many statements as a day, and its bookings are those of the table.
func TestTimetableTakesFewStatements(t *testing.T) {
	t.Parallel()
	now := fixtures.RecordedNow()
	database := fixtures.Shared(t, fixtures.Small(now))
	config, err := mysql.ParseDSN(database.DSN)
	if err != nil {
		t.Fatal(err)
	}
	config.InterpolateParams, config.ClientFoundRows = true, true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	statements := 0
	pool := sql.OpenDB(fixtures.Tap{Connector: connector, See: func(string, []any) error { statements++; return nil }})
	defer pool.Close()
	site, err := session.NewPlatform(wpdb.New(pool, database.Prefix), func() time.Time { return now }).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	day := availability.MomentOf(site.LocalNow()).Day + 3
	load := func(of domain.Resource, to availability.Day, limit uint64) (slots.Timetable, int) {
		statements = 0
		table, err := slots.LoadTimetable(t.Context(), site, slots.TimetableQuery{Of: of, IDs: []int64{1, 2, 3}, From: day, To: to, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return table, statements
	}
	load(domain.AgentResource, day, 500) // reads what is read once
	for _, of := range []domain.Resource{domain.AgentResource, domain.LocationResource} {
		short, few := load(of, day, 500)
		long, many := load(of, day+30, 500)
		if few != many || len(long.Bookings) < 10*len(short.Bookings) || len(short.Bookings) == 0 {
			t.Errorf("%s: %d statements for %d bookings, %d for %d", of, few, len(short.Bookings), many, len(long.Bookings))
		}
		var stored int
		if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_latepoint_bookings WHERE status <> 'cancelled' AND start_date BETWEEN ? AND ? AND "+string(of)+"_id IN (1, 2, 3)",
			day.String(), (day + 30).String()).Scan(&stored); err != nil {
			t.Fatal(err)
		}
		if len(long.Bookings) != stored || long.More {
			t.Errorf("%s: %d bookings of %d, more: %v", of, len(long.Bookings), stored, long.More)
		}
		if part, _ := load(of, day+30, 5); len(part.Bookings) != 5 || !part.More || part.Bookings[0].ID != long.Bookings[0].ID {
			t.Errorf("%s: %d bookings of at most 5, more: %v", of, len(part.Bookings), part.More)
		}
		if hours := long.Hours[1]; len(hours) != 31 {
			t.Errorf("%s: hours of %d days", of, len(hours))
		}
	}
}
