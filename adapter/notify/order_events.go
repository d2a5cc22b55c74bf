package notify

import (
	"context"
	"slices"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// OrderCreation logs and notifies about a new order without items.
func OrderCreation(ctx context.Context, tx *session.Tx, w session.WriteSettings, customer records.BookingCustomer, order records.Order) error {
	created := OrderSnapshot{Order: order}
	vars := fullOrderVars(tx.Session, w, customer, created).set("id", order.ID) // PHP has a number for a new record
	if err := LogActivities(ctx, tx, Activity{Code: string(OrderCreated), orderID: &order.ID, Description: description("order", vars)}); err != nil {
		return err
	}
	event := Event{Kind: OrderCreated, After: Snapshot{Customer: customer, Order: &created}}
	Announce(tx, event)
	_, err := Notify(ctx, tx, w, []Event{event}, extensions.AllMessages)
	return err
}

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
