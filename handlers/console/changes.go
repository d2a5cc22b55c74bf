package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

// shownChanges is the number of journal entries on a page.
const shownChanges = 100

// changesOf returns the address of the changes that a request made.
func changesOf(request string) string {
	return changesPath + "?" + url.Values{"request": {request}}.Encode()
}

// listChanges shows what a request changed, or else the latest changes, of all resources or of one.
func (c *Console) listChanges(v *visit) error {
	query := v.r.URL.Query()
	resource, request := journal.Resource(query.Get("resource")), query.Get("request")
	ofRequest := request != ""
	var only []journal.Resource
	if slices.Contains(journal.Resources, resource) && !ofRequest {
		only = []journal.Resource{resource}
	}
	before, _ := strconv.ParseInt(query.Get("before"), 10, 64) // otherwise the newest entries
	var entries []journal.Entry
	var err error
	if ofRequest {
		entries, err = v.Platform.Journal.OfRequest(v.ctx(), request, shownChanges)
	} else {
		entries, err = v.Platform.Journal.Latest(v.ctx(), only, before, shownChanges)
	}
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the tables there is no journal
		return err
	}
	names, err := v.keyNamesIn(entries)
	if err != nil {
		return err
	}
	labels := c.changeLabels(v, entries)

	unfiltered := len(only) == 0 && !ofRequest
	filters := []page.Link{{Text: "all", Path: changesPath, Here: unfiltered}}
	for _, r := range journal.Resources {
		filters = append(filters, page.Link{Text: page.Text(r), Path: changesPath + "?resource=" + string(r), Here: slices.Contains(only, r)})
	}
	list := h.P(page.Text("There are no such changes."))
	if unfiltered {
		list = h.P(page.Text("The journal is empty: it begins with the next change."))
	}
	if len(entries) > 0 {
		list = page.Table([]page.Text{"What changed", "Who", "Details", "Time"}, g.Map(entries, func(e journal.Entry) g.Node { return changeRow(e, names, labels) }))
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Changes")}, g.Group{
		page.ZoneHint(),
		h.P(page.Text("All changes on the site, made by anybody.")),
		page.Links("Records", filters),
		g.If(ofRequest, h.P(page.Textf("What the request %s changed:", h.Code(g.Text(request))))),
		list,
		g.Iff(len(entries) == shownChanges && !ofRequest, func() g.Node {
			return h.P(page.A(changesPath+"?"+url.Values{"resource": {string(resource)}, "before": {number(entries[len(entries)-1].Number)}}.Encode(), page.Text("Older changes")))
		}),
		h.P(h.Class("hint"), page.Textf("Changes by others that were found by comparing have the time at which they were found. Those among the last 10,000 are shown; clients read all of them with %s.", h.Code(page.Code("GET /changes")))),
	})
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

func changeRow(e journal.Entry, names map[int64]string, labels slots.Labels) g.Node {
	request := g.If(e.RequestID != "", g.Group{g.Text(", "), page.A(requestsOf("request", e.RequestID), page.Text("request"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Textf("of change %d", e.Number)}))})
	return page.Row(
		g.Group{h.Span(h.Class("name"), words.Changed(e)), g.Text(" "), h.Span(h.Class("hint"), g.Text(number(e.Number)))},
		page.Cell("Who", originView(e, names), request),
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
	case e.Origin == journal.FromSite && e.ActorID != 0:
		return page.Textf("WordPress user %d", e.ActorID)
	case e.Origin == journal.FromSite:
		return g.Text("WordPress")
	default:
		return page.Text("not known")
	}
}
