package availability

import (
	"cmp"
	"slices"
)

// Resource is an agent who provides a service at a location: a row of agents_services.
type Resource struct{ Agent, Service, Location int64 }

// Scope says what a rule applies to. Zero stands for every agent, service or location.
type Scope struct{ Agent, Service, Location int64 }

// Covers reports whether a rule with this scope applies to the resource.
func (s Scope) Covers(r Resource) bool {
	return (s.Agent == 0 || s.Agent == r.Agent) &&
		(s.Service == 0 || s.Service == r.Service) &&
		(s.Location == 0 || s.Location == r.Location)
}

// WorkPeriod is a row of work_periods: working hours of a weekday or of a date. The day
// is off if Start and End are both zero.
type WorkPeriod struct {
	Scope
	Weekday    int // ISO, 1 Monday to 7 Sunday, on dated rows too
	Date       Day // of a dated row
	Dated      bool
	Start, End Minutes
}

// DayOff reports whether the row makes its day a day off.
func (p WorkPeriod) DayOff() bool { return p.Start == 0 && p.End == 0 }

// weight mirrors OsWorkPeriodModel::calculate_weight.
func (p WorkPeriod) weight() (weight int) {
	for _, id := range [...]int64{p.Service, p.Agent, p.Location} {
		if id != 0 {
			weight++
		}
	}
	if p.Dated {
		weight += 3
	}
	return weight
}

// schedule holds the working hours in the order in which they are considered.
type schedule struct {
	weekly [8][]WorkPeriod // by ISO weekday
	dated  map[Day][]WorkPeriod
}

// newSchedule accepts rows in any order. As in OsWorkPeriodsHelper::get_work_periods, a row with a date and
// the wrong weekday never applies.
func newSchedule(rows []WorkPeriod) schedule {
	s := schedule{dated: make(map[Day][]WorkPeriod)}
	for _, row := range WithDefaultWeek(rows) {
		switch {
		case row.Weekday < 1 || row.Weekday > 7:
		case !row.Dated:
			s.weekly[row.Weekday] = append(s.weekly[row.Weekday], row)
		case row.Date.Weekday() == row.Weekday:
			s.dated[row.Date] = append(s.dated[row.Date], row)
		}
	}
	for _, rows := range s.weekly {
		slices.SortFunc(rows, ByScope)
	}
	for _, rows := range s.dated {
		slices.SortFunc(rows, ByScope)
	}
	return s
}

// WithDefaultWeek adds the general hours that the plugin would insert before it reads them
// (OsWorkPeriodsHelper::set_default_working_hours): 08:00 to 17:00 on every day if there are none,
// otherwise a day off for each missing weekday.
func WithDefaultWeek(rows []WorkPeriod) []WorkPeriod {
	var known [8]bool
	start, end := Minutes(8*60), Minutes(17*60)
	for _, row := range rows {
		if row.Scope == (Scope{}) && !row.Dated && row.Weekday >= 1 && row.Weekday <= 7 {
			known[row.Weekday] = true
			start, end = 0, 0
		}
	}
	rows = slices.Clip(rows)
	for weekday := 1; weekday <= 7; weekday++ {
		if !known[weekday] {
			rows = append(rows, WorkPeriod{Weekday: weekday, Start: start, End: end})
		}
	}
	return rows
}

// ByScope returns the order of OsWorkPeriodsHelper::get_work_periods within a day: the rows of agents first,
// then of services, then of locations. The first that covers a resource decides about it.
func ByScope(a, b WorkPeriod) int {
	return cmp.Or(
		cmp.Compare(b.Agent, a.Agent),
		cmp.Compare(b.Service, a.Service),
		cmp.Compare(b.Location, a.Location),
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.End, b.End),
	)
}

// off reports whether a custom day without hours closes a day for a resource, whichever other rules there are.
func (s *schedule) off(r Resource, day Day) bool {
	return slices.ContainsFunc(s.dated[day], func(row WorkPeriod) bool { return row.DayOff() && row.Covers(r) })
}

// hours returns the working hours of a resource on a day (OsResourceHelper::get_resources_grouped_by_day).
// The rows that cover the resource come in descending weight, those of the day itself before those of its weekday. Only rows
// of the first one's weight count: those of one scope are united, those of other scopes narrow the hours, and a day off among
// them closes the day.
func (s *schedule) hours(r Resource, day Day) []period {
	var open scopeHours
	var last *WorkPeriod
	for _, rows := range [...][]WorkPeriod{s.dated[day], s.weekly[day.Weekday()]} {
		for i := range rows {
			row := &rows[i]
			if !row.Covers(r) {
				continue
			}
			if last != nil && row.weight() != last.weight() {
				return open.intersection()
			}
			if row.DayOff() {
				return nil
			}
			if last == nil || row.Scope != last.Scope {
				open.beginScope()
			}
			open.current = append(open.current, period{row.Start, row.End})
			last = row
		}
	}
	return open.intersection()
}

// scopeHours are the hours of scopes: what those before have in common, and the hours of the present one.
type scopeHours struct {
	result, current []period
}

func (g *scopeHours) beginScope() { g.result, g.current = g.intersection(), nil }

// intersection mirrors BookingResource::add_available_periods, which does not distinguish an empty result
// from no result yet: hours that have nothing in common with the earlier ones replace them.
func (g *scopeHours) intersection() []period {
	if len(g.result) == 0 {
		return g.current
	}
	var common []period
	for _, a := range g.result {
		for _, b := range g.current {
			if a.start <= b.end && b.start <= a.end {
				common = append(common, period{max(a.start, b.start), min(a.end, b.end)})
			}
		}
	}
	return common
}

// DayHours are the working hours of a day, in order.
type DayHours struct {
	Day  Day
	Open []Hours
}

// Hours span two times of day; an End after 24:00 is on the next day.
type Hours struct{ Start, End Minutes }

// WorkingHours returns the hours that rows give a resource on each day of a range. If an id of the resource
// is 0, only rows that apply to everything of that kind count.
func WorkingHours(rows []WorkPeriod, r Resource, from, to Day) (days []DayHours) {
	schedule := newSchedule(rows)
	for day := from; day <= to; day++ {
		d := DayHours{Day: day}
		for _, p := range schedule.hours(r, day) {
			if p.start < p.end {
				d.Open = append(d.Open, Hours{p.start, p.end})
			}
		}
		slices.SortFunc(d.Open, func(a, b Hours) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
		days = append(days, d)
	}
	return days
}
