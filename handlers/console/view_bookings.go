package console

import (
	"maps"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func bookingPath(id int64) string { return bookingsPath + "/" + strconv.FormatInt(id, 10) }

func (l *bookingList) view() g.Node {
	parts := []page.Link{{Text: "Upcoming", Path: upcomingBookings}, {Text: "Past", Path: pastBookings}, {Text: "Cancelled", Path: cancelledBookings}, {Text: "All", Path: allBookings}}
	for i := range parts {
		parts[i].Here = parts[i].Path == l.when
		parts[i].Path = l.path("when", parts[i].Path)
	}
	list := h.P(h.Role("status"), l.nothing())
	if len(l.found.Records) > 0 {
		list = page.Table([]page.Text{"Customer", "Time", "Service", "Agent", "Status"}, g.Map(l.found.Records, func(b records.Booking) g.Node { return bookingRow(l.site, b) }))
	}
	return g.Group{
		bookingViews(bookingListPath),
		l.form(),
		page.Links("Parts of the list", parts),
		list,
		l.pages(),
	}
}

// nothing says that the list is empty.
func (l *bookingList) nothing() page.Phrase {
	if l.values.Has("q") {
		return page.Textf("No booking was found for %s: try another part of the list, or fewer conditions.", l.values.Get("q"))
	}
	return page.Text("There are no such bookings: try another part of the list, or fewer conditions.")
}

// path returns the address of the list with another value of a parameter.
func (l *bookingList) path(name, value string) string {
	values := maps.Clone(l.values)
	values.Set(name, value)
	return bookingListPath + "?" + values.Encode()
}

func (l *bookingList) form() g.Node {
	var statuses []page.Choice
	for _, status := range l.statuses {
		statuses = append(statuses, page.Choice{Value: status, Text: words.Status(status)})
	}
	choices := func(name string, label page.Text, resource domain.Resource) g.Node {
		return page.Condition(name, label, page.Selection(name, l.values.Get(name), recordChoices(l.labels[resource])))
	}
	date := func(name string, label page.Text) g.Node {
		return page.Condition(name, label, h.Input(h.ID(name), h.Name(name), h.Type("date"), h.Value(l.values.Get(name))))
	}
	return h.Form(h.Class("conditions"), h.Method("get"), h.Action(bookingListPath), h.Role("search"),
		page.Hidden("when", l.when), g.If(l.values.Has("customer"), page.Hidden("customer", l.values.Get("customer"))),
		page.Condition("q", "Search", h.Input(h.ID("q"), h.Name("q"), h.Type("search"), h.Value(l.values.Get("q")), page.Placeholder("name, e-mail, code or id"))),
		page.Condition("status", "Status", page.Selection("status", l.values.Get("status"), statuses)),
		choices("agent", "Agent", domain.AgentResource),
		choices("service", "Service", domain.ServiceResource),
		choices("location", "Location", domain.LocationResource),
		date("from", "From"),
		date("to", "To"),
		h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Search")), h.A(h.Class("button quiet"), h.Href(bookingListPath), page.Text("Clear"))),
	)
}

// pages says which part of the list is shown, and leads to the others.
func (l *bookingList) pages() g.Node {
	p := l.found
	if len(p.Records) == 0 && p.Page == 1 {
		return nil
	}
	first := (p.Page-1)*p.PerPage + 1
	text := page.Phrase(page.Text("No more bookings"))
	if len(p.Records) > 0 {
		text = page.Textf("%s of %d", strconv.FormatInt(first, 10)+"–"+strconv.FormatInt(first+int64(len(p.Records))-1, 10), p.Total)
	}
	to := func(number int64) string { return l.path("page", strconv.FormatInt(number, 10)) }
	return h.Nav(h.Class("toolbar pages"), page.Label("Pages of the list"),
		h.Span(text),
		g.If(p.Page > 1, page.Button(to(p.Page-1), page.Text("Previous"))),
		g.If(p.More, page.Button(to(p.Page+1), page.Text("Next"))),
	)
}

// recordChoices are agents, services or locations to choose from.
func recordChoices(all []slots.Choice) []page.Choice {
	choices := make([]page.Choice, len(all))
	for i, c := range all {
		choices[i] = page.Choice{Value: strconv.FormatInt(c.ID, 10), Text: page.Name(c.Name)}
	}
	return choices
}

func bookingRow(s *session.Session, b records.Booking) g.Node {
	return page.Row(
		g.Group{h.A(h.Class("name"), h.Href(bookingPath(b.ID)), words.Customer(b)), h.Span(h.Class("hint"), h.Code(g.Text(b.Code)))},
		page.Cell("Time", words.BookingTime(s, b)),
		page.Cell("Service", words.Service(b)),
		page.Cell("Agent", g.Group{g.Text(b.Agent.FullName), g.If(b.Location.Name != "", g.Group{h.Br(), h.Span(h.Class("hint"), g.Text(b.Location.Name))})}),
		page.Cell("Status", words.StatusView(b.Status)),
	)
}
