package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

const (
	dayAgents   = 6   // beside each other
	dayBookings = 500 // on a page
	dayTimeOff  = 100 // on a page
)

// dayAddress returns the address of the agenda of a day.
func dayAddress(day availability.Day) string { return dayPath + "?day=" + day.String() }

// agenda is the agenda of a day, a column for each agent.
type agenda struct {
	day     availability.Day
	site    *session.Session
	address string // of WordPress; "" if it is not known
	labels  slots.Labels
	table   slots.Timetable
	timeOff []catalog.TimeOff
}

func (c *Console) showDay(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	today := availability.MomentOf(site.LocalNow()).Day
	a := agenda{day: dayOf(v.r.URL.Query(), today), site: site}
	if a.address, err = slots.Address(v.ctx(), site); err != nil {
		return err
	}
	agents, err := slots.TimetableAgents(v.ctx(), site, a.day)
	if err != nil {
		return err
	}
	first, _ := strconv.Atoi(v.r.URL.Query().Get("from")) // otherwise the first ones
	first = min(max(first, 0), max(len(agents)-1, 0)) / dayAgents * dayAgents
	shown := agents[first:min(first+dayAgents, len(agents))]
	ids := make([]int64, len(shown))
	for i, agent := range shown {
		ids[i] = agent.ID
	}
	if a.table, err = slots.LoadTimetable(v.ctx(), site, ids, a.day, dayBookings); err != nil {
		return err
	}
	off, err := catalog.ListTimeOff(v.ctx(), site, catalog.TimeOffFilter{Paging: session.Paging{Page: 1, PerPage: dayTimeOff}, From: &a.day, To: &a.day})
	if err != nil {
		return err
	}
	a.timeOff = off.Records
	a.labels = c.labels(v, slices.ContainsFunc(a.timeOff, partial))
	var grid page.Grid
	for _, agent := range shown {
		grid.Columns = append(grid.Columns, a.column(agent))
	}
	view, style := grid.View()
	if len(shown) == 0 {
		view, style = h.P(page.Text("There is no active agent. Create one in LatePoint, under Agents.")), ""
	}
	c.show(v, http.StatusOK, page.Layout{Title: words.LongDay(a.day), Style: style}, g.Group{
		h.Div(h.Class("toolbar"), dayArrows(a.day, dayAddress, today), agentPages(a.day, len(agents), first), page.ZoneHint()),
		g.If(a.table.More, h.P(h.Class("warning"), page.Textf("Only the first %d bookings are shown.", dayBookings))),
		g.Map(a.timeOff, a.elsewhere),
		view,
		h.Ul(h.Class("legend"),
			h.Li(h.Class("open"), page.Text("working hours")), h.Li(h.Class("approved"), page.Text("approved")), h.Li(h.Class("pending"), page.Text("pending")), h.Li(h.Class("past"), page.Text("completed, no-show and others")),
			h.Li(h.Class("overlaps"), page.Text("overlaps")), h.Li(h.Class("hold"), page.Text("held for a customer")), h.Li(h.Class("off"), page.Text("time off and events of calendars"))),
		h.P(h.Class("hint"), page.Text("Cancelled bookings are not shown. Working hours are those of the agent alone; services can have others.")),
		h.P(page.A(freeTimesPath+"?day="+a.day.String(), page.Text("Why is a time of this day not free?")), g.If(a.address != "", g.Group{g.Text(" · "),
			page.Away(slots.AdminURL(a.address, "calendars__view", 0), page.Text("Move, approve and cancel bookings, and enter time off, in LatePoint's calendar"))})),
	})
	return nil
}

// dayOf returns the day in the address of a page; another one if there is none.
func dayOf(query url.Values, otherwise availability.Day) availability.Day {
	day, ok := availability.ParseDay(query.Get("day"))
	if !ok || day >= availability.LastDay-7 {
		return otherwise
	}
	return day
}

