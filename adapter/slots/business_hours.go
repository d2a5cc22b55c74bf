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
	named := availability.Resource{Agent: q.AgentID, Service: q.ServiceID, Location: q.LocationID}
	var problems domain.Validation
	if err := CheckNamed(ctx, s, named, &problems); err != nil {
		return nil, err
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var scope resourceScope
	for id, ids := range map[*int64]*[]int64{&named.Agent: &scope.agents, &named.Service: &scope.services, &named.Location: &scope.locations} {
		if *id != 0 {
			*ids = []int64{*id}
		}
	}
	periods, err := readWorkPeriods(ctx, s, scope, q.From, q.To)
	if err != nil {
		return nil, err
	}
	return availability.WorkingHours(periods, named, q.From, q.To), nil
}

// readWorkPeriods reads the rows from which availability.WorkingHours finds the hours of the resources.
func readWorkPeriods(ctx context.Context, s *session.Session, scope resourceScope, from, to availability.Day) ([]availability.WorkPeriod, error) {
	return wpdb.All(ctx, s.DB, "read working hours", workPeriods(s, scope, from, to), func(row wpdb.Scanner) (availability.WorkPeriod, error) {
		r, err := scanCalendarRow(row)
		return r.workPeriod(), err
	})
}

// CheckNamed notes for each id, unless it is 0, that there is no such agent, service or location.
func CheckNamed(ctx context.Context, s *session.Session, named availability.Resource, p *domain.Validation) error {
	for _, n := range []struct {
		id             int64
		table          wpdb.Table
		field, message string
	}{
		{named.Agent, wpdb.Agents, "agent_id", "Agent not found"},
		{named.Service, wpdb.Services, "service_id", "Service not found"},
		{named.Location, wpdb.Locations, "location_id", "Location not found"},
	} {
		if n.id == 0 || p.Has(n.field) {
			continue
		}
		_, found, err := wpdb.One(ctx, s.DB, "look for what is named", sq.Select("id").From(s.DB.Name(n.table)).Where(sq.Eq{"id": n.id}), wpdb.Value[int64])
		if err != nil {
			return err
		}
		if !found {
			p.Invalid(n.field, n.message)
		}
	}
	return nil
}
