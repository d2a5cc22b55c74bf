package bookings

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Settings of Pro Features about no-shows, and their defaults.
const (
	defaultNoShows     = 3
	actionRequirePaid  = "require_payment"
	actionBlockBooking = "block"
)

// customerLimits are the limits that the site's form sets to customers who book themselves.
type customerLimits struct {
	future        float64 // how many bookings from now on they may have; 0 for no limit
	noShows       int     // customers with as many are restricted
	noShowsAction string  // how; "" for not at all
}

// limitsOf reads the limits: OsStepsHelper's of LatePoint 5.6.5, and OsFeatureNoShowRestrictionsHelper's of Pro Features 1.6.
func limitsOf(s *session.Session, w session.WriteSettings) (l customerLimits) {
	if n, err := strconv.ParseFloat(strings.TrimSpace(w.Settings[session.SettingFutureBookings]), 64); err == nil {
		l.future = n // PHP compares with whatever number it is
	}
	if w.Settings[session.SettingNoShows] != session.On || !s.Extension(extensions.ProFeatures, w.Settings) {
		return l
	}
	l.noShows, l.noShowsAction = defaultNoShows, actionBlockBooking
	if threshold, set := w.Settings[session.SettingNoShowThreshold]; set {
		l.noShows = session.LeadingInt(threshold)
	}
	if action, set := w.Settings[session.SettingNoShowAction]; set {
		l.noShowsAction = action
	}
	return l
}

// warnOfLimits warns if the site's form would refuse the booking because of its customer. This is the place to refuse it to a
// key that acts for customers: there is none yet, and who books for a customer decides. Nothing is read unless the site has
// limits, and nothing is said to a caller who may not read bookings, or to a limited one, which would learn of others' bookings.
func warnOfLimits(ctx context.Context, tx *session.Tx, w session.WriteSettings, customer int64) error {
	limits := limitsOf(tx.Session, w)
	none := limits.future == 0 && limits.noShowsAction == ""
	mayKnow := tx.RequirePermission("read_bookings") == nil && !records.Limited(tx.Session)
	if none || !mayKnow {
		return nil
	}
	future := sq.Select("COUNT(*)").From(tx.DB.As(wpdb.Bookings, "b")).
		Where(sq.Eq{"b.customer_id": customer}).Where(sq.NotEq{"b.status": records.StatusCancelled}).Where(records.StartsAfterNow(tx.Session))
	stmt := sq.Select().Column(sq.ConcatExpr("(", future, ")")).Column(session.LoadMeta(tx.Session, wpdb.CustomerMeta, "c.id", metaNoShowCount)).
		From(tx.DB.As(wpdb.Customers, "c")).Where(sq.Eq{"c.id": customer})
	type counts struct {
		future  float64
		noShows string
	}
	found, _, err := wpdb.One(ctx, tx.DB, "count bookings of customer", stmt, wpdb.Into(func(c *counts) []any {
		return []any{&c.future, wpdb.OrZero(&c.noShows)}
	}))
	if err != nil {
		return err
	}
	if limits.future != 0 && found.future >= limits.future {
		tx.Warn(fmt.Sprintf("Customer %d has as many future bookings as the site's form lets a customer have", customer))
	}
	if limits.noShowsAction == "" || session.LeadingInt(found.noShows) < limits.noShows {
		return nil
	}
	switch limits.noShowsAction {
	case actionBlockBooking:
		tx.Warn(fmt.Sprintf("Customer %d has too many no-shows: the site's form would refuse the booking", customer))
	case actionRequirePaid:
		tx.Warn(fmt.Sprintf("Customer %d has too many no-shows: on the site's form they would have to pay at once", customer))
	}
	return nil
}
