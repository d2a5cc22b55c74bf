package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// abilitySite is a site whose AI agents may book.
type abilitySite struct {
	*bookingSite
	functions string // statement that loads testdata/abilities.php
}

// executed is what an AI agent gets from an ability that is about a booking.
type executed struct {
	Found struct {
		ID         int
		Status     string
		Notes      string
		CustomerID int    `json:"customer_id"`
		AgentID    int    `json:"agent_id"`
		StartDate  string `json:"start_date"`
		StartTime  int    `json:"start_time"`
		EndTime    int    `json:"end_time"`
	}
	Code, Message string
	Data          struct {
		Status         int
		Fields         map[string]string
		AvailableSlots []int `json:"available_slots"`
	}
}

// abilitySlot is a free time as LatePoint's ability describes it.
type abilitySlot struct {
	StartTime int `json:"start_time"`
	EndTime   int `json:"end_time"`
	AgentID   int `json:"agent_id"`
}

func newAbilitySite(t *testing.T, b *bookingSite) *abilitySite {
	t.Helper()
	if err := b.s.stop(); err != nil {
		t.Fatal(err)
	}
	execute(t, b.db.SQL, "DELETE FROM wp_latepoint_settings WHERE name IN ('earliest_possible_booking', 'latest_possible_booking')")
	execute(t, b.db.SQL, "UPDATE wp_latepoint_services SET earliest_possible_booking = NULL, latest_possible_booking = NULL")
	execute(t, b.db.SQL, "INSERT INTO wp_latepoint_settings (name, value) VALUES ('latepoint_abilities_api', 'on'), ('latepoint_abilities_api_edit', 'on')")
	b.Activate(t, "bookside/bookside.php")
	b.s = serveAt(t, settingsFor(b.db, "BOOKSIDE_RATE_LIMIT__ENABLED=false"), time.Now) // WordPress uses the real clock
	b.s.awaitFingerprint()
	functions, err := filepath.Abs("testdata/abilities.php")
	if err != nil {
		t.Fatal(err)
	}
	s := &abilitySite{b, "require_once '" + functions + "';"}
	s.Run(t, `add_role('latepoint_agent', 'Agent', ['read' => true]);
		foreach (['agent2' => 'latepoint_agent', 'reader' => 'subscriber'] as $name => $role) {
			wp_insert_user(['user_login' => $name, 'user_pass' => $name, 'user_email' => "$name@example.test", 'role' => $role]);
		}`)
	execute(t, b.db.SQL, "UPDATE wp_latepoint_agents SET wp_user_id = (SELECT ID FROM wp_users WHERE user_login = 'agent2') WHERE id = 2")
	return s
}

// switchTo sets whether AI books through the server at an address.
func (s *abilitySite) switchTo(on bool, server string) {
	s.t.Helper()
	s.Run(s.t, fmt.Sprintf("update_option('bookside_companion', ['abilities' => %t, 'admin' => 'http://%s']);", on, server))
}

func (s *abilitySite) code(user, ability, input string) string {
	return s.functions + "return test_execute('" + user + "', '" + ability + "', " + input + ");"
}

// execute executes an ability as a user.
func (s *abilitySite) execute(user, ability, input string) executed {
	s.t.Helper()
	return fromPHP[executed](s.t, s.WordPress, s.code(user, ability, input))
}

// slots returns the free times that the ability lists.
func (s *abilitySite) slots(user, input string) []abilitySlot {
	s.t.Helper()
	answer := fromPHP[struct{ Found struct{ Slots []abilitySlot } }](s.t, s.WordPress, s.code(user, "get-available-slots", input))
	return answer.Found.Slots
}

