package upkeep

import (
	"context"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/webhooks"
)

// AddWebhook adds a webhook of a key, through the key's store, see webhooks.Store.Add. Only one is added at
// a time, so that neither a key nor all keys together exceed their limit.
func AddWebhook(ctx context.Context, tx *session.Tx, store *webhooks.Store, n webhooks.NewHook) (secret string, hook webhooks.Hook, err error) {
	if err := tx.Lock(ctx, session.LockOf(session.WebhookLock, 0)); err != nil {
		return "", webhooks.Hook{}, err
	}
	return store.In(tx.DB).Add(ctx, n)
}
