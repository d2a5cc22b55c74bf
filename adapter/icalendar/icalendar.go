// Package icalendar writes calendar files (RFC 5545) that people can import into their own
// calendar. It imports golang-ical and no other part of the project.
package icalendar

import (
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
)

// Event is an appointment as a calendar shows it.
type Event struct {
	// UID is the same in every file about the appointment, so that a calendar replaces
	// what it has. A file of a higher Sequence replaces one of a lower.
	UID        string
	Sequence   int
	Summary    string
	Location   string // "" for none
	URL        string
	Start, End time.Time
	Status     Status
}

// Status is how certain an appointment is.
type Status string

// The statuses of appointments.
const (
	Confirmed Status = Status(ics.ObjectStatusConfirmed)
	Tentative Status = Status(ics.ObjectStatusTentative)
	Cancelled Status = Status(ics.ObjectStatusCancelled)
)

// File returns the calendar file of an event as of an instant. Times are in UTC, so that
// the file needs no definition of a time zone.
func File(e Event, now time.Time) string {
	calendar := newCalendar()
	calendar.AddVEvent(newEvent(e, now))
	return calendar.Serialize(ics.WithNewLine(newLine))
}

func newCalendar() *ics.Calendar {
	calendar := ics.NewCalendar()
	calendar.SetProductId("-//Bookside//Bookside//EN")
	calendar.SetMethod(ics.MethodPublish)
	return calendar
}

func newEvent(e Event, now time.Time) *ics.VEvent {
	event := ics.NewEvent(e.UID)
	event.SetDtStampTime(now)
	event.SetSequence(e.Sequence)
	event.SetStartAt(e.Start)
	event.SetEndAt(e.End)
	event.SetSummary(plain(e.Summary))
	if location := plain(e.Location); location != "" {
		event.SetLocation(location)
	}
	if url := plain(e.URL); url != "" {
		event.SetURL(url)
	}
	event.SetStatus(ics.ObjectStatus(e.Status))
	return event
}

// plain keeps a text from ending its line, and makes it one line.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }
