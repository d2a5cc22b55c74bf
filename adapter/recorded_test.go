package adapter

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestRecordedAvailability repeats the queries recorded on a real site, for customers and administrators.
// With our deviations from the plugin turned off the answers are equal; with them they differ only in the
// listed ways. A quick run asks every fourth query of each variant.
func TestRecordedAvailability(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	original, database := fixtures.Shared(t, fixtures.SiteA()), fixtures.New(t, fixtures.SiteA())
	db := wpdbtest.Open(t, database, 2)
	got := map[string]int{}
	for _, v := range fixtures.RecordedAvailability(t) {
		undo := database.Vary(t, original, v.SQL)
		compareVariant(t, db, v, got)
		undo()
	}
	want := map[string]int{
		equalAnswer:   2143,
		pluginThrows:  12,
		pastMidnight:  7,
		afterMidnight: 2,
		missingHour:   7,
		pastDay:       1,
	}
	if fixtures.Thorough() {
		want = map[string]int{
			equalAnswer:   8401,
			pluginThrows:  41,
			pastMidnight:  25,
			afterMidnight: 6,
			missingHour:   23,
			pastDay:       4,
			windowOfADate: 1,
		}
	}
	expect.Equal(t, want, got, "answers")
}

func compareVariant(t *testing.T, db *wpdb.DB, v fixtures.AvailabilityVariant, differences map[string]int) {
	t.Helper()
	site, err := session.NewPlatform(db, func() time.Time { return v.Now }).Session(t.Context())
	expect.NoError(t, err)
	r := variantComparison{t: t, site: site, variant: v.Name, services: map[int64]slots.Service{}, resources: map[resourceKey][]availability.Resource{}, calendars: map[calendarKey]*availability.Calendar{}, differences: differences}
	for _, c := range fixtures.Sample(v.Cases, 4) {
		r.compare(c)
	}
	for _, c := range fixtures.Sample(v.Checks, 4) {
		r.check(c)
	}
}

// variantComparison compares with the answers of one variant.
type variantComparison struct {
	t           *testing.T
	site        *session.Session
	variant     string
	services    map[int64]slots.Service
	resources   map[resourceKey][]availability.Resource
	calendars   map[calendarKey]*availability.Calendar
	differences map[string]int
}

// The named differences between our answers and the plugin's.
const (
	equalAnswer   = "equal"
	pluginThrows  = "the plugin throws"
	pastMidnight  = "a booking runs past midnight"
	afterMidnight = "starts after midnight"
	pastDay       = "the day is past"
	missingHour   = "the clock skips the hour"
	// A last day given as a date ends bookings at its first minute, although the calendar offers that day
	// up to the present time of day.
	windowOfADate = "the window ends on a date"
)

// midnightVariant has bookings that run past midnight.
const midnightVariant = "cross_midnight_bookings"

// changesClock reports whether the variant covers a day on which the clock changes.
func (r variantComparison) changesClock() bool { return strings.HasPrefix(r.variant, "dst:") }

// inSkippedHour reports whether a start is in the hour that all recorded spring changes skip.
func inSkippedHour(start int) bool { return 120 <= start && start < 180 }

// compare asks for a day. The engine mirrors the plugin's question about a day, which decides about a
// booking; customers are shown the plugin's calendar.
func (r variantComparison) compare(c fixtures.AvailabilityCase) {
	r.t.Helper()
	asPlugin, calendar := slotList(c.Slots, c.Capacity), slotList(c.Slots, c.Capacity)
	if c.DaySlots != nil {
		asPlugin = slotList(c.DaySlots, c.DayCapacity)
	} else if r.variant == midnightVariant {
		asPlugin = nil // its starts were compared with the calendar's; its seats were not recorded
	}
	if c.CalendarError != "" || c.Request.Side == "admin" {
		calendar = asPlugin
	}
	day := parseDay(r.t, c.Request.Date)
	asked := r.ask(c.Request, day)
	ours := asked.answer(day)
	if c.DayError != "" {
		r.differences[pluginThrows]++
		return
	}
	plain := asked.asPlugin(r.site).answer(day)
	if diff := cmp.Diff(asPlugin, plain); diff != "" && asPlugin != nil {
		r.t.Errorf("%s: %s: as the plugin (-want +got):\n%s", r.variant, describe(c.Request), diff)
	}
	switch withinDay := before(calendar, 1440); {
	case slices.Equal(ours, calendar):
		r.differences[equalAnswer]++
	case slices.Equal(ours, withinDay):
		r.differences[afterMidnight]++
	case r.changesClock() && slices.Equal(ours, slices.DeleteFunc(slices.Clone(calendar), func(s slot) bool { return inSkippedHour(s.Start) })):
		r.differences[missingHour]++
	case r.variant == midnightVariant && subset(ours, plain):
		r.differences[pastMidnight]++
	default:
		r.t.Errorf("%s: %s (-want +got):\n%s", r.variant, describe(c.Request), cmp.Diff(calendar, ours))
	}
}

