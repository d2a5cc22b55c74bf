package keyspage

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/webhooks"
	"bookside/wpdb"
)

// webhooksPath is where the webhooks are. It is below /keys, like everything that the
// cookie of the session is sent to.
const webhooksPath = "/keys/webhooks"

// withWebhooks adds the routes of webhooks to those of keys. They have a mux of their own,
// because one would not know whether the webhooks in /keys/webhooks/revoke are an id.
func (p *Page) withWebhooks(keys http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+webhooksPath, p.withSession(p.listWebhooks))
	mux.Handle("GET "+webhooksPath+"/new", p.withSession(p.showNewWebhook))
	mux.Handle("POST "+webhooksPath+"/new", p.withForm(p.redisplayNewWebhook, p.createWebhook))
	mux.Handle("GET "+webhooksPath+"/{id}", p.withSession(func(v *visit) error { return p.showWebhook(v, http.StatusOK, "") }))
	for action, act := range webhookActions {
		mux.Handle("POST "+webhooksPath+"/{id}/"+action, p.withForm(p.showWebhook, func(v *visit) error { return p.changeWebhook(v, action, act) }))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == webhooksPath || strings.HasPrefix(r.URL.Path, webhooksPath+"/") {
			mux.ServeHTTP(w, r)
			return
		}
		keys.ServeHTTP(w, r)
	})
}

// webhookActions are the buttons of a webhook. They return its new secret, if there is one.
var webhookActions = map[string]func(v *visit, id int64) (secret string, found bool, err error){
	"test": func(v *visit, id int64) (string, bool, error) {
		_, err := v.webhooks.Test(v.ctx(), id)
		return "", true, err
	},
	"enable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.webhooks.Enable(v.ctx(), id, false)
		return "", found, err
	},
	"disable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.webhooks.Disable(v.ctx(), id, "disabled on the page")
		return "", found, err
	},
	"delete": func(v *visit, id int64) (string, bool, error) {
		found, err := v.webhooks.Delete(v.ctx(), id)
		return "", found, err
	},
	"rotate": func(v *visit, id int64) (string, bool, error) { return v.webhooks.Rotate(v.ctx(), id, secretOverlap) },
	"replay-since": func(v *visit, id int64) (string, bool, error) {
		since, err := time.Parse(inputTime, v.r.PostForm.Get("since"))
		if err != nil {
			return "", false, errSince
		}
		found, err := v.webhooks.ReplaySince(v.ctx(), id, since)
		return "", found, err
	},
	"replay": func(v *visit, id int64) (string, bool, error) {
		delivery, err := strconv.ParseInt(v.r.PostForm.Get("delivery"), 10, 64)
		if err != nil {
			return "", false, nil // no form of ours has such a number
		}
		found, err := v.webhooks.Replay(v.ctx(), id, delivery)
		if errors.Is(err, webhooks.ErrSending) {
			return "", true, nil // it is sent again already
		}
		return "", found, err
	},
}

// inputTime is the layout of a field for a date and a time, to the minute.
const inputTime = "2006-01-02T15:04"

// errSince means that the time from which changes are to be sent again cannot be read.
var errSince = errors.New("the time cannot be read")

// secretOverlap is how long an old secret stays valid if it is changed on the page.
const secretOverlap = 24 * time.Hour

func (p *Page) listWebhooks(v *visit) error {
	all, err := v.webhooks.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no webhooks
		return err
	}
	p.show(v, http.StatusOK, layout{Title: "Webhooks", Session: v.session}, webhooksView(all))
	return nil
}

// requestedWebhook returns the webhook in the path; found is false if there is none, which
// is shown.
func (p *Page) requestedWebhook(v *visit) (hook webhooks.Hook, found bool, err error) {
	id, failed := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if failed == nil {
		hook, found, err = v.webhooks.Find(v.ctx(), id)
	}
	if err == nil && !found {
		p.showMessage(v, http.StatusNotFound, "There is no such webhook", "Look for it in the list of webhooks.")
	}
	return hook, found, err
}

// shownDeliveries is how many deliveries a page shows.
const shownDeliveries = 25

func (p *Page) showWebhook(v *visit, status int, problem string) error {
	hook, found, err := p.requestedWebhook(v)
	if err != nil || !found {
		return err
	}
	deliveries, _, err := v.webhooks.Deliveries(v.ctx(), hook.ID, webhooks.DeliveryFilter{Limit: shownDeliveries})
	if err != nil {
		return err
	}
	tries, err := v.webhooks.Tries(v.ctx(), deliveries)
	if err != nil {
		return err
	}
	p.show(v, status, layout{Title: "Webhook " + hook.Name, Invalid: problem != "", Session: v.session}, webhookView(hook, deliveries, tries, csrfToken(v.session), problem))
	return nil
}

