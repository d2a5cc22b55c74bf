package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// bookingSite is a WordPress with the companion and LatePoint or a stand-in.
type bookingSite struct {
	*fixtures.WordPress
	t       *testing.T
	db      *fixtures.Database
	s       *testServer
	key     string
	driver  string // statement that loads the functions of testdata/companion.php
	bookday string // a Monday without bookings
}

// eachBookingSite runs a test with a stand-in in Debian's WordPress, and with LatePoint in the WordPress
// named by BOOKSIDE_TEST_WORDPRESS.
func eachBookingSite(t *testing.T, test func(*testing.T, *bookingSite)) {
	t.Helper()
	for name, install := range map[string]func(*testing.T, *fixtures.Database) *fixtures.WordPress{
		"stand-in": func(t *testing.T, db *fixtures.Database) *fixtures.WordPress {
			t.Helper()
			w := fixtures.NewWordPress(t, db)
			plugin, err := os.ReadFile("testdata/latepoint.php")
			expect.NoError(t, err)
			writeBelow(t, w.Content, map[string]string{"plugins/latepoint/latepoint.php": string(plugin)})
			return w
		},
		"LatePoint": func(t *testing.T, db *fixtures.Database) *fixtures.WordPress {
			t.Helper()
			return fixtures.NewWordPressWithPlatform(t, db)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			test(t, newBookingSite(t, install(t, db), db))
		})
	}
}

// newBookingSite installs the companion in a WordPress with LatePoint, and starts a server.
func newBookingSite(t *testing.T, w *fixtures.WordPress, db *fixtures.Database) *bookingSite {
	t.Helper()
	driver, err := filepath.Abs("testdata/companion.php")
	expect.NoError(t, err)
	b := &bookingSite{WordPress: w, t: t, db: db, driver: "require_once '" + driver + "';", bookday: "2031-03-03"}
	b.Activate(t, "latepoint/latepoint.php")
	installCompanion(t, b.WordPress)
	environment := settingsFor(db)
	b.key = strings.TrimSpace(run(t, environment, "", "keys", "create", "--name", "rival", "--permissions", "read,write,delete", "--quiet").want(t, exit.OK).stdout)
	b.s = serve(t, environment)
	return b
}

// starts starts PHP code that returns a value; decode waits for it.
func starts[T any](b *bookingSite, code string) (decode func() T) {
	b.t.Helper()
	wait := b.Start(b.t, b.driver+"echo json_encode((function () {"+code+"})(), JSON_THROW_ON_ERROR);")
	return func() (value T) {
		b.t.Helper()
		text := wait()
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			b.t.Fatalf("%s: %v in %s", code, err, text)
		}
		return value
	}
}

// returns runs PHP code that returns a value.
func returns[T any](b *bookingSite, code string) T {
	b.t.Helper()
	return starts[T](b, code)()
}

// checkedOut is what test_checkout returns.
type checkedOut struct {
	Order   int
	Error   string
	Charged bool
}

// savedByStaff is what test_staff returns.
type savedByStaff struct {
	ID       int
	Errors   []string
	Warnings []int
}

// slot returns the values of a booking as PHP.
func (b *bookingSite) slot(minutes int, more string) string {
	return fmt.Sprintf("['start_date' => '%s', 'start_time' => %d, %s]", b.bookday, minutes, more)
}

// execute executes a statement; {p} is the prefix of LatePoint's tables.
func (b *bookingSite) execute(on interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statement string,
) {
	b.t.Helper()
	if _, err := on.ExecContext(b.t.Context(), b.expand(statement)); err != nil {
		b.t.Fatalf("%s: %v", statement, err)
	}
}

func (b *bookingSite) expand(statement string) string {
	return strings.NewReplacer("{p}", b.db.Prefix+"latepoint_", "{own}", b.db.Prefix+"bookside_").Replace(statement)
}

// number returns a number from the database.
func (b *bookingSite) number(query string) (n int) {
	b.t.Helper()
	b.db.Scan(b.t, b.expand(query), &n)
	return n
}

