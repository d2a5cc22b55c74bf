package journal

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

// site is a database whose journal a test drives step by step.
type site struct {
	*fixtures.Database
	t      *testing.T
	db     *wpdb.DB
	j      *Journal
	worker *worker
	log    fixtures.Buffer
	cursor int64
}

// testNow is the time of the tests: the sample bookings were updated earlier.
var testNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func openSite(t *testing.T) *site {
	t.Helper()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	s := &site{Database: database, t: t, db: wpdbtest.Open(t, database, 4)}
	s.j = New(s.db, func() time.Time { return testNow })
	s.worker = &worker{Journal: s.j, log: slog.New(slog.NewTextHandler(&s.log, nil)), Options: Options{Interval: time.Second, Sweep: time.Minute, Keep: 24 * time.Hour, Schema: s.schema, BookingsOf: s.bookingsOf, Owner: "test"}}
	s.work()
	if entries := s.next(); len(entries) > 0 {
		t.Fatalf("%d entries of records that existed before", len(entries))
	}
	return s
}

func (s *site) schema(ctx context.Context) (*wpdb.Schema, error) { return s.db.Schema(ctx, "") }

// exec runs a statement as anything but Bookside would.
func (s *site) exec(statement string, args ...any) {
	s.t.Helper()
	_, err := s.SQL.ExecContext(s.t.Context(), statement, args...)
	expect.NoError(s.t, err)
}

// work numbers and searches once.
func (s *site) work() {
	s.t.Helper()
	s.worker.searchDue = time.Time{}
	expect.NoError(s.t, s.worker.work(s.t.Context()))
}

// next returns the entries since the last call, without their numbers and times.
func (s *site) next() []Entry {
	s.t.Helper()
	page, err := s.j.ReadBehind(s.t.Context(), s.cursor, nil, 1000)
	expect.NoError(s.t, err)
	for i, e := range page.Entries {
		if s.cursor++; e.Number != s.cursor {
			s.t.Fatalf("entry %d has the number %d, want %d", i, e.Number, s.cursor)
		}
		page.Entries[i].Number, page.Entries[i].At = 0, time.Time{}
	}
	return page.Entries
}

func (s *site) want(entries ...Entry) {
	s.t.Helper()
	expect.Equal(s.t, entries, s.next(), "entries")
}

// enter enters changes together with their effect, as a request does.
func (s *site) enter(actor int64, effect string, changes ...Change) {
	s.t.Helper()
	s.exec(effect)
	err := s.db.Transact(s.t.Context(), "enter", func(tx *wpdb.DB) error {
		return Enter(s.t.Context(), tx, testNow, Author{Origin: FromAPI, ActorID: actor}, changes)
	})
	expect.NoError(s.t, err)
}

// tell enters a change as the companion in WordPress does.
func (s *site) tell(r Resource, id int64, kind Kind, status any) {
	s.t.Helper()
	s.exec("INSERT INTO "+s.Prefix+"bookside_change_inbox (resource, resource_id, kind, origin, actor_id, status, at) VALUES (?, ?, ?, 'site', 3, ?, ?)",
		string(r), id, string(kind), status, domain.Stamp(testNow))
}

// booking returns the id of an approved booking, and its facts.
func (s *site) booking() (int64, BookingFacts) {
	s.t.Helper()
	var id int64
	const status = "approved"
	f := BookingFacts{OldStatus: status, NewStatus: status}
	query := "SELECT id, agent_id, service_id, location_id, customer_id FROM " + s.Prefix + "latepoint_bookings WHERE status = ? ORDER BY id LIMIT 1"
	expect.NoError(s.t, s.SQL.QueryRowContext(s.t.Context(), query, status).Scan(&id, &f.AgentID, &f.ServiceID, &f.LocationID, &f.CustomerID))
	return id, f
}

// bookingsOf finds the bookings of the items of orders.
func (s *site) bookingsOf(ctx context.Context, db *wpdb.DB, orders []int64) (map[int64][]int64, error) {
	stmt := sq.Select("i.order_id", "b.id").From(db.As(wpdb.OrderItems, "i")).Join(db.As(wpdb.Bookings, "b") + " ON b.order_item_id = i.id").Where(sq.Eq{"i.order_id": orders})
	found, err := wpdb.All(ctx, db, "find bookings", stmt, func(row wpdb.Scanner) (ids [2]int64, err error) {
		return ids, row.Scan(&ids[0], &ids[1])
	})
	bookings := map[int64][]int64{}
	for _, ids := range found {
		bookings[ids[0]] = append(bookings[ids[0]], ids[1])
	}
	return bookings, err
}

