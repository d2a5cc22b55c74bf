package adapter

import (
	"fmt"
	"net/url"
	"time"

	"bookside/adapter/icalendar"
)

// calendarFile returns a booking as a file for calendars, with the facts that the plugin's
// own has (OsBookingHelper::generate_ical_event_string, LatePoint 5.6.5); "" where no
// start is stored. A later file of the same booking replaces an earlier one.
func (s *Site) calendarFile(w writeSettings, b Booking) string {
	start, ok := s.Start(b)
	if !ok {
		return ""
	}
	end, ok := s.End(b)
	if !ok {
		return ""
	}
	created, ok := b.CreatedAt.Time()
	if !ok {
		created = s.Now
	}
	service := ""
	if b.Service != nil {
		service = b.Service.Name
	}
	return icalendar.File(icalendar.Event{
		UID: b.Code + "@" + hostOf(w.siteURL), Sequence: max(0, int(s.Now.Sub(created)/time.Second)),
		Summary: fmt.Sprintf("Appointment with %s for %s", b.Agent.FullName, service), Location: b.Location.FullAddress, URL: w.siteURL,
		Start: start, End: end, Status: calendarStatus(b.Status),
	}, s.Now)
}

func calendarStatus(status string) icalendar.Status {
	switch status {
	case StatusCancelled:
		return icalendar.Cancelled
	case "pending", "payment_pending":
		return icalendar.Tentative
	default:
		return icalendar.Confirmed
	}
}

func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}