// bookings returns how many approved bookings of agent 2 start at a time.
func (b *bookingSite) bookings(minutes int) int {
	b.t.Helper()
	return b.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE agent_id = 2 AND status = 'approved' AND start_date = '%s' AND start_time = %d", b.bookday, minutes))
}

// insertBooking is the statement of a rival that checks nothing.
func (b *bookingSite) insertBooking(minutes int) string {
	return fmt.Sprintf(`INSERT INTO {p}bookings (booking_code, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, status,
		customer_id, service_id, agent_id, location_id, total_attendees, order_item_id) VALUES ('RIVAL%[2]d', '%[1]s', '%[1]s', %[2]d, %[2]d + 15, 15, 0, 0, 'approved', 1, 1, 2, 1, 1, 1)`, b.bookday, minutes)
}

// waitFor waits until statements like this one run, or wait, in the site's database.
func (b *bookingSite) waitFor(like string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !b.runs(like); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("no statement like %s is running", like)
		}
	}
}

// runs reports whether statements like this one run, or wait, in the site's database.
func (b *bookingSite) runs(like string) bool {
	b.t.Helper()
	running, err := b.db.Threads(b.t.Context(), "db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE ?", like)
	expect.NoError(b.t, err)
	return len(running) > 0
}

// takeLock takes the lock of agent 2 by the rules of adapter/session/locks.go, and returns the transaction.
func (b *bookingSite) takeLock() *sql.Tx {
	b.t.Helper()
	b.execute(b.db.SQL, "INSERT IGNORE INTO {own}locks (kind, id) VALUES (4, 2)")
	tx, err := b.db.SQL.BeginTx(b.t.Context(), nil)
	expect.NoError(b.t, err)
	b.t.Cleanup(func() { _ = tx.Rollback() })
	b.execute(tx, "UPDATE {own}locks FORCE INDEX (PRIMARY) SET n = n + 1 WHERE (kind = 4 AND id IN (2)) ORDER BY kind, id")
	return tx
}

// loses runs PHP that has to wait for a rival's lock, and returns its result after the rival has booked the
// slot.
func loses[T any](b *bookingSite, minutes int, code string) T {
	b.t.Helper()
	tx := b.takeLock()
	decode := starts[T](b, code)
	b.waitFor("UPDATE%bookside_locks%")
	b.execute(tx, b.insertBooking(minutes))
	expect.NoError(b.t, tx.Commit())
	return decode()
}

// TestCompanionKeepsSlots: a booking in WordPress waits for a rival, and then sees what the rival did.
func TestCompanionKeepsSlots(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		for _, step := range []struct {
			name string
			run  func(*bookingSite)
		}{
			{"checkout waits", checkoutWaits},
			{"cart with one slot twice", cartWithOneSlotTwice},
			{"ability", abilityIsRefused},
			{"which booking", warningNamesWhatOccupies},
			{"midnight", midnightIsCrossed},
			{"staff", staffAreWarned},
			{"form with several bookings", formWithSeveralBookings},
			{"status", statusIsChecked},
			{"reschedule", rescheduleWaits},
			{"seats and holds", holdsTakeSeats},
			{"days of holds", holdsBlockTheirDays},
			{"no lock", nothingWithoutLock},
			{"no tables", nothingToLock},
		} {
			t.Run(step.name, func(t *testing.T) {
				part := *b
				part.t = t
				step.run(&part)
			})
		}
		for line := range strings.Lines(b.Faults(t)) {
			if strings.Contains(line, "mu-plugins") { // LatePoint itself logs a lot
				t.Error(line)
			}
		}
	})
}

func checkoutWaits(b *bookingSite) {
	got := loses[checkedOut](b, 600, "return test_checkout("+b.slot(600, "")+");")
	if got.Order != 0 || got.Charged || got.Error == "" || b.bookings(600) != 1 {
		b.t.Errorf("%+v, %d bookings", got, b.bookings(600))
	}
	if got := returns[checkedOut](b, "return test_checkout("+b.slot(615, "")+");"); got.Order == 0 || !got.Charged || b.bookings(615) != 1 {
		b.t.Errorf("free slot: %+v", got)
	}
}

func cartWithOneSlotTwice(b *bookingSite) {
	slot := b.slot(645, "")
	if got := returns[checkedOut](b, "return test_checkout("+slot+", "+slot+");"); got.Order != 0 || got.Charged || b.bookings(645) != 0 {
		b.t.Errorf("%+v, %d bookings", got, b.bookings(645))
	}
	if got := returns[checkedOut](b, "return test_checkout("+slot+", "+b.slot(660, "")+");"); got.Order == 0 || b.bookings(645) != 1 || b.bookings(660) != 1 {
		b.t.Errorf("two slots: %+v", got)
	}
}

func abilityIsRefused(b *bookingSite) {
	orders := b.number("SELECT COUNT(*) FROM {p}orders")
	got := loses[[]string](b, 675, "add_filter('bookside_may_overbook', '__return_true'); return test_ability("+b.slot(675, "")+");")
	rival := b.number(fmt.Sprintf("SELECT id FROM {p}bookings WHERE booking_code = 'RIVAL%d'", 675))
	if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("booking %d: ", rival)) || b.bookings(675) != 1 {
		b.t.Errorf("errors %q, %d bookings", got, b.bookings(675))
	}
	if n := b.number("SELECT COUNT(*) FROM {p}orders"); n != orders {
		b.t.Errorf("%d orders left behind", n-orders)
	}
	if got := returns[[]string](b, "return test_ability("+b.slot(420, "")+");"); len(got) > 0 || b.bookings(420) != 1 {
		b.t.Errorf("free slot: %q", got)
	}
}

func staffAreWarned(b *bookingSite) {
	got := loses[savedByStaff](b, 690, "return test_staff("+b.slot(690, "")+");")
	rival := b.number("SELECT id FROM {p}bookings WHERE booking_code = 'RIVAL690'")
	if diff := cmp.Diff(savedByStaff{ID: got.ID, Errors: []string{}, Warnings: []int{rival}}, got); diff != "" || got.ID == 0 || b.bookings(690) != 2 {
		b.t.Errorf("allowed: %s, %d bookings", diff, b.bookings(690))
	}
	for _, c := range []struct {
		name, before string
		booked       bool
	}{
		{"forbidden", "", false},
		{"allowed by the filter", "add_filter('bookside_may_overbook', '__return_true');", true},
	} {
		before := b.bookings(690)
		got := returns[savedByStaff](b, "update_option('bookside_companion', ['staff_overbooking' => false]);"+c.before+"return test_staff("+b.slot(690, "")+");")
		if c.booked != (got.ID != 0) || c.booked == (len(got.Errors) > 0) || c.booked != (b.bookings(690) > before) {
			b.t.Errorf("%s: %+v", c.name, got)
		}
	}
	// The form's response gets the warning, and is otherwise unchanged.
	rival = b.number("SELECT MIN(id) FROM {p}bookings WHERE agent_id = 2 AND start_time = 690 AND status = 'approved' AND start_date = '" + b.bookday + "'")
	answer := returns[map[string]any](b, "update_option('bookside_companion', []); add_filter('wp_doing_ajax', '__return_true'); test_staff("+b.slot(690, "")+"); return ['message' => 'Saved', 'fields' => new stdClass()];")
	if diff := cmp.Diff(map[string]any{}, answer["fields"]); diff != "" || !strings.Contains(answer["message"].(string), fmt.Sprintf("Saved<br>This time is occupied by booking %d: ", rival)) {
		b.t.Errorf("answer with a warning: %v", answer)
	}
	returns[any](b, "update_option('bookside_companion', ['staff_overbooking' => false]);")
	// A slot outside the working hours belongs to nobody.
	if got := returns[savedByStaff](b, "return test_staff("+b.slot(1380, "")+");"); got.ID == 0 {
		b.t.Errorf("outside of working hours: %+v", got)
	}
	// A booking that does not move is not checked.
	code := fmt.Sprintf("$b = new OsBookingModel(%d); $b->customer_id = 2; return $b->save();", got.ID)
	if saved := returns[bool](b, code); !saved {
		b.t.Error("a booking in an occupied slot cannot be edited")
	}
}

