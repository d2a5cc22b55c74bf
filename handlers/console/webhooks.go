package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/wpdb"
)

func (c *Console) addWebhooks(mux *http.ServeMux) {
	mux.Handle("GET "+webhooksPath, c.withSession(c.listWebhooks))
	mux.Handle("GET "+webhooksPath+"/new", c.withSession(c.showNewWebhook))
	mux.Handle("POST "+webhooksPath+"/new", c.withForm(c.redisplayNewWebhook, c.createWebhook))
	mux.Handle("GET "+webhooksPath+"/{id}", c.withSession(func(v *visit) error { return c.showWebhook(v, http.StatusOK, "") }))
	mux.Handle("GET "+webhooksPath+"/{id}/deliveries/{delivery}", c.withSession(c.showDelivery))
	mux.Handle("GET "+webhooksPath+"/{id}/edit", c.withSession(c.showEditWebhook))
	mux.Handle("POST "+webhooksPath+"/{id}/edit", c.withForm(c.redisplayEditWebhook, c.updateWebhook))
	mux.Handle("GET "+webhooksPath+"/{id}/delete", c.withSession(c.showDeleteWebhook))
	for action, act := range webhookActions {
		mux.Handle("POST "+webhooksPath+"/{id}/"+action, c.withForm(c.showWebhook, func(v *visit) error { return c.changeWebhook(v, action, act) }))
	}
}

// webhookActions are the buttons of a webhook. They return its new secret, if there is one.
var webhookActions = map[string]func(v *visit, id int64) (secret string, found bool, err error){
	"test": func(v *visit, id int64) (string, bool, error) {
		_, err := v.Platform.Webhooks.Test(v.ctx(), id)
		return "", true, err
	},
	"enable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Platform.Webhooks.Enable(v.ctx(), id, false)
		return "", found, err
	},
	"disable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Platform.Webhooks.Disable(v.ctx(), id, "disabled on the console")
		return "", found, err
	},
	"delete": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Platform.Webhooks.Delete(v.ctx(), id)
		return "", found, err
	},
	"rotate": func(v *visit, id int64) (string, bool, error) {
		if err := v.spend(v.r.PostForm.Get("nonce")); err != nil { // reloading the page must not replace a secret that was already copied
			return "", false, err
		}
		return v.Platform.Webhooks.Rotate(v.ctx(), id, secretOverlap)
	},
	"replay-since": func(v *visit, id int64) (string, bool, error) {
		site, err := v.site()
		if err != nil {
			return "", false, err
		}
		since, err := time.ParseInLocation(inputTime, v.r.PostForm.Get("since"), site.Zone.Location)
		if err != nil {
			return "", false, errSince
		}
		found, err := v.Platform.Webhooks.ReplaySince(v.ctx(), id, since)
		return "", found, err
	},
	"replay": func(v *visit, id int64) (string, bool, error) {
		delivery, err := strconv.ParseInt(v.r.PostForm.Get("delivery"), 10, 64)
		if err != nil {
			return "", false, nil // not sent by our forms
		}
		found, err := v.Platform.Webhooks.Replay(v.ctx(), id, delivery)
		if errors.Is(err, webhooks.ErrSending) {
			return "", true, nil // it is already being sent again
		}
		return "", found, err
	},
}

// inputTime is the layout of a field for a date and a time, to the minute.
const inputTime = "2006-01-02T15:04"

// errSince means that the start of the changes to send again is not a time.
var errSince = errors.New("the time cannot be read")

// secretOverlap is how long an old secret stays valid after it is replaced on the page.
const secretOverlap = 24 * time.Hour

func (c *Console) listWebhooks(v *visit) error {
	all, err := v.Platform.Webhooks.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no webhooks
		return err
	}
	keyNames, err := v.keyNames()
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	limited := func(hook webhooks.Hook) bool { return !hook.Filter.Scope().Unlimited() }
	c.answer(v, http.StatusOK, page.Layout{Title: page.Text("Webhooks")}, webhooksView(all, keyNames), facts.WebhooksOf(all, c.labels(v, v.wordpress && slices.ContainsFunc(all, limited))))
	return nil
}

