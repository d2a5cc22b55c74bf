package availability_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/fixtures/expect"
)

// day returns the day of a date.
func day(t testing.TB, date string) availability.Day {
	t.Helper()
	d, ok := availability.ParseDay(date)
	if !ok {
		t.Fatalf("%q is no date", date)
	}
	return d
}

// event returns an event between two dates and minutes.
func event(t testing.TB, rules availability.CalendarRules, start string, from availability.Minutes, end string, to availability.Minutes) availability.CalendarEvent {
	t.Helper()
	return availability.CalendarEvent{
		CalendarRules: rules, Agent: 1, Start: availability.Moment{Day: day(t, start), Minutes: from}, LastDay: day(t, end), End: &to,
	}
}

// recurring returns an event of one hour at ten, with a recurrence such as
// "weekly mo until 2026-12-04 every 2 count 3".
func recurring(t testing.TB, rules availability.CalendarRules, start, words string) availability.CalendarEvent {
	t.Helper()
	e := event(t, rules, start, 600, start, 660)
	fields := strings.Fields(words)
	e.Frequency, e.Interval = fields[0], 1
	for fields = fields[1:]; len(fields) > 0; fields = fields[1:] {
		switch word := fields[0]; word {
		case "until":
			e.Until = new(day(t, fields[1]))
			fields = fields[1:]
		case "every", "count":
			var n int
			_, err := fmt.Sscan(fields[1], &n)
			expect.NoError(t, err)
			if word == "every" {
				e.Interval = n
			} else {
				e.Count = &n
			}
			fields = fields[1:]
		default:
			e.Weekday = word
		}
	}
	return e
}

var (
	everyRule = map[string]availability.CalendarRules{
		"Google": availability.Google, "Google 1.4": availability.EarlyGoogle, "Outlook": availability.Outlook, "Apple": availability.Apple,
	}
	newMonths = map[string]availability.CalendarRules{"Google": availability.Google, "Outlook": availability.Outlook, "Apple": availability.Apple}
	oldMonths = map[string]availability.CalendarRules{"Google 1.4": availability.EarlyGoogle}
	splitting = map[string]availability.CalendarRules{"Google": availability.Google, "Outlook": availability.Outlook}
	whole     = map[string]availability.CalendarRules{"Google 1.4": availability.EarlyGoogle, "Apple": availability.Apple}
)

