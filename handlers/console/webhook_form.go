package console

import (
	"errors"
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/handlers/console/forms"
	"github.com/bookside/bookside/handlers/console/page"
)

// storedWebhookForm returns the form filled with a webhook as stored.
func storedWebhookForm(hook jobs.Hook) page.Form {
	return forms.Form(hook.ID, jobs.HookAttributes, hook)
}

// submittedWebhookForm returns the form of a stored webhook as submitted.
func submittedWebhookForm(r *http.Request, hook jobs.Hook, problem page.Text) page.Form {
	f := page.Submitted(r, problem)
	f.ID, f.Version = hook.ID, storedWebhookForm(hook).Version
	return f
}

func (c *Console) showWebhookForm(v *visit, status int, f page.Form) error {
	title, path, back, press := page.Phrase(page.Text("New webhook")), webhooksPath+"/new", webhooksPath, page.Text("Add the webhook")
	if f.ID != 0 {
		title, back, press = page.Textf("Change webhook %d", f.ID), webhookPath(f.ID), "Change the webhook"
		path = back + "/edit"
	}
	c.show(v, status, page.Layout{Title: title, Invalid: f.Invalid()}, g.Group{
		f.Summary(),
		page.PostForm(path, h.AutoComplete("off"), g.Attr("novalidate"),
			f.Guard(),
			forms.Fields(&f, jobs.HookAttributes, c.labels(v, true)),
			h.P(h.Class("actions"), h.Button(h.Class("main"), press), page.Button(back, page.Text("Cancel"))),
		),
	})
	return nil
}

func (c *Console) showNewWebhook(v *visit) error {
	return c.showWebhookForm(v, http.StatusOK, storedWebhookForm(jobs.Hook{Filter: jobs.HookFilter{Events: []string{"*"}}}))
}

func (c *Console) redisplayNewWebhook(v *visit, status int, problem page.Text) error {
	return c.showWebhookForm(v, status, page.Submitted(v.r, problem))
}

func (c *Console) showEditWebhook(v *visit) error {
	return c.withWebhook(v, func(hook jobs.Hook) error { return c.showWebhookForm(v, http.StatusOK, storedWebhookForm(hook)) })
}

func (c *Console) redisplayEditWebhook(v *visit, status int, problem page.Text) error {
	return c.withWebhook(v, func(hook jobs.Hook) error {
		return c.showWebhookForm(v, status, submittedWebhookForm(v.r, hook, problem))
	})
}

func (c *Console) createWebhook(v *visit) error {
	f := page.Submitted(v.r, "")
	n := jobs.NewHook{Private: v.Webhooks.AllowPrivate}
	forms.Read(c.formReader(v), &f, nil, jobs.HookAttributes, &n)
	if len(f.Errors) > 0 {
		return c.showWebhookForm(v, http.StatusUnprocessableEntity, f)
	}
	var secret string
	var hook jobs.Hook
	err := v.spend(f.Value("nonce"))
	if err == nil {
		secret, hook, err = v.Webhooks.Add(v.ctx(), n)
	}
	switch {
	case errors.Is(err, errSubmitted):
		return c.showSubmitted(v, "Its webhook was added and its secret shown then. If you did not copy it, change the secret of the webhook.")
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewWebhook(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: webhook added", "webhook_id", hook.ID)
	c.showWebhookSecret(v, "The webhook was added", hook.Name, secret, "")
	return nil
}

// updateWebhook changes a webhook. An address that is not public may stay.
func (c *Console) updateWebhook(v *visit) error {
	return c.withWebhook(v, func(hook jobs.Hook) error {
		f, stored := submittedWebhookForm(v.r, hook, ""), storedWebhookForm(hook)
		if f.Value("version") != f.Version {
			f.Problem = "Somebody else has changed this webhook in the meantime. Compare with its page before you send the form again."
			return c.showWebhookForm(v, http.StatusConflict, f)
		}
		private := v.Webhooks.AllowPrivate || hook.Private && f.Value("url") == hook.URL
		n := jobs.NewHook{URL: hook.URL, Name: hook.Name, Filter: hook.Filter, Record: hook.Record, Private: private}
		forms.Read(c.formReader(v), &f, &stored, jobs.HookAttributes, &n)
		if len(f.Errors) > 0 {
			return c.showWebhookForm(v, http.StatusUnprocessableEntity, f)
		}
		patch := jobs.HookPatch{URL: &n.URL, Filter: &n.Filter, Record: &n.Record, Private: private}
		if n.Name != "" {
			patch.Name = &n.Name
		}
		if _, err := v.Webhooks.Update(v.ctx(), hook, patch); err != nil {
			problem, status := c.explain(v, err)
			return c.redisplayEditWebhook(v, status, problem)
		}
		c.log.InfoContext(v.ctx(), "console: webhook changed", "webhook_id", hook.ID)
		return redirect(v, webhookPath(hook.ID))
	})
}
