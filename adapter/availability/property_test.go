package availability

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world returns a small site: hours, bookings and rules of all kinds, for two days.
func world(t *rapid.T) (Input, Request) {
	id := rapid.Int64Range(1, 3)
	in := Input{
		Service: Service{
			ID: 1, Step: rapid.SampledFrom([]Minutes{15, 20, 30, 45}).Draw(t, "step"),
			CapacityMin: rapid.IntRange(0, 2).Draw(t, "least"), CapacityMax: rapid.IntRange(1, 5).Draw(t, "seats"),
			BlockAtMinimum: rapid.Bool().Draw(t, "minimum"),
		},
		Rules: Rules{
			OneLocationAtTime: rapid.Bool().Draw(t, "one location"), MultipleServicesAtTime: rapid.Bool().Draw(t, "many services"),
			OneAgentAtLocation: rapid.Bool().Draw(t, "one agent"),
		},
		Deviations: DefaultDeviations,
	}
	for range rapid.IntRange(1, 4).Draw(t, "resources") {
		in.Resources = append(in.Resources, Resource{id.Draw(t, "agent"), 1, rapid.Int64Range(1, 2).Draw(t, "location")})
	}
	quarter := rapid.IntRange(0, 96)
	for range rapid.IntRange(0, 8).Draw(t, "hours") {
		start := quarter.Draw(t, "from")
		p := WorkPeriod{
			Scope:   Scope{rapid.Int64Range(0, 3).Draw(t, "of agent"), rapid.Int64Range(0, 1).Draw(t, "of service"), rapid.Int64Range(0, 2).Draw(t, "of location")},
			Weekday: rapid.IntRange(1, 2).Draw(t, "weekday"), Start: Minutes(15 * start), End: Minutes(15 * rapid.IntRange(start, 100).Draw(t, "to")),
		}
		if p.Dated = rapid.Bool().Draw(t, "dated"); p.Dated {
			p.Date = monday + Day(p.Weekday-1)
		}
		in.WorkPeriods = append(in.WorkPeriods, p)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "bookings") {
		in.Bookings = append(in.Bookings, booking(t, int64(i+1)))
	}
	for _, list := range []*[]OffPeriod{&in.OffPeriods, &in.Events} {
		for range rapid.IntRange(0, 2).Draw(t, "off periods") {
			start := quarter.Draw(t, "off from")
			*list = append(*list, OffPeriod{
				Scope: Scope{Agent: rapid.Int64Range(0, 3).Draw(t, "off agent")}, Day: monday, Start: Minutes(15 * start), End: Minutes(15 * (start + 4)),
			})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "assets") {
		a := Asset{ID: id.Draw(t, "asset"), Quantity: rapid.IntRange(0, 2).Draw(t, "units")}
		if rapid.Bool().Draw(t, "of some agents") {
			a.Agents = []int64{id.Draw(t, "asset's agent")}
		}
		in.Assets = append(in.Assets, a)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "uses") {
		start := quarter.Draw(t, "used from")
		in.AssetUses = append(in.AssetUses, AssetUse{Asset: id.Draw(t, "used asset"), Booking: int64(i), Day: monday, Start: Minutes(15 * start), End: Minutes(15 * (start + 4))})
	}
	q := Request{
		Duration: Minutes(15 * rapid.IntRange(1, 8).Draw(t, "duration")), Attendees: rapid.IntRange(1, 3).Draw(t, "attendees"),
		BufferBefore: Minutes(5 * rapid.IntRange(0, 4).Draw(t, "buffer before")), BufferAfter: Minutes(5 * rapid.IntRange(0, 4).Draw(t, "buffer after")),
	}
	return in, q
}

// booking returns a booking of any service, at times that may run past midnight.
func booking(t *rapid.T, id int64) Booking {
	start := Moment{monday + Day(rapid.IntRange(-1, 1).Draw(t, "day")), Minutes(15 * rapid.IntRange(0, 95).Draw(t, "at"))}
	end := Moment{start.Day, start.Minutes + Minutes(15*rapid.IntRange(1, 12).Draw(t, "long"))}
	if end.Minutes >= dayEnd {
		end.Day++
	}
	if end.Minutes > dayEnd {
		end.Minutes -= dayEnd
	}
	return Booking{
		ID: id, Agent: rapid.Int64Range(1, 3).Draw(t, "booked agent"), Service: rapid.Int64Range(1, 2).Draw(t, "booked service"),
		Location: rapid.Int64Range(0, 2).Draw(t, "booked location"), Start: start, End: end, Attendees: rapid.IntRange(0, 3).Draw(t, "booked seats"),
		BufferBefore: Minutes(5 * rapid.IntRange(0, 3).Draw(t, "kept before")), BufferAfter: Minutes(5 * rapid.IntRange(0, 3).Draw(t, "kept after")),
	}
}

// span returns a booking's time in minutes from Monday's midnight, buffers included.
func (b Booking) span() (from, to Minutes) {
	from = Minutes(b.Start.Day-monday)*dayEnd + b.Start.Minutes
	to = Minutes(b.End.Day-monday)*dayEnd + b.End.Minutes
	if b.End.Minutes == dayEnd && b.End.Day > b.Start.Day {
		to -= dayEnd
	}
	return from - b.BufferBefore, to + b.BufferAfter
}

// fills computes, rule by rule and without the package's own tables, whether a booking leaves nothing of a
// resource.
func fills(rules Rules, b Booking, r Resource) bool {
	if b.Agent != r.Agent {
		return rules.OneAgentAtLocation && b.Location == r.Location
	}
	if b.Location != r.Location {
		return rules.OneLocationAtTime
	}
	return b.Service != r.Service && !rules.MultipleServicesAtTime
}

// TestNothingOverlaps: a slot that a resource offers overlaps no booking that fills it, and has the
// requested seats.
func TestNothingOverlaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		for _, r := range in.Resources {
			alone := in
			alone.Resources = []Resource{r}
			for _, s := range Offered(NewCalendar(alone).Day(monday, q)) {
				seats := 0
				for _, b := range in.Bookings {
					from, to := b.span()
					// Buffers end at midnight, as in the plugin.
					if b.Start.Day < monday {
						from = max(from, 0)
						if b.End.Day < monday || to-b.BufferAfter <= 0 {
							continue
						}
					}
					if b.Start.Day > monday && s.Start+q.Duration <= dayEnd {
						continue
					}
					if from >= s.Start+q.Duration+q.BufferAfter || to <= s.Start-q.BufferBefore {
						continue
					}
					if fills(in.Rules, b, r) {
						t.Fatalf("%v of %v overlaps booking %+v", s, r, b)
					}
					if b.Agent == r.Agent && b.Location == r.Location && b.Service == r.Service {
						seats += b.Attendees
					}
				}
				if seats+q.Attendees > in.Service.CapacityMax {
					t.Fatalf("%v of %v: %d of %d seats are taken, %d more are offered", s, r, seats, in.Service.CapacityMax, q.Attendees)
				}
			}
		}
	})
}

