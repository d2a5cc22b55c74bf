package availability

import (
	"fmt"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestStoredEnd: when a booking ends, given the stored start, end and duration.
func TestStoredEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, day      string
		start, endDays int // the end's date, counted from that of the start
		end, duration  int
		want           string // days later, and time of day
		length         Minutes
	}{
		"an hour":                            {"UTC", "2026-12-15", 600, 0, 660, 60, "0 11:00", 60},
		"changed without the duration":       {"UTC", "2026-12-15", 600, 0, 630, 60, "0 10:30", 30},
		"takes no time":                      {"UTC", "2026-12-15", 600, 0, 600, 0, "0 10:00", 0},
		"ends at its start":                  {"UTC", "2026-12-15", 600, 0, 600, 60, "0 11:00", 60},
		"until midnight, as the plugin has":  {"UTC", "2026-12-15", 1380, 1, 1440, 60, "0 24:00", 60},
		"until midnight, on its date":        {"UTC", "2026-12-15", 1380, 0, 1440, 60, "0 24:00", 60},
		"until midnight, as 00:00":           {"UTC", "2026-12-15", 1380, 1, 0, 60, "0 24:00", 60},
		"at minute 0, which is no end":       {"UTC", "2026-12-15", 600, 0, 0, 90, "0 11:30", 90},
		"at minute 0 of the next day":        {"UTC", "2026-12-15", 1380, 1, 0, 120, "1 01:00", 120},
		"at minute 0, for less than no time": {"UTC", "2026-12-15", 600, 0, 0, -60, "0 10:00", 0},
		"all day":                            {"UTC", "2026-12-15", 0, 0, 1440, 1440, "0 24:00", 1440},
		"past midnight":                      {"UTC", "2026-12-15", 1380, 1, 60, 120, "1 01:00", 120},
		"past midnight, on its date":         {"UTC", "2026-12-15", 1380, 0, 1500, 120, "1 01:00", 120},
		"until the end of the next day":      {"UTC", "2026-12-15", 600, 1, 1439, 60, "1 23:59", 2279},
		"two days later":                     {"UTC", "2026-12-15", 600, 2, 660, 60, "0 11:00", 60},
		"as late as can be":                  {"UTC", "2026-12-15", 1380, 2_000_000, 660, 120, "1 01:00", 120},
		"before the start":                   {"UTC", "2026-12-15", 600, 0, 540, 60, "0 11:00", 60},
		"on the day before":                  {"UTC", "2026-12-15", 600, -1, 660, 60, "0 11:00", 60},
		"before the start, without time":     {"UTC", "2026-12-15", 600, 0, 540, 0, "0 10:00", 0},
		"before the start, for days":         {"UTC", "2026-12-15", 600, 0, 540, 100_000, "1 24:00", 2280},
		"into the hour that is skipped":      {"Europe/Berlin", "2027-03-28", 90, 0, 150, 60, "0 03:30", 60},
		"over the hour that is skipped":      {"Europe/Berlin", "2027-03-28", 90, 0, 210, 120, "0 04:30", 120},
		"over it, as stored by us":           {"Europe/Berlin", "2027-03-28", 90, 0, 270, 120, "0 04:30", 120},
		"out of the hour that is skipped":    {"Europe/Berlin", "2027-03-28", 150, 0, 210, 60, "0 04:30", 60},
		"up to the hour that is skipped":     {"Europe/Berlin", "2027-03-28", 60, 0, 120, 60, "0 03:00", 60},
		"after the hour that is skipped":     {"Europe/Berlin", "2027-03-28", 180, 0, 240, 60, "0 04:00", 60},
		"into the day it is skipped":         {"Europe/Berlin", "2027-03-27", 1380, 1, 240, 300, "1 05:00", 300},
		"into the hour that repeats":         {"Europe/Berlin", "2027-10-31", 90, 0, 150, 60, "0 02:30", 60},
		"out of the hour that repeats":       {"Europe/Berlin", "2027-10-31", 150, 0, 210, 60, "0 03:30", 60},
		"into midnight that is skipped":      {"America/Santiago", "2027-09-04", 1380, 1, 60, 120, "1 02:00", 120},
		"up to midnight that is skipped":     {"America/Santiago", "2027-09-04", 1380, 1, 1440, 60, "1 01:00", 60},
	} {
		clock, start := Clock{zoneOf(t, c.zone)}, Moment{mustDay(c.day), Minutes(c.start)}
		end := clock.StoredEnd(start, Moment{start.Day + Day(c.endDays), Minutes(c.end)}, Minutes(c.duration))
		expect.Equal(t, c.want, fmt.Sprintf("%d %02d:%02d", end.Day-start.Day, end.Minutes/60, end.Minutes%60), name)
		expect.Equal(t, c.length, clock.Length(start, end), name)
	}
}

