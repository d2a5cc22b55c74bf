package availability

import (
	"cmp"
	"slices"
)

// Service is what slots need to know about a service.
type Service struct {
	ID                        int64
	BufferBefore, BufferAfter Minutes
	// Step is the service's own timeblock_interval, otherwise the site's; 30 if
	// both are empty.
	Step                     Minutes
	CapacityMin, CapacityMax int
	// BlockAtMinimum closes a slot once the minimum capacity is reached (meta
	// block_timeslot_when_minimum_capacity_met).
	BlockAtMinimum bool
}

// DefaultStep is the step of sites that do not set one
// (OsSettingsHelper::get_default_timeblock_interval).
const DefaultStep Minutes = 30

// seatsUntilBlocked is how many seats are taken when a slot is closed for others, as in OsServiceModel::get_capacity_needed_before_slot_is_blocked.
func (s Service) seatsUntilBlocked() int {
	if s.BlockAtMinimum {
		return cmp.Or(s.CapacityMin, 1)
	}
	return cmp.Or(s.CapacityMax, 1)
}

// Deviations are the intentional differences from the plugin. The zero value has none.
type Deviations struct {
	// BlockAcrossMidnight makes a booking that runs past midnight block its time
	// on both dates, and requires both dates to be free for a new one. In the
	// plugin it blocks neither.
	BlockAcrossMidnight bool
	// RejectPast offers nothing before now, not even on earlier days, whatever the booking window is.
	RejectPast bool
	// StartWithinDay offers no start before 00:00, and none at or after 24:00, even if working hours reach further.
	StartWithinDay bool
	// SkipMissingHour offers customers no start in the hour that a spring change of
	// the clock skips.
	SkipMissingHour bool
	// CompareInstants makes bookings that touch that hour take longer on the wall clock. The plugin
	// compares times of day, and books the time after the change twice.
	CompareInstants bool
	// BoundSpans replaces a stored end that cannot be right with start plus duration, see CanEnd.
	BoundSpans bool
}

// DefaultDeviations are the deviations of this program.
var DefaultDeviations = Deviations{BlockAcrossMidnight: true, RejectPast: true, StartWithinDay: true, SkipMissingHour: true, CompareInstants: true, BoundSpans: true}

// Input is the data of a Calendar. The order of rows does not matter.
type Input struct {
	Service     Service
	Resources   []Resource // connected; agent, service and location all enabled
	WorkPeriods []WorkPeriod
	Rules       Rules
	Bookings    []Booking // blocking ones, from the day before the first requested day to the day after the last
	Window      *Window   // nil for none: any time may be booked, even in the past
	OffPeriods  []OffPeriod
	Events      []OffPeriod // of the agents' own calendars
	Limits      DailyLimits
	Assets      []Asset // active ones of the service
	AssetUses   []AssetUse
	Offers      Offers // nil unless extensions of the site decide which starts are offered
	Clock       Clock
	Deviations  Deviations
}

// Calendar computes which starts of a day are free.
type Calendar struct {
	Input
	schedule schedule
	spans    map[Day][]daySpan // in minutes that have passed since midnight
	off      map[Day][]offPeriod
	uses     map[Day][]AssetUse
	gapOn    func(Day) period
}

// NewCalendar returns the calendar of a service.
func NewCalendar(in Input) *Calendar {
	in.Resources = slices.Clone(in.Resources)
	slices.SortFunc(in.Resources, byLocation)
	in.Resources = slices.Compact(in.Resources)
	c := &Calendar{Input: in, schedule: newSchedule(in.WorkPeriods), spans: map[Day][]daySpan{}, gapOn: in.Clock.gaps()}
	c.addSpans()
	c.addOff()
	c.addUses()
	return c
}

// DayOff reports whether a custom day without hours concerns each resource that the request accepts.
func (c *Calendar) DayOff(day Day, q Request) bool {
	return !slices.ContainsFunc(c.Resources, func(r Resource) bool { return q.wants(r) && !c.schedule.off(r, day) })
}

// Works reports whether a resource that the request accepts has working hours on a day, however short.
func (c *Calendar) Works(day Day, q Request) bool {
	return slices.ContainsFunc(c.Resources, func(r Resource) bool {
		return q.wants(r) && slices.ContainsFunc(c.schedule.hours(r, day), func(p period) bool { return p.start < p.end })
	})
}

// gap returns the part of a day that the clock skips. Without CompareInstants it is empty: the plugin
// compares times of day.
func (c *Calendar) gap(day Day) period {
	if !c.Deviations.CompareInstants {
		return period{}
	}
	return c.gapOn(day)
}

func byLocation(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Location, b.Location), cmp.Compare(a.Agent, b.Agent))
}

// Request is a booking for which slots are sought.
type Request struct {
	Agent, Location           int64 // 0 for any
	Duration                  Minutes
	BufferBefore, BufferAfter Minutes
	Attendees                 int
	Exclude                   []int64 // bookings to ignore, such as the one being moved
	// Own is the start of the booking being moved; nil for a new one. The booking may keep this start
	// wherever it is open, even if customers are not offered it.
	Own *Moment
}

