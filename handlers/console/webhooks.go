package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

func webhookPath(id int64) string { return webhooksPath + "/" + number(id) }

// errSince means that the start of the changes to send again is not a time.
var errSince = errors.New("the time cannot be read")

// webhookActions are the buttons of a webhook. They return its new secret, if there is one.
var webhookActions = map[string]func(v *visit, id int64) (secret string, found bool, err error){
	"test": func(v *visit, id int64) (string, bool, error) {
		_, err := v.Webhooks.Test(v.ctx(), id)
		return "", true, err
	},
	"enable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Webhooks.Enable(v.ctx(), id, false)
		return "", found, err
	},
	"disable": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Webhooks.Disable(v.ctx(), id, "disabled on the console")
		return "", found, err
	},
	"delete": func(v *visit, id int64) (string, bool, error) {
		found, err := v.Webhooks.Delete(v.ctx(), id)
		return "", found, err
	},
	"rotate": func(v *visit, id int64) (string, bool, error) {
		if err := v.spend(v.r.PostForm.Get("nonce")); err != nil { // reloading the page must not replace a secret that was already copied
			return "", false, err
		}
		return v.Webhooks.Rotate(v.ctx(), id, secretOverlap)
	},
	"replay-since": func(v *visit, id int64) (string, bool, error) {
		site, err := v.site()
		if err != nil {
			return "", false, err
		}
		since, err := time.ParseInLocation("2006-01-02T15:04", v.r.PostForm.Get("since"), site.Zone.Location)
		if err != nil {
			return "", false, errSince
		}
		found, err := v.Webhooks.ReplaySince(v.ctx(), id, since)
		return "", found, err
	},
	"replay": func(v *visit, id int64) (string, bool, error) {
		delivery, err := strconv.ParseInt(v.r.PostForm.Get("delivery"), 10, 64)
		if err != nil {
			return "", false, nil // not sent by our forms
		}
		found, err := v.Webhooks.Replay(v.ctx(), id, delivery)
		if errors.Is(err, jobs.ErrSending) {
			return "", true, nil // it is already being sent again
		}
		return "", found, err
	},
}

// secretOverlap is how long an old secret stays valid after it is replaced on the page.
const secretOverlap = 24 * time.Hour

func (c *Console) listWebhooks(v *visit) error { return c.redisplayWebhooks(v, http.StatusOK, "") }

// redisplayWebhooks shows the webhooks, and what extensions were told.
func (c *Console) redisplayWebhooks(v *visit, status int, problem page.Text) error {
	all, err := v.Webhooks.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no webhooks
		return err
	}
	keyNames, err := v.keyNames()
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	events, err := v.events()
	if err != nil {
		return err
	}
	list := h.P(page.Text("There are no webhooks."))
	if len(all) > 0 {
		list = page.Table([]page.Text{"Name", "URL", "Events", "Key", "Status"}, g.Map(all, func(hook jobs.Hook) g.Node {
			key := g.Node(page.Text("key\x04none"))
			if hook.KeyID != 0 {
				key = keyLink(hook.KeyID, keyNames)
			}
			return page.Row(
				g.Group{page.A(webhookPath(hook.ID), h.Class("name"), g.Text(hook.Name)), g.Text(" "), h.Span(h.Class("hint"), g.Text(number(hook.ID)))},
				page.Cell("URL", h.Code(g.Text(jobs.MaskURL(hook.URL)))),
				page.Cell("Events", g.Text(strings.Join(hook.Filter.Events, ", "))),
				page.Cell("Key", key),
				page.Cell("Status", webhookStatus(hook)),
			)
		}))
	}
	c.show(v, status, page.Layout{Title: page.Text("Webhooks"), Invalid: problem != ""}, g.Group{
		page.Alert(problem),
		page.ZoneHint(),
		h.P(page.Text("A webhook sends all changes on the site to a URL.")),
		h.P(page.MainButton(webhooksPath+"/new", "New webhook")),
		list,
		h.H2(page.Text("Extensions of the site")),
		events,
	})
	return nil
}

func webhookStatus(hook jobs.Hook) g.Node {
	class := "status good"
	switch {
	case hook.Status != jobs.Enabled:
		class = "status broken"
	case hook.FailingSince != "":
		class = "status minor"
	}
	return g.Group{
		h.Span(h.Class(class), page.Text(hook.Status)),
		g.If(hook.Reason != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Text(hook.Reason))}),
		g.If(hook.FailingSince != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Textf("failing since %s", page.Stamp(hook.FailingSince, "")))}),
	}
}

