package availability

import "strings"

// Booking is a booking that holds its time: its status is one of those that
// block. It blocks as it is stored, whatever its service has become since.
type Booking struct {
	ID                        int64
	Agent, Service, Location  int64 // Location 0 for NULL
	Start, End                Moment
	BufferBefore, BufferAfter Minutes
	Attendees                 int // 1 for NULL
	// Incomplete marks a NULL among dates, times and buffers, over which the
	// plugin stumbles.
	Incomplete bool
}

// BlockingStatuses reads the setting timeslot_blocking_statuses
// (OsBookingHelper::get_timeslot_blocking_statuses): split at commas and not
// trimmed, so that an empty setting is one empty status, which nothing has.
func BlockingStatuses(setting string) []string { return strings.Split(setting, ",") }

// Rules are the settings which decide whom a booking keeps busy.
type Rules struct {
	OneLocationAtTime      bool // an agent busy elsewhere is busy here
	MultipleServicesAtTime bool // an agent may give several services at once
	OneAgentAtLocation     bool // a location is one agent's at a time
}

// hold is what a booking takes of a resource.
type hold int

const (
	holdsNothing hold = iota
	holdsSeats        // as many seats as it has attendees
	holdsAll
)

// holds tells what a booking takes of a resource
// (OsBookingHelper::get_booked_periods_grouped_by_day and
// OsResourceHelper::get_resources_grouped_by_day; the first rule that fits).
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

// daySpan is a booking's time on one day.
type daySpan struct {
	booking *Booking
	time    period // without buffers
}

// withBuffers returns the time that nothing else may touch.
func (b daySpan) withBuffers() period {
	return period{b.time.start - b.booking.BufferBefore, b.time.end + b.booking.BufferAfter}
}

// spansByDay says which bookings block which days.
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

// acrossMidnight cuts a booking that ends on a later date at each midnight. The
// plugin stores an end at midnight as minute 1440 of the next date: that date
// is free.
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
