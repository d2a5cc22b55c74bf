package availability

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestApplyRelativeDate compares with PHP; testdata/expressions.php produced
// the expectations.
func TestApplyRelativeDate(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/expressions.json")
	expect.NoError(t, err)
	var rows [][4]*string
	expect.NoError(t, json.Unmarshal(raw, &rows))
	const layout = "2006-01-02 15:04"
	for _, row := range rows {
		now, err := time.ParseInLocation(time.DateTime, *row[1], zoneOf(t, *row[0]))
		expect.NoError(t, err)
		got, want := "", ""
		if instant, ok := applyRelativeDate(now, *row[2]); ok {
			got = instant.Format(layout)
		}
		if row[3] != nil {
			want = *row[3]
		}
		expect.Equal(t, want, got, *row[0], " ", *row[1], " ", *row[2])
	}
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	if offset, err := time.Parse("-07:00", name); err == nil {
		return offset.Location()
	}
	zone, err := time.LoadLocation(name)
	expect.NoError(t, err)
	return zone
}

// TestUnparsableRelativeDates covers forms that PHP accepts but that do not
// count as bounds here.
func TestUnparsableRelativeDates(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"next week", "this week", "next monday", "last monday", "first day of next month", "+3 weekdays", "27.11.2026", "11/27/2026",
		"2026/11/27", "20261127", "@1800000000", "+1 wk", "+1.5 hours", "2026-11-27T14:30:00Z", "2026-02-30", "++1 day", "+9999999999 days", "2026", "+1000001 minutes", "-1000001 minutes",
	} {
		if got, ok := applyRelativeDate(time.Date(2026, 11, 24, 10, 17, 0, 0, time.UTC), expression); ok {
			t.Errorf("%q is read as %v", expression, got)
		}
	}
}

// TestNewWindow: a service's bound takes precedence over the general one if it
// can be parsed; a window that opened in the past opens now.
func TestNewWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 10, 17, 59, 0, time.UTC)
	at := func(text string) Moment {
		moment, err := time.Parse("2006-01-02 15:04", text)
		expect.NoError(t, err)
		return MomentOf(moment)
	}
	for name, c := range map[string]struct {
		service, general Bounds
		want             Window
	}{
		"none":                       {Bounds{}, Bounds{}, Window{Opens: at("2026-11-24 10:17")}},
		"general":                    {Bounds{}, Bounds{"+2 hours", "+1 week"}, Window{Opens: at("2026-11-24 12:17"), Closes: at("2026-12-01 10:17"), Bounded: true}},
		"of the service":             {Bounds{"+4 hours", "+1 day"}, Bounds{"+2 days", "+1 week"}, Window{Opens: at("2026-11-24 14:17"), Closes: at("2026-11-25 10:17"), Bounded: true}},
		"junk of the service":        {Bounds{"junk", "0"}, Bounds{"+2 hours", ""}, Window{Opens: at("2026-11-24 12:17")}},
		"a date keeps the clock":     {Bounds{}, Bounds{"2026-11-27", "2026-11-28"}, Window{Opens: at("2026-11-27 10:17"), Closes: at("2026-11-28 10:17"), Bounded: true}},
		"an opening date has passed": {Bounds{}, Bounds{"2026-11-01", ""}, Window{Opens: at("2026-11-24 10:17")}},
	} {
		c.want.Now = at("2026-11-24 10:17")
		if got := NewWindow(now, c.service, c.general, DefaultDeviations); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
	expect.Equal(t, at("2026-11-01 10:17"), NewWindow(now, Bounds{}, Bounds{Earliest: "2026-11-01"}, Deviations{}).Opens, "a window as the plugin opens it")
}

// TestMissingHour: the part of a day that no clock in a zone shows.
func TestMissingHour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ zone, day, want string }{
		"spring in Berlin":                {"Europe/Berlin", "2027-03-28", "02:00-03:00"},
		"spring in New York":              {"America/New_York", "2027-03-14", "02:00-03:00"},
		"half an hour on Lord Howe":       {"Australia/Lord_Howe", "2026-10-04", "02:00-02:30"},
		"the first hour in Beirut":        {"Asia/Beirut", "2027-03-28", "00:00-01:00"},
		"a whole day in Apia":             {"Pacific/Apia", "2011-12-30", "00:00-24:00"},
		"the day before spring in Berlin": {"Europe/Berlin", "2027-03-27", ""},
		"the day after spring in Berlin":  {"Europe/Berlin", "2027-03-29", ""},
		"autumn in Berlin":                {"Europe/Berlin", "2026-10-25", ""},
		"a zone without summer time":      {"UTC", "2027-03-28", ""},
	} {
		zone, err := time.LoadLocation(c.zone)
		expect.NoError(t, err, name)
		missing, got := Clock{zone}.gap(mustDay(c.day)), ""
		if missing.end > missing.start {
			got = fmt.Sprintf("%02d:%02d-%02d:%02d", missing.start/60, missing.start%60, missing.end/60, missing.end%60)
		}
		expect.Equal(t, c.want, got, name)
	}
}
