package records

import (
	"context"

	"github.com/bookside/bookside/adapter/session"
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
	booking, err := LoadBooking(ctx, s, id)
	if err != nil {
		return BookingDetail{}, err
	}
	detail := BookingDetail{Booking: booking}
	if booking.Order == nil {
		return detail, nil
	}
	order, err := LoadStoredOrder(ctx, s, booking.Order.ID)
	if err != nil {
		return BookingDetail{}, err
	}
	detail.Order = &order
	detail.Booking.Order.CustomerComment = order.CustomerComment // may have changed since the booking was read
	detail.Payments, err = AddPayments(ctx, s, &order)
	detail.Booking.Order.PaymentStatus = order.DisplayPaymentStatus
	return detail.SeenBy(s), err
}
