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
// leaves them NULL for a start at 00:00 and a day late for an end at 24:00.
func (s *Site) spanOf(start availability.Moment, duration int64) bookingSpan {
	span := bookingSpan{start: start, end: start}
	span.end.Minutes += Minutes(duration)
	last := span.end // as the wall clock counts it
	if last.Minutes >= minutesPerDay {
		last.Day++
		last.Minutes -= minutesPerDay
		if start.Minutes > 0 || last.Minutes > 0 { // PHP takes a start at 00:00 for an empty one
			span.end.Day++
		}
	}
	if span.end.Minutes > minutesPerDay {
		span.end.Minutes -= minutesPerDay
	}
	span.startUTC, span.endUTC = s.utc(start), s.utc(last)
	return span
}

// utc returns the instant of a moment of the site's clock, as stored.
func (s *Site) utc(at availability.Moment) string {
	instant, _ := s.Zone.Instant(Date(at.Day.String()), at.Minutes)
	return domain.Stamp(instant)
}

// checkClock rejects a start in the hour that a spring change skips. The plugin accepts
// it, and may then book an agent twice for one instant.
func (s *Site) checkClock(p *domain.Validation, start availability.Moment) {
	instant, known := s.Zone.Instant(Date(start.Day.String()), start.Minutes)
	if known && availability.MomentOf(instant).Minutes != start.Minutes%minutesPerDay {
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
