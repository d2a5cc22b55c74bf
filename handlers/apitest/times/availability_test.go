package times_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// dayAnswer is the response of GET /availability for a day.
type dayAnswer struct {
	Date           string   `json:"date"`
	Timezone       string   `json:"timezone"`
	Duration       int      `json:"duration"`
	AvailableSlots []string `json:"available_slots"`
	Slots          []struct {
		StartTime         string `json:"start_time"`
		EndTime           string `json:"end_time"`
		AvailableCapacity int    `json:"available_capacity"`
	} `json:"slots"`
	Explain *struct {
		Missing     *string `json:"missing"`
		Message     *string `json:"message"`
		Unavailable []struct {
			StartTime string `json:"start_time"`
			Reason    string `json:"reason"`
			Message   string `json:"message"`
			BookingID int64  `json:"booking_id"`
		} `json:"unavailable"`
	} `json:"explain"`
}

// dayOf requests a day, and checks that both lists of slots agree.
func dayOf(t testing.TB, s *apitest.Server, query string) dayAnswer {
	t.Helper()
	a := s.Get("/availability?" + query).Want(http.StatusOK)
	var body struct {
		Data dayAnswer `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Fatalf("%s: %v: %.500s", query, err, a.Body)
	}
	day := body.Data
	starts := make([]string, len(day.Slots))
	for i, slot := range day.Slots {
		starts[i] = slot.StartTime
		expect.Equal(t, day.endOf(t, slot.StartTime), slot.EndTime, fmt.Sprintf("%s: end of %s", query, slot.StartTime))
	}
	expect.Equal(t, day.AvailableSlots, starts, fmt.Sprintf("%s: starts of slots, instead of available_slots", query))
	return day
}

// endOf returns when a booking at a start ends: the clock may skip an hour meanwhile.
func (d dayAnswer) endOf(t testing.TB, start string) string {
	t.Helper()
	minutes := minutesOf(t, start)
	end := minutes + d.Duration
	if zone, err := time.LoadLocation(d.Timezone); err == nil {
		date, err := time.Parse(time.DateOnly, d.Date)
		expect.NoError(t, err)
		begins := time.Date(date.Year(), date.Month(), date.Day(), 0, minutes, 0, 0, zone)
		_, before := begins.Zone()
		_, after := begins.Add(time.Duration(d.Duration) * time.Minute).Zone()
		end += max(0, after-before) / 60
	}
	return clockOf((end-1)%1440 + 1)
}

func clockOf(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func minutesOf(t testing.TB, clock string) int {
	t.Helper()
	var hours, minutes int
	if _, err := fmt.Sscanf(clock, "%d:%d", &hours, &minutes); err != nil || clock != clockOf(60*hours+minutes) {
		t.Fatalf("%q is not a time of day", clock)
	}
	return 60*hours + minutes
}

// The outcomes of the recorded questions.
const (
	replayEqual         = "equal"
	replayOtherDuration = "refused: the service does not offer the duration"
	replayUnknown       = "refused: something does not exist"
	replayThrows        = "the plugin throws"
	replayPastMidnight  = "a booking runs past midnight"
	replayAfterMidnight = "starts after midnight"
	replaySkippedHour   = "starts in the hour that the clock skips"
	replayAnyLocation   = "any location: who is busy at another location is not free"
	replayNoCustomer    = "not asked: an administrator's question"
	replayExclusion     = "not asked: leaves out a booking"
	replayNobody        = "not asked: for no attendees"
)

// TestRecordedDays replays what customers asked a real site: the start times and their capacity equal those
// of its calendar, except for the listed differences. Two servers share the work.
func TestRecordedDays(t *testing.T) {
	t.Parallel()
	fixtures.RequireThorough(t) // the adapter's test replays them as well
	variants := fixtures.RecordedAvailability(t)
	shares := [2]map[string]int{{}, {}}
	t.Run("variants", func(t *testing.T) {
		for share, outcomes := range shares {
			t.Run(strconv.Itoa(share), func(t *testing.T) {
				t.Parallel()
				original := fixtures.Shared(t, fixtures.SiteA())
				database := fixtures.New(t, fixtures.SiteA())
				s := apitest.NewServer(t, database)
				for i := share; i < len(variants); i += len(shares) {
					undo := database.Vary(t, original, variants[i].SQL)
					s.Clock = variants[i].Now
					r := replay{server: s, variant: variants[i].Name, offered: durations(t, s)}
					for _, c := range variants[i].Cases {
						outcomes[r.ask(t, c)]++
					}
					undo()
				}
			})
		}
	})
	got := maps.Clone(shares[0])
	for outcome, n := range shares[1] {
		got[outcome] += n
	}
	want := map[string]int{
		replayEqual:         4496,
		replayOtherDuration: 134,
		replayUnknown:       24,
		replayThrows:        29,
		replayPastMidnight:  46,
		replayAnyLocation:   823,
		replayAfterMidnight: 5,
		replaySkippedHour:   18,
		replayNoCustomer:    1732,
		replayExclusion:     60,
		replayNobody:        9,
	}
	expect.Equal(t, want, got, "outcomes")
}

// durations returns the durations that each service offers, by service id.
func durations(t testing.TB, s *apitest.Server) map[int64][]int64 {
	t.Helper()
	offered := map[int64][]int64{}
	for _, pair := range s.Texts("SELECT CONCAT(id, ' ', duration) FROM {services}") {
		var id, duration int64
		if _, err := fmt.Sscan(pair, &id, &duration); err != nil {
			t.Fatal(err)
		}
		offered[id] = []int64{duration}
	}
	offered[6] = append(offered[6], 90, 120) // from its metadata
	return offered
}

// replay sends the requests of one variant.
type replay struct {
	server  *apitest.Server
	variant string
	offered map[int64][]int64
}

// ask sends a request, compares the response and returns the outcome.
func (r replay) ask(t *testing.T, c fixtures.AvailabilityCase) (outcome string) {
	t.Helper()
	q := c.Request
	switch {
	case q.Side != "customer":
		return replayNoCustomer
	case len(q.Exclude) > 0:
		return replayExclusion
	case q.Attendees != nil && *q.Attendees == 0:
		return replayNobody
	}
	query := replayQuery(q)
	if rejected := r.invalidParameters(q); len(rejected) > 0 {
		wantInvalidRequest(t, r.server, "/availability?"+query, rejected)
		if rejected["duration"] != "" {
			return replayOtherDuration
		}
		return replayUnknown
	}
	day := dayOf(t, r.server, query)
	got := []string{}
	for _, slot := range day.Slots {
		got = append(got, fmt.Sprintf("%s %d", slot.StartTime, slot.AvailableCapacity))
	}
	calendar := slotTexts(c.Slots, c.Capacity)
	if c.CalendarError != "" { // the error concerns another day of the month; this day alone has an answer
		calendar = slotTexts(c.DaySlots, c.DayCapacity)
	}
	switch {
	case c.DayError != "":
		return replayThrows
	case slices.Equal(got, calendar):
		return replayEqual
	case slices.Equal(got, withinDay(calendar)):
		return replayAfterMidnight
	case strings.HasPrefix(r.variant, "dst:") && slices.Equal(got, withoutHour("02", calendar)):
		return replaySkippedHour
	case r.variant == "cross_midnight_bookings" && offersFewer(t, day, c):
		return replayPastMidnight
	case strings.Trim(string(q.LocationID), `"`) == "any" && offersFewer(t, day, c):
		return replayAnyLocation
	}
	t.Errorf("%s: %s (-want +got):\n%s", r.variant, query, cmp.Diff(calendar, got))
	return "different"
}

