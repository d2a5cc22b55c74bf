package handlers

import (
	"time"

	"bookside/adapter"
	"bookside/compat"
)

func listBookings(r *request) (response, error) {
	filter, err := r.view.BookingFilter(r.ctx(), r.query, r.site.KnowsBookingStatus)
	if err != nil {
		return response{}, err
	}
	page, err := r.site.Bookings(r.ctx(), filter)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingList(page)), nil
}

func getBooking(r *request) (response, error) {
	id, err := r.id("id", adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	booking, err := r.site.BookingDetail(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingDetail(booking, r.times(booking.Booking))), nil
}

func createBooking(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	booking := compat.NewBooking(body)
	booking.Address = r.echo.RealIP()
	return create(r, booking, (*adapter.Site).CreateBooking, func(made adapter.MadeBooking) compat.MadeBooking {
		return r.view.BookingCreated(made, r.times(made.Booking))
	})
}

func updateBooking(r *request) (response, error) {
	id, err := r.id("id", adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	booking, err := r.site.UpdateBooking(r.ctx(), id, compat.BookingPatch(body))
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingUpdated(booking, r.times(booking.Booking))), nil
}

func deleteBooking(r *request) (response, error) {
	id, err := r.id("id", adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	force, err := force(r.query)
	if err != nil {
		return response{}, err
	}
	if err := r.site.DeleteBooking(r.ctx(), id, force); err != nil {
		return response{}, err
	}
	return ok(compat.BookingDeleted()), nil
}

// force tells that what is otherwise refused is to be done.
func force(q *compat.Query) (bool, error) { return q.Flag("force"), q.RequestErr() }

// times are when a booking is, on the site's clock.
func (r *request) times(b adapter.Booking) compat.BookingTimes {
	return compat.BookingTimes{Zone: r.site.Zone.Name, Start: instant(r.site.Start(b)), End: instant(r.site.End(b))}
}

func instant(t time.Time, ok bool) *time.Time {
	if !ok {
		return nil
	}
	return &t
}