// requestedWebhook returns the webhook in the path. If there is none, it shows that and found is false.
func (c *Console) requestedWebhook(v *visit) (hook webhooks.Hook, found bool, err error) {
	id, failed := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if failed == nil {
		hook, found, err = v.Platform.Webhooks.Find(v.ctx(), id)
	}
	if err == nil && !found {
		c.showMessage(v, http.StatusNotFound, "There is no such webhook", "Look for it in the list of webhooks.")
	}
	return hook, found, err
}

// shownDeliveries is the number of deliveries on a page.
const shownDeliveries = 25

func (c *Console) showWebhook(v *visit, status int, problem page.Text) error {
	hook, found, err := c.requestedWebhook(v)
	if err != nil || !found {
		return err
	}
	deliveries, _, err := v.Platform.Webhooks.Deliveries(v.ctx(), hook.ID, webhooks.DeliveryFilter{Limit: shownDeliveries})
	if err != nil {
		return err
	}
	tries, err := v.Platform.Webhooks.Tries(v.ctx(), deliveries)
	if err != nil {
		return err
	}
	labels := c.labels(v, !hook.Filter.Scope().Unlimited())
	c.answer(v, status, page.Layout{Title: page.Textf("Webhook %s", hook.Name), Invalid: problem != ""}, webhookView(hook, labels, deliveries, tries, csrfToken(v.session), rand.Text(), problem),
		facts.WebhookLogOf(hook, labels, deliveries, tries))
	return nil
}

// showDelivery shows a delivery with the record.
func (c *Console) showDelivery(v *visit) error {
	return c.withWebhook(v, func(hook webhooks.Hook) error {
		id, _ := strconv.ParseInt(v.r.PathValue("delivery"), 10, 64) // 0 if it is none
		sent, found, err := v.Platform.Webhooks.Sent(v.ctx(), hook, id, v.Record)
		if err == nil && !found {
			return c.showWebhook(v, http.StatusNotFound, "There is no such webhook or delivery.")
		}
		if err != nil {
			return err
		}
		c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Webhook %s: %s", hook.Name, sent.Event)}, deliveryView(hook, sent))
		return nil
	})
}

func (c *Console) showDeleteWebhook(v *visit) error {
	return c.withWebhook(v, func(hook webhooks.Hook) error {
		c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Delete webhook %d?", hook.ID)}, deleteWebhookView(hook, csrfToken(v.session)))
		return nil
	})
}

func (c *Console) changeWebhook(v *visit, action string, act func(*visit, int64) (string, bool, error)) error {
	hook, found, err := c.requestedWebhook(v)
	if err != nil || !found {
		return err
	}
	secret, found, err := act(v, hook.ID)
	switch {
	case errors.Is(err, errSince):
		return c.showWebhook(v, http.StatusUnprocessableEntity, "Write the time as 2026-11-22T09:30.")
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "The secret was changed and shown then. If you did not copy it, change it again.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.showWebhook(v, status, problem)
	case !found:
		return c.showWebhook(v, http.StatusNotFound, "There is no such webhook or delivery.")
	}
	c.log.InfoContext(v.ctx(), "console: "+action, "webhook_id", hook.ID)
	switch {
	case secret != "":
		c.show(v, http.StatusOK, page.Layout{Title: page.Text("The secret was changed")}, webhookSecretView(hook.Name, secret, "The earlier secret stays valid for a day."))
	case action == "delete":
		return v.redirect(webhooksPath)
	default:
		return v.redirect(webhookPath(hook.ID))
	}
	return nil
}

// webhookForm is the form of a webhook as submitted.
type webhookForm struct{ page.Form }

func (f *webhookForm) title() page.Phrase {
	if f.ID == 0 {
		return page.Text("New webhook")
	}
	return page.Textf("Change webhook %d", f.ID)
}

// storedWebhookForm returns the form filled with a webhook as stored.
func storedWebhookForm(hook webhooks.Hook) *webhookForm {
	return &webhookForm{terms.Form(hook.ID, webhooks.Terms, hook)}
}

