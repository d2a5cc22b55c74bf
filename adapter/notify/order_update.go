package notify

import (
	"context"
	"slices"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// OrderUpdate logs and notifies about a changed order and the bookings that
// moved with it, and returns the order's new state.
func OrderUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, before records.Order, moved []Snapshot) (records.Order, error) {
	order, err := records.LoadOrder(ctx, tx.Session, before.ID)
	if err != nil {
		return records.Order{}, err
	}
	now, err := LoadOrderWithBookings(ctx, tx.Session, order)
	if err != nil {
		return records.Order{}, err
	}
	if now.Bookings, err = ensureBookingKeys(ctx, tx, now.Bookings); err != nil {
		return records.Order{}, err
	}
	var events []Event
	for _, b := range now.Bookings {
		at := slices.IndexFunc(moved, func(old Snapshot) bool { return old.Booking.ID == b.ID })
		if at < 0 {
			continue
		}
		old := moved[at]
		old.Booking.Keys = b.Keys
		events = append(events, Event{Kind: BookingUpdated, After: now.OfBooking(b), Before: &old})
	}
	if err := LogEvents(ctx, tx, w, events); err != nil {
		return records.Order{}, err
	}
	updated, err := logOrderUpdate(ctx, tx, w, before, now)
	if err != nil {
		return records.Order{}, err
	}
	_, err = Notify(ctx, tx, w, append(events, updated), extensions.AllMessages)
	return order, err
}
