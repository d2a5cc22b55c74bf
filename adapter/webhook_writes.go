package adapter

import (
	"context"

	"bookside/adapter/webhooks"
)

// AddWebhook adds a webhook of a key, whose store it is, see webhooks.Store.Add. Only one is
// added at a time, so that neither a key nor all of them together get more than they may have.
func (tx *Tx) AddWebhook(ctx context.Context, store *webhooks.Store, n webhooks.NewHook) (secret string, hook webhooks.Hook, err error) {
	if err := tx.lock(ctx, lockOf(webhookLock, 0)); err != nil {
		return "", webhooks.Hook{}, err
	}
	return store.In(tx.db).Add(ctx, n)
}