// replayQuery returns a recorded request as a client would send it.
func replayQuery(q fixtures.AvailabilityRequest) string {
	values := url.Values{
		"service_id": {strconv.FormatInt(q.ServiceID, 10)}, "date": {q.Date},
		"agent_id": {strings.Trim(string(q.AgentID), `"`)}, "location_id": {strings.Trim(string(q.LocationID), `"`)},
	}
	if q.Duration != nil && *q.Duration != 0 {
		values.Set("duration", strconv.FormatInt(*q.Duration, 10))
	}
	if q.Attendees != nil {
		values.Set("total_attendees", strconv.FormatInt(*q.Attendees, 10))
	}
	return values.Encode()
}

// invalidParameters returns the parameters that name something that does not exist, with
// their messages.
func (r replay) invalidParameters(q fixtures.AvailabilityRequest) map[string]string {
	rejected := map[string]string{}
	offered, known := r.offered[q.ServiceID]
	if !known {
		rejected["service_id"] = "Service not found"
	}
	if string(q.AgentID) == "99999" {
		rejected["agent_id"] = "Agent not found"
	}
	if string(q.LocationID) == "99999" {
		rejected["location_id"] = "Location not found"
	}
	if known && q.Duration != nil && *q.Duration != 0 && !slices.Contains(offered, *q.Duration) {
		rejected["duration"] = durationMessage(*q.Duration, offered)
	}
	return rejected
}

func durationMessage(duration int64, offered []int64) string {
	switch {
	case duration < 1:
		return "Minimum allowed value is 1"
	case duration > 1440:
		return "Maximum allowed value is 1440"
	default:
		return "Must be one of the service's durations: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(offered), " ", ", "), "[]") + "; any_duration=1 allows any"
	}
}

// slotTexts formats starts with their free seats.
func slotTexts(starts, capacities []int) []string {
	texts := make([]string, len(starts))
	for i := range starts {
		texts[i] = fmt.Sprintf("%s %d", clockOf(starts[i]), capacities[i])
	}
	return texts
}

func withinDay(slots []string) []string {
	return slices.DeleteFunc(slices.Clone(slots), func(slot string) bool { return slot >= "24:00" })
}

// withoutHour removes the slots that start in an hour of the day.
func withoutHour(hour string, slots []string) []string {
	return slices.DeleteFunc(slices.Clone(slots), func(slot string) bool { return strings.HasPrefix(slot, hour) })
}

// offersFewer reports whether the plugin would book every start that a day
// offers. Seats are not compared, because its calendar also counts a booking
// that ends at midnight on the next day.
func offersFewer(t *testing.T, day dayAnswer, c fixtures.AvailabilityCase) bool {
	t.Helper()
	bookable := c.Slots
	if c.DaySlots != nil {
		bookable = c.DaySlots
	}
	return !slices.ContainsFunc(day.AvailableSlots, func(start string) bool { return !slices.Contains(bookable, minutesOf(t, start)) })
}

