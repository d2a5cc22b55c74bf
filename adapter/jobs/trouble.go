package jobs

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// byPerson begins the reasons of webhooks that a person disabled, as opposed to those that ended because of
// a failure, their key or a restored backup.
const byPerson = "disabled "

// Trouble is a webhook that fails, or that was disabled but not by a person.
type Trouble struct {
	ID     int64
	Name   string
	Since  domain.Timestamp // of its first failure; "" if it is disabled
	Reason string           // why it is disabled; "" if it fails
}

// FindTrouble returns at most limit webhooks whose last delivery failed, and at most limit that were disabled but not by a
// person.
func FindTrouble(ctx context.Context, db *wpdb.DB, limit uint64) (failing, ended []Trouble, err error) {
	for _, kind := range []struct {
		found *[]Trouble
		which sq.And
	}{
		{&failing, sq.And{sq.Eq{"status": string(Enabled)}, sq.NotEq{"failing_since": nil}}},
		{&ended, sq.And{sq.Eq{"status": string(Disabled)}, sq.NotEq{"reason": ""}, sq.NotLike{"reason": byPerson + "%"}}},
	} {
		stmt := sq.Select("id", "name", "failing_since", "reason").From(db.Name(wpdb.Webhooks)).Where(kind.which).OrderBy("id").Limit(limit)
		*kind.found, err = wpdb.All(ctx, db, "find webhooks in trouble", stmt, wpdb.Into(func(t *Trouble) []any {
			return []any{&t.ID, &t.Name, wpdb.OrZero((*string)(&t.Since)), &t.Reason}
		}))
		if err != nil {
			return nil, nil, err
		}
	}
	return failing, ended, nil
}