// withWebhook calls serve with the webhook in the path.
func (c *Console) withWebhook(v *visit, serve func(jobs.Hook) error) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	var hook jobs.Hook
	found := false
	if err == nil {
		if hook, found, err = v.Webhooks.Find(v.ctx(), id); err != nil {
			return err
		}
	}
	if !found {
		c.showMessage(v, http.StatusNotFound, "There is no such webhook", "Look for it in the list of webhooks.")
		return nil
	}
	return serve(hook)
}

// shownDeliveries is the number of deliveries on a page.
const shownDeliveries = 25

func (c *Console) showWebhook(v *visit) error { return c.redisplayWebhook(v, http.StatusOK, "") }

// redisplayWebhook shows a webhook with its actions and its log.
func (c *Console) redisplayWebhook(v *visit, status int, problem page.Text) error {
	return c.withWebhook(v, func(hook jobs.Hook) error {
		deliveries, _, err := v.Webhooks.Deliveries(v.ctx(), hook.ID, jobs.DeliveryFilter{Limit: shownDeliveries})
		if err != nil {
			return err
		}
		tries, err := v.Webhooks.Tries(v.ctx(), deliveries)
		if err != nil {
			return err
		}
		action := func(name, class string, text page.Text, more ...g.Node) g.Node {
			return page.PostForm(webhookPath(hook.ID)+"/"+name, g.Group(more), h.Button(h.Class(class), text))
		}
		onOff := action("disable", "", "Disable")
		if hook.Status != jobs.Enabled {
			onOff = action("enable", "main", "Enable")
		}
		log := h.P(page.Text("Nothing was sent yet."))
		if len(deliveries) > 0 {
			log = page.Table([]page.Text{"Event", "Queued", "State", "Tries", ""}, g.Map(deliveries, func(d jobs.Delivery) g.Node { return deliveryRow(hook, d, tries[d.ID]) }))
		}
		c.show(v, status, page.Layout{Title: page.Textf("Webhook %s", hook.Name), Invalid: problem != ""}, g.Group{
			page.Alert(problem),
			page.ZoneHint(),
			h.P(page.Textf("%s gets %s.", h.Code(g.Text(jobs.MaskURL(hook.URL))), filterView(hook.Filter, c.labels(v, !hook.Filter.Scope().Unlimited())))),
			h.P(webhookStatus(hook)),
			g.If(hook.Status != jobs.Enabled, h.P(h.Class("hint"), page.Text("When it is enabled, it first gets the changes since it was disabled."))),
			h.Div(h.Class("actions"), action("test", "main", "Send a test"), page.Button(webhookPath(hook.ID)+"/edit", page.Text("Change")), onOff,
				action("rotate", "", "Change the secret", page.Hidden("nonce", rand.Text())), page.Button(webhookPath(hook.ID)+"/delete", page.Text("Delete"))),
			h.H2(page.Text("Latest deliveries")),
			log,
			page.PostForm(webhookPath(hook.ID)+"/replay-since", h.Div(h.Class("field"),
				h.Label(h.For("since"), page.Text("Send all changes again since")),
				h.Input(h.ID("since"), h.Name("since"), h.Type("datetime-local"), h.Required()), g.Text(" "), h.Button(page.Text("Send again")),
			)),
			h.P(h.Class("hint"), page.Text("The log is kept for 30 days.")),
		})
		return nil
	})
}

// filterView says which events a webhook gets.
func filterView(f jobs.HookFilter, labels slots.Labels) page.Phrase {
	parts := []page.Phrase{page.Name(strings.Join(f.Events, ", "))}
	for _, part := range words.Scope(f.Scope(), labels) {
		parts = append(parts, page.Textf("of bookings only those of %s", part))
	}
	return page.List(parts...)
}

