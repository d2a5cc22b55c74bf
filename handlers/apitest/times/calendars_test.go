package times_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/apitest"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// event is a VEVENT: its unfolded properties by name.
type event map[string]string

// eventsIn parses a response without the library, which would merely read back what it wrote itself.
func eventsIn(t testing.TB, a apitest.Answer) []event {
	t.Helper()
	a.Want(http.StatusOK)
	expect.Equal(t, "text/calendar; charset=utf-8", a.Header.Get("Content-Type"), "Content-Type")
	text := strings.ReplaceAll(string(a.Body), "\r\n ", "")
	if !strings.HasPrefix(text, "BEGIN:VCALENDAR\r\n") || !strings.HasSuffix(text, "\r\nEND:VCALENDAR\r\n") {
		t.Fatalf("%.300s", text)
	}
	events := []event{}
	var open event
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "BEGIN:VEVENT":
			open = event{}
		case line == "END:VEVENT":
			events, open = append(events, open), nil
		case open != nil && open[name] != "":
			t.Errorf("%s twice: %v", name, open)
		case open != nil:
			open[name] = value
		}
	}
	return events
}

// TestCalendars: a calendar has the bookings of its agent or location, each with the details that it was
// created for.
func TestCalendars(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET location_id = 2 WHERE id % 3 = 0",
		"UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE id % 5 = 0", "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id % 5 = 1",
		"DELETE FROM wp_latepoint_agents_services", // bookings of services no longer offered keep their name
		"UPDATE wp_latepoint_locations SET full_address = 'High Street 1' WHERE id = 1",
		"UPDATE wp_latepoint_orders SET customer_comment = 'Ring, twice;\\nplease'")
	for of, id := range map[domain.Resource]int64{domain.AgentResource: 5, domain.LocationResource: 2} {
		within := s.Texts(fmt.Sprintf("SELECT id FROM {bookings} WHERE %s_id = %d AND start_date BETWEEN '2026-08-23' AND '2027-11-21'", of, id))
		for _, details := range []keys.Details{keys.Busy, keys.Names, keys.Full} {
			a := s.Read(s.Calendar(details, of, id))
			if n := len(eventsIn(t, a)); n != len(within) || n < 10 {
				t.Errorf("%s %s: %d events, want %d", of, details, n, len(within))
			}
			first := bytes.SplitAfter(a.Body, []byte("END:VEVENT\r\n"))[:6]
			apitest.GoldenFile(t, filepath.Join("tables", fmt.Sprintf("calendar-%s-%s.ics", of, details)), bytes.Join(first, nil))
		}
	}
}

// TestCalendarRequestsAreCountedAndLimited: each request counts, has the key's limits and is throttled like
// a key's. Unchanged content is not sent again.
func TestCalendarRequestsAreCountedAndLimited(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings(), func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live, o.FailedKeysPerMinute = true, ratelimit.Limits{PerMinute: 8, PerHour: 100}, 3
	})
	r := s.Calendar(keys.Names, domain.AgentResource, 5)
	first := s.Read(r).Want(http.StatusOK)
	tag := first.Header.Get("ETag")
	ask := func(tag string) apitest.Answer {
		return s.Do(http.MethodGet, "/v1"+r.Path+"?"+r.Query, http.Header{"If-None-Match": {tag}})
	}
	s.Clock = apitest.Now.Add(25 * time.Second)
	ask(tag).Want(http.StatusNotModified)
	other := s.Calendar(keys.Busy, domain.AgentResource, 5)
	if busy := s.Read(other).Want(http.StatusOK); busy.Header.Get("ETag") == tag {
		t.Error("calendars with other details have the same tag")
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_customers SET first_name = 'Changed'") // not a column of a booking
	if changed := ask(tag).Want(http.StatusOK); changed.Header.Get("ETag") == tag || !strings.Contains(string(changed.Body), "Changed") {
		t.Error("a customer's new name is not shown")
	}
	for range 5 {
		s.Read(r).Want(http.StatusOK)
	}
	if a := s.Read(r).Want(http.StatusTooManyRequests); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	all, err := s.Keys.Calendars(t.Context())
	if err != nil || all[0].Requests != 9 || all[1].Requests != 1 || all[0].LastUsedAt != "2026-11-21 00:43:25" {
		t.Errorf("%v: %+v", err, all)
	}
	s.Clock = apitest.Now.Add(time.Minute)
	s.Get("/status").Want(http.StatusOK)
	s.Read(apitest.Request{Path: r.Path, Query: "api_key=" + s.Key}).Want(http.StatusUnauthorized)
	for i := range 4 {
		want := http.StatusUnauthorized
		if i >= 2 {
			want = http.StatusTooManyRequests
		}
		s.Read(apitest.Request{Path: r.Path, Query: fmt.Sprintf("api_key=lp_calendar_%038d", i)}).Want(want)
	}
	s.Read(r).Want(http.StatusOK) // what was accepted before is not locked out
	s.Get("/status").Want(http.StatusOK)
}

