package extensions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Event is something that happened to a record.
type Event struct {
	Name     string // the plugin's action without its prefix, such as booking_created
	RecordID int64
	// Old is the previous row of an updated record, as the texts that PHP reads; nil for other events.
	Old map[string]*string

	// Messages is what the plugin sends about the event, AllMessages or Reminders; "" for nothing.
	Messages string
	// Rendered is what this server sends instead if the plugin has not begun by RenderedDue.
	Rendered    string
	RenderedDue time.Time
}

// The states of an event. The companion changes them: it starts a waiting event, and ends it.
const (
	eventWaiting = domain.Waiting
	eventStarted = "started" // its actions are being fired, or the PHP process died while firing them
	eventDone    = "done"
	EventFailed  = domain.Failed // an extension threw an error, or nobody fired its actions
)

const (
	retention    = 30 * 24 * time.Hour // of events that ended
	expiry       = 48 * time.Hour      // after that, events of a site without a companion are given up
	pollInterval = 30 * time.Second    // to find events of other servers
	maxPause     = 5 * time.Minute     // between two tries while the companion is away
	grace        = 10 * time.Second    // for a request in progress when the server stops
)

// StoreEvents queues events, as part of the transaction tx. Wake the Relay after the commit.
func StoreEvents(ctx context.Context, tx *wpdb.DB, now time.Time, all []Event) error {
	if len(all) == 0 {
		return nil
	}
	created := domain.Stamp(now)
	stmt := sq.Insert(tx.Name(wpdb.Events)).Columns("event", "record_id", "old", "messages", "rendered", "rendered_due", "status", "tries", "due_at", "failure", "created_at")
	for _, e := range all {
		var old any
		if e.Old != nil {
			text, err := json.Marshal(e.Old)
			if err != nil {
				return fmt.Errorf("queue events: %w", err)
			}
			old = string(text)
		}
		var rendered, due any
		if e.Messages != "" {
			rendered, due = e.Rendered, domain.Stamp(e.RenderedDue)
		}
		stmt = stmt.Values(e.Name, e.RecordID, old, e.Messages, rendered, due, eventWaiting, 0, created, "", created)
	}
	_, err := wpdb.Later(ctx, tx, "queue events", stmt)
	return err
}

// FinishedEvents selects the ids of events that ended long ago. It uses the index on status and due_at.
func FinishedEvents(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Events)).
		Where(sq.Eq{"status": []string{eventDone, EventFailed}}).Where(sq.LtOrEq{"due_at": domain.Stamp(now.Add(-retention))}).OrderBy("due_at", "id")
}

// Relay makes the companion fire the actions of events. Any number of servers may run one on the same
// database: the companion ensures that one PHP process at a time does so, in the order of the events.
type Relay struct {
	db        *wpdb.DB
	now       domain.Clock
	companion *Companion
	log       *slog.Logger
	pause     time.Duration // until the next try, while the companion is away
	next      time.Time
	deleting  sync.Map // a channel by id of a booking, closed when Alone is over
	domain.Waker
	Late domain.Waker // wakes those who send what the plugin has not
}

// NewRelay returns a Relay for the events in a database.
func NewRelay(db *wpdb.DB, now domain.Clock, to *Companion, log *slog.Logger) *Relay {
	return &Relay{db: db, now: now, companion: to, log: log, Waker: domain.NewWaker(), Late: domain.NewWaker()}
}

// Wake makes Run look for events at once, and wakes Late when the plugin's time for their messages is over.
func (r *Relay) Wake() {
	r.Waker.Wake()
	time.AfterFunc(EventPatience, r.Late.Wake)
}

// Run fires the actions of events until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	domain.Repeat(ctx, pollInterval, r.Waker, func() {
		if err := r.round(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "extensions of the site are not told about changes yet", "error", err)
		}
	})
}