// warningNamesWhatOccupies: a booking elsewhere does not occupy the slot, and neither does one that shares
// the seats of a service.
func warningNamesWhatOccupies(b *bookingSite) {
	insert := func(minutes, service, location int) int {
		b.t.Helper()
		b.execute(b.db.SQL, fmt.Sprintf(`INSERT INTO {p}bookings (booking_code, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, status,
			customer_id, service_id, agent_id, location_id, total_attendees, order_item_id) VALUES ('W', '%[1]s', '%[1]s', %[2]d, %[2]d + 15, 15, 0, 0, 'approved', 1, %[3]d, 2, %[4]d, 1, 1)`,
			b.bookday, minutes, service, location))
		return b.number("SELECT MAX(id) FROM {p}bookings")
	}
	warnings := func(minutes int) []int {
		b.t.Helper()
		return returns[savedByStaff](b, "return test_staff("+b.slot(minutes, "")+");").Warnings
	}
	insert(930, 1, 2)
	here := insert(930, 1, 1)
	expect.Equal(b.t, []int{here}, warnings(930), "a booking elsewhere")
	seats := b.number("SELECT capacity_max FROM {p}services WHERE id = 1")
	b.execute(b.db.SQL, "UPDATE {p}services SET capacity_max = 3 WHERE id = 1")
	insert(960, 1, 1)
	other := insert(960, 2, 1)
	expect.Equal(b.t, []int{other}, warnings(960), "a booking with seats left")
	first := insert(990, 1, 1)
	insert(990, 1, 1)
	insert(990, 1, 1)
	expect.Equal(b.t, []int{first}, warnings(990), "no seats left")
	b.execute(b.db.SQL, fmt.Sprintf("UPDATE {p}services SET capacity_max = %d WHERE id = 1", seats))
}

// formWithSeveralBookings: all bookings of a form are checked before any of them is saved, and held until
// then. The lock is not held while mails about the first are sent.
func formWithSeveralBookings(b *bookingSite) {
	const forbid = "update_option('bookside_companion', ['staff_overbooking' => false]); return test_staff("
	// A rival takes the second slot while the form, which has checked the first, waits for its lock.
	other := b.slot(840, "'agent_id' => 5")
	if got := loses[savedByStaff](b, 840, forbid+other+", "+b.slot(840, "")+");"); got.ID != 0 || len(got.Errors) != 1 {
		b.t.Errorf("second slot occupied: %+v", got)
	}
	if got := returns[savedByStaff](b, forbid+b.slot(855, "")+", "+b.slot(855, "")+");"); got.ID != 0 || len(got.Errors) != 1 || b.bookings(855) != 0 {
		b.t.Errorf("one slot twice: %+v", got)
	}
	taken := b.number("SELECT n FROM {own}locks WHERE kind = 4 AND id = 2")
	const meanwhile = `add_action('latepoint_model_save', function ($model) {
		if ($model instanceof OsBookingModel && !(test_lock_is_free(2) && test_lock_is_free(5))) { throw new Exception('the lock is taken'); }
	});`
	if got := returns[savedByStaff](b, meanwhile+forbid+other+", "+b.slot(855, "")+");"); got.ID == 0 || len(got.Errors) != 0 || b.bookings(855) != 1 {
		b.t.Errorf("free slots: %+v", got)
	}
	if n := b.number("SELECT n FROM {own}locks WHERE kind = 4 AND id = 2") - taken; n != 2 { // once to check, once to save
		b.t.Errorf("the lock was taken %d times", n)
	}
	expect.Equal(b.t, 0, b.holds(), "holds left")
}

