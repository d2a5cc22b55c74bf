package console

import (
	"errors"
	"net/http"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

// shownEvents is the number of events on a page.
const shownEvents = 50

// events lists what extensions of the site were told, what waits for them and what failed.
func (v *visit) events() (g.Node, error) {
	list, err := extensions.ListEvents(v.ctx(), v.Platform.DB, "", shownEvents)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no events
		return nil, err
	}
	table := h.P(page.Text("They were told nothing yet."))
	if len(list) > 0 {
		table = page.Table([]page.Text{"Event", "State", "Queued", ""}, g.Map(list, eventRow))
	}
	return g.Group{
		h.P(page.Text("What the companion tells the extensions of the site, such as calendars and Zoom, about changes by the API.")),
		table,
		h.P(h.Class("hint"), page.Textf("The newest %d of the last 30 days are shown. What extensions may have heard of as new is told again as an update, and payments are not told again; messages are not sent again.", shownEvents)),
	}, nil
}

func eventRow(e extensions.StoredEvent) g.Node {
	class := "status past"
	if e.State == extensions.EventFailed {
		class = "status broken"
	}
	state := g.Group{h.Span(h.Class(class), page.Text(e.State))}
	if e.FinishedAt != "" {
		state = append(state, h.Br(), h.Span(h.Class("hint"), page.Stamp(e.FinishedAt, "")))
	}
	if e.Failure != "" {
		state = append(state, h.Br(), g.Text(e.Failure))
	}
	return page.Row(g.Group{h.Span(h.Class("name event"), g.Text(e.Name)), g.Text(" "), h.Span(h.Class("hint"), g.Text(number(e.RecordID)))},
		page.Cell("State", state),
		page.Cell("Queued", page.Stamp(e.CreatedAt, "")),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(e.Repeatable(), page.PostForm(webhooksPath+"/events/"+number(e.ID)+"/again",
			h.Button(page.Text("Send again"), page.ScreenReaderText(page.Name(" "+e.Name+" "+number(e.RecordID))))))),
	)
}

// tellAgain sends a failed event to extensions again.
func (c *Console) tellAgain(v *visit) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	found := false
	if err == nil {
		if found, err = extensions.RepeatEvent(v.ctx(), v.Platform.DB, c.now(), id); err != nil {
			return err
		}
	}
	if !found {
		c.showMessage(v, http.StatusNotFound, "There is no such failed event", "Look for it in the list: perhaps extensions are told about it again already.")
		return nil
	}
	if v.Platform.Events != nil {
		v.Platform.Events.Wake()
	}
	c.log.InfoContext(v.ctx(), "console: extensions are told again", "event_id", id)
	return redirect(v, webhooksPath)
}
