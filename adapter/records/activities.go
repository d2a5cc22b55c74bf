package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Activity is an entry of the site's activity log.
type Activity struct {
	Code        string // such as booking_created
	Description string // JSON or a sentence; "" for none
	By          string // admin, custom, agent or customer; "" if nobody was logged in
	ByID        int64  // of the WordPress user, the agent or the customer
	CreatedAt   domain.Timestamp
}

// LoadActivities reads a booking's entries of the activity log, the newest first. It uses the index
// bookside_booking_id, or reads all entries. Those of order intents have the id of an order in place of a booking's.
func LoadActivities(ctx context.Context, s *session.Session, booking int64, limit uint64) ([]Activity, error) {
	stmt := sq.Select("code", "description", "initiated_by", "initiated_by_id", "created_at").From(s.DB.Name(wpdb.Activities)).
		Where(sq.Eq{"booking_id": booking}).Where(sq.NotLike{"code": "order_intent%"}).OrderBy("id DESC").Limit(limit)
	return wpdb.All(ctx, s.DB, "read activities of a booking", stmt, func(row wpdb.Scanner) (a Activity, err error) {
		return a, row.Scan(&a.Code, wpdb.OrZero(&a.Description), wpdb.OrZero(&a.By), wpdb.OrZero(&a.ByID), wpdb.OrZero((*string)(&a.CreatedAt)))
	})
}
