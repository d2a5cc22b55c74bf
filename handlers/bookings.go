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
	booking, err := r.site.Booking(r.ctx(), id)
	if err != nil {
		return response{}, err
	}
	around, err := bookingContext(r.ctx(), r.site, booking)
	if err != nil {
		return response{}, err
	}
	return ok(r.view.BookingDetail(booking, around)), nil
}

// bookingContext reads what a single booking is shown with.
func bookingContext(ctx context.Context, site *adapter.Site, b adapter.Booking) (compat.BookingContext, error) {
	around := compat.BookingContext{Zone: site.Zone.Name, Start: instant(site.Start(b)), End: instant(site.End(b))}
	if b.Order == nil {
		return around, nil
	}
	order, err := site.Order(ctx, b.Order.ID)
	if err != nil {
		return around, err
	}
	around.Order = &order
	around.Payments, err = site.OrderPayments(ctx, order.ID)
	return around, err
}

func instant(t time.Time, ok bool) *time.Time {
	if !ok {
		return nil
	}
	return &t
}