// check asks about one start.
func (r variantComparison) check(c fixtures.AvailabilityCheck) {
	r.t.Helper()
	if c.Error != "" {
		r.differences[pluginThrows]++
		return
	}
	at := availability.Moment{Day: parseDay(r.t, c.Check.StartDate), Minutes: availability.Minutes(c.Check.StartTime)}
	asked := r.ask(c.Check.AvailabilityRequest, at.Day)
	free := asked.calendar != nil && len(asked.calendar.Free(at, asked.Request)) > 0
	switch {
	case free == c.Available:
		r.differences[equalAnswer]++
	case !free && at.Before(availability.MomentOf(r.site.Now.In(r.site.Zone.Location))):
		r.differences[pastDay]++
	case !free && r.changesClock() && inSkippedHour(int(at.Minutes)):
		r.differences[missingHour]++
	case free && r.variant == "latest_global:date":
		r.differences[windowOfADate]++
	default:
		r.t.Errorf("%s: %s on %s at %d: free %t, want %t", r.variant, describe(c.Check.AvailabilityRequest), at.Day, at.Minutes, free, c.Available)
	}
}

// slot is a start with its free seats.
type slot struct{ Start, Capacity int }

func slotList(starts, capacities []int) []slot {
	slots := make([]slot, len(starts))
	for i := range starts {
		slots[i] = slot{starts[i], capacities[i]}
	}
	return slots
}

func before(slots []slot, end int) []slot {
	return slices.DeleteFunc(slices.Clone(slots), func(s slot) bool { return s.Start >= end })
}

func subset(slots, of []slot) bool {
	return !slices.ContainsFunc(slots, func(s slot) bool { return !slices.Contains(of, s) })
}

func describe(q fixtures.AvailabilityRequest) string {
	text, err := json.Marshal(q)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func parseDay(t *testing.T, text string) availability.Day {
	t.Helper()
	day, ok := availability.ParseDay(text)
	if !ok {
		t.Fatalf("no day: %s", text)
	}
	return day
}

// anyID returns an id, or 0 for "any".
func anyID(raw json.RawMessage) int64 {
	id, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// question is a request with the calendar that answers it; the calendar is nil if the request names
// something that does not exist.
type question struct {
	service  slots.Service
	calendar *availability.Calendar
	availability.Request
}

// ask reads what a request needs.
func (r variantComparison) ask(q fixtures.AvailabilityRequest, day availability.Day) question {
	r.t.Helper()
	service, known := r.service(q.ServiceID)
	if !known {
		return question{}
	}
	calendar := r.calendar(service, calendarKey{resourceKey{q.ServiceID, anyID(q.AgentID), anyID(q.LocationID)}, day, q.Side == "customer"})
	if calendar == nil {
		return question{}
	}
	duration, attendees := service.Duration, int64(1)
	if q.Duration != nil && *q.Duration != 0 {
		duration = *q.Duration
	}
	if q.Attendees != nil {
		attendees = *q.Attendees
	}
	asked := question{service: service, calendar: calendar, Request: service.Request(duration, attendees)}
	asked.Exclude = q.Exclude
	return asked
}

// resourceKey is what resources depend on, besides the rows.
type resourceKey struct{ service, agent, location int64 }

// calendarKey is what a calendar depends on, besides the rows.
type calendarKey struct {
	resourceKey

	day      availability.Day
	customer bool
}

// calendar reads each calendar of a variant once. It is nil if the agent or the location does not exist.
func (r variantComparison) calendar(service slots.Service, key calendarKey) *availability.Calendar {
	r.t.Helper()
	if calendar, known := r.calendars[key]; known {
		return calendar
	}
	resources, known := r.resourcesOf(key.resourceKey)
	if !known {
		return nil
	}
	calendar, err := slots.Calendar(r.t.Context(), r.site, service, resources, slots.CalendarQuery{From: key.day, To: key.day, Customer: key.customer})
	expect.NoError(r.t, err)
	r.calendars[key] = calendar
	return calendar
}

// resourcesOf reads the resources of a variant once. known is false if the agent or the location does not
// exist.
func (r variantComparison) resourcesOf(key resourceKey) (resources []availability.Resource, known bool) {
	r.t.Helper()
	if resources, read := r.resources[key]; read {
		return resources, resources != nil
	}
	var problems domain.Validation
	_, resources, _, err := slots.LoadService(r.t.Context(), r.site, &problems, key.service, key.agent, &key.location)
	expect.NoError(r.t, err)
	switch {
	case problems.Err() != nil:
		resources = nil
	case resources == nil:
		resources = []availability.Resource{} // they exist, but not together
	}
	r.resources[key] = resources
	return resources, resources != nil
}

// service reads each service of a variant once.
func (r variantComparison) service(id int64) (service slots.Service, known bool) {
	r.t.Helper()
	if service, known = r.services[id]; known {
		return service, true
	}
	service, _, known, err := slots.LoadBookable(r.t.Context(), r.site, id, 0, new(int64))
	expect.NoError(r.t, err)
	if !known {
		return service, false
	}
	r.services[id] = service
	return service, true
}

// answer returns the free slots of a day.
func (q question) answer(day availability.Day) []slot {
	slots := []slot{}
	if q.calendar == nil {
		return slots
	}
	for _, s := range availability.Offered(q.calendar.Day(day, q.Request)) {
		slots = append(slots, slot{int(s.Start), s.Capacity})
	}
	return slots
}

// asPlugin returns the same question for a calendar that never deviates from the plugin.
func (q question) asPlugin(site *session.Session) question {
	if q.calendar == nil {
		return q
	}
	in := q.calendar.Input
	in.Deviations = availability.Deviations{}
	if in.Window != nil {
		in.Window = slots.BookingWindow(site, q.service, in.Deviations, site.Now)
	}
	q.calendar = availability.NewCalendar(in)
	return q
}
