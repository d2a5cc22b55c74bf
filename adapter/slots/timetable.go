package slots

import (
	"context"
	"errors"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Timetable is what happens to agents on a day, for people to look at.
type Timetable struct {
	Bookings []records.Booking // by start, without cancelled ones
	More     bool              // whether there are more bookings than the limit
	Holds    []availability.Booking
	Hours    map[int64]availability.DayHours // of each agent
	Events   []availability.OffPeriod        // of the calendars of agents
	// Overlapping has the ids of bookings that their agent cannot have together, see FindConflicts.
	Overlapping map[int64]bool
}

// LoadTimetable reads the timetable of agents. The number of statements does not depend on what is in it.
func LoadTimetable(ctx context.Context, s *session.Session, agents []int64, day availability.Day, limit int64) (t Timetable, err error) {
	if len(agents) == 0 {
		return t, nil
	}
	settings, err := s.DB.SettingValues(ctx, session.SlotSettings...)
	if err != nil {
		return t, err
	}
	of := append(takesPlace(day, day), sq.Eq{"agent_id": agents})
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Bookings)).Where(of).Where(sq.NotEq{"status": records.StatusCancelled}).
		OrderBy("start_date", "start_time", "id").Limit(uint64(limit) + 1)
	ids, more, err := wpdb.First(ctx, s.DB, "find bookings of a timetable", stmt, limit, wpdb.Value[int64])
	if err != nil {
		return t, err
	}
	t.More = more
	if t.Bookings, err = records.LoadBookings(ctx, s, ids); err != nil {
		return t, err
	}
	if t.Overlapping, err = overlapping(ctx, s, settings, agents, day); err != nil {
		return t, err
	}
	periods, err := readWorkPeriods(ctx, s, resourceScope{agents: agents}, day, day)
	if err != nil {
		return t, err
	}
	t.Hours = make(map[int64]availability.DayHours, len(agents))
	for _, id := range agents {
		t.Hours[id] = availability.WorkingHours(periods, availability.Resource{Agent: id}, day, day)[0]
	}
	if s.Schema.Has(wpdb.Holds) {
		stmt := sq.Select(blockingHoldColumns...).From(s.DB.Name(wpdb.Holds)).Where(sq.Gt{"expires_at": domain.Stamp(s.Now)}).Where(of).Limit(uint64(limit))
		if t.Holds, err = wpdb.All(ctx, s.DB, "read holds of a timetable", stmt, scanBlockingBooking); err != nil && !errors.Is(err, wpdb.ErrSchema) {
			return t, err
		}
	}
	events, err := calendarEvents(ctx, s, activeCalendars(s, settings), calendarPart{scope: resourceScope{agents: agents}, from: day, to: day})
	t.Events = availability.BlockedByEvents(events, day, day)
	return t, err
}

// takesPlace selects the bookings of days, with those of the day before that may go on after midnight.
func takesPlace(from, to availability.Day) sq.And {
	return sq.And{sq.GtOrEq{"start_date": (from - 1).String()}, sq.LtOrEq{"start_date": to.String()}, sq.Or{sq.GtOrEq{"start_date": from.String()}, mayPassMidnight}}
}

// mayPassMidnight selects the bookings that do not end on the day of their start, including those whose
// stored end cannot be right.
var mayPassMidnight = sq.Expr("(COALESCE(DATEDIFF(end_date, start_date), 1) <> 0 OR COALESCE(end_time, 0) = 0 OR end_time <= start_time)")

// overlapping compares the bookings that agents have on a day, and on the one after midnight.
func overlapping(ctx context.Context, s *session.Session, settings map[string]string, agents []int64, day availability.Day) (map[int64]bool, error) {
	stmt := bookingsWithDuration(s).Columns(blockingBookingColumns...).Where(takesPlace(day, day+1)).Where(sq.Eq{"agent_id": agents}).
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
	for _, c := range availability.Conflicts(blocking, day, s.Zone.Clock(), conflictRules(settings), capacity, conflictPairs) {
		overlapping[c.First], overlapping[c.Second] = true, true
	}
	return overlapping, nil
}

// TimetableAgents returns the agents that are active, and the others that have bookings on a day.
func TimetableAgents(ctx context.Context, s *session.Session, day availability.Day) ([]Choice, error) {
	booked := sq.Select("agent_id").From(s.DB.Name(wpdb.Bookings)).Where(sq.Eq{"start_date": day.String()}).
		Where(sq.NotEq{"status": records.StatusCancelled}).Where(sq.NotEq{"agent_id": nil})
	stmt := sq.Select("id", "first_name", "last_name").From(s.DB.Name(wpdb.Agents)).
		Where(sq.Or{sq.Eq{"status": "active"}, sq.Expr("id IN (?)", booked)}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "list agents of a timetable", stmt, scanChoice)
}
