package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// NewTimeOff is time off to enter. Ids are 0 for all.
type NewTimeOff struct {
	AgentID, ServiceID, LocationID int64
	From                           availability.Day
	To                             *availability.Day
	Start, End                     *availability.Minutes // both, or neither for whole days
	Note                           string
	DryRun                         bool
	domain.Validation
}

func (n NewTimeOff) scope() availability.Scope {
	return availability.Scope{Agent: n.AgentID, Service: n.ServiceID, Location: n.LocationID}
}

// CreatedTimeOff is new time off, with the bookings in it, which stay: at most maxBookings.
type CreatedTimeOff struct {
	TimeOff
	Bookings []int64
}

const (
	maxDays     = 366
	maxBookings = 100
)

// CreateTimeOff enters time off as LatePoint's calendar does (OsCalendarsController::apply_period_block,
// OsSettingsController::save_custom_day_schedule). It excludes bookings at the same time. It returns a CodeInvalidRequest, a
// CodeValidationFailed and, for what is entered already, a CodeTimeOffExists; and a CodeOutsideScope if the caller's key is
// limited to something else. A dry run writes nothing, and the id is 0.
func CreateTimeOff(ctx context.Context, tx *session.Tx, n NewTimeOff) (CreatedTimeOff, error) {
	scope := n.scope()
	if !tx.Scope().Covers(scope.Agent, scope.Service, scope.Location) {
		return CreatedTimeOff{}, domain.OutsideScope()
	}
	off, err := validateTimeOff(ctx, tx, n)
	if err != nil {
		return CreatedTimeOff{}, err
	}
	resources, err := lockConnections(ctx, tx, scope)
	if err != nil {
		return CreatedTimeOff{}, err
	}
	if err := checkNew(ctx, tx, off); err != nil {
		return CreatedTimeOff{}, err
	}
	if off.Hours == nil {
		if err := checkDays(ctx, tx, off, resources); err != nil {
			return CreatedTimeOff{}, err
		}
	}
	created := CreatedTimeOff{TimeOff: off}
	if created.Bookings, err = bookingsIn(ctx, tx, off); err != nil || tx.DryRun {
		return created, err
	}
	if off.Hours != nil {
		created.ID, err = insertHours(ctx, tx, off)
	} else {
		created.ID, err = insertDays(ctx, tx, off)
	}
	if err != nil {
		return created, err
	}
	return created, journalTimes(ctx, tx, scope)
}

// validateTimeOff validates time off, reporting all problems at once.
func validateTimeOff(ctx context.Context, tx *session.Tx, n NewTimeOff) (TimeOff, error) {
	p := n.Problems()
	if err := slots.CheckNamed(ctx, tx.Session, availability.Resource(n.scope()), &p); err != nil {
		return TimeOff{}, err
	}
	last := domain.ValueOr(n.To, n.From)
	today := availability.MomentOf(tx.Now.In(tx.Zone.Location)).Day
	switch {
	case p.Has("date") || p.Has("date_to"):
	case last < n.From || last >= n.From+maxDays:
		p.Reject("date_to", fmt.Sprintf("Must be a date from date on, at most %d days in all", maxDays))
	case last < today && n.To != nil:
		p.Reject("date_to", "Must not be in the past")
	case last < today:
		p.Reject("date", "Must not be in the past")
	}
	hours, err := hoursOff(ctx, tx.Session, n, &p)
	if err != nil {
		return TimeOff{}, err
	}
	note := text.Field(n.Note)
	if hours == nil && note != "" {
		tx.Warn("LatePoint keeps no note with whole days: it is not stored")
		note = ""
	}
	tx.CheckText(&p, "note", wpdb.BlockedPeriods, "summary", note)
	return TimeOff{Scope: n.scope(), From: n.From, To: last, Hours: hours, Note: note}, p.Err()
}

