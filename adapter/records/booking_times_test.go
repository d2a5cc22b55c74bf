package records

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestBookingSpanHasThePluginsInstants: the instants of Berlin are those that the plugin stored, except
// around midnight, where it leaves them out or is a day late.
func TestBookingSpanHasThePluginsInstants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, day string
		start           session.Minutes
		duration        int64
		want            session.Row
	}{
		{"an hour", "Europe/Berlin", "2026-11-27", 600, 60, spanRow("2026-11-27", 600, "2026-11-27", 660, "2026-11-27 09:00:00", "2026-11-27 10:00:00")},
		{"summer", "Europe/Berlin", "2027-07-01", 600, 60, spanRow("2027-07-01", 600, "2027-07-01", 660, "2027-07-01 08:00:00", "2027-07-01 09:00:00")},
		{"up to a minute before midnight", "Europe/Berlin", "2026-12-15", 1380, 59, spanRow("2026-12-15", 1380, "2026-12-15", 1439, "2026-12-15 22:00:00", "2026-12-15 22:59:00")},
		{"up to midnight", "Europe/Berlin", "2026-12-15", 1380, 60, spanRow("2026-12-15", 1380, "2026-12-16", 1440, "2026-12-15 22:00:00", "2026-12-15 23:00:00")},
		{"past midnight", "Europe/Berlin", "2026-12-15", 1380, 120, spanRow("2026-12-15", 1380, "2026-12-16", 60, "2026-12-15 22:00:00", "2026-12-16 00:00:00")},
		{"past the end of a year", "Europe/Berlin", "2026-12-31", 1380, 120, spanRow("2026-12-31", 1380, "2027-01-01", 60, "2026-12-31 22:00:00", "2027-01-01 00:00:00")},
		{"from midnight", "Europe/Berlin", "2026-12-15", 0, 60, spanRow("2026-12-15", 0, "2026-12-15", 60, "2026-12-14 23:00:00", "2026-12-15 00:00:00")},
		{"all day", "Europe/Berlin", "2026-12-15", 0, 1440, spanRow("2026-12-15", 0, "2026-12-15", 1440, "2026-12-14 23:00:00", "2026-12-15 23:00:00")},
		{"the longest, as late as can be", "Europe/Berlin", "2026-12-15", 1439, 1440, spanRow("2026-12-15", 1439, "2026-12-16", 1439, "2026-12-15 22:59:00", "2026-12-16 22:59:00")},
		{"in the hour that is skipped", "Europe/Berlin", "2027-03-28", 120, 60, spanRow("2027-03-28", 120, "2027-03-28", 240, "2027-03-28 01:00:00", "2027-03-28 02:00:00")},
		{"over the hour that is skipped", "Europe/Berlin", "2027-03-28", 90, 120, spanRow("2027-03-28", 90, "2027-03-28", 270, "2027-03-28 00:30:00", "2027-03-28 02:30:00")},
		{"into the day the clock goes forward", "Europe/Berlin", "2027-03-27", 1380, 300, spanRow("2027-03-27", 1380, "2027-03-28", 300, "2027-03-27 22:00:00", "2027-03-28 03:00:00")},
		{"out of the hour that comes twice", "Europe/Berlin", "2027-10-31", 150, 60, spanRow("2027-10-31", 150, "2027-10-31", 210, "2027-10-31 00:30:00", "2027-10-31 02:30:00")},
		{"up to midnight as the clock goes back", "Europe/Berlin", "2027-10-31", 1380, 60, spanRow("2027-10-31", 1380, "2027-11-01", 1440, "2027-10-31 22:00:00", "2027-10-31 23:00:00")},
		{"New York", "America/New_York", "2026-11-27", 600, 60, spanRow("2026-11-27", 600, "2026-11-27", 660, "2026-11-27 15:00:00", "2026-11-27 16:00:00")},
		{"up to midnight in New York", "America/New_York", "2026-12-15", 1380, 60, spanRow("2026-12-15", 1380, "2026-12-16", 1440, "2026-12-16 04:00:00", "2026-12-16 05:00:00")},
		{"from midnight in New York", "America/New_York", "2026-12-15", 0, 60, spanRow("2026-12-15", 0, "2026-12-15", 60, "2026-12-15 05:00:00", "2026-12-15 06:00:00")},
		{"forward in New York", "America/New_York", "2027-03-14", 120, 60, spanRow("2027-03-14", 120, "2027-03-14", 240, "2027-03-14 07:00:00", "2027-03-14 08:00:00")},
		{"back in New York", "America/New_York", "2027-11-07", 60, 60, spanRow("2027-11-07", 60, "2027-11-07", 120, "2027-11-07 05:00:00", "2027-11-07 07:00:00")},
	} {
		location, err := time.LoadLocation(tt.zone)
		expect.NoError(t, err, tt.name)
		site := &session.Session{Zone: session.Zone{Name: tt.zone, Location: location}}
		span := SpanOf(site, availability.Moment{Day: dayOf(t, tt.day), Minutes: tt.start}, tt.duration)
		expect.Equal(t, tt.want, span.Columns(), tt.name, ": columns")
	}
}

func spanRow(startDate string, start int64, endDate string, end int64, startUTC, endUTC string) session.Row {
	return session.Row{
		{Name: "start_date", Value: startDate}, {Name: "end_date", Value: endDate}, {Name: "start_time", Value: start}, {Name: "end_time", Value: end},
		{Name: "start_datetime_utc", Value: startUTC}, {Name: "end_datetime_utc", Value: endUTC},
	}
}

func TestStartInSpringGapIsRejected(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	expect.NoError(t, err)
	site := &session.Session{Zone: session.Zone{Name: "Europe/Berlin", Location: berlin}}
	for _, tt := range []struct {
		name, day string
		start     session.Minutes
		rejected  bool
	}{
		{"before the hour that is skipped", "2027-03-28", 119, false},
		{"its first minute", "2027-03-28", 120, true},
		{"its last minute", "2027-03-28", 179, true},
		{"after it", "2027-03-28", 180, false},
		{"the hour that comes twice", "2027-10-31", 150, false},
		{"past the midnight of a working day", "2027-03-26", 1500, false},
		{"past midnight in the hour that is skipped", "2027-03-27", 1560, true},
	} {
		var p domain.Validation
		CheckClock(site, &p, availability.Moment{Day: dayOf(t, tt.day), Minutes: tt.start})
		expect.Equal(t, tt.rejected, p.Has("start_time"), tt.name, ": refused")
	}
}

func dayOf(t *testing.T, text string) availability.Day {
	t.Helper()
	day, ok := availability.ParseDay(text)
	if !ok {
		t.Fatalf("no day: %s", text)
	}
	return day
}
