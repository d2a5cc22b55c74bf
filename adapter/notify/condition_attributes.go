package notify

import (
	"strconv"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// conditionObjects returns the attributes of the records that an event is about, by the plugin's word for
// the record. As in the plugin (OsProcessJobsHelper::handle_booking_updated and the like, LatePoint 5.6.5),
// conditions about other records count as true: for example, a booking's event has no order.
//
// LatePoint's form offers the attributes above the blank lines (properties_to_query of the models, LatePoint 5.6.5). The plugin
// itself compares any column, so the others that a stored condition may name are here too. NULL is "".
func conditionObjects(s *session.Session, e Event) map[string]map[string]string {
	attributes := func(snapshot Snapshot) map[string]string { return bookingAttributes(s, snapshot) }
	objectType, _ := e.record()
	switch objectType {
	case "customer":
		return map[string]map[string]string{objectType: customerAttributes(e.After.Customer)}
	case "transaction":
		return map[string]map[string]string{objectType: transactionAttributes(*e.Payment)}
	case "order":
		attributes = orderAttributes
	}
	objects := map[string]map[string]string{objectType: attributes(e.After)}
	if e.Kind == BookingUpdated || e.Kind == OrderUpdated {
		old := attributes(*e.Before)
		delete(old, orderItemCounts) // NULL, see orderItemCounts
		objects["old_"+objectType] = old
	}
	return objects
}

func bookingAttributes(s *session.Session, snapshot Snapshot) map[string]string {
	b := snapshot.Booking
	var start, paymentStatus string
	if at, known := records.Start(s, b.Booking); known {
		start = domain.Stamp(at)
	}
	if snapshot.Order != nil {
		paymentStatus = snapshot.Order.PaymentStatus
	}
	return map[string]string{
		"service_id": domain.IDText(b.ServiceID()),
		"agent_id":   domain.IDText(b.Agent.ID),
		"status":     b.Status,
		// Offered for the old booking, to compare whether it changed. Computed, because the plugin leaves
		// the column NULL for a start at midnight.
		"start_datetime_utc": start,
		orderItemCounts:      itemCount(snapshot.Order),

		"id":              domain.IDText(b.ID),
		"booking_code":    b.Code,
		"start_date":      string(b.StartDate),
		"end_date":        string(b.EndDate),
		"start_time":      minutesText(b.StartTime),
		"end_time":        minutesText(b.EndTime),
		"duration":        domain.IDText(b.Duration),
		"buffer_before":   domain.IDText(b.BufferBefore),
		"buffer_after":    domain.IDText(b.BufferAfter),
		"location_id":     domain.IDText(b.LocationID()),
		"customer_id":     domain.IDText(b.Customer.ID),
		"total_attendees": domain.IDText(b.Attendees),
		"payment_status":  paymentStatus,
	}
}

func orderAttributes(snapshot Snapshot) map[string]string {
	o := snapshot.Order
	return map[string]string{
		"status":             o.Status,
		"fulfillment_status": o.FulfillmentStatus,
		"payment_status":     o.PaymentStatus,
		orderItemCounts:      itemCount(o),

		"id":                domain.IDText(o.ID),
		"customer_id":       domain.IDText(o.CustomerID),
		"total":             domain.AmountText(o.Total),
		"subtotal":          domain.AmountText(o.Subtotal),
		"confirmation_code": o.ConfirmationCode,
		"coupon_code":       domain.ValueOr(o.CouponCode, ""),
	}
}

func customerAttributes(c records.BookingCustomer) map[string]string {
	return map[string]string{"id": domain.IDText(c.ID), "first_name": c.FirstName, "last_name": c.LastName, "email": c.Email, "phone": c.Phone}
}

func transactionAttributes(p records.Payment) map[string]string {
	return map[string]string{
		"payment_method":  p.PaymentMethod,
		"payment_portion": p.PaymentPortion,
		"kind":            p.Kind,

		"id":          domain.IDText(p.ID),
		"token":       domain.ValueOr(p.Token, ""),
		"invoice_id":  domain.ValueOr(domain.OptionalIDText(p.InvoiceID), ""),
		"order_id":    domain.ValueOr(domain.OptionalIDText(p.OrderID), ""),
		"customer_id": domain.IDText(p.CustomerID),
		"processor":   p.Processor,
		"status":      p.Status,
		"amount":      domain.AmountText(p.Amount),
		"notes":       domain.ValueOr(p.Notes, ""),
	}
}

// itemCount returns how many items an order has, or 0 if there is none
// (OsProcessModel::compute_order_item_counts_for_booking, LatePoint 5.6.5).
func itemCount(o *OrderSnapshot) string {
	if o == nil {
		return "0"
	}
	return strconv.Itoa(len(o.Items))
}

func minutesText(at *session.Minutes) string {
	if at == nil {
		return ""
	}
	return strconv.Itoa(int(*at))
}