func deliveryRow(hook jobs.Hook, d jobs.Delivery, tries []jobs.Try) g.Node {
	about := g.Group{h.Span(h.Class("name event"), g.Text(d.Event))}
	if d.ResourceID != 0 {
		about = append(about, g.Text(" "), h.Span(h.Class("hint"), page.Textf("%s %d", page.Text(d.Resource), d.ResourceID)))
	}
	state := g.Node(page.Text(d.State))
	if d.Waits() && d.Tries > 0 {
		state = page.Textf("next try %s", page.Stamp(d.DueAt, ""))
	}
	return page.Row(g.Group{about, payloadView(hook, d)},
		page.Cell("Queued", page.Stamp(d.CreatedAt, "")),
		page.Cell("State", state),
		page.Cell("Tries", g.Map(tries, tryView)),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(d.FinishedAt != "", page.PostForm(webhookPath(hook.ID)+"/replay",
			page.Hidden("delivery", number(d.ID)), h.Button(page.Text("Send again"), page.ScreenReaderText(page.Name(" "+d.Event)))))),
	)
}

// payloadView shows what is sent, folded.
func payloadView(hook jobs.Hook, d jobs.Delivery) g.Node {
	payload, err := d.Payload()
	if err != nil {
		return nil // the worker's log says why
	}
	return h.Details(
		h.Summary(page.Text("Payload"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Textf("of %s", d.Event)})),
		g.If(d.HasRecord(hook), h.P(h.Class("hint"), page.Text("Each try also sends the record as it is then, which is not kept."))),
		h.Pre(h.Code(g.Text(string(payload)))),
	)
}

func tryView(t jobs.Try) g.Node {
	outcome := page.Phrase(page.Text(t.Failure))
	switch {
	case t.Status >= 300 && t.Status < 400:
		outcome = page.Textf("answered %d: redirects are not followed", t.Status)
	case t.Status > 0:
		outcome = page.Textf("answered %d", t.Status)
	}
	return h.Div(page.Textf("%s: %s after %s", page.Stamp(t.At, ""), outcome, t.Took), g.Text(" "), g.If(t.Answer != "", h.Code(g.Text(t.Answer))))
}

func (c *Console) showDeleteWebhook(v *visit) error {
	return c.withWebhook(v, func(hook jobs.Hook) error {
		c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Delete webhook %d?", hook.ID)}, g.Group{
			h.P(page.Textf("The receiver of %s (%s) is told nothing any more, and the log of its deliveries is deleted. This cannot be undone.",
				h.Strong(g.Text(hook.Name)), h.Code(g.Text(jobs.MaskURL(hook.URL))))),
			page.PostForm(webhookPath(hook.ID)+"/delete", h.P(h.Class("actions"), h.Button(h.Class("danger"), page.Text("Delete the webhook")), page.Button(webhookPath(hook.ID), page.Text("Keep it")))),
		})
		return nil
	})
}

func (c *Console) changeWebhook(v *visit, action string, act func(*visit, int64) (string, bool, error)) error {
	return c.withWebhook(v, func(hook jobs.Hook) error {
		secret, found, err := act(v, hook.ID)
		switch {
		case errors.Is(err, errSince):
			return c.redisplayWebhook(v, http.StatusUnprocessableEntity, "Write the time as 2026-11-22T09:30.")
		case errors.Is(err, errSubmitted):
			return c.showSubmitted(v, "The secret was changed and shown then. If you did not copy it, change it again.")
		case err != nil:
			problem, status := c.explain(v, err)
			return c.redisplayWebhook(v, status, problem)
		case !found:
			return c.redisplayWebhook(v, http.StatusNotFound, "There is no such webhook or delivery.")
		}
		c.log.InfoContext(v.ctx(), "console: "+action, "webhook_id", hook.ID)
		switch {
		case secret != "":
			c.showWebhookSecret(v, page.Text("The secret was changed"), hook.Name, secret, "The earlier secret stays valid for a day.")
			return nil
		case action == "delete":
			return redirect(v, webhooksPath)
		default:
			return redirect(v, webhookPath(hook.ID))
		}
	})
}

// showWebhookSecret shows a secret, once, with what else there is to know.
func (c *Console) showWebhookSecret(v *visit, title page.Text, name, secret string, more page.Text) {
	c.show(v, http.StatusOK, page.Layout{Title: title}, g.Group{
		h.P(page.Textf("This is the only time the secret of %s is shown. Copy it to the receiver, which checks signatures with it.", h.Strong(g.Text(name)))),
		g.If(more != "", h.P(more)),
		page.Secret("Secret", secret),
		h.P(page.A(webhooksPath, page.Text("I have copied it: back to the list"))),
	})
}
