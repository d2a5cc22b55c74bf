package compat

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loaded, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestTimestamp(t *testing.T) {
	t.Parallel()
	berlin, kolkata := location(t, "Europe/Berlin"), time.FixedZone("+05:30", 5*3600+1800)
	for _, c := range []struct {
		name   string
		in     *time.Location
		stored domain.Timestamp
		want   string
	}{
		{"as stored", nil, "2026-11-21 00:43:00", "2026-11-21 00:43:00"},
		{"winter", berlin, "2026-11-21 23:43:00", "2026-11-22 00:43:00"},
		{"summer", berlin, "2026-07-01 12:00:00", "2026-07-01 14:00:00"},
		{"before the clock goes back", berlin, "2026-10-25 00:30:00", "2026-10-25 02:30:00"},
		{"after it, the same wall clock", berlin, "2026-10-25 01:30:00", "2026-10-25 02:30:00"},
		{"half an hour", kolkata, "2026-11-21 20:00:00", "2026-11-22 01:30:00"},
		{"NULL", berlin, "", ""},
		{"zero date", berlin, "0000-00-00 00:00:00", "0000-00-00 00:00:00"},
		{"zero day", berlin, "2026-11-00 00:00:00", "2026-11-00 00:00:00"},
		{"zero date as stored", nil, "0000-00-00 00:00:00", "0000-00-00 00:00:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (View{Location: c.in}).timestamp(c.stored); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		})
	}
}

// instants formats a range as it would be sent to the database.
func instants(bounds ...*time.Time) []string {
	texts := []string{}
	for _, b := range bounds {
		if b == nil {
			texts = append(texts, "")
			continue
		}
		texts = append(texts, b.UTC().Format(time.DateTime))
	}
	return texts
}

// TestDatesCoverTheirDay: a date parameter covers its whole day in the zone
// that timestamps are shown in; the days on which the clock changes have 23 and
// 25 hours.
func TestDatesCoverTheirDay(t *testing.T) {
	t.Parallel()
	berlin := location(t, "Europe/Berlin")
	for _, c := range []struct {
		name string
		in   *time.Location
		date string
		want []string
	}{
		{"stored", nil, "2026-11-21", []string{"2026-11-21 00:00:00", "2026-11-22 00:00:00"}},
		{"site", berlin, "2026-11-21", []string{"2026-11-20 23:00:00", "2026-11-21 23:00:00"}},
		{"25 hours", berlin, "2026-10-25", []string{"2026-10-24 22:00:00", "2026-10-25 23:00:00"}},
		{"23 hours", berlin, "2027-03-28", []string{"2027-03-27 23:00:00", "2027-03-28 22:00:00"}},
		{"the end of a year", nil, "2026-12-31", []string{"2026-12-31 00:00:00", "2027-01-01 00:00:00"}},
		{"a leap day", nil, "2028-02-29", []string{"2028-02-29 00:00:00", "2028-03-01 00:00:00"}},
		{"the last day there is", nil, "9999-12-31", []string{"9999-12-31 00:00:00", "9999-12-31 23:59:59"}},
		{"the last day of the site", berlin, "9999-12-31", []string{"9999-12-30 23:00:00", "9999-12-31 23:59:59"}},
		{"not sent", berlin, "", []string{"", ""}},
		{"no date", berlin, "2026-02-30", []string{"", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ParseQuery("a=" + c.date)
			q.zone = c.in
			if diff := cmp.Diff(c.want, instants(valueOf(q, "a", beginning), valueOf(q, "a", end))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		})
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	berlin := location(t, "Europe/Berlin")
	for _, c := range []struct {
		name string
		in   *time.Location
		text string
		want []string // nil for none
		bad  bool
	}{
		{name: "a day", text: "2026-11-21", want: []string{"2026-11-21 00:00:00", "2026-11-22 00:00:00"}},
		{name: "a month", text: "2026-11", want: []string{"2026-11-01 00:00:00", "2026-12-01 00:00:00"}},
		{name: "December", text: "2026-12", want: []string{"2026-12-01 00:00:00", "2027-01-01 00:00:00"}},
		{name: "a short month", text: "2028-02", want: []string{"2028-02-01 00:00:00", "2028-03-01 00:00:00"}},
		{name: "a year", text: "2026", want: []string{"2026-01-01 00:00:00", "2027-01-01 00:00:00"}},
		{name: "a month of the site", in: berlin, text: "2026-10", want: []string{"2026-09-30 22:00:00", "2026-10-31 23:00:00"}},
		{name: "a year of the site", in: berlin, text: "2026", want: []string{"2025-12-31 23:00:00", "2026-12-31 23:00:00"}},
		{name: "not sent"},
		{name: "the last months of a year", text: "2026-1", want: []string{"2026-10-01 00:00:00", "2027-01-01 00:00:00"}},
		{name: "the first months", text: "2026-0", want: []string{"2026-01-01 00:00:00", "2026-10-01 00:00:00"}},
		{name: "the first days of a month", text: "2026-11-0", want: []string{"2026-11-01 00:00:00", "2026-11-10 00:00:00"}},
		{name: "the last days of a month", text: "2026-11-3", want: []string{"2026-11-30 00:00:00", "2026-12-01 00:00:00"}},
		{name: "all days of a month", text: "2026-11-", want: []string{"2026-11-01 00:00:00", "2026-12-01 00:00:00"}},
		{name: "a century", text: "20", want: []string{"2000-01-01 00:00:00", "2100-01-01 00:00:00"}},
		{name: "an hour", text: "2026-11-04+08", want: []string{"2026-11-04 08:00:00", "2026-11-04 09:00:00"}},
		{name: "an hour of the site", in: berlin, text: "2026-11-04+08", want: []string{"2026-11-04 07:00:00", "2026-11-04 08:00:00"}},
		{name: "the late evening", text: "2026-11-04+2", want: []string{"2026-11-04 20:00:00", "2026-11-05 00:00:00"}},
		{name: "a minute", text: "2026-11-04+08:15", want: []string{"2026-11-04 08:15:00", "2026-11-04 08:16:00"}},
		{name: "a second", text: "2026-11-04+08:15:59", want: []string{"2026-11-04 08:15:59", "2026-11-04 08:16:00"}},
		{name: "a month that begins with 2", text: "2026-2", bad: true},
		{name: "a day of February that begins with 3", text: "2026-02-3", bad: true},
		{name: "hour 24", text: "2026-11-04+24", bad: true},
		{name: "minute 60", text: "2026-11-04+08:6", bad: true},
		{name: "more than a second", text: "2026-11-04+08:15:590", bad: true},
		{name: "one digit for two", text: "2026-1-1", bad: true},
		{name: "month 13", text: "2026-13", bad: true},
		{name: "no such day", text: "2026-02-29", bad: true},
		{name: "year 0", text: "0000", bad: true},
		{name: "letters", text: "November", bad: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ParseQuery("a=" + c.text)
			q.zone = c.in
			var got []string
			if span := valueOf(q, "a", span); span != nil {
				got = instants(&span.From, &span.Before)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
			if bad := q.Err() != nil; bad != c.bad {
				t.Errorf("%s: %v", c.name, q.Err())
			}
		})
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0.0000", "45": "45.0000", "45.5": "45.5000", "-1": "-1.0000", "0.0001": "0.0001",
		"99999999.9999": "99999999.9999", "9999999999999999.9999": "9999999999999999.9999",
	} {
		t.Run(text, func(t *testing.T) {
			if got := domain.AmountText(decimal.RequireFromString(text)); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		})
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for minutes, want := range map[session.Minutes]string{
		0: "00:00", 5: "00:05", 65: "01:05", 600: "10:00", 1439: "23:59", 1440: "24:00", 1500: "25:00", 2880: "48:00",
		-1: "", -60: "", 2881: "", 100000: "",
	} {
		if got := clock(&minutes); got != want {
			t.Errorf("%d is %s, want %s", minutes, got, want)
		}
	}
	if got := clock(nil); got != "" {
		t.Errorf("no time is %q", got)
	}
}

func TestRFC3339(t *testing.T) {
	t.Parallel()
	moment := time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)
	for _, c := range []struct {
		in   *time.Location
		want string
	}{
		{time.UTC, "2026-11-21T00:43:00+00:00"}, // no Z
		{location(t, "Europe/Berlin"), "2026-11-21T01:43:00+01:00"},
		{location(t, "America/Montevideo"), "2026-11-20T21:43:00-03:00"},
		{time.FixedZone("+05:30", 5*3600+1800), "2026-11-21T06:13:00+05:30"},
	} {
		t.Run(c.want, func(t *testing.T) {
			local := moment.In(c.in)
			if got := rfc3339(&local); got == nil || *got != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
	if got := rfc3339(nil); got != nil {
		t.Errorf("no instant is %s", *got)
	}
}

func TestEachOfNoRecordsIsAnEmptyList(t *testing.T) {
	t.Parallel()
	if got := each([]int(nil), func(n int) int { return n }); got == nil || len(got) != 0 {
		t.Errorf("no records are %v, which is null in JSON", got)
	}
}
