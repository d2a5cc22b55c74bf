package outbox

import (
	"context"
	"maps"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// The states of a mail in the outbox. Its due_at is when it is to be tried while
// it waits, and when it is to be deleted after that.
const (
	waiting = "waiting"
	sent    = "sent"
	failed  = "failed"
)

// Add puts mails into the outbox, one for each recipient, as part of the transaction tx.
// Nudge the Relay after the commit.
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
	_, err := wpdb.Exec(ctx, tx, "queue mail", stmt)
	return err
}

// Count counts the mails in the outbox by state. All states are there, also those of no
// mail. Uses the index on status.
func Count(ctx context.Context, db *wpdb.DB) (map[string]int, error) {
	stmt := sq.Select("status", "COUNT(*)").From(db.Name(wpdb.Outbox)).GroupBy("status")
	counts, err := wpdb.Map[string, int](ctx, db, "count mails", stmt)
	all := map[string]int{waiting: 0, sent: 0, failed: 0}
	maps.Copy(all, counts)
	return all, err
}

// Finished selects the ids of mails that were sent or given up, and kept long enough.
// Uses the index on status and due_at, which says when they are to be deleted.
func Finished(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": []string{sent, failed}}).Where(sq.LtOrEq{"due_at": domain.Stamp(now)}).OrderBy("due_at", "id")
}

// Abandoned selects the ids of mails that wait although nobody sends mails any more, as
// after mail.enabled was switched off. Uses the index on status and due_at: a mail is due
// no later than it is too late for it.
func Abandoned(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": waiting}).Where(sq.LtOrEq{"due_at": domain.Stamp(now.Add(-tooLate - retention))}).OrderBy("due_at", "id")
}
