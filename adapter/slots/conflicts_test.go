package slots

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// TestConflictWatchReportsEachConflictOnce: overlapping bookings, whoever wrote them, are reported once
// while they overlap.
func TestConflictWatchReportsEachConflictOnce(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(fixtures.RecordedNow()))
	database.Execute(t, "DELETE FROM wp_latepoint_bookings")
	database.InsertBookings(t,
		"1, 1, 1, 'approved', '2026-12-01', 540, '2026-12-01', 600, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-12-01', 600, '2026-12-01', 660, 0, 0, 1, 1",
		"1, 1, 1, 'cancelled', '2026-12-01', 570, '2026-12-01', 630, 0, 0, 1, 1",
		"2, 1, 1, 'approved', '2026-12-01', 570, '2026-12-01', 630, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-11-20', 540, '2026-11-20', 600, 0, 0, 1, 1",
		"1, 1, 1, 'approved', '2026-11-20', 540, '2026-11-20', 600, 0, 0, 1, 1")
	var log bytes.Buffer
	var reports []string
	watch := NewConflictWatch(session.NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow), slog.New(slog.NewJSONHandler(&log, nil)), func(found ConflictReport, fresh int) {
		reports = append(reports, fmt.Sprintf("%d of %d, %d new, cut %v", len(found.Conflicts), found.Bookings, fresh, found.Cut))
	})
	look := func() {
		t.Helper()
		expect.NoError(t, watch.search(t.Context()))
	}
	look()
	database.InsertBookings(t, "1, 1, 1, 'approved', '2026-12-01', 630, '2026-12-01', 690, 0, 0, 1, 1")
	look()
	look()
	database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE start_time = 630")
	look()
	database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'approved' WHERE start_time = 630")
	look()
	want := []string{"0 of 3, 0 new, cut false", "1 of 4, 1 new, cut false", "1 of 4, 0 new, cut false", "0 of 3, 0 new, cut false", "1 of 4, 1 new, cut false"}
	expect.Equal(t, want, reports)
	if lines := strings.Count(log.String(), `"level":"WARN","msg":"bookings overlap","agent_id":1,"booking_ids":[`); lines != 2 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("log: %s", log.String())
	}
}
