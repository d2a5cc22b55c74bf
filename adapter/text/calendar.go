package text

import (
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"
)

// CalendarEvent is an appointment as a calendar shows it.
type CalendarEvent struct {
	// UID is the same in every file about the appointment, so that a calendar replaces its copy. A file
	// with a higher Sequence replaces one with a lower.
	UID        string
	Sequence   int
	Stamp      time.Time // when the event got its present form; zero for the time of writing
	Summary    string
	Details    []string // lines about the appointment
	Location   string   // "" for none
	URL        string   // likewise
	Start, End time.Time
	Status     EventStatus
}

// EventStatus is how certain an appointment is.
type EventStatus string

// The statuses of appointments.
const (
	Confirmed EventStatus = EventStatus(ics.ObjectStatusConfirmed)
	Tentative EventStatus = EventStatus(ics.ObjectStatusTentative)
	Cancelled EventStatus = EventStatus(ics.ObjectStatusCancelled)
)

func newCalendar() *ics.Calendar {
	calendar := ics.NewCalendar()
	calendar.SetProductId("-//Bookside//Bookside//EN")
	calendar.SetMethod(ics.MethodPublish)
	return calendar
}

func newCalendarEvent(e CalendarEvent, now time.Time) *ics.VEvent {
	event := ics.NewEvent(e.UID)
	if !e.Stamp.IsZero() {
		now = e.Stamp
	}
	event.SetDtStampTime(now)
	event.SetSequence(e.Sequence)
	event.SetStartAt(e.Start)
	if e.End.After(e.Start) { // no other end is allowed; without one, the event ends when it begins
		event.SetEndAt(e.End)
	}
	event.SetSummary(calendarLine(e.Summary))
	if len(e.Details) > 0 {
		event.SetDescription(e.description())
	}
	if location := calendarLine(e.Location); location != "" {
		event.SetLocation(location)
	}
	if url := calendarLine(e.URL); url != "" {
		event.SetURL(url)
	}
	event.SetStatus(ics.ObjectStatus(e.Status))
	if e.Status == Cancelled { // otherwise programs that still show it would count its time as taken
		event.SetTimeTransparency(ics.TransparencyTransparent)
	}
	return event
}

func (e CalendarEvent) description() string {
	lines := make([]string, len(e.Details))
	for i, line := range e.Details {
		lines[i] = calendarLine(line)
	}
	return strings.Join(lines, "\n")
}

// calendarLine removes line ends from a text, and characters that a file may not contain.
func calendarLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), ""))
}