// TestMoreBookingsOfferLess: adding a booking adds no slot and no seat.
func TestMoreBookingsOfferLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		before := seatsByStart(NewCalendar(in).Day(monday, q))
		in.Bookings = append(in.Bookings, booking(t, 99))
		for start, seats := range seatsByStart(NewCalendar(in).Day(monday, q)) {
			if had, ok := before[start]; !ok || seats > had {
				t.Fatalf("at %d: %d seats, before there were %d", start, seats, had)
			}
		}
	})
}

func seatsByStart(grid []Slot) map[Minutes]int {
	seats := map[Minutes]int{}
	for _, s := range Offered(grid) {
		seats[s.Start] = s.Capacity
	}
	return seats
}

// TestOrderOfRowsDoesNotMatter shuffles the rows.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		want := seatsByStart(NewCalendar(in).Day(monday, q))
		in.Resources = rapid.Permutation(in.Resources).Draw(t, "resources")
		in.WorkPeriods = rapid.Permutation(in.WorkPeriods).Draw(t, "hours")
		in.Bookings = rapid.Permutation(in.Bookings).Draw(t, "bookings")
		in.OffPeriods = rapid.Permutation(in.OffPeriods).Draw(t, "off periods")
		in.Events = rapid.Permutation(in.Events).Draw(t, "events")
		in.Assets = rapid.Permutation(in.Assets).Draw(t, "assets in another order")
		in.AssetUses = rapid.Permutation(in.AssetUses).Draw(t, "uses")
		if diff := cmp.Diff(want, seatsByStart(NewCalendar(in).Day(monday, q))); diff != "" {
			t.Fatalf("in another order (-want +got):\n%s", diff)
		}
	})
}

