package handlers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// The files of the calendar add-ons.
const (
	googleFile  = "latepoint-google-calendar/latepoint-google-calendar.php"
	outlookFile = "latepoint-outlook-calendar/latepoint-outlook-calendar.php"
	appleFile   = "latepoint-apple-calendar/latepoint-apple-calendar.php"
)

const (
	appleOn    = "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_apple_calendar', 'on')"
	allOff     = "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_google_calendar', 'off'), ('enable_outlook_calendar', 'off'), ('enable_apple_calendar', 'off')"
	tablesOf14 = "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.1')"
	tablesOf16 = "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.2')"
)

// newServerWithCalendars is like newQuietServer, for a site with the add-ons' tables.
func newServerWithCalendars(t testing.TB, arrange ...string) *server {
	t.Helper()
	s := newQuietServer(t, "09:00", "12:00")
	s.database.AddCalendars(t)
	s.database.Execute(t, arrange...)
	return s
}

// TestEventsOfAgentsBlock: events of an agent's calendar block the agent, by the rules of the add-on that
// stored them, if it is active.
func TestEventsOfAgentsBlock(t *testing.T) {
	t.Parallel()
	s := newServerWithCalendars(t)
	const tuesday, wednesday, after = "2026-11-24", "2026-11-25", "2026-12-08" // two weeks later
	grid := []string{"09:00", "09:30", "10:00", "10:30", "11:00"}
	none := []string{}
	of := func(calendar, event string, recurrences ...string) func(testing.TB, *server) {
		return func(t testing.TB, s *server) { s.database.InsertEvent(t, calendar, event, recurrences...) }
	}
	const (
		hour  = "1, '2026-11-24', 600, '2026-11-24', 660"
		whole = "1, '2026-11-24', 0, '2026-11-24', 1439"
		days  = "1, '2026-11-24', 1320, '2026-11-25', 630" // 22:00 to 10:30
	)
	for name, c := range map[string]struct {
		arrange  []string
		event    func(testing.TB, *server)
		offered  map[string][]string // by the end of the query
		explains string              // the reasons for the last day of offered
	}{
		"an hour in Google":  {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, hour), map[string][]string{"agent_id=1&date=" + tuesday: {"09:00", "11:00"}, "agent_id=1&date=" + wednesday: grid, "agent_id=3&location_id=1&date=" + tuesday: grid}, ""},
		"an hour in Outlook": {[]string{activate(pluginFile, outlookFile)}, of(fixtures.OutlookCalendar, hour), map[string][]string{"agent_id=1&date=" + tuesday: {"09:00", "11:00"}}, ""},
		"an hour in Apple's": {[]string{activate(pluginFile, appleFile), appleOn}, of(fixtures.AppleCalendar, hour), map[string][]string{"agent_id=1&date=" + tuesday: {"09:00", "11:00"}}, ""},
		"another agent is free": {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, whole), map[string][]string{
			"agent_id=1&date=" + tuesday: none, "agent_id=1&location_id=2&date=" + tuesday: none, "agent_id=any&date=" + tuesday: grid,
		}, ""},
		"the add-on is not active":     {nil, of(fixtures.GoogleCalendar, whole), map[string][]string{"agent_id=1&date=" + tuesday: grid}, ""},
		"Google's is switched off":     {[]string{activate(pluginFile, googleFile), allOff}, of(fixtures.GoogleCalendar, whole), map[string][]string{"agent_id=1&date=" + tuesday: none}, ""},
		"Apple's is switched off":      {[]string{activate(pluginFile, appleFile), allOff}, of(fixtures.AppleCalendar, whole), map[string][]string{"agent_id=1&date=" + tuesday: grid}, ""},
		"Apple's is not switched on":   {[]string{activate(pluginFile, appleFile)}, of(fixtures.AppleCalendar, whole), map[string][]string{"agent_id=1&date=" + tuesday: grid}, ""},
		"all day in Apple's":           {[]string{activate(pluginFile, appleFile), appleOn}, of(fixtures.AppleCalendar, "1, '2026-11-24', 0, '2026-11-25', 0"), map[string][]string{"agent_id=1&date=" + tuesday: grid}, ""},
		"all day in Outlook":           {[]string{activate(pluginFile, outlookFile)}, of(fixtures.OutlookCalendar, "1, '2026-11-24', 0, '2026-11-25', 0"), map[string][]string{"agent_id=1&date=" + tuesday: none, "agent_id=1&date=" + wednesday: grid}, ""},
		"a night, Google 1.4":          {[]string{activate(pluginFile, googleFile), tablesOf14}, of(fixtures.GoogleCalendar, days), map[string][]string{"agent_id=1&date=" + wednesday: grid}, ""},
		"a night, Google 1.6":          {[]string{activate(pluginFile, googleFile), tablesOf16}, of(fixtures.GoogleCalendar, days), map[string][]string{"agent_id=1&date=" + tuesday: grid, "agent_id=1&date=" + wednesday: {"10:30", "11:00"}}, ""},
		"a night, unknown version":     {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, days), map[string][]string{"agent_id=1&date=" + wednesday: {"10:30", "11:00"}}, ""},
		"weekly":                       {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, hour, "'WEEKLY', 2, NULL, 'TU', NULL"), map[string][]string{"agent_id=1&date=" + after: {"09:00", "11:00"}, "agent_id=1&date=2026-12-01": grid}, ""},
		"weekly until that day":        {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, hour, "'WEEKLY', 1, NULL, 'TU', '2026-12-08'"), map[string][]string{"agent_id=1&date=" + after: grid, "agent_id=1&date=2026-12-01": {"09:00", "11:00"}}, ""},
		"an event without an end":      {[]string{activate(pluginFile, googleFile)}, of(fixtures.GoogleCalendar, "1, '2026-11-24', 660, NULL, NULL"), map[string][]string{"agent_id=1&date=" + tuesday: none, "agent_id=1&date=" + wednesday: grid}, ""},
		"buffers of the service count": {[]string{activate(pluginFile, googleFile), "UPDATE wp_latepoint_services SET buffer_before = 15 WHERE id = 1"}, of(fixtures.GoogleCalendar, "1, '2026-11-24', 540, '2026-11-24', 560"), map[string][]string{"agent_id=1&date=" + tuesday: {"10:00", "10:30", "11:00"}}, "09:00 calendar, 09:30 calendar"},
		"time off comes first":         {[]string{activate(pluginFile, googleFile, addOnFile), "INSERT INTO wp_latepoint_blocked_periods (agent_id, service_id, location_id, start_date, start_time, end_time) VALUES (1, 0, 0, '2026-11-24', 540, 600)"}, of(fixtures.GoogleCalendar, hour), map[string][]string{"agent_id=1&date=" + tuesday: {"11:00"}}, "09:00 off_period, 09:30 off_period, 10:00 calendar, 10:30 calendar"},
	} {
		t.Run(name, func(t *testing.T) {
			s.database.Execute(t, activate(pluginFile), "DELETE FROM wp_latepoint_settings WHERE name LIKE 'enable%calendar' OR name = 'active_addons'",
				"DELETE FROM wp_options WHERE option_name LIKE 'latepoint-google%'", "DELETE FROM wp_latepoint_blocked_periods",
				"UPDATE wp_latepoint_services SET buffer_before = 0 WHERE id = 1", "DELETE FROM wp_latepoint_gcal_events",
				"DELETE FROM wp_latepoint_outlook_events", "DELETE FROM wp_latepoint_apple_calendar_events")
			s.database.Execute(t, c.arrange...)
			c.event(t, s)
			for query, want := range c.offered {
				a := s.day(t, "service_id=1&"+query+"&explain=1")
				if diff := cmp.Diff(want, a.AvailableSlots); diff != "" {
					t.Errorf("%s (-want +got):\n%s", query, diff)
				}
				if got := strings.Join(a.unavailable(), ", "); c.explains != "" && got != c.explains {
					t.Errorf("%s: %s", query, got)
				}
			}
			// The same days requested as a range have the same starts.
			for query, want := range c.offered {
				agent, date, _ := strings.Cut(query, "&date=")
				got := s.get("/availability?service_id=1&" + agent + "&date=2026-11-23&date_to=2026-12-15").want(http.StatusOK)
				if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got.at("data", "days", date))); diff != "" {
					t.Errorf("%s in a range (-want +got):\n%s", query, diff)
				}
			}
			if strings.Contains(s.log.String(), fixtures.EventText) {
				t.Error("the log has the text of an event")
			}
		})
	}
}

