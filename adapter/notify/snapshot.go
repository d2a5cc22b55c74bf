package notify

import (
	"context"
	"slices"

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
	Keys       records.ManageKeys
	inMessages *inMessages // nil if not read
}

// OrderSnapshot is an order with its items and payments.
type OrderSnapshot struct {
	records.Order
	Items    []records.OrderItem
	Payments []records.Payment
	Keys     *records.ManageKeys // nil if not read
	bundles  map[int64]bundle    // of the items, by id
}

// LoadOrderSnapshot returns an order and its payments with its items, and the bundles that they are of.
func LoadOrderSnapshot(ctx context.Context, s *session.Session, order records.Order, payments []records.Payment) (*OrderSnapshot, error) {
	items, err := records.LoadOrderItems(ctx, s, order.ID)
	if err != nil {
		return nil, err
	}
	bundles, err := loadBundles(ctx, s, items)
	return &OrderSnapshot{Order: order, Items: items, Payments: payments, bundles: bundles}, err
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

// bookings returns the booking, if there is one.
func (s Snapshot) bookings() []BookingSnapshot {
	if s.Booking == nil {
		return nil
	}
	return []BookingSnapshot{*s.Booking}
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
	var order *OrderSnapshot
	if detail.Order != nil {
		if order, err = LoadOrderSnapshot(ctx, s, *detail.Order, detail.Payments); err != nil {
			return Snapshot{}, err
		}
	}
	keys, err := records.LoadManageKeys(ctx, s, wpdb.BookingMeta, id)
	return Snapshot{detail.Customer, &BookingSnapshot{Booking: detail.Booking, Keys: keys[id]}, order}, err
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
	customer, _, err := records.OrderCustomer(ctx, s, order.CustomerID)
	if err != nil {
		return OrderWithBookings{}, err
	}
	payments, err := records.LoadOrderPayments(ctx, s, order.ID)
	if err != nil {
		return OrderWithBookings{}, err
	}
	stored, err := LoadOrderSnapshot(ctx, s, order, payments)
	if err != nil {
		return OrderWithBookings{}, err
	}
	bookings, err := loadBookingSnapshots(ctx, s, order.CustomerID, stored.Items)
	return OrderWithBookings{customer, *stored, bookings}, err
}

// loadBookingSnapshots reads the bookings of a customer's order items.
func loadBookingSnapshots(ctx context.Context, s *session.Session, customer int64, items []records.OrderItem) ([]BookingSnapshot, error) {
	ids, err := OrderBookings(ctx, s, customer, items)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err := records.LoadBookings(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	keys, err := records.LoadManageKeys(ctx, s, wpdb.BookingMeta, ids...)
	bookings := make([]BookingSnapshot, len(found))
	for i, b := range found {
		bookings[i] = BookingSnapshot{Booking: b, Keys: keys[b.ID]}
	}
	return bookings, err
}

// Snapshot returns the order without a booking.
func (o OrderWithBookings) Snapshot() Snapshot {
	return Snapshot{Customer: o.Customer, Order: &o.Order}
}

// OfBooking returns one of the bookings together with the order.
func (o OrderWithBookings) OfBooking(b BookingSnapshot) Snapshot {
	return Snapshot{Customer: b.Customer, Booking: &b, Order: &o.Order}
}

// vars are the variables of the order with those of all its bookings (OsOrderModel::get_data_vars, LatePoint 5.6.5).
func (o OrderWithBookings) vars(s *session.Session, w session.WriteSettings) object {
	return fullOrderVars(s, w, o.Customer, o.Order, o.Bookings...)
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

// ensureBookingKeys returns bookings of an order with the keys that they lack, which it creates: the activity log
// shows them.
func ensureBookingKeys(ctx context.Context, tx *session.Tx, bookings []BookingSnapshot) ([]BookingSnapshot, error) {
	bookings = slices.Clone(bookings)
	for i, b := range bookings {
		var err error
		if bookings[i].Keys, err = records.InsertManageKeys(ctx, tx, wpdb.BookingMeta, b.ID, b.Keys); err != nil {
			return nil, err
		}
	}
	return bookings, nil
}

// ensureOrderKeys returns the keys for managing an order, and, like the plugin, creates those that are
// missing.
func ensureOrderKeys(ctx context.Context, tx *session.Tx, order OrderSnapshot) (records.ManageKeys, error) {
	if order.Keys != nil {
		return *order.Keys, nil
	}
	keys, err := records.LoadManageKeys(ctx, tx.Session, wpdb.OrderMeta, order.ID)
	if err != nil {
		return records.ManageKeys{}, err
	}
	return records.InsertManageKeys(ctx, tx, wpdb.OrderMeta, order.ID, keys[order.ID])
}
