package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/wpdb"
)

// shownHistory is the number of changes, of events and of activities on the page of a booking.
const shownHistory = 50

// bookingPage is a booking with its history.
type bookingPage struct {
	records.BookingDetail
	site     *session.Session
	address  string // of WordPress; "" if unknown
	changes  []journal.Entry
	events   []events.Stored // that extensions were told about
	logged   []records.Activity
	keyNames map[int64]string // of the keys that made changes
	labels   slots.Labels     // of what is booked in the changes
	done     string           // the action that was just done; "" for none
	readOnly bool             // see Site
}

func (c *Console) showBooking(v *visit) error {
	p, found, err := c.loadBooking(v)
	if err != nil || !found {
		return err
	}
	p.labels = c.changeLabels(v, p.changes)
	p.done, p.readOnly = v.r.URL.Query().Get("done"), v.ReadOnly
	c.show(v, http.StatusOK, page.Layout{Title: p.title()}, p.view())
	return nil
}

// loadBooking loads the booking of the path. If there is none, it says so and found is false.
func (c *Console) loadBooking(v *visit) (p bookingPage, found bool, err error) {
	if p.site, err = v.site(); err != nil {
		return p, false, err
	}
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err == nil {
		p.BookingDetail, err = records.LoadBookingDetail(v.ctx(), p.site, id)
	} else {
		err = domain.NotFound(domain.BookingResource, 0)
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		c.showMessage(v, http.StatusNotFound, "There is no such booking", "It may have been deleted: the journal says so.")
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	if p.address, err = slots.Address(v.ctx(), p.site); err != nil {
		return p, false, err
	}
	return p, true, p.loadHistory(v)
}

// begun reports whether the booking has begun.
func (p *bookingPage) begun() bool {
	day, ok := availability.ParseDay(string(p.StartDate))
	return ok && p.StartTime != nil && !availability.MomentOf(p.site.LocalNow()).Before(availability.Moment{Day: day, Minutes: *p.StartTime})
}

// loadHistory loads what happened to the booking, its order and its payments. Where a table is missing there is nothing.
func (p *bookingPage) loadHistory(v *visit) (err error) {
	of := map[journal.Resource][]int64{journal.Bookings: {p.ID}}
	if p.Order != nil {
		of[journal.Orders] = []int64{p.Order.ID}
	}
	for _, payment := range p.Payments {
		of[journal.Payments] = append(of[journal.Payments], payment.ID)
	}
	if p.changes, err = v.Platform.Journal.Of(v.ctx(), of, shownHistory); err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	if p.events, err = events.OfBooking(v.ctx(), v.Platform.DB, p.ID, shownHistory); err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	if p.logged, err = records.LoadActivities(v.ctx(), p.site, p.ID, shownHistory); err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	p.keyNames, err = v.keyNamesIn(p.changes)
	return err
}

// keyNamesIn returns the names of keys that made changes.
func (v *visit) keyNamesIn(changes []journal.Entry) (map[int64]string, error) {
	if !slices.ContainsFunc(changes, func(e journal.Entry) bool { return e.Origin == journal.FromAPI }) {
		return nil, nil
	}
	return v.keyNames()
}
