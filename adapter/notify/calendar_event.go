package notify

import (
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// CalendarEvent returns what all calendar files say about a booking, without texts: its UID, its time and
// its status. ok is false if no start is stored.
//
// The sequence is the booking's age in seconds at its last change. It needs no storage, is the same in
// every file, and rises with whatever sets updated_at: the plugin, the companion and every write here. The
// journal knows more but forgets, and a sequence must not fall. A change by plain SQL, or a second one
// within a second, keeps the sequence and still reaches subscribers, because they replace their copy with
// what they read.
func CalendarEvent(s *session.Session, b records.Booking, host string) (event text.CalendarEvent, ok bool) {
	start, ok := records.Start(s, b)
	if !ok {
		return text.CalendarEvent{}, false
	}
	end, ok := records.End(s, b)
	if !ok {
		return text.CalendarEvent{}, false
	}
	code := b.Code
	if code == "" {
		code = CodeOfNone(b)
	}
	created, known := b.CreatedAt.Time()
	changed, updated := b.UpdatedAt.Time()
	switch {
	case !updated && !known:
		created, changed = start, start // a stamp must be the same in every file
	case !updated:
		changed = created
	case !known:
		created = changed
	}
	sequence := min(max(0, changed.Sub(created)/time.Second), math.MaxInt32)
	return text.CalendarEvent{
		UID: code + "@" + host, Sequence: int(sequence), Stamp: changed, Start: start, End: end, Status: calendarStatus(b.Status),
	}, true
}

// CodeOfNone returns a name for a booking in calendars if its code is unknown.
func CodeOfNone(b records.Booking) string { return fmt.Sprintf("booking-%d", b.ID) }

func calendarStatus(status string) text.EventStatus {
	switch status {
	case records.StatusCancelled:
		return text.Cancelled
	case "pending", "payment_pending":
		return text.Tentative
	default:
		return text.Confirmed
	}
}

// HostOf returns the host of a URL, or "" if there is none.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}
