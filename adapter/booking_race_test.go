package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// rivals are two programs on one database, as two sidecars are.
type rivals struct {
	t        *testing.T
	database *fixtures.Database
	sites    [2]*session.Session
}

func newRivals(t *testing.T, setup ...string) rivals {
	t.Helper()
	r := rivals{t: t, database: fixtures.New(t, fixtures.SiteA().WithFewBookings())}
	for _, statement := range setup {
		r.database.Execute(t, statement)
	}
	for i := range r.sites {
		// On a busy machine rivals may wait long.
		db := wpdbtest.OpenOwn(t, wpdb.Config{DSN: r.database.DSN, Prefix: r.database.Prefix, MaxOpen: 10, AcquireTimeout: time.Minute, LockWait: time.Minute, StatementTimeout: time.Minute})
		site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
		expect.NoError(t, err)
		r.sites[i] = site
	}
	return r
}

// run runs all tries concurrently and counts the successful ones. The others must get a CodeSlotUnavailable
// that names the conflicting booking.
func (r rivals) run(tries []func(context.Context, *session.Session) error) (succeeded int) {
	r.t.Helper()
	errs := make([]error, len(tries))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, try := range tries {
		all.Go(func() {
			<-start
			errs[i] = try(r.t.Context(), r.sites[i%len(r.sites)])
		})
	}
	close(start)
	all.Wait()
	for i, err := range errs {
		var known *domain.Error
		switch {
		case err == nil:
			succeeded++
		case !errors.As(err, &known) || known.Code != domain.CodeSlotUnavailable || known.Conflict == nil:
			r.t.Errorf("try %d: %v", i, err)
		}
	}
	return succeeded
}

// settle changes a setting.
func settle(name, value string) string {
	return fmt.Sprintf("INSERT INTO wp_latepoint_settings (name, value) VALUES ('%s', '%s')", name, value)
}

// book requests a slot for an existing customer.
func book(b bookings.New) func(context.Context, *session.Session) error {
	return func(ctx context.Context, s *session.Session) error {
		_, err := txCreate(ctx, s, bookings.Create, b)
		return err
	}
}

// rivalTries is how many requests compete: many times the number of connections, but fewer in a quick run.
func rivalTries() int {
	if fixtures.Thorough() {
		return 200
	}
	return 60
}

// times requests a slot again and again.
func times(n int, which func(i int) bookings.New) []func(context.Context, *session.Session) error {
	tries := make([]func(context.Context, *session.Session) error, n)
	for i := range tries {
		tries[i] = book(which(i))
	}
	return tries
}

// TestSlotIsBookedOnce: of all concurrent requests for one slot, exactly as many succeed as it has room
// for.
func TestSlotIsBookedOnce(t *testing.T) {
	t.Parallel()
	slot := availability.Moment{Day: parseDay(t, "2027-02-05"), Minutes: 600}
	group := availability.Moment{Day: parseDay(t, "2027-02-05"), Minutes: 540}
	plain := bookings.New{ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Start: slot, Attendees: 1, CustomerID: 9}
	for name, c := range map[string]struct {
		setup []string
		try   func(i int) bookings.New
		want  int
	}{
		"one agent": {
			try: func(int) bookings.New { return plain }, want: 1,
		},
		"new customers with one e-mail": {
			try: func(int) bookings.New {
				b := plain
				first, last, email := "Rita", "Neu", "rita.neu@example.test"
				b.CustomerID, b.Customer = 0, records.CustomerFields{FirstName: &first, LastName: &last, Email: &email}
				return b
			}, want: 1,
		},
		"any agent where one agent fills a location": {
			setup: []string{settle("one_agent_at_location", "on"), settle("any_agent_order", "busy_low")},
			try: func(i int) bookings.New {
				b := plain
				b.AgentID = []int64{0, 1, 2, 5}[i%4]
				return b
			}, want: 1,
		},
		"an agent is at one location": {
			setup: []string{settle("one_location_at_time", "on")},
			try: func(i int) bookings.New {
				b := plain
				b.LocationID = new(int64(i%2) + 1)
				return b
			}, want: 1,
		},
		"other services of the agent": {
			try: func(i int) bookings.New {
				b := plain
				b.ServiceID = []int64{4, 2, 3}[i%3]
				return b
			}, want: 1,
		},
		"a group fills": {
			try: func(int) bookings.New {
				b := plain
				b.ServiceID, b.AgentID, b.Start = 7, 1, group
				return b
			}, want: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRivals(t, c.setup...)
			got := r.run(times(rivalTries(), c.try))
			expect.Equal(t, c.want, got, "succeeded")
		})
	}
}