func TestAvailability(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	for name, query := range map[string]string{
		"availability":           "service_id=6&agent_id=2&location_id=2&date=2026-11-24&duration=120",
		"availability_any":       "service_id=7&agent_id=any&location_id=any&date=2026-11-30&total_attendees=4",
		"availability_explained": "service_id=7&agent_id=2&location_id=2&date=2026-12-01&total_attendees=4&explain=1",
		"availability_days":      "service_id=6&agent_id=1&date=2026-11-24&date_to=2026-11-27",
	} {
		apitest.Golden(t, name, s.Get("/availability?"+query).Want(http.StatusOK).Body)
	}
	apitest.Golden(t, "free_agents", s.Get("/agents/availability?service_id=6&location_id=2&date=2026-11-24&start_time=600&limit=1").Want(http.StatusOK).Body)
}

// TestAvailabilityOfARangeEqualsItsDays compares a range of days with the same
// days requested one by one.
func TestAvailabilityOfARangeEqualsItsDays(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Shared(t, fixtures.SiteA())
	days := make([]string, 62)
	for i := range days {
		days[i] = apitest.Now.AddDate(0, 0, i-1).Format(time.DateOnly)
	}
	for _, question := range []string{"service_id=6&agent_id=any", "service_id=1&agent_id=2&location_id=1", "service_id=10&agent_id=any", "service_id=7&agent_id=any&total_attendees=3"} {
		a := s.Get("/availability?" + question + "&date=" + days[0] + "&date_to=" + days[61]).Want(http.StatusOK)
		together, _ := a.At("data", "days").(map[string]any)
		expect.Equal(t, len(days), len(together), fmt.Sprintf("%s: days", question))
		offering := 0
		for _, date := range days {
			starts := []any{}
			for _, start := range dayOf(t, s, question+"&date="+date).AvailableSlots {
				starts = append(starts, start)
			}
			expect.Equal[any](t, starts, together[date], fmt.Sprintf("%s on %s", question, date))
			offering += min(len(starts), 1)
		}
		if offering < 15 || offering == len(days) {
			t.Errorf("%s: %d days offer something: the case proves nothing", question, offering)
		}
	}
}

// TestInvalidAvailabilityRequests: what is wrong with a request for free times or agents is named. TestInvalidParametersAreNamed sends
// wrong values.
func TestInvalidAvailabilityRequests(t *testing.T) {
	s := apitest.Small(t)
	const day = "service_id=1&agent_id=1&date=2026-11-23"
	for query, details := range map[string]map[string]string{
		"/availability?": {"service_id": "Required", "agent_id": "Required", "date": "Required"},
		"/availability?service_id[]=1&agent_id[0]=1&date[x]=2026-11-23": {
			"service_id": "Must be a single value, not a list", "agent_id": "Must be a single value, not a list", "date": "Must be a single value, not a list",
		},
		"/availability?" + day + "&date_to=2027-01-24":           {"date_to": "Must be a date from date on, at most 62 days in all"},
		"/availability?" + day + "&date_to=2026-11-23&explain=1": {"explain": "Explains one day: leave out date_to"},
		"/availability?service_id=99&agent_id=98&location_id=97&duration=7&date=2026-11-23": {
			"service_id": "Service not found", "agent_id": "Agent not found", "location_id": "Location not found",
		},
		"/availability?service_id=3&agent_id=98&duration=7&date=2026-11-23": {"agent_id": "Agent not found", "duration": durationMessage(7, []int64{60, 90})},
		"/agents/availability?service_id=99&location_id=98":                 {"service_id": "Service not found", "location_id": "Location not found"},
		"/agents/availability?service_id=x&start_time=noon":                 {"service_id": "Must be an integer", "start_time": "Must be a time of day as HH:MM or in minutes after midnight"},
	} {
		wantInvalidRequest(t, s, query, details)
	}
	for _, allowed := range []string{day + "&date_to=2027-01-23", "service_id=3&agent_id=1&duration=90&date=2026-11-23", "service_id=1&agent_id=1&date=9999-12-31&date_to=9999-12-31"} {
		s.Get("/availability?" + allowed).Want(http.StatusOK)
	}
}

// appointment is a booking that a test inserts.
type appointment struct {
	id, agent, service, location int
	date                         string
	start, end                   string // times; an end before the start is on the next day
	buffer                       int    // minutes before and after
	seats                        int    // 1 unless set
	status                       string // approved unless set
}

// sql returns the statement that inserts the booking.
func (a appointment) sql(t testing.TB) string {
	t.Helper()
	start, end, days := minutesOf(t, a.start), minutesOf(t, a.end), 0
	if end < start || end == 1440 {
		days = 1
	}
	status := a.status
	if status == "" {
		status = "approved"
	}
	return fmt.Sprintf(`INSERT INTO wp_latepoint_bookings (id, start_date, end_date, start_time, end_time, buffer_before, buffer_after, status,
		customer_id, service_id, agent_id, location_id, total_attendees) VALUES (%d, '%s', DATE_ADD('%[2]s', INTERVAL %d DAY), %d, %d, %d, %[6]d, '%s', 1, %d, %d, %d, %d)`,
		a.id, a.date, days, start, end, a.buffer, status, a.service, a.agent, a.location, max(a.seats, 1))
}

// everyDay returns the statement that inserts the same general hours for every
// day of the week.
func everyDay(t testing.TB, from, to string) string {
	t.Helper()
	rows := make([]string, 7)
	for i := range rows {
		rows[i] = fmt.Sprintf("(0, 0, 0, %d, %d, %d)", i+1, minutesOf(t, from), minutesOf(t, to))
	}
	return "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, week_day, start_time, end_time) VALUES " + strings.Join(rows, ", ")
}

