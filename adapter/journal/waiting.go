package journal

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Late is how long no change waits for its number while a server numbers them.
const Late = time.Minute

// Waiting returns how long the oldest change that has no number yet has been waiting for it; 0
// if none waits. Uses the primary key.
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

// oldestPending returns the time of the oldest change that has no number yet, without a lock.
func oldestPending(ctx context.Context, db *wpdb.DB) (at string, found bool, err error) {
	stmt := sq.Select("at").From(db.Name(wpdb.ChangeInbox)).OrderBy("id").Limit(1)
	return wpdb.One(ctx, db, "look for changes without a number", stmt, wpdb.Value[string])
}
