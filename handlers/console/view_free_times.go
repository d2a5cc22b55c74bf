package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func (p *freeTimesPage) view() g.Node {
	if p.Service == 0 {
		return g.Group{bookingViews(freeTimesPath), h.P(page.Text("The site has no services yet. Create one in LatePoint, under Services."))}
	}
	return g.Group{
		bookingViews(freeTimesPath),
		p.form(),
		p.navigation(),
		page.Alert(p.problems...),
		g.Iff(len(p.problems) == 0, p.result),
	}
}

func (p *freeTimesPage) form() g.Node {
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	return h.Form(h.Class("conditions"), h.Method("get"), h.Action(freeTimesPath),
		page.Condition("service", "Service", page.Select("service", number(p.Service), recordChoices(p.choices[domain.ServiceResource]))),
		page.Condition("agent", "Agent", page.Selection("agent", number(p.Agent), recordChoices(p.choices[domain.AgentResource]))),
		page.Condition("location", "Location", page.Selection("location", number(p.Location), recordChoices(p.choices[domain.LocationResource]))),
		page.Condition("day", "Day", h.Input(h.ID("day"), h.Name("day"), h.Type("date"), h.Value(p.Day.String()), h.Required())),
		g.If(p.Booking != 0, page.Hidden("booking", number(p.Booking))),
		h.Div(h.Class("actions"), h.Button(h.Class("main"), page.Text("Explain"))),
	)
}

// navigation leads to the days around, to the agenda, and to the booking that is to be moved.
func (p *freeTimesPage) navigation() g.Node {
	on := func(day availability.Day) string {
		other := p.Question
		other.Day = day
		return freeTimesOf(other)
	}
	return h.Div(h.Class("toolbar"),
		h.Nav(h.Class("actions"), page.Label("Days"),
			page.Button(on(p.Day-1), h.Span(h.Aria("hidden", "true"), g.Text("‹")), page.ScreenReaderText(page.Text("Previous day"))),
			page.Button(on(p.Day+1), h.Span(h.Aria("hidden", "true"), g.Text("›")), page.ScreenReaderText(page.Text("Next day"))),
		),
		h.A(h.Href(p.agenda()), page.Text("Agenda of this day")),
		g.Iff(p.Booking != 0, func() g.Node {
			return h.A(h.Href(bookingPath(p.Booking)), page.Textf("Booking %d, as if it moved", p.Booking))
		}),
	)
}

// agenda leads to what happens on the day.
func (p *freeTimesPage) agenda() string {
	return agendaChoice{Day: p.Day, Of: domain.AgentResource}.path()
}

func (p *freeTimesPage) result() g.Node {
	day := words.LongDay(p.Day)
	if missing := p.answer.Data.Explain.Missing; missing != "" {
		return h.Div(h.Class("warning"),
			h.P(page.Textf("Nothing can be booked on %s. %s", day, page.Text(p.answer.Data.Explain.Message))),
			p.timeOff(),
			changedAt("Change it in wp-admin:", p.PlacesOfMissing(p.address, missing)),
		)
	}
	free := len(p.answer.Data.Free)
	return g.Group{
		h.P(h.Strong(page.Textf("%d of %d starts are free on %s.", free, free+len(p.answer.Data.Explain.Unavailable), day))),
		page.Table([]page.Text{"Starts", "Why", "Cause", "Change it in wp-admin"}, g.Map(p.grid, p.row)),
		changedAt("Starts that are not in the list are outside of the working hours, or between the starts that the service offers. Change that in wp-admin:", p.PlacesOfMissing(p.address, slots.MissingHours)),
	}
}

func (p *freeTimesPage) row(s freetimes.Starts) g.Node {
	class := "start"
	if s.Reason == availability.Free {
		class = "start free"
	}
	message := page.Phrase(page.Text(s.Message))
	if s.Extension != "" {
		message = page.Textf("%s (%s)", message, s.Extension)
	}
	return page.Row(
		g.Map(s.Times, func(at string) g.Node { return g.Group{h.Span(h.Class(class), g.Text(at)), g.Text(" ")} }),
		page.Cell("Why", message),
		page.Cell("Cause", p.cause(s.Start)),
		page.Cell("Change it in wp-admin", page.LinkList(p.Places(p.address, s.Start))),
	)
}

// cause leads to what is in the way.
func (p *freeTimesPage) cause(s freetimes.Start) g.Node {
	if s.Booking != 0 {
		text := page.Textf("booking %d", s.Booking)
		b, known := p.bookings[s.Booking]
		if !known {
			return h.A(h.Href(bookingPath(s.Booking)), text)
		}
		return g.Group{h.A(h.Href(bookingPath(s.Booking)), words.Customer(b)), h.Br(), h.Span(h.Class("hint"), words.BookingTime(p.site, b), g.Text(", "), text)}
	}
	switch s.Reason {
	case availability.Free, availability.Past, availability.OutsideWindow, availability.NotOffered:
		return nil
	case availability.Off:
		if len(p.off) > 0 {
			return p.timeOff()
		}
	}
	return h.A(h.Href(p.agenda()), page.Text("agenda of the day"))
}

// timeOff leads to the entries of the time off.
func (p *freeTimesPage) timeOff() g.Node {
	return g.Map(p.off, func(t timeoff.TimeOff) g.Node {
		return h.P(h.A(h.Href(timeOffEntryPath(t.ID)), words.TimeOff(t, p.labels)), h.Br(), h.Span(h.Class("hint"), words.TimeOffSpan(t), g.Text(", "), words.Concerned(t.Scope, p.labels)))
	})
}

// changedAt says where something is changed, if that is known.
func changedAt(text page.Text, links []page.Link) g.Node {
	return g.If(len(links) > 0, g.Group{h.P(h.Class("hint"), text), page.LinkList(links)})
}
