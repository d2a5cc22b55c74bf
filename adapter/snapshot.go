package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// snapshot is what an event is about, as it was at one moment: a customer, and perhaps
// a booking and an order. Messages and the activity log are made from it.
type snapshot struct {
	customer BookingCustomer
	booking  *bookingSnapshot // nil for none
	order    *orderSnapshot   // nil for none
}

// bookingSnapshot is a booking with the keys with which it is managed.
type bookingSnapshot struct {
	Booking
	keys  manageKeys
	shown *shownInMessages // nil where it was not read
}

// shownInMessages is what messages show of a booking beyond itself.
type shownInMessages struct {
	staff         staffMember
	customerNotes string
}

// orderSnapshot is an order with its items and payments.
type orderSnapshot struct {
	Order
	items    []OrderItem
	payments []Payment
	keys     *manageKeys // nil where they were not read
}

// bookingDetail returns the booking as the API shows it. The snapshot has one.
func (s snapshot) bookingDetail() BookingDetail {
	detail := BookingDetail{Booking: s.booking.Booking}
	if s.order != nil {
		detail.Order, detail.Payments = &s.order.Order, s.order.payments
	}
	return detail
}

// payments returns the payments of the order.
func (s snapshot) payments() []Payment {
	if s.order == nil {
		return nil
	}
	return s.order.payments
}

// bookingItem returns the order item of the booking, or nil where there is none.
func (s snapshot) bookingItem() *OrderItem {
	if s.booking == nil || s.order == nil {
		return nil
	}
	for i := range s.order.items {
		if s.order.items[i].ID == s.booking.OrderItemID {
			return &s.order.items[i]
		}
	}
	return nil
}

// bookingSnapshot reads a booking and its order; a CodeNotFound where the booking does
// not exist.
func (s *Site) bookingSnapshot(ctx context.Context, id int64) (snapshot, error) {
	detail, err := s.BookingDetail(ctx, id)
	if err != nil {
		return snapshot{}, err
	}
	read := snapshot{customer: detail.Customer, booking: &bookingSnapshot{Booking: detail.Booking}}
	if detail.Order != nil {
		items, err := s.OrderItems(ctx, detail.Order.ID)
		if err != nil {
			return snapshot{}, err
		}
		read.order = &orderSnapshot{Order: *detail.Order, items: items, payments: detail.Payments}
	}
	keys, err := s.manageKeys(ctx, wpdb.BookingMeta, id)
	read.booking.keys = keys[id]
	return read, err
}

// orderWithBookings is the snapshot of an order, without a booking, and the bookings of
// all its items.
type orderWithBookings struct {
	customer BookingCustomer
	order    orderSnapshot
	bookings []bookingSnapshot
}

// orderWithBookings reads the customer, items, payments and bookings of an order.
func (s *Site) orderWithBookings(ctx context.Context, order Order) (orderWithBookings, error) {
	read := orderWithBookings{order: orderSnapshot{Order: order}}
	var err error
	if read.customer, _, err = s.orderCustomer(ctx, order.CustomerID); err != nil {
		return read, err
	}
	if read.order.payments, err = s.OrderPayments(ctx, order.ID); err != nil {
		return read, err
	}
	if read.order.items, err = s.OrderItems(ctx, order.ID); err != nil {
		return read, err
	}
	ids, err := s.orderBookings(ctx, order.CustomerID, read.order.items)
	if err != nil || len(ids) == 0 {
		return read, err
	}
	records, err := s.bookingsByID(ctx, ids, false)
	if err != nil {
		return read, err
	}
	keys, err := s.manageKeys(ctx, wpdb.BookingMeta, ids...)
	for _, b := range records {
		read.bookings = append(read.bookings, bookingSnapshot{Booking: b, keys: keys[b.ID]})
	}
	return read, err
}

// snapshot returns the order without a booking.
func (o orderWithBookings) snapshot() snapshot {
	return snapshot{customer: o.customer, order: &o.order}
}

// ofBooking returns one of the bookings with the order.
func (o orderWithBookings) ofBooking(b bookingSnapshot) snapshot {
	return snapshot{customer: b.Customer, booking: &b, order: &o.order}
}

// bookingOf returns the booking that an item is for; ok is false for a bundle, which is
// for several.
func (o orderWithBookings) bookingOf(item OrderItem) (b bookingSnapshot, ok bool) {
	for _, b := range o.bookings {
		if b.OrderItemID == item.ID && item.Variant != bundleItem {
			return b, true
		}
	}
	return bookingSnapshot{}, false
}

// orderCustomer reads the customer with an id. The record of a customer who does not
// exist has nothing but the id.
func (s *Site) orderCustomer(ctx context.Context, id int64) (c BookingCustomer, exists bool, err error) {
	found, exists, err := s.customerRow(ctx, sq.Eq{"id": id})
	found.ID = id
	return found.BookingCustomer, exists, err
}

// orderBookings finds the bookings of an order's items. bookings.order_item_id has no index
// unless `bookside indexes` has added one: the JSON of an item names its booking; the bookings
// of a bundle are searched among those of the customer.
func (s *Site) orderBookings(ctx context.Context, customer int64, items []OrderItem) ([]int64, error) {
	if len(items) == 0 {
		return nil, nil
	}
	itemIDs := make([]int64, len(items))
	var bookingIDs []int64
	for i, item := range items {
		itemIDs[i] = item.ID
		if id := itemBooking(item.ItemData); id > 0 {
			bookingIDs = append(bookingIDs, id)
		}
	}
	candidates := sq.Or{sq.Eq{"id": bookingIDs}}
	if len(bookingIDs) < len(items) {
		candidates = append(candidates, sq.Eq{"customer_id": customer})
	}
	stmt := sq.Select("id").From(s.db.Name(wpdb.Bookings)).Where(candidates).Where(sq.Eq{"order_item_id": itemIDs}).OrderBy("id")
	return wpdb.All(ctx, s.db, "find bookings of order", stmt, wpdb.Value[int64])
}

// ensureBookingKeys creates the keys that the bookings of an order lack: the activity
// log shows them.
func (tx *Tx) ensureBookingKeys(ctx context.Context, o *orderWithBookings) (err error) {
	for i, b := range o.bookings {
		if o.bookings[i].keys, err = tx.insertManageKeys(ctx, wpdb.BookingMeta, b.ID, b.keys); err != nil {
			return err
		}
	}
	return nil
}

// ensureOrderKeys returns the keys with which an order is managed, and creates those
// that it lacks, as the plugin does.
func (tx *Tx) ensureOrderKeys(ctx context.Context, order *orderSnapshot) (manageKeys, error) {
	if order.keys != nil {
		return *order.keys, nil
	}
	keys, err := tx.manageKeys(ctx, wpdb.OrderMeta, order.ID)
	if err != nil {
		return manageKeys{}, err
	}
	return tx.insertManageKeys(ctx, wpdb.OrderMeta, order.ID, keys[order.ID])
}
