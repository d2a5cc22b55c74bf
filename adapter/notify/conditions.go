package notify

import (
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// The attributes of records that the conditions of automations compare, with where their values come from.
// NULL is "". LatePoint's form offers those marked as offered (properties_to_query of the models, LatePoint
// 5.6.5). The plugin itself compares any column, so the others that a stored condition may name are here
// too.
var (
	bookingAttributes = map[string]func(*session.Session, Snapshot) string{
		"service_id": func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.ServiceID()) }, // offered
		"agent_id":   func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.Agent.ID) },    // offered
		"status":     func(_ *session.Session, snapshot Snapshot) string { return snapshot.Booking.Status },                     // offered
		// Offered for the old booking, to compare whether it changed. Computed, because the plugin leaves
		// the column NULL for a start at midnight.
		"start_datetime_utc": func(s *session.Session, snapshot Snapshot) string {
			start, known := records.Start(s, snapshot.Booking.Booking)
			if !known {
				return ""
			}
			return domain.Stamp(start)
		},
		OrderItemCounts: func(_ *session.Session, snapshot Snapshot) string { return itemCount(snapshot.Order) }, // offered; the items of its order

		"id":           func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.ID) },
		"booking_code": func(_ *session.Session, snapshot Snapshot) string { return snapshot.Booking.Code },
		"start_date":   func(_ *session.Session, snapshot Snapshot) string { return string(snapshot.Booking.StartDate) },
		"end_date":     func(_ *session.Session, snapshot Snapshot) string { return string(snapshot.Booking.EndDate) },
		"start_time":   func(_ *session.Session, snapshot Snapshot) string { return minutesText(snapshot.Booking.StartTime) },
		"end_time":     func(_ *session.Session, snapshot Snapshot) string { return minutesText(snapshot.Booking.EndTime) },
		"duration":     func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.Duration) },
		"buffer_before": func(_ *session.Session, snapshot Snapshot) string {
			return domain.IDText(snapshot.Booking.BufferBefore)
		},
		"buffer_after": func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.BufferAfter) },
		"location_id": func(_ *session.Session, snapshot Snapshot) string {
			return domain.IDText(snapshot.Booking.LocationID())
		},
		"customer_id":     func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.Customer.ID) },
		"total_attendees": func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Booking.Attendees) },
		"payment_status": func(_ *session.Session, snapshot Snapshot) string { // of its order
			if snapshot.Order == nil {
				return ""
			}
			return snapshot.Order.PaymentStatus
		},
	}

	orderAttributes = map[string]func(*session.Session, Snapshot) string{
		"status":             func(_ *session.Session, snapshot Snapshot) string { return snapshot.Order.Status },            // offered
		"fulfillment_status": func(_ *session.Session, snapshot Snapshot) string { return snapshot.Order.FulfillmentStatus }, // offered
		"payment_status":     func(_ *session.Session, snapshot Snapshot) string { return snapshot.Order.PaymentStatus },     // offered
		OrderItemCounts:      func(_ *session.Session, snapshot Snapshot) string { return itemCount(snapshot.Order) },        // offered

		"id":                func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Order.ID) },
		"customer_id":       func(_ *session.Session, snapshot Snapshot) string { return domain.IDText(snapshot.Order.CustomerID) },
		"total":             func(_ *session.Session, snapshot Snapshot) string { return domain.AmountText(snapshot.Order.Total) },
		"subtotal":          func(_ *session.Session, snapshot Snapshot) string { return domain.AmountText(snapshot.Order.Subtotal) },
		"confirmation_code": func(_ *session.Session, snapshot Snapshot) string { return snapshot.Order.ConfirmationCode },
		"coupon_code": func(_ *session.Session, snapshot Snapshot) string {
			return domain.ValueOr(snapshot.Order.CouponCode, "")
		},
	}

	customerAttributes = map[string]func(*session.Session, records.BookingCustomer) string{
		"id":         func(_ *session.Session, c records.BookingCustomer) string { return domain.IDText(c.ID) },
		"first_name": func(_ *session.Session, c records.BookingCustomer) string { return c.FirstName },
		"last_name":  func(_ *session.Session, c records.BookingCustomer) string { return c.LastName },
		"email":      func(_ *session.Session, c records.BookingCustomer) string { return c.Email },
		"phone":      func(_ *session.Session, c records.BookingCustomer) string { return c.Phone },
	}

	transactionAttributes = map[string]func(*session.Session, records.Payment) string{
		"payment_method":  func(_ *session.Session, p records.Payment) string { return p.PaymentMethod },  // offered
		"payment_portion": func(_ *session.Session, p records.Payment) string { return p.PaymentPortion }, // offered
		"kind":            func(_ *session.Session, p records.Payment) string { return p.Kind },           // offered

		"id":    func(_ *session.Session, p records.Payment) string { return domain.IDText(p.ID) },
		"token": func(_ *session.Session, p records.Payment) string { return domain.ValueOr(p.Token, "") },
		"invoice_id": func(_ *session.Session, p records.Payment) string {
			return domain.ValueOr(domain.OptionalIDText(p.InvoiceID), "")
		},
		"order_id": func(_ *session.Session, p records.Payment) string {
			return domain.ValueOr(domain.OptionalIDText(p.OrderID), "")
		},
		"customer_id": func(_ *session.Session, p records.Payment) string { return domain.IDText(p.CustomerID) },
		"processor":   func(_ *session.Session, p records.Payment) string { return p.Processor },
		"status":      func(_ *session.Session, p records.Payment) string { return p.Status },
		"amount":      func(_ *session.Session, p records.Payment) string { return domain.AmountText(p.Amount) },
		"notes":       func(_ *session.Session, p records.Payment) string { return domain.ValueOr(p.Notes, "") },
	}
)

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

// conditionObjects returns the attributes of the records that an event is about, by the plugin's word for
// the record. As in the plugin (OsProcessJobsHelper::handle_booking_updated and the like, LatePoint 5.6.5),
// conditions about other records count as true: for example, a booking's event has no order.
func conditionObjects(s *session.Session, e Event) map[string]map[string]string {
	objectType, _ := e.record()
	objects := map[string]map[string]string{}
	switch objectType {
	case "customer":
		objects[objectType] = attributesOf(s, customerAttributes, e.After.Customer)
	case "order":
		objects[objectType] = attributesOf(s, orderAttributes, e.After)
		if e.Kind == OrderUpdated {
			objects["old_order"] = attributesOf(s, orderAttributes, *e.Before)
		}
	case "transaction":
		objects[objectType] = attributesOf(s, transactionAttributes, *e.Payment)
	default:
		objects[objectType] = attributesOf(s, bookingAttributes, e.After)
		if e.Kind == BookingUpdated {
			objects["old_booking"] = attributesOf(s, bookingAttributes, *e.Before)
		}
	}
	for object, attributes := range objects {
		if strings.HasPrefix(object, "old_") {
			delete(attributes, OrderItemCounts) // NULL, see OrderItemCounts
		}
	}
	return objects
}

func attributesOf[T any](s *session.Session, attributes map[string]func(*session.Session, T) string, record T) map[string]string {
	values := make(map[string]string, len(attributes))
	for name, value := range attributes {
		values[name] = value(s, record)
	}
	return values
}
