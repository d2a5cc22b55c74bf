package bookings

import (
	"context"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// draftBooking returns the booking that Create would create, without writing: the plugin's tables have few
// ids, and a rollback does not return them. Records that do not exist yet have the id 0 and no codes.
func draftBooking(ctx context.Context, s *session.Session, w session.WriteSettings, plan bookingPlan) (records.BookingDetail, error) {
	plan.customer = plan.shownCustomer()
	if records.Limited(s) && plan.CustomerID == 0 { // whoever this e-mail address belongs to
		plan.customer.ID = 0
	}
	booking, _, err := wpdb.One(ctx, s.DB, "read records of a booking", draftRow(s, plan), records.NewListedRow(new(records.Total)).Scan)
	if err != nil {
		return records.BookingDetail{}, err
	}
	booking.Customer, booking.Price, booking.Extras = plan.customer, plan.charged.itemTotal(), plan.shownExtras(s)
	_, booking.Meta = plan.fields.newMeta(s, 0, plan.resource)
	booking.Reasons = records.AskedReasons(s, w.Settings)
	order := draftOrder(s, w, plan)
	booking.Order = &records.BookingOrder{PaymentStatus: order.PaymentStatus, CustomerComment: order.CustomerComment}
	return records.BookingDetail{Booking: *booking, Order: &order, Payments: []records.Payment{}}, nil
}

// draftRow selects what ReadBookings would read of the booking if it were stored.
func draftRow(s *session.Session, plan bookingPlan) sq.SelectBuilder {
	stored := sq.Select()
	for _, c := range append(session.Row{{Name: "id", Value: 0}}, bookingRow(s, plan, "", 0)...) {
		stored = stored.Column(sq.Alias(sq.Expr("?", c.Value), c.Name))
	}
	return records.BookingRecords(s).FromSelect(stored, "b").Column("o.payment_status").Column(new(records.Total).Column())
}

// draftOrder returns the order that insertOrder would write.
func draftOrder(s *session.Session, w session.WriteSettings, plan bookingPlan) records.Order {
	n := plan.order()
	now := domain.Timestamp(domain.Stamp(s.Now))
	order := records.Order{
		Subtotal: *n.Subtotal, Total: *n.Total, TaxTotal: *n.TaxTotal, CouponCode: n.CouponCode, CouponDiscount: *n.CouponDiscount, Status: orders.NewOrderStatus, PaymentStatus: records.OrderNotPaid, DisplayPaymentStatus: records.OrderNotPaid,
		FulfillmentStatus: orders.NewOrderFulfillment, CustomerID: plan.customer.ID, CustomerComment: n.CustomerComment, IPAddress: n.StoredAddress(w),
		SourceURL: new(""), CreatedAt: now, UpdatedAt: now,
	}
	return order
}
