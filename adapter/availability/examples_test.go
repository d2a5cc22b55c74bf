package availability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

// monday is so far in the future that no window matters.
var monday = mustDay("2026-12-07")

func mustDay(text string) Day {
	day, ok := ParseDay(text)
	if !ok {
		panic(text)
	}
	return day
}

// clock parses HH:MM.
func clock(text string) Minutes {
	var h, m int
	if _, err := fmt.Sscanf(text, "%d:%d", &h, &m); err != nil {
		panic(text)
	}
	return Minutes(60*h + m)
}

// The agent A, the service 1 and the location 1 of the examples, and their
// alternatives.
const (
	agentA, agentB = 1, 2
	service        = 1
	otherService   = 2
)

// weekly returns a rule for Mondays: scope agent, service, location; hours "9-12".
func weekly(agent, service, location int64, hours string) WorkPeriod {
	start, end, _ := strings.Cut(hours, "-")
	return WorkPeriod{Scope: Scope{agent, service, location}, Weekday: 1, Start: hour(start), End: hour(end)}
}

func withDate(p WorkPeriod) WorkPeriod {
	p.Dated, p.Date = true, monday
	return p
}

func hour(text string) Minutes {
	if !strings.Contains(text, ":") {
		text += ":00"
	}
	return clock(text)
}

// bookingAt returns an approved booking on Monday.
func bookingAt(id int64, hours string, change ...func(*Booking)) Booking {
	start, end, _ := strings.Cut(hours, "-")
	b := Booking{
		ID: id, Agent: agentA, Service: service, Location: 1, Attendees: 1,
		Start: Moment{monday, hour(start)}, End: Moment{monday, hour(end)},
	}
	for _, c := range change {
		c(&b)
	}
	return b
}

func buffers(before, after Minutes) func(*Booking) {
	return func(b *Booking) { b.BufferBefore, b.BufferAfter = before, after }
}

func of(agent, service, location int64) func(*Booking) {
	return func(b *Booking) { b.Agent, b.Service, b.Location = agent, service, location }
}

func seats(n int) func(*Booking) { return func(b *Booking) { b.Attendees = n } }

// example is one set-up of the table; for zero values see the comment of
// TestWorkedExamples.
type example struct {
	name                      string
	resources                 []Resource // agent A at location 1 unless given
	hours                     []WorkPeriod
	bookings                  []Booking
	rules                     Rules
	service                   Service
	duration                  Minutes // 60 unless given
	bufferBefore, bufferAfter Minutes
	attendees                 int // 1 unless given
	agent, location           int64
	day                       Day
	window                    *Window
	clock                     Clock
	want                      string // "09:00 09:30", with seats "09:00(3)"
}

