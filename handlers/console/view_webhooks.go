package console

import (
	"fmt"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/handlers/console/words"
)

func webhooksLink(text page.Text) g.Node { return h.A(h.Href(webhooksPath), text) }

// webhooksView shows all webhooks.
func webhooksView(all []webhooks.Hook, keyNames map[int64]string) g.Node {
	list := h.P(page.Text("There are no webhooks."))
	if len(all) > 0 {
		list = page.Table([]page.Text{"Name", "URL", "Events", "Key", "Status"}, g.Map(all, func(hook webhooks.Hook) g.Node { return webhookRow(hook, keyNames) }))
	}
	return g.Group{
		page.ZoneHint(),
		h.P(page.Text("A webhook sends all changes on the site to a URL.")),
		h.P(h.A(h.Class("button main"), h.Href(webhooksPath+"/new"), page.Text("New webhook"))),
		list,
	}
}

func webhookRow(hook webhooks.Hook, keyNames map[int64]string) g.Node {
	key := g.Node(page.Text("key\x04none"))
	if hook.KeyID != 0 {
		key = keyLink(hook.KeyID, keyNames)
	}
	return h.Tr(h.Role("row"),
		h.Th(h.Role("rowheader"), h.Scope("row"), h.A(h.Class("name"), h.Href(webhookPath(hook.ID)), g.Text(hook.Name)),
			g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(hook.ID, 10)))),
		page.Cell("URL", h.Code(g.Text(webhooks.MaskURL(hook.URL)))),
		page.Cell("Events", g.Text(strings.Join(hook.Filter.Events, ", "))),
		page.Cell("Key", key),
		page.Cell("Status", webhookStatus(hook)),
	)
}

func webhookStatus(hook webhooks.Hook) g.Node {
	class := "status active"
	switch {
	case hook.Status != webhooks.Enabled:
		class = "status revoked"
	case hook.FailingSince != "":
		class = "status failing"
	}
	return g.Group{
		h.Span(h.Class(class), page.Text(hook.Status)),
		g.If(hook.Reason != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Text(hook.Reason))}),
		g.If(hook.FailingSince != "", g.Group{h.Br(), h.Span(h.Class("hint"), page.Textf("failing since %s", page.Stamp(hook.FailingSince, "")))}),
	}
}

// webhookView shows a webhook with its actions and its log.
func webhookView(hook webhooks.Hook, labels slots.Labels, deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try, csrf, nonce string, problem page.Text) g.Node {
	action := func(name, class string, text page.Text, more ...g.Node) g.Node {
		return h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/"+name), page.Hidden("csrf", csrf), g.Group(more), h.Button(h.Class(class), text))
	}
	onOff := action("disable", "", "Disable")
	if hook.Status != webhooks.Enabled {
		onOff = action("enable", "main", "Enable")
	}
	return g.Group{
		page.Alert(problem),
		page.ZoneHint(),
		h.P(page.Textf("%s gets %s.", h.Code(g.Text(webhooks.MaskURL(hook.URL))), filterView(hook.Filter, labels))),
		h.P(webhookStatus(hook)),
		g.If(hook.Status != webhooks.Enabled, h.P(h.Class("hint"), page.Text("When it is enabled, it first gets the changes since it was disabled."))),
		h.Div(h.Class("actions"), action("test", "main", "Send a test"), page.Button(webhookPath(hook.ID)+"/edit", page.Text("Change")), onOff, action("rotate", "", "Change the secret", page.Hidden("nonce", nonce)), page.Button(webhookPath(hook.ID)+"/delete", page.Text("Delete"))),
		h.H2(page.Text("Latest deliveries")),
		g.If(len(deliveries) == 0, h.P(page.Text("Nothing was sent yet."))),
		g.If(len(deliveries) > 0, page.Table([]page.Text{"Event", "Queued", "State", "Tries", ""},
			g.Map(deliveries, func(d webhooks.Delivery) g.Node { return deliveryRow(hook, d, tries[d.ID], csrf) }))),
		h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/replay-since"), page.Hidden("csrf", csrf), h.Div(h.Class("field"),
			h.Label(h.For("since"), page.Text("Send all changes again since")),
			h.Input(h.ID("since"), h.Name("since"), h.Type("datetime-local"), h.Required()), g.Text(" "), h.Button(page.Text("Send again")),
		)),
		h.P(h.Class("hint"), page.Textf("The log is kept for 30 days; %s shows all of it.", h.Kbd(page.Code("bookside webhooks log")))),
		h.P(webhooksLink("All webhooks")),
	}
}

func deleteWebhookView(hook webhooks.Hook, csrf string) g.Node {
	return g.Group{
		h.P(page.Textf("The receiver of %s (%s) is told nothing any more, and the log of its deliveries is deleted. This cannot be undone.",
			h.Strong(g.Text(hook.Name)), h.Code(g.Text(webhooks.MaskURL(hook.URL))))),
		h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/delete"), page.Hidden("csrf", csrf),
			h.P(h.Class("actions"), h.Button(h.Class("danger"), page.Text("Delete the webhook")), page.Button(webhookPath(hook.ID), page.Text("Keep it")))),
	}
}