// hoursOff returns the hours of time off, nil for whole days.
func hoursOff(ctx context.Context, s *session.Session, n NewTimeOff, p *domain.Validation) (*availability.Hours, error) {
	switch {
	case p.Has("start_time") || p.Has("end_time") || n.Start == nil && n.End == nil:
		return nil, nil
	case n.Start == nil:
		p.Invalid("start_time", "Required together with end_time")
		return nil, nil
	case n.End == nil:
		p.Invalid("end_time", "Required together with start_time")
		return nil, nil
	case *n.End <= *n.Start:
		p.Reject("end_time", "Must be after start_time")
	case n.To != nil && *n.To != n.From && !p.Has("date_to"):
		p.Reject("date_to", "LatePoint keeps hours day by day: send one request for each day, or leave out start_time and end_time for whole days")
	}
	keeps, err := keepsHours(ctx, s)
	if err == nil && !keeps {
		p.Reject("start_time", "LatePoint keeps hours off only with its add-on Pro Features, which is not active here: leave out start_time and end_time for whole days")
	}
	return &availability.Hours{Start: *n.Start, End: *n.End}, err
}

// lockConnections excludes bookings of all agents that a scope concerns, and other writes for the same scope. It returns the connections
// that the scope is for. Bookings take the same locks, see session.Lock.
func lockConnections(ctx context.Context, tx *session.Tx, scope availability.Scope) ([]availability.Resource, error) {
	stmt := sq.Select("agent_id", "service_id", "location_id").Distinct().From(tx.DB.Name(wpdb.AgentsServices)).Where(namedIn(scope)).OrderBy("agent_id", "service_id", "location_id")
	resources, err := wpdb.All(ctx, tx.DB, "find whom hours concern", stmt, wpdb.Into(func(r *availability.Resource) []any {
		return []any{wpdb.OrZero(&r.Agent), wpdb.OrZero(&r.Service), wpdb.OrZero(&r.Location)}
	}))
	if err != nil {
		return nil, err
	}
	agents := []int64{scope.Agent}
	for _, r := range resources {
		agents = append(agents, r.Agent)
	}
	return resources, tx.Lock(ctx, session.LocksOf(session.AgentLock, agents...)...)
}

// namedIn is the condition that a row is for what a scope names.
func namedIn(scope availability.Scope) sq.Eq {
	condition := sq.Eq{}
	for column, id := range map[string]int64{"agent_id": scope.Agent, "service_id": scope.Service, "location_id": scope.Location} {
		if id != 0 {
			condition[column] = id
		}
	}
	return condition
}

// checkNew rejects time off that is entered already: ending one of two would not open the time. Whole days are not the same if
// somebody has opened one of them.
func checkNew(ctx context.Context, tx *session.Tx, off TimeOff) error {
	scope := sq.Eq{"agent_id": off.Agent, "service_id": off.Service, "location_id": off.Location}
	same := days(tx.Session).Where(scope).Having(sq.Eq{"MIN(custom_date)": off.From.String(), "MAX(custom_date)": off.To.String(), "COUNT(DISTINCT custom_date)": int64(off.To-off.From) + 1})
	if off.Hours != nil {
		same = hours(tx.Session).RemoveColumns().Column("id * 2 + 1 AS id").Where(scope).Where(sq.Eq{"start_date": off.From.String(), "start_time": int64(off.Hours.Start), "end_time": int64(off.Hours.End)})
	}
	id, found, err := wpdb.One(ctx, tx.DB, "find the same time off", sq.Select("MIN(same.id)").FromSelect(same, "same"), wpdb.Value[*int64])
	if err == nil && found && id != nil {
		err = domain.TimeOffExists(*id)
	}
	return err
}