// run returns the offered starts.
func (e example) run(deviations Deviations, withSeats bool) string {
	if e.resources == nil {
		e.resources = []Resource{{agentA, service, 1}}
	}
	if e.service.Step == 0 {
		e.service.Step = DefaultStep
	}
	if e.service.CapacityMax == 0 {
		e.service.CapacityMax = 1
	}
	if e.duration == 0 {
		e.duration = 60
	}
	if e.attendees == 0 {
		e.attendees = 1
	}
	if e.day == 0 {
		e.day = monday
	}
	e.service.ID = service
	c := NewCalendar(Input{
		Service: e.service, Resources: e.resources, WorkPeriods: e.hours, Bookings: e.bookings, Rules: e.rules, Window: e.window, Clock: e.clock, Deviations: deviations,
	})
	var words []string
	for _, s := range Offered(c.Day(e.day, Request{
		Agent: e.agent, Location: e.location, Duration: e.duration, BufferBefore: e.bufferBefore, BufferAfter: e.bufferAfter, Attendees: e.attendees,
	})) {
		word := fmt.Sprintf("%02d:%02d", s.Start/60, s.Start%60)
		if withSeats {
			word += fmt.Sprintf("(%d)", s.Capacity)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestWorkedExamples are set-ups that were run on a real site. Unless a row
// says otherwise: a Monday, one agent at one location, an hour long, every half
// hour, one seat.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()
	every := func(from, to string, step Minutes) string {
		var words []string
		for m := clock(from); m <= clock(to); m += step {
			words = append(words, fmt.Sprintf("%02d:%02d", m/60, m%60))
		}
		return strings.Join(words, " ")
	}
	general := func(hours ...string) (rows []WorkPeriod) {
		for _, h := range hours {
			rows = append(rows, weekly(0, 0, 0, h))
		}
		return rows
	}
	group := Service{CapacityMin: 2, CapacityMax: 5}
	twoSeats := bookingAt(1, "10-11", seats(2))
	other := bookingAt(1, "10-11", of(agentA, otherService, 1))
	both := []Resource{{agentA, service, 1}, {agentB, service, 1}}
	late := append(general("20-24"), WorkPeriod{Weekday: 2, Start: 0, End: 180})
	pastMidnight := bookingAt(1, "23-1", func(b *Booking) { b.End = Moment{monday + 1, 60} })
	toMidnight := bookingAt(1, "22-24", func(b *Booking) { b.End = Moment{monday + 1, 1440} })
	for _, e := range []example{
		{name: "1 no hours at all", want: every("08:00", "16:00", 30)},
		{name: "2 a lunch break", hours: general("9-12", "13-17"), want: every("09:00", "11:00", 30) + " " + every("13:00", "16:00", 30)},
		{name: "2 on Tuesday", hours: general("9-12", "13-17"), day: monday + 1, want: ""},
		{name: "3 buffers add up", hours: general("9-17"), bookings: []Booking{bookingAt(1, "11-12", buffers(15, 15))}, bufferBefore: 15, bufferAfter: 15, want: "09:00 09:30 " + every("12:30", "16:00", 30)},
		{name: "3b a step of 15", hours: general("9-17"), service: Service{Step: 15}, bookings: []Booking{bookingAt(1, "11-12", buffers(15, 15))}, bufferBefore: 15, bufferAfter: 15, want: "09:00 09:15 09:30 " + every("12:30", "16:00", 15)},
		{name: "4 a booking", hours: general("9-12"), bookings: []Booking{bookingAt(1, "9-10")}, want: "10:00 10:30 11:00"},
		{name: "5 agent and service intersect", hours: append(general("8-17"), weekly(agentA, 0, 0, "9-12"), weekly(0, service, 0, "10-15")), want: "10:00 10:30 11:00"},
		{name: "6 the agent sorts first", hours: append(general("8-17"), weekly(agentA, 0, 0, "9-12"), weekly(0, service, 1, "10-15")), want: every("09:00", "11:00", 30)},
		{name: "7 the heavier sorts first", hours: append(general("8-17"), weekly(agentA, 0, 1, "9-12"), weekly(0, service, 0, "10-15")), want: every("09:00", "11:00", 30)},
		{name: "8 the service is off", hours: append(general("8-17"), weekly(agentA, 0, 0, "9-12"), weekly(0, service, 0, "0-0")), want: ""},
		{name: "9 the date is off", hours: append(general("9-17"), weekly(agentA, 0, 0, "9-12"), withDate(weekly(0, 0, 0, "0-0"))), want: ""},
		{name: "9 but not for the agent", hours: append(general("9-17"), withDate(weekly(0, 0, 0, "0-0")), withDate(weekly(agentA, 0, 0, "10-13"))), want: every("10:00", "12:00", 30)},
		{name: "10 a date ties with a triple", hours: append(general("9-17"), weekly(agentA, service, 1, "11-15"), withDate(weekly(0, 0, 0, "10-13"))), want: "11:00 11:30 12:00"},
		{name: "11 two intervals and one", hours: []WorkPeriod{weekly(agentA, 0, 0, "9-12"), weekly(agentA, 0, 0, "13-17"), weekly(0, service, 0, "11-15")}, want: "11:00 13:00 13:30 14:00"},
		{name: "12 the last of the disjoint", hours: []WorkPeriod{weekly(agentA, 0, 0, "9-10"), weekly(0, service, 0, "11-12"), weekly(0, 0, 1, "13-16")}, want: every("13:00", "15:00", 30)},
		{name: "13 longer", hours: general("9-12"), duration: 90, want: "09:00 09:30 10:00 10:30"},
		{name: "13 all of it", hours: general("9-12"), duration: 180, want: "09:00"},
		{name: "13 too long", hours: general("9-12"), duration: 181, want: ""},
		{name: "14 a step of 45", hours: general("9-12"), service: Service{Step: 45}, duration: 30, want: "09:00 09:45 10:30 11:15"},
		{name: "14 a step of 20", hours: general("9-12"), service: Service{Step: 20}, duration: 45, want: every("09:00", "11:00", 20)},
		{name: "14 from ten past", hours: general("9:10-12"), want: every("09:10", "10:40", 30)},
		{name: "15 buffers leave the hours", hours: general("9-11"), bufferBefore: 30, bufferAfter: 30, want: "09:00 09:30 10:00"},
		{name: "17 another service", hours: general("9-13"), bookings: []Booking{other}, want: "09:00 11:00 11:30 12:00"},
		{name: "17 several at a time", hours: general("9-13"), bookings: []Booking{other}, rules: Rules{MultipleServicesAtTime: true}, want: every("09:00", "12:00", 30)},
		{name: "17 at another location", hours: general("9-13"), bookings: []Booking{other}, resources: []Resource{{agentA, service, 2}}, want: every("09:00", "12:00", 30)},
		{name: "17 one location at a time", hours: general("9-13"), bookings: []Booking{other}, resources: []Resource{{agentA, service, 2}}, rules: Rules{OneLocationAtTime: true}, want: "09:00 11:00 11:30 12:00"},
		{name: "18 one agent at the location", hours: general("9-13"), service: Service{CapacityMax: 3}, resources: both, agent: agentA, bookings: []Booking{bookingAt(1, "10-11", of(agentB, service, 1))}, rules: Rules{OneAgentAtLocation: true}, want: "09:00 11:00 11:30 12:00"},
		{name: "19 two grids", resources: both, hours: []WorkPeriod{weekly(agentA, 0, 0, "9-11"), weekly(agentB, 0, 0, "10:15-12:15")}, want: "09:00 09:30 10:00 10:15 10:45 11:15"},
		{name: "20 any location", resources: []Resource{{agentA, service, 1}, {agentA, service, 2}}, hours: general("9-11"), bookings: []Booking{bookingAt(1, "9-10")}, want: "09:00 09:30 10:00"},
		{name: "20 one location", resources: []Resource{{agentA, service, 1}, {agentA, service, 2}}, location: 1, hours: general("9-11"), bookings: []Booking{bookingAt(1, "9-10")}, want: "10:00"},
		{name: "21 past midnight", hours: late, duration: 120, bookings: []Booking{pastMidnight}, want: every("20:00", "22:00", 30)},
		{name: "21 past midnight, Tuesday", hours: late, duration: 120, day: monday + 1, bookings: []Booking{pastMidnight}, want: "00:00 00:30 01:00"},
		{name: "21 to midnight", hours: late, duration: 120, bookings: []Booking{toMidnight}, want: "20:00"},
		{name: "26 the booking's own buffers", hours: general("9-13"), duration: 30, bookings: []Booking{bookingAt(1, "10-11", of(agentA, otherService, 1), buffers(15, 30))}, want: "09:00 11:30 12:00 12:30"},
		{name: "27 overlapping rows, each start once", hours: general("9-12", "10-13"), want: every("09:00", "12:00", 30)},
		{name: "the service is off, between others", hours: append(general("8-17"), weekly(agentA, 0, 0, "9-12"), weekly(0, service, 0, "0-0"), weekly(0, 0, 1, "13-16")), want: ""},
		{name: "off from midnight to midnight, alone", hours: general("0-0"), want: ""},
		{name: "hours that only touch leave none", hours: []WorkPeriod{weekly(agentA, 0, 0, "9-12"), weekly(0, service, 0, "12-15"), weekly(0, 0, 1, "13-16")}, want: ""},
		{name: "hours that only touch, the other way", hours: []WorkPeriod{weekly(agentA, 0, 0, "12-15"), weekly(0, service, 0, "9-12"), weekly(0, 0, 1, "13-16")}, want: ""},
		{name: "no hours at all, on a Sunday", day: monday + 6, want: every("08:00", "16:00", 30)},
		{name: "the same row twice", hours: general("9-10", "9-10"), want: "09:00"},
		{name: "28 two seats of one", hours: general("9-12"), attendees: 2, want: ""},
	} {
		expect.Equal(t, e.want, e.run(Deviations{}, false), e.name, ": offered")
	}
	threeSeats := bookingAt(2, "10:30-11:30", seats(3))
	minimum := group
	minimum.BlockAtMinimum = true
	for _, e := range []example{
		{name: "16 a group", service: group, bookings: []Booking{twoSeats}, want: "09:00(5) 09:30(3) 10:00(3) 10:30(3) 11:00(5) 11:30(5) 12:00(5)"},
		{name: "16 four seats", service: group, attendees: 4, bookings: []Booking{twoSeats}, want: "09:00(5) 11:00(5) 11:30(5) 12:00(5)"},
		{name: "16 the minimum is met", service: minimum, bookings: []Booking{twoSeats}, want: "09:00(5) 11:00(5) 11:30(5) 12:00(5)"},
		{name: "16 two bookings", service: group, bookings: []Booking{twoSeats, threeSeats}, want: "09:00(5) 09:30(3) 11:00(2) 11:30(5) 12:00(5)"},
		{name: "18 any agent", service: Service{CapacityMax: 3}, resources: both, bookings: []Booking{bookingAt(1, "10-11", of(agentB, service, 1))}, rules: Rules{OneAgentAtLocation: true}, want: "09:00(3) 09:30(2) 10:00(2) 10:30(2) 11:00(3) 11:30(3) 12:00(3)"},
	} {
		e.hours = general("9-13")
		expect.Equal(t, e.want, e.run(Deviations{}, true), e.name, ": offered")
	}
}

// TestDeviations: each intended difference from the plugin, off and on.
func TestDeviations(t *testing.T) {
	t.Parallel()
	late := []WorkPeriod{weekly(0, 0, 0, "20-24"), {Weekday: 2, Start: 0, End: 180}}
	long := []WorkPeriod{weekly(0, 0, 0, "22-26")}
	pastMidnight := bookingAt(1, "23-1", func(b *Booking) { b.End = Moment{monday + 1, 60} })
	toMidnight := bookingAt(1, "23-24", func(b *Booking) { b.End = Moment{monday + 1, 1440} })
	incomplete := bookingAt(1, "20-21", func(b *Booking) { b.Incomplete = true })
	spring, err := time.LoadLocation("Europe/Berlin")
	expect.NoError(t, err)
	winter := NewWindow(time.Date(2027, 1, 1, 12, 0, 0, 0, spring), Bounds{}, Bounds{}, DefaultDeviations)
	springDay, autumnDay := mustDay("2027-03-28"), mustDay("2027-10-31")
	nightOfSpring := []WorkPeriod{{Weekday: 7, Start: 0, End: 300}}
	onDay := func(day Day) func(*Booking) {
		return func(b *Booking) { b.Start.Day, b.End.Day, b.Duration = day, day, 60 }
	}
	beforeTheGap, afterTheGap, inAutumn := bookingAt(1, "1:30-2:30", onDay(springDay)), bookingAt(1, "3-4", onDay(springDay)), bookingAt(1, "2:30-3:30", onDay(autumnDay))
	tuesday := bookingAt(1, "0-1", func(b *Booking) { b.Start.Day, b.End.Day = monday+1, monday+1 })
	tuesdayWithBuffers := tuesday
	tuesdayWithBuffers.BufferBefore = 15
	for _, c := range []struct {
		name         string
		e            example
		plugin, ours string
		deviates     Deviations
	}{
		{"past midnight, the first day", example{hours: late, bookings: []Booking{pastMidnight}}, "20:00 20:30 21:00 21:30 22:00 22:30 23:00", "20:00 20:30 21:00 21:30 22:00", Deviations{BlockAcrossMidnight: true}},
		{"past midnight, the second day", example{hours: late, bookings: []Booking{pastMidnight}, day: monday + 1}, "00:00 00:30 01:00 01:30 02:00", "01:00 01:30 02:00", Deviations{BlockAcrossMidnight: true}},
		{"to midnight, the next day is free", example{hours: late, bookings: []Booking{toMidnight}, day: monday + 1}, "00:00 00:30 01:00 01:30 02:00", "00:00 00:30 01:00 01:30 02:00", DefaultDeviations},
		{"a new one past midnight", example{hours: long, duration: 90, bookings: []Booking{tuesday}}, "22:00 22:30 23:00 23:30 24:00 24:30", "22:00 22:30", Deviations{BlockAcrossMidnight: true}},
		{
			"buffers end at midnight", example{hours: late, bookings: []Booking{tuesdayWithBuffers}, bufferAfter: 15},
			"20:00 20:30 21:00 21:30 22:00 22:30 23:00", "20:00 20:30 21:00 21:30 22:00 22:30 23:00", DefaultDeviations,
		},
		{"starts after midnight", example{hours: long}, "22:00 22:30 23:00 23:30 24:00 24:30 25:00", "22:00 22:30 23:00 23:30", Deviations{StartWithinDay: true}},
		{"starts before midnight", example{hours: []WorkPeriod{{Weekday: 1, Start: -50, End: 120}}}, "00:-50 00:-20 00:10 00:40", "00:10 00:40", Deviations{StartWithinDay: true}},
		{"days before today", example{hours: late, window: &Window{Now: Moment{monday + 1, 0}, Opens: Moment{monday + 1, 0}}}, "20:00 20:30 21:00 21:30 22:00 22:30 23:00", "", Deviations{RejectPast: true}},
		{
			"the hour that the clock skips",
			example{hours: []WorkPeriod{{Weekday: 7, Start: 60, End: 270}}, day: mustDay("2027-03-28"), window: winter, clock: Clock{spring}},
			"01:00 01:30 02:00 02:30 03:00 03:30", "01:00 01:30 03:00 03:30", Deviations{SkipMissingHour: true},
		},
		{
			"what touches the hour that the clock skips takes longer",
			example{hours: nightOfSpring, bookings: []Booking{beforeTheGap}, day: springDay, clock: Clock{spring}},
			"00:00 00:30 02:30 03:00 03:30 04:00", "00:00 00:30 02:30 03:30 04:00", Deviations{CompareInstants: true, BoundSpans: true},
		},
		{
			"what would touch it takes longer", example{hours: nightOfSpring, bookings: []Booking{afterTheGap}, day: springDay, clock: Clock{spring}},
			"00:00 00:30 01:00 01:30 02:00 04:00", "00:00 00:30 01:00 04:00", Deviations{CompareInstants: true, BoundSpans: true},
		},
		{
			"after the gap, buffers are as long as ever",
			example{hours: nightOfSpring, bookings: []Booking{afterTheGap}, day: springDay, clock: Clock{spring}, bufferAfter: 15},
			"00:00 00:30 01:00 01:30 04:00", "00:00 00:30 04:00", Deviations{CompareInstants: true, BoundSpans: true},
		},
		{
			"the hour that comes twice counts twice", example{hours: nightOfSpring, bookings: []Booking{inAutumn}, day: autumnDay, clock: Clock{spring}},
			"00:00 00:30 01:00 01:30 03:30 04:00", "00:00 00:30 01:00 01:30 03:30 04:00", DefaultDeviations,
		},
		{
			"an end many days later counts as start plus duration",
			example{hours: late, bookings: []Booking{bookingAt(1, "20-21", func(b *Booking) { b.End.Day, b.Duration = LastDay, 90 })}},
			"21:00 21:30 22:00 22:30 23:00", "21:30 22:00 22:30 23:00", Deviations{BlockAcrossMidnight: true, BoundSpans: true},
		},
		{
			"so does an end before the start",
			example{hours: late, bookings: []Booking{bookingAt(1, "22-1", func(b *Booking) { b.Duration = 90 })}},
			"20:00 20:30 21:00 21:30 22:00 22:30 23:00", "20:00 20:30 21:00", Deviations{BlockAcrossMidnight: true, BoundSpans: true},
		},
		{
			"a duration of many days is cut, too",
			example{hours: late, bookings: []Booking{bookingAt(1, "22-1", func(b *Booking) { b.Start.Day, b.End.Day, b.Duration = monday-1, monday-1, 10_000 })}},
			"20:00 20:30 21:00 21:30 22:00 22:30 23:00", "", Deviations{BlockAcrossMidnight: true, BoundSpans: true},
		},
		{"rows that cannot be read are passed over", example{hours: late, bookings: []Booking{incomplete}}, "20:00 20:30 21:00 21:30 22:00 22:30 23:00", "20:00 20:30 21:00 21:30 22:00 22:30 23:00", DefaultDeviations},
	} {
		expect.Equal(t, c.plugin, c.e.run(Deviations{}, false), c.name, ": as the plugin")
		expect.Equal(t, c.ours, c.e.run(c.deviates, false), c.name, ": as we answer")
	}
}