// dayArrows leads to the days around one, and to today.
func dayArrows(day availability.Day, to func(availability.Day) string, today availability.Day) g.Node {
	arrow := func(days availability.Day, sign string, text page.Text) g.Node {
		return page.Button(to(day+days), h.Span(h.Aria("hidden", "true"), g.Text(sign)), page.ScreenReaderText(text))
	}
	return h.Nav(h.Class("actions"), page.Label("Days"),
		arrow(-7, "«", "A week earlier"), arrow(-1, "‹", "Previous day"), page.Button(to(today), page.Text("Today")), arrow(1, "›", "Next day"), arrow(7, "»", "A week later"))
}

// agentPages leads to the other agents, if there are too many for one page.
func agentPages(day availability.Day, all, shown int) g.Node {
	if all <= dayAgents {
		return nil
	}
	var links []page.Link
	for first := 0; first < all; first += dayAgents {
		links = append(links, page.Link{Text: page.Text(strconv.Itoa(first+1) + "–" + strconv.Itoa(min(first+dayAgents, all))), Path: dayAddress(day) + "&from=" + strconv.Itoa(first), Here: first == shown})
	}
	return page.Links("Agents", links)
}

func (a *agenda) column(agent slots.Choice) page.Column {
	column := page.Column{Title: page.Name(agent.Name)}
	for _, open := range a.table.Hours[agent.ID].Open {
		column.Open = append(column.Open, page.Span{From: int(open.Start), To: int(open.End)})
	}
	for _, b := range a.table.Bookings {
		if start, end, ok := records.Span(a.site, b); ok && b.Agent.ID == agent.ID {
			column.Add(a.booking(b, words.MinutesOn(a.day, start, end)))
		}
	}
	for _, hold := range a.table.Holds {
		if hold.Agent == agent.ID {
			end := a.site.Zone.Clock().StoredEnd(hold.Start, hold.End, hold.Duration)
			column.Add(page.Item{Class: "hold", Content: taken(page.Text("Held for a customer")), Span: words.MinutesOn(a.day, hold.Start, end)})
		}
	}
	for _, event := range a.table.Events {
		if event.Agent == agent.ID {
			column.Add(page.Item{Class: "off", Behind: true, Content: taken(page.Text("Event in the agent's calendar")), Span: page.Span{From: int(event.Start), To: int(event.End)}})
		}
	}
	for _, t := range a.timeOff {
		if partial(t) || t.Agent != 0 && t.Agent != agent.ID {
			continue
		}
		span := page.Span{To: page.DayMinutes}
		if t.Hours != nil {
			span = page.Span{From: int(t.Hours.Start), To: int(t.Hours.End)}
		}
		column.Add(page.Item{Class: "off", Behind: true, Content: taken(words.TimeOff(t, a.labels)), Span: span})
	}
	return column
}

// partial reports whether time off is of some services or locations only, so that agents may work.
func partial(t catalog.TimeOff) bool { return t.Service != 0 || t.Location != 0 }

// elsewhere says which time off is in no column.
func (a *agenda) elsewhere(t catalog.TimeOff) g.Node {
	return g.If(partial(t), h.P(h.Class("warning"), page.Textf("Time off of %s: %s", words.Concerned(t.Scope, a.labels), words.TimeOffSpan(t))))
}

// taken is the content of an item that is no booking.
func taken(text page.Phrase) func(page.Span) g.Node {
	return func(hours page.Span) g.Node {
		return g.Group{h.Span(h.Class("when"), words.Hours(hours)), g.Text(" "), text}
	}
}

// booking leads to LatePoint's page of a booking.
func (a *agenda) booking(b records.Booking, span page.Span) page.Item {
	class, about := "booking "+words.StatusClass(b.Status), []page.Phrase{words.Service(b)}
	if b.Status != records.StatusApproved {
		about = append(about, words.Status(b.Status))
	}
	if a.table.Overlapping[b.ID] {
		class, about = class+" overlaps", append(about, page.Text("overlaps"))
	}
	begins, _ := records.Start(a.site, b)
	return page.Item{Class: class, Span: span, Content: func(hours page.Span) g.Node {
		return page.Away(bookingAddress(a.address, b.ID), page.Attr("title", page.Textf("%s %s, %s", hours, words.Customer(b), page.List(about...))),
			h.Span(h.Class("when"), page.TimeAs(begins, page.Name(hours.String()))), g.Text(" "),
			h.Strong(words.Customer(b)), g.Text(" "), h.Span(page.List(about...)),
		)
	}}
}