// newQuietServer serves the small site with the same hours every day and no bookings
// except those given. Service 1 takes an hour and can start every 30 minutes;
// service 4 is a one-hour course for six that agent 3 gives at location 1.
func newQuietServer(t testing.TB, from, to string, appointments ...appointment) *apitest.Server {
	t.Helper()
	database := fixtures.New(t, fixtures.Small(apitest.Now))
	database.Execute(t,
		"DELETE FROM wp_latepoint_bookings", "DELETE FROM wp_latepoint_work_periods", everyDay(t, from, to),
		"UPDATE wp_latepoint_services SET duration = 60, timeblock_interval = 30 WHERE id = 1")
	for _, a := range appointments {
		database.Execute(t, a.sql(t))
	}
	return apitest.NewServer(t, database)
}

// unavailable returns the starts of a day that are not offered, each with its
// reason and the conflicting booking.
func (d dayAnswer) unavailable() []string {
	found := []string{}
	for _, u := range d.Explain.Unavailable {
		text := u.StartTime + " " + u.Reason
		if u.Message == "" {
			text += " without a message"
		}
		if u.BookingID != 0 {
			text += fmt.Sprintf(" %d", u.BookingID)
		}
		found = append(found, text)
	}
	return found
}

// TestExplainDaysWithoutStartTimes checks the reason why a day has no start
// times at all.
func TestExplainDaysWithoutStartTimes(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "09:00", "12:00")
	s.Database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE week_day = 7",
		"INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, start_time, end_time, week_day) VALUES (3, 0, 0, 540, 585, 3)",
		"DELETE FROM wp_latepoint_agents_services WHERE agent_id = 3 AND service_id = 1 AND location_id = 2")
	for query, missing := range map[string]string{
		"service_id=6&agent_id=1&date=2026-11-24":               "status", // a disabled service
		"service_id=1&agent_id=4&date=2026-11-24":               "status", // a disabled agent
		"service_id=1&agent_id=1&location_id=3&date=2026-11-24": "status", // a disabled location
		"service_id=2&agent_id=2&date=2026-11-24":               "connection",
		"service_id=1&agent_id=3&location_id=2&date=2026-11-24": "connection",
		"service_id=1&agent_id=1&date=2026-11-22":               "working_hours", // a Sunday
		"service_id=1&agent_id=3&date=2026-11-25":               "long_hours",    // 45 minutes, for an hour
	} {
		day := dayOf(t, s, query+"&explain=1")
		if len(day.AvailableSlots) != 0 || day.Explain == nil || day.Explain.Missing == nil || *day.Explain.Missing != missing || day.Explain.Message == nil || len(day.Explain.Unavailable) != 0 {
			t.Errorf("%s: %+v, want %s", query, day, missing)
		}
		if plain := dayOf(t, s, query); plain.Explain != nil || len(plain.AvailableSlots) != 0 {
			t.Errorf("%s explains without being asked", query)
		}
	}
	if day := dayOf(t, s, "service_id=5&agent_id=1&date=2026-11-24&explain=1"); len(day.AvailableSlots) == 0 {
		t.Error("a hidden service offers nothing")
	}
}

// freeAgents returns the ids of the free agents.
func freeAgents(t testing.TB, s *apitest.Server, query string) []string {
	t.Helper()
	a := s.Get("/agents/availability?" + query).Want(http.StatusOK)
	ids := apitest.IDsOf(a.At("data", "agents"))
	expect.Equal(t, strconv.Itoa(len(ids)), fmt.Sprint(a.At("data", "total")), fmt.Sprintf("%s: total, of %v", query, ids))
	return ids
}

