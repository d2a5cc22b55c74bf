package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
)

// A key sees and changes only the webhooks that it created.

// webhooks returns the webhooks of the request's key.
func (r *request) webhooks() *jobs.HookStore {
	if r.lockedWebhooks != nil {
		return r.lockedWebhooks
	}
	return r.api.options.Webhooks.OwnedBy(r.principal.ID)
}

// lockWebhook runs change in a transaction, with the webhook in the path locked and the request's If-Match
// compared. After a deadlock change runs again.
func (r *request) lockWebhook(change func(*request, *jobs.HookStore, jobs.Hook) error) error {
	id, err := r.id(webhookID)
	if err != nil {
		return err
	}
	found, err := r.webhooks().Locked(r.ctx(), id, func(store *jobs.HookStore, hook jobs.Hook) error {
		within := *r
		within.lockedWebhooks = store
		if check := within.precondition(); check != nil {
			if err := check(r.session); err != nil {
				return err
			}
		}
		return change(&within, store, hook)
	})
	return foundWebhook(id, found, err)
}

// refuseName rejects an Idempotency-Key of a POST, because responses with secrets are not stored. PUT and
// DELETE ignore it, because they do the same when repeated.
func (r *request) refuseName() error {
	if r.route.method != http.MethodPost || len(r.echo.Request().Header.Values(idempotencyKey)) == 0 {
		return nil
	}
	return nameRefused()
}

// nameRefused returns the error for a request that may not have an Idempotency-Key.
func nameRefused() error {
	return domain.InvalidRequest(map[string]string{idempotencyKey: "Not supported for webhooks"})
}

// readWebhook reads the body of a write. Its filters are within the key's scope.
func (r *request) readWebhook(body *compat.Body, fields compat.Declaration[compat.WebhookChange]) (change compat.WebhookChange, err error) {
	if change, err = compat.ReadWebhookChange(body, fields, r.api.options.Webhooks.AllowPrivate); err != nil {
		return change, err
	}
	return change, r.principal.Scope.RefuseAny(change.Named())
}

// webhookChanges reads what a PUT changes of the webhook in the path.
func (r *request) webhookChanges() (change compat.WebhookChange, err error) {
	changing, _, err := r.changing(r.session)
	if err != nil {
		return change, err
	}
	body, err := changing.Body()
	if err != nil {
		return change, err
	}
	return r.readWebhook(body, compat.WebhookFields)
}

// webhookBody returns the body of a write.
func (r *request) webhookBody() (*compat.Body, error) {
	if err := r.refuseName(); err != nil {
		return nil, err
	}
	return r.body()
}

// requiredWebhook returns the webhook in the path.
func (r *request) requiredWebhook() (jobs.Hook, error) {
	id, err := r.id(webhookID)
	if err != nil {
		return jobs.Hook{}, err
	}
	hook, found, err := r.webhooks().Find(r.ctx(), id)
	return hook, foundWebhook(id, found, err)
}

// foundWebhook returns the error for a webhook that does not exist.
func foundWebhook(id int64, found bool, err error) error {
	if err == nil && !found {
		return domain.NotFound(domain.WebhookResource, id)
	}
	return err
}

// tooManyWebhooks returns the error for a key or a site that may have no more webhooks.
func tooManyWebhooks(reason error) error {
	return domain.ValidationFailed(map[string]string{"url": domain.Capitalize(reason.Error())})
}

var listWebhooks = operation{
	id:          "listWebhooks",
	summary:     "List webhooks",
	description: "The webhooks created with this key. Others, such as those of the site's administrator, are not shown.",
	answers:     []response{ok(compat.WebhookListOf())},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		hooks, err := r.webhooks().List(r.ctx())
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookListOf(hooks...)), nil
	},
}

var getWebhook = operation{
	id:          "getWebhook",
	summary:     "Read a webhook",
	description: "A webhook created with this key, without its secret.",
	path:        []pathParameter{webhookID},
	answers:     []response{ok(compat.SingleOf[compat.Webhook]())},
	serve: func(r *request) (response, error) {
		hook, err := r.requiredWebhook()
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookDetail(hook)), nil
	},
}

