package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// toldSite is a site with an extension that records what it is told, and a server that reaches it.
type toldSite struct {
	*bookingSite
	wordpress *fixtures.WordPressWorkers
	read      int // calls
}

// call is a call of a LatePoint action: its name and its arguments.
type call struct {
	Action    string
	Arguments []any
}

// TestCompanionTellsExtensions: the site's extensions are told about changes through the API, once and
// after they were stored; what LatePoint itself does in response is not done again.
func TestCompanionTellsExtensions(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		expect.NoError(t, b.s.stop())
		plugin, err := os.ReadFile("testdata/listener.php")
		expect.NoError(t, err)
		writeBelow(t, b.Content, map[string]string{"plugins/listener/listener.php": string(plugin)})
		s := &toldSite{bookingSite: b, wordpress: b.ServeByWorkers(t, 2)}
		s.visit()
		expect.Equal(t, "", s.text("SELECT option_value FROM "+b.db.Prefix+"options WHERE option_name = 'bookside_companion_events'"), "events of a plain site")
		b.Activate(t, "latepoint/latepoint.php", "listener/listener.php")
		s.start()
		s.visit()
		if got, want := s.text("SELECT option_value FROM "+b.db.Prefix+"options WHERE option_name = 'bookside_companion_events'"),
			"customer_created customer_updated booking_created booking_updated booking_will_be_deleted booking_deleted order_created order_updated transaction_created"; strings.TrimSuffix(got, " messages") != want {
			t.Errorf("events %q, want %q", got, want)
		}
		activities := s.activities()

		booking := s.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer":{"first_name":"Ada","last_name":"Neu","email":"ada.neu@example.test"},
			"start_date":%q,"start_time":"10:00"}`, b.bookday))
		created := s.calls("customer_created", "booking_created", "order_created")
		if got := created[1].Arguments[0].(map[string]any); got["id"] != fmt.Sprint(booking) || got["start_time"] != "600" {
			t.Errorf("the booking that was created: %v", got)
		}

		path := fmt.Sprint("/bookings/", booking)
		s.send(http.MethodPut, "/v1"+path, `{"start_time":"11:00"}`)
		moved := s.calls("booking_updated")[0].Arguments
		expect.Equal(t, []any{"660", "600"}, []any{moved[0].(map[string]any)["start_time"], moved[1].(map[string]any)["start_time"]}, "start of the booking that moved")
		differing := map[string]bool{}
		for name, value := range moved[0].(map[string]any) {
			if old := moved[1].(map[string]any)[name]; old != value {
				differing[name] = true
			}
		}
		for _, name := range []string{"id", "agent_id", "service_id", "location_id", "status", "duration"} {
			if differing[name] {
				t.Errorf("%s differs, although only the time changed", name)
			}
		}
		s.send(http.MethodPut, "/v1"+path, `{"status":"cancelled"}`)
		s.calls("booking_updated", "booking_change_status")
		s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Lise"}`)
		s.calls("customer_updated")
		s.create("/payments", `{"order_id":1,"amount":1}`)
		s.calls("transaction_created")
		expect.Equal(t, 6, s.activities()-activities, "activities written")

		// Whatever an extension throws is recorded, without what may be personal or secret, and does not keep others from being told.
		if got, want := s.text("SELECT GROUP_CONCAT(event, ' ', status, ' ', failure ORDER BY id) FROM {own}events WHERE event = 'booking_created'"),
			"booking_created failed RuntimeException in plugins/listener/listener.php:24: … (…): the calendar … does not answer, https://calendar.example …"; got != want {
			t.Errorf("the event with the failure: %s", got)
		}

		// Sent again, it is an update, because others may have received it. So is an event that a process
		// may have sent before it died: a second meeting would be worse than none.
		failed := int64(s.number("SELECT id FROM {own}events WHERE status = 'failed'"))
		if again, err := extensions.RepeatEvent(t.Context(), wpdb.New(b.db.SQL, b.db.Prefix), time.Now(), failed); err != nil || !again {
			t.Errorf("sent again: %t, %v", again, err)
		}
		b.db.Execute(t, b.expand("INSERT INTO {own}events (event, record_id, status, tries, due_at, failure, created_at) VALUES ('booking_created', "+fmt.Sprint(booking)+", 'started', 1, UTC_TIMESTAMP(), '', UTC_TIMESTAMP())"))
		s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Emmy"}`)
		s.calls("booking_updated", "booking_updated", "customer_updated")
		expect.Equal(t, 0, s.number("SELECT COUNT(*) FROM {own}events WHERE status = 'failed'"), "failed events")

		// Without WordPress, changes wait, and nothing is deleted that extensions must be told about
		// beforehand.
		away := serveAt(t, settingsFor(b.db, "BOOKSIDE_WORDPRESS__LOOPBACK=http://127.0.0.1:1"), time.Now)
		reached := s.s
		s.s = away
		if status, answer, err := sendOnce(s.request(http.MethodDelete, path, "")); err != nil || status != http.StatusServiceUnavailable || !strings.Contains(answer, "Nothing is deleted") {
			t.Errorf("deleted without WordPress: %d %s %v", status, answer, err)
		}
		s.send(http.MethodPut, "/v1"+path, `{"status":"approved"}`)
		s.send(http.MethodPut, "/v1"+path, `{"status":"cancelled"}`)
		s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Maria"}`)
		expect.Succeeded(t, away.stop())
		s.s = reached
		s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Marie"}`) // wakes the other server
		var statuses []any
		for _, c := range s.calls("booking_updated", "booking_change_status", "booking_updated", "booking_change_status", "customer_updated", "customer_updated")[:4] {
			statuses = append(statuses, c.Arguments[0].(map[string]any)["status"], c.Arguments[1].(map[string]any)["status"])
		}
		expect.Equal(t, []any{"approved", "cancelled", "approved", "cancelled", "cancelled", "approved", "cancelled", "approved"}, statuses, "each change is told as it was, although another followed")

		for range 2 { // the second one only repeats the response
			request := s.request(http.MethodDelete, path, "")
			request.Header.Set("If-Match", "*")
			request.Header.Set("Idempotency-Key", "delete")
			if status, answer, err := sendOnce(request); err != nil || status != http.StatusOK {
				t.Errorf("deleted: %d %s %v", status, answer, err)
			}
		}
		deleted := s.calls("booking_will_be_deleted", "booking_deleted")
		expect.Equal(t, call{"booking_deleted", []any{float64(booking)}}, deleted[1])
		if code, _ := deleted[0].Arguments[1].(string); code == "" {
			t.Error("the booking was gone when it was told that it will be deleted")
		}

		// Once the companion is deactivated, nobody waits for it; as soon as it is there again, extensions are told.
		b.Run(t, "require_once ABSPATH . 'wp-admin/includes/plugin.php'; deactivate_plugins('bookside/bookside.php');")
		booking = s.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":"12:00","status":"cancelled"}`, b.bookday))
		if status, answer, err := sendOnce(s.request(http.MethodDelete, fmt.Sprint("/bookings/", booking), "")); err != nil || status != http.StatusOK {
			t.Errorf("deleted without the companion: %d %s %v", status, answer, err)
		}
		installCompanion(t, b.WordPress)
		s.visit()
		s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Irène"}`)
		s.calls("customer_updated")
	})
}