// TestDays: the days on which an event blocks. Several recurrences are several
// rows.
func TestDays(t *testing.T) {
	t.Parallel()
	const through = "2027-02-28"
	for name, c := range map[string]struct {
		rules       map[string]availability.CalendarRules
		start       string // a date
		recurrences []string
		to          string // the last requested day
		want        string // days, counted from the start
	}{
		"no recurrence":                            {everyRule, "2026-12-01", nil, through, "2026-12-01"},
		"until is exclusive":                       {everyRule, "2026-12-01", []string{"daily until 2026-12-04"}, through, "2026-12-01 2026-12-02 2026-12-03"},
		"until on the first day":                   {everyRule, "2026-12-01", []string{"daily until 2026-12-01"}, through, ""},
		"until before the first day":               {everyRule, "2026-12-01", []string{"daily until 2026-11-01"}, through, ""},
		"every other day":                          {everyRule, "2026-12-01", []string{"daily every 2 until 2026-12-08"}, through, "2026-12-01 2026-12-03 2026-12-05 2026-12-07"},
		"daily, counted":                           {everyRule, "2026-12-01", []string{"daily count 3"}, through, "2026-12-01 2026-12-02 2026-12-03"},
		"every third day, counted":                 {everyRule, "2026-12-01", []string{"daily every 3 count 3"}, through, "2026-12-01 2026-12-04 2026-12-07"},
		"a count of none leaves the start":         {everyRule, "2026-12-01", []string{"daily count 0"}, through, "2026-12-01"},
		"no interval":                              {everyRule, "2026-12-01", []string{"daily every 0"}, through, "2026-12-01"},
		"an unknown frequency":                     {everyRule, "2026-12-01", []string{"hourly"}, through, "2026-12-01"},
		"words in capitals where case counts":      {everyRule, "2026-12-01", []string{"DAILY", "weekly MO"}, through, "2026-12-01 2026-12-01"},
		"daily on weekdays is every day":           {everyRule, "2026-12-04", []string{"daily mo", "daily fr"}, "2026-12-06", "2026-12-04 2026-12-05 2026-12-06 2026-12-04 2026-12-05 2026-12-06"},
		"weekly":                                   {everyRule, "2026-12-01", []string{"weekly tu until 2026-12-16"}, through, "2026-12-01 2026-12-08 2026-12-15"},
		"weekly without a weekday":                 {everyRule, "2026-12-01", []string{"weekly"}, through, "2026-12-01"},
		"weekly on Sundays, from a Tuesday on":     {everyRule, "2026-12-01", []string{"weekly su"}, "2026-12-20", "2026-12-01 2026-12-06 2026-12-13 2026-12-20"},
		"every other week counts from the weekday": {everyRule, "2026-12-02", []string{"weekly mo every 2", "weekly we every 2"}, "2026-12-31", "2026-12-02 2026-12-07 2026-12-21 2026-12-02 2026-12-16 2026-12-30"},
		"the count is that of each weekday":        {everyRule, "2026-12-01", []string{"weekly tu count 3", "weekly th count 3"}, through, "2026-12-01 2026-12-08 2026-12-15 2026-12-01 2026-12-03 2026-12-10 2026-12-17"},
		"several weekdays in one row":              {everyRule, "2026-12-02", []string{"weekly mo,we"}, through, "2026-12-02"},
		"each weekday":                             {everyRule, "2026-12-06", []string{"weekly mo", "weekly tu", "weekly we", "weekly th", "weekly fr", "weekly sa", "weekly su"}, "2026-12-13", "2026-12-06 2026-12-07 2026-12-06 2026-12-08 2026-12-06 2026-12-09 2026-12-06 2026-12-10 2026-12-06 2026-12-11 2026-12-06 2026-12-12 2026-12-06 2026-12-13"},

		"monthly":                          {everyRule, "2026-12-15", []string{"monthly"}, through, "2026-12-15 2027-01-15 2027-02-15"},
		"monthly on the 31st":              {everyRule, "2026-12-31", []string{"monthly"}, "2027-05-31", "2026-12-31 2027-01-31 2027-03-31 2027-05-31"},
		"every other month":                {everyRule, "2026-12-15", []string{"monthly every 2"}, "2027-04-30", "2026-12-15 2027-02-15 2027-04-15"},
		"monthly, counted":                 {everyRule, "2026-12-15", []string{"monthly every 2 count 2"}, "2027-06-30", "2026-12-15 2027-02-15"},
		"the second Tuesday":               {newMonths, "2026-12-08", []string{"monthly 2tu"}, "2027-02-28", "2026-12-08 2027-01-12 2027-02-09"},
		"the second Tuesday, and that day": {oldMonths, "2026-12-08", []string{"monthly 2tu"}, "2027-02-28", "2026-12-08 2027-01-08 2027-01-12 2027-02-08 2027-02-09"},
		"the second Tuesday twice in the month, by one": {newMonths, "2026-12-01", []string{"monthly 2tu"}, "2026-12-31", "2026-12-01 2026-12-08"},
		"the last Friday": {newMonths, "2026-11-27", []string{"monthly -1fr"}, "2027-02-28", "2026-11-27 2026-12-25 2027-01-29 2027-02-26"},
		"the last Thursday, by a week from the end":  {newMonths, "2026-11-26", []string{"monthly -1th"}, "2027-02-28", "2026-11-26 2026-12-31 2027-01-28 2027-02-25"},
		"the fourth Thursday is not always the last": {newMonths, "2026-11-26", []string{"monthly 4th"}, "2027-01-31", "2026-11-26 2026-12-24 2027-01-28"},
		"a weekday without a number":                 {newMonths, "2026-12-08", []string{"monthly tu"}, "2027-01-31", "2026-12-08"},
		"a weekday and the day":                      {oldMonths, "2026-12-08", []string{"monthly tu"}, "2027-01-31", "2026-12-08 2027-01-08"},
		"monthly, before the day of the start":       {newMonths, "2026-12-08", []string{"monthly 1fr count 2"}, "2027-03-31", "2026-12-08 2027-01-01"},

		"yearly":                          {everyRule, "2026-12-24", []string{"yearly"}, "2028-12-31", "2026-12-24 2027-12-24 2028-12-24"},
		"yearly, counted":                 {everyRule, "2026-12-24", []string{"yearly count 2"}, "2029-12-31", "2026-12-24 2027-12-24"},
		"every other year":                {everyRule, "2026-12-24", []string{"yearly every 2"}, "2029-12-31", "2026-12-24 2028-12-24"},
		"every other year, counted":       {everyRule, "2026-12-24", []string{"yearly every 2 count 5"}, "2036-12-31", "2026-12-24"},
		"every other year, counted wrong": {everyRule, "2026-12-24", []string{"yearly every 2 count 1017"}, "2032-12-31", "2026-12-24 2028-12-24"},
		"every third year, counted wrong": {everyRule, "2026-12-24", []string{"yearly every 3 count 1354"}, "2032-12-31", "2026-12-24 2029-12-24"},
		"yearly on the 29th of February":  {everyRule, "2028-02-29", []string{"yearly"}, "2032-12-31", "2028-02-29 2032-02-29"},
	} {
		for rule, rules := range c.rules {
			t.Run(name+"/"+rule, func(t *testing.T) {
				t.Parallel()
				events := []availability.CalendarEvent{event(t, rules, c.start, 600, c.start, 660)}
				if len(c.recurrences) > 0 {
					events = nil
				}
				for _, words := range c.recurrences {
					events = append(events, recurring(t, rules, c.start, words))
				}
				got := []string{}
				for _, p := range availability.BlockedByEvents(events, day(t, c.start)-40, day(t, c.to)) {
					got = append(got, p.Day.String())
					if p.Start != 600 || p.End != 660 || p.Agent != 1 || p.Service != 0 || p.Location != 0 {
						t.Errorf("%s blocks %+v", p.Day, p)
					}
				}
				expect.Equal(t, strings.Fields(c.want), got)
			})
		}
	}
}

