package session

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures/expect"
)

func TestFindZone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name              string
		zone, offset      string // the two options
		want              string
		wantOffset        time.Duration // on 2027-01-15
		wantSummerOffset  time.Duration // on 2027-07-15
		wantSameEveryTime bool
	}{
		{name: "name", zone: "Europe/Berlin", want: "Europe/Berlin", wantOffset: time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "name wins over offset", zone: "America/New_York", offset: "3", want: "America/New_York", wantOffset: -5 * time.Hour, wantSummerOffset: -4 * time.Hour},
		{name: "old name", zone: "Asia/Calcutta", want: "Asia/Calcutta", wantOffset: 5*time.Hour + 30*time.Minute, wantSummerOffset: 5*time.Hour + 30*time.Minute},
		{name: "UTC", zone: "UTC", want: "UTC"},
		{name: "nothing set", want: "+00:00"},
		{name: "zero", offset: "0", want: "+00:00"},
		{name: "half an hour", offset: "5.5", want: "+05:30", wantOffset: 5*time.Hour + 30*time.Minute, wantSummerOffset: 5*time.Hour + 30*time.Minute},
		{name: "three quarters", offset: "5.75", want: "+05:45", wantOffset: 5*time.Hour + 45*time.Minute, wantSummerOffset: 5*time.Hour + 45*time.Minute},
		{name: "west", offset: "-3", want: "-03:00", wantOffset: -3 * time.Hour, wantSummerOffset: -3 * time.Hour},
		{name: "west and a half", offset: "-3.5", want: "-03:30", wantOffset: -3*time.Hour - 30*time.Minute, wantSummerOffset: -3*time.Hour - 30*time.Minute},
		{name: "west by less than an hour loses its sign", offset: "-0.5", want: "+00:30", wantOffset: 30 * time.Minute, wantSummerOffset: 30 * time.Minute},
		{name: "far east", offset: "14", want: "+14:00", wantOffset: 14 * time.Hour, wantSummerOffset: 14 * time.Hour},
		{name: "blanks around the offset", offset: " 2 ", want: "+02:00", wantOffset: 2 * time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "offset that is no number", offset: "noon", want: "+00:00"},
		{name: "offset beyond a day", offset: "1e9", want: "+00:00"},
		{name: "offset that is not finite", offset: "NaN", want: "+00:00"},
		{name: "an offset for a name", zone: "+02:00", want: "+02:00", wantOffset: 2 * time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "an offset of hours", zone: "-12", want: "-12:00", wantOffset: -12 * time.Hour, wantSummerOffset: -12 * time.Hour},
		{name: "an offset without a colon", zone: "+0530", want: "+05:30", wantOffset: 5*time.Hour + 30*time.Minute, wantSummerOffset: 5*time.Hour + 30*time.Minute},
		{name: "an offset of three digits", zone: "-330", want: "-03:30", wantOffset: -3*time.Hour - 30*time.Minute, wantSummerOffset: -3*time.Hour - 30*time.Minute},
		{name: "an offset of single digits", zone: "+2:5", want: "+02:05", wantOffset: 2*time.Hour + 5*time.Minute, wantSummerOffset: 2*time.Hour + 5*time.Minute},
		{name: "an offset from GMT", zone: "gmt+2", want: "+02:00", wantOffset: 2 * time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "an offset with seconds", zone: "+02:00:30", want: "+02:00:30", wantOffset: 2*time.Hour + 30*time.Second, wantSummerOffset: 2*time.Hour + 30*time.Second},
		{name: "more than 59 minutes", zone: "+02:60", want: "+03:00", wantOffset: 3 * time.Hour, wantSummerOffset: 3 * time.Hour},
		{name: "the offset 0", zone: "-00:00", want: "+00:00"},
		{name: "an abbreviation", zone: "CEST", want: "+02:00", wantOffset: 2 * time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "an abbreviation with the name of a zone", zone: "CET", want: "+01:00", wantOffset: time.Hour, wantSummerOffset: time.Hour},
		{name: "a letter", zone: "z", want: "+00:00", wantOffset: 0, wantSummerOffset: 0},
		{name: "small letters", zone: "europe/berlin", want: "Europe/Berlin", wantOffset: time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "capital letters", zone: "AMERICA/NEW_YORK", want: "America/New_York", wantOffset: -5 * time.Hour, wantSummerOffset: -4 * time.Hour},
		{name: "irregular letters", zone: "africa/dar_es_salaam", want: "Africa/Dar_es_Salaam", wantOffset: 3 * time.Hour, wantSummerOffset: 3 * time.Hour},
		{name: "a zone by its offset, with the sign of POSIX", zone: "etc/gmt-2", want: "Etc/GMT-2", wantOffset: 2 * time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "an old area", zone: "us/eastern", want: "US/Eastern", wantOffset: -5 * time.Hour, wantSummerOffset: -4 * time.Hour},
		{name: "blanks before it", zone: " Europe/Berlin", want: "Europe/Berlin", wantOffset: time.Hour, wantSummerOffset: 2 * time.Hour},
		{name: "blanks behind it", zone: "+02:00 ", want: "UTC"},
		{name: "an offset without a sign", zone: "02:00", want: "UTC"},
		{name: "an offset of five digits", zone: "+12345", want: "UTC"},
		{name: "an offset from UTC", zone: "UTC+2", want: "UTC"},
		{name: "no zone of this name", zone: "Mars/Olympus", want: "UTC"},
		{name: "the machine's own zone is no name", zone: "Local", want: "UTC"},
		{name: "a path is no name", zone: "../../etc/localtime", want: "UTC"},
	}
	var z zones
	for _, test := range tests {
		for range 2 { // the second time from the cache
			zone := z.find(test.zone, test.offset)
			expect.Equal(t, test.want, zone.Name, test.name, ": name")
			for month, want := range map[time.Month]time.Duration{time.January: test.wantOffset, time.July: test.wantSummerOffset} {
				_, seconds := time.Date(2027, month, 15, 12, 0, 0, 0, time.UTC).In(zone.Location).Zone()
				expect.Equal(t, want, time.Duration(seconds)*time.Second, test.name, ": offset in ", month)
			}
		}
	}
}

