package catalog

import (
	"context"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// TimeOff is a time without bookings. Hours is nil for whole days; hours are on one day.
type TimeOff struct {
	ID int64 // see kinds
	availability.Scope
	From, To availability.Day
	Hours    *availability.Hours
	Note     string // LatePoint keeps one with hours only
}

// The kinds of time off are in two tables, whose ids interleave: the id of whole days is twice that of the first of their rows
// of work_periods; the id of hours is twice that of their row of blocked_periods, and one more.
const kinds = 2

func ofDays(id int64) bool { return id%kinds == 0 }

// TimeOffFilter filters the list. A nil field does not filter.
type TimeOffFilter struct {
	session.Paging
	AgentID, ServiceID, LocationID *int64 // that it names
	From, To                       *availability.Day
}

// order is by first day, then id.
var order = records.SortOrder{Columns: []string{"t.first", "t.id"}}

// ListTimeOff returns one page of the time off that matches the filter, by first day.
func ListTimeOff(ctx context.Context, s *session.Session, f TimeOffFilter) (records.Page[TimeOff], error) {
	all, err := everything(ctx, s)
	if err != nil {
		return records.Page[TimeOff]{}, err
	}
	q := records.FilterEqual(all, "t.agent_id", f.AgentID)
	q = records.FilterEqual(q, "t.service_id", f.ServiceID)
	q = records.FilterEqual(q, "t.location_id", f.LocationID)
	if f.From != nil {
		q = q.Where(sq.GtOrEq{"t.last": f.From.String()})
	}
	if f.To != nil {
		q = q.Where(sq.LtOrEq{"t.first": f.To.String()})
	}
	return records.ReadSmallPage(ctx, s, records.List{Op: "list time off", Filter: q}, f.Paging, q.Columns(columns...), order, scan)
}

// LoadTimeOff returns one, or a CodeNotFound.
func LoadTimeOff(ctx context.Context, s *session.Session, id int64) (TimeOff, error) {
	all, err := everything(ctx, s)
	if err != nil {
		return TimeOff{}, err
	}
	found, err := wpdb.All(ctx, s.DB, "read time off", all.Columns(columns...).Where(sq.Eq{"t.id": id}), scan)
	return records.Only(found, err, domain.TimeOffResource, id)
}

// columns are what scan reads.
var columns = []string{"t.id", "t.agent_id", "t.service_id", "t.location_id", "t.first", "t.last", "t.start_time", "t.end_time", "t.summary"}

func scan(row wpdb.Scanner) (t TimeOff, err error) {
	var first, to string
	var start, end *int
	err = row.Scan(&t.ID, &t.Agent, &t.Service, &t.Location, &first, &to, &start, &end, wpdb.OrZero(&t.Note))
	for text, day := range map[*string]*availability.Day{&first: &t.From, &to: &t.To} {
		date, _, _ := strings.Cut(*text, " ") // the demo's engine appends a time
		*day, _ = availability.ParseDay(date)
	}
	if start != nil && end != nil {
		t.Hours = &availability.Hours{Start: session.Minutes(*start), End: session.Minutes(*end)}
	}
	return t, err
}

// everything selects from all time off, t, that the caller may know. A limited key knows that of its agents, services and
// locations.
func everything(ctx context.Context, s *session.Session) (sq.SelectBuilder, error) {
	all := days(s)
	hasHours, err := keepsHours(ctx, s)
	if err != nil {
		return all, err
	}
	if hasHours {
		all = records.UnionAll(all, hours(s))
	}
	return sq.Select().FromSelect(all, "t"), nil
}

// keepsHours reports whether the site has hours off: without the add-on, LatePoint does not look at them.
func keepsHours(ctx context.Context, s *session.Session) (bool, error) {
	if !s.Schema.Has(wpdb.BlockedPeriods) {
		return false, nil
	}
	return session.FindExtension(ctx, s, extensions.ProFeatures)
}

// chain is the id of the range with which a custom day was entered, or an empty text.
func chain(s *session.Session) string {
	if _, chained := s.Schema.Column(wpdb.WorkPeriods, "chain_id"); chained {
		return "COALESCE(chain_id, '')"
	}
	return "''"
}

// days selects the whole days: custom days without hours. Those of a range are one, and so are several for the same day, as the
// plugin shows them (OsWorkPeriodsHelper::generate_off_days).
func days(s *session.Session) sq.SelectBuilder {
	rows := sq.Select("id", "agent_id", "service_id", "location_id", "custom_date", "COALESCE(NULLIF("+chain(s)+", ''), CAST(custom_date AS CHAR)) AS chain").From(s.DB.Name(wpdb.WorkPeriods)).
		Where(sq.NotEq{"custom_date": nil}).Where(sq.Eq{"start_time": 0, "end_time": 0}).Where(within(s))
	return sq.Select("MIN(id) * 2 AS id", "agent_id", "service_id", "location_id", "MIN(custom_date) AS first", "MAX(custom_date) AS last",
		"NULL AS start_time", "NULL AS end_time", "NULL AS summary").FromSelect(rows, "d").GroupBy("agent_id", "service_id", "location_id", "chain")
}

// hours selects the hours: off periods, which count on their first day.
func hours(s *session.Session) sq.SelectBuilder {
	return sq.Select("id * 2 + 1", "agent_id", "service_id", "location_id", "start_date", "start_date", "start_time", "end_time", "summary").
		From(s.DB.Name(wpdb.BlockedPeriods)).Where("start_date IS NOT NULL AND start_time < end_time").
		Where(sq.NotEq{"agent_id": nil}).Where(sq.NotEq{"service_id": nil}).Where(sq.NotEq{"location_id": nil}).Where(within(s))
}

// within is the condition that a row names only what the caller's key is limited to.
func within(s *session.Session) sq.And {
	condition := sq.And{}
	scope := s.Scope()
	for column, ids := range map[string][]int64{"agent_id": scope.Agents, "service_id": scope.Services, "location_id": scope.Locations} {
		if len(ids) > 0 {
			condition = append(condition, sq.Eq{column: ids})
		}
	}
	return condition
}
