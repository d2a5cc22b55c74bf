package adapter

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// draftBooking returns the booking that CreateBooking would create, and writes nothing: the
// ids of the plugin's tables are few, and a database does not take them back at a rollback.
// Records that do not exist yet have the id 0 and no codes.
func (s *Site) draftBooking(ctx context.Context, w writeSettings, plan bookingPlan) (BookingDetail, error) {
	seen := plan.customerIsNew || plan.known.seen
	id := plan.customer.ID
	if plan.customer = plan.shownCustomer(); s.requirePermission("read_bookings") != nil { // nothing that is stored
		plan.customer = plan.described
		plan.customer.ID = id
	}
	if !seen { // whoever has this e-mail address
		plan.customer.ID = 0
	}
	booking, _, err := wpdb.One(ctx, s.db, "read records of a booking", s.draftRow(plan), newListedRow(new(total)).scan)
	if err != nil {
		return BookingDetail{}, err
	}
	booking.Customer, booking.Price, booking.Meta = plan.customer, plan.price, map[string]string{}
	order := s.draftOrder(w, plan)
	booking.Order = &BookingOrder{PaymentStatus: order.PaymentStatus, CustomerComment: order.CustomerComment}
	return BookingDetail{Booking: *booking, Order: &order, Payments: []Payment{}}, nil
}

// draftRow selects what readBookings would read of the booking if it were stored.
func (s *Site) draftRow(plan bookingPlan) sq.SelectBuilder {
	stored := sq.Select()
	for _, c := range append(row{{"id", 0}}, s.bookingRow(plan, "", 0)...) {
		stored = stored.Column(sq.Alias(sq.Expr("?", c.value), c.name))
	}
	return s.bookingRecords().FromSelect(stored, "b").Column("o.payment_status").Column(new(total).column())
}

// draftOrder returns the order that insertOrder would write.
func (s *Site) draftOrder(w writeSettings, plan bookingPlan) Order {
	n := plan.order()
	now := domain.Timestamp(domain.Stamp(s.Now))
	order := Order{
		Subtotal: *n.Subtotal, Total: *n.Total, Status: newOrderStatus, PaymentStatus: orderNotPaid, DisplayPaymentStatus: orderNotPaid,
		FulfillmentStatus: newOrderFulfillment, CustomerID: plan.customer.ID, CustomerComment: n.CustomerComment, IPAddress: n.address(w),
		SourceURL: new(""), CreatedAt: now, UpdatedAt: now,
	}
	return order
}
