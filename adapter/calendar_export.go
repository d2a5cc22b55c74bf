package adapter

import (
	"cmp"
	"context"
	"io"
	"strings"

	"bookside/adapter/icalendar"
	"bookside/wpdb"
)

// BookingCalendar writes bookings of several people as a calendar. It shows no more of a customer
// than the name.
type BookingCalendar struct {
	host   string
	writer *icalendar.Writer
}

// NewBookingCalendar begins a calendar; Close ends it.
func (s *Site) NewBookingCalendar(ctx context.Context, to io.Writer) (*BookingCalendar, error) {
	options, err := s.db.OptionValues(ctx, "siteurl")
	if err != nil {
		return nil, err
	}
	writer, err := icalendar.NewWriter(to, s.Now)
	return &BookingCalendar{hostOf(wpdb.PlainText(options["siteurl"])), writer}, err
}

// Add writes bookings of a site, but for those without a time.
func (c *BookingCalendar) Add(s *Site, bookings []Booking) error {
	for _, b := range bookings {
		event, ok := s.calendarEvent(b, c.host)
		if !ok {
			continue
		}
		customer := strings.TrimSpace(b.Customer.FirstName + " " + b.Customer.LastName)
		event.Summary = customer
		if b.Service != nil {
			event.Summary = strings.TrimSuffix(b.Service.Name+": "+customer, ": ")
		}
		event.Details = []string{"Agent: " + b.Agent.FullName, "Booking: " + b.Code}
		event.Location = cmp.Or(b.Location.FullAddress, b.Location.Name)
		if err := c.writer.Add(event); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the calendar.
func (c *BookingCalendar) Close() error { return c.writer.Close() }