var createWebhook = operation{
	id:      "createWebhook",
	summary: "Add a webhook",
	description: "Sends all changes from now on to a URL, signed as Standard Webhooks. The response has the secret with which receivers check the signature; it is not shown again. " +
		"It requires the permission `read_changes`, and events of bookings `read_bookings`, and so on; `*` stands for the events that the key may read. The webhook sends what the key may read at the time, and is disabled, with a reason, if the key loses one of these permissions or ends. An Idempotency-Key is refused, because responses with secrets are not stored.",
	body:    compat.NewWebhookFields,
	answers: []response{created(compat.WebhookCreated)},
	serve: func(r *request) (response, error) {
		private := r.api.options.Webhooks.AllowPrivate
		body, err := r.webhookBody()
		if err != nil {
			return response{}, err
		}
		change, err := r.readWebhook(body, compat.NewWebhookFields)
		if err != nil {
			return response{}, err
		}
		if err := slots.RequireChoices(r.ctx(), r.session, change.Named()); err != nil {
			return response{}, err
		}
		n := change.New(private)
		if err := jobs.Require(r.principal.Key, n.Filter.Events); err != nil {
			return response{}, err
		}
		var secret string
		var hook jobs.Hook
		err = r.transact(func(tx *session.Tx) (err error) {
			secret, hook, err = jobs.AddHook(r.ctx(), tx, r.webhooks(), n)
			return err
		})
		if errors.Is(err, jobs.ErrTooMany) || errors.Is(err, jobs.ErrTooManyOfKey) {
			return response{}, tooManyWebhooks(err)
		}
		if err != nil {
			return response{}, err
		}
		return created(compat.WebhookAnswer(compat.WebhookCreated, hook, secret)), nil
	},
}

var updateWebhook = operation{
	id:          "updateWebhook",
	summary:     "Change a webhook",
	description: "Changes only the fields that are sent. Events need the same permissions as when a webhook is added. Empty lists of agents, services and locations remove a filter.",
	path:        []pathParameter{webhookID},
	body:        compat.WebhookFields,
	answers:     []response{ok(compat.WebhookUpdated)},
	serve: func(r *request) (response, error) {
		private := r.api.options.Webhooks.AllowPrivate
		change, err := r.webhookChanges()
		if err != nil {
			return response{}, err
		}
		if err := slots.RequireChoices(r.ctx(), r.session, change.Named()); err != nil {
			return response{}, err
		}
		var changed jobs.Hook
		err = r.lockWebhook(func(within *request, store *jobs.HookStore, hook jobs.Hook) error {
			change, err := within.webhookChanges() // now that nobody else changes it
			if err != nil {
				return err
			}
			patch := change.Patch(hook, private)
			if err := jobs.Require(r.principal.Key, patch.Filter.Events); err != nil {
				return err
			}
			if _, err := store.Update(r.ctx(), hook, patch); err != nil {
				return err
			}
			if err := enableWebhook(r.ctx(), store, hook.ID, change.Enabled, change.Skip); err != nil {
				return err
			}
			changed, _, err = store.Find(r.ctx(), hook.ID)
			return err
		})
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookAnswer(compat.WebhookUpdated, changed, "")), nil
	},
}

// enableWebhook enables or disables a webhook, unless enabled is nil.
func enableWebhook(ctx context.Context, store *jobs.HookStore, id int64, enabled *bool, skip bool) (err error) {
	switch {
	case enabled == nil:
	case *enabled:
		_, err = store.Enable(ctx, id, skip)
	default:
		_, err = store.Disable(ctx, id, "disabled through the API")
	}
	return err
}

var deleteWebhook = operation{
	id:          "deleteWebhook",
	summary:     "Delete a webhook",
	description: "Deletes a webhook with its secret and its log.",
	path:        []pathParameter{webhookID},
	answers:     []response{ok(compat.WebhookDeleted)},
	serve: func(r *request) (response, error) {
		err := r.lockWebhook(func(_ *request, store *jobs.HookStore, hook jobs.Hook) error {
			_, err := store.Delete(r.ctx(), hook.ID)
			return err
		})
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookDeleted), nil
	},
}