// start starts a server that reaches WordPress.
func (s *toldSite) start() {
	s.t.Helper()
	s.s = serveAt(s.t, settingsFor(s.db, "BOOKSIDE_WORDPRESS__LOOPBACK="+s.wordpress.URL), time.Now)
}

// visit opens the home page like any visitor: the companion finds out who listens.
func (s *toldSite) visit() {
	s.t.Helper()
	response, err := http.Get(s.wordpress.URL + "/") //nolint:noctx // answers soon
	expect.NoError(s.t, err)
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

// request returns a request to the API.
func (s *toldSite) request(method, path, body string) *http.Request {
	s.t.Helper()
	return apiRequest(s.t, method, s.s.url+"/v1"+path, s.key, body)
}

// create sends a request that creates a record, and returns its id.
func (s *toldSite) create(path, body string) int {
	s.t.Helper()
	status, answer, err := sendOnce(s.request(http.MethodPost, path, body))
	var created struct{ Data struct{ ID json.Number } }
	if err == nil {
		err = json.Unmarshal([]byte(answer), &created)
	}
	id, failed := created.Data.ID.Int64()
	if err != nil || failed != nil || status != http.StatusCreated {
		s.t.Fatal(path, status, answer, err)
	}
	return int(id)
}

func (s *toldSite) activities() int {
	return s.number("SELECT COUNT(*) FROM {p}activities WHERE code NOT IN ('email_sent', 'process_job_run')")
}

// told returns all calls so far.
func (s *toldSite) told() (all []call) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Content, "calls.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c call
		expect.NoError(s.t, json.Unmarshal([]byte(line), &[]any{&c.Action, &c.Arguments}))
		all = append(all, c)
	}
	return all
}

