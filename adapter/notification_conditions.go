package adapter

import (
	"strconv"
	"strings"

	"bookside/adapter/domain"
	"bookside/adapter/process"
)

// The attributes of records that the conditions of automations compare, with where their
// values come from. NULL is "". LatePoint's form offers those marked as offered
// (properties_to_query of the models, LatePoint 5.6.5); the plugin itself compares any
// column, so the others that a stored condition may name are here, too.
var (
	bookingAttributes = map[string]func(*Site, snapshot) string{
		"service_id": func(_ *Site, of snapshot) string { return domain.IDText(of.booking.serviceID()) }, // offered
		"agent_id":   func(_ *Site, of snapshot) string { return domain.IDText(of.booking.Agent.ID) },    // offered
		"status":     func(_ *Site, of snapshot) string { return of.booking.Status },                     // offered
		// Offered for the old booking, whether it has changed. Computed, because the plugin
		// leaves the column NULL for a start at midnight.
		"start_datetime_utc": func(s *Site, of snapshot) string {
			start, known := s.Start(of.booking.Booking)
			if !known {
				return ""
			}
			return domain.Stamp(start)
		},
		process.OrderItemCounts: func(_ *Site, of snapshot) string { return itemCount(of.order) }, // offered; the items of its order

		"id":              func(_ *Site, of snapshot) string { return domain.IDText(of.booking.ID) },
		"booking_code":    func(_ *Site, of snapshot) string { return of.booking.Code },
		"start_date":      func(_ *Site, of snapshot) string { return string(of.booking.StartDate) },
		"end_date":        func(_ *Site, of snapshot) string { return string(of.booking.EndDate) },
		"start_time":      func(_ *Site, of snapshot) string { return minutesText(of.booking.StartTime) },
		"end_time":        func(_ *Site, of snapshot) string { return minutesText(of.booking.EndTime) },
		"duration":        func(_ *Site, of snapshot) string { return domain.IDText(of.booking.Duration) },
		"buffer_before":   func(_ *Site, of snapshot) string { return domain.IDText(of.booking.BufferBefore) },
		"buffer_after":    func(_ *Site, of snapshot) string { return domain.IDText(of.booking.BufferAfter) },
		"location_id":     func(_ *Site, of snapshot) string { return domain.IDText(of.booking.locationID()) },
		"customer_id":     func(_ *Site, of snapshot) string { return domain.IDText(of.booking.Customer.ID) },
		"total_attendees": func(_ *Site, of snapshot) string { return domain.IDText(of.booking.Attendees) },
		"payment_status": func(_ *Site, of snapshot) string { // of its order
			if of.order == nil {
				return ""
			}
			return of.order.PaymentStatus
		},
	}

	orderAttributes = map[string]func(*Site, snapshot) string{
		"status":                func(_ *Site, of snapshot) string { return of.order.Status },            // offered
		"fulfillment_status":    func(_ *Site, of snapshot) string { return of.order.FulfillmentStatus }, // offered
		"payment_status":        func(_ *Site, of snapshot) string { return of.order.PaymentStatus },     // offered
		process.OrderItemCounts: func(_ *Site, of snapshot) string { return itemCount(of.order) },        // offered

		"id":                func(_ *Site, of snapshot) string { return domain.IDText(of.order.ID) },
		"customer_id":       func(_ *Site, of snapshot) string { return domain.IDText(of.order.CustomerID) },
		"total":             func(_ *Site, of snapshot) string { return domain.AmountText(of.order.Total) },
		"subtotal":          func(_ *Site, of snapshot) string { return domain.AmountText(of.order.Subtotal) },
		"confirmation_code": func(_ *Site, of snapshot) string { return of.order.ConfirmationCode },
		"coupon_code":       func(_ *Site, of snapshot) string { return domain.ValueOr(of.order.CouponCode, "") },
	}

	customerAttributes = map[string]func(*Site, BookingCustomer) string{
		"id":         func(_ *Site, c BookingCustomer) string { return domain.IDText(c.ID) },
		"first_name": func(_ *Site, c BookingCustomer) string { return c.FirstName },
		"last_name":  func(_ *Site, c BookingCustomer) string { return c.LastName },
		"email":      func(_ *Site, c BookingCustomer) string { return c.Email },
		"phone":      func(_ *Site, c BookingCustomer) string { return c.Phone },
	}

	transactionAttributes = map[string]func(*Site, Payment) string{
		"payment_method":  func(_ *Site, p Payment) string { return p.PaymentMethod },  // offered
		"payment_portion": func(_ *Site, p Payment) string { return p.PaymentPortion }, // offered
		"kind":            func(_ *Site, p Payment) string { return p.Kind },           // offered

		"id":          func(_ *Site, p Payment) string { return domain.IDText(p.ID) },
		"token":       func(_ *Site, p Payment) string { return domain.ValueOr(p.Token, "") },
		"invoice_id":  func(_ *Site, p Payment) string { return domain.ValueOr(domain.OptionalIDText(p.InvoiceID), "") },
		"order_id":    func(_ *Site, p Payment) string { return domain.ValueOr(domain.OptionalIDText(p.OrderID), "") },
		"customer_id": func(_ *Site, p Payment) string { return domain.IDText(p.CustomerID) },
		"processor":   func(_ *Site, p Payment) string { return p.Processor },
		"status":      func(_ *Site, p Payment) string { return p.Status },
		"amount":      func(_ *Site, p Payment) string { return domain.AmountText(p.Amount) },
		"notes":       func(_ *Site, p Payment) string { return domain.ValueOr(p.Notes, "") },
	}
)

// itemCount returns how many items an order has; 0 without one
// (OsProcessModel::compute_order_item_counts_for_booking, LatePoint 5.6.5).
func itemCount(o *orderSnapshot) string {
	if o == nil {
		return "0"
	}
	return strconv.Itoa(len(o.items))
}

func minutesText(at *Minutes) string {
	if at == nil {
		return ""
	}
	return strconv.Itoa(int(*at))
}

// conditionObjects returns the attributes of the records that an event is about, by the
// plugin's word for the record. Conditions about others count as true, as in the plugin
// (OsProcessJobsHelper::handle_booking_updated and its like, LatePoint 5.6.5): a booking's
// event has no order, for example.
func (s *Site) conditionObjects(e event) map[string]map[string]string {
	objectType, _ := e.record()
	objects := map[string]map[string]string{}
	switch objectType {
	case "customer":
		objects[objectType] = attributesOf(s, customerAttributes, e.after.customer)
	case "order":
		objects[objectType] = attributesOf(s, orderAttributes, e.after)
		if e.kind == orderUpdated {
			objects["old_order"] = attributesOf(s, orderAttributes, *e.before)
		}
	case "transaction":
		objects[objectType] = attributesOf(s, transactionAttributes, *e.payment)
	default:
		objects[objectType] = attributesOf(s, bookingAttributes, e.after)
		if e.kind == bookingUpdated {
			objects["old_booking"] = attributesOf(s, bookingAttributes, *e.before)
		}
	}
	for object, attributes := range objects {
		if strings.HasPrefix(object, "old_") {
			delete(attributes, process.OrderItemCounts) // NULL, see there
		}
	}
	return objects
}

func attributesOf[T any](s *Site, attributes map[string]func(*Site, T) string, record T) map[string]string {
	values := make(map[string]string, len(attributes))
	for name, value := range attributes {
		values[name] = value(s, record)
	}
	return values
}
