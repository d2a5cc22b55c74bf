package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

var (
	now   = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)
	visit = CalendarEvent{
		UID: "ABC1234@example.com", Sequence: 7, Summary: "Appointment with Zoë; Physio, 60\r\nBEGIN:VALARM", Location: "1 High Street,\n10115 Berlin",
		URL: "https://example.com", Start: time.Date(2026, time.November, 27, 10, 0, 0, 0, time.FixedZone("", 3600)),
		End: time.Date(2026, time.November, 27, 11, 0, 0, 0, time.FixedZone("", 3600)), Status: Confirmed,
	}
)

func TestFile(t *testing.T) {
	t.Parallel()
	want := strings.Join([]string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Bookside//Bookside//EN", "METHOD:PUBLISH",
		"BEGIN:VEVENT", "UID:ABC1234@example.com", "DTSTAMP:20261121T093000Z", "SEQUENCE:7", "DTSTART:20261127T090000Z", "DTEND:20261127T100000Z",
		`SUMMARY:Appointment with Zoë\; Physio\, 60 BEGIN:VALARM`, `LOCATION:1 High Street\, 10115 Berlin`, "URL:https://example.com", "STATUS:CONFIRMED",
		"END:VEVENT", "END:VCALENDAR", "",
	}, "\r\n")
	expect.Equal(t, want, write(t, visit))
}

// write returns a calendar of events, each of which is written when it is added.
func write(t testing.TB, events ...CalendarEvent) string {
	t.Helper()
	var text strings.Builder
	w, err := NewCalendarWriter(&text, now)
	expect.NoError(t, err)
	for _, e := range events {
		before := text.Len()
		if err := w.Add(e); err != nil || !strings.HasSuffix(text.String()[before:], "END:VEVENT\r\n") {
			t.Fatalf("%v: added %q", err, text.String()[before:])
		}
	}
	expect.NoError(t, w.Close())
	return text.String()
}

// TestWriter: a calendar has several events.
func TestWriter(t *testing.T) {
	t.Parallel()
	long := visit
	long.UID, long.Summary = "DEF5678@example.com", strings.Repeat("Größe 🎁 ", 40)
	calendar, err := ics.ParseCalendar(strings.NewReader(write(t, visit, long)))
	if err != nil || len(calendar.Events()) != 2 || calendar.Events()[1].Id() != long.UID {
		t.Errorf("%v: %v", err, calendar)
	}
	if calendar, err := ics.ParseCalendar(strings.NewReader(write(t))); err != nil || len(calendar.Events()) != 0 {
		t.Errorf("no events: %v", err)
	}
}

// brokenWriter fails after a number of writes.
type brokenWriter struct{ left int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(text []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errBroken
	}
	return len(text), nil
}

func TestWriterReportsErrors(t *testing.T) {
	t.Parallel()
	whole := &brokenWriter{left: 1000}
	expect.NoError(t, writeTo(whole))
	for left := range 1000 - whole.left {
		expect.Error(t, errBroken, writeTo(&brokenWriter{left}), "after ", left, " writes")
	}
}

func writeTo(to io.Writer) error {
	w, err := NewCalendarWriter(to, now)
	if err != nil {
		return err
	}
	if err := w.Add(visit); err != nil {
		return err
	}
	return w.Close()
}

// TestLongLinesAreFolded: no line is longer than 75 bytes, and the texts survive.
func TestLongLinesAreFolded(t *testing.T) {
	t.Parallel()
	long := visit
	long.Summary = "Termin mit " + strings.Repeat("Größe 🎁 ", 40) + "Ende"
	file := write(t, long)
	for line := range strings.SplitSeq(file, "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
	calendar, err := ics.ParseCalendar(strings.NewReader(file))
	expect.NoError(t, err)
	expect.Equal(t, long.Summary, calendar.Events()[0].GetProperty(ics.ComponentPropertySummary).Value, "the summary is")
}

func TestNoLocation(t *testing.T) {
	t.Parallel()
	online := visit
	online.Location, online.Status = " \n", Cancelled
	if file := write(t, online); strings.Contains(file, "LOCATION") || !strings.Contains(file, "STATUS:CANCELLED\r\nTRANSP:TRANSPARENT\r\n") {
		t.Error(file)
	}
}

// TestEndsThatAreNone: an event that does not end after it begins has no end.
func TestEndsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, end := range []time.Time{visit.Start, visit.Start.Add(-time.Hour)} {
		short := visit
		short.End = end
		expect.NoTexts(t, write(t, short), "DTEND")
	}
}

