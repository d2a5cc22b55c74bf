package adapter

import (
	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// bookingSpan is when a booking takes place, as the plugin stores it.
type bookingSpan struct {
	start, end availability.Moment
	// The instants in UTC, as the columns hold them.
	startUTC, endUTC string
}

// spanOf mirrors OsBookingModel::calculate_end_time, calculate_end_date and
// set_utc_datetimes, LatePoint 5.6.5: an end at midnight is minute 1440 of the
// next date. Unlike there, the instants around midnight are right: the plugin
// leaves them NULL for a start at 00:00 and a day late for an end at 24:00. On a day
// when the clock skips an hour, what touches it ends when its minutes have passed.
func (s *Site) spanOf(start availability.Moment, duration int64) bookingSpan {
	return s.spanUntil(start, s.Zone.clock().End(start, Minutes(duration)))
}

// spanUntil is spanOf with an end as availability.Clock has it.
func (s *Site) spanUntil(start, end availability.Moment) bookingSpan {
	clock := s.Zone.clock()
	span := bookingSpan{start: start, end: end, startUTC: domain.Stamp(clock.Instant(start)), endUTC: domain.Stamp(clock.Instant(end))}
	if end.Minutes == minutesPerDay && start.Minutes > 0 { // PHP takes a start at 00:00 for an empty one
		span.end.Day++
	}
	return span
}

// checkClock rejects a start in the hour that a spring change skips. The plugin accepts
// it, and may then book an agent twice for one instant.
func (s *Site) checkClock(p *domain.Validation, start availability.Moment) {
	instant := s.Zone.clock().Instant(start)
	if availability.MomentOf(instant).Minutes != start.Minutes%minutesPerDay {
		p.Reject("start_time", "The clock skips this time on this day")
	}
}

// columns returns the columns of a booking that store the span.
func (span bookingSpan) columns() row {
	return row{
		{"start_date", span.start.Day.String()}, {"end_date", span.end.Day.String()},
		{"start_time", int64(span.start.Minutes)}, {"end_time", int64(span.end.Minutes)},
		{"start_datetime_utc", span.startUTC}, {"end_datetime_utc", span.endUTC},
	}
}
