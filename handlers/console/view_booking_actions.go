package console

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

// doneText says what was just done; nil for nothing.
func (p *bookingPage) doneText() page.Phrase {
	for _, a := range bookingActions {
		if a.Name == p.done {
			return a.Done
		}
	}
	return nil
}

// actions leads to the forms of what can be done with the booking.
func (p *bookingPage) actions() g.Node {
	if p.readOnly {
		return nil
	}
	return h.Nav(h.Class("actions"), page.Label("Actions"), g.Map(bookingActions, func(a bookingAction) g.Node {
		return g.If(a.May(p.Status) && (!a.Begun || p.begun()), page.Button(a.path(p.ID), a.Button))
	}))
}

func (f *actionForm) view(csrf string) g.Node {
	return g.Group{
		bookingViews(""),
		f.Summary(),
		h.Div(h.Class("facts"), page.Facts("Appointment", append(f.booking.appointment(), page.Fact{Name: "Customer", Content: words.Customer(f.booking.Booking)})), f.outcome(), f.obstacle(csrf)),
		h.Form(h.Method("post"), h.Action(f.path(f.booking.ID)),
			page.Hidden("csrf", csrf), f.Guard(), page.Hidden("tag", f.tag),
			f.inputs(),
			h.P(h.Class("actions"), rehearsalButton(f.possible != nil, f.Button), h.A(h.Class("button quiet"), h.Href(bookingPath(f.booking.ID)), page.Text("Keep the booking as it is"))),
		),
	}
}

// inputs are the fields of the form. What was rehearsed is only confirmed.
func (f *actionForm) inputs() g.Node {
	if f.possible != nil {
		return g.Map(f.fields(), func(name string) g.Node { return page.Hidden(name, f.Value(name)) })
	}
	var inputs g.Group
	if f.Moves {
		inputs = append(inputs, h.Div(h.Class("pair"),
			f.Text("start_date", "Day", "", h.Type("date"), h.Required()),
			f.Text("start_time", "Start", "", h.Type("time"), h.Required())),
			f.Select("agent_id", "Agent", "", recordChoices(f.agents)), f.Select("location_id", "Location", "", recordChoices(f.locations)))
	}
	if f.Reason != "" {
		inputs = append(inputs, f.Text(f.Reason, "Reason", "Optional. Sites with LatePoint Pro Features that ask for reasons keep it."))
	}
	return append(inputs, h.P(f.Box(notifyField, "Send the site's messages about it")))
}

// rehearsalButton is the button of a form that is rehearsed first: it rehearses, or does what was rehearsed.
func rehearsalButton(rehearsed bool, text page.Text) g.Node {
	if !rehearsed {
		return h.Button(h.Class("main"), page.Text("See what would change"))
	}
	return g.Group{page.Hidden("confirmed", "1"), h.Button(h.Class("main"), text)}
}

// warningFact has the warnings of the API, if there are any.
func warningFact(warnings []string) page.Fact {
	if len(warnings) == 0 {
		return page.Fact{}
	}
	return page.Fact{Name: "Warning", Content: g.Map(warnings, func(text string) g.Node { return h.P(page.Text(page.Sentence(text))) })}
}

// outcome compares the booking with what it would be.
func (f *actionForm) outcome() g.Node {
	if f.possible == nil {
		return nil
	}
	b, then := f.booking.Booking, f.possible
	var facts []page.Fact
	changed := func(name page.Text, before, after string, show func(string) page.Phrase) {
		if before != after {
			facts = append(facts, page.Fact{Name: name, Content: page.Textf("%s → %s", show(before), show(after))})
		}
	}
	asItIs := func(name string) page.Phrase { return page.Name(name) }
	before := ""
	if b.StartTime != nil {
		before = page.Clock(int(*b.StartTime))
	}
	changed("Status", b.Status, then.Status, func(status string) page.Phrase { return words.Status(status) })
	changed("Day", string(b.StartDate), then.StartDate, words.Date)
	changed("Start", before, then.StartTime, asItIs)
	changed("Agent", b.Agent.FullName, then.Agent.Name, asItIs)
	changed("Location", b.Location.Name, then.Location.Name, asItIs)
	if len(facts) == 0 {
		facts = append(facts, page.Fact{Name: "Booking", Content: page.Text("stays as it is")})
	}
	messages := page.Text("none are sent")
	if f.Value(notifyField) != "" {
		messages = "those of the site are sent, as its settings and workflows say"
	}
	reason := ""
	if f.Reason != "" {
		reason = f.Value(f.Reason)
	}
	return h.Div(page.TakesFocus(), page.Facts("What would change", append(facts,
		page.TextFact("Reason", reason), page.Fact{Name: "Messages", Content: messages}, warningFact(f.warnings))))
}

// obstacle shows why a time cannot be had, what takes it, and which are free instead.
func (f *actionForm) obstacle(csrf string) g.Node {
	if f.conflict == nil && f.why == "" {
		return nil
	}
	var facts []page.Fact
	if f.why != "" {
		facts = append(facts, page.Fact{Name: "Reason", Content: f.why})
	}
	if q, ok := f.question(); ok && f.Moves {
		facts = append(facts, page.Fact{Name: "Free times", Content: h.A(h.Href(freeTimesOf(q)), page.Text("Why is this time not free?"))})
	}
	if f.conflict == nil {
		return page.Facts("Why not", facts)
	}
	if with := f.conflict.with; with != nil {
		facts = append(facts, page.Fact{Name: "Taken by", Content: h.A(h.Href(bookingPath(with.ID)), words.Customer(*with), g.Text(", "), words.BookingTime(f.booking.site, *with))})
	}
	if f.Moves {
		// Each time sends the form again, with this start.
		times := g.Map(f.conflict.Free, func(start string) g.Node {
			return h.Form(h.Method("post"), h.Action(f.path(f.booking.ID)), page.Hidden("csrf", csrf), page.Hidden("tag", f.tag),
				g.Map([]string{"start_date", "agent_id", "location_id", f.Reason, notifyField}, func(name string) g.Node { return page.Hidden(name, f.Value(name)) }),
				h.Button(h.Name("start_time"), h.Value(start), g.Text(start)))
		})
		free := page.Fact{Name: "Free that day", Content: h.Div(h.Class("actions"), times)}
		if len(f.conflict.Free) == 0 {
			free.Content = page.Text("nothing")
		}
		facts = append(facts, free)
	}
	return page.Facts("Why not", facts)
}