// TestFreeAgents uses a Tuesday on which agent 2 works from 10 to 14 and the
// others from 9 to 12; agent 4 is disabled.
func TestFreeAgents(t *testing.T) {
	t.Parallel()
	const tuesday = "2026-11-24"
	s := newQuietServer(t, "09:00", "12:00",
		appointment{id: 11, agent: 1, service: 3, location: 1, date: tuesday, start: "10:00", end: "11:00", buffer: 10},
		appointment{id: 12, agent: 3, service: 1, location: 2, date: tuesday, start: "09:00", end: "10:00", status: "pending"},
		appointment{id: 13, agent: 3, service: 1, location: 2, date: tuesday, start: "11:00", end: "12:00", status: "cancelled"},
		appointment{id: 14, agent: 2, service: 1, location: 1, date: tuesday, start: "13:00", end: "14:00", status: "completed"},
		appointment{id: 15, agent: 3, service: 4, location: 1, date: "2026-11-25", start: "09:00", end: "10:00", seats: 2})
	s.Database.Execute(t, "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, week_day, start_time, end_time) VALUES (2, 0, 0, 2, 600, 840)")
	for query, want := range map[string][]string{
		"service_id=1&date=2026-11-24&start_time=09:00":               {"1", "3"}, // buffer and pending elsewhere
		"service_id=1&location_id=1&date=2026-11-24&start_time=09:00": {"3"},      // a buffer, and pending elsewhere
		"service_id=1&location_id=2&date=2026-11-24&start_time=09:00": {"1"},      // pending here
		"service_id=1&location_id=2&date=2026-11-24&start_time=10:00": {"1", "2", "3"},
		"service_id=1&location_id=1&date=2026-11-24&start_time=10:00": {"2", "3"},
		"service_id=1&location_id=1&date=2026-11-24&start_time=11:00": {"2", "3"}, // the buffer
		"service_id=1&date=2026-11-24&start_time=13:00":               {"2"},      // completed
		"service_id=1&date=2026-11-24&start_time=10:10":               {},         // off the grid
		"service_id=1&date=2026-11-24&start_time=08:30":               {},
		"service_id=1&date=2026-11-20&start_time=10:00":               {}, // past
		"service_id=3&duration=90&date=2026-11-24&start_time=11:00":   {"2"},
		"service_id=3&duration=45&date=2026-11-24&start_time=11:00":   {"1", "2", "3"},
		"service_id=2&date=2026-11-24&start_time=11:00":               {"1", "3"},      // agent 2 does not give it
		"service_id=4&date=2026-11-25&start_time=09:00":               {"3"},           // seats are left
		"service_id=5&date=2026-11-24&start_time=11:00":               {"1", "2", "3"}, // hidden
		"service_id=6&date=2026-11-24&start_time=11:00":               {},              // disabled
		"service_id=1&location_id=3":                                  {},              // a disabled location

		"date=2026-11-24&start_time=09:00&duration=50":   {"1"},      // nobody is in two places at once
		"date=2026-11-24&start_time=09:00":               {},         // the buffer
		"date=2026-11-24&start_time=10:07&duration=23":   {"2", "3"}, // off every grid
		"date=2026-11-24&start_time=11:10&duration=50":   {"1", "2", "3"},
		"date=2026-11-24&start_time=11:09&duration=50":   {"2", "3"}, // the buffer
		"date=2026-11-24&start_time=11:10":               {"2"},      // an hour by default
		"date=2026-11-24&start_time=13:59&duration=2":    {},
		"date=2026-11-25&start_time=09:00":               {"1", "2"}, // no seat of a course is free for something else
		"location_id=2&date=2026-11-25&start_time=09:00": {"1", "2"},

		"":                                    {"1", "2", "3"}, // all active agents
		"date=2026-11-24":                     {"1", "2", "3"},
		"service_id=any&location_id=-1&date=": {"1", "2", "3"},
		"service_id=2":                        {"1", "3"},
		"service_id=4&location_id=1":          {"3"},
		"limit=2":                             {"1", "2"},
		"service_id=1&location_id=1&date=2026-11-24&start_time=10:00&limit=1": {"2"},
	} {
		expect.Equal(t, want, freeAgents(t, s, query), query)
	}
	// The response repeats the request, and date and time only if both were sent.
	for query, want := range map[string]map[string]any{
		"service_id=1&location_id=2&date=2026-11-24&start_time=870&duration=30": {
			"service_id": json.Number("1"), "location_id": json.Number("2"), "date": "2026-11-24", "start_time": "14:30", "duration": json.Number("30"),
		},
		"date=2026-11-24": {"service_id": "any", "location_id": "any", "date": nil, "start_time": nil, "duration": nil},
	} {
		s.WantFields(t, "/agents/availability?"+query, want)
	}
}

// TestFreeAgentsHaveTheRecordsOfAgents compares free agents with the list of
// agents.
func TestFreeAgentsHaveTheRecordsOfAgents(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	free := s.Get("/agents/availability").Want(http.StatusOK).At("data", "agents")
	listed := s.Get("/agents?status=active&order_by=id").Want(http.StatusOK).At("data")
	expect.Equal(t, listed, free, "free agents")
	// While no booking is pending, the agents who are free at a start of a service
	// are those who offer it.
	database := fixtures.New(t, fixtures.SiteA())
	database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE status = 'pending'")
	s = apitest.NewServer(t, database)
	for _, start := range []string{"09:00", "10:00", "12:30", "14:00", "17:30"} {
		want := []string{}
		for agent := range 8 {
			id := strconv.Itoa(agent + 1)
			if slices.Contains(dayOf(t, s, "service_id=2&agent_id="+id+"&location_id=2&date=2026-11-25").AvailableSlots, start) {
				want = append(want, id)
			}
		}
		if diff := cmp.Diff(want, freeAgents(t, s, "service_id=2&location_id=2&date=2026-11-25&start_time="+start)); diff != "" || len(want) == 0 {
			t.Errorf("free at %s (-want +got):\n%s", start, diff)
		}
	}
}

