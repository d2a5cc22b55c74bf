package console

import (
	"fmt"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/webhooks"
	"github.com/bookside/bookside/handlers/console/page"
)

func webhooksLink(text string) g.Node { return h.A(h.Href(webhooksPath), g.Text(text)) }

// webhooksView shows all webhooks.
func webhooksView(all []webhooks.Hook) g.Node {
	list := h.P(g.Text("There are no webhooks."))
	if len(all) > 0 {
		list = page.Table([]string{"Name", "URL", "Events", "Key", "Status"}, g.Map(all, webhookRow))
	}
	return g.Group{
		h.P(g.Text("A webhook sends all changes on the site to a URL.")),
		h.P(h.A(h.Class("button main"), h.Href(webhooksPath+"/new"), g.Text("New webhook"))),
		list,
	}
}

func webhookRow(hook webhooks.Hook) g.Node {
	key := "none"
	if hook.KeyID != 0 {
		key = strconv.FormatInt(hook.KeyID, 10)
	}
	return h.Tr(h.Role("row"),
		h.Th(h.Role("rowheader"), h.Scope("row"), h.A(h.Class("name"), h.Href(webhookPath(hook.ID)), g.Text(hook.Name)),
			g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(hook.ID, 10)))),
		page.Cell("URL", h.Code(g.Text(webhooks.MaskURL(hook.URL)))),
		page.Cell("Events", g.Text(strings.Join(hook.Filter.Events, ", "))),
		page.Cell("Key", g.Text(key)),
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
		h.Span(h.Class(class), g.Text(string(hook.Status))),
		g.If(hook.Reason != "", g.Group{h.Br(), h.Span(h.Class("hint"), g.Text(hook.Reason))}),
		g.If(hook.FailingSince != "", g.Group{h.Br(), h.Span(h.Class("hint"), g.Text("failing since "), page.NewUTC(hook.FailingSince).View(""))}),
	}
}

// webhookView shows a webhook with its actions and its log.
func webhookView(hook webhooks.Hook, labels slots.Labels, deliveries []webhooks.Delivery, tries map[int64][]webhooks.Try, csrf, nonce, problem string) g.Node {
	action := func(name, class, text string, more ...g.Node) g.Node {
		return h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/"+name), page.Hidden("csrf", csrf), g.Group(more), h.Button(h.Class(class), g.Text(text)))
	}
	onOff := action("disable", "", "Disable")
	if hook.Status != webhooks.Enabled {
		onOff = action("enable", "main", "Enable")
	}
	return g.Group{
		page.Alert(problem),
		h.P(h.Code(g.Text(webhooks.MaskURL(hook.URL))), g.Text(" gets "+strings.Join(hook.Filter.Events, ", ")+filterView(hook.Filter, labels)+".")),
		h.P(webhookStatus(hook)),
		g.If(hook.Status != webhooks.Enabled, h.P(h.Class("hint"), g.Text("When it is enabled, it first gets the changes since it was disabled."))),
		h.Div(h.Class("actions"), action("test", "main", "Send a test"), page.Button(webhookPath(hook.ID)+"/edit", g.Text("Change")), onOff, action("rotate", "", "Change the secret", page.Hidden("nonce", nonce)), page.Button(webhookPath(hook.ID)+"/delete", g.Text("Delete"))),
		h.H2(g.Text("Latest deliveries")),
		g.If(len(deliveries) == 0, h.P(g.Text("Nothing was sent yet."))),
		g.If(len(deliveries) > 0, page.Table([]string{"Event", "Queued", "State", "Tries", ""},
			g.Map(deliveries, func(d webhooks.Delivery) g.Node { return deliveryRow(hook, d, tries[d.ID], csrf) }))),
		h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/replay-since"), page.Hidden("csrf", csrf), h.Div(h.Class("field"),
			h.Label(h.For("since"), g.Text("Send all changes again since (UTC)")),
			h.Input(h.ID("since"), h.Name("since"), h.Type("datetime-local"), h.Required()), g.Text(" "), h.Button(g.Text("Send again")),
		)),
		h.P(h.Class("hint"), g.Text("Times are in UTC. The log is kept for 30 days; bookside webhooks log shows all of it.")),
		h.P(webhooksLink("All webhooks")),
	}
}