// TestCalendarsFollowChanges: a booking keeps its UID; its sequence rises with
// each change and never falls; a deleted booking disappears.
func TestCalendarsFollowChanges(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithFewBookings())
	calendar := s.Calendar(keys.Names, domain.AgentResource, 5)
	created := s.Write(http.MethodPost, "/bookings", apitest.Friday("send_confirmation", "true")).Want(http.StatusCreated)
	id, uid := fmt.Sprint(created.At("data", "id")), fmt.Sprintf("%v@127.0.0.1", created.At("data", "booking_code"))
	last := -1
	shows := func(what string, want event, rises bool) {
		t.Helper()
		s.Clock = s.Clock.Add(time.Minute)
		events := slices.DeleteFunc(eventsIn(t, s.Read(calendar)), func(e event) bool { return e["UID"] != uid })
		if len(events) != 1 {
			t.Fatalf("%s: %d events", what, len(events))
		}
		sequence, err := strconv.Atoi(events[0]["SEQUENCE"])
		if err != nil || sequence < last || (sequence > last) != rises {
			t.Errorf("%s: sequence %q after %d", what, events[0]["SEQUENCE"], last)
		}
		last = sequence
		for name, value := range want {
			expect.Equal(t, value, events[0][name], fmt.Sprintf("%s: %s", what, name))
		}
	}
	shows("new", event{"DTSTART": "20270205T090000Z", "DTEND": "20270205T100000Z", "STATUS": "CONFIRMED"}, true)
	shows("the same", event{}, false)
	s.Write(http.MethodPut, "/bookings/"+id, `{"start_time":"14:30"}`).Want(http.StatusOK)
	shows("moved", event{"DTSTART": "20270205T133000Z", "DTEND": "20270205T143000Z"}, true)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET start_time = 600, end_time = 660 WHERE id = "+id)
	shows("moved by SQL", event{"DTSTART": "20270205T090000Z", "DTEND": "20270205T100000Z"}, false)
	s.Write(http.MethodPut, "/bookings/"+id, `{"status":"cancelled","send_notification":true}`).Want(http.StatusOK)
	shows("cancelled", event{"STATUS": "CANCELLED", "TRANSP": "TRANSPARENT"}, true)
	// Like a request that arrived before the last one and waited for it.
	order := fmt.Sprint(created.At("data", "order", "id"))
	for _, late := range [][2]string{{"/bookings/" + id, `{"status":"approved"}`}, {"/orders/" + order, `{"customer_id":12}`}} {
		s.Clock = s.Clock.Add(-90 * time.Second)
		s.Write(http.MethodPut, late[0], late[1]).Want(http.StatusOK)
		shows("late: "+late[1], event{"STATUS": "CONFIRMED"}, false)
		s.Clock = s.Clock.Add(30 * time.Second)
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET updated_at = NULL WHERE id = "+id)
	s.Write(http.MethodPut, "/bookings/"+id, `{"start_time":"15:00"}`).Want(http.StatusOK)
	shows("without a time of its own", event{"DTSTART": "20270205T140000Z"}, true)
	s.Write(http.MethodDelete, "/bookings/"+id+"?force=true", "").Want(http.StatusOK)
	if text := string(s.Read(calendar).Body); strings.Contains(text, uid) {
		t.Error("a deleted booking is shown")
	}
}

