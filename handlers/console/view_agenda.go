package console

import (
	"net/url"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func (p *agendaPage) title() page.Phrase {
	from, _ := p.days()
	if p.Week {
		return page.Textf("Week of %s", words.LongDay(from))
	}
	return words.LongDay(p.Day)
}

func (p *agendaPage) view() g.Node {
	if len(p.grid.Columns) == 0 {
		none := page.Text("There is no active agent. Create one in LatePoint, under Agents.")
		if p.Of == domain.LocationResource {
			none = "There is no active location. Create one in LatePoint, under Locations."
		}
		return g.Group{bookingViews(bookingsPath), p.navigation(), p.nowhereView(), h.P(none)}
	}
	return g.Group{
		bookingViews(bookingsPath),
		p.navigation(),
		g.If(p.more, h.P(h.Class("warning"), page.Textf("Only the first %d bookings are shown. %s.", agendaBookings, h.A(h.Href(p.listPath()), page.Text("See all in the list"))))),
		g.If(p.noHolds != "", h.P(h.Class("warning"), page.Textf("Held times are not shown: the table %s is missing. Bookside makes it again when it is restarted.", p.noHolds))),
		p.nowhereView(),
		p.grid.View(),
		g.If(!p.readOnly, h.P(page.Button(p.newTimeOffPath(), page.Text("New time off")))),
		h.Ul(h.Class("legend agenda-legend"),
			h.Li(h.Class("open"), page.Text("working hours")), h.Li(h.Class("approved"), page.Text("approved")), h.Li(h.Class("pending"), page.Text("pending")), h.Li(h.Class("past"), page.Text("completed, no-show and others")),
			h.Li(h.Class("overlaps"), page.Text("overlaps")), h.Li(h.Class("hold"), page.Text("held for a customer")), h.Li(h.Class("off"), page.Text("time off and events of calendars"))),
		h.P(h.Class("hint"), page.Text("Cancelled bookings are only in the list. Working hours are those of the agent or location by itself; services can have others."), g.Text(" "), h.A(h.Href(p.freeTimesPath()), page.Text("Why is this time not free?"))),
	}
}

// nowhereView says how many bookings are in no column.
func (p *agendaPage) nowhereView() g.Node {
	if p.nowhere == 0 {
		return nil
	}
	why := page.Text("the agent was deleted")
	if p.Of == domain.LocationResource {
		why = "the location was deleted, or there is none"
	}
	return h.P(h.Class("warning"), page.Textf("%s: %s. %s.", page.Count(p.nowhere, "%d booking is in no column", "%d bookings are in no column"), why,
		h.A(h.Href(p.listPath()), page.Text("See all in the list"))))
}

// bookingViews leads from the agenda to the list, to time off and back, and names the zone of all times below it.
func bookingViews(here string) g.Node {
	return h.Div(h.Class("toolbar"),
		page.Links("Views of bookings", []page.Link{{Text: "Agenda", Path: bookingsPath, Here: here == bookingsPath}, {Text: "List", Path: bookingListPath, Here: here == bookingListPath}, {Text: "Free times", Path: freeTimesPath, Here: here == freeTimesPath}, {Text: "Time off", Path: timeOffPath, Here: here == timeOffPath}}),
		page.ZoneHint(),
	)
}

// navigation leads to other days, views and columns.
func (p *agendaPage) navigation() g.Node {
	to := func(change func(*agendaChoice)) string {
		other := p.agendaChoice
		change(&other)
		return other.path()
	}
	step, previous, next := availability.Day(1), page.Text("Previous day"), page.Text("Next day")
	if p.Week {
		step, previous, next = 7, "Previous week", "Next week"
	}
	return h.Div(h.Class("toolbar"),
		h.Nav(h.Class("actions"), page.Label("Days"),
			page.Button(to(func(a *agendaChoice) { a.Day -= step }), h.Span(h.Aria("hidden", "true"), g.Text("‹")), page.ScreenReaderText(previous)),
			page.Button(to(func(a *agendaChoice) { a.Day = p.today }), page.Text("Today")),
			page.Button(to(func(a *agendaChoice) { a.Day += step }), h.Span(h.Aria("hidden", "true"), g.Text("›")), page.ScreenReaderText(next)),
		),
		h.Form(h.Class("search"), h.Method("get"), h.Action(bookingsPath),
			p.hiddenChoice(),
			h.Input(h.Type("date"), h.Name("day"), h.Value(p.Day.String()), page.Label("Day"), h.Required()),
			h.Button(page.Text("Go")),
		),
		page.Links("Length", []page.Link{{Text: "Day", Path: to(func(a *agendaChoice) { a.Week, a.ID = false, 0 }), Here: !p.Week}, {Text: "Week", Path: to(func(a *agendaChoice) { a.Week, a.Page = true, 0 }), Here: p.Week}}),
		page.Links("Columns", []page.Link{
			{Text: "Agents", Path: to(func(a *agendaChoice) { a.Of, a.ID, a.Page = domain.AgentResource, 0, 0 }), Here: p.Of == domain.AgentResource},
			{Text: "Locations", Path: to(func(a *agendaChoice) { a.Of, a.ID, a.Page = domain.LocationResource, 0, 0 }), Here: p.Of == domain.LocationResource},
		}),
		p.columnChoice(to),
	)
}

func (p *agendaPage) hiddenChoice() g.Node {
	return g.Group{
		g.If(p.Week, page.Hidden("view", "week")),
		g.If(p.Of == domain.LocationResource, page.Hidden("by", "location")),
		g.If(p.ID != 0, page.Hidden("id", strconv.FormatInt(p.ID, 10))),
	}
}

// columnChoice leads to the other agents or locations: one of them for a week, and a page of them for a day.
func (p *agendaPage) columnChoice(to func(func(*agendaChoice)) string) g.Node {
	chosen := p.chosen()
	if p.Week && len(p.all) > 0 {
		return h.Form(h.Class("search"), h.Method("get"), h.Action(bookingsPath),
			page.Hidden("view", "week"), page.Hidden("day", p.Day.String()), g.If(p.Of == domain.LocationResource, page.Hidden("by", "location")),
			h.Select(h.Name("id"), page.Label("Whose week"), g.Map(p.all, func(c slots.Choice) g.Node {
				return h.Option(h.Value(strconv.FormatInt(c.ID, 10)), g.If(len(chosen) > 0 && c.ID == chosen[0].ID, h.Selected()), g.Text(c.Name))
			})),
			h.Button(page.Text("Show")),
		)
	}
	if len(p.all) <= agendaColumns {
		return nil
	}
	var pages []page.Link
	for first := 0; first < len(p.all); first += agendaColumns {
		last := min(first+agendaColumns, len(p.all))
		pages = append(pages, page.Link{Text: page.Text(strconv.Itoa(first+1) + "–" + strconv.Itoa(last)), Path: to(func(a *agendaChoice) { a.Page = first / agendaColumns }), Here: p.all[first] == chosen[0]})
	}
	return page.Links("Which of them", pages)
}

// freeTimesPath leads to the free times of the day, and of the agent whose week is shown.
func (p *agendaPage) freeTimesPath() string {
	q := freetimes.Question{Day: p.Day}
	if p.Week && p.Of == domain.AgentResource {
		q.Agent = p.ID
	}
	return freeTimesOf(q)
}

// listPath leads to the list of the same days.
func (p *agendaPage) listPath() string {
	from, to := p.days()
	return bookingListPath + "?when=all&from=" + from.String() + "&to=" + to.String()
}

// taken is the content of an item that is no booking.
func taken(text page.Phrase) func(page.Span) g.Node {
	return func(hours page.Span) g.Node {
		return g.Group{h.Span(h.Class("when"), words.Hours(hours)), g.Text(" "), text}
	}
}

// timeOff is the content of time off, which leads to its end.
func (p *agendaPage) timeOff(t timeoff.TimeOff) func(page.Span) g.Node {
	if p.readOnly {
		return taken(words.TimeOff(t, p.labels))
	}
	return func(hours page.Span) g.Node {
		return g.Group{h.Span(h.Class("when"), words.Hours(hours)), g.Text(" "), h.A(h.Href(endTimeOffPath(t.ID)), words.TimeOff(t, p.labels))}
	}
}

// newTimeOffPath leads to the form of time off on the first day, of the agent or location of a week.
func (p *agendaPage) newTimeOffPath() string {
	values := url.Values{"date": {p.Day.String()}}
	if chosen := p.chosen(); p.Week && len(chosen) > 0 {
		values.Set(string(p.Of)+"_id", strconv.FormatInt(chosen[0].ID, 10))
	}
	return timeOffPath + "/new?" + values.Encode()
}

func (p *agendaPage) booking(site *session.Session, b records.Booking, overlaps bool) page.Item {
	item := page.Item{Kind: "booking", Classes: words.StatusClass(b.Status)}
	about := []page.Phrase{words.Service(b)}
	switch {
	case p.Of == domain.LocationResource && b.Agent.FullName == "":
		about = append(about, words.Agent(b))
	case p.Of == domain.LocationResource:
		about[0] = page.Textf("%s with %s", about[0], b.Agent.FullName)
	}
	if b.Status != records.StatusApproved {
		about = append(about, words.Status(b.Status))
	}
	if overlaps {
		item.Classes += " overlaps"
		about = append(about, page.Text("overlaps"))
	}
	begins, _ := records.Start(site, b)
	item.Content = func(hours page.Span) g.Node {
		return h.A(h.Href(bookingPath(b.ID)), page.Attr("title", page.Textf("%s %s, %s", hours, words.Customer(b), page.List(about...))),
			h.Span(h.Class("when"), page.TimeAs(begins, page.Name(hours.String()))), g.Text(" "),
			h.Strong(words.Customer(b)), g.Text(" "), h.Span(page.List(about...)),
		)
	}
	return item
}