// checkDays rejects whole days that would not be off: of several custom days, LatePoint follows those that name the most.
// Uses the index on custom_date.
func checkDays(ctx context.Context, tx *session.Tx, off TimeOff, resources []availability.Resource) error {
	stmt := sq.Select("agent_id", "service_id", "location_id", "week_day", "custom_date", "start_time", "end_time").From(tx.DB.Name(wpdb.WorkPeriods)).
		Where(sq.GtOrEq{"custom_date": off.From.String()}).Where(sq.LtOrEq{"custom_date": off.To.String()})
	rows, err := wpdb.All(ctx, tx.DB, "read custom days", stmt, func(row wpdb.Scanner) (w availability.WorkPeriod, err error) {
		var date string
		err = row.Scan(&w.Agent, &w.Service, &w.Location, &w.Weekday, &date, (*int)(&w.Start), (*int)(&w.End))
		w.Date, _ = availability.ParseDay(date)
		w.Dated = true
		return w, err
	})
	if err != nil {
		return err
	}
	custom := map[availability.Day][]availability.WorkPeriod{}
	for _, row := range rows {
		custom[row.Date] = append(custom[row.Date], row)
	}
	for day := off.From; day <= off.To; day++ {
		if len(custom[day]) == 0 {
			continue
		}
		planned := slices.Concat(custom[day], []availability.WorkPeriod{{Scope: off.Scope, Weekday: day.Weekday(), Date: day, Dated: true}})
		for _, r := range resources {
			if len(availability.WorkingHours(planned, r, day, day)[0].Open) > 0 {
				return domain.ValidationFailed(map[string]string{"date": fmt.Sprintf(
					"LatePoint prefers the hours of %s for %s to this: remove them in wp-admin, or name exactly that", day, preferred(custom[day], r))})
			}
		}
	}
	return nil
}

// preferred returns what the custom day that decides about a resource names.
func preferred(custom []availability.WorkPeriod, r availability.Resource) string {
	covering := slices.DeleteFunc(slices.Clone(custom), func(row availability.WorkPeriod) bool { return !row.Covers(r) })
	first := slices.MinFunc(covering, availability.ByScope)
	var names []string
	for _, named := range []struct {
		field string
		id    int64
	}{{"agent_id", first.Agent}, {"service_id", first.Service}, {"location_id", first.Location}} {
		if named.id != 0 {
			names = append(names, fmt.Sprint(named.field, " ", named.id))
		}
	}
	return strings.Join(names, ", ")
}

// bookingsIn returns bookings in time off that block their time. Uses the index on start_date.
func bookingsIn(ctx context.Context, tx *session.Tx, off TimeOff) ([]int64, error) {
	statuses, err := session.BlockingStatuses(ctx, tx.Session)
	if err != nil {
		return nil, err
	}
	first, start := off.From.String(), int64(0)
	begin := sq.And{sq.GtOrEq{"start_date": first}}
	if off.Hours != nil {
		start = int64(off.Hours.Start)
		begin = append(begin, sq.Lt{"start_time": int64(off.Hours.End)}, sq.Or{sq.Gt{"end_time": start}, sq.Expr("end_date > start_date")})
	}
	// The evening before; an end at midnight is minute 1440.
	overnight := sq.And{sq.Lt{"start_date": first}, sq.Eq{"end_date": first}, sq.Gt{"end_time": start}, sq.Lt{"end_time": int64(records.MinutesPerDay)}}
	stmt := sq.Select("id").From(tx.DB.Name(wpdb.Bookings)).Where(sq.Eq{"status": statuses}).Where(namedIn(off.Scope)).
		Where(sq.GtOrEq{"start_date": (off.From - 1).String()}).Where(sq.LtOrEq{"start_date": off.To.String()}).
		Where(sq.Or{begin, overnight}).OrderBy("id").Limit(maxBookings)
	return wpdb.All(ctx, tx.AsCaller().DB, "find bookings in time off", stmt, wpdb.Value[int64])
}

// insertHours writes hours, and returns the id of the time off.
func insertHours(ctx context.Context, tx *session.Tx, off TimeOff) (int64, error) {
	row, err := tx.Insert(ctx, wpdb.BlockedPeriods, slices.Concat(scopeColumns(off.Scope), session.Row{
		{Name: "summary", Value: off.Note}, {Name: "start_date", Value: off.From.String()}, {Name: "end_date", Value: off.To.String()},
		{Name: "start_time", Value: int64(off.Hours.Start)}, {Name: "end_time", Value: int64(off.Hours.End)},
		{Name: "start_datetime_utc", Value: utc(tx.Session, off, off.Hours.Start)}, {Name: "end_datetime_utc", Value: utc(tx.Session, off, off.Hours.End)},
		{Name: "server_timezone", Value: ""},
	}, tx.NewTimestamps()))
	return row*kinds + 1, err
}