// TestOffPeriodsAndDailyLimitsNeedTheAddOn: they apply while the add-on is
// active, however it was activated.
func TestOffPeriodsAndDailyLimitsNeedTheAddOn(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	rows := []string{
		"INSERT INTO wp_latepoint_blocked_periods (agent_id, service_id, location_id, start_date, end_date, start_time, end_time) VALUES " +
			"(1, 0, 0, '2026-11-23', '2026-11-23', 540, 600), (0, 0, 2, '2026-11-23', '2026-11-23', 600, 660), (0, 4, 0, '2026-11-23', '2026-11-23', 0, 1440), (NULL, NULL, NULL, '2026-11-23', '2026-11-23', 0, 1440)",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (1, 'max_bookings_per_day', '2')",
		"INSERT INTO wp_latepoint_agent_meta (object_id, meta_key, meta_value) VALUES (2, 'max_bookings_per_day', '1'), (3, 'max_bookings_per_day', '')",
	}
	appointments := []appointment{
		// The service is full on Tuesday, agent 2 on Wednesday.
		{id: 11, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "09:00", end: "10:00"},
		{id: 12, agent: 3, service: 1, location: 2, date: "2026-11-24", start: "09:00", end: "10:00"},
		{id: 13, agent: 2, service: 3, location: 1, date: "2026-11-25", start: "09:00", end: "10:00"},
		{id: 14, agent: 3, service: 1, location: 2, date: "2026-11-25", start: "09:00", end: "10:00", status: "pending"},
		{id: 15, agent: 3, service: 1, location: 2, date: "2026-11-25", start: "09:00", end: "10:00"},
	}
	grid := []string{"09:00", "09:30", "10:00", "10:30", "11:00"}
	questions := []struct {
		name, query   string
		without, with []string // the starts that are offered without the add-on and with it
	}{
		{"an agent's time off", "service_id=1&agent_id=1&location_id=1&date=2026-11-23", grid, grid[2:]},
		{"a location's", "service_id=1&agent_id=3&location_id=2&date=2026-11-23", grid, []string{"09:00", "11:00"}},
		{"a location's, where any will do", "service_id=1&agent_id=3&location_id=any&date=2026-11-23", grid, []string{"09:00", "11:00"}},
		{"both", "service_id=1&agent_id=1&location_id=2&date=2026-11-23", grid, grid[4:]},
		{"a service's", "service_id=4&agent_id=any&date=2026-11-23", []string{"09:00", "10:00", "11:00"}, nil},
		{"the service is full", "service_id=1&agent_id=2&date=2026-11-24", grid, nil},
		{"for any agent, too", "service_id=1&agent_id=any&date=2026-11-24", grid, nil},
		{"the agent is full", "service_id=1&agent_id=2&location_id=2&date=2026-11-25", grid, nil},
		{"an empty limit is none", "service_id=3&agent_id=3&location_id=1&date=2026-11-25", grid, grid},
	}
	for name, c := range map[string]struct {
		arrange []string
		active  bool
	}{
		"without the add-on":       {nil, false},
		"in another folder":        {[]string{apitest.Activate("latepoint-pro/latepoint-pro-features.php", apitest.PluginFile)}, true},
		"in the plugin's own list": {[]string{`INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '["latepoint-pro-features"]')`}, true},
		"with a longer name":       {[]string{`INSERT INTO wp_latepoint_settings (name, value) VALUES ('active_addons', '["latepoint-pro-features-of-others"]')`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newQuietServer(t, "09:00", "12:00", appointments...)
			s.Database.Execute(t, append(c.arrange, rows...)...)
			for _, asked := range questions {
				want := asked.without
				if c.active {
					want = asked.with
				}
				expect.Equal(t, append([]string{}, want...), dayOf(t, s, asked.query).AvailableSlots, asked.name)
			}
		})
	}
}

// TestAddOnActiveForANetwork activates the add-on for all sites of a network.
func TestAddOnActiveForANetwork(t *testing.T) {
	s := apitest.Own(t, fixtures.Prefixed())
	s.Database.Execute(t, "INSERT INTO wpx_7_latepoint_blocked_periods (agent_id, service_id, location_id, start_date, start_time, end_time) VALUES (0, 0, 0, '2026-11-24', 0, 1440)")
	const question = "service_id=1&agent_id=1&date=2026-11-24"
	if len(dayOf(t, s, question).Slots) == 0 {
		t.Error("time off counts without the add-on")
	}
	s.Database.Execute(t, fmt.Sprintf(`UPDATE wpx_sitemeta SET meta_value = 'a:2:{s:23:"%s";i:1;s:49:"%s";i:1;}' WHERE meta_key = 'active_sitewide_plugins'`, apitest.PluginFile, apitest.AddOnFile))
	expect.Equal(t, 0, len(dayOf(t, s, question).Slots), "slots in time off, with the add-on")
}

// TestAvailabilityAcrossTimeZones requests days around clock changes and at the edge of a day, in processes
// with several time zones. It is not parallel, because the zone is set for the whole process.
func TestAvailabilityAcrossTimeZones(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	s := newQuietServer(t, "00:00", "24:00")
	s.Database.Execute(t, "UPDATE wp_latepoint_services SET duration = 15, timeblock_interval = 15 WHERE id = 1")
	for _, c := range []struct {
		name, zone, offset string
		clock              string // UTC
		date, first        string // the first start, "" for none
		shown              string // timezone in the response
	}{
		{"Berlin, before the gap", "Europe/Berlin", "", "2027-03-28T00:59:00Z", "2027-03-28", "02:00", "Europe/Berlin"},
		{"Berlin, after the gap", "Europe/Berlin", "", "2027-03-28T01:00:00Z", "2027-03-28", "03:00", "Europe/Berlin"},
		{"Beirut, a gap at midnight", "Asia/Beirut", "", "2027-03-20T10:00:00Z", "2027-03-28", "01:00", "Asia/Beirut"},
		{"Berlin, the first 02:30", "Europe/Berlin", "", "2027-10-31T00:30:00Z", "2027-10-31", "02:30", "Europe/Berlin"},
		{"Berlin, a day gone by", "Europe/Berlin", "", "2026-11-21T23:00:00Z", "2026-11-21", "", "Europe/Berlin"},
		{"New York, yesterday in UTC", "America/New_York", "", "2026-11-21T04:50:00Z", "2026-11-20", "", "America/New_York"},
		{"+5.5, tomorrow in UTC", "", "5.5", "2026-11-21T18:31:00Z", "2026-11-22", "00:15", "+05:30"},
		{"-3.5", "", "-3.5", "2026-11-21T00:43:00Z", "2026-11-20", "21:15", "-03:30"},
	} {
		clock, err := time.Parse(time.RFC3339, c.clock)
		expect.NoError(t, err)
		s.Clock = clock
		s.Database.Execute(t, "UPDATE wp_options SET option_value = '"+c.zone+"' WHERE option_name = 'timezone_string'",
			"UPDATE wp_options SET option_value = '"+c.offset+"' WHERE option_name = 'gmt_offset'")
		want := []string{}
		if c.first != "" {
			for start := minutesOf(t, c.first); start < 1440; start += 15 {
				if start/60 == 2 && (c.date == "2027-03-28" && c.zone == "Europe/Berlin" || c.date == "2027-03-14") {
					continue // the hour that the clock skips
				}
				want = append(want, clockOf(start))
			}
		}
		for _, process := range []string{"UTC", "Pacific/Auckland", "America/Los_Angeles"} {
			if time.Local, err = time.LoadLocation(process); err != nil {
				t.Fatal(err)
			}
			day := dayOf(t, s, "service_id=1&agent_id=1&date="+c.date)
			if diff := cmp.Diff(want, day.AvailableSlots); diff != "" || day.Timezone != c.shown {
				t.Errorf("%s: in a process of %s, zone %s (-want +got):\n%s", c.name, process, day.Timezone, diff)
			}
		}
	}
}

