package availability

import (
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestSlotsSayWhyTheyAreNotFree checks the reason for each start of the grid that is not offered.
func TestSlotsSayWhyTheyAreNotFree(t *testing.T) {
	t.Parallel()
	base := func() Input {
		return Input{
			Service: Service{ID: service, Step: 60, CapacityMax: 1}, Resources: []Resource{{agentA, service, 1}},
			WorkPeriods: []WorkPeriod{weekly(0, 0, 0, "9-13")}, Deviations: DefaultDeviations,
		}
	}
	request := Request{Duration: 60, Attendees: 1}
	for name, c := range map[string]struct {
		change func(*Input, *Request)
		want   []Slot
	}{
		"nothing in the way": {func(*Input, *Request) {}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"a booking, and its buffer": {func(in *Input, _ *Request) {
			in.Bookings = []Booking{bookingAt(7, "10-11", buffers(0, 15))}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Reason: Booked, Booking: 7}, {Start: 660, Reason: Buffer, Booking: 7}, {Start: 720, Capacity: 1}}},
		"the request's own buffer": {func(in *Input, q *Request) {
			in.Bookings, q.BufferAfter = []Booking{bookingAt(7, "10-11")}, 15
		}, []Slot{{Start: 540, Reason: Buffer, Booking: 7}, {Start: 600, Reason: Booked, Booking: 7}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"too few seats": {func(in *Input, q *Request) {
			in.Service.CapacityMax, q.Attendees, in.Bookings = 3, 2, []Booking{bookingAt(7, "10-11", seats(2))}
		}, []Slot{{Start: 540, Capacity: 3}, {Start: 600, Capacity: 1, Reason: NoCapacity}, {Start: 660, Capacity: 3}, {Start: 720, Capacity: 3}}},
		"more people than seats": {func(_ *Input, q *Request) { q.Attendees = 2 }, []Slot{
			{Start: 540, Capacity: 1, Reason: NoCapacity}, {Start: 600, Capacity: 1, Reason: NoCapacity}, {Start: 660, Capacity: 1, Reason: NoCapacity}, {Start: 720, Capacity: 1, Reason: NoCapacity},
		}},
		"time off goes before bookings": {func(in *Input, _ *Request) {
			in.OffPeriods = []OffPeriod{{Scope: Scope{Agent: agentA}, Day: monday, Start: 600, End: 720}, {Scope: Scope{Agent: agentB}, Day: monday, Start: 0, End: 1440}, {Day: monday + 1, Start: 0, End: 1440}}
			in.Bookings = []Booking{bookingAt(7, "10-11")}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Reason: Off}, {Start: 660, Reason: Off}, {Start: 720, Capacity: 1}}},
		"time off goes before events, and events before bookings": {func(in *Input, q *Request) {
			in.OffPeriods = []OffPeriod{{Day: monday, Start: 540, End: 630}}
			in.Events = []OffPeriod{{Scope: Scope{Agent: agentA}, Day: monday, Start: 600, End: 705}, {Scope: Scope{Agent: agentB}, Day: monday, Start: 720, End: 780}, {Scope: Scope{Agent: agentA}, Day: monday + 1, Start: 720, End: 780}}
			in.Bookings, q.BufferBefore = []Booking{bookingAt(7, "11-12")}, 15
		}, []Slot{{Start: 540, Reason: Off}, {Start: 600, Reason: Off}, {Start: 660, Reason: OwnEvent}, {Start: 720, Reason: Buffer, Booking: 7}}},
		"an event that takes no time": {func(in *Input, q *Request) {
			in.Events = []OffPeriod{{Scope: Scope{Agent: agentA}, Day: monday, Start: 600, End: 600}, {Scope: Scope{Agent: agentA}, Day: monday, Start: 750, End: 690}, {Scope: Scope{Agent: agentA}, Day: monday, Start: 690, End: 690}}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Reason: OwnEvent}, {Start: 720, Capacity: 1}}},
		"the day is full for the service": {func(in *Input, _ *Request) {
			in.Bookings, in.Limits = []Booking{bookingAt(7, "10-11", of(agentB, service, 2)), bookingAt(8, "12-13", of(agentB, otherService, 2))}, DailyLimits{Service: 1}
		}, []Slot{{Start: 540, Reason: NoCapacity}, {Start: 600, Reason: NoCapacity}, {Start: 660, Reason: NoCapacity}, {Start: 720, Reason: NoCapacity}}},
		"the day is full for the agent, but not for another": {func(in *Input, q *Request) {
			in.Resources = append(in.Resources, Resource{agentB, service, 1})
			in.Bookings, in.Limits = []Booking{bookingAt(7, "10-11")}, DailyLimits{Agents: map[int64]int{agentA: 1}}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"the day is full for the agent": {func(in *Input, q *Request) {
			in.Bookings, in.Limits = []Booking{bookingAt(7, "10-11", of(agentA, otherService, 2))}, DailyLimits{Agents: map[int64]int{agentA: 1}}
		}, []Slot{{Start: 540, Reason: NoCapacity}, {Start: 600, Reason: NoCapacity}, {Start: 660, Reason: NoCapacity}, {Start: 720, Reason: NoCapacity}}},
		"the day is full for others": {func(in *Input, q *Request) {
			in.Bookings = []Booking{bookingAt(7, "10-11", of(agentB, otherService, 2))}
			in.Limits = DailyLimits{Service: 1, Agents: map[int64]int{agentA: 1, agentB: 1}}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"a free agent goes before one who is off, even without seats": {func(in *Input, q *Request) {
			in.Resources = append(in.Resources, Resource{agentB, service, 1})
			in.OffPeriods = []OffPeriod{{Scope: Scope{Agent: agentA}, Day: monday, Start: 600, End: 660}, {Scope: Scope{Agent: agentB}, Day: monday, Start: 540, End: 600}}
			in.Service.CapacityMax, q.Attendees = 0, 0
		}, []Slot{{Start: 540}, {Start: 600}, {Start: 660}, {Start: 720}}},
		"both agents are booked": {func(in *Input, q *Request) {
			in.Resources = append(in.Resources, Resource{agentB, service, 1})
			in.Bookings = []Booking{bookingAt(8, "10-11", of(agentB, service, 1)), bookingAt(7, "10-11")}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Reason: Booked, Booking: 7}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"past midnight, a group": {func(in *Input, q *Request) {
			in.Service.CapacityMax, in.WorkPeriods, q.Duration = 3, []WorkPeriod{weekly(0, 0, 0, "22-26")}, 120
			in.Bookings = []Booking{bookingAt(7, "23-24", func(b *Booking) { b.End = Moment{monday + 1, 60} })}
		}, []Slot{{Start: 1320, Capacity: 2}, {Start: 1380, Capacity: 2}}},
		"the booking that moves keeps its start": {func(in *Input, q *Request) {
			in.Bookings, q.Exclude, q.Own = []Booking{bookingAt(7, "10:05-11:05")}, []int64{7}, &Moment{monday, 605}
			in.Window = &Window{Now: Moment{monday, 570}, Opens: Moment{monday, 630}}
		}, []Slot{{Start: 540, Reason: Past}, {Start: 600, Reason: OutsideWindow}, {Start: 605, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"the booking that moves comes from another day": {func(in *Input, q *Request) {
			q.Own = &Moment{monday + 1, 605}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"a start after midnight is not kept": {func(in *Input, q *Request) {
			in.WorkPeriods, q.Own = []WorkPeriod{weekly(0, 0, 0, "23-26")}, &Moment{monday, 1440}
		}, []Slot{{Start: 1380, Capacity: 1}}},
		"a buffer reaches into the past": {func(in *Input, q *Request) {
			in.Window, q.BufferBefore = &Window{Now: Moment{monday, 570}, Opens: Moment{monday, 630}}, 45
		}, []Slot{{Start: 540, Reason: Past}, {Start: 600, Reason: Past}, {Start: 660, Reason: OutsideWindow}, {Start: 720, Capacity: 1}}},
		"the booking that moves does not fill the day": {func(in *Input, q *Request) {
			in.Bookings, in.Limits, q.Exclude = []Booking{bookingAt(7, "10-11")}, DailyLimits{Service: 1}, []int64{7}
		}, []Slot{{Start: 540, Capacity: 1}, {Start: 600, Capacity: 1}, {Start: 660, Capacity: 1}, {Start: 720, Capacity: 1}}},
		"past, early and late": {func(in *Input, _ *Request) {
			in.Window = &Window{Now: Moment{monday, 570}, Opens: Moment{monday, 630}, Closes: Moment{monday, 750}, Bounded: true}
		}, []Slot{{Start: 540, Reason: Past}, {Start: 600, Reason: OutsideWindow}, {Start: 660, Capacity: 1}, {Start: 720, Reason: OutsideWindow}}},
		"a day after the last": {func(in *Input, _ *Request) {
			in.Window = &Window{Now: Moment{monday - 3, 0}, Opens: Moment{monday - 3, 0}, Closes: Moment{monday - 1, 750}, Bounded: true}
		}, []Slot{{Start: 540, Reason: OutsideWindow}, {Start: 600, Reason: OutsideWindow}, {Start: 660, Reason: OutsideWindow}, {Start: 720, Reason: OutsideWindow}}},
		"a day before the first": {func(in *Input, _ *Request) {
			in.Window = &Window{Now: Moment{monday - 3, 0}, Opens: Moment{monday + 1, 0}}
		}, []Slot{{Start: 540, Reason: OutsideWindow}, {Start: 600, Reason: OutsideWindow}, {Start: 660, Reason: OutsideWindow}, {Start: 720, Reason: OutsideWindow}}},
	} {
		in, q := base(), request
		c.change(&in, &q)
		expect.Equal(t, c.want, NewCalendar(in).Day(monday, q), name, ": grid")
	}
}

// TestAssign: the location with the lowest id where an agent is free, and there the agent that the site's
// order picks.
func TestAssign(t *testing.T) {
	t.Parallel()
	c := NewCalendar(Input{
		Service:     Service{ID: service, Step: 60, CapacityMax: 1},
		Resources:   []Resource{{3, service, 2}, {agentB, service, 1}, {agentA, service, 1}, {3, service, 1}},
		WorkPeriods: []WorkPeriod{weekly(0, 0, 0, "9-11")},
		Bookings:    []Booking{bookingAt(1, "10-11"), bookingAt(2, "10-11", of(agentB, service, 1)), bookingAt(3, "10-11", of(3, service, 1))},
	})
	q := Request{Duration: 60, Attendees: 1}
	load := map[int64]int{agentA: 2, agentB: 1, 3: 2}
	last := func(n int) int { return n - 1 }
	nine, ten := Moment{monday, 540}, Moment{monday, 600}
	for name, got := range map[string]struct {
		at    Moment
		q     Request
		order AgentOrder
		want  int64 // 0 for nobody
	}{
		"random":                      {nine, q, RandomAgent, 3},
		"not set":                     {nine, q, "", 3},
		"the dearest":                 {nine, q, PriceHigh, agentA},
		"the cheapest":                {nine, q, PriceLow, agentA},
		"the busiest, first of two":   {nine, q, BusiestAgent, agentA},
		"the idlest":                  {nine, q, IdlestAgent, agentB},
		"an order nobody knows":       {nine, q, "alphabetical", 3}, // counts as random
		"at the next location":        {ten, q, IdlestAgent, 3},
		"a certain agent":             {nine, Request{Agent: agentB, Duration: 60, Attendees: 1}, "alphabetical", agentB},
		"a certain agent who is busy": {ten, Request{Agent: agentB, Duration: 60, Attendees: 1}, RandomAgent, 0},
		"off the grid":                {Moment{monday, 545}, q, RandomAgent, 0},
	} {
		r, ok := c.Assign(got.at, got.q, Choice{Order: got.order, Load: load, Pick: last})
		if ok != (got.want != 0) || r.Agent != got.want {
			t.Errorf("%s: %v (%t), want agent %d", name, r, ok, got.want)
		}
	}
	if open := c.Open(Moment{monday, 545}, q); len(open) != 1 || open[0] != (Resource{3, service, 2}) {
		// the bookings at ten leave nobody else
		t.Errorf("open at 09:05: %v", open)
	}
	if open := c.Open(Moment{monday, 600}, q); len(open) != 1 || open[0] != (Resource{3, service, 2}) {
		t.Errorf("open until the hours end: %v", open)
	}
	expect.Equal(t, 4, len(c.Open(nine, q)), "open as the hours begin")
	expect.Equal(t, 0, len(c.Open(Moment{monday, 630}, q)), "open beyond the hours")
}

func TestAgentOrderKnown(t *testing.T) {
	t.Parallel()
	for order, want := range map[AgentOrder]bool{"": true, RandomAgent: true, IdlestAgent: true, "alphabetical": false} {
		expect.Equal(t, want, order.Known(), order, " is known")
	}
}

// TestWorkingHours: a resource's hours on each day, in order, without empty ones.
func TestWorkingHours(t *testing.T) {
	t.Parallel()
	rows := []WorkPeriod{weekly(0, 0, 0, "13-17"), weekly(0, 0, 0, "9-12"), weekly(0, 0, 0, "12-12"), weekly(0, 0, 0, "9-11"), {Weekday: 3, Start: 600, End: 660}}
	want := []DayHours{{Day: monday, Open: []Hours{{540, 660}, {540, 720}, {780, 1020}}}, {Day: monday + 1}, {Day: monday + 2, Open: []Hours{{600, 660}}}}
	expect.Equal(t, want, WorkingHours(rows, Resource{agentA, service, 1}, monday, monday+2), "hours")
}

func TestDayParsesAndFormats(t *testing.T) {
	t.Parallel()
	for text, weekday := range map[string]int{"1970-01-01": 4, "1969-12-28": 7, "2026-12-07": 1, "2027-02-28": 7, "2028-02-29": 2} {
		day := mustDay(text)
		if day.String() != text || day.Weekday() != weekday {
			t.Errorf("%s: %s, weekday %d, want %d", text, day, day.Weekday(), weekday)
		}
	}
	expect.Equal(t, "9999-12-31", LastDay.String(), "the last day is")
	if _, ok := ParseDay("2027-02-29"); ok {
		t.Error("a day that is none")
	}
	expect.Equal(t, []string{"approved", " pending"}, BlockingStatuses("approved, pending"), "statuses")
}