func (s *site) bookings() string { return s.Prefix + "latepoint_bookings" }

// TestFoundChanges: changes by plain SQL that leave no trace except in the row itself are found, with the
// statuses before and after.
func TestFoundChanges(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, facts := s.booking()
	facts.NewStatus = "no_show"
	s.exec(fmt.Sprintf("UPDATE %s SET status = 'no_show' WHERE id = %d", s.bookings(), id))
	s.work()
	s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: Found, Booking: &facts})

	s.exec(fmt.Sprintf("DELETE FROM %s WHERE id = %d", s.bookings(), id))
	s.work()
	gone := facts
	gone.OldStatus, gone.NewStatus = "no_show", ""
	s.want(Entry{Resource: Bookings, ID: id, Kind: Deleted, Origin: Found, Booking: &gone})

	s.exec(fmt.Sprintf("INSERT INTO %[1]s (booking_code, start_date, start_time, end_time, status, customer_id, service_id, agent_id, location_id, created_at, updated_at) "+
		"VALUES ('NEW', '2026-12-01', 600, 660, 'pending', 1, 2, 3, 4, '2020-01-01 00:00:00', '2020-01-01 00:00:00')", s.bookings()))
	var created int64
	s.Scan(t, "SELECT MAX(id) FROM "+s.bookings(), &created)
	s.work()
	s.want(Entry{Resource: Bookings, ID: created, Kind: Created, Origin: Found, Booking: &BookingFacts{NewStatus: "pending", Assignment: Assignment{AgentID: 3, ServiceID: 2, LocationID: 4, CustomerID: 1}}})
	s.work()
	s.want()
}

// TestFoundInEveryResource changes one row of each table.
func TestFoundInEveryResource(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	for r := range s.worker.search.targets {
		table := s.Prefix + string(tables[r])
		var id int64
		s.Scan(t, "SELECT COALESCE(MIN(id), 0) FROM "+table, &id)
		if id == 0 {
			t.Logf("%s has no rows", table)
			continue
		}
		s.exec("UPDATE "+table+" SET created_at = '2001-02-03 04:05:06' WHERE id = ?", id)
		s.work()
		entries := s.next()
		if len(entries) != 1 || entries[0].Resource != r || entries[0].ID != id || entries[0].Kind != Updated || entries[0].Origin != Found {
			t.Errorf("%s: entries %+v", r, entries)
		}
	}
}

// TestStartKnowsTheEnd: a server that takes the lease knows the last number at once, not only after the
// next change.
func TestStartKnowsTheEnd(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, _ := s.booking()
	s.exec("DELETE FROM "+s.bookings()+" WHERE id = ?", id)
	s.work()
	if entries := s.next(); len(entries) != 1 {
		t.Fatalf("entries %+v", entries)
	}
	restarted := &worker{log: s.worker.log, Journal: New(s.db, func() time.Time { return testNow }), Options: s.worker.Options}
	expect.NoError(t, restarted.work(t.Context()))
	if end, _ := restarted.Changed(); end.Number != 1 {
		t.Errorf("the journal ends at %v", end)
	}
}

