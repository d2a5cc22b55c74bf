package jobs

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Restored is what was done after a backup was restored.
type Restored struct {
	Events   int64   // for extensions of the site, waiting before, now dropped
	Webhooks []int64 // enabled before, now disabled
	Holds    int64   // dropped
	Sessions int64   // of the console, and login tokens, ended
}

// CleanUpRestored prepares our own tables, in one transaction, for a restored backup: cursors of clients
// expire, because numbers of changes will be assigned again. Webhooks are not sent until somebody
// enables them, because what waits may have been sent already. Old holds and logins end.
func CleanUpRestored(ctx context.Context, p *session.Platform, hooks *HookStore) (r Restored, err error) {
	err = p.DB.Transact(ctx, "note that a backup was restored", func(tx *wpdb.DB) (err error) {
		r = Restored{}
		if err := journal.Restored(ctx, tx); err != nil {
			return err
		}
		if r.Events, err = extensions.DropEvents(ctx, tx, p.Now()); err != nil {
			return err
		}
		if r.Webhooks, err = hooks.In(tx).DisableAll(ctx, "a backup was restored"); err != nil {
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

// deleteAll deletes all rows of a table whose rows expire anyway.
func deleteAll(ctx context.Context, tx *wpdb.DB, table wpdb.Table) (int64, error) {
	result, err := wpdb.Exec(ctx, tx, "delete rows of before", sq.Delete(tx.Name(table)).Where(sq.NotEq{"expires_at": nil}))
	return result.Rows, err
}
