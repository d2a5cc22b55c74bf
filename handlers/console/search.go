package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/lists"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/requestlog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

const searchPath = Path + "/search"

const (
	foundPerKind          = 10  // bookings, customers and requests that a search shows
	customersWithBookings = 100 // customers whose bookings it finds
)

// searchResults are what a search found by code, name, e-mail address, telephone number or id.
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

// loadByText loads the customers whom the text describes, their bookings, and those whose code begins with it. It reads
// customers until it has found enough of them.
func (f *searchResults) loadByText(v *visit) error {
	known, err := customers.Find(v.ctx(), f.site, f.text, customersWithBookings)
	if err != nil {
		return err
	}
	f.customers = known[:min(len(known), foundPerKind)]
	ids := lists.IDsOf(known, func(c records.Customer) int64 { return c.ID })
	f.bookings, err = bookings.Find(v.ctx(), f.site, f.text, ids, foundPerKind)
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