// TestEnteredChanges: a change that a request entered is numbered once, with its key, and not found again.
func TestEnteredChanges(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, facts := s.booking()
	facts.NewStatus = "cancelled"
	cancel := fmt.Sprintf("UPDATE %s SET status = 'cancelled', updated_at = '2026-11-22 12:00:00' WHERE id = %d", s.bookings(), id)
	s.enter(7, cancel, Change{Resource: Bookings, ID: id, Kind: Updated, Status: "cancelled"}, Change{Resource: Customers, ID: 1, Kind: Updated, Status: ""})
	s.work()
	s.want(
		Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromAPI, ActorID: 7, Booking: &facts},
		Entry{Resource: Customers, ID: 1, Kind: Updated, Origin: FromAPI, ActorID: 7},
	)
	s.work()
	s.want()

	// Several changes between two searches have their own entries and statuses.
	first, second := facts, facts
	first.OldStatus, first.NewStatus = "cancelled", "pending"
	second.OldStatus, second.NewStatus = "pending", "approved"
	s.enter(7, "DO 1", Change{Resource: Bookings, ID: id, Kind: Updated, Status: "pending"})
	s.enter(8, fmt.Sprintf("UPDATE %s SET status = 'approved' WHERE id = %d", s.bookings(), id), Change{Resource: Bookings, ID: id, Kind: Updated, Status: "approved"})
	s.work()
	s.want(
		Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromAPI, ActorID: 7, Booking: &first},
		Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromAPI, ActorID: 8, Booking: &second},
	)

	// A status that something else changed in between is found as well.
	third, fourth := facts, facts
	third.OldStatus, third.NewStatus = "approved", "pending"
	fourth.OldStatus, fourth.NewStatus = "pending", "completed"
	s.enter(7, fmt.Sprintf("UPDATE %s SET status = 'completed' WHERE id = %d", s.bookings(), id), Change{Resource: Bookings, ID: id, Kind: Updated, Status: "pending"})
	s.work()
	s.want(
		Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromAPI, ActorID: 7, Booking: &third},
		Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: Found, Booking: &fourth},
	)

	deleted := facts
	deleted.OldStatus, deleted.NewStatus = "completed", ""
	s.enter(7, fmt.Sprintf("DELETE FROM %s WHERE id = %d", s.bookings(), id), Change{Resource: Bookings, ID: id, Kind: Deleted, Status: ""})
	s.work()
	s.want(Entry{Resource: Bookings, ID: id, Kind: Deleted, Origin: FromAPI, ActorID: 7, Booking: &deleted})
}

// TestToldChanges: WordPress reports a change before or after it was found; it has one entry in both cases.
func TestToldChanges(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, facts := s.booking()
	facts.NewStatus = "cancelled"
	s.exec(fmt.Sprintf("UPDATE %s SET status = 'cancelled' WHERE id = %d", s.bookings(), id))
	s.tell(Bookings, id, Updated, "cancelled")
	s.tell(Bookings, id, Updated, nil) // the same request saves the row again
	s.work()
	s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromSite, ActorID: 3, Booking: &facts})

	facts.OldStatus, facts.NewStatus = "cancelled", "approved"
	s.exec(fmt.Sprintf("UPDATE %s SET status = 'approved' WHERE id = %d", s.bookings(), id))
	s.work()
	s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: Found, Booking: &facts})
	s.tell(Bookings, id, Updated, nil)
	s.work()
	s.want()

	// A record that was created and deleted between two searches was never seen.
	s.tell(Bookings, 999_999, Created, "approved")
	s.tell("spells", 1, Created, nil)
	s.tell(Bookings, id, "burnt", nil)
	s.work()
	s.want()
}

// TestDeletionsHaveOneEntry: a deletion that is reported after the search found it has one entry, which only concerns those who
// cover all bookings.
func TestDeletionsHaveOneEntry(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec(fmt.Sprintf("DELETE FROM %slatepoint_customers WHERE id = 3", s.Prefix))
	s.work()
	deleted := Entry{Resource: Customers, ID: 3, Kind: Deleted, Origin: Found}
	s.want(deleted)
	s.tell(Customers, 3, Deleted, nil)
	s.work()
	s.want()
	if _, ok := deleted.Within(func(Assignment) bool { return true }); ok {
		t.Error("it concerns a reader of some bookings")
	}
}

// TestMovedBookings: an entry has a booking's previous assignment, whoever moved it, and each of several
// moves has its own.
func TestMovedBookings(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, facts := s.booking()
	at := func(agent, customer int64) Assignment {
		a := facts.Assignment
		a.AgentID, a.CustomerID = agent, customer
		return a
	}
	move := func(to Assignment) string {
		return fmt.Sprintf("UPDATE %s SET agent_id = %d, customer_id = %d WHERE id = %d", s.bookings(), to.AgentID, to.CustomerID, id)
	}
	moved := func(origin Origin, actor int64, from, to Assignment) Entry {
		f := BookingFacts{OldStatus: facts.OldStatus, NewStatus: facts.NewStatus, Assignment: to, Before: &from}
		if origin == FromAPI {
			f.NewStatus = f.OldStatus
		}
		return Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: origin, ActorID: actor, Booking: &f}
	}
	first, second, third, fourth, fifth := facts.Assignment, at(71, 1), at(72, 1), at(73, 2), at(74, 3)
	s.exec(move(second))
	s.work()
	s.want(moved(Found, 0, first, second))

	s.enter(7, move(third), Change{Resource: Bookings, ID: id, Kind: Updated, From: &second, To: &third})
	s.enter(8, move(fourth), Change{Resource: Bookings, ID: id, Kind: Updated, From: &third, To: &fourth})
	s.work()
	s.want(moved(FromAPI, 7, second, third), moved(FromAPI, 8, third, fourth))

	// WordPress reports where it came from, or not.
	s.exec(move(fifth))
	s.tell(Bookings, id, Updated, nil)
	s.work()
	s.want(moved(FromSite, 3, fourth, fifth))

	// A request that changes the status does not get the blame for another's move.
	facts.Assignment, facts.NewStatus = fifth, "pending"
	s.enter(7, fmt.Sprintf("UPDATE %s SET agent_id = %d, customer_id = %d, status = 'pending' WHERE id = %d", s.bookings(), first.AgentID, first.CustomerID, id),
		Change{Resource: Bookings, ID: id, Kind: Updated, Status: "pending"})
	s.work()
	changed := facts
	facts.OldStatus = "pending"
	s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: FromAPI, ActorID: 7, Booking: &changed}, moved(Found, 0, fifth, first))
}

