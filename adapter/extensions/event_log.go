package extensions

import (
	"context"
	"slices"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// StoredEvent is an event as shown in the log.
type StoredEvent struct {
	ID                    int64
	Name                  string // for example booking_created
	RecordID              int64
	State                 string // one of States
	Tries                 int
	Failure               string           // errors of extensions; "" for none
	CreatedAt, FinishedAt domain.Timestamp // FinishedAt is "" before it ended
}

// EventStates are the states of events.
var EventStates = []string{eventWaiting, eventStarted, EventFailed, eventDone}

// Repeatable reports whether the event can be sent again. A payment cannot be sent as an update, and
// extensions that already received it must not get another one; a deletion follows at once.
func (s StoredEvent) Repeatable() bool {
	return s.State == EventFailed && (s.Tries == 0 || !slices.Contains(toldOnce, s.Name))
}

// toldOnce are the events that are not sent again once they have been begun.
var toldOnce = []string{"transaction_created", BookingWillBeDeleted}

// ListEvents returns events in a state, or in any if it is "", the newest first.
func ListEvents(ctx context.Context, db *wpdb.DB, state string, limit uint64) ([]StoredEvent, error) {
	stmt := stored(db).OrderBy("id DESC").Limit(limit)
	if state != "" {
		stmt = stmt.Where(sq.Eq{"status": state})
	}
	return wpdb.All(ctx, db, "list events", stmt, scanStored)
}

// TroubledEvents returns at most limit events that failed since an instant, or are not yet done although they were due by
// another one, the newest first. It uses the index on status and due_at.
func TroubledEvents(ctx context.Context, db *wpdb.DB, failedSince, dueBy time.Time, limit uint64) ([]StoredEvent, error) {
	stmt := stored(db).Where(sq.Or{
		sq.And{sq.Eq{"status": EventFailed}, sq.GtOrEq{"due_at": domain.Stamp(failedSince)}},
		sq.And{sq.Eq{"status": []string{eventWaiting, eventStarted}}, sq.LtOrEq{"due_at": domain.Stamp(dueBy)}},
	}).OrderBy("id DESC").Limit(limit)
	return wpdb.All(ctx, db, "find failed and late events", stmt, scanStored)
}

func stored(db *wpdb.DB) sq.SelectBuilder {
	return sq.Select("id", "event", "record_id", "status", "tries", "failure", "created_at", "finished_at").From(db.Name(wpdb.Events))
}

var scanStored = wpdb.Into(func(s *StoredEvent) []any {
	return []any{&s.ID, &s.Name, &s.RecordID, &s.State, &s.Tries, &s.Failure, (*string)(&s.CreatedAt), wpdb.OrZero((*string)(&s.FinishedAt))}
})

// RepeatEvent sends a failed event again: a creation as an update if the companion had begun, because some
// extensions may already know it. found is false if there is no such event, or it is not Repeatable.
func RepeatEvent(ctx context.Context, db *wpdb.DB, now time.Time, id int64) (found bool, err error) {
	stmt := sq.Update(db.Name(wpdb.Events)).Set("status", eventWaiting).Set("tries", sq.Expr("LEAST(tries, 1)")).Set("due_at", domain.Stamp(now)).
		Set("failure", "").Set("finished_at", nil).Where(sq.Eq{"id": id, "status": EventFailed}).
		Where(sq.Or{sq.Eq{"tries": 0}, sq.NotEq{"event": toldOnce}})
	result, err := wpdb.Exec(ctx, db, "fire an event again", stmt)
	return result.Rows == 1, err
}
