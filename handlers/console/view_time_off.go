package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func endTimeOffPath(id int64) string {
	return timeOffPath + "/" + strconv.FormatInt(id, 10) + "/delete"
}

// timeOffEntryPath leads to an entry of the list.
func timeOffEntryPath(id int64) string { return timeOffPath + "#" + timeOffAnchor(id) }

func timeOffAnchor(id int64) string { return "off-" + strconv.FormatInt(id, 10) }

func (l *timeOffList) view() g.Node {
	list := h.P(page.Text("There is none from today on."))
	if len(l.found.Records) > 0 {
		list = page.Table([]page.Text{"When", "For", "Note", ""}, g.Map(l.found.Records, l.row))
	}
	return g.Group{
		page.Done(l.done),
		bookingViews(timeOffPath),
		g.If(!l.readOnly, h.P(h.A(h.Class("button main"), h.Href(timeOffPath+"/new"), page.Text("New time off")))),
		list,
		g.If(l.found.More, h.P(h.Class("warning"), page.Textf("Only the first %d are shown.", shownTimeOff))),
		h.P(h.Class("hint"), page.Text("Time off closes whole days or, on sites with LatePoint Pro Features, hours. Bookings in it stay.")),
	}
}

func (l *timeOffList) row(t timeoff.TimeOff) g.Node {
	when := words.TimeOffSpan(t)
	return page.Row(h.Span(h.ID(timeOffAnchor(t.ID)), h.Class("name"), when),
		page.Cell("For", words.Concerned(t.Scope, l.labels)),
		page.Cell("Note", g.Text(t.Note)),
		h.Td(h.Role("cell"), h.Class("actions"), g.If(!l.readOnly, page.Button(endTimeOffPath(t.ID), page.Text("End"), page.ScreenReaderText(page.Phrases{page.Name(" "), page.Textf("the time off of %s", when)})))),
	)
}

func (t timeOffFacts) span() page.Phrase {
	hours := ""
	if t.StartTime != "" {
		hours = t.StartTime + "–" + t.EndTime
	}
	return words.Period(t.Date, t.DateTo, hours)
}

func (f *timeOffForm) view(csrf string) g.Node {
	return g.Group{
		bookingViews(timeOffPath),
		f.Summary(),
		f.outcome(),
		h.Form(h.Method("post"), h.Action(timeOffPath+"/new"),
			page.Hidden("csrf", csrf), f.Guard(),
			f.inputs(),
			h.P(h.Class("actions"), rehearsalButton(f.possible != nil, "Enter the time off"), h.A(h.Class("button quiet"), h.Href(timeOffPath), page.Text("Cancel"))),
		),
	}
}

// inputs are the fields of the form. What was rehearsed is only confirmed.
func (f *timeOffForm) inputs() g.Node {
	if f.possible != nil {
		return g.Map(timeOffFields, func(name string) g.Node { return page.Hidden(name, f.Value(name)) })
	}
	choice := func(name string, label, all page.Text, resource domain.Resource) g.Node {
		return f.Select(name, label, "", append([]page.Choice{{Text: all}}, recordChoices(f.labels.Choices(resource))...))
	}
	return g.Group{
		choice("agent_id", "Agent", "all agents", domain.AgentResource),
		choice("service_id", "Service", "all services", domain.ServiceResource),
		choice("location_id", "Location", "all locations", domain.LocationResource),
		h.Div(h.Class("pair"),
			f.Text("date", "First day", "", h.Type("date"), h.Required()),
			f.Text("date_to", "Last day", "Empty for one day.", h.Type("date"))),
		h.Div(h.Class("pair"),
			f.Text("start_time", "From", "Empty for whole days.", h.Type("time")),
			f.Text("end_time", "To", "00:00 is midnight.", h.Type("time"))),
		f.Text("note", "Note", "LatePoint keeps one with hours only."),
	}
}

// outcome shows what would be closed, and which bookings are in it.
func (f *timeOffForm) outcome() g.Node {
	if f.possible == nil {
		return nil
	}
	in := h.P(page.Text("No booking is in it."))
	if len(f.bookings) > 0 {
		in = g.Group{
			h.P(page.Text("These bookings are in it and stay. Reschedule or cancel each by itself:")),
			page.Table([]page.Text{"Customer", "Time", "Service", "Agent", "Status"}, g.Map(f.bookings, func(b records.Booking) g.Node { return bookingRow(f.site, b) })),
		}
	}
	return g.Group{
		h.Div(h.Class("facts"), page.TakesFocus(), page.Facts("What would change", []page.Fact{
			{Name: "Closed", Content: f.possible.span()},
			{Name: "For", Content: words.Concerned(availability.Scope{Agent: f.possible.AgentID, Service: f.possible.ServiceID, Location: f.possible.LocationID}, f.labels)},
			page.TextFact("Note", f.possible.Note),
			warningFact(f.warnings),
		})),
		in,
	}
}

func (e *timeOffEnd) view(csrf string) g.Node {
	return g.Group{
		page.Alert(e.Problem),
		h.P(page.Textf("The time can be booked again: %s, %s.", h.Strong(words.TimeOffSpan(e.TimeOff)), words.Concerned(e.Scope, e.labels)), g.Text(" "+e.Note)),
		h.Form(h.Method("post"), h.Action(endTimeOffPath(e.TimeOff.ID)), page.Hidden("csrf", csrf), e.Guard(), page.Hidden("tag", e.tag),
			h.P(h.Class("actions"), h.Button(h.Class("danger"), page.Text("End the time off")), page.Button(timeOffPath, page.Text("Keep it"))),
		),
	}
}
