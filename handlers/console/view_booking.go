package console

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/freetimes"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func (p *bookingPage) title() page.Phrase { return page.Textf("Booking %d", p.ID) }

func (p *bookingPage) view() g.Node {
	return g.Group{
		page.Done(p.doneText()),
		bookingViews(""),
		p.actions(),
		h.Div(h.Class("facts"),
			page.Facts("Appointment", p.appointment()),
			page.Facts("Customer", p.customer()),
			page.Facts("Order", p.order()),
			page.Facts("Details", p.details()),
		),
		h.H2(page.Text("History")),
		p.history(),
		h.H2(page.Text("LatePoint's activities")),
		p.activities(),
		h.H2(page.Text("Extensions")),
		p.told(),
	}
}

func (p *bookingPage) appointment() []page.Fact {
	facts := []page.Fact{
		{Name: "Status", Content: words.StatusView(p.Status)},
		{Name: "Time", Content: words.BookingTime(p.site, p.Booking)},
		{Name: "Duration", Content: page.Count(int(records.Length(p.site, p.Booking)), "%d minute", "%d minutes")},
		{Name: "Service", Content: words.Service(p.Booking)},
		page.TextFact("Agent", p.Agent.FullName),
		page.TextFact("Location", p.Location.Name),
	}
	if p.BufferBefore != 0 || p.BufferAfter != 0 {
		facts = append(facts, page.Fact{Name: "Buffers", Content: page.Textf("%d minutes before, %d after", p.BufferBefore, p.BufferAfter)})
	}
	if p.Attendees > 1 {
		facts = append(facts, page.TextFact("Attendees", strconv.FormatInt(p.Attendees, 10)))
	}
	for _, extra := range p.Extras {
		facts = append(facts, page.TextFact("Extra", fmt.Sprintf("%d × %s", extra.Quantity, extra.Name)))
	}
	if day, ok := availability.ParseDay(string(p.StartDate)); ok {
		agenda := agendaChoice{Day: day, Of: domain.AgentResource}
		facts = append(facts, page.Fact{Name: "Agenda", Content: h.A(h.Href(agenda.path()), words.LongDay(day))})
		moved := freetimes.Question{Day: day, Service: p.ServiceID(), Agent: p.Agent.ID, Location: p.LocationID(), Booking: p.ID}
		facts = append(facts, page.Fact{Name: "Free times", Content: h.A(h.Href(freeTimesOf(moved)), page.Text("why another time is not free"))})
	}
	facts = append(facts, page.Fact{Name: "Requests", Content: h.A(h.Href(requestsOf("record", "bookings/"+strconv.FormatInt(p.ID, 10))), page.Text("those that touched it"))})
	if p.address != "" {
		facts = append(facts, page.Fact{Name: "WordPress", Content: h.A(h.Href(slots.BookingURL(p.address, p.ID)), h.Rel("noreferrer"), page.Text("open in wp-admin"))})
	}
	return facts
}

func (p *bookingPage) customer() []page.Fact {
	all := bookingListPath + "?when=all&customer=" + strconv.FormatInt(p.Customer.ID, 10)
	return []page.Fact{
		{Name: "Name", Content: words.Customer(p.Booking)},
		page.TextFact("E-mail", p.Customer.Email),
		page.TextFact("Phone", p.Customer.Phone),
		{Name: "Bookings", Content: h.A(h.Href(all), page.Text("all of this customer"))},
	}
}

func (p *bookingPage) order() []page.Fact {
	o := p.Order
	if o == nil {
		return []page.Fact{{Name: "Order", Content: page.Text("none")}}
	}
	facts := []page.Fact{
		page.TextFact("Order", fmt.Sprintf("%d, %s", o.ID, o.ConfirmationCode)),
		{Name: "Status", Content: words.Status(o.Status)},
		{Name: "Payment", Content: words.Status(o.DisplayPaymentStatus)},
		page.TextFact("This booking", p.Price.StringFixed(2)),
		page.TextFact("Total", o.Total.StringFixed(2)),
	}
	if o.CouponCode != nil {
		facts = append(facts, page.TextFact("Coupon", *o.CouponCode))
	}
	for _, payment := range p.Payments {
		facts = append(facts, page.Fact{Name: "Transaction", Content: page.Textf("%d: %s, %s, %s (%s)", payment.ID,
			payment.DisplayAmount().StringFixed(2), words.Status(payment.Kind), words.Status(payment.Status), words.Status(payment.PaymentMethod))})
	}
	if o.CustomerComment != nil {
		facts = append(facts, page.TextFact("Comment", *o.CustomerComment))
	}
	return facts
}

func (p *bookingPage) details() []page.Fact {
	facts := []page.Fact{{Name: "Code", Content: h.Code(g.Text(p.Code))}}
	facts = append(facts, stampFact("Made", p.CreatedAt), stampFact("Changed", p.UpdatedAt))
	for _, key := range slices.Sorted(maps.Keys(p.Reasons)) {
		facts = append(facts, page.TextFact(page.Text(domain.Capitalize(string(words.Status(key)))), p.Reasons[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Meta)) {
		facts = append(facts, page.TextFact(page.Text(key), p.Meta[key]))
	}
	return facts
}

// stampFact is a stored time, or one that is left out if there is none.
func stampFact(name page.Text, t domain.Timestamp) page.Fact {
	if at, ok := t.Time(); ok {
		return page.Fact{Name: name, Content: page.Time(at)}
	}
	return page.Fact{}
}

func (p *bookingPage) history() g.Node {
	if len(p.changes) == 0 {
		return h.P(page.Text("The journal has no changes of this booking, its order or its payments."))
	}
	return page.Table([]page.Text{"What changed", "Who", "Details", "Time"}, g.Map(p.changes, func(e journal.Entry) g.Node {
		return page.Row(
			g.Group{h.Span(h.Class("name"), words.Changed(e)), h.Span(h.Class("hint"), page.Textf("change %d", e.Number))},
			page.Cell("Who", originView(e, p.keyNames)),
			page.Cell("Details", words.Change(e, p.labels)),
			page.Cell("Time", page.Time(e.At)),
		)
	}))
}

// activities shows what the plugin's activity log says about the booking, with what the API added to it.
func (p *bookingPage) activities() g.Node {
	if len(p.logged) == 0 {
		return h.P(page.Text("LatePoint's activity log has nothing about this booking."))
	}
	return page.Table([]page.Text{"Activity", "Who", "Details", "Time"}, g.Map(p.logged, func(a records.Activity) g.Node {
		return page.Row(h.Span(h.Class("name"), words.Activity(a.Code)),
			page.Cell("Who", words.ActivityBy(a)),
			page.Cell("Details", words.ActivityDetails(a)),
			page.Cell("Time", page.Stamp(a.CreatedAt, "not known")))
	}))
}

// told shows the events of the booking that extensions were told about.
func (p *bookingPage) told() g.Node {
	if len(p.events) == 0 {
		return h.P(page.Text("In the last 30 days no extension was told about this booking by the API."))
	}
	return page.Table([]page.Text{"Event", "State", "Queued"}, g.Map(p.events, func(e events.Stored) g.Node {
		return page.Row(h.Span(h.Class("name event"), g.Text(e.Name)),
			page.Cell("State", g.Group{h.Span(h.Class("status "+e.State), page.Text(e.State)), g.If(e.Failure != "", g.Group{h.Br(), h.Span(g.Text(e.Failure))})}),
			page.Cell("Queued", page.Stamp(e.CreatedAt, "")))
	}))
}