// pendings creates bookings that block nothing, one for each customer, and returns their ids.
func (r rivals) pendings(n int, at availability.Moment) []int64 {
	r.t.Helper()
	ids := make([]int64, n)
	status := records.StatusPending
	for i := range ids {
		created, err := txCreate(r.t.Context(), r.sites[0], bookings.Create, bookings.New{
			ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Start: at, Attendees: 1, CustomerID: 9, Status: &status,
		})
		expect.NoError(r.t, err)
		ids[i] = created.ID
	}
	return ids
}

// TestBookingsMoveOntoOneSlot: updates compete for a slot just as new bookings
// do.
func TestBookingsMoveOntoOneSlot(t *testing.T) {
	t.Parallel()
	slot := availability.Moment{Day: parseDay(t, "2027-02-05"), Minutes: 600}
	elsewhere := availability.Moment{Day: parseDay(t, "2027-02-08"), Minutes: 600}
	approved := records.StatusApproved
	for name, c := range map[string]struct {
		from  availability.Moment
		patch bookings.Patch
	}{
		"moved in time":                 {elsewhere, bookings.Patch{StartDate: &slot.Day, StartTime: &slot.Minutes, Status: &approved}},
		"approved onto each other":      {slot, bookings.Patch{Status: &approved}},
		"approved with another service": {slot, bookings.Patch{Status: &approved, ServiceID: new(int64(2))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRivals(t)
			ids := r.pendings(rivalTries()/5, c.from)
			tries := times(len(ids), func(int) bookings.New {
				return bookings.New{ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Start: slot, Attendees: 1, CustomerID: 9}
			})
			for _, id := range ids {
				tries = append(tries, func(ctx context.Context, s *session.Session) error {
					_, err := txUpdate(ctx, s, bookings.Update, id, c.patch)
					return err
				})
			}
			expect.Equal(t, 1, r.run(tries), "succeeded")
			var count int
			err := r.database.SQL.QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM wp_latepoint_bookings WHERE status = 'approved' AND agent_id = 5 AND start_date = '2027-02-05'").Scan(&count)
			if err != nil || count != 1 {
				t.Errorf("%d bookings hold the slot, want 1 (%v)", count, err)
			}
		})
	}
}

// TestSwappedBookingsDoNotDeadlock: bookings that move to each other's agents lock the same agents, and
// never wait for each other in a circle.
func TestSwappedBookingsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	var tries []func(context.Context, *session.Session) error
	for i := range 20 {
		from, to := int64(i%2)+1, int64((i+1)%2)+1
		at := availability.Moment{Day: parseDay(t, "2027-02-08") + availability.Day(i/2), Minutes: 600}
		if weekday := at.Day.Weekday(); weekday > 5 {
			at.Day += 7
		}
		created, err := txCreate(t.Context(), r.sites[0], bookings.Create, bookings.New{ServiceID: 2, AgentID: from, LocationID: new(int64(1)), Start: at, Attendees: 1, CustomerID: 9})
		if err != nil {
			continue // taken by an earlier booking in the list
		}
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			_, err := txUpdate(ctx, s, bookings.Update, created.ID, bookings.Patch{AgentID: &to})
			return err
		})
	}
	if len(tries) < 10 {
		t.Fatalf("only %d bookings to swap", len(tries))
	}
	r.run(tries) // fails the test on any error other than a taken slot
}

// TestLocksDoNotBlockTheSite: while one of our transactions holds its locks, the site inserts bookings for
// the same and for other agents, and changes others.
func TestLocksDoNotBlockTheSite(t *testing.T) {
	t.Parallel()
	r := newRivals(t, settle("one_agent_at_location", "on"))
	slot := availability.Moment{Day: parseDay(t, "2027-02-05"), Minutes: 600}
	site, err := r.database.SQL.Conn(t.Context())
	expect.NoError(t, err)
	defer site.Close()
	err = r.sites[0].Transact(t.Context(), "create", func(tx *session.Tx) error {
		if _, err := bookings.Create(t.Context(), tx, bookings.New{ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Start: slot, Attendees: 1, CustomerID: 9}); err != nil {
			return err
		}

		for _, statement := range []string{
			"SET SESSION innodb_lock_wait_timeout = 1",
			"INSERT INTO wp_latepoint_bookings (booking_code, start_date, end_date, start_time, end_time, status, customer_id, service_id, agent_id, location_id, buffer_before, buffer_after)" +
				" VALUES ('PHP0001', '2027-02-05', '2027-02-05', 720, 780, 'approved', 1, 4, 5, 1, 0, 0), ('PHP0002', '2027-02-05', '2027-02-05', 780, 840, 'approved', 1, 4, 1, 1, 0, 0)",
			"UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE id = 7",
			"UPDATE wp_latepoint_customers SET phone = '1' WHERE id = 10",
			"INSERT INTO wp_latepoint_orders (customer_id, status) VALUES (1, 'open')",
			"INSERT INTO wp_latepoint_activities (code) VALUES ('x')",
		} {
			if _, err := site.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%.60s: %v", statement, err)
			}
		}
		return nil
	})
	expect.NoError(t, err)
}
