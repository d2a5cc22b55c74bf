package journal

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Late is a time that no change waits for its number while a server is numbering.
const Late = time.Minute

// Waiting returns how long the oldest unnumbered change has been waiting, or 0 if none is. Uses the primary
// key.
func Waiting(ctx context.Context, db *wpdb.DB, now time.Time) (time.Duration, error) {
	at, found, err := oldestPending(ctx, db)
	if err != nil || !found {
		return 0, err
	}
	since, known := domain.Timestamp(at).Time()
	if !known {
		return 0, nil
	}
	return max(now.Sub(since), 0), nil
}

// oldestPending returns the time of the oldest unnumbered change, without a lock.
func oldestPending(ctx context.Context, db *wpdb.DB) (at string, found bool, err error) {
	stmt := sq.Select("at").From(db.Name(wpdb.ChangeInbox)).OrderBy("id").Limit(1)
	return wpdb.One(ctx, db, "look for changes without a number", stmt, wpdb.Value[string])
}