// TestCalendarTimes: events begin and end when the site's clock shows it, across both clock changes and in
// zones that are mere offsets.
func TestCalendarTimes(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	calendar := s.Calendar(keys.Busy, domain.AgentResource, 5)
	s.Database.Execute(t, "DELETE FROM wp_latepoint_bookings WHERE id <> 53", "UPDATE wp_latepoint_bookings SET agent_id = 5 WHERE id = 53")
	for name, c := range map[string]struct {
		zone, offset         string // options of WordPress
		date, lastDate       string
		start, end, duration int // minutes
		from, to, shownIn    string
	}{
		"summer":                     {"Europe/Berlin", "", "2027-07-15", "2027-07-15", 600, 660, 60, "20270715T080000Z", "20270715T090000Z", "Europe/Berlin"},
		"over the change of spring":  {"Europe/Berlin", "", "2027-03-28", "2027-03-28", 90, 210, 120, "20270328T003000Z", "20270328T023000Z", "Europe/Berlin"},
		"over the change of autumn":  {"Europe/Berlin", "", "2027-10-31", "2027-10-31", 90, 210, 120, "20271030T233000Z", "20271031T023000Z", "Europe/Berlin"},
		"over midnight and a change": {"Europe/Berlin", "", "2027-03-27", "2027-03-28", 1410, 240, 270, "20270327T223000Z", "20270328T030000Z", "Europe/Berlin"},
		"the south":                  {"Australia/Sydney", "", "2027-04-04", "2027-04-04", 60, 240, 180, "20270403T140000Z", "20270403T180000Z", "Australia/Sydney"},
		"a negative offset":          {"", "-3.5", "2027-03-28", "2027-03-28", 1400, 20, 60, "20270329T025000Z", "20270329T035000Z", ""},
		"no such zone":               {"Mars/Olympus", "", "2027-03-28", "2027-03-28", 600, 660, 60, "20270328T100000Z", "20270328T110000Z", "UTC"},
	} {
		s.Database.Execute(t, fmt.Sprintf("UPDATE wp_options SET option_value = '%s' WHERE option_name = 'timezone_string'", c.zone),
			fmt.Sprintf("UPDATE wp_options SET option_value = '%s' WHERE option_name = 'gmt_offset'", c.offset),
			fmt.Sprintf("UPDATE wp_latepoint_bookings SET start_date = '%s', end_date = '%s', start_time = %d, end_time = %d, duration = %d", c.date, c.lastDate, c.start, c.end, c.duration))
		a := s.Read(calendar)
		events := eventsIn(t, a)
		if len(events) != 1 || events[0]["DTSTART"] != c.from || events[0]["DTEND"] != c.to {
			t.Errorf("%s: %v, want %s to %s", name, events, c.from, c.to)
		}
		if _, shown, _ := strings.Cut(string(a.Body), "X-WR-TIMEZONE:"); !strings.HasPrefix(shown, c.shownIn+"\r\n") && c.shownIn+shown != "" {
			t.Errorf("%s: shown in %.30q, want %q", name, shown, c.shownIn)
		}
	}
	// A booking without a code and timestamps is named by its id, and is as old as its start.
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET booking_code = '', created_at = NULL, updated_at = NULL")
	for _, a := range []apitest.Answer{s.Read(s.Calendar(keys.Names, domain.AgentResource, 5)), s.Export("/bookings", "text/calendar")} {
		events := eventsIn(t, a)
		if len(events) != 1 || events[0]["UID"] != "booking-53@127.0.0.1" || events[0]["DTSTAMP"] != events[0]["DTSTART"] {
			t.Errorf("without a code and times: %v", events)
		}
	}
}

