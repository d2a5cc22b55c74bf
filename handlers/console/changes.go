package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

// shownChanges is the number of journal entries on a page.
const shownChanges = 100

func (c *Console) listChanges(v *visit) error {
	resource := journal.Resource(v.r.URL.Query().Get("resource"))
	var only []journal.Resource
	if slices.Contains(journal.Resources, resource) {
		only = []journal.Resource{resource}
	}
	before, _ := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64) // otherwise the newest entries
	entries, err := v.Platform.Journal.Latest(v.ctx(), only, before, shownChanges)
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the tables there is no journal
		return err
	}
	names, err := v.keyNamesIn(entries)
	if err != nil {
		return err
	}
	c.answer(v, http.StatusOK, page.Layout{Title: "Journal"}, changesView(only, entries, names), facts.ChangesOf(entries, names))
	return nil
}

func changesView(only []journal.Resource, entries []journal.Entry, names map[int64]string) g.Node {
	filters := []page.Link{{Text: "all", Path: journalPath, Here: len(only) == 0}}
	for _, r := range journal.Resources {
		filters = append(filters, page.Link{Text: string(r), Path: journalPath + "?resource=" + string(r), Here: slices.Contains(only, r)})
	}
	list := h.P(g.Text("The journal has no such changes."))
	if len(entries) > 0 {
		list = page.Table([]string{"Change", "Who", "Details", "Time"}, g.Map(entries, func(e journal.Entry) g.Node { return changeRow(e, names) }))
	}
	return g.Group{
		h.P(g.Text("All changes on the site, made by anybody.")),
		page.Links("Records", filters),
		list,
		h.P(h.Class("hint"), g.Text("Times are in UTC; changes by others that were found by comparing have the time at which they were found. The newest "+strconv.Itoa(shownChanges)+" are shown, among the last 10,000; clients read all of them with "),
			h.Code(g.Text("GET /changes")), g.Text(".")),
	}
}

func changeRow(e journal.Entry, names map[int64]string) g.Node {
	name := g.Text(fmt.Sprintf("%s %d %s", e.Resource, e.ID, e.Kind))
	if e.Resource == journal.Bookings {
		name = h.A(h.Href(bookingPath(e.ID)), name)
	}
	return page.Row(
		g.Group{h.Span(h.Class("name"), name), g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(e.Number, 10)))},
		page.Cell("Who", originView(e, names), g.If(e.RequestID != "", g.Group{g.Text(", "), h.A(h.Href(requestsOf("request", e.RequestID)), g.Text("request"), page.ScreenReaderText(fmt.Sprintf(" of change %d", e.Number)))})),
		page.Cell("Details", g.Text(words.Change(e.Booking))),
		page.Cell("Time", page.NewUTC(domain.Timestamp(e.At.Format(time.DateTime))).View("")),
	)
}

// originView says who changed a record.
func originView(e journal.Entry, names map[int64]string) g.Node {
	switch {
	case e.Origin == journal.FromAPI && e.ActorID != 0:
		return keyLink(e.ActorID, names)
	case e.Origin == journal.FromAPI:
		return g.Text("Bookside")
	case e.Origin == journal.FromConsole:
		return h.Span(h.Class("word"), g.Text(cmp.Or(e.Person, "an administrator")+", on the console"))
	case e.Origin == journal.FromSite && e.ActorID != 0:
		return g.Text(fmt.Sprintf("WordPress user %d", e.ActorID))
	case e.Origin == journal.FromSite:
		return g.Text("WordPress")
	default:
		return g.Text("not known")
	}
}
