package text

import (
	"fmt"
	"io"
	"time"

	ics "github.com/arran4/golang-ical"
)

const newLine = "\r\n"

// serialization is how all calendars are written: lines of at most 75 bytes.
var serialization = &ics.SerializationConfiguration{MaxLength: 75, PropertyMaxLength: 75, NewLine: newLine}

// CalendarWriter writes a calendar of any number of events as they come, without keeping them.
type CalendarWriter struct {
	to  io.Writer
	now time.Time
}

// NewCalendarWriter begins a calendar as of an instant. Close ends it: a calendar without its end is
// incomplete.
func NewCalendarWriter(to io.Writer, now time.Time) (*CalendarWriter, error) {
	return begin(&CalendarWriter{to, now}, newCalendar())
}

// CalendarFeed is what a calendar says about itself to subscribing programs.
type CalendarFeed struct {
	Name    string
	Zone    string        // IANA name of the zone that programs may show by default; "" for none
	Refresh time.Duration // after which programs should read it again, in whole minutes
}

// NewCalendarFeed begins a calendar for subscribers. Its events must have stamps, so that the calendar changes only
// if they do.
func NewCalendarFeed(to io.Writer, f CalendarFeed) (*CalendarWriter, error) {
	calendar := newCalendar()
	calendar.SetName(calendarLine(f.Name))
	if f.Zone != "" {
		calendar.SetXWRTimezone(f.Zone)
	}
	interval := fmt.Sprintf("PT%dM", f.Refresh/time.Minute)
	calendar.SetRefreshInterval(interval) // of RFC 7986; the next one is for Outlook
	calendar.SetXPublishedTTL(interval)
	return begin(&CalendarWriter{to: to}, calendar)
}

func begin(w *CalendarWriter, calendar *ics.Calendar) (*CalendarWriter, error) {
	if err := w.line("BEGIN:VCALENDAR"); err != nil {
		return nil, err
	}
	for _, property := range calendar.CalendarProperties {
		if err := property.SerializeTo(w.to, serialization); err != nil {
			return nil, fmt.Errorf("write calendar: %w", err)
		}
	}
	return w, nil
}

// Add writes an event.
func (w *CalendarWriter) Add(e CalendarEvent) error {
	if err := newCalendarEvent(e, w.now).SerializeTo(w.to, serialization); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// Close ends the calendar.
func (w *CalendarWriter) Close() error { return w.line("END:VCALENDAR") }

func (w *CalendarWriter) line(text string) error {
	if _, err := io.WriteString(w.to, text+newLine); err != nil {
		return fmt.Errorf("write calendar: %w", err)
	}
	return nil
}