// TestCalendarsAreBounded: a calendar reaches from 90 days ago to 365 days ahead. If there are too many
// bookings, it has the next ones first, and then the latest. Long texts are cut.
func TestCalendarsAreBounded(t *testing.T) {
	s := apitest.Own(t, fixtures.SiteA().WithFewBookings())
	calendar := s.Calendar(keys.Full, domain.LocationResource, 1)
	s.Database.Execute(t, "CREATE TABLE model AS SELECT * FROM wp_latepoint_bookings WHERE id = 53", "DELETE FROM wp_latepoint_bookings",
		"UPDATE model SET location_id = 1", "UPDATE wp_latepoint_orders SET customer_comment = REPEAT('ü', 60000)")
	fill := func(number, first int, date string) {
		t.Helper()
		s.Database.Execute(t, fmt.Sprintf("UPDATE model SET start_date = '%s', end_date = '%[1]s', booking_code = NULL", date))
		columns := "start_date, end_date, start_time, end_time, duration, status, customer_id, service_id, agent_id, location_id, order_item_id, total_attendees, booking_code, created_at, updated_at, buffer_before, buffer_after"
		s.Database.Execute(t, fmt.Sprintf("INSERT INTO wp_latepoint_bookings (id, %[1]s) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d) SELECT %[3]d + i, %[1]s FROM model, n", columns, number-1, first))
	}
	for i, date := range []string{"2026-08-22", "2026-08-23", "2026-11-20", "2026-11-21", "2027-11-21", "2027-11-22"} {
		fill(1, i+1, date)
	}
	size := 0
	uids := func() (found []string) {
		a := s.Read(calendar)
		size = len(a.Body)
		for _, e := range eventsIn(t, a) {
			found = append(found, strings.TrimSuffix(strings.TrimPrefix(e["UID"], "booking-"), "@127.0.0.1"))
		}
		return found
	}
	uids() // reads the schema too
	expect.Equal(t, []string{"2", "3", "4", "5"}, uids(), "bookings in the calendar")
	if queries := s.Log.Last(t).Queries; queries > 7 {
		t.Errorf("%d statements", queries)
	}
	fill(1000, 1000, "2027-01-05")
	fill(1000, 3000, "2026-10-05") // MySQL allows no more repetitions of a statement
	fill(500, 4000, "2026-10-05")
	got := uids()
	if len(got) != 2000 || !slices.Contains(got, "5") || !slices.Contains(got, "1999") || !slices.Contains(got, "3") || slices.Contains(got, "2") {
		t.Errorf("%d events", len(got))
	}
	if size > 4<<20 {
		t.Errorf("%d bytes", size)
	}
	fill(1000, 6000, "2027-02-05")
	fill(500, 7000, "2027-02-05")
	if got := uids(); len(got) != 2000 || slices.Contains(got, "3") || slices.Contains(got, "5") || !slices.Contains(got, "1999") {
		t.Errorf("%d events", len(got))
	}
}

// TestCalendarSecretsAreNotLogged: neither successful nor failed requests leave the secret of a calendar in
// a log.
func TestCalendarSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	direct := *database
	dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
	direct.DSN = dsn
	s := apitest.NewServer(t, &direct)
	s.Handler = handlers.New(s.Platform, s.Keys, apitest.FixedClock, slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		handlers.Options{BasePaths: []string{"/v1", "/wp-json/latepoint-api/v1"}, RequestTimeout: time.Minute, FailedKeysPerMinute: 3, LogClients: true})
	calendar := s.Calendar(keys.Full, domain.AgentResource, 5)
	secret := strings.TrimPrefix(calendar.Query, "api_key=")
	s.Read(calendar).Want(http.StatusOK) // even without auth.query_parameter
	s.Do(http.MethodGet, "/?rest_route="+url.QueryEscape("/latepoint-api/v1"+calendar.Path)+"&"+calendar.Query, nil).Want(http.StatusOK)
	s.Read(apitest.Request{Path: "/agents/6/calendar.ics", Query: calendar.Query}).Want(http.StatusUnauthorized)
	s.Read(apitest.Request{Path: "/nowhere", Query: calendar.Query}).Want(http.StatusNotFound)
	for _, on := range []string{"latepoint_bookings", "bookside_api_keys"} {
		proxy.Arm(fixtures.Fault{On: on, Lost: true}, fixtures.Fault{On: on}, fixtures.Fault{On: on, Skip: 1, Answer: 20})
		for range 3 {
			s.Read(calendar)
		}
		proxy.Disarm()
	}
	database.Execute(t, "ALTER TABLE wp_latepoint_services DROP COLUMN name")
	s.Read(calendar)
	log := s.Log.String()
	if !strings.Contains(log, `"route":"/v1/agents/:id/calendar.ics"`) || !strings.Contains(log, `"msg":"request failed"`) {
		t.Fatalf("%.500s", log)
	}
	if strings.Contains(log, secret) || strings.Contains(log, secret[12:]) || strings.Contains(log, "lp_calendar_") {
		t.Error("the secret is in the log")
	}
	var stored int
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wp_bookside_api_keys WHERE CONCAT_WS(' ', key_hash, key_start, name, last_four) LIKE ?", "%"+secret[12:40]+"%").Scan(&stored); err != nil || stored != 0 {
		t.Errorf("the secret is stored: %v", err)
	}
}

