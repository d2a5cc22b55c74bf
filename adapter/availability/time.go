package availability

import (
	"cmp"
	"time"
)

// Minutes is a time of day or a duration, in minutes. A time of day counts from
// site-local midnight; the end of a day is 1440.
type Minutes int

// dayEnd is midnight at the end of a day.
const dayEnd Minutes = 24 * 60

// Day is a calendar day in the site's zone, counted from 1970-01-01.
type Day int

// LastDay is 9999-12-31, the last date that databases store.
const LastDay Day = 2932896

// ParseDay parses YYYY-MM-DD. ok is false if there is no such day.
func ParseDay(text string) (day Day, ok bool) {
	t, err := time.Parse(time.DateOnly, text)
	return dayOf(t), err == nil
}

// dayOf returns the day of a time in the time's own zone.
func dayOf(t time.Time) Day {
	year, month, day := t.Date()
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// String returns the day as YYYY-MM-DD.
func (d Day) String() string { return d.midnightUTC().Format(time.DateOnly) }

// Date returns the year, the month and the number of the day.
func (d Day) Date() (year int, month time.Month, day int) { return d.midnightUTC().Date() }

// midnightUTC returns the beginning of the day as if the site's zone were UTC.
func (d Day) midnightUTC() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// Weekday returns the ISO number of the day, 1 Monday to 7 Sunday.
func (d Day) Weekday() int {
	const thursday = 3 // 1970-01-01, counted from Monday
	n := (int(d) + thursday) % 7
	if n < 0 {
		n += 7
	}
	return n + 1
}

// Moment is a minute of the site's wall clock.
type Moment struct {
	Day     Day
	Minutes Minutes
}

// MomentOf returns the moment of t in t's own zone. Seconds are dropped, as in the
// plugin.
func MomentOf(t time.Time) Moment {
	return Moment{dayOf(t), Minutes(t.Hour()*60 + t.Minute())}
}

// Before reports whether m is before another moment.
func (m Moment) Before(other Moment) bool {
	return cmp.Or(cmp.Compare(m.Day, other.Day), cmp.Compare(m.Minutes, other.Minutes)) < 0
}

// period is a half-open range of minutes of one day.
type period struct{ start, end Minutes }

// overlaps mirrors TimePeriod's half-open test: periods that only touch do not overlap.
func (p period) overlaps(other period) bool {
	return p.start < other.end && p.end > other.start
}