// submittedWebhookForm returns the form of a webhook, as submitted and as stored.
func submittedWebhookForm(r *http.Request, hook webhooks.Hook, problem page.Text) *webhookForm {
	f := &webhookForm{page.Submitted(r, problem)}
	f.ID, f.Version = hook.ID, storedWebhookForm(hook).Version
	return f
}

func (c *Console) showNewWebhook(v *visit) error {
	return c.showWebhookForm(v, http.StatusOK, storedWebhookForm(webhooks.Hook{Filter: webhooks.Filter{Events: []string{"*"}}}))
}

func (c *Console) redisplayNewWebhook(v *visit, status int, problem page.Text) error {
	return c.showWebhookForm(v, status, &webhookForm{page.Submitted(v.r, problem)})
}

func (c *Console) showEditWebhook(v *visit) error {
	return c.withWebhook(v, func(hook webhooks.Hook) error { return c.showWebhookForm(v, http.StatusOK, storedWebhookForm(hook)) })
}

func (c *Console) redisplayEditWebhook(v *visit, status int, problem page.Text) error {
	return c.withWebhook(v, func(hook webhooks.Hook) error {
		return c.showWebhookForm(v, status, submittedWebhookForm(v.r, hook, problem))
	})
}

func (c *Console) withWebhook(v *visit, serve func(webhooks.Hook) error) error {
	hook, found, err := c.requestedWebhook(v)
	if err != nil || !found {
		return err
	}
	return serve(hook)
}

func (c *Console) showWebhookForm(v *visit, status int, f *webhookForm) error {
	c.show(v, status, page.Layout{Title: f.title(), Invalid: f.Invalid()}, f.view(csrfToken(v.session), c.labels(v, true)))
	return nil
}

func (c *Console) createWebhook(v *visit) error {
	f := &webhookForm{page.Submitted(v.r, "")}
	n := webhooks.NewHook{Private: v.Platform.Webhooks.AllowPrivate}
	terms.Read(c.terms(v), &f.Form, nil, webhooks.Terms, &n)
	if len(f.Errors) > 0 {
		return c.showWebhookForm(v, http.StatusUnprocessableEntity, f)
	}
	var secret string
	var hook webhooks.Hook
	err := v.spend(f.Value("nonce"))
	if err == nil {
		secret, hook, err = v.Platform.Webhooks.Add(v.ctx(), n)
	}
	switch {
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its webhook was added and its secret shown then. If you did not copy it, change the secret of the webhook.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewWebhook(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: webhook added", "webhook_id", hook.ID)
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("The webhook was added")}, webhookSecretView(hook.Name, secret, ""))
	return nil
}

// updateWebhook changes a webhook. An address that is not public may stay, because the command line allowed
// it.
func (c *Console) updateWebhook(v *visit) error {
	return c.withWebhook(v, func(hook webhooks.Hook) error {
		f := submittedWebhookForm(v.r, hook, "")
		if f.Value("version") != f.Version {
			f.Problem = "Somebody else has changed this webhook in the meantime. Compare with its page before you send the form again."
			return c.showWebhookForm(v, http.StatusConflict, f)
		}
		private := v.Platform.Webhooks.AllowPrivate || hook.Private && f.Value("url") == hook.URL
		n := webhooks.NewHook{URL: hook.URL, Name: hook.Name, Filter: hook.Filter, Record: hook.Record, Private: private}
		terms.Read(c.terms(v), &f.Form, &storedWebhookForm(hook).Form, webhooks.Terms, &n)
		if len(f.Errors) > 0 {
			return c.showWebhookForm(v, http.StatusUnprocessableEntity, f)
		}
		patch := webhooks.Patch{URL: &n.URL, Filter: &n.Filter, Record: &n.Record, Private: private}
		if n.Name != "" {
			patch.Name = &n.Name
		}
		if _, err := v.Platform.Webhooks.Update(v.ctx(), hook, patch); err != nil {
			problem, status := c.explain(v, err)
			return c.redisplayEditWebhook(v, status, problem)
		}
		c.log.InfoContext(v.ctx(), "console: webhook changed", "webhook_id", hook.ID)
		return v.redirect(webhookPath(hook.ID))
	})
}

func webhookPath(id int64) string { return webhooksPath + "/" + strconv.FormatInt(id, 10) }
