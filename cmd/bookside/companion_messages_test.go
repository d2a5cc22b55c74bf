package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// messagesSite is a real LatePoint with an extension that makes meetings, as Zoom does, and a server that reaches it.
type messagesSite struct {
	*toldSite
	hour int // of the next booking
}

// TestCompanionSendsMessages: where something is added to LatePoint, it sends the messages about what the API has changed itself, after
// extensions were told, so that the link to a meeting is in them. Whoever dies meanwhile, each is sent once at most, and none is lost
// that nobody had begun to send.
func TestCompanionSendsMessages(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	s := &messagesSite{toldSite: &toldSite{bookingSite: newBookingSite(t, fixtures.NewWordPressWithPlatform(t, db), db)}, hour: 8}
	expect.NoError(t, s.s.stop())
	plugin, err := os.ReadFile("testdata/meeting.php")
	expect.NoError(t, err)
	writeBelow(t, s.Content, map[string]string{"plugins/meeting/meeting.php": string(plugin)})
	db.Execute(t, "DELETE FROM wp_latepoint_processes", workflow(1, "booking_created", "[]"), workflow(2, "booking_start", `{"value":"1","unit":"day","before_after":"before"}`), workflow(3, "booking_updated", "[]"))
	s.wordpress = s.ServeByWorkers(t, 3)
	s.Activate(t, "meeting/meeting.php")
	s.visit()
	s.serve(s.wordpress.URL)

	// All goes well: the mail has the link, and so has the reminder.
	first := s.book(`,"send_confirmation":true`)
	s.notes(fmt.Sprint("created ", first), s.mailAbout(first, 1))
	if got := s.text(fmt.Sprintf("SELECT GROUP_CONCAT(process_id, ' ', status, ' ', object_model_type ORDER BY process_id) FROM {p}process_jobs WHERE object_id = %d", first)); got != "1 completed booking,2 scheduled booking" {
		t.Errorf("jobs %s", got)
	}
	expect.Equal(t, 2, s.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}process_jobs WHERE object_id = %d AND settings LIKE '%%meet.example\\\\\\\\/%[1]d%%'", first)), "jobs with the link")
	expect.Equal(t, "booking_created,email_sent,process_job_run", s.text(fmt.Sprintf("SELECT GROUP_CONCAT(code ORDER BY id) FROM {p}activities WHERE booking_id = %d", first)), "activities")

	// Without a confirmation, there is the reminder alone.
	silent := s.book(`,"send_confirmation":false`)
	s.notes(fmt.Sprint("created ", silent))
	expect.Equal(t, "2 scheduled", s.text(fmt.Sprintf("SELECT GROUP_CONCAT(process_id, ' ', status) FROM {p}process_jobs WHERE object_id = %d", silent)), "jobs")

	// A move is told and sent once.
	s.send(http.MethodPut, fmt.Sprint("/v1/bookings/", first), `{"start_time":"15:00","send_notification":true}`)
	s.notes(fmt.Sprint("updated ", first), s.mailAbout(first, 3))

	// PHP dies while an extension is told: the meeting is made as by an update, and the mail has its link.
	s.die("created")
	died := s.book("")
	s.notes(fmt.Sprint("created ", died), fmt.Sprint("updated ", died), s.mailAbout(died, 1))

	// PHP dies while it sends: the mail may have arrived, and is not sent again.
	s.die("mail")
	sending := s.book("")
	s.notes(fmt.Sprint("created ", sending), s.mailAbout(sending, 1), fmt.Sprint("updated ", sending))
	expect.Equal(t, "workflow 1: The process of PHP died while it sent this.", s.text("SELECT failure FROM {own}events WHERE status = 'failed'"), "failure")
	expect.Equal(t, "1 error,2 scheduled", s.text(fmt.Sprintf("SELECT GROUP_CONCAT(process_id, ' ', status ORDER BY process_id) FROM {p}process_jobs WHERE object_id = %d", sending)), "jobs")

	// WordPress is away: it sends once it is back.
	s.serve("http://127.0.0.1:1")
	late := s.book("")

	// The server dies right after a booking: the next one has it told and sent.
	lost := s.book("")
	s.serve(s.wordpress.URL)
	s.notes(fmt.Sprint("created ", late), s.mailAbout(late, 1), fmt.Sprint("created ", lost), s.mailAbout(lost, 1))
	expect.Equal(t, "1 completed,2 scheduled", s.text(fmt.Sprintf("SELECT GROUP_CONCAT(process_id, ' ', status) FROM {p}process_jobs WHERE object_id = %d", late)), "jobs")
	expect.Equal(t, 0, s.number("SELECT COUNT(*) FROM {own}events WHERE rendered IS NOT NULL OR old IS NOT NULL OR messages <> '' AND sender = ''"), "events with something left")
}

