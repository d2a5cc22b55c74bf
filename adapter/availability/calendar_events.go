package availability

// Events of an agent's calendar keep the agent busy by the rules of LatePoint's add-ons for Google, Outlook
// and Apple calendars, which store events and their recurrences in tables of the site. The rules are not
// those of RFC 5545 but intentionally the add-ons' own: Until is a day too early, Count counts periods
// instead of occurrences, and exceptions do not exist.

// CalendarRules are the differences between the add-ons and their versions.
type CalendarRules struct {
	// SplitsDays makes an event of several days block each day completely, except before it begins and
	// after it ends. Otherwise it blocks the times between its start and its end time on each day, and
	// nothing if it runs past midnight.
	SplitsDays bool
	// AnyMonthDay makes a monthly event recur on its day of the month even if it has a weekday.
	AnyMonthDay bool
}

// The rules of the add-ons. EarlyGoogle belongs to Google Calendar 1.4.
var (
	Google      = CalendarRules{SplitsDays: true}
	EarlyGoogle = CalendarRules{AnyMonthDay: true}
	Outlook     = CalendarRules{SplitsDays: true}
	Apple       = CalendarRules{}
)

// CalendarEvent is a row of an add-on's events with one of its recurrences.
type CalendarEvent struct {
	CalendarRules
	Agent   int64
	Start   Moment
	LastDay Day      // before the start for NULL
	End     *Minutes // on the last day; nil for NULL
	Recurrence
}

// Recurrence is a row of an add-on's recurrences, or zero for an event without one. Its words are in lower
// case where the database ignores case.
type Recurrence struct {
	Frequency string // daily, weekly, monthly or yearly
	Weekday   string // such as mo; for a monthly event such as 2tu or -1fr, or empty
	Until     *Day   // the event is over on this day
	Interval  int    // 0 for NULL: it does not recur
	Count     *int
}

// The times of a day. The add-ons leave its last minute free.
const (
	lastMinute Minutes = 1439
	endOfDay   Minutes = 1440
)

// BlockedByEvents returns the times that the events block on the days of a range.
func BlockedByEvents(events []CalendarEvent, from, to Day) (blocked []OffPeriod) {
	for _, e := range events {
		last := to
		if e.Frequency == "" {
			last = min(to, max(e.Start.Day, e.LastDay))
		}
		for day := max(from, e.Start.Day); day <= last; day++ {
			if start, end, ok := e.Blocks(day); ok {
				blocked = append(blocked, OffPeriod{Scope: Scope{Agent: e.Agent}, Day: day, Start: start, End: end})
			}
		}
	}
	return blocked
}

// Blocks returns the time of a day that the event blocks; ok is false if it does not take place. The end
// may be before the start, which blocks next to nothing. An event without an end time breaks the plugin's
// calendar; here it blocks the day.
func (e CalendarEvent) Blocks(day Day) (start, end Minutes, ok bool) {
	if !e.takesPlace(day) {
		return 0, 0, false
	}
	split := e.SplitsDays && e.LastDay > e.Start.Day
	switch {
	case split && day == e.Start.Day:
		return e.Start.Minutes, lastMinute, true
	case split && day != e.LastDay: // also whenever it recurs
		return 0, lastMinute, true
	case e.End == nil:
		return 0, endOfDay, true
	case split:
		return 0, *e.End, true
	default:
		return e.Start.Minutes, *e.End, true
	}
}

func (e CalendarEvent) takesPlace(day Day) bool {
	if day < e.Start.Day || e.Until != nil && day >= *e.Until {
		return false
	}
	return day == e.Start.Day || day <= e.LastDay || e.Interval > 0 && e.recurs(day)
}

// recurs reports whether the event recurs on a day after its start.
func (e CalendarEvent) recurs(day Day) bool {
	switch days := int(day - e.Start.Day); e.Frequency {
	case "daily":
		return e.everyInterval(days)
	case "weekly":
		return e.Weekday == weekdayOf(day) && e.everyInterval(days/7)
	case "monthly":
		return e.onMonthDay(day) && e.everyInterval(months(day)-months(e.Start.Day))
	case "yearly":
		return e.onYearDay(day)
	default:
		return false
	}
}

// everyInterval reports whether the event recurs after this many days, weeks or months.
func (e CalendarEvent) everyInterval(periods int) bool {
	return periods%e.Interval == 0 && e.counts(periods/e.Interval)
}

// counts reports whether a recurrence is within the event's count.
func (e CalendarEvent) counts(recurrence int) bool { return e.Count == nil || recurrence < *e.Count }

// onMonthDay reports whether a monthly event recurs on this day of any month: on its day of the month, or
// on its weekday.
func (e CalendarEvent) onMonthDay(day Day) bool {
	_, _, number := day.Date()
	_, _, first := e.Start.Day.Date()
	if number == first && (e.Weekday == "" || e.AnyMonthDay) {
		return true
	}
	if e.Weekday == string(rune('0'+(number+6)/7))+weekdayOf(day) {
		return true
	}
	_, _, nextWeek := (day + 7).Date()
	return nextWeek <= 7 && e.Weekday == "-1"+weekdayOf(day)
}

// onYearDay reports whether a yearly event recurs on a day. The add-ons compare something else with the
// count than the number of recurrences; the two agree if the interval is one.
func (e CalendarEvent) onYearDay(day Day) bool {
	year, month, number := day.Date()
	firstYear, firstMonth, firstNumber := e.Start.Day.Date()
	sameDay := month == firstMonth && number == firstNumber
	return sameDay && (year-firstYear)%e.Interval == 0 && e.counts(year-(firstYear+e.Interval-1)/e.Interval)
}

// months counts months continuously.
func months(day Day) int {
	year, month, _ := day.Date()
	return year*12 + int(month)
}

func weekdayOf(day Day) string {
	return [...]string{"mo", "tu", "we", "th", "fr", "sa", "su"}[day.Weekday()-1]
}