func statusIsChecked(b *bookingSite) {
	b.execute(b.db.SQL, b.insertBooking(705))
	id := b.number("SELECT id FROM {p}bookings WHERE booking_code = 'RIVAL705'")
	for _, status := range []string{"cancelled", "approved"} { // no rival exists
		if got := returns[[]string](b, fmt.Sprintf("return test_status(%d, '%s');", id, status)); len(got) > 0 {
			b.t.Errorf("%s: %q", status, got)
		}
	}
	b.execute(b.db.SQL, fmt.Sprintf("UPDATE {p}bookings SET status = 'cancelled' WHERE id = %d", id))
	got := loses[[]string](b, 705, fmt.Sprintf("update_option('bookside_companion', ['staff_overbooking' => false]); return test_status(%d, 'approved');", id))
	if len(got) != 1 || b.bookings(705) != 1 {
		b.t.Errorf("%q, %d bookings", got, b.bookings(705))
	}
	// Other plugins write their statements by hand.
	for _, form := range []string{
		"UPDATE {p}bookings SET total_attendees=1, status='approved' WHERE id=%d;",
		`update {p}bookings set status = "approved" where id = '%d' LIMIT 1 /* by a plugin */`,
	} {
		statement := fmt.Sprintf(b.expand(form), id)
		if changed := returns[any](b, "global $wpdb; return $wpdb->query("+phpText(statement)+");"); changed != false || b.bookings(705) != 1 {
			b.t.Errorf("%s: %v, %d bookings", statement, changed, b.bookings(705))
		}
	}
	got = returns[[]string](b, fmt.Sprintf("update_option('bookside_companion', []); return test_status(%d, 'approved');", id))
	if len(got) != 0 || b.bookings(705) != 2 {
		b.t.Errorf("allowed: %q, %d bookings", got, b.bookings(705))
	}
}

func rescheduleWaits(b *bookingSite) {
	b.execute(b.db.SQL, b.insertBooking(720))
	id := b.number("SELECT id FROM {p}bookings WHERE booking_code = 'RIVAL720'")
	move := func(minutes int) string {
		return fmt.Sprintf("return test_reschedule(%d, '%s', %d);", id, b.bookday, minutes)
	}
	if moved := loses[bool](b, 735, move(735)); moved || b.bookings(735) != 1 || b.bookings(720) != 1 {
		b.t.Errorf("moved %t, %d and %d bookings", moved, b.bookings(720), b.bookings(735))
	}
	if moved := returns[bool](b, move(750)); !moved || b.bookings(750) != 1 || b.bookings(720) != 0 {
		b.t.Errorf("free slot: moved %t", moved)
	}
}

// holdsTakeSeats: service 7 has five seats.
func holdsTakeSeats(b *bookingSite) {
	const group = "'service_id' => 7, 'agent_id' => 1, 'duration' => 60, 'total_attendees' => %d"
	hold := `INSERT INTO {own}holds (key_id, agent_id, service_id, location_id, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after,
		total_attendees, expires_at, created_at) VALUES (1, 1, 7, 1, '` + b.bookday + `', '` + b.bookday + `', 600, 660, 60, 0, 0, %d, UTC_TIMESTAMP() + INTERVAL %d HOUR, UTC_TIMESTAMP())`
	b.execute(b.db.SQL, fmt.Sprintf(hold, 3, 1))
	b.execute(b.db.SQL, fmt.Sprintf(hold, 2, -1)) // already expired
	for _, c := range []struct {
		seats  int
		booked bool
	}{{3, false}, {2, true}, {1, false}} {
		got := returns[checkedOut](b, "return test_checkout("+b.slot(600, fmt.Sprintf(group, c.seats))+");")
		expect.Equal(b.t, c.booked, got.Order != 0, c.seats, " seats: ", got)
	}
}