// calls waits for calls of these actions, which must be the next ones.
func (s *toldSite) calls(actions ...string) []call {
	s.t.Helper()
	var all []call
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all = s.told()
		if len(all) >= s.read+len(actions) && s.number("SELECT COUNT(*) FROM {own}events WHERE status IN ('waiting', 'started')") == 0 {
			break
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d calls after the first %d, want %q; the server says:\n%s", len(all)-s.read, s.read, actions, s.s.stderr)
		}
	}
	found := all[s.read:]
	s.read = len(all)
	var got []string
	for _, c := range found {
		got = append(got, c.Action)
	}
	if diff := cmp.Diff(actions, got); diff != "" {
		s.t.Fatalf("calls (-want +got):\n%s", diff)
	}
	return found
}

// TestCompanionTakesDeletionsBackInOrder: while an extension is still told that a booking will be deleted, which failed because it took too
// long, other changes are told, but not that the booking stays: what extensions are told last holds.
func TestCompanionTakesDeletionsBackInOrder(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	b := newBookingSite(t, fixtures.NewWordPressWithPlatform(t, db), db)
	expect.NoError(t, b.s.stop())
	writeBelow(t, b.Content, map[string]string{"plugins/listener/listener.php": string(readFile(t, "testdata/listener.php"))})
	s := &toldSite{bookingSite: b, wordpress: b.ServeByWorkers(t, 2)}
	b.Activate(t, "listener/listener.php")
	s.visit()
	s.s = serveAt(t, settingsFor(db, "BOOKSIDE_WORDPRESS__LOOPBACK="+s.wordpress.URL, "BOOKSIDE_SERVER__REQUEST_TIMEOUT=4s"), time.Now)
	booking := s.create("/bookings", fmt.Sprintf(`{"service_id":1,"agent_id":1,"location_id":1,"customer_id":1,"start_date":%q,"start_time":"10:00"}`, b.bookday))
	s.calls("booking_created", "order_created")

	gate := filepath.Join(s.Content, "listener-waits")
	expect.NoError(t, os.WriteFile(gate, []byte("booking_will_be_deleted"), 0o600))
	t.Cleanup(func() { _ = os.Remove(gate) }) // PHP waits for it if the test fails
	request := s.request(http.MethodDelete, fmt.Sprintf("/bookings/%d?force=true", booking), "")
	if status, answer, err := sendOnce(request); err != nil || status != http.StatusServiceUnavailable {
		t.Fatalf("deleted: %d %s %v", status, answer, err)
	}
	s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Lise"}`)
	s.s.eventually("that others are told", func() bool { return s.number("SELECT COUNT(*) FROM {own}events WHERE status = 'waiting'") == 1 })
	expect.NoError(t, os.Remove(gate))
	s.s.eventually("the end of the deletion", func() bool {
		return s.number(fmt.Sprintf("SELECT IS_FREE_LOCK(CONCAT('bookside_deletes_', LEFT(SHA2(CONCAT(DATABASE(), ' %s'), 256), 24), '_%d'))", db.Prefix, booking)) == 1
	})
	s.send(http.MethodPut, "/v1/customers/1", `{"first_name":"Emmy"}`)
	s.calls("booking_will_be_deleted", "customer_updated", "booking_updated", "customer_updated")
}
