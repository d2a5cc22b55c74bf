package notify

import (
	"fmt"
	"math"
	"net/url"
	"time"

	"bookside/adapter/icalendar"
	"bookside/adapter/records"
	"bookside/adapter/session"
)

// calendarFile returns a booking as a file for calendars, with the facts that the plugin's
// own has (OsBookingHelper::generate_ical_event_string, LatePoint 5.6.5); "" where no
// start is stored. A later file of the same booking replaces an earlier one.
func calendarFile(s *session.Session, w session.WriteSettings, b records.Booking) string {
	event, ok := CalendarEvent(s, b, HostOf(w.SiteURL))
	if !ok {
		return ""
	}
	service := ""
	if b.Service != nil {
		service = b.Service.Name
	}
	event.Stamp = time.Time{} // a file of its own is as old as the mail
	event.Summary = fmt.Sprintf("Appointment with %s for %s", b.Agent.FullName, service)
	event.Location, event.URL = b.Location.FullAddress, w.SiteURL
	return icalendar.File(event, s.Now)
}

// CalendarEvent returns what all calendar files say of a booking, without texts: its UID, its
// time and its status. ok is false where no start is stored.
//
// The sequence is the age in seconds that the booking had at its last change. It needs no memory,
// is the same in every file, and rises with whatever sets updated_at: the plugin, its companion
// and every write here. The journal has more, but forgets, and a sequence must not fall. A change
// by plain SQL, or a second one within a second, keeps the sequence and still reaches those who
// subscribe, because they replace what they have by what they read.
func CalendarEvent(s *session.Session, b records.Booking, host string) (event icalendar.Event, ok bool) {
	start, ok := records.Start(s, b)
	if !ok {
		return icalendar.Event{}, false
	}
	end, ok := records.End(s, b)
	if !ok {
		return icalendar.Event{}, false
	}
	code := b.Code
	if code == "" {
		code = CodeOfNone(b)
	}
	created, known := b.CreatedAt.Time()
	changed, updated := b.UpdatedAt.Time()
	switch {
	case !updated && !known:
		created, changed = start, start // the same in every file, as a stamp must be
	case !updated:
		changed = created
	case !known:
		created = changed
	}
	sequence := min(max(0, changed.Sub(created)/time.Second), math.MaxInt32)
	return icalendar.Event{
		UID: code + "@" + host, Sequence: int(sequence), Stamp: changed, Start: start, End: end, Status: calendarStatus(b.Status),
	}, true
}

// CodeOfNone returns what names a booking in calendars where its code is not known.
func CodeOfNone(b records.Booking) string { return fmt.Sprintf("booking-%d", b.ID) }

func calendarStatus(status string) icalendar.Status {
	switch status {
	case records.StatusCancelled:
		return icalendar.Cancelled
	case "pending", "payment_pending":
		return icalendar.Tentative
	default:
		return icalendar.Confirmed
	}
}

// HostOf returns the host of a URL; "" if there is none.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}