// TestAnyAgentIsTheUnionOfAgents: any agent and any location are offered what at least one of them is, with
// the most seats.
func TestAnyAgentIsTheUnionOfAgents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		c := NewCalendar(in)
		union := map[Minutes]int{}
		for _, r := range in.Resources {
			one := q
			one.Agent, one.Location = r.Agent, r.Location
			for start, seats := range seatsByStart(c.Day(monday, one)) {
				union[start] = max(union[start], seats)
			}
		}
		if diff := cmp.Diff(union, seatsByStart(c.Day(monday, q))); diff != "" {
			t.Fatalf("any (-union +got):\n%s", diff)
		}
	})
}

// TestFreeIsOffered: an agent is free at a start exactly when it is offered, and the assigned agent is
// free.
func TestFreeIsOffered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		c := NewCalendar(in)
		offered := seatsByStart(c.Day(monday, q))
		for m := Minutes(0); m < dayEnd; m += 5 {
			at := Moment{monday, m}
			free := c.Free(at, q)
			if _, ok := offered[m]; ok != (len(free) > 0) {
				t.Fatalf("at %d: offered %t, free %v", m, ok, free)
			}
			for _, order := range []AgentOrder{RandomAgent, "", PriceHigh, PriceLow, BusiestAgent, IdlestAgent, "alphabetical"} {
				choice := Choice{Order: order, Load: map[int64]int{1: 2, 2: 1, 3: 2}, Pick: func(n int) int { return n - 1 }}
				assigned, ok := c.Assign(at, q, choice)
				switch {
				case len(free) == 0:
					if ok {
						t.Fatalf("%q at %d: %v is assigned", order, m, assigned)
					}
				case !ok || !slices.Contains(free, assigned) || assigned.Location != free[0].Location:
					t.Fatalf("%q at %d: %v of %v is assigned (%t)", order, m, assigned, free, ok)
				}
			}
		}
	})
}

// TestExcludedBookingDoesNotBlock: an excluded booking counts as if it did not exist.
func TestExcludedBookingDoesNotBlock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		without := in
		without.Bookings = slices.DeleteFunc(slices.Clone(in.Bookings), func(b Booking) bool { return b.ID == 1 })
		without.AssetUses = slices.DeleteFunc(slices.Clone(in.AssetUses), func(u AssetUse) bool { return u.Booking == 1 })
		want := seatsByStart(NewCalendar(without).Day(monday, q))
		q.Exclude = []int64{1}
		if diff := cmp.Diff(want, seatsByStart(NewCalendar(in).Day(monday, q))); diff != "" {
			t.Fatalf("without it (-want +got):\n%s", diff)
		}
	})
}

// TestWindowOnlyRemovesSlots: the booking window removes slots and adds none.
func TestWindowOnlyRemovesSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, q := world(t)
		all := seatsByStart(NewCalendar(in).Day(monday, q))
		now := Moment{monday - Day(rapid.IntRange(-1, 2).Draw(t, "days before")), Minutes(rapid.IntRange(0, 1439).Draw(t, "now"))}
		in.Window = &Window{Now: now, Opens: Moment{now.Day + Day(rapid.IntRange(0, 2).Draw(t, "opens")), now.Minutes}}
		if in.Window.Bounded = rapid.Bool().Draw(t, "closes"); in.Window.Bounded {
			in.Window.Closes = Moment{now.Day + Day(rapid.IntRange(0, 3).Draw(t, "closing")), now.Minutes}
		}
		for _, s := range NewCalendar(in).Day(monday, q) {
			at := Moment{monday, s.Start}
			switch _, offered := all[s.Start]; {
			case s.Reason == Free && !offered:
				t.Fatalf("%v is offered in the window alone", s)
			case s.Reason == Free && (at.Before(in.Window.Opens) || in.Window.Bounded && in.Window.Closes.Before(Moment{monday, s.Start + q.Duration})):
				t.Fatalf("%v is offered outside of %+v", s, in.Window)
			}
		}
	})
}
