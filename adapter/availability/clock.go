package availability

import "time"

// Clock is the wall clock of a site. The zero Clock belongs to a zone that never changes its clock.
type Clock struct{ Zone *time.Location }

// Instant returns the instant at which the clock shows a moment. A time that an autumn
// change repeats is the first occurrence; a time that a spring change skips is moved
// forward (OsTimeHelper's "midnight plus N minutes" as PHP computes it). time.Date chooses
// differently in some zones.
func (c Clock) Instant(at Moment) time.Time {
	wall := time.Unix((int64(at.Day)*int64(dayEnd)+int64(at.Minutes))*60, 0)
	// These are the offsets around a change, not the one at midnight: some zones change at midnight, which
	// then comes twice or never.
	before, after := c.offset(wall.Add(-24*time.Hour)), c.offset(wall.Add(24*time.Hour))
	first, second := wall.Add(-before), wall.Add(-after)
	if c.offset(first) != before && c.offset(second) == after {
		first = second
	}
	return first.In(c.zone())
}

func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// offset returns how far the clock is ahead of UTC.
func (c Clock) offset(t time.Time) time.Duration {
	_, seconds := t.In(c.zone()).Zone()
	return time.Duration(seconds) * time.Second
}

// steady reports whether the clock is sure not to change between a day and the day after next.
func (c Clock) steady(day Day) bool {
	return c.Zone == nil || c.offset((day-1).midnightUTC()) == c.offset((day+4).midnightUTC())
}

// End returns when a booking ends that begins at a moment: at the time of day that the plugin computes or,
// if a spring change skips some of its minutes, later by those. In autumn it keeps the repeated hour, as
// people read the clock. An end at midnight is minute 1440.
func (c Clock) End(start Moment, duration Minutes) Moment {
	wall := Moment{start.Day, start.Minutes + duration}
	if c.steady(start.Day) {
		return wall.asEnd(start)
	}
	end := c.Instant(start).Add(time.Duration(duration) * time.Minute)
	if !c.Instant(wall).After(end) {
		wall = MomentOf(end)
	}
	return wall.asEnd(start)
}

// asEnd returns the same moment as an end after start: midnight is minute 1440 of the day before.
func (m Moment) asEnd(start Moment) Moment {
	total := Minutes(m.Day-start.Day)*dayEnd + m.Minutes
	days := (total - 1) / dayEnd
	return Moment{start.Day + Day(days), total - days*dayEnd}
}

// StoredEnd returns when a booking ends, given the stored start, end and duration. A booking occupies at
// most its own day and the next: a stored end that cannot be right is replaced by start plus duration. A
// stored end that equals start plus duration is corrected as by End.
func (c Clock) StoredEnd(start, stored Moment, duration Minutes) Moment {
	end, length := start.until(stored)
	if !CanEnd(start, stored) || length == duration {
		end = c.End(start, max(duration, 0))
	}
	if end.Day > start.Day+1 {
		return Moment{start.Day + 1, dayEnd}
	}
	return end
}

// CanEnd reports whether the stored end of a booking can be right: it is neither at minute 0, which PHP treats
// as empty, nor at the start or before it, nor after the next day.
func CanEnd(start, stored Moment) bool {
	end, length := start.until(stored)
	return stored.Minutes > 0 && length > 0 && end.Day <= start.Day+1
}

// until returns a stored end as an end after start, and how long the booking takes by the wall clock.
func (m Moment) until(stored Moment) (end Moment, length Minutes) {
	if end = stored; end.Day > m.Day && end.Minutes >= dayEnd {
		end.Minutes = 0 // the plugin stores midnight with the next date
	}
	end = end.asEnd(m)
	return end, Minutes(end.Day-m.Day)*dayEnd + end.Minutes - m.Minutes
}

// storable reports whether databases can store the dates of a booking, by the clock and in UTC.
func (c Clock) storable(start Moment, duration Minutes) bool {
	if start.Day < LastDay-1 {
		return true
	}
	end := c.End(start, duration)
	known := end.Day < LastDay || end.Day == LastDay && (end.Minutes < dayEnd || start.Minutes == 0) // an end at midnight has the next date
	return known && MomentOf(c.Instant(end).UTC()).Day <= LastDay
}

// gap returns the part of a day that a spring change of the clock skips, which is empty on all other days.
func (c Clock) gap(day Day) (missing period) {
	noon := func(day Day) time.Time { return c.Instant(Moment{day, dayEnd / 2}) }
	if c.steady(day) || c.offset(noon(day-1)) >= c.offset(noon(day+1)) {
		return period{}
	}
	exists := func(m Minutes) bool { return MomentOf(c.Instant(Moment{day, m})) == Moment{day, m} }
	for exists(missing.start) {
		missing.start++
	}
	for missing.end = missing.start; missing.end < dayEnd && !exists(missing.end); {
		missing.end++
	}
	return missing
}

// gaps returns gap with a memory of earlier results.
func (c Clock) gaps() func(day Day) period {
	known := map[Day]period{}
	return func(day Day) period {
		gap, ok := known[day]
		if !ok {
			gap = c.gap(day)
			known[day] = gap
		}
		return gap
	}
}

// elapsed returns how many minutes have passed since midnight at a time of day, given the day's gap.
func (gap period) elapsed(m Minutes) Minutes {
	if m >= gap.end {
		return m - (gap.end - gap.start)
	}
	return m
}

// Length returns how many minutes a booking takes, not counting those that the clock skips. A repeated hour
// counts once.
func (c Clock) Length(start, end Moment) Minutes {
	length := c.gap(end.Day).elapsed(end.Minutes) - c.gap(start.Day).elapsed(start.Minutes)
	for day := start.Day; day < end.Day; day++ {
		length += c.gap(day).elapsed(dayEnd)
	}
	return length
}