var listWebhookDeliveries = operation{
	id:          "listWebhookDeliveries",
	summary:     "Read the log of a webhook",
	description: "The deliveries to a webhook in the last 30 days, the newest first, with each try.",
	path:        []pathParameter{webhookID},
	query:       compat.WebhookDeliveryParameters,
	answers:     []response{ok(compat.WebhookDeliveriesOf(nil, nil, false))},
	errors:      failures.Form{List: true},
	serve: func(r *request) (response, error) {
		filter, err := compat.WebhookDeliveryParameters.Read(r.view, r.query)
		if err != nil {
			return response{}, err
		}
		hook, err := r.requiredWebhook()
		if err != nil {
			return response{}, err
		}
		deliveries, more, err := r.webhooks().Deliveries(r.ctx(), hook.ID, filter)
		if err != nil {
			return response{}, err
		}
		tries, err := r.webhooks().Tries(r.ctx(), deliveries)
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookDeliveriesOf(deliveries, tries, more)), nil
	},
}

var testWebhook = operation{
	id:          "testWebhook",
	summary:     "Test a webhook",
	description: "Sends the event `" + jobs.TestEvent + "` once. The log of the webhook shows the receiver's response. A disabled webhook gets it when it is enabled.",
	path:        []pathParameter{webhookID},
	answers:     []response{ok(compat.WebhookTested)},
	serve: func(r *request) (response, error) {
		if err := r.refuseName(); err != nil {
			return response{}, err
		}
		hook, err := r.requiredWebhook()
		if err != nil {
			return response{}, err
		}
		delivery, err := r.webhooks().Test(r.ctx(), hook.ID)
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookTestQueued(delivery)), nil
	},
}

var rotateWebhook = operation{
	id:          "rotateWebhook",
	summary:     "Change the secret of a webhook",
	description: "Creates a new secret, which is shown only in this response. Until the overlap has passed, requests are signed with both secrets.",
	path:        []pathParameter{webhookID},
	body:        compat.WebhookRotationFields,
	answers:     []response{ok(compat.WebhookRotated)},
	serve: func(r *request) (response, error) {
		body, err := r.webhookBody()
		if err != nil {
			return response{}, err
		}
		overlap, err := compat.ReadWebhookRotation(body)
		if err != nil {
			return response{}, err
		}
		id, err := r.id(webhookID)
		if err != nil {
			return response{}, err
		}
		secret, found, err := r.webhooks().Rotate(r.ctx(), id, overlap)
		if err := foundWebhook(id, found, err); err != nil {
			return response{}, err
		}
		hook, err := r.requiredWebhook()
		if err != nil {
			return response{}, err
		}
		return ok(compat.WebhookAnswer(compat.WebhookRotated, hook, secret)), nil
	},
}

var replayWebhook = operation{
	id:          "replayWebhook",
	summary:     "Send events again",
	description: "Sends one delivery, or all changes since a time, again, with the same webhook-id as before.",
	path:        []pathParameter{webhookID},
	body:        compat.WebhookReplayFields,
	answers:     []response{ok(compat.WebhookReplays)},
	serve: func(r *request) (response, error) {
		body, err := r.webhookBody()
		if err != nil {
			return response{}, err
		}
		replay, err := compat.ReadWebhookReplay(body)
		if err != nil {
			return response{}, err
		}
		hook, err := r.requiredWebhook()
		if err != nil {
			return response{}, err
		}
		if replay.Since != nil {
			found, err := r.webhooks().ReplaySince(r.ctx(), hook.ID, *replay.Since)
			return ok(compat.WebhookReplays), foundWebhook(hook.ID, found, err)
		}
		found, err := r.webhooks().Replay(r.ctx(), hook.ID, *replay.DeliveryID)
		switch {
		case errors.Is(err, jobs.ErrSending):
			return response{}, domain.ValidationFailed(map[string]string{"delivery_id": domain.Capitalize(jobs.ErrSending.Error())})
		case err == nil && !found:
			return response{}, domain.InvalidField("delivery_id", "The webhook has no such delivery")
		}
		return ok(compat.WebhookReplays), err
	},
}