// wants reports whether the request accepts a resource.
func (q Request) wants(r Resource) bool {
	return (q.Agent == 0 || q.Agent == r.Agent) && (q.Location == 0 || q.Location == r.Location)
}

// Slot is a start of the grid, offered or not.
type Slot struct {
	Start    Minutes
	Capacity int // seats left
	Reason   Reason
	Booking  int64 // the conflicting booking, if Reason is Booked, Buffer or AssetTaken; 0 for a hold
}

// Day returns the grid of a day in ascending order, each start once. If several resources share a start,
// the slot with the most seats left is returned
// (OsResourceHelper::get_ordered_booking_slots_from_resources). The grid of a day without working hours is
// empty.
func (c *Calendar) Day(day Day, q Request) []Slot {
	var grid, own []Slot
	var known map[Minutes]int // index of a start in the grid
	for _, r := range c.Resources {
		if !q.wants(r) {
			continue
		}
		// The slots of each resource are merged right away: on a large site, keeping all of them would take
		// hundreds of times the grid.
		own = c.appendSlots(own[:0], r, day, q)
		if len(grid) == 0 && ascending(own) {
			grid, own = own, nil // most requests are for one resource: nothing to merge
			continue
		}
		if known == nil {
			known = make(map[Minutes]int, len(grid))
			for i, s := range grid {
				known[s.Start] = i
			}
		}
		for _, s := range own {
			i, found := known[s.Start]
			switch {
			case !found:
				known[s.Start] = len(grid)
				grid = append(grid, s)
			case s.betterThan(grid[i]):
				grid[i] = s
			}
		}
	}
	slices.SortFunc(grid, func(a, b Slot) int { return cmp.Compare(a.Start, b.Start) })
	return grid
}

// ascending reports whether each slot starts later than the one before it.
func ascending(slots []Slot) bool {
	for i := 1; i < len(slots); i++ {
		if slots[i].Start <= slots[i-1].Start {
			return false
		}
	}
	return true
}

// betterThan prefers offered slots, then slots with more seats: a service may have no seats, and a slot that is not offered
// has seats too.
func (s Slot) betterThan(other Slot) bool {
	if offered := s.Reason == Free; offered != (other.Reason == Free) {
		return offered
	}
	return s.Capacity > other.Capacity
}

// Offered returns the slots of a grid that can be booked.
func Offered(grid []Slot) []Slot {
	return slices.DeleteFunc(slices.Clone(grid), func(s Slot) bool { return s.Reason != Free })
}

// appendSlots mirrors BookingResource::build_bookable_slots: a grid from the
// start of each working period.
func (c *Calendar) appendSlots(grid []Slot, r Resource, day Day, q Request) []Slot {
	if c.Offers != nil {
		return c.appendOffered(grid, r, day, q)
	}
	hours := c.schedule.hours(r, day)
	if len(hours) == 0 {
		return grid
	}
	occupied, missing := c.occupancyOn(day, r, q), c.missingHour(day)
	for _, h := range hours {
		first := h.start
		if first < 0 && c.Deviations.StartWithinDay {
			first = (first%c.Service.Step + c.Service.Step) % c.Service.Step
		}
		for start := first; start <= h.end-q.Duration; start += c.Service.Step {
			if start >= dayEnd && c.Deviations.StartWithinDay {
				break
			}
			if missing.start <= start && start < missing.end || !c.Clock.storable(Moment{day, start}, q.Duration) {
				continue
			}
			grid = append(grid, c.slot(Moment{day, start}, q, occupied))
		}
	}
	if q.Own != nil && q.Own.Day == day && q.Own.Minutes < dayEnd && c.worksThroughout(hours, *q.Own, q) {
		grid = append(grid, c.ownSlot(r, q))
	}
	return grid
}

// missingHour returns the hour of a day that customers are not offered, because the clock skips it.
func (c *Calendar) missingHour(day Day) period {
	if c.Window == nil || !c.Deviations.SkipMissingHour {
		return period{}
	}
	return c.gapOn(day)
}

// ownSlot returns the slot that a booking keeps: the booking window applies to new starts.
func (c *Calendar) ownSlot(r Resource, q Request) Slot {
	open := *c
	open.Window = nil
	return open.slot(*q.Own, q, open.occupancyOn(q.Own.Day, r, q))
}

// worksThroughout reports whether a request lies within working hours, and within the dates that can be
// stored.
func (c *Calendar) worksThroughout(hours []period, at Moment, q Request) bool {
	return c.Clock.storable(at, q.Duration) && slices.ContainsFunc(hours, func(h period) bool { return h.start <= at.Minutes && at.Minutes+q.Duration <= h.end })
}

// occupancy is what keeps a resource from being booked on a day.
type occupancy struct {
	gap      period // that the clock skips
	holds    []occupant
	closures []closure
	assets   []takenAsset
}

func (c *Calendar) occupancyOn(day Day, r Resource, q Request) occupancy {
	return occupancy{c.gap(day), c.holdsOn(day, r, q), c.closuresOn(day, r, q), c.assetsOn(day, r, q.Exclude)}
}