func (p *Page) changeWebhook(v *visit, action string, act func(*visit, int64) (string, bool, error)) error {
	hook, found, err := p.requestedWebhook(v)
	if err != nil || !found {
		return err
	}
	secret, found, err := act(v, hook.ID)
	switch {
	case errors.Is(err, errSince):
		return p.showWebhook(v, http.StatusUnprocessableEntity, "Write the time as 2026-11-22T09:30, in UTC.")
	case err != nil:
		problem, status := p.explain(v, err)
		return p.showWebhook(v, status, problem)
	case !found:
		return p.showWebhook(v, http.StatusNotFound, "There is no such webhook or delivery.")
	}
	p.log.InfoContext(v.ctx(), "webhooks page: "+action, "webhook_id", hook.ID)
	switch {
	case secret != "":
		p.show(v, http.StatusOK, layout{Title: "The secret was changed", Session: v.session}, webhookSecretView(hook.Name, secret))
	case action == "delete":
		http.Redirect(v.w, v.r, webhooksPath, http.StatusSeeOther)
	default:
		http.Redirect(v.w, v.r, webhookPath(hook.ID), http.StatusSeeOther)
	}
	return nil
}

const newWebhookTitle = "New webhook"

// webhookForm is the form of a new webhook as typed.
type webhookForm struct {
	keyForm // its errors
	Values  url.Values
}

func (f *webhookForm) value(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

func (p *Page) showNewWebhook(v *visit) error {
	return p.showWebhookForm(v, http.StatusOK, &webhookForm{Values: url.Values{"events": {"*"}}})
}

func (p *Page) redisplayNewWebhook(v *visit, status int, problem string) error {
	return p.showWebhookForm(v, status, &webhookForm{keyForm{Problem: problem}, v.r.PostForm})
}

func (p *Page) showWebhookForm(v *visit, status int, f *webhookForm) error {
	f.Nonce = rand.Text()
	p.show(v, status, layout{Title: newWebhookTitle, Invalid: f.invalid(), Session: v.session}, f.view(csrfToken(v.session)))
	return nil
}

func (p *Page) createWebhook(v *visit) error {
	f := &webhookForm{Values: v.r.PostForm}
	private := v.webhooks.AllowPrivate
	n := webhooks.NewHook{
		URL:     parseField(&f.keyForm, "url", f.value("url"), func(text string) (string, error) { return webhooks.ParseURL(text, private) }),
		Name:    parseField(&f.keyForm, "name", f.value("name"), optional(webhooks.ParseName)),
		Record:  f.value("record") != "",
		Private: private,
		Filter: webhooks.Filter{
			Events:    parseField(&f.keyForm, "events", f.value("events"), webhooks.ParseEvents),
			Agents:    parseField(&f.keyForm, "agents", f.value("agents"), optional(webhooks.ParseIDs)),
			Services:  parseField(&f.keyForm, "services", f.value("services"), optional(webhooks.ParseIDs)),
			Locations: parseField(&f.keyForm, "locations", f.value("locations"), optional(webhooks.ParseIDs)),
		},
	}
	if len(f.Errors) > 0 {
		return p.showWebhookForm(v, http.StatusUnprocessableEntity, f)
	}
	first, err := v.tokens.Spend(v.ctx(), f.value("nonce"))
	if err == nil && !first {
		p.showMessage(v, http.StatusConflict, "This form was already submitted", "Its webhook was added and its secret shown then. If you did not copy it, change the secret of the webhook.")
		return nil
	}
	var secret string
	var hook webhooks.Hook
	if err == nil {
		secret, hook, err = v.webhooks.Add(v.ctx(), n)
	}
	if errors.Is(err, webhooks.ErrTooMany) {
		f.Problem = "There are as many webhooks as there may be. Delete one first."
		return p.showWebhookForm(v, http.StatusConflict, f)
	}
	if err != nil {
		problem, status := p.explain(v, err)
		return p.redisplayNewWebhook(v, status, problem)
	}
	p.log.InfoContext(v.ctx(), "webhooks page: webhook added", "webhook_id", hook.ID)
	p.show(v, http.StatusOK, layout{Title: "The webhook was added", Session: v.session}, webhookSecretView(hook.Name, secret))
	return nil
}

func webhookPath(id int64) string { return webhooksPath + "/" + strconv.FormatInt(id, 10) }
