package console

import (
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/handlers/console/page"
)

// searchField is the search in the navigation of every page, with the text that was last searched for.
func searchField(text string) g.Node {
	return h.Form(h.Class("search"), h.Role("search"), page.Label("Bookings, customers and requests"), h.Method("get"), h.Action(searchPath),
		h.Input(h.ID("search"), h.Type("search"), h.Name("q"), h.Value(text), page.Label("Search bookings, customers and requests"), h.Aria("keyshortcuts", "/"), page.Placeholder("Code, name or id")))
}

func (f *searchResults) view() g.Node {
	if f.text == "" {
		return h.P(page.Text("Search bookings, customers and requests by code, name, e-mail address, telephone number or id."))
	}
	parts := []g.Node{
		page.ZoneHint(),
		foundView("Bookings", "More bookings", []page.Text{"Customer", "Time", "Service", "Agent", "Status"}, f.bookings, func(b records.Booking) g.Node { return bookingRow(f.site, b) },
			bookingListPath+"?"+url.Values{"q": {f.text}, "when": {allBookings}}.Encode()),
		foundView("Customers", "", []page.Text{"Customer", "E-mail", "Phone"}, f.customers, customerRow, ""),
		foundView("Requests", "More requests", []page.Text{"Request", "Key", "Status", "Duration", "Statements", "Time"}, f.requests, requestList{Keys: f.keyNames}.row, requestsOf("request", f.text)),
	}
	if len(f.bookings)+len(f.customers)+len(f.requests) == 0 {
		return h.P(h.Role("status"), page.Textf("Nothing was found by code, name, e-mail address, telephone number or id: %s", f.text))
	}
	return g.Group(parts)
}

// foundView shows what was found of one kind, and leads to more of it.
func foundView[T any](title, moreText page.Text, heads []page.Text, found []T, row func(T) g.Node, more string) g.Node {
	if len(found) == 0 {
		return nil
	}
	return g.Group{
		h.H2(title),
		page.Table(heads, g.Map(found, row)),
		g.If(len(found) >= foundPerKind && more != "", h.P(h.A(h.Href(more), moreText))),
	}
}

// customerRow leads to the bookings of a customer.
func customerRow(c records.Customer) g.Node {
	id := strconv.FormatInt(c.ID, 10)
	name := page.Phrase(page.Textf("Customer %d", c.ID))
	if c.FullName() != "" {
		name = page.Name(c.FullName())
	}
	return page.Row(g.Group{h.A(h.Class("name"), h.Href(bookingListPath+"?when=all&customer="+id), name), h.Span(h.Class("hint"), page.Textf("customer %d", c.ID))},
		page.Cell("E-mail", g.Text(c.Email)),
		page.Cell("Phone", g.Text(c.Phone)))
}
