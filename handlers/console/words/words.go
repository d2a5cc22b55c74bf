// Package words is how the records of the site read on the console's pages: names, times and statuses, without links. It imports
// the adapter's packages whose records it describes, and handlers/console/page.
package words

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/timeoff"
	"github.com/bookside/bookside/handlers/console/page"
)

// BookingTime shows when a booking takes place, with UTC in a tooltip.
func BookingTime(s *session.Session, b records.Booking) g.Node {
	return bookingTime(s, b, "Mon 2 Jan 2006, 15:04")
}

// BookingHours shows the time of day of a booking, with UTC in a tooltip.
func BookingHours(s *session.Session, b records.Booking) g.Node { return bookingTime(s, b, "15:04") }

func bookingTime(s *session.Session, b records.Booking, layout string) g.Node {
	begins, ok := records.Start(s, b)
	if !ok {
		return g.Text("unknown")
	}
	text := begins.Format(layout)
	if ends, ok := records.End(s, b); ok {
		text += "–" + ends.Format("15:04")
	}
	return page.Time(begins, text)
}

// Customer is the name of a booking's customer, or what else is known of them.
func Customer(b records.Booking) string {
	name := b.Customer.FullName()
	switch {
	case name != "":
		return name
	case b.Customer.Email != "":
		return b.Customer.Email
	default:
		return "Customer " + strconv.FormatInt(b.Customer.ID, 10)
	}
}

// Service is the name of a booking's service.
func Service(b records.Booking) string {
	if b.Service == nil {
		return "a deleted service"
	}
	return b.Service.Name
}

// Status is a status in words.
func Status(status string) string { return strings.ReplaceAll(status, "_", " ") }

// StatusClass is the class of a status, which has its colour.
func StatusClass(status string) string {
	switch status {
	case records.StatusApproved, records.StatusPending, records.StatusCancelled:
		return status
	default:
		return "past"
	}
}

// StatusView shows a status with its colour.
func StatusView(status string) g.Node {
	return h.Span(h.Class("status "+StatusClass(status)), g.Text(Status(status)))
}

// TimeOff says what time off is for, and why.
func TimeOff(t timeoff.TimeOff) string {
	text := "Time off"
	switch {
	case t.Service != 0:
		text += fmt.Sprintf(" of service %d", t.Service)
	case t.Agent == 0 && t.Location == 0:
		text = "Closed"
	}
	if t.Note != "" {
		text += ": " + t.Note
	}
	return text
}

func dayTime(day availability.Day) time.Time {
	year, month, number := day.Date()
	return time.Date(year, month, number, 0, 0, 0, 0, time.UTC)
}

// LongDay is a day with its weekday and year.
func LongDay(day availability.Day) string { return dayTime(day).Format("Monday, 2 January 2006") }

// ShortDay is a day with its weekday, without its year.
func ShortDay(day availability.Day) string { return dayTime(day).Format("Mon 2 Jan") }

// Date is a stored date as a LongDay, or as it is if it is none.
func Date(date string) string {
	day, ok := availability.ParseDay(date)
	if !ok {
		return date
	}
	return LongDay(day)
}

// TimeOffSpan says when time off is.
func TimeOffSpan(t timeoff.TimeOff) string {
	hours := ""
	if t.Hours != nil {
		hours = page.Span{From: int(t.Hours.Start), To: int(t.Hours.End)}.String()
	}
	return Period(LongDay(t.From), LongDay(t.To), hours)
}

// Period is a day or several, and hours of them; "" for whole days.
func Period(first, last, hours string) string {
	text := first
	if last != first {
		text += " to " + last
	}
	if hours != "" {
		text += ", " + hours
	}
	return text
}

// Concerned names whom time off is for.
func Concerned(scope availability.Scope, labels slots.Labels) string {
	var parts []string
	for _, part := range []struct {
		resource domain.Resource
		id       int64
	}{{domain.AgentResource, scope.Agent}, {domain.ServiceResource, scope.Service}, {domain.LocationResource, scope.Location}} {
		if part.id == 0 {
			continue
		}
		name := string(part.resource) + " " + strconv.FormatInt(part.id, 10)
		if c, known := labels[part.resource][part.id]; known {
			name = c.Name
		}
		parts = append(parts, name)
	}
	if len(parts) == 0 {
		return "the whole site"
	}
	return strings.Join(parts, ", ")
}

// Change is what changed in a booking; "" for records other than bookings.
func Change(b *journal.BookingFacts) string {
	if b == nil {
		return ""
	}
	text := b.NewStatus
	switch {
	case b.NewStatus == "":
		text = "was " + b.OldStatus
	case b.OldStatus != "" && b.OldStatus != b.NewStatus:
		text = b.OldStatus + " → " + b.NewStatus
	}
	text = fmt.Sprintf("%s, agent %d, service %d, location %d", text, b.AgentID, b.ServiceID, b.LocationID)
	if b.Before == nil {
		return text
	}
	for _, moved := range []struct {
		noun     string
		old, now int64
	}{{"agent", b.Before.AgentID, b.AgentID}, {"service", b.Before.ServiceID, b.ServiceID}, {"location", b.Before.LocationID, b.LocationID}, {"customer", b.Before.CustomerID, b.CustomerID}} {
		if moved.old != moved.now {
			text += fmt.Sprintf(", from %s %d", moved.noun, moved.old)
		}
	}
	return text
}

// Request returns the method and the path of a request.
func Request(e requestlog.Entry) string {
	title := e.Method + " " + e.Path()
	if e.Route == requestlog.NoRoute {
		title = e.Method + ", no route"
	}
	if e.Tool != "" {
		title += " " + e.Tool
	}
	return title
}

// RequestTime is when a request arrived, with milliseconds.
func RequestTime(e requestlog.Entry) page.UTC {
	return page.UTC{Machine: e.At.Format("2006-01-02T15:04:05.000Z"), Text: e.At.Format(time.DateTime)}
}

// Duration is a duration in milliseconds.
func Duration(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// RequestStatus shows the status of a response and the code of its error.
func RequestStatus(e requestlog.Entry) g.Node {
	class := "status active"
	switch {
	case e.Status >= 500:
		class = "status failed"
	case e.Status >= 400:
		class = "status waiting"
	}
	return g.Group{h.Span(h.Class(class), g.Text(strconv.Itoa(e.Status))), g.If(e.Code != "", g.Group{h.Br(), h.Span(h.Class("hint word"), g.Text(e.Code))})}
}

// RequestRecord returns the record that a request names in its path, such as bookings/17.
func RequestRecord(e requestlog.Entry) string {
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