// holdsBlockTheirDays: a hold blocks its time and its buffers on each of its days, until it expires. Like
// LatePoint's bookings, buffers alone block nothing past midnight.
func holdsBlockTheirDays(b *bookingSite) {
	b.bookday = "2031-03-10"
	const buffers, valid, expired = "10, 15, 1", "UTC_TIMESTAMP() + INTERVAL 1 HOUR", "UTC_TIMESTAMP()"
	for _, hold := range []string{
		"'2031-03-10', '2031-03-10', 600, 660, " + buffers + ", " + valid,
		"'2031-03-10', '2031-03-11', 1410, 30, " + buffers + ", " + valid,
		"'2031-03-11', '2031-03-11', 600, 660, " + buffers + ", " + expired,
		"'2031-03-12', '2031-03-13', 1380, 1440, " + buffers + ", " + valid, // until midnight
	} {
		b.execute(b.db.SQL, `INSERT INTO {own}holds (key_id, agent_id, service_id, location_id, duration, created_at,
			start_date, end_date, start_time, end_time, buffer_before, buffer_after, total_attendees, expires_at) VALUES (1, 2, 1, 1, 60, UTC_TIMESTAMP(), `+hold+")")
	}
	const day, evening, morning = "2031-03-10 600-660, buffers 10 15", "2031-03-10 1410-1440, buffers 10 15", "2031-03-11 0-30, buffers 0 15"
	want := map[string][]string{
		"2031-03-09 2031-03-09": {}, "2031-03-10 2031-03-10": {evening, day}, "2031-03-11 2031-03-11": {morning}, "2031-03-13 2031-03-13": {},
		"2031-03-09 2031-03-13": {evening, day, morning, "2031-03-12 1380-1440, buffers 10 15"},
	}
	got := returns[map[string][]string](b, `$told = [];
		foreach (explode(',', '`+strings.Join(slices.Sorted(maps.Keys(want)), ",")+`') as $range) {
			[$from, $to] = explode(' ', $range);
			$periods = apply_filters('latepoint_get_booked_periods', [], new \LatePoint\Misc\Filter(['date_from' => $from, 'date_to' => $to]));
			$told[$range] = array_map(static function ($p) {
				return "$p->start_date $p->start_time-$p->end_time, buffers $p->buffer_before $p->buffer_after";
			}, array_values($periods));
			sort($told[$range]);
		}
		return $told;`)
	expect.Equal(b.t, want, got, "periods")
	for _, c := range []struct {
		minutes int
		booked  bool
	}{{570, true}, {585, false}, {660, false}, {675, true}} {
		if got := returns[checkedOut](b, "return test_checkout("+b.slot(c.minutes, "")+");"); c.booked != (got.Order != 0) {
			b.t.Errorf("checkout at minute %d: %+v", c.minutes, got)
		}
	}
	b.bookday = "2031-03-11"
	const forbid = "update_option('bookside_companion', ['staff_overbooking' => false]); return test_staff("
	for _, c := range []struct {
		minutes int
		booked  bool
	}{{15, false}, {30, false}, {45, true}, {600, true}} {
		if got := returns[savedByStaff](b, forbid+b.slot(c.minutes, "")+");"); c.booked != (got.ID != 0) {
			b.t.Errorf("staff at minute %d of the next day: %+v", c.minutes, got)
		}
	}
	b.execute(b.db.SQL, "UPDATE {own}holds SET expires_at = UTC_TIMESTAMP()")
	if got := returns[savedByStaff](b, forbid+b.slot(15, "")+");"); got.ID == 0 {
		b.t.Errorf("an expired hold: %+v", got)
	}
}