// TestAvailabilityAcrossMidnight: a booking that runs past midnight blocks both days, one that ends at
// midnight only its own; and where working hours run past midnight, bookings of the next day count.
func TestAvailabilityAcrossMidnight(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "00:00", "24:00",
		appointment{id: 11, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "23:00", end: "01:30"},
		appointment{id: 12, agent: 1, service: 1, location: 1, date: "2026-11-26", start: "22:00", end: "24:00"},
		appointment{id: 13, agent: 1, service: 1, location: 1, date: "2026-11-30", start: "00:00", end: "01:00"})
	s.Database.Execute(t, "INSERT INTO wp_latepoint_work_periods (agent_id, service_id, location_id, week_day, custom_date, start_time, end_time) VALUES (0, 0, 0, 7, '2026-11-29', 1320, 1620)")
	const question = "service_id=1&agent_id=1&location_id=1&date="
	for date, edges := range map[string][2]string{
		"2026-11-24": {"00:00", "22:00"}, "2026-11-25": {"01:30", "23:00"}, "2026-11-26": {"00:00", "21:00"}, "2026-11-27": {"00:00", "23:00"},
		"2026-11-29": {"22:00", "23:00"},
	} {
		starts := dayOf(t, s, question+date).AvailableSlots
		if got := [2]string{starts[0], starts[len(starts)-1]}; got != edges {
			t.Errorf("%s: from %s to %s, want %s to %s", date, got[0], got[1], edges[0], edges[1])
		}
	}
}

// TestAvailabilityIgnoresInvalidRows: rows that make the plugin fail are ignored.
func TestAvailabilityIgnoresInvalidRows(t *testing.T) {
	t.Parallel()
	s := newQuietServer(t, "09:00", "12:00",
		appointment{id: 11, agent: 1, service: 1, location: 1, date: "2026-11-24", start: "09:00", end: "12:00"},
		appointment{id: 13, agent: 1, service: 1, location: 1, date: "2026-11-26", start: "09:00", end: "10:00"},
		appointment{id: 14, agent: 3, service: 4, location: 1, date: "2026-11-24", start: "09:00", end: "10:00", seats: 1})
	s.Database.Execute(t,
		"UPDATE wp_latepoint_bookings SET start_time = NULL WHERE id = 11",
		"UPDATE wp_latepoint_bookings SET total_attendees = NULL WHERE id = 13", "UPDATE wp_latepoint_services SET capacity_max = NULL WHERE id = 4",
		"UPDATE wp_latepoint_services SET timeblock_interval = -5 WHERE id = 1", "UPDATE wp_latepoint_settings SET value = 'often' WHERE name = 'timeblock_interval'",
		"INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (1, 'durations', '{broken'), (2, 'durations', '[{\"duration\":\"30\"},{\"duration\":null},{\"duration\":-5},{\"duration\":40}]')")
	grid := []string{"09:00", "09:30", "10:00", "10:30", "11:00"}
	for query, want := range map[string][]string{
		"service_id=1&agent_id=1&location_id=1&date=2026-11-24": grid,
		"service_id=1&agent_id=1&location_id=1&date=2026-11-26": grid[2:],
		"service_id=4&agent_id=3&date=2026-11-24":               {"10:00", "11:00"},
		"service_id=2&agent_id=1&date=2026-11-24&duration=40":   grid,
	} {
		expect.Equal(t, want, dayOf(t, s, query).AvailableSlots, query)
	}
	wantInvalidRequest(t, s, "/availability?service_id=2&agent_id=1&date=2026-11-24&duration=35", map[string]string{"duration": "Must be one of the service's durations: 45, 30, 40; any_duration=1 allows any"})
}

// TestAvailabilityOfTheLegacySite: a site with fewer tables and columns.
func TestAvailabilityOfTheLegacySite(t *testing.T) {
	s := apitest.Own(t, fixtures.Legacy())
	want := []string{}
	for start := 8 * 60; start < 17*60; start += 30 {
		if start != 9*60 {
			want = append(want, clockOf(start))
		}
	}
	for _, active := range []string{apitest.Activate(apitest.PluginFile), apitest.Activate(apitest.PluginFile, apitest.AddOnFile)} {
		s.Database.Execute(t, active)
		expect.Equal(t, want, dayOf(t, s, "service_id=1&agent_id=1&date=2026-12-01").AvailableSlots, "slots")
		expect.Equal(t, []string{"2"}, freeAgents(t, s, "service_id=1&date=2026-12-02&start_time=10:30"), "free agents")
	}
}

