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
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
)

func (p *bookingPage) title() string { return "Booking " + strconv.FormatInt(p.ID, 10) }

func (p *bookingPage) view() g.Node {
	return g.Group{
		page.Done(p.doneText()),
		bookingViews("", p.site.Zone),
		p.actions(),
		h.Div(h.Class("facts"),
			page.Facts("Appointment", p.appointment()),
			page.Facts("Customer", p.customer()),
			page.Facts("Order", p.order()),
			page.Facts("Details", p.details()),
		),
		h.H2(g.Text("History")),
		p.history(),
		h.H2(g.Text("Extensions")),
		p.told(),
	}
}

func (p *bookingPage) appointment() []page.Fact {
	facts := []page.Fact{
		{Name: "Status", Content: words.StatusView(p.Status)},
		{Name: "Time", Content: words.BookingTime(p.site, p.Booking)},
		page.TextFact("Duration", page.Count(int(records.Length(p.site, p.Booking)), "minute", "minutes")),
		page.TextFact("Service", words.Service(p.Booking)),
		page.TextFact("Agent", p.Agent.FullName),
		page.TextFact("Location", p.Location.Name),
	}
	if p.BufferBefore != 0 || p.BufferAfter != 0 {
		facts = append(facts, page.TextFact("Buffers", fmt.Sprintf("%d minutes before, %d after", p.BufferBefore, p.BufferAfter)))
	}
	if p.Attendees > 1 {
		facts = append(facts, page.TextFact("Attendees", strconv.FormatInt(p.Attendees, 10)))
	}
	for _, extra := range p.Extras {
		facts = append(facts, page.TextFact("Extra", fmt.Sprintf("%d × %s", extra.Quantity, extra.Name)))
	}
	if day, ok := availability.ParseDay(string(p.StartDate)); ok {
		agenda := agendaChoice{Day: day, Of: domain.AgentResource}
		facts = append(facts, page.Fact{Name: "Agenda", Content: h.A(h.Href(agenda.path()), g.Text(words.LongDay(day)))})
		moved := freeTimesQuestion{Day: day, Service: p.ServiceID(), Agent: p.Agent.ID, Location: p.LocationID(), Booking: p.ID}
		facts = append(facts, page.Fact{Name: "Free times", Content: h.A(h.Href(moved.path()), g.Text("why another time is not free"))})
	}
	facts = append(facts, page.Fact{Name: "Requests", Content: h.A(h.Href(requestsOf("record", "bookings/"+strconv.FormatInt(p.ID, 10))), g.Text("those that touched it"))})
	if p.address != "" {
		facts = append(facts, page.Fact{Name: "WordPress", Content: h.A(h.Href(slots.BookingURL(p.address, p.ID)), h.Rel("noreferrer"), g.Text("open in wp-admin"))})
	}
	return facts
}

func (p *bookingPage) customer() []page.Fact {
	all := bookingListPath + "?when=all&customer=" + strconv.FormatInt(p.Customer.ID, 10)
	return []page.Fact{
		page.TextFact("Name", words.Customer(p.Booking)),
		page.TextFact("E-mail", p.Customer.Email),
		page.TextFact("Phone", p.Customer.Phone),
		{Name: "Bookings", Content: h.A(h.Href(all), g.Text("all of this customer"))},
	}
}

func (p *bookingPage) order() []page.Fact {
	o := p.Order
	if o == nil {
		return []page.Fact{page.TextFact("Order", "none")}
	}
	facts := []page.Fact{
		page.TextFact("Order", fmt.Sprintf("%d, %s", o.ID, o.ConfirmationCode)),
		page.TextFact("Status", words.Status(o.Status)),
		page.TextFact("Payment", words.Status(o.DisplayPaymentStatus)),
		page.TextFact("This booking", p.Price.StringFixed(2)),
		page.TextFact("Total", o.Total.StringFixed(2)),
	}
	if o.CouponCode != nil {
		facts = append(facts, page.TextFact("Coupon", *o.CouponCode))
	}
	for _, payment := range p.Payments {
		facts = append(facts, page.TextFact("Transaction "+strconv.FormatInt(payment.ID, 10),
			fmt.Sprintf("%s, %s, %s (%s)", payment.DisplayAmount().StringFixed(2), words.Status(payment.Kind), words.Status(payment.Status), words.Status(payment.PaymentMethod))))
	}
	if o.CustomerComment != nil {
		facts = append(facts, page.TextFact("Comment", *o.CustomerComment))
	}
	return facts
}

func (p *bookingPage) details() []page.Fact {
	facts := []page.Fact{{Name: "Code", Content: h.Code(g.Text(p.Code))}}
	facts = append(facts, p.stamp("Made", p.CreatedAt), p.stamp("Changed", p.UpdatedAt))
	for _, key := range slices.Sorted(maps.Keys(p.Reasons)) {
		facts = append(facts, page.TextFact(domain.Capitalize(words.Status(key)), p.Reasons[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Meta)) {
		facts = append(facts, page.TextFact(key, p.Meta[key]))
	}
	return facts
}

// stamp shows a stored time, which is in UTC, in the site's zone.
func (p *bookingPage) stamp(name string, t domain.Timestamp) page.Fact {
	at, ok := t.Time()
	if !ok {
		return page.Fact{}
	}
	return page.Fact{Name: name, Content: p.at(at)}
}

func (p *bookingPage) at(t time.Time) g.Node {
	return page.Time(t, t.In(p.site.Zone.Location).Format("2006-01-02 15:04"))
}

func (p *bookingPage) history() g.Node {
	if len(p.changes) == 0 {
		return h.P(g.Text("The journal has no changes of this booking, its order or its payments."))
	}
	return page.Table([]string{"Change", "Who", "Details", "Time"}, g.Map(p.changes, func(e journal.Entry) g.Node {
		name := fmt.Sprintf("%s %s", singular[e.Resource], e.Kind)
		if e.Resource != journal.Bookings {
			name = fmt.Sprintf("%s %d %s", singular[e.Resource], e.ID, e.Kind)
		}
		return page.Row(
			g.Group{h.Span(h.Class("name"), g.Text(name)), h.Span(h.Class("hint"), g.Text("change "+strconv.FormatInt(e.Number, 10)))},
			page.Cell("Who", originView(e, p.keyNames)),
			page.Cell("Details", g.Text(words.Change(e.Booking))),
			page.Cell("Time", p.at(e.At)),
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
	return page.Table([]string{"Event", "State", "Queued"}, g.Map(p.events, func(e events.Stored) g.Node {
		created, _ := e.CreatedAt.Time()
		return page.Row(h.Span(h.Class("name event"), g.Text(e.Name)),
			page.Cell("State", g.Group{h.Span(h.Class("status "+e.State), g.Text(e.State)), g.If(e.Failure != "", g.Group{h.Br(), h.Span(g.Text(e.Failure))})}),
			page.Cell("Queued", p.at(created)))
	}))
}
