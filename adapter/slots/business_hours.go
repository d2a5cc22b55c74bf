package slots

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

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
