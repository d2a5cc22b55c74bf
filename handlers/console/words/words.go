// Package words is how the records of the site read on the console's pages: names, times and statuses, without links. It imports
// the adapter's packages whose records it describes, and handlers/console/page.
package words

import (
	"cmp"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// BookingTime shows when a booking takes place, with UTC in a tooltip.
func BookingTime(s *session.Session, b records.Booking) g.Node {
	return bookingTime(s, b, "Mon 2 Jan 2006, 15:04")
}

// BookingHours shows the time of day of a booking, with UTC in a tooltip.
func BookingHours(s *session.Session, b records.Booking) g.Node {
	return bookingTime(s, b, page.ClockTime)
}

func bookingTime(s *session.Session, b records.Booking, layout page.Text) g.Node {
	begins, ok := records.Start(s, b)
	if !ok {
		return page.Text("unknown")
	}
	text := page.Phrases{page.NewDate(begins, layout)}
	if ends, ok := records.End(s, b); ok {
		text = append(text, page.Name("–"), page.NewDate(ends, page.ClockTime))
	}
	return page.TimeAs(begins, text)
}

// Customer is the name of a booking's customer, or what else is known of them.
func Customer(b records.Booking) page.Phrase {
	if name := cmp.Or(b.Customer.FullName(), b.Customer.Email); name != "" {
		return page.Name(name)
	}
	return page.Textf("Customer %d", b.Customer.ID)
}

// Service is the name of a booking's service.
func Service(b records.Booking) page.Phrase {
	if b.Service == nil {
		return page.Text("a deleted service")
	}
	return page.Name(b.Service.Name)
}

// Agent is the name of a booking's agent.
func Agent(b records.Booking) page.Phrase {
	if b.Agent.FullName == "" {
		return page.Text("a deleted agent")
	}
	return page.Name(b.Agent.FullName)
}

// Hours is a time of a day.
func Hours(hours page.Span) page.Phrase {
	if hours == (page.Span{To: page.DayMinutes}) {
		return page.Text("the whole day")
	}
	return page.Name(hours.String())
}

// Status is a status in words.
func Status(status string) page.Text { return page.Text(strings.ReplaceAll(status, "_", " ")) }

// StatusClass is the class of a status on the agenda, which has its colour.
func StatusClass(status string) string {
	if status == records.StatusApproved || status == records.StatusPending {
		return status
	}
	return "past"
}

// StatusView shows a status with its colour.
func StatusView(status string) g.Node {
	class := map[string]string{records.StatusApproved: "status good", records.StatusPending: "status minor"}[status]
	return h.Span(h.Class(cmp.Or(class, "status past")), Status(status))
}

// TimeOff says what time off is for, and why.
func TimeOff(t catalog.TimeOff, labels slots.Labels) page.Phrase {
	text := page.Phrase(page.Text("Time off"))
	switch {
	case t.Service != 0:
		text = page.Textf("Time off of %s", Concerned(availability.Scope{Service: t.Service}, labels))
	case t.Agent == 0 && t.Location == 0:
		text = page.Text("Closed")
	}
	if t.Note != "" {
		text = page.Textf("%s: %s", text, t.Note)
	}
	return text
}

func dayTime(day availability.Day) time.Time {
	year, month, number := day.Date()
	return time.Date(year, month, number, 0, 0, 0, 0, time.UTC)
}

// LongDay is a day with its weekday and year.
func LongDay(day availability.Day) page.Phrase { return page.NewDate(dayTime(day), page.LongDate) }

// Date is a stored date as a LongDay, or as it is if it is none.
func Date(date string) page.Phrase {
	day, ok := availability.ParseDay(date)
	if !ok {
		return page.Name(date)
	}
	return LongDay(day)
}

// TimeOffSpan says when time off is.
func TimeOffSpan(t catalog.TimeOff) page.Phrase {
	hours := ""
	if t.Hours != nil {
		hours = page.Span{From: int(t.Hours.Start), To: int(t.Hours.End)}.String()
	}
	return Period(t.From.String(), t.To.String(), hours)
}

// Period is a day or several, as stored dates, and hours of them; "" for whole days.
func Period(first, last, hours string) page.Phrase {
	text := Date(first)
	if last != first {
		text = page.Textf("%s to %s", text, Date(last))
	}
	if hours != "" {
		text = page.List(text, page.Name(hours))
	}
	return text
}

// Concerned names whom time off is for.
func Concerned(scope availability.Scope, labels slots.Labels) page.Phrase {
	var parts []page.Phrase
	for _, part := range []struct {
		resource domain.Resource
		format   page.Text
		id       int64
	}{{domain.AgentResource, "agent %d", scope.Agent}, {domain.ServiceResource, "service %d", scope.Service}, {domain.LocationResource, "location %d", scope.Location}} {
		if part.id == 0 {
			continue
		}
		parts = append(parts, named(labels, part.resource, part.format, part.id))
	}
	if len(parts) == 0 {
		return page.Text("the whole site")
	}
	return page.List(parts...)
}

// named is the name of a record, or its number in a text if it has none.
func named(labels slots.Labels, resource domain.Resource, number page.Text, id int64) page.Phrase {
	if c, known := labels[resource][id]; known {
		return page.Name(c.Name)
	}
	return page.Textf(number, id)
}

// Scope names the agents, services and locations of a scope.
func Scope(scope domain.Scope, labels slots.Labels) (parts []page.Phrase) {
	for _, part := range []struct {
		resource  domain.Resource
		ids       []int64
		one, many page.Text
	}{
		{domain.AgentResource, scope.Agents, "agent %s", "agents %s"},
		{domain.ServiceResource, scope.Services, "service %s", "services %s"},
		{domain.LocationResource, scope.Locations, "location %s", "locations %s"},
	} {
		switch names := labels.Text(part.resource, part.ids); len(part.ids) {
		case 0:
		case 1:
			parts = append(parts, page.Textf(part.one, names))
		default:
			parts = append(parts, page.Textf(part.many, names))
		}
	}
	return parts
}

// Permission names what a permission allows.
func Permission(verb, resource string) page.Phrase {
	return page.Textf("permission\x04%1$s %2$s", page.Text(verb), page.Text(resource))
}

// changed are the texts of changed records.
var changed = map[journal.Resource]page.Text{
	journal.Bookings: "Booking %d %s", journal.Customers: "Customer %d %s", journal.Orders: "Order %d %s", journal.Payments: "Transaction %d %s",
	journal.Invoices: "Invoice %d %s", journal.Services: "Service %d %s", journal.Agents: "Agent %d %s", journal.Locations: "Location %d %s", journal.Coupons: "Coupon %d %s",
}

// Changed says what happened to which record.
func Changed(e journal.Entry) page.Phrase {
	return page.Textf(changed[e.Resource], e.ID, page.Text(e.Kind))
}

// RecordOf is what an entry is of.
func RecordOf(e journal.Entry) domain.Resource {
	return domain.Resource(strings.TrimSuffix(string(e.Resource), "s"))
}

// Change is what changed in a booking, and the name of another record, with names as far as they are known.
func Change(e journal.Entry, labels slots.Labels) g.Node {
	b := e.Booking
	if b == nil {
		return page.Name(labels[RecordOf(e)][e.ID].Name)
	}
	status := page.Phrase(Status(b.NewStatus))
	switch {
	case b.NewStatus == "":
		status = page.Textf("was %s", Status(b.OldStatus))
	case b.OldStatus != "" && b.OldStatus != b.NewStatus:
		status = page.Textf("%s → %s", Status(b.OldStatus), status)
	}
	before := domain.ValueOr(b.Before, b.Assignment)
	parts := []page.Phrase{status}
	for _, part := range []struct {
		resource domain.Resource
		number   page.Text
		old, now int64
	}{
		{domain.CustomerResource, "customer %d", before.CustomerID, b.CustomerID}, {domain.AgentResource, "agent %d", before.AgentID, b.AgentID},
		{domain.ServiceResource, "service %d", before.ServiceID, b.ServiceID},
		{domain.LocationResource, "location %d", before.LocationID, b.LocationID},
	} {
		now := named(labels, part.resource, part.number, part.now)
		if part.old != part.now {
			now = page.Textf("%s → %s", named(labels, part.resource, part.number, part.old), now)
		}
		parts = append(parts, now)
	}
	return page.List(parts...)
}

// Request returns the method and the path of a request.
func Request(e keys.LogEntry) page.Phrase {
	if e.Route == keys.NoRoute {
		return page.Textf("%s, no route", e.Method)
	}
	return page.Name(strings.TrimSuffix(e.Method+" "+e.Path()+" "+e.Tool, " "))
}

// RequestTime shows when a request arrived, with seconds.
func RequestTime(e keys.LogEntry) g.Node { return page.TimeIn(e.At, "2006-01-02 15:04:05") }

// Duration is a duration in milliseconds.
func Duration(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// RequestStatus shows the status of a response and the code of its error.
func RequestStatus(e keys.LogEntry) g.Node {
	class := "status good"
	switch {
	case e.Status >= 500:
		class = "status broken"
	case e.Status >= 400:
		class = "status minor"
	}
	return g.Group{h.Span(h.Class(class), g.Text(strconv.Itoa(e.Status))), g.If(e.Code != "", g.Group{h.Br(), h.Span(h.Class("hint rate"), g.Text(e.Code))})}
}

// RequestRecord returns the record that a request names in its path, such as bookings/17.
func RequestRecord(e keys.LogEntry) string {
	resource, _, _ := strings.Cut(strings.TrimPrefix(e.Route, "/"), "/")
	return resource + "/" + strconv.FormatInt(e.RecordID, 10)
}

// networkPart is a part of a network with the colons behind it.
var networkPart = regexp.MustCompile(`[^:]*:+|[^:]+`)

// Network shows a network that can only wrap between its parts.
func Network(network netip.Prefix) g.Node {
	var parts g.Group
	for i, part := range networkPart.FindAllString(keys.FormatNetwork(network), -1) {
		parts = append(parts, g.If(i > 0, h.Wbr()), g.Text(part))
	}
	return h.Code(h.Class("network"), parts)
}

// TakesPlaceOn reports whether a booking is on a day, as the agenda shows it: also if it began the day before.
func TakesPlaceOn(s *session.Session, b records.Booking, day availability.Day) bool {
	start, end, ok := records.Span(s, b)
	if !ok {
		return string(b.StartDate) == day.String()
	}
	return MinutesOn(day, start, end).OfDay()
}

// MinutesOn returns a time in minutes after midnight of a day.
func MinutesOn(day availability.Day, start, end availability.Moment) page.Span {
	return page.Span{From: int(start.Day-day)*page.DayMinutes + int(start.Minutes), To: int(end.Day-day)*page.DayMinutes + int(end.Minutes)}
}
