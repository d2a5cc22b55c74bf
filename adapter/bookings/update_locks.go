package bookings

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// lockUpdate takes the locks of a valid change and then the booking's row, and returns the booking as it is then.
// The lock of the booking is already held, so only PHP can have changed the row in the meantime; in that case the
// transaction runs again.
func lockUpdate(
	ctx context.Context, tx *session.Tx, w session.WriteSettings, before notify.Snapshot, patch Patch, status string, slot *appointment,
) (notify.Snapshot, error) {
	stored := before.Booking.Booking
	locks := customers.LocksOfContacts(customers.RulesOf(tx.Session, w.Settings), patch.Customer)
	if slot != nil {
		locks = append(locks, slots.Locks(tx.Session, slot.service, append(slices.Clone(slot.resources), presentResource(stored)))...)
	}
	if patch.CustomerID != nil || patch.Customer != (records.CustomerFields{}) || countsNoShows(tx.Session, w, stored.Status, status) {
		locks = append(locks, session.LockOf(session.CustomerLock, domain.ValueOr(patch.CustomerID, before.Customer.ID)))
	}
	if before.Order != nil {
		locks = append(locks, session.LockOf(session.OrderLock, before.Order.ID))
	}
	if patch.CustomerID != nil && onlyItemOfOrder(before) {
		locks = append(locks, payments.LocksOfCoupon(before.Order.CouponCode)...)
	}
	if err := tx.Lock(ctx, locks...); err != nil {
		return before, err
	}
	if err := tx.LockRows(ctx, wpdb.Bookings, []int64{stored.ID}); err != nil {
		return before, err
	}
	order, err := lockOrder(ctx, tx, before, patch.Price)
	if err != nil {
		return before, err
	}
	now, err := records.LoadBooking(ctx, tx.Session, stored.ID)
	if err != nil {
		return before, err
	}
	if !reflect.DeepEqual(ownColumns(now), ownColumns(stored)) {
		return before, fmt.Errorf("booking %d changed concurrently: %w", stored.ID, wpdb.ErrConflict)
	}
	return notify.Snapshot{Customer: now.Customer, Booking: &notify.BookingSnapshot{Booking: now, Keys: before.Booking.Keys}, Order: order}, nil
}

// lockOrder keeps PHP from changing the price and the notes of a booking, which are stored in its order, if it is to
// get a price, nil for none, or the caller demands that they are unchanged. It returns the order as it is then.
func lockOrder(ctx context.Context, tx *session.Tx, before notify.Snapshot, price *decimal.Decimal) (*notify.OrderSnapshot, error) {
	order, item := before.Order, before.BookingItem()
	if item == nil || price == nil && tx.Precondition == nil {
		return order, nil
	}
	if price == nil {
		if err := tx.LockRows(ctx, wpdb.OrderItems, []int64{item.ID}); err != nil {
			return nil, err
		}
		return order, tx.LockRows(ctx, wpdb.Orders, []int64{order.ID})
	}
	if err := tx.LockRows(ctx, wpdb.OrderItems, records.IDsOf(order.Items, func(i records.OrderItem) int64 { return i.ID })); err != nil {
		return nil, err
	}
	stored, err := records.LockOrderRow(ctx, tx, order.ID)
	if err != nil {
		return nil, err
	}
	stored.DisplayPaymentStatus = order.DisplayPaymentStatus
	if before.Order, err = notify.LoadOrderSnapshot(ctx, tx.Session, stored, order.Payments); err != nil {
		return nil, err
	}
	if before.BookingItem() == nil {
		return nil, fmt.Errorf("the item of booking %d changed its order: %w", before.Booking.ID, wpdb.ErrConflict)
	}
	return before.Order, nil
}

// ownColumns returns the booking without the data of other records, except their ids.
func ownColumns(b records.Booking) records.Booking {
	b.Customer, b.Agent, b.Location = records.BookingCustomer{ID: b.Customer.ID}, records.BookingAgent{ID: b.Agent.ID}, records.BookingLocation{ID: b.Location.ID}
	b.Service, b.Order = &records.BookingService{ID: b.ServiceID()}, nil
	b.Price, b.Meta = decimal.Decimal{}, nil
	return b
}