// TestMoveOfAnUnknownBooking: if the row has no snapshot yet, the request's report counts.
func TestMoveOfAnUnknownBooking(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id, facts := s.booking()
	to := facts.Assignment
	to.AgentID = 71
	s.exec("DELETE FROM " + s.Prefix + "bookside_change_snapshots WHERE resource <> ''")
	s.exec("UPDATE " + s.Prefix + "bookside_change_positions SET position = 0 WHERE name = 'bookings'")
	s.enter(7, fmt.Sprintf("UPDATE %s SET agent_id = 71 WHERE id = %d", s.bookings(), id), Change{Resource: Bookings, ID: id, Kind: Updated, From: &facts.Assignment, To: &to})
	unseen := &worker{log: s.worker.log, Journal: s.j, Options: s.worker.Options}
	unseen.Interval, unseen.Owner = 0, s.worker.Owner
	expect.NoError(t, unseen.work(t.Context()))
	entries := s.next()
	if len(entries) != 1 || entries[0].Booking == nil || entries[0].Booking.Before == nil || *entries[0].Booking.Before != facts.Assignment || entries[0].Booking.Assignment != to {
		t.Errorf("%+v", entries)
	}
	s.enter(7, fmt.Sprintf("DELETE FROM %s WHERE id = %d", s.bookings(), id), Change{Resource: Bookings, ID: id, Kind: Deleted, From: &to})
	s.exec("DELETE FROM " + s.Prefix + "bookside_change_snapshots WHERE resource <> ''")
	expect.NoError(t, unseen.work(t.Context()))
	if entries := s.next(); len(entries) != 1 || entries[0].Booking == nil || entries[0].Booking.Assignment != to {
		t.Errorf("%+v", entries)
	}
}