// TestTimes: the times of day that an event blocks.
func TestTimes(t *testing.T) {
	t.Parallel()
	const monday, tuesday, wednesday, thursday = "2026-12-07", "2026-12-08", "2026-12-09", "2026-12-10"
	hour := func(rules availability.CalendarRules) availability.CalendarEvent {
		return event(t, rules, monday, 600, monday, 660)
	}
	days := func(rules availability.CalendarRules) availability.CalendarEvent {
		return event(t, rules, monday, 600, wednesday, 900)
	}
	night := func(rules availability.CalendarRules) availability.CalendarEvent {
		return event(t, rules, monday, 1320, tuesday, 120)
	}
	with := func(of func(availability.CalendarRules) availability.CalendarEvent, change func(*availability.CalendarEvent)) func(availability.CalendarRules) availability.CalendarEvent {
		return func(rules availability.CalendarRules) availability.CalendarEvent {
			e := of(rules)
			change(&e)
			return e
		}
	}
	daily := func(e *availability.CalendarEvent) { e.Frequency, e.Interval = "daily", 1 }
	endless := func(e *availability.CalendarEvent) { e.End = nil }
	for name, c := range map[string]struct {
		rules map[string]availability.CalendarRules
		event func(availability.CalendarRules) availability.CalendarEvent
		want  []string // from Sunday to Thursday
	}{
		"an hour": {everyRule, hour, []string{"2026-12-07 600-660"}},
		"all day": {everyRule, func(r availability.CalendarRules) availability.CalendarEvent {
			return event(t, r, monday, 0, monday, 1439)
		}, []string{"2026-12-07 0-1439"}},
		"no last day": {everyRule, with(hour, func(e *availability.CalendarEvent) { e.LastDay = e.Start.Day - 700_000 }), []string{"2026-12-07 600-660"}},
		"all day, as Apple's are stored": {whole, func(r availability.CalendarRules) availability.CalendarEvent {
			return event(t, r, monday, 0, tuesday, 0)
		}, []string{"2026-12-07 0-0", "2026-12-08 0-0"}},
		"all day, as Outlook's are stored": {splitting, func(r availability.CalendarRules) availability.CalendarEvent {
			return event(t, r, monday, 0, tuesday, 0)
		}, []string{"2026-12-07 0-1439", "2026-12-08 0-0"}},
		"several days":                        {splitting, days, []string{"2026-12-07 600-1439", "2026-12-08 0-1439", "2026-12-09 0-900"}},
		"the same time of several days":       {whole, days, []string{"2026-12-07 600-900", "2026-12-08 600-900", "2026-12-09 600-900"}},
		"a night":                             {splitting, night, []string{"2026-12-07 1320-1439", "2026-12-08 0-120"}},
		"a night that blocks nothing":         {whole, night, []string{"2026-12-07 1320-120", "2026-12-08 1320-120"}},
		"each night loses the days":           {splitting, with(night, daily), []string{"2026-12-07 1320-1439", "2026-12-08 0-120", "2026-12-09 0-1439", "2026-12-10 0-1439"}},
		"each night blocks nothing":           {whole, with(night, daily), []string{"2026-12-07 1320-120", "2026-12-08 1320-120", "2026-12-09 1320-120", "2026-12-10 1320-120"}},
		"until ends several days, too":        {splitting, with(days, func(e *availability.CalendarEvent) { e.Until = new(day(t, wednesday)) }), []string{"2026-12-07 600-1439", "2026-12-08 0-1439"}},
		"no end":                              {everyRule, with(hour, endless), []string{"2026-12-07 0-1440"}},
		"no end, each day":                    {everyRule, with(with(hour, endless), daily), []string{"2026-12-07 0-1440", "2026-12-08 0-1440", "2026-12-09 0-1440", "2026-12-10 0-1440"}},
		"no end of several days":              {splitting, with(days, endless), []string{"2026-12-07 600-1439", "2026-12-08 0-1439", "2026-12-09 0-1440"}},
		"no end of several days at all":       {whole, with(days, endless), []string{"2026-12-07 0-1440", "2026-12-08 0-1440", "2026-12-09 0-1440"}},
		"several days, again on the last one": {splitting, with(days, func(e *availability.CalendarEvent) { e.Frequency, e.Interval = "daily", 2 }), []string{"2026-12-07 600-1439", "2026-12-08 0-1439", "2026-12-09 0-900"}},
	} {
		for rule, rules := range c.rules {
			t.Run(name+"/"+rule, func(t *testing.T) {
				t.Parallel()
				var got []string
				for _, p := range availability.BlockedByEvents([]availability.CalendarEvent{c.event(rules)}, day(t, monday)-1, day(t, thursday)) {
					got = append(got, fmt.Sprintf("%s %d-%d", p.Day, p.Start, p.End))
				}
				expect.Equal(t, c.want, got)
			})
		}
	}
}
