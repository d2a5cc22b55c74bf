package slots

import (
	"context"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/busytimes"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// TimetableQuery asks for the timetable of some agents or locations.
type TimetableQuery struct {
	Of       domain.Resource // agents or locations
	IDs      []int64
	From, To availability.Day
	Limit    uint64 // of bookings
}

// Timetable is what happens to agents or locations on some days, for people to look at.
type Timetable struct {
	Bookings []records.Booking // by start, without cancelled ones
	More     bool              // whether there are more bookings than the limit
	Holds    []availability.Booking
	NoHolds  bool                              // whether the table of holds is missing, which the server makes when it starts
	Hours    map[int64][]availability.DayHours // of each agent or location
	Events   []availability.OffPeriod          // of the calendars of agents
	// Overlapping has the ids of bookings that their agent cannot have together, see FindConflicts.
	Overlapping map[int64]bool
}

// LoadTimetable reads a timetable. The number of statements depends neither on the days nor on what is in them.
func LoadTimetable(ctx context.Context, s *session.Session, q TimetableQuery) (t Timetable, err error) {
	if len(q.IDs) == 0 {
		return t, nil
	}
	settings, err := s.DB.SettingValues(ctx, session.SlotSettings...)
	if err != nil {
		return t, err
	}
	ids, more, err := wpdb.First(ctx, s.DB, "find bookings of a timetable", q.bookings(s).Columns("id").
		Where(sq.NotEq{"status": records.StatusCancelled}).OrderBy("start_date", "start_time", "id").Limit(q.Limit+1), int64(q.Limit), wpdb.Value[int64])
	if err != nil {
		return t, err
	}
	t.More = more
	if t.Bookings, err = records.LoadBookings(ctx, s, ids, false); err != nil {
		return t, err
	}
	if t.Overlapping, err = q.overlapping(ctx, s, settings, t.Bookings); err != nil {
		return t, err
	}
	if t.Hours, err = q.hours(ctx, s); err != nil {
		return t, err
	}
	if s.Schema.Has(wpdb.Holds) {
		stmt := sq.Select(blockingHoldColumns...).From(s.DB.Name(wpdb.Holds)).Where(sq.Gt{"expires_at": domain.Stamp(s.Now)}).Where(q.ofColumns()).Limit(q.Limit)
		t.Holds, err = wpdb.All(ctx, s.DB, "read holds of a timetable", stmt, scanBlockingBooking)
		if t.NoHolds = errors.Is(err, wpdb.ErrSchema); err != nil && !t.NoHolds {
			return t, err
		}
	}
	if q.Of == domain.AgentResource {
		part := calendarPart{scope: resourceScope{agents: q.IDs}, from: q.From, to: q.To}
		events, err := calendarEvents(ctx, s, activeCalendars(s, settings), part)
		if err != nil {
			return t, err
		}
		t.Events = busytimes.Blocked(events, q.From, q.To)
	}
	return t, nil
}

// column is the column of bookings that names what the timetable is of.
func (q TimetableQuery) column() string {
	if q.Of == domain.LocationResource {
		return "location_id"
	}
	return "agent_id"
}

// bookings selects the bookings of the days, with those of the day before that go on after midnight.
func (q TimetableQuery) bookings(s *session.Session) sq.SelectBuilder {
	return sq.Select().From(s.DB.Name(wpdb.Bookings)).Where(q.ofColumns())
}

func (q TimetableQuery) inDays() sq.And {
	return sq.And{
		sq.GtOrEq{"start_date": (q.From - 1).String()}, sq.LtOrEq{"start_date": q.To.String()},
		sq.Or{sq.GtOrEq{"start_date": q.From.String()}, sq.GtOrEq{"end_date": q.From.String()}},
	}
}

func (q TimetableQuery) ofColumns() sq.And { return append(q.inDays(), sq.Eq{q.column(): q.IDs}) }

// overlapping compares the bookings that the agents of shown have on these days, and on the one after midnight.
func (q TimetableQuery) overlapping(ctx context.Context, s *session.Session, settings map[string]string, shown []records.Booking) (map[int64]bool, error) {
	if len(shown) == 0 {
		return nil, nil
	}
	var agents []int64
	for _, b := range shown {
		agents = append(agents, b.Agent.ID)
	}
	slices.Sort(agents)
	day := TimetableQuery{Of: domain.AgentResource, IDs: slices.Compact(agents), From: q.From, To: q.To + 1}
	stmt := bookingsWithDuration(s).Columns(blockingBookingColumns...).Where(day.ofColumns()).
		Where(sq.Eq{"status": availability.BlockingStatuses(settings[session.SettingBlockingStatuses])}).OrderBy("start_date", "id").Limit(conflictPage)
	blocking, err := wpdb.All(ctx, s.DB, "read blocking bookings", stmt, scanBlockingBooking)
	if err != nil {
		return nil, err
	}
	capacity, err := capacities(ctx, s)
	if err != nil {
		return nil, err
	}
	overlapping := map[int64]bool{}
	for _, c := range availability.Conflicts(blocking, q.From, s.Zone.Clock(), conflictRules(settings), capacity, conflictPairs) {
		overlapping[c.First], overlapping[c.Second] = true, true
	}
	return overlapping, nil
}

// hours returns the working hours of each agent or location, as BusinessHours does for one.
func (q TimetableQuery) hours(ctx context.Context, s *session.Session) (map[int64][]availability.DayHours, error) {
	var scope resourceScope
	resource := func(id int64) availability.Resource { return availability.Resource{Agent: id} }
	if scope.agents = q.IDs; q.Of == domain.LocationResource {
		scope = resourceScope{locations: q.IDs}
		resource = func(id int64) availability.Resource { return availability.Resource{Location: id} }
	}
	periods, err := readWorkPeriods(ctx, s, scope, q.From, q.To)
	if err != nil {
		return nil, err
	}
	hours := map[int64][]availability.DayHours{}
	for _, id := range q.IDs {
		hours[id] = availability.WorkingHours(periods, resource(id), q.From, q.To)
	}
	return hours, nil
}

// TimetableColumns returns the agents or locations that are active, and the others that have bookings on the days.
func TimetableColumns(ctx context.Context, s *session.Session, of domain.Resource, from, to availability.Day) ([]Choice, error) {
	q := TimetableQuery{Of: of}
	table, name := wpdb.Agents, []string{"first_name", "last_name"}
	if of == domain.LocationResource {
		table, name = wpdb.Locations, []string{"name", "NULL"}
	}
	booked := sq.Select(q.column()).From(s.DB.Name(wpdb.Bookings)).Where(sq.GtOrEq{"start_date": from.String()}).Where(sq.LtOrEq{"start_date": to.String()}).
		Where(sq.NotEq{"status": records.StatusCancelled}).Where(sq.NotEq{q.column(): nil})
	stmt := sq.Select("id").Columns(name...).From(s.DB.Name(table)).
		Where(sq.Or{sq.Eq{"status": "active"}, sq.Expr("id IN (?)", booked)}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "list columns of a timetable", stmt, scanChoice)
}

// WithoutColumn counts the bookings that begin on the days and are of no agent or location that exists.
func WithoutColumn(ctx context.Context, s *session.Session, of domain.Resource, from, to availability.Day) (int, error) {
	q, table := TimetableQuery{Of: of}, wpdb.Agents
	if of == domain.LocationResource {
		table = wpdb.Locations
	}
	known := sq.Select("1").From(s.DB.As(table, "r")).Where("r.id = b." + q.column())
	stmt := sq.Select("COUNT(*)").From(s.DB.As(wpdb.Bookings, "b")).Where(sq.GtOrEq{"b.start_date": from.String()}).Where(sq.LtOrEq{"b.start_date": to.String()}).
		Where(sq.NotEq{"b.status": records.StatusCancelled}).Where(sq.Expr("NOT EXISTS (?)", known))
	count, _, err := wpdb.One(ctx, s.DB, "count bookings without a column", stmt, wpdb.Value[int])
	return count, err
}
