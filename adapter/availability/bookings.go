package availability

import "strings"

// Booking is a booking whose status blocks its time. It blocks the time that is stored,
// even if its service has changed since.
type Booking struct {
	ID                        int64
	Agent, Service, Location  int64 // Location 0 for NULL
	Start, End                Moment
	BufferBefore, BufferAfter Minutes
	Attendees                 int // 1 for NULL
	// Hold is set for a slot that is kept for a customer who has yet to book. It has no ID.
	Hold bool
	// Incomplete reports whether a date, time or buffer is NULL. The plugin fails on
	// such bookings.
	Incomplete bool
}

// BlockingStatuses parses the setting timeslot_blocking_statuses
// (OsBookingHelper::get_timeslot_blocking_statuses). It is split at commas and not
// trimmed, so that an empty setting is one empty status, which no booking has.
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

// spansByDay splits bookings by the days that they block.
func spansByDay(bookings []Booking, deviations Deviations) map[Day][]daySpan {
	days := make(map[Day][]daySpan)
	for i := range bookings {
		b := &bookings[i]
		if b.Incomplete {
			continue
		}
		if b.End.Day <= b.Start.Day || !deviations.BlockAcrossMidnight {
			days[b.Start.Day] = append(days[b.Start.Day], daySpan{b, period{b.Start.Minutes, b.End.Minutes}})
			continue
		}
		for day, time := range b.acrossMidnight() {
			days[day] = append(days[day], daySpan{b, time})
		}
	}
	return days
}

// acrossMidnight splits a booking that ends on a later date at each midnight. The plugin
// stores an end at midnight as minute 1440 of the next date: that date is free.
func (b *Booking) acrossMidnight() func(yield func(Day, period) bool) {
	last, end := b.End.Day, b.End.Minutes
	if end == 0 || end >= dayEnd {
		last, end = last-1, dayEnd
	}
	return func(yield func(Day, period) bool) {
		for day := b.Start.Day; day <= last; day++ {
			time := period{0, dayEnd}
			if day == b.Start.Day {
				time.start = b.Start.Minutes
			}
			if day == last {
				time.end = end
			}
			if !yield(day, time) {
				return
			}
		}
	}
}
