package upkeep

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/events"
	"bookside/adapter/journal"
	"bookside/adapter/outbox"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// Restored is what was done after a backup was restored.
type Restored struct {
	Mails    int64   // that waited, and are held
	Events   int64   // for extensions of the site that waited, and were dropped
	Webhooks []int64 // that were enabled, and are disabled
	Holds    int64   // that were dropped
	Sessions int64   // of the console, and login tokens, that were ended
}

// CleanUpRestored tells our own tables, in one transaction, that a backup was restored: cursors of clients
// expire, because numbers of changes will be given again. Nothing of before is sent until somebody
// says so, because it may have been sent already. Holds and logins of the past end.
func CleanUpRestored(ctx context.Context, p *session.Platform) (r Restored, err error) {
	err = p.DB.Transact(ctx, "note that a backup was restored", func(tx *wpdb.DB) (err error) {
		r = Restored{}
		if err := journal.Restored(ctx, tx); err != nil {
			return err
		}
		if r.Mails, err = outbox.Hold(ctx, tx); err != nil {
			return err
		}
		if r.Events, err = events.Drop(ctx, tx, p.Now()); err != nil {
			return err
		}
		if r.Webhooks, err = p.Webhooks.In(tx).DisableAll(ctx, "a backup was restored"); err != nil {
			return err
		}
		if r.Holds, err = deleteAll(ctx, tx, wpdb.Holds); err != nil {
			return err
		}
		r.Sessions, err = deleteAll(ctx, tx, wpdb.AdminTokens)
		return err
	})
	return r, err
}

// deleteAll deletes the rows of a table in which all rows expire.
func deleteAll(ctx context.Context, tx *wpdb.DB, table wpdb.Table) (int64, error) {
	result, err := wpdb.Exec(ctx, tx, "delete rows of before", sq.Delete(tx.Name(table)).Where(sq.NotEq{"expires_at": nil}))
	return result.Rows, err
}

// SendHeldMails lets the mails be sent that were held since a backup was restored, but for those that
// are too old, and DropHeldMails gives all up. Both return how many they are.
func SendHeldMails(ctx context.Context, p *session.Platform) (sent, old int64, err error) {
	return outbox.Release(ctx, p.DB, p.Now())
}

// DropHeldMails is described at SendHeldMails.
func DropHeldMails(ctx context.Context, p *session.Platform) (int64, error) {
	return outbox.Drop(ctx, p.DB, p.Now())
}
