package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

const searchPath = Path + "/search"

// foundPerKind is how many bookings, customers and requests a search shows.
const foundPerKind = 10

// searchResults are what a search found by code, name, e-mail address or id.
type searchResults struct {
	text      string
	site      *session.Session
	bookings  []records.Booking
	customers []records.Customer
	requests  []requestlog.Entry
	keyNames  map[int64]string
}

func (c *Console) search(v *visit) error {
	site, err := v.site()
	if err != nil {
		return err
	}
	found := searchResults{text: strings.TrimSpace(v.r.URL.Query().Get("q")), site: site}
	if found.text != "" {
		if err := found.load(v); err != nil {
			return err
		}
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Search")}, found.view())
	return nil
}

func (f *searchResults) load(v *visit) error {
	if err := f.loadExact(v); err != nil {
		return err
	}
	if len(f.bookings) == 0 && len(f.customers) == 0 {
		if err := f.loadByText(v); err != nil {
			return err
		}
	}
	filter, isRecord := requestFilter{Record: f.text}.parse()
	if !isRecord {
		filter = requestlog.Filter{RequestID: f.text}
	}
	var err error
	if f.requests, err = requestlog.List(v.ctx(), v.Platform.DB, filter, foundPerKind); err == nil && len(f.requests) > 0 {
		f.keyNames, err = v.keyNames()
	}
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the tables there are no requests
		return err
	}
	return nil
}

// loadByText loads bookings by their code, or by their customer's name or address, and such customers. It reads every
// customer and the code of every booking.
func (f *searchResults) loadByText(v *visit) error {
	paging := session.Paging{Page: 1, PerPage: foundPerKind}
	booked, err := bookings.List(v.ctx(), f.site, bookings.Filter{Paging: paging, Search: &f.text, Descending: true})
	if err != nil {
		return err
	}
	f.bookings = booked.Records
	known, err := customers.List(v.ctx(), f.site, customers.Filter{Paging: paging, Search: &f.text})
	f.customers = known.Records
	return err
}

// loadExact loads the booking and the customer that the text names by an id, or the bookings with it as their code.
func (f *searchResults) loadExact(v *visit) error {
	id, err := strconv.ParseInt(f.text, 10, 64)
	isID, ids := err == nil && id > 0, []int64{id}
	if !isID {
		if ids, err = records.BookingsWithCode(v.ctx(), f.site, f.text, foundPerKind); err != nil {
			return err
		}
	}
	if f.bookings, err = records.LoadBookings(v.ctx(), f.site, ids, false); err != nil || !isID {
		return err
	}
	customer, err := records.LoadStoredCustomer(v.ctx(), f.site, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	f.customers = []records.Customer{customer}
	return err
}
