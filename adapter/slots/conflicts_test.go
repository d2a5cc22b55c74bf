package slots

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bookside/adapter/session"
	"bookside/fixtures"
	"bookside/fixtures/wpdbtest"
)

// addBookings adds rows to the bookings of the small site: agent, service,
// location, status, dates and times.
func addBookings(t *testing.T, database *fixtures.Database, rows ...string) {
	t.Helper()
	execute(t, database, "INSERT INTO "+database.Prefix+`latepoint_bookings (agent_id, service_id, location_id, status, start_date, start_time, end_date, end_time,
		buffer_before, buffer_after, customer_id, total_attendees) VALUES (`+strings.Join(rows, "), (")+")")
}

func searchTime() time.Time { return time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC) }

// TestConflictWatchReportsEachConflictOnce: overlapping bookings, whoever wrote them, are
// reported once for as long as they overlap.
func TestConflictWatchReportsEachConflictOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(searchTime()))
	execute(t, database, "DELETE FROM wp_latepoint_bookings")
	addBookings(t, database,
		"1, 1, 1, 'approved', '2026-12-01', 540, '2026-12-01', 600, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-12-01', 600, '2026-12-01', 660, 0, 0, 1, 1",
		"1, 1, 1, 'cancelled', '2026-12-01', 570, '2026-12-01', 630, 0, 0, 1, 1",
		"2, 1, 1, 'approved', '2026-12-01', 570, '2026-12-01', 630, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-11-20', 540, '2026-11-20', 600, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-11-20', 540, '2026-11-20', 600, 0, 0, 1, 1")
	var log bytes.Buffer
	var reports []string
	watch := NewConflictWatch(session.NewPlatform(wpdbtest.Open(t, database, 2), searchTime), slog.New(slog.NewJSONHandler(&log, nil)), func(found ConflictReport, fresh int) {
		reports = append(reports, fmt.Sprintf("%d of %d, %d new, cut %v", len(found.Conflicts), found.Bookings, fresh, found.Cut))
	})
	look := func() {
		t.Helper()
		if err := watch.search(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	addBookings(t, database, "1, 1, 1, 'approved', '2026-12-01', 630, '2026-12-01', 690, 0, 0, 1, 1")
	look()
	look()
	execute(t, database, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE start_time = 630")
	look()
	execute(t, database, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE start_time = 630")
	look()
	want := []string{"0 of 3, 0 new, cut false", "1 of 4, 1 new, cut false", "1 of 4, 0 new, cut false", "0 of 3, 0 new, cut false", "1 of 4, 1 new, cut false"}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("-want +reports:\n%s", diff)
	}
	if lines := strings.Count(log.String(), `"level":"WARN","msg":"bookings overlap","agent_id":1,"booking_ids":[`); lines != 2 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("log: %s", log.String())
	}
}