// filterView says which events a webhook gets.
func filterView(f webhooks.Filter, labels slots.Labels) page.Phrase {
	parts := []page.Phrase{page.Name(strings.Join(f.Events, ", "))}
	for _, part := range words.Scope(f.Scope(), labels) {
		parts = append(parts, page.Textf("of bookings only those of %s", part))
	}
	return page.List(parts...)
}

func deliveryRow(hook webhooks.Hook, d webhooks.Delivery, tries []webhooks.Try, csrf string) g.Node {
	about := g.Group{h.Span(h.Class("name event"), g.Text(d.Event))}
	if d.ResourceID != 0 {
		about = append(about, g.Text(" "), h.Span(h.Class("hint"), page.Textf("%s %d", page.Text(d.Resource), d.ResourceID)))
	}
	return h.Tr(h.Role("row"),
		h.Th(h.Role("rowheader"), h.Scope("row"), about, payloadView(hook, d)),
		page.Cell("Queued", page.Stamp(d.CreatedAt, "")),
		page.Cell("State", deliveryState(d)),
		page.Cell("Tries", g.Map(tries, tryView)),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(d.FinishedAt != "", h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/replay"),
			page.Hidden("csrf", csrf), page.Hidden("delivery", strconv.FormatInt(d.ID, 10)), h.Button(page.Text("Send again"), page.ScreenReaderText(page.Name(" "+d.Event)))))),
	)
}

func deliveryState(d webhooks.Delivery) g.Node {
	if d.Waits() && d.Tries > 0 {
		return page.Textf("next try %s", page.Stamp(d.DueAt, ""))
	}
	return page.Text(d.State)
}

// payloadView shows what is sent, folded.
func payloadView(hook webhooks.Hook, d webhooks.Delivery) g.Node {
	payload, err := d.Payload()
	if err != nil {
		return nil // the worker's log says why
	}
	return h.Details(
		h.Summary(page.Text("Payload"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Textf("of %s", d.Event)})),
		g.If(d.HasRecord(hook), h.P(h.Class("hint"),
			page.Textf("Each try also sends the record as it is then: %s.", h.A(h.Href(fmt.Sprintf("%s/deliveries/%d", webhookPath(hook.ID), d.ID)), page.Text("payload with the record"))))),
		h.Pre(h.Code(g.Text(string(payload)))),
	)
}

// deliveryView shows what is sent with the record, and whether it is what was sent.
func deliveryView(hook webhooks.Hook, sent webhooks.Sent) g.Node {
	text := page.Text("This is what a try sends now.")
	switch {
	case sent.Same:
		text = "This is exactly what the last try sent."
	case sent.Tried:
		text = "The last try sent something else, because the record has changed since. This is what a try sends now."
	}
	return g.Group{
		h.P(text),
		h.Pre(h.Class("payload"), h.Code(g.Text(string(sent.Body)))),
		h.P(h.Class("hint"), page.Text("Records that were sent are not kept, because they have personal data. A digest of what was sent says whether it was the same.")),
		h.P(h.A(h.Href(webhookPath(hook.ID)), g.Text(hook.Name))),
	}
}

func tryView(t webhooks.Try) g.Node {
	outcome := page.Phrase(page.Text(t.Failure))
	switch {
	case t.Status >= 300 && t.Status < 400:
		outcome = page.Textf("answered %d: redirects are not followed", t.Status)
	case t.Status > 0:
		outcome = page.Textf("answered %d", t.Status)
	}
	return h.Div(page.Textf("%s: %s after %s", page.Stamp(t.At, ""), outcome, t.Took), g.Text(" "), g.If(t.Answer != "", h.Code(g.Text(t.Answer))))
}

// view shows the form of a webhook below its errors.
func (f *webhookForm) view(csrf string, names slots.Labels) g.Node {
	action, back, press := webhooksPath+"/new", webhooksPath, page.Text("Add the webhook")
	if f.ID != 0 {
		back, press = webhookPath(f.ID), "Change the webhook"
		action = back + "/edit"
	}
	return g.Group{
		f.Summary(),
		h.Form(h.Method("post"), h.Action(action), h.AutoComplete("off"), g.Attr("novalidate"),
			page.Hidden("csrf", csrf), f.Guard(),
			terms.Fields(&f.Form, webhooks.Terms, names),
			h.P(h.Class("actions"), h.Button(h.Class("main"), press), page.Button(back, page.Text("Cancel"))),
		),
	}
}

// webhookSecretView shows a secret, once, with what else there is to know.
func webhookSecretView(name, secret string, more page.Text) g.Node {
	return g.Group{
		h.P(page.Textf("This is the only time the secret of %s is shown. Copy it to the receiver, which checks signatures with it.", h.Strong(g.Text(name)))),
		g.If(more != "", h.P(more)),
		page.Secret("Secret", secret),
		h.P(webhooksLink("I have copied it: back to all webhooks")),
	}
}