// TestStorable: databases store no date after 9999-12-31, by the clock or in
// UTC.
func TestStorable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone            string
		day             Day
		start, duration Minutes
		want            bool
	}{
		"up to a minute before midnight":      {"UTC", LastDay, 1380, 59, true},
		"up to midnight":                      {"Europe/Berlin", LastDay, 1380, 60, false}, // its end is stored with the next date
		"all day":                             {"Europe/Berlin", LastDay, 0, 1440, true},
		"past midnight":                       {"Europe/Berlin", LastDay, 1380, 120, false},
		"past midnight, the day before":       {"UTC", LastDay - 1, 1380, 120, true},
		"after the last day in UTC":           {"America/New_York", LastDay, 1140, 60, false},
		"up to the last minute in UTC":        {"America/New_York", LastDay, 1078, 60, true},
		"for a day, to after the last in UTC": {"America/New_York", LastDay - 1, 1439, 1440, false},
		"of a day long ago":                   {"America/New_York", monday, 1439, 1440, true},
	} {
		expect.Equal(t, c.want, (Clock{zoneOf(t, c.zone)}).storable(Moment{c.day, c.start}, c.duration), name, ": storable")
	}
}

// TestConflictsOnTheNightOfTheChange: bookings are compared by instant.
func TestConflictsOnTheNightOfTheChange(t *testing.T) {
	t.Parallel()
	spring, autumn := mustDay("2027-03-28"), mustDay("2027-10-31")
	lasting := func(b Booking, duration Minutes) Booking {
		b.Duration = duration
		return b
	}
	buffered := func(b Booking, before Minutes) Booking {
		b.BufferBefore = before
		return b
	}
	for name, c := range map[string]struct {
		first, second Booking
		want          int
	}{
		"the time after the gap, as the plugin stores it":  {lasting(at(1, spring, 90, 150), 60), at(2, spring, 180, 240), 1},
		"the time after the gap, as we store it":           {lasting(at(1, spring, 90, 210), 60), at(2, spring, 180, 240), 1},
		"before the gap and after it":                      {lasting(at(1, spring, 60, 120), 60), at(2, spring, 180, 240), 0},
		"an hour later":                                    {lasting(at(1, spring, 90, 150), 60), at(2, spring, 210, 240), 0},
		"a buffer over the gap":                            {lasting(at(1, spring, 30, 90), 60), buffered(at(2, spring, 180, 240), 45), 1},
		"a buffer up to the gap":                           {lasting(at(1, spring, 30, 90), 60), buffered(at(2, spring, 180, 240), 30), 0},
		"a buffer past the midnight after the gap":         {lasting(at(1, spring, 1380, 1430), 50), buffered(at(2, spring+1, 0, 60), 15), 0},
		"a buffer up to the midnight after the gap":        {lasting(at(1, spring, 1380, 1430), 50), buffered(at(2, spring+1, 0, 60), 10), 0},
		"the hour that comes twice, one after the other":   {lasting(at(1, autumn, 120, 150), 30), at(2, autumn, 150, 180), 0},
		"the hour that comes twice, at the same time":      {lasting(at(1, autumn, 120, 165), 45), at(2, autumn, 150, 180), 1},
		"out of the hour that comes twice, and afterwards": {lasting(at(1, autumn, 150, 210), 60), at(2, autumn, 180, 240), 1},
	} {
		got := Conflicts([]Booking{c.first, c.second}, spring-1, Clock{zoneOf(t, "Europe/Berlin")}, Rules{}, nil, 10)
		expect.Equal(t, c.want, len(got), name, ": ", got)
	}
}
