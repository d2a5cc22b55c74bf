package slots

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// HoursQuery asks for the working hours of a range of days: those of an agent, a service, a location or a
// combination of them or, with 0 for all three, the site's general hours.
type HoursQuery struct {
	AgentID, ServiceID, LocationID int64
	From, To                       availability.Day
}

// BusinessHours returns the working hours of each day, whether or not anything is booked. It returns a
// CodeInvalidRequest if the agent, service or location does not exist.
func BusinessHours(ctx context.Context, s *session.Session, q HoursQuery) ([]availability.DayHours, error) {
	if err := s.Scope().Refuse(q.AgentID, q.ServiceID, q.LocationID); err != nil {
		return nil, err
	}
	var problems domain.Validation
	scope := resourceScope{}
	for _, named := range []struct {
		id             int64
		table          wpdb.Table
		ids            *[]int64
		field, message string
	}{
		{q.AgentID, wpdb.Agents, &scope.agents, "agent_id", "Agent not found"},
		{q.ServiceID, wpdb.Services, &scope.services, "service_id", "Service not found"},
		{q.LocationID, wpdb.Locations, &scope.locations, "location_id", "Location not found"},
	} {
		if named.id == 0 {
			continue
		}
		*named.ids = []int64{named.id}
		_, found, err := wpdb.One(ctx, s.DB, "look for whose hours to read", sq.Select("id").From(s.DB.Name(named.table)).Where(sq.Eq{"id": named.id}), wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		if !found {
			problems.Invalid(named.field, named.message)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	rows, err := wpdb.All(ctx, s.DB, "read working hours", workPeriods(s, scope, q.From, q.To), scanCalendarRow)
	if err != nil {
		return nil, err
	}
	periods := make([]availability.WorkPeriod, len(rows))
	for i, r := range rows {
		periods[i] = r.workPeriod()
	}
	return availability.WorkingHours(periods, availability.Resource{Agent: q.AgentID, Service: q.ServiceID, Location: q.LocationID}, q.From, q.To), nil
}
