package bookings

import (
	"bytes"
	"context"
	"strconv"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// How many bookings the calendar of an agent or a location shows: those around today and, if there are too
// many, the next ones first and then the latest ones.
const (
	calendarDaysBack  = 90
	calendarDaysAhead = 365
	maxCalendarEvents = 2000
	calendarRefresh   = time.Hour // after which programs should reload it
	maxCalendarText   = 500       // characters of what customers wrote
)

// CalendarName returns the name of the agent or location of a calendar, or a CodeNotFound.
func CalendarName(ctx context.Context, s *session.Session, resource domain.Resource, id int64) (string, error) {
	stmt := sq.Select("first_name", "last_name").From(s.DB.Name(wpdb.Agents))
	if resource == domain.LocationResource {
		stmt = sq.Select("name", "NULL").From(s.DB.Name(wpdb.Locations))
	}
	name, found, err := wpdb.One(ctx, s.DB, "read the name of a calendar", stmt.Where(sq.Eq{"id": id}), func(row wpdb.Scanner) (string, error) {
		var first, last string
		err := row.Scan(wpdb.OrZero(&first), wpdb.OrZero(&last))
		if resource == domain.LocationResource {
			return first, err
		}
		return records.AgentFullName(first, last), err
	})
	if err == nil && !found {
		err = domain.NotFound(resource, id)
	}
	return name, err
}

// LoadCalendar returns the calendar that a secret address opens, as a file: bookings of an agent or a
// location, with the details chosen for the address. The file changes only with its bookings.
func LoadCalendar(ctx context.Context, s *session.Session, key keys.Key) ([]byte, error) {
	resource, id := key.Subject()
	name, err := CalendarName(ctx, s, resource, id)
	if err != nil {
		return nil, err
	}
	options, err := s.DB.OptionValues(ctx, "siteurl")
	if err != nil {
		return nil, err
	}
	bookings, err := calendarBookings(ctx, s, resource, id)
	if err != nil {
		return nil, err
	}
	feed := text.CalendarFeed{Name: name, Refresh: calendarRefresh}
	if s.Zone.Named() {
		feed.Zone = s.Zone.Name
	}
	var file bytes.Buffer
	writer, err := text.NewCalendarFeed(&file, feed)
	if err != nil {
		return nil, err
	}
	host := notify.HostOf(wpdb.PlainText(options["siteurl"]))
	for _, b := range bookings {
		if event, ok := notify.CalendarEvent(s, b, host); ok {
			completeEvent(&event, b, resource, key.Details, host)
			if err := writer.Add(event); err != nil {
				return nil, err
			}
		}
	}
	err = writer.Close()
	return file.Bytes(), err
}

// completeEvent adds to an event what a calendar shows of its booking. A calendar of busy times shows not
// even the code, because customers identify their bookings by it.
func completeEvent(e *text.CalendarEvent, b records.Booking, resource domain.Resource, details keys.Details, host string) {
	if details == keys.Busy {
		e.UID = notify.CodeOfNone(b) + "@" + host
	}
	if details != keys.Names && details != keys.Full {
		e.Summary = "Busy"
		return
	}
	e.Summary, e.Location = "Appointment", b.Location.FullAddress
	if b.Service != nil {
		e.Summary = b.Service.Name
	}
	customer := b.Customer.FullName()
	if customer != "" {
		e.Summary += ": " + customer
	}
	if resource == domain.LocationResource {
		e.Summary += " (" + b.Agent.FullName + ")"
	}
	if details == keys.Full {
		e.Details = fullDetails(b, customer)
	}
}

// fullDetails returns the lines of an event with full details, leaving out unknown ones.
func fullDetails(b records.Booking, customer string) (lines []string) {
	comment := ""
	if b.Order != nil && b.Order.CustomerComment != nil {
		comment = *b.Order.CustomerComment
	}
	attendees := ""
	if b.Attendees > 1 {
		attendees = strconv.FormatInt(b.Attendees, 10)
	}
	for _, line := range []struct{ label, text string }{
		{"Booking", b.Code}, {"Status", b.Status}, {"Agent", b.Agent.FullName}, {"Customer", customer}, {"Phone", b.Customer.Phone}, {"E-mail", b.Customer.Email},
		{"Attendees", attendees}, {"Comment", comment},
	} {
		if line.text != "" {
			lines = append(lines, line.label+": "+line.text)
		}
	}
	return lines
}

// calendarBookings returns the bookings of a calendar, ordered by day and id.
func calendarBookings(ctx context.Context, s *session.Session, resource domain.Resource, id int64) ([]records.Booking, error) {
	days := map[bool][2]session.Date{false: {day(s, -calendarDaysBack), day(s, -1)}, true: {s.Today(), day(s, calendarDaysAhead)}}
	column := "b.agent_id"
	if resource == domain.LocationResource {
		column = "b.location_id"
	}
	var ids []int64
	for _, ahead := range []bool{true, false} {
		room := maxCalendarEvents - len(ids)
		if room == 0 {
			break
		}
		stmt := sq.Select("b.id").From(s.DB.As(wpdb.Bookings, "b")).Where(sq.Eq{column: id}).
			Where(sq.GtOrEq{"b.start_date": days[ahead][0]}).Where(sq.LtOrEq{"b.start_date": days[ahead][1]}).
			OrderBy(records.SortColumns([]string{"b.start_date", "b.start_time", "b.id"}, !ahead)...).Limit(uint64(room))
		found, err := wpdb.All(ctx, s.DB, "find the bookings of a calendar", stmt, wpdb.Value[int64])
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return wpdb.All(ctx, s.DB, "read the bookings of a calendar", calendarColumns(s).Where(sq.Eq{"b.id": ids}).OrderBy("b.start_date", "b.id"), scanCalendarBooking)
}

// day returns the date a number of days from today.
func day(s *session.Session, offset int) session.Date {
	return session.Date(s.LocalNow().AddDate(0, 0, offset).Format(time.DateOnly))
}

// calendarColumns selects what scanCalendarBooking reads of bookings, b. A calendar has many of them, so it
// selects only what a calendar can show.
func calendarColumns(s *session.Session) sq.SelectBuilder {
	return sq.Select("b.id", "b.booking_code", "b.status", "b.start_date", "b.end_date", "b.start_time", "b.end_time", "b.duration", "b.total_attendees",
		"b.created_at", s.Schema.Expr(wpdb.Bookings, "b", "updated_at"), "c.first_name", "c.last_name", "c.email", "c.phone", "a.first_name", "a.last_name",
		"s.id", "s.name", "s.duration", "l.full_address", "o.id", "LEFT(o.customer_comment, "+strconv.Itoa(maxCalendarText)+")").
		From(s.DB.As(wpdb.Bookings, "b")).
		LeftJoin(session.JoinCustomer(s)).
		LeftJoin(s.DB.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.DB.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.DB.As(wpdb.Locations, "l") + " ON l.id = b.location_id").
		LeftJoin(s.DB.As(wpdb.OrderItems, "i") + " ON i.id = b.order_item_id").
		LeftJoin(s.DB.As(wpdb.Orders, "o") + " ON o.id = i.order_id")
}

func scanCalendarBooking(row wpdb.Scanner) (b records.Booking, err error) {
	var (
		duration              *int64
		agentFirst, agentLast string
		service               records.BookingService
		order                 records.BookingOrder
	)
	err = row.Scan(&b.ID, wpdb.OrZero(&b.Code), &b.Status, wpdb.OrZero((*string)(&b.StartDate)), wpdb.OrZero((*string)(&b.EndDate)), &b.StartTime, &b.EndTime, &duration,
		wpdb.OrZero(&b.Attendees), wpdb.OrZero((*string)(&b.CreatedAt)), wpdb.OrZero((*string)(&b.UpdatedAt)),
		wpdb.OrZero(&b.Customer.FirstName), wpdb.OrZero(&b.Customer.LastName), wpdb.OrZero(&b.Customer.Email), wpdb.OrZero(&b.Customer.Phone),
		wpdb.OrZero(&agentFirst), wpdb.OrZero(&agentLast), wpdb.OrZero(&service.ID), wpdb.OrZero(&service.Name), wpdb.OrZero(&service.Duration),
		wpdb.OrZero(&b.Location.FullAddress), wpdb.OrZero(&order.ID), &order.CustomerComment)
	b.Agent.FullName = records.AgentFullName(agentFirst, agentLast)
	if service.ID != 0 {
		b.Service = &service
	}
	if order.ID != 0 {
		b.Order = &order
	}
	b.SetTimes(duration)
	return b, err
}
