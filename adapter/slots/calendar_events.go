package slots

import (
	"context"
	"errors"
	"fmt"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// eventCalendar is an add-on that stores the events of agents' calendars, and its rules on this site.
type eventCalendar struct {
	session.EventTables
	rules availability.CalendarRules
}

// activeCalendars returns the calendars whose events block. The switches of Google and Outlook control
// other things; only Apple's controls this.
func activeCalendars(s *session.Session, settings map[string]string) (active []eventCalendar) {
	google := availability.Google
	if session.EarlyGoogleCalendar(s) {
		google = availability.EarlyGoogle
	}
	for _, c := range []struct {
		extension string
		rules     availability.CalendarRules
	}{{extensions.GoogleCalendar, google}, {extensions.OutlookCalendar, availability.Outlook}, {extensions.AppleCalendar, availability.Apple}} {
		off := c.extension == extensions.AppleCalendar && settings[session.SettingAppleCalendar] != session.On
		if !off && s.Extension(c.extension, settings) {
			active = append(active, eventCalendar{session.CalendarTables[c.extension], c.rules})
		}
	}
	return active
}

// calendarEvents reads the events that may block agents on the days of a part, in one statement per
// calendar. It reads no texts of events.
func calendarEvents(ctx context.Context, s *session.Session, calendars []eventCalendar, part calendarPart) (events []availability.CalendarEvent, err error) {
	for _, c := range calendars {
		// An event hidden from the caller blocks too.
		found, err := wpdb.All(ctx, s.DB.Unfiltered(), "read events of calendars", eventRows(s, c, part), scanEvent)
		// The add-on may have created its tables since the schema was read, or never.
		if !c.In(s.Schema) && (errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrAccessDenied)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].CalendarRules = c.rules
		}
		events = append(events, found...)
	}
	return events, nil
}

// eventRows selects the events with their recurrences: those that begin on the days of a part, those that
// have not ended, and those that recur. With a single condition, the server would read all events, most of
// which are over, so the conditions are separate and use the indexes on start_date, end_date and id.
func eventRows(s *session.Session, c eventCalendar, part calendarPart) sq.SelectBuilder {
	from, to := part.from.String(), min(part.to, availability.LastDay).String()
	ids := sq.Select("e.id").From(s.DB.As(c.Events, "e")).Where(sq.Eq{"e.agent_id": part.scope.agents})
	before := ids.Where(sq.Lt{"e.start_date": from})
	goesOn := sq.Or{sq.Eq{"r.until": nil}, sq.Gt{"r.until": from}}
	found := records.UnionAll(
		ids.Where(sq.GtOrEq{"e.start_date": from}).Where(sq.LtOrEq{"e.start_date": to}),
		before.Where(sq.GtOrEq{"e.end_date": from}),
		before.Distinct().Join(s.DB.As(c.Recurrences, "r")+" ON r.lp_event_id = e.id").Where(goesOn).Where(sq.Or{sq.Lt{"e.end_date": from}, sq.Eq{"e.end_date": nil}}))
	return sq.Select("e.agent_id", "e.start_date", "e.start_time", "e.end_date", "e.end_time", "r.until", "r.`interval`", "r.`count`",
		inLowerCase("r.frequency"), inLowerCase("r.weekday")).
		FromSelect(found, "f").Join(s.DB.As(c.Events, "e") + " ON e.id = f.id").LeftJoin(s.DB.As(c.Recurrences, "r") + " ON r.lp_event_id = e.id").Where(goesOn)
}

// inLowerCase returns a word in lower case if the column's collation ignores case. The add-ons compare it
// with words in lower case.
func inLowerCase(column string) string {
	return fmt.Sprintf("CASE WHEN UPPER(%[1]s) = LOWER(%[1]s) THEN LOWER(%[1]s) ELSE %[1]s END", column)
}

func scanEvent(row wpdb.Scanner) (e availability.CalendarEvent, err error) {
	var start, last string
	var until *string
	err = row.Scan(&e.Agent, &start, (*int)(&e.Start.Minutes), wpdb.OrZero(&last), &e.End, &until, wpdb.OrZero(&e.Interval), &e.Count,
		wpdb.OrZero(&e.Frequency), wpdb.OrZero(&e.Weekday))
	if err != nil {
		return e, err
	}
	e.Start.Day, e.LastDay = storedDay(start), storedDay(last)
	if until != nil {
		e.Until = new(storedDay(*until))
	}
	return e, nil
}

// storedDay returns the day of a date; for NULL and invalid dates, one before all others.
func storedDay(date string) availability.Day {
	day, _ := availability.ParseDay(date)
	return day
}
