package records

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// BookingDetail is a booking with its order and the order's payments.
type BookingDetail struct {
	Booking
	Order    *Order // nil where none exists
	Payments []Payment
}

// SeenBy returns the booking as a session sees it: orders and payments are beyond the limits of keys.
func (d BookingDetail) SeenBy(s *session.Session) BookingDetail {
	if s.DB.HasViews() {
		d.Order, d.Payments = nil, nil
	}
	return d
}

// LoadBookingDetail returns one booking with its order and payments, as the session sees it, or a
// CodeNotFound.
func LoadBookingDetail(ctx context.Context, s *session.Session, id int64) (BookingDetail, error) {
	found, err := LoadBookings(ctx, s, []int64{id})
	booking, err := Only(found, err, domain.BookingResource, id)
	if err != nil {
		return BookingDetail{}, err
	}
	var metas []session.MetaRow
	var orders []Order
	var payments []Payment
	var items []itemBooking
	queries := []wpdb.Query{queryBookingMeta(s, &metas, found)}
	if booking.Order != nil {
		ids := []int64{booking.Order.ID}
		queries = append(queries, queryOrders(s, &orders, ids, sq.Select("o.payment_status"), new(Total)), queryPaymentsOf(s, &payments, ids[0]), queryItemBookings(s, &items, ids))
	}
	err = wpdb.Together(ctx, s.DB, queries...)
	if err == nil {
		err = showMeta(ctx, s, found, metas)
	}
	if err != nil || booking.Order == nil {
		return BookingDetail{Booking: found[0]}, err
	}
	order, err := Only(orders, nil, domain.OrderResource, booking.Order.ID)
	if err != nil {
		return BookingDetail{}, err
	}
	order.showPaymentStatus(payments)
	detail := BookingDetail{Booking: found[0], Order: &order, Payments: payments}
	detail.Booking.Order.PaymentStatus = order.DisplayPaymentStatus
	detail.Booking.Order.CustomerComment = order.CustomerComment // may have changed since the booking was read
	err = addItemBookings(ctx, s, payments, items)
	return detail.SeenBy(s), err
}