// TestAvailabilityRunsAFixedNumberOfStatements: each kind of request runs a
// fixed number of statements, including the one for the key.
func TestAvailabilityRunsAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	shared, changed, busy := fixtures.Shared(t, fixtures.SiteA()), fixtures.New(t, fixtures.Small(apitest.Now)), fixtures.New(t, fixtures.Small(apitest.Now))
	equipped := fixtures.New(t, fixtures.Small(apitest.Now).WithAssets())
	for range 20 {
		equipped.InsertAsset(t, 2, []int{1, 2}, 1, 3)
	}
	busy.AddCalendars(t)
	busy.Execute(t, apitest.Activate(apitest.PluginFile, apitest.GoogleFile, apitest.OutlookFile, appleFile)) // Apple's calendar is not switched on
	for range 20 {
		busy.InsertEvent(t, fixtures.GoogleCalendar, "1, '2026-11-24', 600, '2026-11-24', 660", "'DAILY', 1, NULL, NULL, NULL", "'WEEKLY', 1, NULL, 'TU', NULL")
		busy.InsertEvent(t, fixtures.OutlookCalendar, "2, '2026-11-24', 600, '2026-11-26', 660")
	}
	changed.Execute(t, apitest.Activate(apitest.PluginFile, apitest.AddOnFile), "INSERT INTO wp_latepoint_service_meta (object_id, meta_key, meta_value) VALUES (1, 'max_bookings_per_day', '5')")
	for name, c := range map[string]struct {
		database *fixtures.Database
		queries  map[string]int
	}{
		"site": {shared, map[string]int{
			"/availability?service_id=6&agent_id=1&date=2026-11-24":                                     3,
			"/availability?service_id=6&agent_id=1&location_id=1&date=2026-11-24&duration=90&explain=1": 3,
			"/availability?service_id=6&agent_id=any&date=2026-11-24&date_to=2027-01-24":                3,
			"/availability?booking_id=7&agent_id=any&location_id=any&date=2026-11-24":                   5,
			"/availability?service_id=12&agent_id=1&location_id=1&date=2026-11-24":                      4,
			"/agents/availability?service_id=6&date=2026-11-24&start_time=10:00":                        5,
			"/agents/availability?date=2027-01-19&start_time=10:00":                                     5,
			"/agents/availability": 4,
		}},
		"with the add-on": {changed, map[string]int{
			"/availability?service_id=1&agent_id=1&date=2026-11-24":                      3,
			"/availability?service_id=1&agent_id=any&date=2026-11-24":                    3,
			"/availability?service_id=1&agent_id=any&date=2026-11-24&date_to=2027-01-24": 3,
		}},
		"with assets": {equipped, map[string]int{
			"/availability?service_id=1&agent_id=1&date=2026-11-24":                      5,
			"/availability?service_id=1&agent_id=any&date=2026-11-24&date_to=2027-01-24": 5,
			"/availability?service_id=3&agent_id=any&date=2026-11-24":                    4, // it takes none
			"/agents/availability?service_id=1&date=2026-11-24&start_time=10:00":         7,
		}},
		"with two calendars": {busy, map[string]int{
			"/availability?service_id=1&agent_id=1&date=2026-11-24":                      5,
			"/availability?service_id=1&agent_id=any&date=2026-11-24":                    5,
			"/availability?service_id=1&agent_id=any&date=2026-11-24&date_to=2027-01-24": 5,
			"/agents/availability?service_id=1&date=2026-11-24&start_time=10:00":         7,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.NewServer(t, c.database)
			s.Get("/status").Want(http.StatusOK) // records the use of the key and probes the schema
			for path, want := range c.queries {
				s.Get(path)
				expect.Equal(t, want, s.Log.Last(t).Queries, fmt.Sprintf("%s: statements", path))
			}
		})
	}
}

// TestAvailabilityOfAnyDuration: a duration that can be booked although the service does not list it can be
// requested, and the response is for that duration.
func TestAvailabilityOfAnyDuration(t *testing.T) {
	s := apitest.Shared(t, fixtures.Small(apitest.Now))
	const query = "service_id=1&agent_id=1&date=2026-11-24"
	listed, longer := dayOf(t, s, query), dayOf(t, s, query+"&duration=30&any_duration=1")
	if longer.Duration != 30 || len(longer.Slots) == 0 || len(longer.Slots) >= len(listed.Slots) {
		t.Errorf("%d minutes, %d slots of %d", longer.Duration, len(longer.Slots), len(listed.Slots))
	}
	wantInvalidRequest(t, s, "/availability?"+query+"&duration=30&any_duration=0", map[string]string{"duration": "Must be one of the service's durations: 15; any_duration=1 allows any"})
}

// wantInvalidRequest requests a path and checks for a 400 that names exactly these
// parameters, each with its message.
func wantInvalidRequest(t testing.TB, s *apitest.Server, path string, details map[string]string) {
	t.Helper()
	route, _, _ := strings.Cut(path, "?")
	code := apitest.InvalidCode(route)
	message := map[string]string{"invalid_parameters": "Invalid query parameters", "invalid_request": "Invalid input data"}[code]
	invalid := map[string]any{}
	for name, text := range details {
		invalid[name] = text
	}
	want := map[string]any{"status": "error", "error": map[string]any{"code": code, "message": message, "details": invalid}}
	expect.Equal(t, want, s.Get(apitest.EscapeQuery(path)).Want(http.StatusBadRequest).Object(), path)
}
