package handlers

import (
	"context"
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
	id, err := r.id("id", maxInt, adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	booking, err := r.site.BookingDetail(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingDetail(booking, timesOf(r.site, booking.Booking))), nil
}

func createBooking(r *request) (response, error) {
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	booking := compat.NewBooking(body)
	booking.Address = r.echo.RealIP()
	return r.once(func(site *adapter.Site, keep keep) (answer response, err error) {
		_, err = site.CreateBooking(r.ctx(), booking, func(ctx context.Context, tx *adapter.Site, made adapter.MadeBooking) error {
			answer = created(r.view.BookingCreated(made, timesOf(tx, made.Booking)))
			return keep(ctx, tx, answer)
		})
		return answer, err
	})
}

func updateBooking(r *request) (response, error) {
	id, err := r.id("id", maxInt, adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	body, err := r.body()
	if err != nil {
		return response{}, err
	}
	patch := compat.BookingPatch(body)
	admission, _ := admissionOf(r.echo)
	patch.MayUncomplete, patch.Granted = admission.Allows("delete_bookings"), admission.Permissions
	booking, err := r.site.UpdateBooking(r.ctx(), id, patch)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingUpdated(booking, timesOf(r.site, booking.Booking))), nil
}

func deleteBooking(r *request) (response, error) {
	id, err := r.id("id", maxInt, adapter.BookingResource)
	if err != nil {
		return response{}, err
	}
	force := force(r.query)
	if err := r.query.RequestErr(); err != nil {
		return response{}, err
	}
	if err := r.site.DeleteBooking(r.ctx(), id, force); err != nil {
		return response{}, err
	}
	return ok(compat.BookingDeleted()), nil
}

// force tells that what is otherwise refused is to be done.
func force(q *compat.Query) bool { return q.Flag("force") }

// timesOf is when a booking is, on the site's clock.
func timesOf(site *adapter.Site, b adapter.Booking) compat.BookingTimes {
	return compat.BookingTimes{Zone: site.Zone.Name, Start: instant(site.Start(b)), End: instant(site.End(b))}
}

func instant(t time.Time, ok bool) *time.Time {
	if !ok {
		return nil
	}
	return &t
}
