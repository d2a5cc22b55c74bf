package notify

import (
	"bookside/adapter/records"
)

// eventKind is the kind of an event, by the code of its entry in the activity log.
type eventKind string

// The events that writes cause.
const (
	CustomerCreated eventKind = "customer_created"
	CustomerUpdated eventKind = "customer_updated"
	BookingCreated  eventKind = "booking_created"
	BookingUpdated  eventKind = "booking_updated"
	BookingDeleted  eventKind = "booking_deleted"
	OrderCreated    eventKind = "order_created"
	OrderUpdated    eventKind = "order_updated"

	// Payments have no entries in the activity log, as in the plugin.
	TransactionCreated eventKind = "transaction_created"
)

// Event is something that happened to a customer, a booking, an order or a payment.
// Its snapshots have what its kind is about.
type Event struct {
	Kind   eventKind
	After  Snapshot  // before the deletion, of BookingDeleted
	Before *Snapshot // of an update; nil otherwise
	// NewCustomer reports whether the customer was created together with the booking.
	NewCustomer bool
	Payment     *records.Payment // the new payment, of TransactionCreated; nil otherwise
}

// record returns the record that an event is about: the platform's word for its type,
// and its id.
func (e Event) record() (objectType string, id int64) {
	switch e.Kind {
	case CustomerCreated, CustomerUpdated:
		return "customer", e.After.Customer.ID
	case OrderCreated, OrderUpdated:
		return "order", e.After.Order.ID
	case TransactionCreated:
		return "transaction", e.Payment.ID
	default:
		return "booking", e.After.Booking.ID
	}
}