// TestCalendarsShowNoStrangers: a calendar with full details does not reveal phone numbers to people who
// may book but see no contacts, and who know an e-mail address.
func TestCalendarsShowNoStrangers(t *testing.T) {
	s := apitest.StrangersSite(t)
	s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET location_id = 1 WHERE customer_id IN (7100, 7102)")
	contacts := map[string]string{"7100": "777100", "7101": "777101", "7102": "777102", "new": "rita.neu@example.test"}
	// shows checks whose contact data a calendar shows. It shows names, those of strangers as
	// they were described.
	shows := func(what string, calendar apitest.Request, want ...string) (statements int) {
		t.Helper()
		a := s.Read(calendar)
		text := ""
		for _, e := range eventsIn(t, a) {
			text += e["SUMMARY"] + e["DESCRIPTION"]
		}
		if !strings.Contains(text, "Guess Who") || !strings.Contains(text, "Xaver Quell") {
			t.Errorf("%s: names are missing: %s", what, text)
		}
		for who, contact := range contacts {
			expect.Equal(t, slices.Contains(want, who), strings.Contains(text, contact), fmt.Sprintf("%s: contact of %s shown", what, who))
		}
		return s.Log.Last(t).Queries
	}
	agent, location := s.Calendar(keys.Full, domain.AgentResource, 5), s.Calendar(keys.Full, domain.LocationResource, 1)
	all := s.Key
	s.Key = s.LimitedKey(domain.Scope{Agents: []int64{5}})
	for start, described := range map[string]string{
		"10:00": `{"first_name":"Guess","last_name":"Who","email":"zora@example.test"}`, "13:00": `{"first_name":"Guess","last_name":"Who","email":"yara@example.test"}`, "15:00": apitest.NewCustomer,
	} {
		s.Write(http.MethodPost, "/bookings", apitest.Friday("start_time", strconv.Quote(start), "location_id", "1", "customer_id", "", "customer", described)).Want(http.StatusCreated)
	}
	few := shows("the agent", agent, "7102", "new")
	shows("the location, where Zora books with somebody else", location, "7100", "7102", "new")
	s.Key = all
	s.Write(http.MethodPost, "/bookings", apitest.Friday("start_date", `"2027-02-19"`, "start_time", `"13:00"`, "customer_id", "7101")).Want(http.StatusCreated)
	expect.Equal(t, few, shows("one who booked since", agent, "7101", "7102", "new"), "statements after one more booking")
}

const appleFile = "latepoint-apple-calendar/latepoint-apple-calendar.php"

const (
	appleOn    = "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_apple_calendar', 'on')"
	allOff     = "INSERT INTO wp_latepoint_settings (name, value) VALUES ('enable_google_calendar', 'off'), ('enable_outlook_calendar', 'off'), ('enable_apple_calendar', 'off')"
	tablesOf14 = "INSERT INTO wp_options (option_name, option_value) VALUES ('latepoint-google-calendar_addon_db_version', '1.0.1')"
)

// newServerWithCalendars is like newQuietServer, for a site with the add-ons' tables.
func newServerWithCalendars(t *testing.T, arrange ...string) *apitest.Server {
	t.Helper()
	t.Parallel()
	s := newQuietServer(t, "09:00", "12:00")
	s.Database.AddCalendars(t)
	s.Database.Execute(t, arrange...)
	return s
}

