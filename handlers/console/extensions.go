package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

const extensionsPath = Path + "/extensions"

func (c *Console) addExtensions(mux *http.ServeMux) {
	mux.Handle("GET "+extensionsPath, c.withSession(func(v *visit) error { return c.listEvents(v, http.StatusOK, "") }))
	mux.Handle("POST "+extensionsPath+"/{id}/again", c.withForm(c.listEvents, c.tellAgain))
}

// shownEvents is the number of events on a page.
const shownEvents = 100

func (c *Console) listEvents(v *visit, status int, problem page.Text) error {
	state := v.r.URL.Query().Get("state")
	if !slices.Contains(events.States, state) {
		state = ""
	}
	list, err := events.List(v.ctx(), v.Platform.DB, state, shownEvents)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no events
		return err
	}
	if v.wordpress {
		return v.sendExtensions(list)
	}
	c.show(v, status, page.Layout{Title: page.Text("Extensions"), Invalid: problem != ""}, eventsView(state, list, csrfToken(v.session), problem))
	return nil
}

// tellAgain sends a failed event to extensions again.
func (c *Console) tellAgain(v *visit) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	found := false
	if err == nil {
		if found, err = events.Again(v.ctx(), v.Platform.DB, c.now(), id); err != nil {
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
	if v.wordpress {
		return c.listEvents(v, http.StatusOK, "")
	}
	return v.redirect(extensionsPath)
}

func eventsView(state string, list []events.Stored, csrf string, problem page.Text) g.Node {
	filters := []page.Link{{Text: "all", Path: extensionsPath, Here: state == ""}}
	for _, s := range events.States {
		filters = append(filters, page.Link{Text: page.Text(s), Path: extensionsPath + "?state=" + s, Here: state == s})
	}
	table := h.P(page.Text("There are no such events."))
	if len(list) > 0 {
		table = page.Table([]page.Text{"Event", "State", "Queued", ""}, g.Map(list, func(e events.Stored) g.Node { return eventRow(e, csrf) }))
	}
	return g.Group{
		page.Alert(problem),
		page.ZoneHint(),
		h.P(page.Textf("What the companion told the extensions of the site, such as calendars and Zoom, about changes by the API. To compare the site's own times and prices with those of the API, run %s.", h.Kbd(page.Code("bookside extensions verify")))),
		page.Links("States", filters),
		table,
		h.P(h.Class("hint"), page.Textf("The newest %d of the last 30 days are shown. What extensions may have heard of as new is told again as an update, and payments are not told again; messages are not sent again.", shownEvents)),
	}
}

func eventRow(e events.Stored, csrf string) g.Node {
	id := strconv.FormatInt(e.ID, 10)
	state := g.Group{h.Span(h.Class("status "+e.State), page.Text(e.State))}
	if e.FinishedAt != "" {
		state = append(state, h.Br(), h.Span(h.Class("hint"), page.Stamp(e.FinishedAt, "")))
	}
	if e.Failure != "" {
		state = append(state, h.Br(), g.Text(e.Failure))
	}
	return page.Row(g.Group{h.Span(h.Class("name event"), g.Text(e.Name)), g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(e.RecordID, 10)))},
		page.Cell("State", state),
		page.Cell("Queued", page.Stamp(e.CreatedAt, "")),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(e.Repeatable(), h.Form(h.Method("post"), h.Action(extensionsPath+"/"+id+"/again"),
			page.Hidden("csrf", csrf), h.Button(page.Text("Send again"), page.ScreenReaderText(page.Name(" "+e.Name+" "+strconv.FormatInt(e.RecordID, 10))))))),
	)
}
