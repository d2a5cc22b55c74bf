package handlers

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/compat/table"
	"github.com/bookside/bookside/handlers/middleware"
)

// exportFormat is a media type other than JSON in which a list can be sent.
type exportFormat struct {
	media, extension string
	about            string
	begin            func(r *request, to *bytes.Buffer) exportWriter
}

// exportWriter writes a list chunk by chunk, as it is read.
type exportWriter interface {
	next(r *request) error // writes the present chunk of the request's export
	end() error
}

// The formats of lists.
var (
	csvFormat      = &exportFormat{"text/csv", "csv", "the same records are rows of a table", beginTable}
	calendarFormat = &exportFormat{"text/calendar", "ics", "the same bookings are events of a calendar", beginCalendar}
)

var (
	tables             = []*exportFormat{csvFormat}
	tablesAndCalendars = []*exportFormat{csvFormat, calendarFormat}
)

// recordWriter writes records from their JSON, which has only what the key may see.
type recordWriter struct {
	add   func([]json.RawMessage) error
	close func() error
}

func (f recordWriter) next(r *request) error {
	response, err := r.serve()
	if err != nil {
		return err
	}
	text, err := encodeBody(response.body)
	if err != nil {
		return err
	}
	records, err := compat.RecordsIn(text)
	if err != nil {
		return err
	}
	return f.add(records)
}

func (f recordWriter) end() error { return f.close() }

func beginTable(r *request, to *bytes.Buffer) exportWriter {
	rows := table.NewCSV(to, compat.Columns(r.route.operation.answers[0].body))
	return recordWriter{rows.Add, rows.Close}
}

// bookingEvents writes bookings as a calendar. It shows less than JSON does, and no personal data that keys
// can mask.
type bookingEvents struct {
	to       *bytes.Buffer
	calendar *bookings.Calendar // nil before the first chunk
}

func beginCalendar(_ *request, to *bytes.Buffer) exportWriter { return &bookingEvents{to: to} }

func (f *bookingEvents) next(r *request) error {
	var listed []records.Booking
	err := r.atSite(func() error {
		filter, err := r.view.BookingFilter(r.ctx(), r.query, r.knowsBookingStatus)
		if err != nil {
			return err
		}
		page, err := bookings.List(r.ctx(), r.session, filter)
		listed = page.Records
		return err
	})
	if err == nil && f.calendar == nil {
		f.calendar, err = bookings.NewCalendar(r.ctx(), r.session, f.to)
	}
	if err != nil {
		return err
	}
	return f.calendar.Add(r.session, listed)
}

func (f *bookingEvents) end() error { return f.calendar.Close() }

// formatOf returns the format in which a client wants a list; nil means JSON, as before other formats
// existed.
func formatOf(accept []string, formats []*exportFormat) *exportFormat {
	var media []string
	for _, f := range formats {
		media = append(media, f.media)
	}
	if i := slices.Index(media, middleware.PreferredMedia(accept, media)); i >= 0 {
		return formats[i]
	}
	return nil
}