// occupant is the part of a booking on a day, and what it occupies of a given resource.
type occupant struct {
	daySpan
	hold hold
	next bool // on the next day; its times continue from the end of this day
}

// holdsOn returns the bookings that occupy a resource on a day, and on the next day for
// requests that run past midnight.
func (c *Calendar) holdsOn(day Day, r Resource, q Request) []occupant {
	var holds []occupant
	add := func(b daySpan, next bool) {
		if hold := c.Rules.holds(b.booking, r); hold != holdsNothing && !excluded(b.booking, q.Exclude) {
			holds = append(holds, occupant{b, hold, next})
		}
	}
	for _, b := range c.spans[day] {
		add(b, false)
	}
	if !c.Deviations.BlockAcrossMidnight {
		return holds
	}
	length := c.gap(day).elapsed(dayEnd)
	for _, b := range c.spans[day+1] {
		if b.booking.Start.Day <= day {
			continue // counted with its first day
		}
		b.time.start += length
		b.time.end += length
		add(b, true)
	}
	return holds
}

// meets reports whether a booking and a request overlap, including the buffers of both.
// As in the plugin, buffers alone do not extend past midnight.
func (o occupancy) meets(h occupant, wanted, buffered period) bool {
	return (!h.next || wanted.end > o.gap.elapsed(dayEnd)) && h.withBuffers().overlaps(buffered)
}

func excluded(b *Booking, exclude []int64) bool { return slices.Contains(exclude, b.ID) }

// closure is a period that is closed for a reason other than a booking.
type closure struct {
	period
	reason Reason
}

// closuresOn mirrors OsBookingHelper::get_blocked_periods_grouped_by_day with the
// add-on's filter latepoint_blocked_periods_for_range.
func (c *Calendar) closuresOn(day Day, r Resource, q Request) []closure {
	var closed []closure
	if c.Window != nil {
		if p, ok := c.Window.before(day, c.Deviations); ok {
			closed = append(closed, closure{p, OutsideWindow})
		}
		if p, ok := c.Window.after(day); ok {
			closed = append(closed, closure{p, OutsideWindow})
		}
	}
	for _, off := range c.off[day] {
		if off.Covers(r) {
			closed = append(closed, closure{period{off.Start, off.End}, off.reason})
		}
	}
	if c.Limits.reached(r, day, c.spans[day], q.Exclude) {
		closed = append(closed, closure{period{0, dayEnd}, NoCapacity})
	}
	gap := c.gap(day)
	for i, p := range closed {
		closed[i].period = period{gap.elapsed(p.start), gap.elapsed(p.end)}
	}
	return closed
}

// slot mirrors BookingSlot's check of its capacity, for one start.
func (c *Calendar) slot(at Moment, q Request, occupied occupancy) Slot {
	start := occupied.gap.elapsed(at.Minutes) // periods of a day that the clock shortens are in minutes that pass
	wanted := period{start, start + q.Duration}
	buffered := period{wanted.start - q.BufferBefore, wanted.end + q.BufferAfter}
	seats := 0
	for _, h := range occupied.holds {
		if occupied.meets(h, wanted, buffered) {
			seats += c.seats(h)
		}
	}
	slot := Slot{Start: at.Minutes, Capacity: c.Service.CapacityMax - seats}
	for _, closure := range occupied.closures {
		if closure.overlaps(buffered) {
			slot.Capacity, slot.Reason = 0, c.reason(closure, Moment{at.Day, at.Minutes - q.BufferBefore})
			return slot
		}
	}
	if seats >= c.Service.seatsUntilBlocked() || slot.Capacity < q.Attendees {
		slot.Reason, slot.Booking = c.conflict(occupied, wanted, buffered)
		return slot
	}
	for _, asset := range occupied.assets {
		if booking, full := asset.full(wanted); full {
			slot.Capacity, slot.Reason, slot.Booking = 0, AssetTaken, booking
			return slot
		}
	}
	return slot
}

// seats returns the number of a resource's seats that a booking occupies.
func (c *Calendar) seats(h occupant) int {
	if h.hold == holdsAll {
		return c.Service.CapacityMax
	}
	return h.booking.Attendees
}

// reason distinguishes the past from what lies outside the booking window.
func (c *Calendar) reason(closed closure, start Moment) Reason {
	if closed.reason == OutsideWindow && start.Before(c.Window.Now) {
		return Past
	}
	return closed.reason
}

// conflict returns why a start has too few seats: the first overlapping booking, otherwise the first whose
// buffers overlap, otherwise the capacity.
func (c *Calendar) conflict(occupied occupancy, wanted, buffered period) (reason Reason, booking int64) {
	reason = NoCapacity
	for _, h := range occupied.holds {
		if h.hold == holdsSeats && c.Service.CapacityMax > 1 {
			continue
		}
		switch {
		case h.time.overlaps(wanted) && h.booking.Hold:
			return OnHold, 0
		case h.time.overlaps(wanted):
			return Booked, h.booking.ID
		case reason == NoCapacity && occupied.meets(h, wanted, buffered):
			reason, booking = Buffer, h.booking.ID
		}
	}
	return reason, booking
}
