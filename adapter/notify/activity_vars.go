package notify

import (
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// The variables of records that activities show (OsBookingModel::get_data_vars and the like, LatePoint 5.6.5), in the
// plugin's order. Values that PHP reads from the database are texts.

func customerVars(c records.BookingCustomer) object {
	return object{
		{"id", domain.IDText(c.ID)}, {"first_name", c.FirstName}, {"last_name", c.LastName}, {"full_name", c.FullName()}, {"email", c.Email}, {"phone", c.Phone},
	}
}

// paymentPortions are the plugin's labels for portions of an order. Other portions have none.
var paymentPortions = map[string]string{"full": "Full Balance", "remaining": "Remaining Balance", "deposit": "Deposit", "custom": "Custom"}

func transactionVars(w session.WriteSettings, payments []records.Payment) []object {
	vars := make([]object, len(payments))
	for i, p := range payments {
		vars[i] = object{
			{"id", domain.IDText(p.ID)}, {"order_id", domain.OptionalIDText(p.OrderID)}, {"invoice_id", domain.OptionalIDText(p.InvoiceID)}, {"token", p.Token}, {"customer_id", domain.IDText(p.CustomerID)},
			{"processor", p.Processor}, {"payment_method", p.PaymentMethod}, {"payment_portion", w.Texts.Of(paymentPortions[p.PaymentPortion])},
			{"kind", p.Kind}, {"status", p.Status}, {"amount", w.Currency.Format(p.Amount)}, {"notes", p.Notes},
		}
	}
	return vars
}

// orderVars are those of an order without related records.
func orderVars(w session.WriteSettings, o records.Order) object {
	return object{
		{"id", domain.IDText(o.ID)}, {"confirmation_code", o.ConfirmationCode}, {"customer_comment", o.CustomerComment},
		{"status", o.Status}, {"fulfillment_status", o.FulfillmentStatus}, {"payment_status", o.PaymentStatus},
		{"source_id", o.SourceID}, {"source_url", o.SourceURL}, {"total", w.Currency.Format(o.Total)}, {"subtotal", w.Currency.Format(o.Subtotal)},
		{"created_datetime", domain.OffsetText(o.CreatedAt)},
	}
}

// bookingVars are those of a booking, with the comment of its order, nil for none, without related records.
func bookingVars(s *session.Session, w session.WriteSettings, b BookingSnapshot, order *OrderSnapshot) object {
	var startDatetime, endDatetime, startDate, startTime string
	if start, ok := records.Start(s, b.Booking); ok {
		startDatetime = start.Format(domain.OffsetLayout)
		startDate, startTime = text.FormatDate(wallClock(b.Booking), w.DateFormat), w.Clock(wallClock(b.Booking))
	}
	if end, ok := records.End(s, b.Booking); ok {
		endDatetime = end.Format(domain.OffsetLayout)
	}
	var comment *string
	if order != nil {
		comment = order.CustomerComment
	}
	return object{
		{"id", domain.IDText(b.ID)}, {"booking_code", b.Code}, {"start_datetime", startDatetime}, {"end_datetime", endDatetime},
		{"service_name", serviceName(b.Booking)}, {"duration", domain.IDText(b.Duration)}, {"customer_comment", comment}, {"status", b.Status},
		{"start_date", startDate}, {"start_time", startTime}, {"timezone", s.Zone.Name},
		{"agent", object{{"id", domain.IDText(b.Agent.ID)}, {"full_name", b.Agent.FullName}, {"email", b.Agent.Email}, {"phone", b.Agent.Phone}}},
		{"created_datetime", domain.OffsetText(b.CreatedAt)},
		{"manage_booking_for_agent", w.ManageURL("booking", b.Keys.Agent)}, {"manage_booking_for_customer", w.ManageURL("booking", b.Keys.Customer)},
	}
}

// wallClock returns the stored start of a booking as if it were UTC, so that a time
// skipped by a spring change is shown as stored.
func wallClock(b records.Booking) time.Time {
	day, _ := b.StartDate.Time(time.UTC)
	if b.StartTime == nil {
		return day
	}
	return day.Add(time.Duration(*b.StartTime) * time.Minute)
}

// fullBookingVars are those of a booking with its customer, order and payments.
func fullBookingVars(s *session.Session, w session.WriteSettings, from Snapshot) object {
	var order any
	if from.Order != nil {
		order = orderVars(w, from.Order.Order)
	}
	return append(bookingVars(s, w, *from.Booking, from.Order),
		member{"customer", customerVars(from.Customer)}, member{"transactions", transactionVars(w, from.payments())}, member{"order", order})
}

// fullOrderVars are those of an order with its customer, items and payments. Items of other bookings than those given
// are shown from their item data.
func fullOrderVars(s *session.Session, w session.WriteSettings, customer records.BookingCustomer, order OrderSnapshot, bookings ...BookingSnapshot) object {
	items := make([]object, len(order.Items))
	for i, item := range order.Items {
		data := records.RawObject(item.ItemData)
		if item.Variant == records.BundleItem {
			data = bundleVars(order, item)
		} else if at := slices.IndexFunc(bookings, func(b BookingSnapshot) bool { return b.OrderItemID == item.ID }); at >= 0 {
			data = bookingVars(s, w, bookings[at], &order).set("duration", bookings[at].Duration)
		}
		items[i] = object{
			{"id", domain.IDText(item.ID)}, {"variant", item.Variant}, {"subtotal", domain.AmountText(item.Subtotal)}, {"total", domain.AmountText(item.Total)}, {"item_data", data},
		}
	}
	return append(orderVars(w, order.Order),
		member{"customer", customerVars(customer)}, member{"transactions", transactionVars(w, order.Payments)}, member{"order_items", items})
}

// bundleVars are those of an item's bundle (OsBundleModel::generate_data_vars, LatePoint 5.6.5); null if there is none.
func bundleVars(order OrderSnapshot, item records.OrderItem) object {
	id := itemBundle(item)
	if bundle, ok := order.bundles[id]; ok {
		return object{{"id", domain.IDText(id)}, {"name", bundle.name}}
	}
	return object{{"id", nil}, {"name", nil}}
}
