package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/outbox"
	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

// shownMails is the number of mails on a page.
const shownMails = 100

func (c *Console) listMails(v *visit) error {
	state := v.r.URL.Query().Get("state")
	if !slices.Contains(outbox.States, state) {
		state = ""
	}
	mails, err := upkeep.HeldMails(v.ctx(), v.Platform, state, shownMails)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no mails
		return err
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Outbox")}, mailsView(state, mails, v.Platform.Outbox != nil))
	return nil
}

func mailsView(state string, mails []outbox.StoredMail, sends bool) g.Node {
	filters := []page.Link{{Text: "all", Path: outboxPath, Here: state == ""}}
	for _, s := range outbox.States {
		filters = append(filters, page.Link{Text: page.Text(s), Path: outboxPath + "?state=" + s, Here: state == s})
	}
	list := h.P(page.Text("There are no such mails."))
	if len(mails) > 0 {
		list = page.Table([]page.Text{"Mail", "recipient\x04To", "State", "Queued"}, g.Map(mails, mailRow))
	}
	return g.Group{
		page.ZoneHint(),
		h.P(page.Text("Mails of the site's own processes that Bookside sends, because the site does not.")),
		g.If(!sends, h.P(h.Class("warning"), page.Textf("This server sends no mails: %s is false, or the site sends its own.", h.Kbd(page.Code("mail.enabled"))))),
		page.Links("States", filters),
		list,
		h.P(h.Class("hint"), page.Textf("Sent and failed mails are kept for 30 days; the newest %d are shown.", shownMails)),
	}
}

func mailRow(m outbox.StoredMail) g.Node {
	state := g.Group{h.Span(h.Class("status "+m.State), page.Text(m.State))}
	switch {
	case m.Waits():
		state = append(state, h.Br(), h.Span(h.Class("hint"), page.Textf("next try %s", page.Stamp(m.DueAt, ""))))
	case m.FinishedAt != "":
		state = append(state, h.Br(), h.Span(h.Class("hint"), page.Stamp(m.FinishedAt, "")))
	}
	if m.Tries > 0 {
		state = append(state, h.Br(), h.Span(h.Class("hint"), page.Count(m.Tries, "%d try", "%d tries")))
	}
	if m.Failure != "" {
		state = append(state, h.Br(), g.Text(m.Failure))
	}
	return page.Row(g.Group{h.Span(h.Class("name"), g.Text(m.Subject)), g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(m.ID, 10)))},
		page.Cell("recipient\x04To", g.If(m.Name != "", g.Group{g.Text(m.Name), h.Br()}), h.Span(h.Class("word"), g.Text(m.Address))),
		page.Cell("State", state),
		page.Cell("Queued", page.Stamp(m.CreatedAt, "")),
	)
}
