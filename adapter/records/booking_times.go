package records

import (
	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
)

// BookingSpan is when a booking takes place, as the plugin stores it.
type BookingSpan struct {
	Start, End availability.Moment
	// The instants in UTC, as the columns store them.
	startUTC, endUTC string
}

// SpanOf mirrors OsBookingModel::calculate_end_time, calculate_end_date and set_utc_datetimes, LatePoint
// 5.6.5: an end at midnight is minute 1440 of the next date. Unlike there, the instants around midnight are
// correct: the plugin stores NULL for a start at 00:00, and an end at 24:00 a day late. When the clock
// skips an hour, a booking that touches it ends once its minutes have passed.
func SpanOf(s *session.Session, start availability.Moment, duration int64) BookingSpan {
	return SpanUntil(s, start, s.Zone.Clock().End(start, session.Minutes(duration)))
}

// SpanUntil is like SpanOf, with an end as availability.Clock defines it.
func SpanUntil(s *session.Session, start, end availability.Moment) BookingSpan {
	clock := s.Zone.Clock()
	span := BookingSpan{Start: start, End: end, startUTC: domain.Stamp(clock.Instant(start)), endUTC: domain.Stamp(clock.Instant(end))}
	if end.Minutes == MinutesPerDay && start.Minutes > 0 { // PHP treats a start at 00:00 as empty
		span.End.Day++
	}
	return span
}

// CheckClock rejects a start in the hour that a spring clock change skips. The plugin accepts it, and may
// then book an agent twice for one instant.
func CheckClock(s *session.Session, p *domain.Validation, start availability.Moment) {
	instant := s.Zone.Clock().Instant(start)
	if availability.MomentOf(instant).Minutes != start.Minutes%MinutesPerDay {
		p.Reject("start_time", "The clock skips this time on this day")
	}
}

// Columns returns the columns of a booking that store the span.
func (span BookingSpan) Columns() session.Row {
	return session.Row{
		{Name: "start_date", Value: span.Start.Day.String()}, {Name: "end_date", Value: span.End.Day.String()},
		{Name: "start_time", Value: int64(span.Start.Minutes)}, {Name: "end_time", Value: int64(span.End.Minutes)},
		{Name: "start_datetime_utc", Value: span.startUTC}, {Name: "end_datetime_utc", Value: span.endUTC},
	}
}
