package adapter

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/availability"
	"bookside/wpdb"
)

// calendarQuery says which days a calendar covers, and by which rules.
type calendarQuery struct {
	from, to availability.Day
	customer bool     // the booking window applies
	also     []string // blocking statuses in addition to the site's
	// anyLocation is set if any location will do. Then an agent with a booking at one
	// location is not free at another, even if the site allows it: otherwise a booking
	// sent twice would be made twice.
	anyLocation bool
}

// calendar reads working hours, bookings and limits of a service's resources. The number
// of statements does not depend on the number of days.
func (s *Site) calendar(ctx context.Context, service bookableService, resources []availability.Resource, q calendarQuery) (*availability.Calendar, error) {
	in := availability.Input{
		Service: service.Service, Resources: resources, Deviations: availability.DefaultDeviations,
		Rules: availability.Rules{
			OneLocationAtTime:      service.settings[settingOneLocation] == on || q.anyLocation,
			MultipleServicesAtTime: service.settings[settingManyServices] == on,
			OneAgentAtLocation:     service.settings[settingOneAgent] == on,
		},
	}
	if q.customer {
		in.Window = s.bookingWindow(service, in.Deviations)
	}
	scope := scopeOf(resources)
	var err error
	if in.WorkPeriods, err = s.workPeriods(ctx, scope, q.from, q.to); err != nil {
		return nil, err
	}
	limited, err := s.addOnActive(ctx, service.settings[settingAddOns])
	if err != nil {
		return nil, err
	}
	if limited {
		if err := s.readLimits(ctx, service, scope, q, &in); err != nil {
			return nil, err
		}
	}
	if in.Bookings, err = s.blockingBookings(ctx, service, scope, q, in); err != nil {
		return nil, err
	}
	return availability.NewCalendar(in), nil
}

// bookingWindow returns the time in which customers may book a service.
func (s *Site) bookingWindow(service bookableService, deviations availability.Deviations) *availability.Window {
	general := availability.Bounds{Earliest: service.settings[settingEarliest], Latest: service.settings[settingLatest]}
	return availability.NewWindow(s.Now.In(s.Zone.Location), service.bounds, general, deviations)
}

// resourceScope has the distinct ids of some resources.
type resourceScope struct{ agents, services, locations []int64 }

func scopeOf(resources []availability.Resource) (scope resourceScope) {
	for _, r := range resources {
		scope.agents = append(scope.agents, r.Agent)
		scope.services = append(scope.services, r.Service)
		scope.locations = append(scope.locations, r.Location)
	}
	for _, ids := range []*[]int64{&scope.agents, &scope.services, &scope.locations} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	return scope
}

// covering returns the condition that a row of rules applies to any of the resources. A
// zero in the row stands for all.
func (scope resourceScope) covering() sq.And {
	orAll := func(ids []int64) []int64 { return append([]int64{0}, ids...) }
	return sq.And{
		sq.Eq{"agent_id": orAll(scope.agents)},
		sq.Eq{"service_id": orAll(scope.services)},
		sq.Eq{"location_id": orAll(scope.locations)},
	}
}

// workPeriods reads the working hours that may apply to the days. It reads the general
// hours of the whole week, which decide whether the plugin would fill it up.
func (s *Site) workPeriods(ctx context.Context, scope resourceScope, from, to availability.Day) ([]availability.WorkPeriod, error) {
	general := sq.Eq{"agent_id": 0, "service_id": 0, "location_id": 0, "custom_date": nil}
	onDays := sq.And{
		sq.Eq{"week_day": weekdays(from, to)},
		sq.Or{sq.Eq{"custom_date": nil}, sq.And{sq.GtOrEq{"custom_date": from.String()}, sq.LtOrEq{"custom_date": to.String()}}},
	}
	stmt := sq.Select("agent_id", "service_id", "location_id", "week_day", "custom_date", "start_time", "end_time").
		From(s.db.Name(wpdb.WorkPeriods)).Where(scope.covering()).Where(sq.Or{general, onDays})
	return wpdb.All(ctx, s.db, "read working hours", stmt, func(row wpdb.Scanner) (p availability.WorkPeriod, err error) {
		var date string
		err = row.Scan(&p.Agent, &p.Service, &p.Location, &p.Weekday, wpdb.OrZero(&date), (*int)(&p.Start), (*int)(&p.End))
		if err == nil && date != "" {
			p.Date, _ = availability.ParseDay(date) // a zero date is not one of the days
			p.Dated = true
		}
		return p, err
	})
}

