package availability

// OffPeriod is a row of blocked_periods: time off on one date, without working
// hours being touched. Only the add-on makes it count.
type OffPeriod struct {
	Scope
	Day        Day
	Start, End Minutes
}

// DailyLimits are the most bookings a day, of the service and of agents by id
// (meta max_bookings_per_day); none where zero or absent. Only the add-on makes
// them count.
type DailyLimits struct {
	Service int
	Agents  map[int64]int
}

// none reports whether there is nothing to count.
func (l DailyLimits) none() bool { return l.Service <= 0 && len(l.Agents) == 0 }

// reached reports whether the service or the agent of a resource has its full
// number of bookings that start on a day.
func (l DailyLimits) reached(r Resource, day Day, bookings []daySpan, exclude []int64) bool {
	if l.none() {
		return false
	}
	var ofService, ofAgent int
	for _, b := range bookings {
		if b.booking.Start.Day != day || excluded(b.booking, exclude) {
			continue
		}
		if b.booking.Service == r.Service {
			ofService++
		}
		if b.booking.Agent == r.Agent {
			ofAgent++
		}
	}
	agent := l.Agents[r.Agent]
	return l.Service > 0 && ofService >= l.Service || agent > 0 && ofAgent >= agent
}
