package adapter

import "context"

// BookingDetail is a booking with its order and the order's payments.
type BookingDetail struct {
	Booking
	Order    *Order // nil where none exists
	Payments []Payment
}

// BookingDetail returns one booking with its order and payments; a CodeNotFound if it
// does not exist.
func (s *Site) BookingDetail(ctx context.Context, id int64) (BookingDetail, error) {
	booking, err := s.Booking(ctx, id)
	if err != nil {
		return BookingDetail{}, err
	}
	detail := BookingDetail{Booking: booking}
	if booking.Order == nil {
		return detail, nil
	}
	order, err := s.storedOrder(ctx, booking.Order.ID)
	if err != nil {
		return BookingDetail{}, err
	}
	detail.Order = &order
	detail.Booking.Order.CustomerComment = order.CustomerComment // which may have changed since the booking was read
	detail.Payments, err = s.addPayments(ctx, &order)
	return detail, err
}