// Alone waits until nobody else in this process deletes a booking, so that extensions are told once about requests that
// arrive together. Call release when it is deleted, or stays.
func (r *Relay) Alone(ctx context.Context, id int64) (release func(), err error) {
	over := make(chan struct{})
	for {
		other, taken := r.deleting.LoadOrStore(id, over)
		if !taken {
			return func() { r.deleting.Delete(id); close(over) }, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// BookingWillBeDeleted is the event that is not queued, because the booking must still exist.
const BookingWillBeDeleted = "booking_will_be_deleted"

// WillBeDeleted tells extensions that a booking will be deleted, so that they can delete what they created
// for it elsewhere. It returns a CodeUnavailable if the companion is away. told reports whether they may have been told; if
// the booking is not deleted then, call Stays.
func (r *Relay) WillBeDeleted(ctx context.Context, id int64) (told bool, err error) {
	var answer struct {
		Failed  int
		Failure string // "" from earlier versions of the companion
	}
	err = r.companion.Ask(ctx, BookingWillBeDeleted, []int64{id}, &answer)
	switch {
	case errors.Is(err, ErrAway):
		return errors.Is(err, ErrBroken), domain.Unavailable("Nothing is deleted: extensions of the site have to delete what belongs to the booking, and WordPress does not answer", err)
	case err != nil:
		return false, err
	case answer.Failed > 0:
		r.log.ErrorContext(ctx, "an extension of the site failed when it was told about a deletion", "booking_id", id)
		if err := r.logFailed(ctx, id, cmp.Or(answer.Failure, "An extension failed; the failures of the companion in wp-admin say why.")); err != nil {
			r.log.ErrorContext(ctx, "the failure is not in the log of extensions", "booking_id", id, "error", err)
		}
	}
	return true, nil
}

// logFailed lists a failed BookingWillBeDeleted among the events.
func (r *Relay) logFailed(ctx context.Context, id int64, failure string) error {
	now := domain.Stamp(r.now())
	stmt := sq.Insert(r.db.Name(wpdb.Events)).Columns("event", "record_id", "messages", "status", "tries", "due_at", "failure", "created_at", "finished_at").
		Values(BookingWillBeDeleted, id, "", EventFailed, 1, now, failure, now, now)
	_, err := wpdb.Exec(ctx, r.db, "log a failed event", stmt)
	return err
}

// bookingUpdated tells extensions about a booking that has changed; without a previous row, about the booking as it is.
const bookingUpdated = "booking_updated"

// Stays tells extensions about a booking as it is, after WillBeDeleted, so that they create again what they deleted. The
// companion does so once WordPress is no longer at work on that. If the booking is gone nevertheless, nobody is told.
func (r *Relay) Stays(ctx context.Context, id int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := StoreEvents(ctx, r.db, r.now(), []Event{{Name: bookingUpdated, RecordID: id}}); err != nil {
		r.log.ErrorContext(ctx, "extensions of the site have deleted what belongs to a booking that is still there", "booking_id", id, "error", err)
	}
	r.Wake()
}

// fired is the companion's answer.
type fired struct {
	Done, Failed int
	More         bool // more events wait
}

// round makes the companion fire the actions of all waiting events.
func (r *Relay) round(ctx context.Context) error {
	now := r.now()
	if now.Before(r.next) {
		r.Late.Wake()
		return nil
	}
	for more := true; more; {
		if waits, err := r.waits(ctx); err != nil || !waits {
			return err
		}
		r.Late.Wake() // what an earlier process or another server has left
		outlived, release := domain.Outlive(ctx, grace)
		var answer fired
		err := r.companion.Ask(outlived, "events", nil, &answer)
		release()
		if errors.Is(err, ErrAway) {
			r.pause = min(max(2*r.pause, time.Second), maxPause)
			r.next = now.Add(r.pause)
			if r.pause < pollInterval {
				time.AfterFunc(r.pause, r.Waker.Wake)
			}
			return errors.Join(err, r.giveUp(ctx))
		}
		if err != nil {
			return err
		}
		r.pause, more = 0, answer.More
		if answer.Failed > 0 {
			r.log.ErrorContext(ctx, "an extension of the site failed", "events", answer.Failed)
		}
	}
	return nil
}

// waits reports whether an event waits, or was started by a process that may have died. Uses the index on
// status and due_at.
func (r *Relay) waits(ctx context.Context) (bool, error) {
	stmt := sq.Select("1").From(r.db.Name(wpdb.Events)).Where(sq.Eq{"status": []string{eventWaiting, eventStarted}}).Limit(1)
	_, found, err := wpdb.One(ctx, r.db, "find events", stmt, wpdb.Value[int64])
	return found, err
}

// giveUp ends events that have waited too long.
func (r *Relay) giveUp(ctx context.Context) error {
	now := r.now()
	_, err := wpdb.Exec(ctx, r.db, "give up events", end(r.db, now, ErrAway.Error()).Where(sq.LtOrEq{"due_at": domain.Stamp(now.Add(-expiry))}))
	return err
}

// DropEvents gives up the waiting events, as part of the transaction tx, and returns their number: after a backup
// was restored, extensions may already have been told about them.
func DropEvents(ctx context.Context, tx *wpdb.DB, now time.Time) (int64, error) {
	result, err := wpdb.Exec(ctx, tx, "drop events", end(tx, now, "dropped after a backup was restored"))
	return result.Rows, err
}

// end returns the statement that gives up waiting events, with their messages.
func end(db *wpdb.DB, now time.Time, why string) sq.UpdateBuilder {
	o := domain.Outcome{State: EventFailed, Due: now, Failure: why}
	return o.Update(db.Name(wpdb.Events), now).Set("old", nil).Set("messages", "").Set("rendered", nil).Where(sq.Eq{"status": []string{eventWaiting, eventStarted}})
}
