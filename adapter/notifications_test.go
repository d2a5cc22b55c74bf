package adapter

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// queuedJob is a row of process_jobs, as far as it matters here.
type queuedJob struct {
	Process    int64
	ObjectType string
	Due        string
}

func queuedJobs(t *testing.T, d *fixtures.Database) []queuedJob {
	t.Helper()
	rows, err := d.SQL.QueryContext(t.Context(), "SELECT process_id, object_model_type, to_run_after_utc FROM wp_latepoint_process_jobs WHERE status = 'scheduled' ORDER BY id")
	expect.NoError(t, err)
	defer rows.Close()
	jobs := []queuedJob{}
	for rows.Next() {
		var j queuedJob
		expect.NoError(t, rows.Scan(&j.Process, &j.ObjectType, &j.Due))
		jobs = append(jobs, j)
	}
	expect.NoError(t, rows.Err())
	return jobs
}

// automation adds a process to the site that mails the customer.
func automation(id int, eventType, offset string) string {
	return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (%d, 'P', '%s', 'active',
		'[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"pa_%d","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_full_name}} <{{customer_email}}>","subject":"S","content":"C"}}}],"time_offset":%s}]')`,
		id, eventType, id, offset)
}

// dayBefore is a reminder.
var dayBefore = automation(10, "booking_start", `{"value":"1","unit":"day","before_after":"before"}`)

// newNotifyingSite returns a site with statements run on it, and a booking to create.
func newNotifyingSite(t *testing.T, setup ...string) (*fixtures.Database, *session.Session, bookings.New) {
	t.Helper()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	for _, statement := range setup {
		database.Execute(t, statement)
	}
	db := wpdbtest.Open(t, database, 2)
	platform := session.NewPlatform(db, fixtures.RecordedNow)
	platform.Events = extensions.NewRelay(db, fixtures.RecordedNow, nil, slog.New(slog.DiscardHandler))
	site, err := platform.Session(t.Context())
	expect.NoError(t, err)
	return database, site, bookings.New{
		ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), CustomerID: 9, Attendees: 1, Confirm: true,
		Start: availability.Moment{Day: parseDay(t, "2026-11-27"), Minutes: 600},
	}
}

func TestNewBookingNotifies(t *testing.T) {
	t.Parallel()
	now := queuedJob{0, "n/a", "2026-11-21 00:43:00"}
	reminder := queuedJob{10, "booking", "2026-11-26 09:00:00"}
	const mailOff = "UPDATE wp_latepoint_settings SET value = '' WHERE name = 'notifications_email_processor'"
	for name, c := range map[string]struct {
		setup    []string
		silent   bool
		jobs     []queuedJob
		notified bool
	}{
		"the site sends":                          {setup: []string{withJobCron, dayBefore}, jobs: []queuedJob{now, reminder}, notified: true},
		"nobody wants a confirmation":             {setup: []string{withJobCron, dayBefore}, silent: true, jobs: []queuedJob{reminder}},
		"nobody sends":                            {setup: []string{dayBefore}, jobs: []queuedJob{reminder}},
		"mail is off on the site":                 {setup: []string{withJobCron, mailOff}, jobs: []queuedJob{}},
		"an hour after the booking is made":       {setup: []string{withJobCron, "DELETE FROM wp_latepoint_processes", automation(11, "booking_created", `{"value":"1","unit":"hour","before_after":"after"}`)}, jobs: []queuedJob{{11, "booking", "2026-11-21 01:43:00"}}},
		"orders and customers have their own":     {setup: []string{withJobCron, "DELETE FROM wp_latepoint_processes", automation(12, "order_created", "[]"), automation(13, "customer_created", "[]")}, jobs: []queuedJob{now}, notified: true},
		"a reminder that would be late is none":   {setup: []string{withJobCron, "DELETE FROM wp_latepoint_processes", automation(14, "booking_start", `{"value":"8","unit":"day","before_after":"before"}`)}, jobs: []queuedJob{}},
		"an automation that is switched off":      {setup: []string{withJobCron, "UPDATE wp_latepoint_processes SET status = 'disabled'"}, jobs: []queuedJob{}},
		"a message to somebody else is none":      {setup: []string{withJobCron, "UPDATE wp_latepoint_processes SET actions_json = REPLACE(actions_json, '{{customer_email}}', '{{agent_email}}')"}, jobs: []queuedJob{now}},
		"a review is asked for after the booking": {setup: []string{withJobCron, "DELETE FROM wp_latepoint_processes", automation(15, "booking_end", `{"value":"2","unit":"hour","before_after":"after"}`)}, jobs: []queuedJob{{15, "booking", "2026-11-27 12:00:00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, site, b := newNotifyingSite(t, c.setup...)
			b.Confirm = !c.silent
			created, err := txCreate(t.Context(), site, bookings.Create, b)
			expect.NoError(t, err)
			expect.Equal(t, c.notified, created.ConfirmationSent, "confirmation sent")
			expect.Equal(t, c.jobs, queuedJobs(t, database), "jobs")
		})
	}
}

func countRows(t *testing.T, d *fixtures.Database, table string) (n int) {
	t.Helper()
	d.Scan(t, "SELECT COUNT(*) FROM wp_"+table, &n)
	return n
}

// TestRemindersMoveWithTheBooking: a change takes reminders back and queues those for the new time; a
// message that is being sent stays.
func TestRemindersMoveWithTheBooking(t *testing.T) {
	t.Parallel()
	database, site, b := newNotifyingSite(t, withJobCron, dayBefore)
	created, err := txCreate(t.Context(), site, bookings.Create, b)
	expect.NoError(t, err)
	monday, noon := parseDay(t, "2027-02-05"), session.Minutes(600)
	_, err = txUpdate(t.Context(), site, bookings.Update, created.ID, bookings.Patch{StartDate: &monday, StartTime: &noon})
	expect.NoError(t, err)
	confirmation := queuedJob{0, "n/a", "2026-11-21 00:43:00"}
	want := []queuedJob{confirmation, {10, "booking", "2027-02-04 09:00:00"}}
	expect.Equal(t, want, queuedJobs(t, database), "after a move")
	cancelled := records.StatusCancelled
	_, err = txUpdate(t.Context(), site, bookings.Update, created.ID, bookings.Patch{Status: &cancelled, Notify: true})
	expect.NoError(t, err)
	want = []queuedJob{confirmation, confirmation, {10, "booking", "2027-02-04 09:00:00"}}
	expect.Equal(t, want, queuedJobs(t, database), "after a cancellation that the customer is notified of")
	expect.NoError(t, site.Transact(t.Context(), "delete booking", func(tx *session.Tx) error { return bookings.Delete(t.Context(), tx, created.ID, false) }))
	want = []queuedJob{confirmation, confirmation}
	expect.Equal(t, want, queuedJobs(t, database), "after a deletion")
}

// left is a site whose companion says that something is added to LatePoint that messages may show.
var left = fmt.Sprintf("INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', 'messages'), ('bookside_companion_seen', '0.2.0 %d')", fixtures.RecordedNow().Unix())

// sentLater is what SendLeft sends some seconds later.
func sentLater(t *testing.T, d *fixtures.Database, site *session.Session, seconds int) []string {
	t.Helper()
	later := *site
	later.Now = site.Now.Add(time.Duration(seconds) * time.Second)
	expect.NoError(t, notify.SendOverdue(t.Context(), &later))
	return sentMessages(t, d)
}

// sentMessages are the jobs that are stored.
func sentMessages(t *testing.T, d *fixtures.Database) (rows []string) {
	t.Helper()
	stored, err := d.SQL.QueryContext(t.Context(), "SELECT CONCAT_WS('|', process_id, object_id, object_model_type, to_run_after_utc, status, process_info, settings, created_at) FROM wp_latepoint_process_jobs WHERE status = 'scheduled'")
	expect.NoError(t, err)
	defer stored.Close()
	for stored.Next() {
		var row string
		expect.NoError(t, stored.Scan(&row))
		rows = append(rows, row)
	}
	expect.NoError(t, stored.Err())
	return rows
}

// TestMessagesAreLeftToThePlugin: where something is added to LatePoint, it has ten seconds to send messages itself. What it has not
// begun with is sent as on a plain site.
func TestMessagesAreLeftToThePlugin(t *testing.T) {
	t.Parallel()
	const mailOff = "UPDATE wp_latepoint_settings SET value = '' WHERE name = 'notifications_email_processor'"
	for name, c := range map[string]struct {
		setup  []string
		silent bool
		late   int // seconds
		kept   bool
	}{
		"the site's cron sends":           {setup: []string{withJobCron, dayBefore}, late: 10},
		"nobody else sends":               {setup: []string{dayBefore}, late: 300},
		"nobody wants a confirmation":     {setup: []string{dayBefore}, silent: true, late: 10},
		"mail is off on the site":         {setup: []string{dayBefore, mailOff}, kept: true},
		"no workflow is about the events": {setup: []string{"DELETE FROM wp_latepoint_processes"}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, native, b := newNotifyingSite(t, c.setup...)
			b.Confirm = !c.silent
			_, err := txCreate(t.Context(), native, bookings.Create, b)
			expect.NoError(t, err)
			want := sentMessages(t, plain)
			database, site, b := newNotifyingSite(t, append(c.setup, left)...)
			b.Confirm = !c.silent
			created, err := txCreate(t.Context(), site, bookings.Create, b)
			expect.NoError(t, err)
			if c.kept {
				expect.Equal(t, want, sentMessages(t, database), "at once")
				expect.Equal(t, 0, countRows(t, database, "bookside_events"), "events left to the plugin")
				return
			}
			if created.ConfirmationSent == c.silent {
				t.Errorf("confirmation sent: %t", created.ConfirmationSent)
			}
			expect.Equal(t, 0, len(append(sentMessages(t, database), sentLater(t, database, site, c.late-1)...)), "before the time is over")
			for range 2 {
				expect.Equal(t, want, sentLater(t, database, site, c.late), "in place of the plugin")
			}
		})
	}
}

// TestMessagesThatThePluginSends: once the plugin has begun with messages, nobody else sends them; nobody sends those of a booking that is
// gone; and those of a booking that moved replace those of before.
func TestMessagesThatThePluginSends(t *testing.T) {
	t.Parallel()
	move := func(t *testing.T, site *session.Session, id int64) {
		t.Helper()
		day, at := parseDay(t, "2027-02-05"), session.Minutes(600)
		_, err := txUpdate(t.Context(), site, bookings.Update, id, bookings.Patch{StartDate: &day, StartTime: &at})
		expect.NoError(t, err)
	}
	for name, c := range map[string]struct {
		meanwhile func(*testing.T, *fixtures.Database, *session.Session, int64)
		reminders []queuedJob
	}{
		"it has begun": {func(t *testing.T, d *fixtures.Database, _ *session.Session, _ int64) {
			d.Execute(t, "UPDATE wp_bookside_events SET sender = 'plugin', rendered = NULL WHERE messages <> ''")
		}, []queuedJob{}},
		"it died before it began": {func(t *testing.T, d *fixtures.Database, _ *session.Session, _ int64) {
			d.Execute(t, "UPDATE wp_bookside_events SET status = 'started', tries = 1")
		}, []queuedJob{{10, "booking", "2026-11-26 09:00:00"}}},
		"a backup was restored": {func(t *testing.T, d *fixtures.Database, site *session.Session, _ int64) {
			_, err := extensions.DropEvents(t.Context(), site.DB, site.Now)
			expect.NoError(t, err)
		}, []queuedJob{}},
		"the booking is gone": {func(t *testing.T, _ *fixtures.Database, site *session.Session, id int64) {
			expect.NoError(t, site.Transact(t.Context(), "delete booking", func(tx *session.Tx) error { return bookings.Delete(t.Context(), tx, id, true) }))
		}, []queuedJob{}},
		"the booking moved": {func(t *testing.T, _ *fixtures.Database, site *session.Session, id int64) { move(t, site, id) }, []queuedJob{{10, "booking", "2027-02-04 09:00:00"}}},
		"the booking moved later": {func(t *testing.T, d *fixtures.Database, site *session.Session, id int64) {
			sentLater(t, d, site, 10)
			move(t, site, id)
		}, []queuedJob{{10, "booking", "2027-02-04 09:00:00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, site, b := newNotifyingSite(t, dayBefore, left)
			b.Confirm = false // reminders alone
			created, err := txCreate(t.Context(), site, bookings.Create, b)
			expect.NoError(t, err)
			c.meanwhile(t, database, site, created.ID)
			sentLater(t, database, site, 10)
			expect.Equal(t, c.reminders, queuedJobs(t, database), "reminders")
		})
	}
}
