package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/slots"
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
	labels := c.changeLabels(v, entries)
	c.answer(v, http.StatusOK, page.Layout{Title: page.Text("Journal")}, changesView(only, entries, names, labels), facts.ChangesOf(entries, names))
	return nil
}

// changeLabels returns the names of the records that entries are of and of those that bookings were moved between.
func (c *Console) changeLabels(v *visit, entries []journal.Entry) slots.Labels {
	labels := c.labels(v, len(entries) > 0)
	if labels == nil {
		return nil
	}
	ids := map[domain.Resource][]int64{}
	for _, e := range entries {
		ids[words.RecordOf(e)] = append(ids[words.RecordOf(e)], e.ID)
		if e.Booking != nil {
			ids[domain.CustomerResource] = append(ids[domain.CustomerResource], e.Booking.CustomerID, domain.ValueOr(e.Booking.Before, e.Booking.Assignment).CustomerID)
		}
	}
	if err := labels.Add(v.ctx(), v.opened, ids); err != nil {
		c.log.WarnContext(v.ctx(), "console: names not read", "error", err)
	}
	return labels
}

func changesView(only []journal.Resource, entries []journal.Entry, names map[int64]string, labels slots.Labels) g.Node {
	filters := []page.Link{{Text: "all", Path: journalPath, Here: len(only) == 0}}
	for _, r := range journal.Resources {
		filters = append(filters, page.Link{Text: page.Text(r), Path: journalPath + "?resource=" + string(r), Here: slices.Contains(only, r)})
	}
	list := h.P(page.Text("The journal has no such changes."))
	if len(only) == 0 {
		list = h.P(page.Text("The journal is empty: it begins with the next change."))
	}
	if len(entries) > 0 {
		list = page.Table([]page.Text{"What changed", "Who", "Details", "Time"}, g.Map(entries, func(e journal.Entry) g.Node { return changeRow(e, names, labels) }))
	}
	return g.Group{
		page.ZoneHint(),
		h.P(page.Text("All changes on the site, made by anybody.")),
		page.Links("Records", filters),
		list,
		h.P(h.Class("hint"), page.Textf("Changes by others that were found by comparing have the time at which they were found. The newest %d are shown, among the last 10,000; clients read all of them with %s.",
			shownChanges, h.Code(page.Code("GET /changes")))),
	}
}

func changeRow(e journal.Entry, names map[int64]string, labels slots.Labels) g.Node {
	name := g.Node(words.Changed(e))
	if e.Resource == journal.Bookings {
		name = h.A(h.Href(bookingPath(e.ID)), name)
	}
	return page.Row(
		g.Group{h.Span(h.Class("name"), name), g.Text(" "), h.Span(h.Class("hint"), g.Text(strconv.FormatInt(e.Number, 10)))},
		page.Cell("Who", originView(e, names), g.If(e.RequestID != "", g.Group{g.Text(", "), h.A(h.Href(requestsOf("request", e.RequestID)), page.Text("request"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Textf("of change %d", e.Number)}))})),
		page.Cell("Details", words.Change(e, labels)),
		page.Cell("Time", page.Time(e.At)),
	)
}

// originView says who changed a record.
func originView(e journal.Entry, names map[int64]string) g.Node {
	switch {
	case e.Origin == journal.FromAPI && e.ActorID != 0:
		return keyLink(e.ActorID, names)
	case e.Origin == journal.FromAPI:
		return g.Text("Bookside")
	case e.Origin == journal.FromConsole && e.Person == "":
		return page.Text("an administrator, on the console")
	case e.Origin == journal.FromConsole:
		return h.Span(h.Class("word"), page.Textf("%s, on the console", e.Person))
	case e.Origin == journal.FromSite && e.ActorID != 0:
		return page.Textf("WordPress user %d", e.ActorID)
	case e.Origin == journal.FromSite:
		return g.Text("WordPress")
	default:
		return page.Text("not known")
	}
}
