package outbox

import (
	"context"
	"maps"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/queue"
	"github.com/bookside/bookside/wpdb"
)

// The states of a mail in the outbox. The column due_at is the time of the next attempt while the mail
// waits, and the time of its deletion once it was sent or failed.
const (
	waiting = queue.Waiting
	held    = "held" // held since a backup was restored: it may have been sent before
	sent    = "sent"
	failed  = queue.Failed
)

// Add puts mails into the outbox, one for each recipient, as part of the transaction tx.
// Wake the Relay after the commit.
func Add(ctx context.Context, tx *wpdb.DB, now time.Time, mails []Mail) error {
	stmt := sq.Insert(tx.Name(wpdb.Outbox)).
		Columns("name", "address", "subject", "content", "calendar_name", "calendar", "status", "tries", "due_at", "failure", "created_at")
	created, empty := domain.Stamp(now), true
	for _, m := range mails {
		for _, to := range m.Recipients() {
			stmt = stmt.Values(to.Name, to.Address, oneLine(m.Subject), m.Content, oneLine(m.Calendar.Name), m.Calendar.Content, waiting, 0, created, "", created)
			empty = false
		}
	}
	if empty {
		return nil
	}
	_, err := wpdb.Later(ctx, tx, "queue mail", stmt)
	return err
}

// Count returns the number of mails in each state, including 0. Uses the index on status.
func Count(ctx context.Context, db *wpdb.DB) (map[string]int, error) {
	stmt := sq.Select("status", "COUNT(*)").From(db.Name(wpdb.Outbox)).GroupBy("status")
	counts, err := wpdb.Map[string, int](ctx, db, "count mails", stmt)
	all := map[string]int{waiting: 0, held: 0, sent: 0, failed: 0}
	maps.Copy(all, counts)
	return all, err
}

// Finished selects the ids of sent and failed mails whose retention has expired. Uses the index on status
// and due_at.
func Finished(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": []string{sent, failed}}).Where(sq.LtOrEq{"due_at": domain.Stamp(now)}).OrderBy("due_at", "id")
}

// Abandoned selects the ids of mails that are still waiting or held long after they expired, because no
// process sends mails any more, for example since mail.enabled was switched off, or because nobody has
// released or dropped them. Uses the index on status and due_at; no attempt is due later than the expiry.
func Abandoned(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": []string{waiting, held}}).Where(sq.LtOrEq{"due_at": domain.Stamp(now.Add(-expiry - retention))}).OrderBy("due_at", "id")
}

// StoredMail is a mail in the outbox without its content.
type StoredMail struct {
	ID                    int64
	Name, Address         string // of the recipient
	Subject               string
	State                 string // one of States
	Tries                 int
	Failure               string           // of the last attempt; "" for none
	CreatedAt, FinishedAt domain.Timestamp // FinishedAt is "" while it is waiting
	DueAt                 domain.Timestamp // of the next attempt, while it is waiting
}

// Waits reports whether the mail is still to be sent.
func (m StoredMail) Waits() bool { return m.State == waiting }

// States are the states of mails.
var States = []string{waiting, held, failed, sent}

// Hold keeps the waiting mails from being sent, as part of the transaction tx, and returns their number.
func Hold(ctx context.Context, tx *wpdb.DB) (int64, error) {
	stmt := sq.Update(tx.Name(wpdb.Outbox)).Set("status", held).Where(sq.Eq{"status": waiting})
	result, err := wpdb.Exec(ctx, tx, "hold mails", stmt)
	return result.Rows, err
}

// Release lets the held mails be sent, except those that are too old, which it gives up. It returns the
// number of each.
func Release(ctx context.Context, db *wpdb.DB, now time.Time) (released, old int64, err error) {
	err = db.Transact(ctx, "release mails", func(tx *wpdb.DB) error {
		young := sq.Update(tx.Name(wpdb.Outbox)).Set("status", waiting).Set("due_at", domain.Stamp(now)).
			Where(sq.Eq{"status": held}).Where(sq.GtOrEq{"created_at": domain.Stamp(now.Add(-expiry))})
		result, err := wpdb.Exec(ctx, tx, "release mails", young)
		if err != nil {
			return err
		}
		released = result.Rows
		old, err = giveUp(ctx, tx, now, "too old when it was released after a backup was restored")
		return err
	})
	return released, old, err
}

// Drop gives up the held mails, and returns their number.
func Drop(ctx context.Context, db *wpdb.DB, now time.Time) (dropped int64, err error) {
	err = db.Transact(ctx, "drop mails", func(tx *wpdb.DB) (err error) {
		dropped, err = giveUp(ctx, tx, now, "dropped after a backup was restored")
		return err
	})
	return dropped, err
}

func giveUp(ctx context.Context, tx *wpdb.DB, now time.Time, why string) (int64, error) {
	o := queue.Outcome{State: failed, Due: now.Add(retention), Failure: why}
	result, err := wpdb.Exec(ctx, tx, "give up held mails", o.Update(tx.Name(wpdb.Outbox), now).Where(sq.Eq{"status": held}))
	return result.Rows, err
}

// List returns mails in a state, or in any if it is "", newest first.
func List(ctx context.Context, db *wpdb.DB, state string, limit uint64) ([]StoredMail, error) {
	stmt := sq.Select("id", "name", "address", "subject", "status", "tries", "failure", "created_at", "finished_at", "due_at").
		From(db.Name(wpdb.Outbox)).OrderBy("id DESC").Limit(limit)
	if state != "" {
		stmt = stmt.Where(sq.Eq{"status": state})
	}
	return wpdb.All(ctx, db, "list mails", stmt, func(row wpdb.Scanner) (m StoredMail, err error) {
		return m, row.Scan(&m.ID, &m.Name, &m.Address, &m.Subject, &m.State, &m.Tries, &m.Failure, (*string)(&m.CreatedAt),
			wpdb.OrZero((*string)(&m.FinishedAt)), (*string)(&m.DueAt))
	})
}

// Stuck are the ids of mails that need attention, newest first.
type Stuck struct {
	Late   []int64 // waiting since before an instant
	Failed []int64 // failed after another instant
	Held   []int64
}

// FindStuck returns at most limit mails of each kind. Uses the index on status and due_at.
func FindStuck(ctx context.Context, db *wpdb.DB, waitingSince, failedSince time.Time, limit uint64) (s Stuck, err error) {
	for _, kind := range []struct {
		ids   *[]int64
		which sq.And
	}{
		{&s.Late, sq.And{sq.Eq{"status": waiting}, sq.LtOrEq{"created_at": domain.Stamp(waitingSince)}}},
		{&s.Failed, sq.And{sq.Eq{"status": failed}, sq.GtOrEq{"finished_at": domain.Stamp(failedSince)}}},
		{&s.Held, sq.And{sq.Eq{"status": held}}},
	} {
		stmt := sq.Select("id").From(db.Name(wpdb.Outbox)).Where(kind.which).OrderBy("id DESC").Limit(limit)
		if *kind.ids, err = wpdb.All(ctx, db, "find stuck mails", stmt, wpdb.Value[int64]); err != nil {
			return s, err
		}
	}
	return s, nil
}