// midnightIsCrossed: a booking that runs past midnight occupies both days with its buffers; buffers alone
// do not extend past midnight. An impossible end counts as start plus duration.
func midnightIsCrossed(b *bookingSite) {
	const first, second = "2031-03-24", "2031-03-25"
	type booking struct {
		day           string
		start, length int
		before, after int
		last          string // the date of the end; "" for the start date
		end           int
	}
	evening, night, morning := booking{day: first, start: 1380, length: 50, end: 1430, after: 30}, booking{day: first, start: 1410, length: 60, after: 15, last: second, end: 30}, booking{day: second, start: 5, length: 25, end: 30, before: 30}
	for name, c := range map[string]struct {
		stored, other booking
		occupied      bool
	}{
		"a buffer after, over midnight":  {evening, booking{day: second, start: 5, length: 15}, false},
		"a buffer before, over midnight": {morning, booking{day: first, start: 1420, length: 20}, false},
		"its own buffers, over midnight": {booking{day: second, start: 5, length: 25, end: 30}, booking{day: first, start: 1400, length: 40, after: 30}, false},
		"a buffer on its day":            {evening, booking{day: first, start: 1435, length: 5}, true},
		"the first day of a night":       {night, booking{day: first, start: 1425, length: 15}, true},
		"the second day of a night":      {night, booking{day: second, start: 15, length: 15}, true},
		"the buffer of a night":          {night, booking{day: second, start: 40, length: 15}, true},
		"after the night":                {night, booking{day: second, start: 45, length: 15}, false},
		"a night before a morning":       {morning, booking{day: first, start: 1430, length: 30}, true},
		"a night that ends before it":    {booking{day: second, start: 20, length: 10, end: 30}, booking{day: first, start: 1430, length: 30, after: 0}, false},
		"until midnight":                 {booking{day: first, start: 1380, length: 60, last: second, end: 1440}, booking{day: second, start: 0, length: 15}, false},
		"an end that is too late":        {booking{day: first, start: 600, length: 60, last: "9999-12-31", end: 660}, booking{day: first, start: 660, length: 15}, false},
		"an end before the start":        {booking{day: first, start: 600, length: 60, end: 500}, booking{day: first, start: 645, length: 15}, true},
	} {
		s := c.stored
		if s.last == "" {
			s.last = s.day
		}
		b.execute(b.db.SQL, fmt.Sprintf("INSERT INTO {p}bookings (id, agent_id, service_id, location_id, customer_id, status, start_date, end_date, start_time, end_time, duration, buffer_before, buffer_after, total_attendees) "+
			"VALUES (9000, 2, 1, 1, 1, 'approved', '%s', '%s', %d, %d, %d, %d, %d, 1)", s.day, s.last, s.start, s.end, s.length, s.before, s.after))
		o := c.other
		got := returns[int](b, fmt.Sprintf("return test_occupied_by(['start_date' => '%s', 'start_time' => %d, 'duration' => %d, 'buffer_before' => %d, 'buffer_after' => %d]);", o.day, o.start, o.length, o.before, o.after))
		if want := map[bool]int{true: 9000}[c.occupied]; got != want {
			b.t.Errorf("%s: occupied by %d, want %d", name, got, want)
		}
		b.execute(b.db.SQL, "DELETE FROM {p}bookings WHERE id = 9000")
	}
}

// nothingWithoutLock: if the lock cannot be had, nothing is booked and nothing charged.
func nothingWithoutLock(b *bookingSite) {
	const deny = "add_filter('bookside_lock_connection', function ($server) { return ['password' => 'wrong'] + $server; });"
	if got := returns[checkedOut](b, deny+"return test_checkout("+b.slot(765, "")+");"); got.Order != 0 || got.Charged || got.Error == "" {
		b.t.Errorf("checkout: %+v", got)
	}
	if got := returns[savedByStaff](b, deny+"return test_staff("+b.slot(765, "")+");"); got.ID != 0 || len(got.Errors) != 1 {
		b.t.Errorf("staff: %+v", got)
	}
	expect.Equal(b.t, 0, b.bookings(765), "bookings")
	failure := returns[struct {
		Count   int
		Message string
	}](b, "$failure = bookside_companion_failures()['lock']; bookside_companion_clear_failures(); return $failure;")
	if !strings.Contains(failure.Message, "1045") || failure.Count < 2 {
		b.t.Errorf("told: %+v", failure)
	}
}

// nothingToLock: before the server's first start there are no tables of Bookside, and LatePoint books as without the companion.
func nothingToLock(b *bookingSite) {
	b.execute(b.db.SQL, "RENAME TABLE {own}locks TO {own}no_locks, {own}holds TO {own}no_holds")
	defer b.execute(b.db.SQL, "RENAME TABLE {own}no_locks TO {own}locks, {own}no_holds TO {own}holds")
	if got := returns[checkedOut](b, "return test_checkout("+b.slot(795, "")+");"); got.Order == 0 || b.bookings(795) != 1 {
		b.t.Errorf("%+v", got)
	}
	if failures := returns[int](b, "return count(bookside_companion_failures());"); failures != 0 {
		b.t.Errorf("%d failures", failures)
	}
}