// offered returns what GET /availability offers, as the ability describes it.
func (s *abilitySite) offered(query string, agent int) []abilitySlot {
	s.t.Helper()
	status, body := get(s.t, s.s.url+"/v1/availability?"+query, s.key)
	var answer struct {
		Data struct {
			Slots []struct {
				Start string `json:"start_time"`
				End   string `json:"end_time"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || len(answer.Data.Slots) == 0 {
		s.t.Fatalf("%d %s: %v", status, body, err)
	}
	minutes := func(clock string) int {
		at, err := time.Parse("15:04", clock)
		if err != nil {
			s.t.Fatal(err)
		}
		return 60*at.Hour() + at.Minute()
	}
	var slots []abilitySlot
	for _, slot := range answer.Data.Slots {
		slots = append(slots, abilitySlot{minutes(slot.Start), minutes(slot.End), agent})
	}
	return slots
}

// refused fails the test unless an ability was refused with a code, a status and texts in the message.
func (s *abilitySite) refused(got executed, code string, status int, texts ...string) {
	s.t.Helper()
	if got.Code != code || got.Data.Status != status || got.Found.ID != 0 {
		s.t.Errorf("%+v, want %s with %d", got, code, status)
	}
	wantTexts(s.t, got.Message, texts...)
}

// TestCompanionAbilities: with the switch, LatePoint's abilities book through the server, as the user who
// asks; without it they are LatePoint's own.
func TestCompanionAbilities(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) { testAbilities(t, newAbilitySite(t, b)) })
}

func testAbilities(t *testing.T, s *abilitySite) {
	t.Helper()
	day := "'start_date' => '" + s.bookday + "'"
	at := func(minutes int, more string) string {
		return fmt.Sprintf("['customer_id' => 1, 'service_id' => 1, 'agent_id' => 2, %s, 'start_time' => %d%s]", day, minutes, more)
	}
	date := "'date' => '" + s.bookday + "'"
	const rows = "SELECT (SELECT COUNT(*) FROM {p}orders) + (SELECT COUNT(*) FROM {p}order_items) + (SELECT COUNT(*) FROM {p}bookings)"
	activities := func() int { return s.number("SELECT COUNT(*) FROM {p}activities") }

	// Off, they are LatePoint's own: no list of times, and no event for a booking at night.
	s.switchTo(false, s.s.admin())
	if got := s.slots("admin", "['service_id' => 1, "+date+"]"); len(got) > 0 {
		t.Errorf("LatePoint lists %v", got)
	}
	before := activities()
	night := s.execute("admin", "create-booking", at(180, ", 'location_id' => 1, 'end_time' => 195"))
	if n := s.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE id = %d AND start_datetime_utc IS NULL", night.Found.ID)); n != 1 || activities() != before {
		t.Errorf("LatePoint's own ability: %+v, %d rows, %d activities", night, n, activities()-before)
	}
	s.switchTo(true, s.s.admin())

	// The list of times is that of GET /availability, for everybody.
	free := s.offered("service_id=1&agent_id=2&date="+s.bookday, 2)
	for user, want := range map[string][]abilitySlot{"admin": free, "": free, "agent2": free} {
		if diff := cmp.Diff(want, s.slots(user, "['service_id' => 1, 'agent_id' => 2, "+date+"]")); diff != "" {
			t.Errorf("times for %q (-API +ability):\n%s", user, diff)
		}
	}
	if diff := cmp.Diff(s.offered("service_id=1&agent_id=any&duration=37&any_duration=1&location_id=1&date="+s.bookday, 0),
		s.slots("reader", "['service_id' => 1, 'location_id' => 1, 'duration' => 37, "+date+"]")); diff != "" {
		t.Errorf("times with any agent (-API +ability):\n%s", diff)
	}
	s.refused(s.execute("admin", "get-available-slots", "['service_id' => 999, "+date+"]"), "invalid_request", http.StatusBadRequest, "service_id: Service not found")
	s.refused(s.execute("admin", "get-available-slots", "['service_id' => 1, 'duration' => -5, "+date+"]"), "invalid_request", http.StatusBadRequest, ": duration: ")
	execute(t, s.db.SQL, "UPDATE wp_latepoint_services SET visibility = 'hidden' WHERE id = 1")
	s.refused(s.execute("", "get-available-slots", "['service_id' => 1, "+date+"]"), "not_found", http.StatusNotFound)
	if diff := cmp.Diff(free, s.slots("admin", "['service_id' => 1, 'agent_id' => 2, "+date+"]")); diff != "" {
		t.Errorf("times of a hidden service for staff (-API +ability):\n%s", diff)
	}
	execute(t, s.db.SQL, "UPDATE wp_latepoint_services SET visibility = 'visible' WHERE id = 1")

	// A booking is complete, told of, and the user's.
	before = activities()
	first, second := free[0].StartTime, free[len(free)-1].StartTime
	made := s.execute("admin", "create-booking", at(first, ", 'notes' => 'By the window'"))
	if f := made.Found; f.Status != "approved" || f.Notes != "By the window" || f.AgentID != 2 || f.StartTime != first || f.EndTime != free[0].EndTime || f.StartDate != s.bookday {
		t.Fatalf("%+v", made)
	}
	if n := s.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE id = %d AND start_datetime_utc IS NOT NULL", made.Found.ID)); n != 1 || activities() == before {
		t.Errorf("the booking has %d rows with a time in UTC, and %d activities", n, activities()-before)
	}
	s.s.eventually("a change by the user", func() bool {
		return s.number(fmt.Sprintf("SELECT COUNT(*) FROM {own}changes WHERE resource = 'bookings' AND resource_id = %d AND kind = 'created' AND origin = 'site' AND actor_id = 1", made.Found.ID)) == 1
	})

	// What is taken, or never offered, is refused with the message and the field, and leaves nothing behind.
	all := s.number(rows)
	taken := s.execute("admin", "create-booking", at(first, ""))
	s.refused(taken, "time_slot_unavailable", http.StatusConflict, "not available. Free starts on that day, in minutes from midnight: ", fmt.Sprint(second))
	if len(taken.Data.AvailableSlots) == 0 {
		t.Error("no free times with the refusal")
	}
	s.refused(s.execute("admin", "create-booking", at(200, "")), "time_slot_unavailable", http.StatusConflict)
	s.refused(s.execute("admin", "create-booking", strings.Replace(at(second, ""), "'customer_id' => 1", "'customer_id' => 99999", 1)), "invalid_request", http.StatusBadRequest, "customer_id: Customer not found")
	short := s.execute("admin", "create-booking", at(second, fmt.Sprintf(", 'end_time' => %d", second-5)))
	s.refused(short, "validation_failed", http.StatusUnprocessableEntity, "Validation failed: end_time: ")
	if short.Data.Fields["end_time"] == "" {
		t.Errorf("%+v", short)
	}
	rest := fromPHP[struct {
		Status int
		Body   struct{ Code string }
	}](t, s.WordPress, s.functions+"return test_run('admin', 'create-booking', "+at(first, "")+");")
	if rest.Status != http.StatusConflict || rest.Body.Code != "time_slot_unavailable" {
		t.Errorf("by REST: %+v", rest)
	}
	if n := s.number(rows); n != all {
		t.Errorf("%d rows more", n-all)
	}

	// Of two at once, one gets the last time.
	rivals := []func() executed{starts[executed](s.bookingSite, s.code("admin", "create-booking", at(second, ""))), starts[executed](s.bookingSite, s.code("agent2", "create-booking", at(second, "")))}
	won := 0
	for _, wait := range rivals {
		if got := wait(); got.Found.ID != 0 {
			won++
		} else {
			s.refused(got, "time_slot_unavailable", http.StatusConflict)
		}
	}
	if won != 1 || s.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE start_date = '%s' AND agent_id = 2 AND start_time = %d", s.bookday, second)) != 1 {
		t.Errorf("%d of two have the time", won)
	}

	// Changes go through the transitions of the API: a moved booking ends later, and its old time is free.
	id := fmt.Sprintf("['id' => %d", made.Found.ID)
	third := free[len(free)/2]
	moved := s.execute("admin", "reschedule-booking", fmt.Sprintf("%s, 'start_time' => %d]", id, third.StartTime))
	if moved.Found.StartTime != third.StartTime || moved.Found.EndTime != third.EndTime || moved.Found.Status != "approved" {
		t.Errorf("moved: %+v", moved)
	}
	s.refused(s.execute("admin", "reschedule-booking", fmt.Sprintf("%s, 'start_time' => %d]", id, second)), "time_slot_unavailable", http.StatusConflict)
	if longer := s.execute("admin", "reschedule-booking", fmt.Sprintf("%s, 'end_time' => %d]", id, third.EndTime+5)); longer.Found.StartTime != third.StartTime || longer.Found.EndTime != third.EndTime+5 {
		t.Errorf("longer: %+v", longer)
	}
	before = activities()
	if got := s.execute("admin", "cancel-booking", id+"]"); got.Found.Status != "cancelled" || activities() == before {
		t.Errorf("cancelled: %+v, %d activities", got, activities()-before)
	}
	other := s.execute("admin", "create-booking", at(third.StartTime, ""))
	if other.Found.Status != "approved" {
		t.Errorf("the time of a cancelled booking: %+v", other)
	}
	s.refused(s.execute("admin", "approve-booking", id+"]"), "time_slot_unavailable", http.StatusConflict)
	if got := s.execute("admin", "change-booking-status", id+", 'status' => 'pending']"); got.Found.Status != "pending" {
		t.Errorf("pending: %+v", got)
	}
	if got := s.execute("admin", "update-booking", fmt.Sprintf("%s, 'start_time' => %d, 'status' => 'approved', 'notes' => 'Moved']", id, first)); got.Found.Status != "approved" || got.Found.StartTime != first || got.Found.Notes != "Moved" {
		t.Errorf("updated: %+v", got)
	}
	s.refused(s.execute("admin", "cancel-booking", "['id' => 99999]"), "not_found", http.StatusNotFound)

	// Nobody may do what their role does not allow.
	s.rolesCount(at)

	if strings.HasSuffix(t.Name(), "/LatePoint") { // the stand-in has no roles of its own
		s.customRolesCount(at, made.Found.ID)
	}

	// A server that does not answer books nothing, and the owner learns why.
	all = s.number(rows)
	s.switchTo(true, "127.0.0.1:1")
	for ability, input := range map[string]string{"create-booking": at(free[1].StartTime, ""), "cancel-booking": id + "]", "get-available-slots": "['service_id' => 1, " + date + "]"} {
		s.refused(s.execute("admin", ability, input), "bookside_unavailable", http.StatusServiceUnavailable, "does not answer at the moment. Nothing was saved.")
	}
	broken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broken.Close() })
	go func() {
		for {
			connection, err := broken.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1))
			_ = connection.Close()
		}
	}()
	s.switchTo(true, broken.Addr().String())
	s.refused(s.execute("admin", "create-booking", at(free[1].StartTime, "")), "bookside_unavailable", http.StatusServiceUnavailable, "may have been saved")
	if n := s.number(rows); n != all || s.number(fmt.Sprintf("SELECT COUNT(*) FROM {p}bookings WHERE id = %d AND status = 'approved'", made.Found.ID)) != 1 {
		t.Errorf("without the server: %d rows more", n-all)
	}
	wantTexts(t, s.Run(t, "echo json_encode(bookside_companion_failures());"), `"abilities":{"count":4`, "systemctl start bookside")
	for line := range strings.Lines(s.Faults(t)) {
		if strings.Contains(line, "bookside") { // LatePoint itself logs a lot
			t.Error(line)
		}
	}
}

// rolesCount tests that users are limited to what their role includes.
func (s *abilitySite) rolesCount(at func(minutes int, more string) string) {
	s.t.Helper()
	if got := s.execute("reader", "create-booking", at(600, "")); got.Code != "ability_invalid_permissions" {
		s.t.Errorf("a subscriber: %+v", got)
	}
	anyAgent := strings.Replace(at(600, ""), "'agent_id' => 2, ", "", 1)
	own := s.execute("agent2", "create-booking", anyAgent)
	if own.Found.AgentID != 2 {
		s.t.Errorf("an agent books any: %+v", own)
	}
	s.refused(s.execute("agent2", "create-booking", anyAgent), "time_slot_unavailable", http.StatusConflict) // others may be free
	elsewhere := strings.Replace(anyAgent, "'service_id'", "'agent_id' => 1, 'service_id'", 1)
	s.refused(s.execute("agent2", "create-booking", elsewhere), "forbidden", http.StatusForbidden)
	colleague := s.execute("admin", "create-booking", elsewhere)
	if colleague.Found.AgentID != 1 {
		s.t.Fatalf("%+v", colleague)
	}
	s.refused(s.execute("agent2", "cancel-booking", fmt.Sprintf("['id' => %d]", colleague.Found.ID)), "forbidden", http.StatusForbidden)
	s.refused(s.execute("agent2", "update-booking", fmt.Sprintf("['id' => %d, 'agent_id' => 1]", own.Found.ID)), "forbidden", http.StatusForbidden)
	if got := s.execute("agent2", "cancel-booking", fmt.Sprintf("['id' => %d]", own.Found.ID)); got.Found.Status != "cancelled" {
		s.t.Errorf("an agent cancels their own booking: %+v", got)
	}
	// A customer of colleagues only is not theirs; a new one is anybody's.
	execute(s.t, s.db.SQL, "INSERT INTO wp_latepoint_customers (id, first_name, email) VALUES (9101, 'Ida', 'ida@example.test'), (9102, 'Emil', 'emil@example.test')")
	execute(s.t, s.db.SQL, fmt.Sprintf("UPDATE wp_latepoint_bookings SET customer_id = 9101 WHERE id = %d", colleague.Found.ID))
	s.refused(s.execute("agent2", "create-booking", strings.Replace(anyAgent, "'customer_id' => 1", "'customer_id' => 9101", 1)), "forbidden", http.StatusForbidden, "customer")
	if got := s.execute("agent2", "create-booking", strings.Replace(anyAgent, "'customer_id' => 1", "'customer_id' => 9102", 1)); got.Found.CustomerID != 9102 {
		s.t.Errorf("an agent books for a new customer: %+v", got)
	}
}

// customRolesCount tests that a role of the site's own is limited to the services that its user may see.
func (s *abilitySite) customRolesCount(at func(minutes int, more string) string, foreign int) {
	s.t.Helper()
	execute(s.t, s.db.SQL, `INSERT INTO wp_latepoint_settings (name, value) VALUES ('custom_roles', '{"clerk":{"wp_role":"clerk","name":"Clerk","user_type":"custom","capabilities":["booking__create","booking__edit"]}}')`)
	s.Run(s.t, `add_role('clerk', 'Clerk', ['read' => true]);
		$id = wp_insert_user(['user_login' => 'clerk', 'user_pass' => 'clerk', 'user_email' => 'clerk@example.test', 'role' => 'clerk']);
		update_user_meta($id, 'latepoint_custom_allowed_records', ['agent' => LATEPOINT_ALL, 'service' => [4], 'location' => LATEPOINT_ALL]);`)
	execute(s.t, s.db.SQL, "INSERT INTO wp_latepoint_customers (id, first_name, email) VALUES (9103, 'Max', 'max@example.test')")
	free := s.slots("clerk", "['service_id' => 4, 'date' => '"+s.bookday+"']")
	if len(free) == 0 {
		s.t.Fatal("no free times of service 4")
	}
	own := s.execute("clerk", "create-booking", fmt.Sprintf("['customer_id' => 9103, 'service_id' => 4, 'start_date' => '%s', 'start_time' => %d]", s.bookday, free[0].StartTime))
	if own.Found.ID == 0 {
		s.t.Errorf("a clerk books their service: %+v", own)
	}
	if got := s.execute("clerk", "cancel-booking", fmt.Sprintf("['id' => %d]", own.Found.ID)); got.Found.Status != "cancelled" {
		s.t.Errorf("a clerk cancels a booking of their service: %+v", got)
	}
	s.refused(s.execute("clerk", "create-booking", at(615, "")), "forbidden", http.StatusForbidden)
	s.refused(s.execute("clerk", "cancel-booking", fmt.Sprintf("['id' => %d]", foreign)), "booking_not_found", http.StatusNotFound)
}
