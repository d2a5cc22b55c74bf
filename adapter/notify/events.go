package notify

import (
	"github.com/bookside/bookside/adapter/records"
)

// eventKind is the kind of an event, named by the code of its activity.
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

	// As in the plugin, payments have no activities.
	TransactionCreated eventKind = "transaction_created"
)

// Event is something that happened to a customer, a booking, an order or a payment. Its kind determines
// what its snapshots contain.
type Event struct {
	Kind   eventKind
	After  Snapshot  // for BookingDeleted, the state before the deletion
	Before *Snapshot // for an update; nil otherwise
	// NewCustomer reports whether the customer was created together with the booking.
	NewCustomer bool
	Payment     *records.Payment // the new payment for TransactionCreated; nil otherwise
}

// record returns the record that an event is about: the plugin's word for its type, and its id.
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