// TestEventsOfAgentsBlock: events of an agent's calendar block the agent where the add-on that stored them is active and switched on.
// TestTimes and TestEventsAsTheAddOnsAsk have the rules of each add-on.
func TestEventsOfAgentsBlock(t *testing.T) {
	s := newServerWithCalendars(t)
	const (
		hour  = "1, '2026-11-24', 600, '2026-11-24', 660"
		whole = "1, '2026-11-24', 0, '2026-11-24', 1439"
		free  = "[09:00 09:30 10:00 10:30 11:00]"
	)
	for name, c := range map[string]struct {
		arrange         []string
		calendar, event string
		offered         string
		explains        string
	}{
		"an hour in Google":            {[]string{apitest.Activate(apitest.PluginFile, apitest.GoogleFile)}, fixtures.GoogleCalendar, hour, "[09:00 11:00]", "09:30 calendar, 10:00 calendar, 10:30 calendar"},
		"an hour in Outlook":           {[]string{apitest.Activate(apitest.PluginFile, apitest.OutlookFile)}, fixtures.OutlookCalendar, hour, "[09:00 11:00]", ""},
		"an hour in Apple's":           {[]string{apitest.Activate(apitest.PluginFile, appleFile), appleOn}, fixtures.AppleCalendar, hour, "[09:00 11:00]", ""},
		"the add-on is not active":     {nil, fixtures.GoogleCalendar, whole, free, ""},
		"Google's is switched off":     {[]string{apitest.Activate(apitest.PluginFile, apitest.GoogleFile), allOff}, fixtures.GoogleCalendar, whole, "[]", ""},
		"Apple's is switched off":      {[]string{apitest.Activate(apitest.PluginFile, appleFile), allOff}, fixtures.AppleCalendar, whole, free, ""},
		"Apple's is not switched on":   {[]string{apitest.Activate(apitest.PluginFile, appleFile)}, fixtures.AppleCalendar, whole, free, ""},
		"another agent's":              {[]string{apitest.Activate(apitest.PluginFile, apitest.GoogleFile)}, fixtures.GoogleCalendar, "3" + whole[1:], free, ""},
		"buffers of the service count": {[]string{apitest.Activate(apitest.PluginFile, apitest.GoogleFile), "UPDATE wp_latepoint_services SET buffer_before = 15 WHERE id = 1"}, fixtures.GoogleCalendar, "1, '2026-11-24', 540, '2026-11-24', 560", "[10:00 10:30 11:00]", "09:00 calendar, 09:30 calendar"},
		"time off comes first": {[]string{apitest.Activate(apitest.PluginFile, apitest.GoogleFile, apitest.AddOnFile), "INSERT INTO wp_latepoint_blocked_periods (agent_id, service_id, location_id, start_date, start_time, end_time) VALUES (1, 0, 0, '2026-11-24', 540, 600)"},
			fixtures.GoogleCalendar, hour, "[11:00]", "09:00 off_period, 09:30 off_period, 10:00 calendar, 10:30 calendar"},
	} {
		s.Database.Execute(t, apitest.Activate(apitest.PluginFile), "DELETE FROM wp_latepoint_settings WHERE name LIKE 'enable%calendar' OR name = 'active_addons'",
			"DELETE FROM wp_latepoint_blocked_periods", "UPDATE wp_latepoint_services SET buffer_before = 0 WHERE id = 1",
			"DELETE FROM wp_latepoint_gcal_events", "DELETE FROM wp_latepoint_outlook_events", "DELETE FROM wp_latepoint_apple_calendar_events")
		s.Database.Execute(t, c.arrange...)
		s.Database.InsertEvent(t, c.calendar, c.event)
		a := dayOf(t, s, "service_id=1&agent_id=1&date=2026-11-24&explain=1")
		expect.Equal(t, c.offered, fmt.Sprint(a.AvailableSlots), fmt.Sprintf("%s: offered", name))
		if got := strings.Join(a.unavailable(), ", "); c.explains != "" && got != c.explains {
			t.Errorf("%s: explained by %s", name, got)
		}
	}
	if strings.Contains(s.Log.String(), fixtures.EventText) {
		t.Error("the log has the text of an event")
	}
}