// TestBookingsOfChangedOrders: a change in what a booking shows of its order and payments is a change of
// the booking too, whoever made it; other changes of the order are not.
func TestBookingsOfChangedOrders(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	orders, items, payments := s.Prefix+"latepoint_orders", s.Prefix+"latepoint_order_items", s.Prefix+"latepoint_transactions"
	var id, order int64
	query := "SELECT b.id, i.order_id FROM " + s.bookings() + " b JOIN " + items + " i ON i.id = b.order_item_id JOIN " + orders + " o ON o.id = i.order_id " +
		"WHERE (SELECT COUNT(*) FROM " + s.bookings() + " c JOIN " + items + " j ON j.id = c.order_item_id WHERE j.order_id = o.id) = 1 ORDER BY b.id LIMIT 1"
	s.Scan(t, query, &id, &order)
	told := func(what string, origin Origin, want ...record) {
		t.Helper()
		s.work()
		var got []record
		for _, e := range s.next() {
			got = append(got, record{e.Resource, e.ID})
			if e.Origin != origin || e.Resource == Bookings && (e.Kind != Updated || e.Booking == nil || e.Booking.AgentID == 0) {
				t.Errorf("%s: %+v", what, e)
			}
		}
		expect.Equal(t, want, got, what)
	}
	of := fmt.Sprintf(" WHERE id = %d", order)
	booking, itself := record{Bookings, id}, record{Orders, order}
	s.exec("UPDATE " + orders + " SET customer_comment = 'By the window'" + of)
	told("comment", Found, booking, itself)
	s.exec("UPDATE " + orders + " SET payment_status = 'strange'" + of)
	told("payment status", Found, booking, itself)
	s.exec("UPDATE " + orders + " SET source_url = 'https://example.com/'" + of)
	told("source", Found, itself)
	s.exec(fmt.Sprintf("INSERT INTO %s (order_id, customer_id, processor, payment_method, payment_portion, kind, status, amount, token, created_at, updated_at) "+
		"VALUES (%d, 1, 'x', 'x', 'full', 'capture', 'succeeded', 5, '', '2026-11-22 12:00:00', '2026-11-22 12:00:00')", payments, order))
	var payment int64
	s.Scan(t, "SELECT MAX(id) FROM "+payments, &payment)
	told("new payment", Found, booking, record{Payments, payment})
	s.exec(fmt.Sprintf("INSERT INTO %slatepoint_transaction_refunds (transaction_id, amount) VALUES (%d, 1.50)", s.Prefix, payment))
	told("refund of a gateway", Found, booking, record{Payments, payment})
	s.exec(fmt.Sprintf("DELETE FROM %s WHERE id = %d", payments, payment))
	told("payment that is gone", Found, booking, record{Payments, payment})

	s.enter(7, "UPDATE "+orders+" SET total = total + 1"+of, Change{Resource: Orders, ID: order, Kind: Updated})
	told("total by a request", FromAPI, itself, booking)
	s.enter(7, "UPDATE "+orders+" SET customer_comment = 'By the door'"+of, Change{Resource: Orders, ID: order, Kind: Updated}, Change{Resource: Bookings, ID: id, Kind: Updated})
	told("both by a request", FromAPI, itself, booking)
	s.exec("UPDATE " + orders + " SET customer_comment = 'Anywhere'" + of)
	s.tell(Orders, order, Updated, nil)
	told("comment in WordPress", FromSite, itself, booking)
	told("nothing", FromSite)
}

// TestPruning: old entries are deleted, and a cursor before them is an error.
func TestPruning(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	for id := range int64(5) {
		s.enter(1, "DO 1", Change{Resource: Customers, ID: 1 + id, Kind: Updated, Status: ""})
	}
	s.work()
	s.next()
	s.exec("UPDATE " + s.Prefix + "bookside_changes SET at = '2026-11-01 00:00:00' WHERE number <= 3")
	s.worker.pruneDue = time.Time{}
	s.work()
	for cursor, want := range map[int64]domain.Code{0: domain.CodeCursorExpired, 2: domain.CodeCursorExpired, 3: "", 5: "", 6: domain.CodeCursorExpired} {
		if _, err := s.j.ReadBehind(t.Context(), cursor, nil, 10); domain.CodeOf(err) != want {
			t.Errorf("cursor %d: %v, want the code %q", cursor, err, want)
		}
	}
}

// TestOtherColumns: after an update of the plugin adds a column, rows do not count as changed, and changes
// are found again.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec("ALTER TABLE " + s.bookings() + " ADD COLUMN fresh INT NOT NULL DEFAULT 4")
	s.db.ForgetSchema()
	s.work()
	s.want()
	id, facts := s.booking()
	s.exec("UPDATE "+s.bookings()+" SET fresh = 5 WHERE id = ?", id)
	s.work()
	s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: Found, Booking: &facts})
}

// TestReadSomeResources: a reader of one resource gets only its entries, and advances past the others.
func TestReadSomeResources(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.enter(1, "DO 1", Change{Resource: Customers, ID: 1, Kind: Updated, Status: ""}, Change{Resource: Orders, ID: 1, Kind: Updated, Status: ""}, Change{Resource: Customers, ID: 2, Kind: Updated, Status: ""}, Change{Resource: Orders, ID: 2, Kind: Updated, Status: ""})
	s.work()
	page, err := s.j.ReadBehind(t.Context(), 0, []Resource{Customers}, 1)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].ID != 1 || page.Cursor.Number != 1 || !page.More {
		t.Errorf("first page %+v, %v", page, err)
	}
	page, err = s.j.Read(t.Context(), page.Cursor, []Resource{Customers}, 1)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].ID != 2 || page.Cursor.Number != 4 || page.More {
		t.Errorf("second page %+v, %v", page, err)
	}
}

