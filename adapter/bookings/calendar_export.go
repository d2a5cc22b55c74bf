package bookings

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Calendar writes bookings of several people as a calendar. It shows only the name of a customer.
type Calendar struct {
	host   string
	writer *text.CalendarWriter
}

// NewCalendar begins a calendar; Close ends it.
func NewCalendar(ctx context.Context, s *session.Session, to io.Writer) (*Calendar, error) {
	options, err := s.DB.OptionValues(ctx, "siteurl")
	if err != nil {
		return nil, err
	}
	writer, err := text.NewCalendarWriter(to, s.Now)
	return &Calendar{notify.HostOf(wpdb.PlainText(options["siteurl"])), writer}, err
}

// Add writes bookings of a site, skipping those without a time.
func (c *Calendar) Add(s *session.Session, bookings []records.Booking) error {
	for _, b := range bookings {
		event, ok := notify.CalendarEvent(s, b, c.host)
		if !ok {
			continue
		}
		customer := b.Customer.FullName()
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
func (c *Calendar) Close() error { return c.writer.Close() }