// insertDays writes a row for each of the whole days, and returns the id of the time off.
func insertDays(ctx context.Context, tx *session.Tx, off TimeOff) (int64, error) {
	var chain any // the id of a range of days
	if off.To > off.From {
		text, err := domain.RandomHex(tx.Platform.Random, 10) // as long as the column
		if err != nil {
			return 0, err
		}
		chain = text[:13] // as long as PHP's uniqid()
	}
	var rows []session.Row
	for day := off.From; day <= off.To; day++ {
		rows = append(rows, slices.Concat(scopeColumns(off.Scope), session.Row{
			{Name: "start_time", Value: 0}, {Name: "end_time", Value: 0}, {Name: "chain_id", Value: chain},
			{Name: "custom_date", Value: day.String()}, {Name: "week_day", Value: day.Weekday()},
		}, tx.NewTimestamps()))
	}
	first, err := tx.Insert(ctx, wpdb.WorkPeriods, rows...)
	return first * kinds, err
}

// scopeColumns returns the columns that say whose hours a row has.
func scopeColumns(scope availability.Scope) session.Row {
	return session.Row{{Name: "service_id", Value: scope.Service}, {Name: "agent_id", Value: scope.Agent}, {Name: "location_id", Value: scope.Location}}
}

// utc is the instant of a time of day as OsOffPeriodModel::set_utc_datetimes stores it: nothing if the hours begin at midnight.
func utc(s *session.Session, off TimeOff, minutes availability.Minutes) any {
	if off.Hours.Start == 0 {
		return nil
	}
	clock := s.Zone.Clock()
	midnight := availability.MomentOf(clock.Instant(availability.Moment{Day: off.From})) // later where the clock skips it; PHP counts from there
	return domain.Stamp(clock.Instant(availability.Moment{Day: midnight.Day, Minutes: midnight.Minutes + minutes}))
}

// journalTimes enters in the journal whose times changed: those of the agent, location or service that the scope names or, if that is
// nobody, those of all locations.
func journalTimes(ctx context.Context, tx *session.Tx, scope availability.Scope) error {
	switch {
	case scope.Agent != 0:
		tx.Changes.Update(wpdb.Agents, scope.Agent, nil, nil)
	case scope.Location != 0:
		tx.Changes.Update(wpdb.Locations, scope.Location, nil, nil)
	case scope.Service != 0:
		tx.Changes.Update(wpdb.Services, scope.Service, nil, nil)
	default:
		locations, err := wpdb.All(ctx, tx.DB, "find locations", sq.Select("id").From(tx.DB.Name(wpdb.Locations)).OrderBy("id"), wpdb.Value[int64])
		for _, id := range locations {
			tx.Changes.Update(wpdb.Locations, id, nil, nil)
		}
		return err
	}
	return nil
}

// DeleteTimeOff ends time off, or returns a CodeNotFound.
func DeleteTimeOff(ctx context.Context, tx *session.Tx, id int64) error {
	off, err := LoadTimeOff(ctx, tx.Session, id)
	if err != nil {
		return err
	}
	if _, err := lockConnections(ctx, tx, off.Scope); err != nil {
		return err
	}
	if off, err = LoadTimeOff(ctx, tx.Session, id); err != nil { // as the last holder of the locks left it
		return err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	if ofDays(id) {
		err = deleteDays(ctx, tx, off)
	} else {
		err = tx.Delete(ctx, wpdb.BlockedPeriods, id/kinds)
	}
	if err != nil {
		return err
	}
	return journalTimes(ctx, tx, off.Scope)
}

// deleteDays deletes the rows of whole days (OsWorkPeriodsHelper::remove_periods_for_chain_id, remove_periods_for_date).
func deleteDays(ctx context.Context, tx *session.Tx, off TimeOff) error {
	first := sq.Select(chain(tx.Session)).From(tx.DB.Name(wpdb.WorkPeriods)).Where(sq.Eq{"id": off.ID / kinds})
	of, _, err := wpdb.One(ctx, tx.DB, "find days of time off", first, wpdb.Value[string])
	if err != nil {
		return err
	}
	which := sq.Eq{chain(tx.Session): of, "start_time": 0, "end_time": 0, "agent_id": off.Agent, "service_id": off.Service, "location_id": off.Location}
	if of == "" {
		which["custom_date"] = off.From.String()
	}
	return tx.DeleteWhere(ctx, wpdb.WorkPeriods, which)
}
