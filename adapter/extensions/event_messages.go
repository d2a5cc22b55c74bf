package extensions

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// What the plugin sends about an event.
const (
	AllMessages = "all"
	Reminders   = "reminders"
)

// EventPatience is how long messages wait for the plugin to begin with them.
const EventPatience = 10 * time.Second

// fromServer is the sender of messages that the plugin has not begun with in time.
const fromServer = "server"

// OverdueEvents returns the ids of events whose messages the plugin has not begun to send in time, the oldest first. It uses the
// index on status and due_at.
func OverdueEvents(ctx context.Context, db *wpdb.DB, now time.Time) ([]int64, error) {
	stmt := sq.Select("id").From(db.Name(wpdb.Events)).Where(unsent()).Where(sq.LtOrEq{"rendered_due": domain.Stamp(now)}).OrderBy("id").Limit(100)
	return wpdb.All(ctx, db, "find messages that were not sent", stmt, wpdb.Value[int64])
}

// TakeOverEvent takes the messages of an event over from the plugin, as part of the transaction tx. taken is false if it has begun
// with them meanwhile, or another server has: the row decides.
func TakeOverEvent(ctx context.Context, tx *wpdb.DB, id int64) (e Event, taken bool, err error) {
	stmt := sq.Select("event", "record_id", "COALESCE(rendered, '')").From(tx.Name(wpdb.Events)).Where(sq.Eq{"id": id}).Where(unsent()).Suffix("FOR UPDATE")
	e, found, err := wpdb.One(ctx, tx, "read messages that were not sent", stmt, wpdb.Into(func(e *Event) []any {
		return []any{&e.Name, &e.RecordID, &e.Rendered}
	}))
	if err != nil || !found {
		return e, false, err
	}
	result, err := wpdb.Exec(ctx, tx, "take messages over", sq.Update(tx.Name(wpdb.Events)).Set("sender", fromServer).Set("rendered", nil).Where(sq.Eq{"id": id}).Where(unsent()))
	return e, result.Rows == 1, err
}

func unsent() sq.Eq {
	return sq.Eq{"status": []string{eventWaiting, eventStarted}, "messages": []string{AllMessages, Reminders}, "sender": ""}
}
