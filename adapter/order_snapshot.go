package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/wpdb"
)

// orderFacts is an order with all that its history says of it.
type orderFacts struct {
	Order
	customer BookingCustomer
	payments []Payment
	items    []OrderItem
	bookings []bookingFacts // of all its items
}

// orderFacts reads what is around an order.
func (s *Site) orderFacts(ctx context.Context, order Order) (f orderFacts, err error) {
	f.Order = order
	if f.customer, _, err = s.orderCustomer(ctx, order.CustomerID); err != nil {
		return f, err
	}
	if f.payments, err = s.OrderPayments(ctx, order.ID); err != nil {
		return f, err
	}
	if f.items, err = s.OrderItems(ctx, order.ID); err != nil {
		return f, err
	}
	ids, err := s.orderBookings(ctx, order.CustomerID, f.items)
	if err != nil || len(ids) == 0 {
		return f, err
	}
	records, err := s.bookingsByID(ctx, ids, false)
	if err != nil {
		return f, err
	}
	keys, err := s.manageKeys(ctx, wpdb.BookingMeta, ids...)
	for _, b := range records {
		f.bookings = append(f.bookings, bookingFacts{
			BookingDetail: BookingDetail{Booking: b, Order: &f.Order, Payments: f.payments},
			items:         f.items, keys: keys[b.ID],
		})
	}
	return f, err
}

// orderCustomer is a customer by id. One who does not exist keeps it.
func (s *Site) orderCustomer(ctx context.Context, id int64) (c BookingCustomer, exists bool, err error) {
	found, exists, err := s.customerRow(ctx, sq.Eq{"id": id})
	found.ID = id
	return found.BookingCustomer, exists, err
}

// orderBookings finds the bookings of an order's items. bookings.order_item_id
// has no index: the items' own JSON names their bookings, but for those of a
// bundle, which are looked for among the customer's.
func (s *Site) orderBookings(ctx context.Context, customer int64, items []OrderItem) ([]int64, error) {
	if len(items) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(items))
	var named []int64
	for i, item := range items {
		ids[i] = item.ID
		if id := itemBooking(item.ItemData); id > 0 {
			named = append(named, id)
		}
	}
	within := sq.Or{sq.Eq{"id": named}}
	if len(named) < len(items) {
		within = append(within, sq.Eq{"customer_id": customer})
	}
	stmt := sq.Select("id").From(s.db.Name(wpdb.Bookings)).Where(within).Where(sq.Eq{"order_item_id": ids}).OrderBy("id")
	return wpdb.All(ctx, s.db, "find bookings of order", stmt, wpdb.Value[int64])
}

// facts is the order as events have it, without a booking.
func (f *orderFacts) facts() (b bookingFacts) {
	b.Customer, b.Order, b.Payments, b.items = f.customer, &f.Order, f.payments, f.items
	return b
}

// bookingOf is the booking that an item is for.
func (f *orderFacts) bookingOf(item OrderItem) (bookingFacts, bool) {
	for _, b := range f.bookings {
		if b.OrderItemID == item.ID && item.Variant != "bundle" {
			return b, true
		}
	}
	return bookingFacts{}, false
}

// ensureOrderKeys gives the bookings of an order the keys that its history
// shows.
func (tx *Tx) ensureOrderKeys(ctx context.Context, f *orderFacts) (err error) {
	for i, b := range f.bookings {
		if f.bookings[i].keys, err = tx.insertManageKeys(ctx, wpdb.BookingMeta, b.ID, b.keys); err != nil {
			return err
		}
	}
	return nil
}
