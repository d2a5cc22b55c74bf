package outbox

import (
	"context"
	"maps"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// The states of a mail in the outbox. The column due_at is the time of the next
// attempt while the mail is waiting, and the time of its deletion afterwards.
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

// Count returns the number of mails in each state, including 0. It uses the index on
// status.
func Count(ctx context.Context, db *wpdb.DB) (map[string]int, error) {
	stmt := sq.Select("status", "COUNT(*)").From(db.Name(wpdb.Outbox)).GroupBy("status")
	counts, err := wpdb.Map[string, int](ctx, db, "count mails", stmt)
	all := map[string]int{waiting: 0, sent: 0, failed: 0}
	maps.Copy(all, counts)
	return all, err
}

// Finished selects the ids of sent and failed mails whose retention has expired. It uses
// the index on status and due_at.
func Finished(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": []string{sent, failed}}).Where(sq.LtOrEq{"due_at": domain.Stamp(now)}).OrderBy("due_at", "id")
}

// Abandoned selects the ids of mails that are still waiting long after they expired,
// because no process sends mails any more, for example after mail.enabled was switched
// off. It uses the index on status and due_at; no attempt is due later than the expiry.
func Abandoned(db *wpdb.DB, now time.Time) sq.SelectBuilder {
	return sq.Select("id").From(db.Name(wpdb.Outbox)).
		Where(sq.Eq{"status": waiting}).Where(sq.LtOrEq{"due_at": domain.Stamp(now.Add(-expiry - retention))}).OrderBy("due_at", "id")
}