func deleteWebhookView(hook webhooks.Hook, csrf string) g.Node {
	return g.Group{
		h.P(g.Text("The receiver of "), h.Strong(g.Text(hook.Name)), g.Text(" ("), h.Code(g.Text(webhooks.MaskURL(hook.URL))),
			g.Text(") is told nothing any more, and the log of its deliveries is deleted. This cannot be undone.")),
		h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/delete"), page.Hidden("csrf", csrf),
			h.P(h.Class("actions"), h.Button(h.Class("danger"), g.Text("Delete the webhook")), page.Button(webhookPath(hook.ID), g.Text("Keep it")))),
	}
}

func filterView(f webhooks.Filter, labels slots.Labels) string {
	text := ""
	for _, part := range (keys.Key{Scope: f.Scope()}).ScopeSummary(labels.Text) {
		text += ", of bookings only those of " + part
	}
	return text
}

func deliveryRow(hook webhooks.Hook, d webhooks.Delivery, tries []webhooks.Try, csrf string) g.Node {
	about := g.Group{h.Span(h.Class("name event"), g.Text(d.Event))}
	if d.ResourceID != 0 {
		about = append(about, g.Text(" "), h.Span(h.Class("hint"), g.Text(fmt.Sprintf("%s %d", d.Resource, d.ResourceID))))
	}
	state := g.Group{g.Text(d.State)}
	if d.Waits() && d.Tries > 0 {
		state = g.Group{g.Text("next try "), page.NewUTC(d.DueAt).View("")}
	}
	return h.Tr(h.Role("row"),
		h.Th(h.Role("rowheader"), h.Scope("row"), about, payloadView(hook, d)),
		page.Cell("Queued", page.NewUTC(d.CreatedAt).View("")),
		page.Cell("State", state),
		page.Cell("Tries", g.Map(tries, tryView)),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(d.FinishedAt != "", h.Form(h.Method("post"), h.Action(webhookPath(hook.ID)+"/replay"),
			page.Hidden("csrf", csrf), page.Hidden("delivery", strconv.FormatInt(d.ID, 10)), h.Button(g.Text("Send again"), page.ScreenReaderText(" "+d.Event))))),
	)
}

// payloadView shows what is sent, folded.
func payloadView(hook webhooks.Hook, d webhooks.Delivery) g.Node {
	payload, err := d.Payload()
	if err != nil {
		return nil // the worker's log says why
	}
	return h.Details(
		h.Summary(g.Text("Payload"), page.ScreenReaderText(" of "+d.Event)),
		g.If(hook.Record, h.P(h.Class("hint"), g.Text("The record in it is read for each try and not kept."))),
		h.Pre(h.Code(g.Text(string(payload)))),
	)
}

func tryView(t webhooks.Try) g.Node {
	outcome := t.Failure
	if outcome == "" {
		outcome = fmt.Sprintf("answered %d", t.Status)
	}
	return h.Div(page.NewUTC(t.At).View(""), g.Text(fmt.Sprintf(" %s after %v ", outcome, t.Took)), g.If(t.Answer != "", h.Code(g.Text(t.Answer))))
}

// view shows the form of a webhook below its errors.
func (f *webhookForm) view(csrf string) g.Node {
	action, back, press := webhooksPath+"/new", webhooksPath, "Add the webhook"
	if f.ID != 0 {
		back, press = webhookPath(f.ID), "Change the webhook"
		action = back + "/edit"
	}
	return g.Group{
		f.Summary(),
		h.Form(h.Method("post"), h.Action(action), h.AutoComplete("off"), g.Attr("novalidate"),
			page.Hidden("csrf", csrf), f.Guard(),
			fields(&f.Form, webhooks.Terms),
			h.P(h.Class("actions"), h.Button(h.Class("main"), g.Text(press)), page.Button(back, g.Text("Cancel"))),
		),
	}
}

// webhookSecretView shows a secret, once.
func webhookSecretView(name, secret string) g.Node {
	return g.Group{
		h.P(g.Text("This is the only time the secret of "), h.Strong(g.Text(name)), g.Text(" is shown. Copy it to the receiver, which checks signatures with it. An earlier secret stays valid for a day.")),
		page.Secret("Secret", secret),
		h.P(webhooksLink("I have copied it: back to all webhooks")),
	}
}
