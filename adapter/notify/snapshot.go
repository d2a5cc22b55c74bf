package notify

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Snapshot is the subject of an event at one moment: a customer, and perhaps a booking and an order.
// Messages and activities are made from it.
type Snapshot struct {
	Customer records.BookingCustomer
	Booking  *BookingSnapshot // nil for none
	Order    *OrderSnapshot   // nil for none
}

// BookingSnapshot is a booking with the keys for managing it.
type BookingSnapshot struct {
	records.Booking
	Keys  records.ManageKeys
	Shown *ShownInMessages // nil if not read
}

// ShownInMessages is what messages show of a booking beyond the booking itself.
type ShownInMessages struct {
	staff         staffMember
	customerNotes string
}

// OrderSnapshot is an order with its items and payments.
type OrderSnapshot struct {
	records.Order
	Items    []records.OrderItem
	Payments []records.Payment
	Keys     *records.ManageKeys // nil if not read
	bundles  map[int64]bundle    // of the items, by id
}

// LoadItems reads the items of the order, and the bundles that they are of.
func (o *OrderSnapshot) LoadItems(ctx context.Context, s *session.Session) (err error) {
	if o.Items, err = records.LoadOrderItems(ctx, s, o.ID); err != nil {
		return err
	}
	o.bundles, err = bundles(ctx, s, o.Items)
	return err
}

// BookingDetail returns the booking as the API shows it. The snapshot must have one.
func (s Snapshot) BookingDetail() records.BookingDetail {
	detail := records.BookingDetail{Booking: s.Booking.Booking}
	if s.Order != nil {
		detail.Order, detail.Payments = &s.Order.Order, s.Order.Payments
	}
	return detail
}

// payments returns the payments of the order.
func (s Snapshot) payments() []records.Payment {
	if s.Order == nil {
		return nil
	}
	return s.Order.Payments
}

// BookingItem returns the order item of the booking, or nil if there is none.
func (s Snapshot) BookingItem() *records.OrderItem {
	if s.Booking == nil || s.Order == nil {
		return nil
	}
	for i := range s.Order.Items {
		if s.Order.Items[i].ID == s.Booking.OrderItemID {
			return &s.Order.Items[i]
		}
	}
	return nil
}

// LoadBookingSnapshot reads a booking and its order, or a CodeNotFound if the booking does not exist.
func LoadBookingSnapshot(ctx context.Context, s *session.Session, id int64) (Snapshot, error) {
	detail, err := records.LoadBookingDetail(ctx, s, id)
	if err != nil {
		return Snapshot{}, err
	}
	read := Snapshot{Customer: detail.Customer, Booking: &BookingSnapshot{Booking: detail.Booking}}
	if detail.Order != nil {
		read.Order = &OrderSnapshot{Order: *detail.Order, Payments: detail.Payments}
		if err := read.Order.LoadItems(ctx, s); err != nil {
			return Snapshot{}, err
		}
	}
	keys, err := records.LoadManageKeys(ctx, s, wpdb.BookingMeta, id)
	read.Booking.Keys = keys[id]
	return read, err
}

// OrderWithBookings is the snapshot of an order, without a booking, and the bookings of
// all its items.
type OrderWithBookings struct {
	Customer records.BookingCustomer
	Order    OrderSnapshot
	Bookings []BookingSnapshot
}

// LoadOrderWithBookings reads the customer, items, payments and bookings of an order.
func LoadOrderWithBookings(ctx context.Context, s *session.Session, order records.Order) (OrderWithBookings, error) {
	read := OrderWithBookings{Order: OrderSnapshot{Order: order}}
	var err error
	if read.Customer, _, err = records.OrderCustomer(ctx, s, order.CustomerID); err != nil {
		return read, err
	}
	if read.Order.Payments, err = records.LoadOrderPayments(ctx, s, order.ID); err != nil {
		return read, err
	}
	if err = read.Order.LoadItems(ctx, s); err != nil {
		return read, err
	}
	ids, err := OrderBookings(ctx, s, order.CustomerID, read.Order.Items)
	if err != nil || len(ids) == 0 {
		return read, err
	}
	found, err := records.LoadBookings(ctx, s, ids, false)
	if err != nil {
		return read, err
	}
	keys, err := records.LoadManageKeys(ctx, s, wpdb.BookingMeta, ids...)
	for _, b := range found {
		read.Bookings = append(read.Bookings, BookingSnapshot{Booking: b, Keys: keys[b.ID]})
	}
	return read, err
}

// Snapshot returns the order without a booking.
func (o OrderWithBookings) Snapshot() Snapshot {
	return Snapshot{Customer: o.Customer, Order: &o.Order}
}

// OfBooking returns one of the bookings together with the order.
func (o OrderWithBookings) OfBooking(b BookingSnapshot) Snapshot {
	return Snapshot{Customer: b.Customer, Booking: &b, Order: &o.Order}
}

// bookingOf returns the booking that an item is for; ok is false for a bundle, which has several.
func (o OrderWithBookings) bookingOf(item records.OrderItem) (b BookingSnapshot, ok bool) {
	for _, b := range o.Bookings {
		if b.OrderItemID == item.ID && item.Variant != records.BundleItem {
			return b, true
		}
	}
	return BookingSnapshot{}, false
}

// OrderBookings finds the bookings of an order's items. bookings.order_item_id has no index unless
// `bookside indexes` has added one: the JSON of an item names its booking; the bookings of a bundle are
// looked up among the customer's.
func OrderBookings(ctx context.Context, s *session.Session, customer int64, items []records.OrderItem) ([]int64, error) {
	if len(items) == 0 {
		return nil, nil
	}
	itemIDs := make([]int64, len(items))
	var bookingIDs []int64
	for i, item := range items {
		itemIDs[i] = item.ID
		if id := session.ItemBooking(item.ItemData); id > 0 {
			bookingIDs = append(bookingIDs, id)
		}
	}
	candidates := sq.Or{sq.Eq{"id": bookingIDs}}
	if len(bookingIDs) < len(items) {
		candidates = append(candidates, sq.Eq{"customer_id": customer})
	}
	stmt := sq.Select("id").From(s.DB.Name(wpdb.Bookings)).Where(candidates).Where(sq.Eq{"order_item_id": itemIDs}).OrderBy("id")
	return wpdb.All(ctx, s.DB, "find bookings of order", stmt, wpdb.Value[int64])
}

// ensureBookingKeys creates the keys that the bookings of an order lack: the activity
// log shows them.
func ensureBookingKeys(ctx context.Context, tx *session.Tx, o *OrderWithBookings) (err error) {
	for i, b := range o.Bookings {
		if o.Bookings[i].Keys, err = records.InsertManageKeys(ctx, tx, wpdb.BookingMeta, b.ID, b.Keys); err != nil {
			return err
		}
	}
	return nil
}

// ensureOrderKeys returns the keys for managing an order, and, like the plugin, creates those that are
// missing.
func ensureOrderKeys(ctx context.Context, tx *session.Tx, order *OrderSnapshot) (records.ManageKeys, error) {
	if order.Keys != nil {
		return *order.Keys, nil
	}
	keys, err := records.LoadManageKeys(ctx, tx.Session, wpdb.OrderMeta, order.ID)
	if err != nil {
		return records.ManageKeys{}, err
	}
	return records.InsertManageKeys(ctx, tx, wpdb.OrderMeta, order.ID, keys[order.ID])
}
