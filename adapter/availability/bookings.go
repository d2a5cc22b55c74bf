package availability

import "strings"

// Booking is a booking whose status blocks its time. It blocks the stored time, even if its service has
// changed since.
type Booking struct {
	ID                        int64
	Agent, Service, Location  int64   // Location 0 for NULL
	Start, End                Moment  // as stored; End is at minute 0 if it has no time
	Duration                  Minutes // used if End cannot be right
	BufferBefore, BufferAfter Minutes
	Attendees                 int // 1 for NULL
	// Hold is set for a hold, which has no ID.
	Hold bool
	// Incomplete reports whether the start is NULL. The plugin fails on such bookings.
	Incomplete bool
}

// BlockingStatuses parses the setting timeslot_blocking_statuses
// (OsBookingHelper::get_timeslot_blocking_statuses). It is split at commas and not trimmed, so an empty
// setting is one empty status, which no booking has.
func BlockingStatuses(setting string) []string { return strings.Split(setting, ",") }

// Rules are the settings that decide which resources a booking occupies.
type Rules struct {
	OneLocationAtTime      bool // an agent busy elsewhere is busy here
	MultipleServicesAtTime bool // an agent may provide several services at once
	OneAgentAtLocation     bool // one agent at a time uses a location
}

// hold is the part of a resource that a booking occupies.
type hold int

const (
	holdsNothing hold = iota
	holdsSeats        // as many seats as it has attendees
	holdsAll
)

// holds returns what a booking occupies of a resource, by the first rule that matches
// (OsBookingHelper::get_booked_periods_grouped_by_day and
// OsResourceHelper::get_resources_grouped_by_day).
func (rules Rules) holds(b *Booking, r Resource) hold {
	sameAgent, sameLocation, sameService := b.Agent == r.Agent, b.Location == r.Location, b.Service == r.Service
	switch {
	case sameAgent && sameLocation && sameService:
		return holdsSeats
	case sameAgent && !sameLocation && rules.OneLocationAtTime:
		return holdsAll
	case sameAgent && sameLocation && !rules.MultipleServicesAtTime:
		return holdsAll
	case !sameAgent && sameLocation && rules.OneAgentAtLocation:
		return holdsAll
	default:
		return holdsNothing
	}
}

// daySpan is the part of a booking that lies on one day.
type daySpan struct {
	booking *Booking
	time    period // without buffers
}

// withBuffers returns the time including the booking's buffers.
func (b daySpan) withBuffers() period {
	return period{b.time.start - b.booking.BufferBefore, b.time.end + b.booking.BufferAfter}
}

// addSpans splits the bookings by the days that they block.
func (c *Calendar) addSpans() {
	for i := range c.Bookings {
		b := &c.Bookings[i]
		if b.Incomplete {
			continue
		}
		end := c.endOf(b)
		if !c.Deviations.BlockAcrossMidnight {
			c.addSpan(b.Start.Day, b, period{b.Start.Minutes, end.Minutes})
			continue
		}
		for day, time := range acrossMidnight(b.Start, end) {
			c.addSpan(day, b, time)
		}
	}
}

func (c *Calendar) addSpan(day Day, b *Booking, time period) {
	gap := c.gap(day)
	c.spans[day] = append(c.spans[day], daySpan{b, period{gap.elapsed(time.start), gap.elapsed(time.end)}})
}

// endOf returns when a booking ends.
func (c *Calendar) endOf(b *Booking) Moment {
	if !c.Deviations.BoundSpans {
		return b.End
	}
	return c.Clock.StoredEnd(b.Start, b.End, b.Duration)
}

// acrossMidnight splits the time from a start to an end on a later date at each midnight.
func acrossMidnight(start, end Moment) func(yield func(Day, period) bool) {
	return func(yield func(Day, period) bool) {
		for day := start.Day; day <= end.Day; day++ {
			time := period{0, dayEnd}
			if day == start.Day {
				time.start = start.Minutes
			}
			if day == end.Day {
				time.end = end.Minutes
			}
			if !yield(day, time) {
				return
			}
		}
	}
}