// TestTextsEndNoLine: no text can add a line to a file.
func TestTextsEndNoLine(t *testing.T) {
	t.Parallel()
	forged := visit
	forged.Details = []string{"a\r\nDTEND:20300101T000000Z", "b\x00\x1bc\xff\u0085"}
	if file := write(t, forged); !strings.Contains(file, "\r\n"+`DESCRIPTION:a DTEND:20300101T000000Z\nbc`+"\r\n") {
		t.Error(file)
	}
}

// TestPythonReadsFiles: an independent implementation finds in a file what was written to it.
func TestPythonReadsFiles(t *testing.T) {
	t.Parallel()
	python := fixtures.RequirePython(t, "icalendar")
	text := strings.Repeat("Größe 🎁; a,b \\: \"q\" ", 20) + "Ende"
	long := visit
	long.Summary, long.Location, long.Status = text, text, Tentative
	bare := visit
	bare.Location, bare.URL, bare.Sequence, bare.Status = "", "", 0, Cancelled
	event := func(summary, status string, sequence int) map[string]any {
		return map[string]any{
			"UID": "ABC1234@example.com", "DTSTAMP": "2026-11-21T09:30:00+00:00", "SEQUENCE": fmt.Sprint(sequence), "SUMMARY": summary,
			"DTSTART": "2026-11-27T09:00:00+00:00", "DTEND": "2026-11-27T10:00:00+00:00", "STATUS": status,
		}
	}
	with := func(event map[string]any, location string) map[string]any {
		event["LOCATION"], event["URL"] = location, "https://example.com"
		return event
	}
	free := func(event map[string]any) map[string]any {
		event["TRANSP"] = "TRANSPARENT"
		return event
	}
	for name, c := range map[string]struct {
		event CalendarEvent
		want  map[string]any
	}{
		"a visit":    {visit, with(event("Appointment with Zoë; Physio, 60 BEGIN:VALARM", "CONFIRMED", 7), "1 High Street, 10115 Berlin")},
		"long texts": {long, with(event(text, "TENTATIVE", 7), text)},
		"the least":  {bare, free(event("Appointment with Zoë; Physio, 60 BEGIN:VALARM", "CANCELLED", 0))},
	} {
		want := map[string]any{"method": "PUBLISH", "version": "2.0", "events": []any{c.want}}
		expect.Equal(t, want, readByPython(t, python, write(t, c.event)), name)
	}
	t.Run("a feed", func(t *testing.T) {
		t.Parallel()
		detailed, stamp := bare, now.Add(-time.Hour)
		detailed.UID, detailed.Details, detailed.Status, detailed.Stamp = "DEF@example.com", []string{text, "Phone: +49 30 1"}, Confirmed, stamp
		described := event("Appointment with Zoë; Physio, 60 BEGIN:VALARM", "CONFIRMED", 0)
		described["UID"], described["DESCRIPTION"], described["DTSTAMP"] = "DEF@example.com", text+"\nPhone: +49 30 1", "2026-11-21T08:30:00+00:00"
		var feed strings.Builder
		w, err := NewCalendarFeed(&feed, CalendarFeed{Name: "Zoë; a, b \\\r\nX", Zone: "Europe/Berlin", Refresh: time.Hour})
		if err == nil {
			err = errors.Join(w.Add(detailed), w.Close())
		}
		expect.NoError(t, err)
		want := map[string]any{"method": "PUBLISH", "version": "2.0", "name": `Zoë; a, b \ X`, "zone": "Europe/Berlin", "events": []any{described}}
		expect.Equal(t, want, readByPython(t, python, feed.String()))
		if !strings.Contains(feed.String(), "\r\nREFRESH-INTERVAL;VALUE=DURATION:PT60M\r\nX-PUBLISHED-TTL:PT60M\r\n") {
			t.Error(feed.String())
		}
	})
}

// readByPython returns what an independent implementation finds in a file.
func readByPython(t *testing.T, python, file string) (found map[string]any) {
	t.Helper()
	read := exec.CommandContext(t.Context(), python, "testdata/read.py")
	read.Stdin = strings.NewReader(file)
	output, err := read.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if err := json.Unmarshal(output, &found); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return found
}