// TestBookingsRespectEventsOfAgents: no request can make or move a booking onto an event of the agent. The
// response lists what is free, and reveals nothing about the event.
func TestBookingsRespectEventsOfAgents(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	s := newServerWithCalendars(t, activate(pluginFile, googleFile))
	s.platform.Pick = func(int) int { return 0 } // agent 1, if any
	s.database.InsertEvent(t, fixtures.GoogleCalendar, "1, '2026-11-24', 600, '2026-11-24', 660", "'DAILY', 1, NULL, NULL, NULL")
	body := func(agent, start string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%s,"location_id":1,"start_date":"2026-11-25","start_time":"%s","customer_id":1}`, agent, start)
	}
	made := s.write(http.MethodPost, "/bookings", body("1", "09:00")).want(http.StatusCreated)
	id := fmt.Sprint(made.at("data", "id"))
	before := s.database.Snapshot(t)
	for name, send := range map[string]func() answer{
		"a booking":   func() answer { return s.write(http.MethodPost, "/bookings", body("1", "10:00")) },
		"a rehearsal": func() answer { return s.write(http.MethodPost, "/bookings?dry_run=1", body("1", "10:00")) },
		"a hold": func() answer {
			return s.write(http.MethodPost, "/holds", strings.Replace(body("1", "10:00"), `,"customer_id":1`, "", 1))
		},
		"a move": func() answer { return s.write(http.MethodPut, "/bookings/"+id, `{"start_time":"10:30"}`) },
		"another day": func() answer {
			return s.write(http.MethodPut, "/bookings/"+id, `{"start_date":"2026-11-26","start_time":"10:00"}`)
		},
		"a longer visit": func() answer {
			return s.write(http.MethodPut, "/bookings/"+id, `{"start_time":"09:00","duration":90}`)
		},
	} {
		a := send()
		wantCode(t, a, http.StatusConflict, "time_slot_unavailable")
		if strings.Contains(string(a.body), fixtures.EventText) || strings.Contains(string(a.body), "calendar") {
			t.Errorf("%s: %s", name, a.body)
		}
		wantNoWrites(t, name, before)
	}
	some := s.write(http.MethodPost, "/bookings/bulk", `[`+body("1", "10:00")+`,`+body("1", "11:00")+`]`).want(http.StatusMultiStatus)
	if strings.Contains(string(some.body), fixtures.EventText) || !strings.Contains(string(some.body), "Time slot not available") {
		t.Errorf("bulk: %s", some.body)
	}
	other := s.write(http.MethodPost, "/bookings", body(`"any"`, "10:00")).want(http.StatusCreated)
	if agent := other.at("data", "agent", "id"); fmt.Sprint(agent) == "1" {
		t.Errorf("agent %v got a booking", agent)
	}
	free := s.get("/agents/availability?service_id=1&location_id=2&date=2026-11-26&start_time=10:00").want(http.StatusOK)
	if ids := agentIDs(free); slices.Contains(ids, "1") || len(ids) == 0 {
		t.Errorf("agents %v are free", ids)
	}
	if free = s.get("/agents/availability?date=2026-11-26&start_time=10:00").want(http.StatusOK); slices.Contains(agentIDs(free), "1") {
		t.Errorf("agents %v are free for any service", agentIDs(free))
	}
	if strings.Contains(s.log.String(), fixtures.EventText) {
		t.Error("the log has the text of an event")
	}
}

// agentIDs returns the ids of the agents in a response.
func agentIDs(a answer) (ids []string) {
	for _, agent := range a.at("data", "agents").([]any) {
		ids = append(ids, fmt.Sprint(agent.(map[string]any)["id"]))
	}
	return ids
}

// TestEventsAreReadAnew: an event that an add-on stores, changes or deletes counts in the next request,
// even if its tables are created after the first one; and so does a changed version of the add-on.
func TestEventsAreReadAnew(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	s := newQuietServer(t, "09:00", "12:00")
	offers := func(what, want string) {
		t.Helper()
		a := s.get("/availability?service_id=1&agent_id=1&date=2026-11-25").want(http.StatusOK)
		if got := fmt.Sprint(a.at("data", "available_slots")); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const all, blocked = "[09:00 09:30 10:00 10:30 11:00]", "[09:00 11:00]"
	offers("no add-on", all)
	s.database.Execute(t, activate(pluginFile, googleFile))
	offers("no tables", all)
	s.write(http.MethodPost, "/bookings", `{"service_id":1,"agent_id":3,"location_id":1,"start_date":"2026-11-25","start_time":"09:00","customer_id":1}`).want(http.StatusCreated)
	s.database.AddCalendars(t)
	offers("no events", all)
	s.database.InsertEvent(t, fixtures.GoogleCalendar, "1, '2026-11-24', 600, '2026-11-25', 660")
	offers("an event of two days", "[11:00]")
	s.database.Execute(t, tablesOf14)
	offers("by the rules before", blocked)
	s.database.Execute(t, "UPDATE wp_latepoint_gcal_events SET end_date = '2026-11-24'")
	offers("of one day", all)
	s.database.Execute(t, "INSERT INTO wp_latepoint_gcal_recurrences (lp_event_id, frequency, `interval`) SELECT id, 'DAILY', 1 FROM wp_latepoint_gcal_events")
	offers("each day", blocked)
	s.database.Execute(t, "UPDATE wp_latepoint_gcal_events SET agent_id = 3")
	offers("of another agent", all)
	s.database.Execute(t, "UPDATE wp_latepoint_gcal_events SET agent_id = 1", activate(pluginFile))
	offers("the add-on was deactivated", all)
	s.database.Execute(t, activate(pluginFile, googleFile), "DELETE FROM wp_latepoint_gcal_events")
	offers("deleted", all)
}

// TestEventsGoneByAreNotRead: add-ons keep the events of years, and the cost of a day does not grow with
// them.
func TestEventsGoneByAreNotRead(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t) // the embedded engine has its own planner
	database := fixtures.New(t, fixtures.Small(now))
	database.AddCalendars(t)
	database.Execute(t, activate(pluginFile, googleFile))
	var events []statement
	s := tappedServer(t, database, func(shown statement) error {
		if strings.Contains(shown.text, "gcal_events") {
			events = append(events, shown)
		}
		return nil
	})
	add := func(day, number int) {
		rows := make([]string, number)
		for i := range rows {
			date := s.clock.AddDate(0, 0, day+i%50).Format("2006-01-02")
			rows[i] = fmt.Sprintf("(%d, '%s', 600, '%[2]s', 660)", 1+i%3, date)
		}
		database.Execute(t, "INSERT INTO wp_latepoint_gcal_events (agent_id, start_date, start_time, end_date, end_time) VALUES "+strings.Join(rows, ", "),
			"ANALYZE TABLE wp_latepoint_gcal_events")
	}
	read := func() int {
		events = nil
		s.get("/availability?service_id=1&agent_id=any&date=2026-11-24&date_to=2026-12-07").want(http.StatusOK)
		if len(events) != 1 {
			t.Fatalf("%d statements read events", len(events))
		}
		return rowsRead(t, database, events[0])
	}
	s.get("/status").want(http.StatusOK)
	add(0, 300)
	before := read()
	add(-400, 6000)
	if after := read(); after > before+300 {
		t.Errorf("%d rows are read, %d without the events of last year", after, before)
	}
}
