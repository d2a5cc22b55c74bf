package compat

import (
	"fmt"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/records"
	"bookside/adapter/session"
)

// View is how one request sees records: in which zone timestamps are shown and
// their filters meant. The zero Location shows the stored values, UTC, which
// is what the PHP extension does.
type View struct {
	Location *time.Location
}

// timestamp prints a stored instant; one that is no instant stays as it is.
func (v View) timestamp(t domain.Timestamp) string {
	if v.Location == nil {
		return string(t)
	}
	instant, ok := t.Time()
	if !ok {
		return string(t)
	}
	return instant.In(v.Location).Format(time.DateTime)
}

// lastInstant is the last one that a column of the database holds.
var lastInstant = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// midnight is the instant at which a date of timestamps begins. The day after
// the last one there is begins at its end, for the database takes no later
// instant to compare with.
func (v View) midnight(day time.Time) time.Time {
	if day.After(lastInstant) {
		return lastInstant
	}
	if v.Location == nil {
		return day
	}
	return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, v.Location)
}

// clock prints a time of day as HH:MM, and an unknown one as nothing. The end of
// a day is 24:00 (OsTimeHelper::minutes_to_army_hours_and_minutes, LatePoint 5.6.5).
func clock(m *session.Minutes) string {
	if !records.IsTime(m) {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", *m/60, *m%60)
}

// textOrNil is nil for an empty text.
func textOrNil[T ~string](text T) *string {
	if text == "" {
		return nil
	}
	return new(string(text))
}

// each turns records into their form on the wire; none are [], never null.
func each[T, R any](records []T, shape func(T) R) []R {
	shaped := make([]R, len(records))
	for i, record := range records {
		shaped[i] = shape(record)
	}
	return shaped
}