// TestBookingsRespectEventsOfAgents: no request can make or move a booking onto an event of the agent. The
// response lists what is free, and reveals nothing about the event.
func TestBookingsRespectEventsOfAgents(t *testing.T) {
	s := newServerWithCalendars(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile))
	s.Platform.Pick = func(int) int { return 0 } // agent 1, if any
	s.Database.InsertEvent(t, fixtures.GoogleCalendar, "1, '2026-11-24', 600, '2026-11-24', 660", "'DAILY', 1, NULL, NULL, NULL")
	body := func(agent, start string) string {
		return fmt.Sprintf(`{"service_id":1,"agent_id":%s,"location_id":1,"start_date":"2026-11-25","start_time":"%s","customer_id":1}`, agent, start)
	}
	made := s.Write(http.MethodPost, "/bookings", body("1", "09:00")).Want(http.StatusCreated)
	id := fmt.Sprint(made.At("data", "id"))
	before := s.Database.Snapshot(t)
	for name, send := range map[string]func() apitest.Answer{
		"a booking":   func() apitest.Answer { return s.Write(http.MethodPost, "/bookings", body("1", "10:00")) },
		"a rehearsal": func() apitest.Answer { return s.Write(http.MethodPost, "/bookings?dry_run=1", body("1", "10:00")) },
		"a hold": func() apitest.Answer {
			return s.Write(http.MethodPost, "/holds", strings.Replace(body("1", "10:00"), `,"customer_id":1`, "", 1))
		},
		"a move": func() apitest.Answer { return s.Write(http.MethodPut, "/bookings/"+id, `{"start_time":"10:30"}`) },
		"another day": func() apitest.Answer {
			return s.Write(http.MethodPut, "/bookings/"+id, `{"start_date":"2026-11-26","start_time":"10:00"}`)
		},
		"a longer visit": func() apitest.Answer {
			return s.Write(http.MethodPut, "/bookings/"+id, `{"start_time":"09:00","duration":90}`)
		},
	} {
		a := send()
		apitest.WantCode(t, a, http.StatusConflict, "time_slot_unavailable")
		if strings.Contains(string(a.Body), fixtures.EventText) || strings.Contains(string(a.Body), "calendar") {
			t.Errorf("%s: %s", name, a.Body)
		}
		apitest.WantNoWrites(t, name, before)
	}
	some := s.Write(http.MethodPost, "/bookings/bulk", `[`+body("1", "10:00")+`,`+body("1", "11:00")+`]`).Want(http.StatusMultiStatus)
	if strings.Contains(string(some.Body), fixtures.EventText) || !strings.Contains(string(some.Body), "Time slot not available") {
		t.Errorf("bulk: %s", some.Body)
	}
	other := s.Write(http.MethodPost, "/bookings", body(`"any"`, "10:00")).Want(http.StatusCreated)
	if agent := other.At("data", "agent", "id"); fmt.Sprint(agent) == "1" {
		t.Errorf("agent %v got a booking", agent)
	}
	free := s.Get("/agents/availability?service_id=1&location_id=2&date=2026-11-26&start_time=10:00").Want(http.StatusOK)
	if ids := agentIDs(free); slices.Contains(ids, "1") || len(ids) == 0 {
		t.Errorf("agents %v are free", ids)
	}
	if free = s.Get("/agents/availability?date=2026-11-26&start_time=10:00").Want(http.StatusOK); slices.Contains(agentIDs(free), "1") {
		t.Errorf("agents %v are free for any service", agentIDs(free))
	}
	if strings.Contains(s.Log.String(), fixtures.EventText) {
		t.Error("the log has the text of an event")
	}
}

// agentIDs returns the ids of the agents in a response.
func agentIDs(a apitest.Answer) (ids []string) {
	for _, agent := range a.At("data", "agents").([]any) {
		ids = append(ids, fmt.Sprint(agent.(map[string]any)["id"]))
	}
	return ids
}

// TestEventsAreReadAnew: an event that an add-on stores, changes or deletes counts in the next request,
// even if its tables are created after the first one; and so does a changed version of the add-on.
func TestEventsAreReadAnew(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "09:00", "12:00")
	offers := func(what, want string) {
		t.Helper()
		a := s.Get("/availability?service_id=1&agent_id=1&date=2026-11-25").Want(http.StatusOK)
		expect.Equal(t, want, fmt.Sprint(a.At("data", "available_slots")), what)
	}
	const all, blocked = "[09:00 09:30 10:00 10:30 11:00]", "[09:00 11:00]"
	offers("no add-on", all)
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile))
	offers("no tables", all)
	s.Write(http.MethodPost, "/bookings", `{"service_id":1,"agent_id":3,"location_id":1,"start_date":"2026-11-25","start_time":"09:00","customer_id":1}`).Want(http.StatusCreated)
	s.Database.AddCalendars(t)
	offers("no events", all)
	s.Database.InsertEvent(t, fixtures.GoogleCalendar, "1, '2026-11-24', 600, '2026-11-25', 660")
	offers("an event of two days", "[11:00]")
	s.Database.Execute(t, tablesOf14)
	offers("by the rules before", blocked)
	s.Database.Execute(t, "UPDATE wp_latepoint_gcal_events SET end_date = '2026-11-24'")
	offers("of one day", all)
	s.Database.Execute(t, "INSERT INTO wp_latepoint_gcal_recurrences (lp_event_id, frequency, `interval`) SELECT id, 'DAILY', 1 FROM wp_latepoint_gcal_events")
	offers("each day", blocked)
	s.Database.Execute(t, "UPDATE wp_latepoint_gcal_events SET agent_id = 3")
	offers("of another agent", all)
	s.Database.Execute(t, "UPDATE wp_latepoint_gcal_events SET agent_id = 1", apitest.Activate(apitest.PluginFile))
	offers("the add-on was deactivated", all)
	s.Database.Execute(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile), "DELETE FROM wp_latepoint_gcal_events")
	offers("deleted", all)
}
