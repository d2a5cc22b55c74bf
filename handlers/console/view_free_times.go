package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func (p *freeTimesPage) view() g.Node {
	return g.Group{
		bookingViews(freeTimesPath),
		p.form(),
		p.navigation(),
		page.Alert(p.problem),
		g.Iff(p.problem == "" && p.Service != 0, p.result),
		g.If(p.Service == 0, h.P(page.Text("The site has no services yet."))),
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
		other := p.freeTimesQuestion
		other.Day = day
		return other.path()
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
			changedAt("Change it in wp-admin:", p.placesOfMissing(missing)),
		)
	}
	free := len(p.answer.Data.Free)
	return g.Group{
		h.P(h.Strong(page.Textf("%d of %d starts are free on %s.", free, free+len(p.answer.Data.Explain.Unavailable), day))),
		page.Table([]page.Text{"Starts", "Why", "Cause", "Change it in wp-admin"}, g.Map(p.grid, p.row)),
		changedAt("Starts that are not in the list are outside of the working hours, or between the starts that the service offers. Change that in wp-admin:", p.placesOfMissing(slots.MissingHours)),
	}
}

func (p *freeTimesPage) row(s starts) g.Node {
	class := "start"
	if s.Reason == availability.Free {
		class = "start free"
	}
	message := page.Phrase(page.Text(s.Message))
	if s.Extension != "" {
		message = page.Textf("%s (%s)", message, s.Extension)
	}
	return page.Row(
		g.Map(s.all, func(at string) g.Node { return g.Group{h.Span(h.Class(class), g.Text(at)), g.Text(" ")} }),
		page.Cell("Why", message),
		page.Cell("Cause", p.cause(s.start)),
		page.Cell("Change it in wp-admin", linkList(p.places(s.start))),
	)
}

// cause leads to what is in the way.
func (p *freeTimesPage) cause(s start) g.Node {
	if s.Booking != 0 {
		text := page.Textf("booking %d", s.Booking)
		b, known := p.bookings[s.Booking]
		if !known {
			return h.A(h.Href(bookingPath(s.Booking)), text)
		}
		return g.Group{h.A(h.Href(bookingPath(s.Booking)), words.Customer(b)), h.Br(), h.Span(h.Class("hint"), words.BookingTime(p.site, b), g.Text(", "), text)}
	}
	switch s.Reason {
	case availability.Free, availability.Past, availability.OutsideWindow:
		return nil
	case availability.NotOffered:
		return h.A(h.Href(DocumentsPath+"/extensions"), page.Text("extensions"))
	default:
		return h.A(h.Href(p.agenda()), page.Text("agenda of the day"))
	}
}

// places are the pages of wp-admin where a reason is changed.
func (p *freeTimesPage) places(s start) []page.Link {
	if p.address == "" {
		return nil
	}
	switch s.Reason {
	case availability.Booked, availability.Buffer:
		if s.Booking == 0 {
			return nil
		}
		return []page.Link{{Text: "the booking", Path: slots.BookingURL(p.address, s.Booking)}}
	case availability.NoCapacity:
		return []page.Link{p.servicePlace("seats and bookings a day of the service")}
	case availability.Off:
		return append(p.schedulePlaces(), page.Link{Text: "calendar", Path: slots.AdminURL(p.address, "calendars__view", 0)})
	case availability.OwnEvent:
		if p.Agent != 0 {
			return []page.Link{{Text: "calendars of the agent", Path: slots.AdminURL(p.address, "agents__edit_form", p.Agent)}}
		}
		return []page.Link{{Text: "calendars", Path: slots.AdminURL(p.address, "integrations__external_calendars", 0)}}
	case availability.AssetTaken:
		return []page.Link{p.servicePlace("rooms and devices of the service")}
	case availability.NotOffered:
		return []page.Link{{Text: "plugins", Path: p.address + "/wp-admin/plugins.php"}}
	case availability.OutsideWindow:
		return []page.Link{p.servicePlace("earliest and latest booking of the service"), {Text: "general settings", Path: slots.AdminURL(p.address, "settings__general", 0)}}
	default: // it is free, is past or is held for some minutes
		return nil
	}
}

// placesOfMissing are the pages of wp-admin where what is missing is set.
func (p *freeTimesPage) placesOfMissing(missing slots.Missing) []page.Link {
	if p.address == "" {
		return nil
	}
	if missing == slots.MissingHours || missing == slots.MissingDayOff {
		return p.schedulePlaces()
	}
	places := []page.Link{p.servicePlace("the service")}
	if p.Agent != 0 {
		places = append(places, page.Link{Text: "the agent", Path: slots.AdminURL(p.address, "agents__edit_form", p.Agent)})
	}
	if p.Location != 0 {
		places = append(places, page.Link{Text: "the location", Path: slots.AdminURL(p.address, "locations__edit_form", p.Location)})
	}
	return places
}

func (p *freeTimesPage) servicePlace(text page.Text) page.Link {
	return page.Link{Text: text, Path: slots.AdminURL(p.address, "services__edit_form", p.Service)}
}

// schedulePlaces are where hours and days off are set: those of the agent and of the service, otherwise those of the site.
func (p *freeTimesPage) schedulePlaces() (places []page.Link) {
	if p.Agent != 0 {
		places = append(places, page.Link{Text: "schedule of the agent", Path: slots.AdminURL(p.address, "agents__edit_form", p.Agent)})
	}
	return append(places, p.servicePlace("schedule of the service"), page.Link{Text: "general schedule", Path: slots.AdminURL(p.address, "settings__work_periods", 0)})
}

// changedAt says where something is changed, if that is known.
func changedAt(text page.Text, links []page.Link) g.Node {
	return g.If(len(links) > 0, g.Group{h.P(h.Class("hint"), text), linkList(links)})
}

// linkList shows links to pages of wp-admin.
func linkList(links []page.Link) g.Node {
	if len(links) == 0 {
		return nil
	}
	return h.Ul(h.Class("places"), g.Map(links, func(l page.Link) g.Node { return h.Li(h.A(h.Href(l.Path), h.Rel("noreferrer"), l.Text)) }))
}
