package catalog

import (
	"context"
	"maps"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Week holds the weekly hours of what a scope names, or the general ones. Days are ISO weekdays, from 1 for Monday to 7: no
// hours on a day off. A day without own hours is missing; the general hours have all days.
type Week struct {
	availability.Scope
	Days map[int][]availability.Hours
}

// WeekPatch changes the hours of the weekdays in Days. Nil hours remove the day's own hours, so that others apply again.
type WeekPatch struct {
	Week
	DryRun bool
	domain.Validation
}

// LoadWeek returns weekly hours. It returns a CodeInvalidRequest if the agent, service or location does not exist.
func LoadWeek(ctx context.Context, s *session.Session, scope availability.Scope) (Week, error) {
	if err := s.Scope().Refuse(scope.Agent, scope.Service, scope.Location); err != nil {
		return Week{}, err
	}
	var problems domain.Validation
	if err := slots.CheckNamed(ctx, s, availability.Resource(scope), &problems); err != nil {
		return Week{}, err
	}
	if err := problems.Err(); err != nil {
		return Week{}, err
	}
	rows, err := weekRows(ctx, s, scope)
	return weekOf(scope, rows), err
}

// UpdateWeek changes weekly hours, to rows as LatePoint's form saves them (OsWorkPeriodsHelper::save_work_periods), and returns
// them. It excludes bookings at the same time. It returns a CodeInvalidRequest and a CodeValidationFailed, and a
// CodeOutsideScope if the caller's key is limited to something else. A dry run writes nothing.
func UpdateWeek(ctx context.Context, tx *session.Tx, patch WeekPatch) (Week, error) {
	scope := patch.Scope
	if !tx.Scope().Covers(scope.Agent, scope.Service, scope.Location) {
		return Week{}, domain.OutsideScope()
	}
	p := patch.Problems()
	if err := slots.CheckNamed(ctx, tx.Session, availability.Resource(scope), &p); err != nil {
		return Week{}, err
	}
	if p.Has("agent_id") || p.Has("service_id") || p.Has("location_id") {
		return Week{}, p.Err()
	}
	if _, err := lockConnections(ctx, tx, scope); err != nil {
		return Week{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return Week{}, err
	}
	for _, open := range patch.Days {
		if open == nil && scope == (availability.Scope{}) {
			p.Reject("hours", "The general hours cannot be removed: an empty list closes a day")
		}
	}
	if err := p.Err(); err != nil {
		return Week{}, err
	}
	stored, err := weekRows(ctx, tx.Session, scope)
	if err != nil {
		return Week{}, err
	}
	week := weekOf(scope, stored)
	week.Days = maps.Clone(week.Days)
	for weekday, open := range patch.Days {
		if week.Days[weekday] = open; open == nil {
			delete(week.Days, weekday)
		}
	}
	if tx.DryRun || len(patch.Days) == 0 { // without a change, the general days that are missing stay so
		return week, nil
	}
	return week, storeWeek(ctx, tx, stored, week)
}

// weekRow is a row of work_periods without a date.
type weekRow struct {
	id int64
	availability.WorkPeriod
}

// weekRows reads the own rows of a scope.
func weekRows(ctx context.Context, s *session.Session, scope availability.Scope) ([]weekRow, error) {
	stmt := sq.Select("id", "week_day", "start_time", "end_time").From(s.DB.Name(wpdb.WorkPeriods)).
		Where(sq.Eq{"agent_id": scope.Agent, "service_id": scope.Service, "location_id": scope.Location, "custom_date": nil}).OrderBy("week_day", "start_time", "end_time", "id")
	return wpdb.All(ctx, s.DB, "read weekly hours", stmt, wpdb.Into(func(w *weekRow) []any {
		w.Scope = scope
		return []any{&w.id, &w.Weekday, (*int)(&w.Start), (*int)(&w.End)}
	}))
}

// weekOf returns the week that rows make. The general one is complete, as LatePoint completes it before it reads it.
func weekOf(scope availability.Scope, stored []weekRow) Week {
	rows := make([]availability.WorkPeriod, len(stored))
	for i, row := range stored {
		rows[i] = row.WorkPeriod
	}
	if scope == (availability.Scope{}) {
		rows = availability.WithDefaultWeek(rows)
	}
	week := Week{scope, map[int][]availability.Hours{}}
	for weekday := 1; weekday <= 7; weekday++ {
		open, off := []availability.Hours{}, false
		for _, row := range rows {
			if row.Weekday != weekday {
				continue
			}
			off = off || row.DayOff()
			if row.Start < row.End {
				open = append(open, availability.Hours{Start: row.Start, End: row.End})
			}
			week.Days[weekday] = open
		}
		if off {
			week.Days[weekday] = open[:0]
		}
	}
	return week
}

// storeWeek replaces the rows of days whose hours differ, and adds the days that LatePoint would have added to the general
// hours.
func storeWeek(ctx context.Context, tx *session.Tx, stored []weekRow, week Week) error {
	before := weekOf(week.Scope, stored)
	var outdated []int64
	var added []session.Row
	for weekday := 1; weekday <= 7; weekday++ {
		open, own := week.Days[weekday]
		old, had := before.Days[weekday]
		wasOwn := slices.ContainsFunc(stored, func(row weekRow) bool { return row.Weekday == weekday })
		if wasOwn == own && had == own && slices.Equal(open, old) {
			continue
		}
		for _, row := range stored {
			if row.Weekday == weekday {
				outdated = append(outdated, row.id)
			}
		}
		if own && len(open) == 0 {
			open = []availability.Hours{{}} // a day off
		}
		for _, hours := range open {
			added = append(added, slices.Concat(scopeColumns(week.Scope), session.Row{
				{Name: "start_time", Value: int64(hours.Start)}, {Name: "end_time", Value: int64(hours.End)}, {Name: "week_day", Value: weekday},
			}, tx.NewTimestamps()))
		}
	}
	if len(outdated)+len(added) == 0 {
		return nil
	}
	if err := tx.Delete(ctx, wpdb.WorkPeriods, outdated...); err != nil {
		return err
	}
	if _, err := tx.Insert(ctx, wpdb.WorkPeriods, added...); err != nil {
		return err
	}
	return journalTimes(ctx, tx, week.Scope)
}