// workflow returns the statement that adds a workflow that mails the link to the customer.
func workflow(id int, event, offset string) string {
	return fmt.Sprintf(`INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (%d, 'P', '%s', 'active',
		'[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"pa_%[1]d","settings":{"status":"active","type":"send_email","settings":{"to_email":"{{customer_email}}",
		"subject":"event %[1]d of {{booking_id}}","content":"Join {{meeting_link}}"}}}],"time_offset":%[3]s}]')`, id, event, offset)
}

// serve starts a server that reaches WordPress at an address, in place of the one before.
func (s *messagesSite) serve(loopback string) {
	s.t.Helper()
	expect.NoError(s.t, s.s.stop())
	s.s = serveAt(s.t, append(settingsFor(s.db), "BOOKSIDE_WORDPRESS__LOOPBACK="+loopback), time.Now)
}

// book makes a booking with more fields.
func (s *messagesSite) book(more string) int {
	s.t.Helper()
	s.hour++
	return s.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":"%02d:00"%s}`, s.bookday, s.hour, more))
}

// die has the process of PHP die when it next notes something of a kind.
func (s *messagesSite) die(kind string) {
	s.t.Helper()
	writeBelow(s.t, s.Content, map[string]string{"meeting-dies": kind})
}

// mailAbout is the note of the mail that a workflow sends about a booking.
func (s *messagesSite) mailAbout(booking, process int) string {
	s.t.Helper()
	mail, err := json.Marshal([]string{s.text("SELECT email FROM {p}customers WHERE id = 1"), fmt.Sprintf("event %d of %d", process, booking), "Join https://meet.example/" + strconv.Itoa(booking)})
	expect.NoError(s.t, err)
	return "mail " + strings.ReplaceAll(string(mail), "/", `\/`)
}

// notes waits until all events have ended, and compares what the extension has noted since.
func (s *messagesSite) notes(want ...string) {
	s.t.Helper()
	s.s.eventually("the end of events", func() bool {
		return s.number("SELECT COUNT(*) FROM {own}events WHERE status IN ('waiting', 'started')") == 0
	})
	text, err := os.ReadFile(filepath.Join(s.Content, "meetings.jsonl"))
	expect.NoError(s.t, err)
	all := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if diff := cmp.Diff(want, all[s.read:]); diff != "" {
		s.t.Fatalf("notes (-want +got):\n%s\nEvents: %s\nJobs: %s\nThe server says:\n%s", diff,
			s.text("SELECT COALESCE(GROUP_CONCAT(event, ' ', record_id, ' ', status, ' ', messages, ' ', sender, ' ', failure ORDER BY id SEPARATOR '; '), '') FROM {own}events"),
			s.text("SELECT COALESCE(GROUP_CONCAT(process_id, ' of ', object_id, ' ', status, ' ', COALESCE(run_result, '') ORDER BY id SEPARATOR '; '), '') FROM {p}process_jobs"), s.s.stderr)
	}
	s.read = len(all)
}