// The instants of Berlin were recorded from the plugin; the others follow from
// the same rules: the first instant in a repeated hour, moved forward in a
// skipped one.
func TestZoneInstant(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, zone string
		date       Date
		want       map[Minutes]string
	}{
		{"an ordinary day", "Europe/Berlin", "2026-11-21", map[Minutes]string{
			0: "2026-11-20T23:00:00Z", 600: "2026-11-21T09:00:00Z", 1440: "2026-11-21T23:00:00Z", 1500: "2026-11-22T00:00:00Z"}},
		{"forward in Berlin", "Europe/Berlin", "2027-03-28", map[Minutes]string{
			0: "2027-03-27T23:00:00Z", 90: "2027-03-28T00:30:00Z", 120: "2027-03-28T01:00:00Z", 150: "2027-03-28T01:30:00Z",
			180: "2027-03-28T01:00:00Z", 600: "2027-03-28T08:00:00Z", 1440: "2027-03-28T22:00:00Z"}},
		{"back in Berlin", "Europe/Berlin", "2027-10-31", map[Minutes]string{
			90: "2027-10-30T23:30:00Z", 120: "2027-10-31T00:00:00Z", 150: "2027-10-31T00:30:00Z", 180: "2027-10-31T02:00:00Z",
			600: "2027-10-31T09:00:00Z", 1440: "2027-10-31T23:00:00Z"}},
		{"the day before", "Europe/Berlin", "2027-10-30", map[Minutes]string{1440: "2027-10-30T22:00:00Z", 1590: "2027-10-31T00:30:00Z"}},
		{"forward in New York", "America/New_York", "2027-03-14", map[Minutes]string{
			90: "2027-03-14T06:30:00Z", 120: "2027-03-14T07:00:00Z", 150: "2027-03-14T07:30:00Z", 180: "2027-03-14T07:00:00Z", 600: "2027-03-14T14:00:00Z"}},
		{"back in New York", "America/New_York", "2027-11-07", map[Minutes]string{
			30: "2027-11-07T04:30:00Z", 60: "2027-11-07T05:00:00Z", 90: "2027-11-07T05:30:00Z", 120: "2027-11-07T07:00:00Z", 600: "2027-11-07T15:00:00Z"}},
		{"forward in Sydney", "Australia/Sydney", "2027-10-03", map[Minutes]string{
			90: "2027-10-02T15:30:00Z", 120: "2027-10-02T16:00:00Z", 150: "2027-10-02T16:30:00Z", 180: "2027-10-02T16:00:00Z", 600: "2027-10-02T23:00:00Z"}},
		{"back in Sydney", "Australia/Sydney", "2027-04-04", map[Minutes]string{
			90: "2027-04-03T14:30:00Z", 120: "2027-04-03T15:00:00Z", 150: "2027-04-03T15:30:00Z", 180: "2027-04-03T17:00:00Z", 600: "2027-04-04T00:00:00Z"}},
		{"forward by half an hour", "Australia/Lord_Howe", "2027-10-03", map[Minutes]string{
			119: "2027-10-02T15:29:00Z", 120: "2027-10-02T15:30:00Z", 140: "2027-10-02T15:50:00Z", 150: "2027-10-02T15:30:00Z"}},
		{"midnight is skipped", "Asia/Beirut", "2027-03-28", map[Minutes]string{
			0: "2027-03-27T22:00:00Z", 30: "2027-03-27T22:30:00Z", 60: "2027-03-27T22:00:00Z", 600: "2027-03-28T07:00:00Z"}},
		{"midnight is skipped in the west", "America/Santiago", "2027-09-05", map[Minutes]string{
			0: "2027-09-05T04:00:00Z", 30: "2027-09-05T04:30:00Z", 60: "2027-09-05T04:00:00Z", 600: "2027-09-05T13:00:00Z"}},
		{"midnight comes twice", "America/Havana", "2027-11-07", map[Minutes]string{
			0: "2027-11-07T04:00:00Z", 30: "2027-11-07T04:30:00Z", 60: "2027-11-07T06:00:00Z", 600: "2027-11-07T15:00:00Z"}},
	}
	var z zones
	for _, test := range tests {
		zone := z.find(test.zone, "")
		if zone.Name != test.zone {
			t.Fatalf("no zone %s", test.zone)
		}
		for minutes, want := range test.want {
			instant, ok := zone.Instant(test.date, minutes)
			if got := instant.UTC().Format(time.RFC3339); !ok || got != want {
				t.Errorf("%s: %d minutes: %s, %t, want %s", test.name, minutes, got, ok, want)
			}
			if instant.Location() != zone.Location {
				t.Errorf("%s: %d minutes: in %s, want %s", test.name, minutes, instant.Location(), zone.Location)
			}
		}
	}
}