// TestNothingIsMissed runs transactions of random length beside two servers, one of which stops, and
// readers that poll all the time: every reader sees every committed change once, in order for each record,
// and no change that was rolled back.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	begin := time.Now()
	fast := func() time.Time { return begin.Add(20 * time.Since(begin)) } // time runs faster, so that the next server takes over sooner
	var servers sync.WaitGroup
	journals := make([]*Journal, 2)
	stops := make([]context.CancelFunc, 2)
	for i := range journals {
		db := wpdbtest.Open(t, database, 4)
		journals[i] = New(db, fast)
		var running context.Context
		running, stops[i] = context.WithCancel(ctx)
		schema := func(ctx context.Context) (*wpdb.Schema, error) { return db.Schema(ctx, "") }
		servers.Go(func() {
			journals[i].Run(running, Options{Sweep: time.Hour, Keep: time.Hour, Schema: schema, Owner: fmt.Sprint("server", i)}, log)
		})
	}
	const writers = 8
	transactions := 50
	if fixtures.Thorough() {
		transactions = 150
	}
	writing := wpdbtest.Open(t, database, writers)
	var committed [writers]int64 // changes; record 1_000_000 + w of writer w, which counts in its status
	var work sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for n := range transactions {
				fails := random.IntN(5) == 0
				err := writing.Transact(ctx, "write", func(tx *wpdb.DB) error {
					for range random.IntN(3) {
						if err := Enter(ctx, tx, time.Now(), Author{Origin: FromAPI, ActorID: int64(n)}, []Change{{Resource: Customers, ID: int64(2_000_000 + w), Kind: Updated, Status: ""}}); err != nil {
							return err
						}
					}
					status := fmt.Sprint(committed[w])
					if err := Enter(ctx, tx, time.Now(), Author{Origin: FromAPI, ActorID: int64(n)}, []Change{{Resource: Bookings, ID: int64(1_000_000 + w), Kind: Deleted, Status: status}}); err != nil {
						return err
					}
					if random.IntN(2) == 0 {
						time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond) // an open transaction
					}
					if fails {
						return context.DeadlineExceeded
					}
					return nil
				})
				if err == nil {
					committed[w]++
				}
				journals[w%2].Wake()
				if w == 0 && n == transactions/2 {
					stops[0]()
				}
			}
		})
	}
	read := func(j *Journal) func() {
		return func() {
			var cursor int64
			got := map[int64]int64{}
			for {
				ended := done.Load()
				page, err := j.ReadBehind(ctx, cursor, []Resource{Bookings}, 20)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range page.Entries {
					if e.Number <= cursor {
						t.Errorf("entry %d after cursor %d", e.Number, cursor)
					}
					cursor = e.Number
					got[e.ID-1_000_000]++
				}
				cursor = page.Cursor.Number
				if ended && !page.More {
					break
				}
			}
			for w, n := range committed {
				if got[int64(w)] != n {
					t.Errorf("%d entries of writer %d, who committed %d", got[int64(w)], w, n)
				}
			}
		}
	}
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(read(New(wpdbtest.Open(t, database, 1), time.Now)))
	}
	work.Wait()
	last := &worker{Journal: journals[1]}
	for waiting := true; waiting; {
		var err error
		if _, waiting, err = oldestPending(ctx, last.db); err != nil {
			t.Fatal(err)
		}
		journals[1].Wake()
	}
	done.Store(true)
	readers.Wait()
	cancel()
	servers.Wait()
}

// TestSnapshotEncoding: decoding returns what was encoded, and damage is an error.
func TestSnapshotEncoding(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		span := random.Int64N(1 << 40)
		s := snapshot{}
		for range random.IntN(spanSize) {
			s[span*spanSize+random.Int64N(spanSize)] = rowState{random.Uint32(), fmt.Sprintf("%d|2|3|%s", random.IntN(4), []string{"approved", "a|b", ""}[random.IntN(3)])}
		}
		content := s.encode()
		got, err := decodeSnapshot(span, content)
		if diff := cmp.Diff(s, got, cmp.AllowUnexported(rowState{})); err != nil || diff != "" {
			t.Fatalf("decoded %v: %s", err, diff)
		}
		for _, damaged := range [][]byte{nil, {9}, slices.Concat(content, []byte{1}), slices.Concat(content, []byte{1, 0xff, 0xff, 0xff})} {
			if _, err := decodeSnapshot(span, damaged); err == nil {
				t.Errorf("no error for %x", damaged)
			}
		}
	}
}
