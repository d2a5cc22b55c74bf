package adapter

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bookside/adapter/availability"
	"bookside/fixtures"
	"bookside/fixtures/wpdbtest"
)

// bookingTables are the tables that a new booking adds rows to.
var bookingTables = []string{"bookings", "orders", "order_items", "order_invoices", "customers", "booking_meta", "order_meta", "activities"}

func rowCounts(t *testing.T, d *fixtures.Database) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range bookingTables {
		var n int
		if err := d.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_latepoint_"+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts[table] = n
	}
	return counts
}

// TestCreateBookingSurvivesEveryCut cuts the link at each statement of a create,
// before the server has it and before its answer arrives: there is a whole
// booking afterwards, or none.
func TestCreateBookingSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	whole := map[string]int{"bookings": 1, "orders": 1, "order_items": 1, "order_invoices": 1, "customers": 1, "booking_meta": 2, "order_meta": 2, "activities": 3}
	for name, lost := range map[string]bool{"before the server has it": true, "before the answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
			db := wpdbtest.OpenDSN(t, dsn, database.Prefix, 1)
			platform := NewPlatform(db, recordedNow)
			for n := 0; ; n++ {
				site, err := platform.Site(t.Context()) // over a link that stands
				if err != nil {
					t.Fatal(err)
				}
				before := rowCounts(t, database)
				proxy.Arm(fixtures.Fault{Skip: n, Lost: lost})
				createErr := createOnFriday(t, site, n)
				untouched := proxy.Disarm() > 0
				added := rowCounts(t, database)
				for table := range added {
					added[table] -= before[table]
				}
				want := map[string]int{}
				for table := range whole {
					want[table] = 0
				}
				if added["bookings"] > 0 {
					want = whole
				}
				if diff := cmp.Diff(want, added); diff != "" {
					t.Errorf("statement %d: rows added (-want +got):\n%s", n, diff)
				}
				if createErr == nil && added["bookings"] == 0 {
					t.Errorf("statement %d: success, and no booking", n)
				}
				if untouched {
					if createErr != nil {
						t.Errorf("without a cut: %v", createErr)
					}
					if n < 20 {
						t.Errorf("only %d statements were cut", n)
					}
					return
				}
			}
		})
	}
}

// createOnFriday books the n-th Friday for a new customer.
func createOnFriday(t *testing.T, site *Site, n int) error {
	t.Helper()
	first, last, email := "Rita", "Neu", fmt.Sprintf("rita%d@example.test", n)
	_, err := txCreate(t.Context(), site, (*Tx).CreateBooking, NewBooking{
		ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Attendees: 1,
		Start:    availability.Moment{Day: parseDay(t, "2027-02-05") + availability.Day(7*n), Minutes: 600},
		Customer: CustomerFields{FirstName: &first, LastName: &last, Email: &email},
	})
	return err
}
