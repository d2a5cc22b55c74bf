package adapter

import (
	"fmt"
	"testing"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// bookingTables are the tables in which a new booking adds rows or deletes those of its hold.
var bookingTables = []string{
	"latepoint_bookings", "latepoint_orders", "latepoint_order_items", "latepoint_order_invoices", "latepoint_customers", "latepoint_booking_meta",
	"latepoint_order_meta", "latepoint_activities", "bookside_holds",
}

func rowCounts(t *testing.T, d *fixtures.Database) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range bookingTables {
		var n int
		d.Scan(t, "SELECT COUNT(*) FROM wp_"+table, &n)
		counts[table] = n
	}
	return counts
}

// TestCreateBookingSurvivesEveryCut cuts the link at each statement of a create, before the server has it
// and before its answer arrives: afterwards there is either a whole booking, or none and the hold that it
// was to use.
func TestCreateBookingSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	whole := map[string]int{
		"latepoint_bookings": 1, "latepoint_orders": 1, "latepoint_order_items": 1, "latepoint_order_invoices": 1, "latepoint_customers": 1, "latepoint_booking_meta": 2,
		"latepoint_order_meta": 2, "latepoint_activities": 3, "bookside_holds": -1,
	}
	for name, lost := range map[string]bool{"before the server has it": true, "before the answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
			db := wpdbtest.OpenDSN(t, dsn, database.Prefix, 1)
			platform := session.NewPlatform(db, fixtures.RecordedNow)
			for n := 0; ; n++ {
				site, err := platform.Session(t.Context()) // before the link is cut
				expect.NoError(t, err)
				hold, err := holdFriday(t, site, n)
				expect.NoError(t, err)
				before := rowCounts(t, database)
				proxy.Arm(fixtures.Fault{Skip: n, Lost: lost})
				createErr := createFromHold(t, site, hold)
				untouched := proxy.Disarm() > 0
				added := rowCounts(t, database)
				for table := range added {
					added[table] -= before[table]
				}
				want := map[string]int{}
				for table := range whole {
					want[table] = 0
				}
				if added["latepoint_bookings"] > 0 {
					want = whole
				}
				expect.Equal(t, want, added, "statement ", n, ": rows added")
				if createErr == nil && added["latepoint_bookings"] == 0 {
					t.Errorf("statement %d: success, and no booking", n)
				}
				if untouched {
					if createErr != nil {
						t.Errorf("without a cut: %v", createErr)
					}
					if n < 14 {
						t.Errorf("only %d statements were cut", n)
					}
					return
				}
			}
		})
	}
}

// holdFriday holds a slot on the n-th Friday and returns the hold's id.
func holdFriday(t *testing.T, site *session.Session, n int) (int64, error) {
	t.Helper()
	hold, err := txCreate(t.Context(), site, bookings.CreateHold, bookings.NewHold{Minutes: 5, New: bookings.New{
		ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Attendees: 1,
		Start: availability.Moment{Day: parseDay(t, "2027-02-05") + availability.Day(7*n), Minutes: 600},
	}})
	return hold.ID, err
}

// createFromHold turns a hold into the booking of a new customer.
func createFromHold(t *testing.T, site *session.Session, hold int64) error {
	t.Helper()
	first, last, email := "Rita", "Neu", fmt.Sprintf("rita%d@example.test", hold)
	_, err := txCreate(t.Context(), site, bookings.Create, bookings.New{
		HoldID: hold, Customer: records.CustomerFields{FirstName: &first, LastName: &last, Email: &email},
	})
	return err
}
