package adapter_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// TestDescribedCustomersAreForgotten: how limited keys described customers is forgotten with the booking.
func TestDescribedCustomersAreForgotten(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(fixtures.RecordedNow()))
	db := wpdb.New(database.SQL, "wp_")
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	database.Execute(t, "INSERT INTO wp_bookside_booking_customers (id, first_name, last_name, email, phone) SELECT MIN(id), 'A', 'B', 'a@example.test', '' FROM wp_latepoint_bookings UNION SELECT 999999, 'A', 'B', '', ''")
	sweeper := jobs.NewSweeper(db, time.Now, slog.New(slog.DiscardHandler))
	for _, want := range []int{1, 0} {
		if deleted, err := sweeper.Forget(t.Context()); err != nil || deleted != want {
			t.Errorf("%d rows, want %d: %v", deleted, want, err)
		}
	}
}