// weekdays returns the ISO weekdays of a range of days.
func weekdays(from, to availability.Day) []int {
	var days []int
	for day := from; day <= min(to, from+6); day++ {
		days = append(days, day.Weekday())
	}
	return days
}

// blockingBookings reads the bookings that may block the resources, from the day before
// the first day, because of those that run past midnight, to the last day, or the day
// after it if working hours run past midnight. Uses the index on start_date.
func (s *Site) blockingBookings(ctx context.Context, service bookableService, scope resourceScope, q calendarQuery, in availability.Input) ([]availability.Booking, error) {
	last := q.to
	if slices.ContainsFunc(in.WorkPeriods, func(p availability.WorkPeriod) bool { return p.End > minutesPerDay }) {
		last++
	}
	stmt := sq.Select(blockingBookingColumns...).From(s.db.Name(wpdb.Bookings)).
		Where(sq.Eq{"status": append(availability.BlockingStatuses(service.settings[settingBlockingStatuses]), q.also...)}).
		Where(sq.GtOrEq{"start_date": (q.from - 1).String()}).Where(sq.LtOrEq{"start_date": last.String()})
	concerned := sq.Or{sq.Eq{"agent_id": scope.agents}}
	if in.Rules.OneAgentAtLocation {
		concerned = append(concerned, sq.Eq{"location_id": scope.locations})
	}
	if in.Limits.Service > 0 {
		concerned = append(concerned, sq.Eq{"service_id": service.ID})
	}
	return wpdb.All(ctx, s.db, "read blocking bookings", stmt.Where(concerned), scanBlockingBooking)
}

// blockingBookingColumns are what scanBlockingBooking reads.
var blockingBookingColumns = []string{
	"id", "agent_id", "service_id", "location_id", "start_date", "start_time", "end_date", "end_time",
	"buffer_before", "buffer_after", "COALESCE(total_attendees, 1)",
}

func scanBlockingBooking(row wpdb.Scanner) (b availability.Booking, err error) {
	var startDate, endDate string
	var start, end, before, after *int
	err = row.Scan(&b.ID, &b.Agent, &b.Service, wpdb.OrZero(&b.Location), wpdb.OrZero(&startDate), &start, wpdb.OrZero(&endDate), &end,
		&before, &after, &b.Attendees)
	if err != nil {
		return b, err
	}
	var startKnown, endKnown bool
	b.Start.Day, startKnown = availability.ParseDay(startDate)
	b.End.Day, endKnown = availability.ParseDay(endDate)
	if !startKnown || !endKnown || start == nil || end == nil || before == nil || after == nil {
		b.Incomplete = true
		return b, nil
	}
	b.Start.Minutes, b.End.Minutes = availability.Minutes(*start), availability.Minutes(*end)
	b.BufferBefore, b.BufferAfter = availability.Minutes(*before), availability.Minutes(*after)
	return b, nil
}

// readLimits reads what applies with the add-on only: time off and daily limits of
// bookings.
func (s *Site) readLimits(ctx context.Context, service bookableService, scope resourceScope, q calendarQuery, in *availability.Input) error {
	in.Limits = availability.DailyLimits{Service: service.bookingsPerDay, Agents: map[int64]int{}}
	metas, err := s.metas(ctx, wpdb.AgentMeta, scope.agents, sq.Eq{"meta_key": metaBookingsPerDay})
	if err != nil {
		return err
	}
	for agent, values := range metas {
		if most := leadingInt(values[metaBookingsPerDay]); most > 0 {
			in.Limits.Agents[agent] = most
		}
	}
	if !s.schema.Has(wpdb.BlockedPeriods) {
		return nil
	}
	stmt := sq.Select("agent_id", "service_id", "location_id", "start_date", "start_time", "end_time").
		From(s.db.Name(wpdb.BlockedPeriods)).Where(scope.covering()).
		Where(sq.GtOrEq{"start_date": q.from.String()}).Where(sq.LtOrEq{"start_date": q.to.String()})
	in.OffPeriods, err = wpdb.All(ctx, s.db, "read off periods", stmt, func(row wpdb.Scanner) (p availability.OffPeriod, err error) {
		var date string
		err = row.Scan(&p.Agent, &p.Service, &p.Location, wpdb.OrZero(&date), wpdb.OrZero((*int)(&p.Start)), wpdb.OrZero((*int)(&p.End)))
		p.Day, _ = availability.ParseDay(date)
		return p, err
	})
	return err
}
