package compat

import (
	"fmt"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// View is how one request sees records: the zone in which timestamps are shown and their filters are
// interpreted. The zero Location shows the stored values, UTC, as the PHP extension does.
type View struct {
	Location *time.Location
}

// timestamp formats a stored instant; an invalid one is returned unchanged.
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

// lastInstant is the last instant that a database column can hold.
var lastInstant = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// instant returns the instant of a timestamp as it is shown, which is given in UTC. One after the last possible
// one becomes that, because the database cannot compare with a later instant.
func (v View) instant(shown time.Time) time.Time {
	if shown.After(lastInstant) {
		return lastInstant
	}
	if v.Location == nil {
		return shown
	}
	return time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, v.Location)
}

// clock formats a time of day as HH:MM, and an unknown one as "". The end of a day is 24:00
// (OsTimeHelper::minutes_to_army_hours_and_minutes, LatePoint 5.6.5).
func clock(m *session.Minutes) string {
	if !records.IsTime(m) {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", *m/60, *m%60)
}

// orNil returns nil for a zero value.
func orNil[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// each converts records to their wire form; no records are [], never null.
func each[T, R any](records []T, shape func(T) R) []R {
	shaped := make([]R, len(records))
	for i, record := range records {
		shaped[i] = shape(record)
	}
	return shaped
}
