package bookings

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// defaultStatus returns the status of a new booking that was sent without one: approved, or, if the owner
// wants the site's own, that of the service, else that of the site, as the plugin computes it.
func defaultStatus(ctx context.Context, s *session.Session, w session.WriteSettings, service int64) (string, error) {
	if !s.Platform.Config.DefaultStatusOfSite {
		return records.StatusApproved, nil
	}
	stmt := sq.Select(s.Schema.Expr(wpdb.Services, "s", "override_default_booking_status")).From(s.DB.Name(wpdb.Services) + " s").Where(sq.Eq{"s.id": service})
	own, _, err := wpdb.One(ctx, s.DB, "default status of a service", stmt, wpdb.Value[*string])
	if err != nil {
		return "", err
	}
	known := records.BookingStatusesOf(w.Settings)
	for _, status := range []string{domain.ValueOr(own, ""), w.Settings[session.SettingDefaultStatus]} {
		if slices.Contains(known, status) {
			return status, nil
		}
	}
	return records.StatusApproved, nil
}