func TestZoneInstantOfOffsets(t *testing.T) {
	t.Parallel()
	for offset, want := range map[string]string{
		"5.5":  "2027-03-28T04:30:00Z",
		"-3.5": "2027-03-28T13:30:00Z",
		"-0.5": "2027-03-28T09:30:00Z",
		"":     "2027-03-28T10:00:00Z",
	} {
		instant, ok := new(zones).find("", offset).Instant("2027-03-28", 600)
		if got := instant.UTC().Format(time.RFC3339); !ok || got != want {
			t.Errorf("gmt_offset %q: %s, %t, want %s", offset, got, ok, want)
		}
	}
}

func TestZoneInstantOfNoDate(t *testing.T) {
	t.Parallel()
	zone := new(zones).find("Europe/Berlin", "")
	for _, date := range []Date{"", "0000-00-00", "2026-02-29", "2026-13-01", "2026-1-1", "2026-11-21 10:00:00", "tomorrow"} {
		if instant, ok := zone.Instant(date, 600); ok || !instant.IsZero() {
			t.Errorf("%q: %s, %t, want no instant", date, instant, ok)
		}
	}
}

func TestTimestampTime(t *testing.T) {
	t.Parallel()
	instant, ok := domain.Timestamp("2026-11-21 00:43:00").Time()
	if want := time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC); !ok || !instant.Equal(want) {
		t.Errorf("got %s, %t, want %s", instant, ok, want)
	}
	for _, stamp := range []domain.Timestamp{"", "0000-00-00 00:00:00", "2026-11-21", "2026-11-31 00:00:00", "2026-11-21T00:43:00Z"} {
		if instant, ok := stamp.Time(); ok {
			t.Errorf("%q: %s, want no instant", stamp, instant)
		}
	}
}
