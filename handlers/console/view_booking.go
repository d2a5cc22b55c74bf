package console

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/slots"
)

func (p *bookingPage) title() string { return "Booking " + strconv.FormatInt(p.ID, 10) }

func (p *bookingPage) view() g.Node {
	return g.Group{
		bookingViews("", p.site.Zone),
		h.Div(h.Class("facts"),
			factsView("Appointment", p.appointment()),
			factsView("Customer", p.customer()),
			factsView("Order", p.order()),
			factsView("Details", p.details()),
		),
		h.H2(g.Text("History")),
		p.history(),
		h.H2(g.Text("Extensions")),
		p.told(),
	}
}

// fact is a line of a page about a record; those without content are left out.
type fact struct {
	name    string
	content g.Node
}

func textFact(name, text string) fact {
	if text == "" {
		return fact{}
	}
	return fact{name, g.Text(text)}
}

func factsView(title string, facts []fact) g.Node {
	return h.Section(h.H2(g.Text(title)), h.Dl(g.Map(facts, func(f fact) g.Node {
		if f.content == nil {
			return nil
		}
		return h.Div(h.Dt(g.Text(f.name)), h.Dd(f.content))
	})))
}

func (p *bookingPage) appointment() []fact {
	facts := []fact{
		{"Status", statusView(p.Status)},
		{"Time", bookingTime(p.site, p.Booking)},
		textFact("Duration", count(int(records.Length(p.site, p.Booking)), "minute", "minutes")),
		textFact("Service", serviceName(p.Booking)),
		textFact("Agent", p.Agent.FullName),
		textFact("Location", p.Location.Name),
	}
	if p.BufferBefore != 0 || p.BufferAfter != 0 {
		facts = append(facts, textFact("Buffers", fmt.Sprintf("%d minutes before, %d after", p.BufferBefore, p.BufferAfter)))
	}
	if p.Attendees > 1 {
		facts = append(facts, textFact("Attendees", strconv.FormatInt(p.Attendees, 10)))
	}
	for _, extra := range p.Extras {
		facts = append(facts, textFact("Extra", fmt.Sprintf("%d × %s", extra.Quantity, extra.Name)))
	}
	if day, ok := availability.ParseDay(string(p.StartDate)); ok {
		agenda := agendaChoice{Day: day, Of: domain.AgentResource}
		facts = append(facts, fact{"Agenda", h.A(h.Href(agenda.path()), g.Text(longDay(day)))})
	}
	facts = append(facts, fact{"Requests", h.A(h.Href(requestsOf("record", "bookings/"+strconv.FormatInt(p.ID, 10))), g.Text("those that touched it"))})
	if p.address != "" {
		facts = append(facts, fact{"WordPress", h.A(h.Href(slots.BookingURL(p.address, p.ID)), h.Rel("noreferrer"), g.Text("open in wp-admin"))})
	}
	return facts
}

func (p *bookingPage) customer() []fact {
	all := bookingListPath + "?when=all&customer=" + strconv.FormatInt(p.Customer.ID, 10)
	return []fact{
		textFact("Name", customerName(p.Booking)),
		textFact("E-mail", p.Customer.Email),
		textFact("Phone", p.Customer.Phone),
		{"Bookings", h.A(h.Href(all), g.Text("all of this customer"))},
	}
}

func (p *bookingPage) order() []fact {
	o := p.Order
	if o == nil {
		return []fact{textFact("Order", "none")}
	}
	facts := []fact{
		textFact("Order", fmt.Sprintf("%d, %s", o.ID, o.ConfirmationCode)),
		textFact("Status", statusText(o.Status)),
		textFact("Payment", statusText(o.DisplayPaymentStatus)),
		textFact("This booking", p.Price.StringFixed(2)),
		textFact("Total", o.Total.StringFixed(2)),
	}
	if o.CouponCode != nil {
		facts = append(facts, textFact("Coupon", *o.CouponCode))
	}
	for _, payment := range p.Payments {
		facts = append(facts, textFact("Transaction "+strconv.FormatInt(payment.ID, 10),
			fmt.Sprintf("%s, %s, %s (%s)", payment.DisplayAmount().StringFixed(2), statusText(payment.Kind), statusText(payment.Status), statusText(payment.PaymentMethod))))
	}
	if o.CustomerComment != nil {
		facts = append(facts, textFact("Comment", *o.CustomerComment))
	}
	return facts
}

func (p *bookingPage) details() []fact {
	facts := []fact{{"Code", h.Code(g.Text(p.Code))}}
	facts = append(facts, p.stamp("Made", p.CreatedAt), p.stamp("Changed", p.UpdatedAt))
	for _, key := range slices.Sorted(maps.Keys(p.Reasons)) {
		facts = append(facts, textFact(domain.Capitalize(statusText(key)), p.Reasons[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Meta)) {
		facts = append(facts, textFact(key, p.Meta[key]))
	}
	return facts
}

// stamp shows a stored time, which is in UTC, in the site's zone.
func (p *bookingPage) stamp(name string, t domain.Timestamp) fact {
	at, ok := t.Time()
	if !ok {
		return fact{}
	}
	return fact{name, p.at(at)}
}

func (p *bookingPage) at(t time.Time) g.Node {
	return siteTime(t, t.In(p.site.Zone.Location).Format("2006-01-02 15:04"))
}

func (p *bookingPage) history() g.Node {
	if len(p.changes) == 0 {
		return h.P(g.Text("The journal has no changes of this booking, its order or its payments."))
	}
	return dataTable([]string{"Change", "Who", "Details", "Time"}, g.Map(p.changes, func(e journal.Entry) g.Node {
		name := fmt.Sprintf("%s %s", singular[e.Resource], e.Kind)
		if e.Resource != journal.Bookings {
			name = fmt.Sprintf("%s %d %s", singular[e.Resource], e.ID, e.Kind)
		}
		return dataRow(
			g.Group{h.Span(h.Class("name"), g.Text(name)), h.Span(h.Class("hint"), g.Text("change "+strconv.FormatInt(e.Number, 10)))},
			cell("Who", originView(e, p.keyNames)),
			cell("Details", g.Text(changeDetails(e.Booking))),
			cell("Time", p.at(e.At)),
		)
	}))
}

// singular are the names of single records in the history of a booking.
var singular = map[journal.Resource]string{journal.Bookings: "Booking", journal.Orders: "Order", journal.Payments: "Transaction"}

// told shows the events of the booking that extensions were told about.
func (p *bookingPage) told() g.Node {
	if len(p.events) == 0 {
		return h.P(g.Text("In the last 30 days no extension was told about this booking by the API."))
	}
	return dataTable([]string{"Event", "State", "Queued"}, g.Map(p.events, func(e events.Stored) g.Node {
		created, _ := e.CreatedAt.Time()
		return dataRow(h.Span(h.Class("name event"), g.Text(e.Name)),
			cell("State", g.Group{h.Span(h.Class("status "+e.State), g.Text(e.State)), g.If(e.Failure != "", g.Group{h.Br(), h.Span(g.Text(e.Failure))})}),
			cell("Queued", p.at(created)))
	}))
}
