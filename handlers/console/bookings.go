package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/lists"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

const bookingListPath = bookingsPath + "/list"

// bookingsPerPage is the number of bookings on a page of the list.
const bookingsPerPage = 50

// The parts of the list of bookings.
const (
	upcomingBookings  = "upcoming"
	pastBookings      = "past"
	cancelledBookings = "cancelled"
	allBookings       = "all"
)

// bookingList is a page of the list, and what it was asked for.
type bookingList struct {
	values   url.Values // the parameters, without the page
	when     string
	statuses []string
	labels   map[domain.Resource][]slots.Choice
	found    lists.Page[records.Booking]
	site     *session.Session
}

// bookingParameters are the parameters of the list, except for the page.
var bookingParameters = []string{"when", "q", "status", "agent", "service", "location", "customer", "from", "to"}

func (c *Console) listBookings(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	list := bookingList{values: url.Values{}, site: site, labels: map[domain.Resource][]slots.Choice{}}
	for _, name := range bookingParameters {
		if text := strings.TrimSpace(v.r.URL.Query().Get(name)); text != "" {
			list.values.Set(name, text)
		}
	}
	if id, err := strconv.ParseInt(list.values.Get("q"), 10, 64); err == nil && id > 0 {
		found, err := records.LoadBookings(v.ctx(), site, []int64{id}, false)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return v.redirect(bookingPath(id))
		}
	}
	if list.statuses, err = records.BookingStatuses(v.ctx(), site); err != nil {
		return err
	}
	for _, resource := range []domain.Resource{domain.AgentResource, domain.ServiceResource, domain.LocationResource} {
		if list.labels[resource], err = slots.Choices(v.ctx(), site, resource); err != nil {
			return err
		}
	}
	filter := list.filter()
	filter.Paging = session.Paging{Page: 1, PerPage: bookingsPerPage}
	if number, err := strconv.ParseInt(v.r.URL.Query().Get("page"), 10, 64); err == nil && number > 1 && number < maxBookingPage {
		filter.Page = number
	}
	if list.found, err = bookings.List(v.ctx(), site, filter); err != nil {
		return err
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Bookings")}, list.view())
	return nil
}

// maxBookingPage bounds what a page number may skip.
const maxBookingPage = 1_000_000

// filter returns the bookings that the list shows. Values that are none do not filter.
func (l *bookingList) filter() bookings.Filter {
	f := bookings.Filter{Sort: bookings.ByStart}
	l.when = l.values.Get("when")
	if l.when == "" && l.values.Has("q") {
		l.when = allBookings
	}
	switch l.when {
	case pastBookings:
		f.Past, f.Descending = true, true
	case cancelledBookings:
		f.Status, f.Descending = new(records.StatusCancelled), true
	case allBookings:
		f.Descending = true
	default:
		l.when, f.Upcoming = upcomingBookings, true
	}
	if text := l.values.Get("q"); text != "" {
		f.Search, f.ByWords = &text, true
	}
	if status := l.values.Get("status"); slices.Contains(l.statuses, status) && l.when != cancelledBookings {
		f.Status = &status
	}
	for name, of := range map[string]**int64{"agent": &f.AgentID, "service": &f.ServiceID, "location": &f.LocationID, "customer": &f.CustomerID} {
		if id, err := strconv.ParseInt(l.values.Get(name), 10, 64); err == nil && id > 0 {
			*of = &id
		}
	}
	for name, of := range map[string]**session.Date{"from": &f.DateFrom, "to": &f.DateTo} {
		if day, ok := availability.ParseDay(l.values.Get(name)); ok {
			*of = new(session.Date(day.String()))
		}
	}
	return f
}
