package jobs

import (
	"context"

	"github.com/bookside/bookside/adapter/session"
)

// AddHook adds a webhook of a key, through the key's store, see HookStore.Add. Only one is added at
// a time, so that neither a key nor all keys together exceed their limit.
func AddHook(ctx context.Context, tx *session.Tx, store *HookStore, n NewHook) (secret string, hook Hook, err error) {
	if err := tx.Lock(ctx, session.LockOf(session.WebhookLock, 0)); err != nil {
		return "", Hook{}, err
	}
	return store.In(tx.DB).Add(ctx, n)
}
