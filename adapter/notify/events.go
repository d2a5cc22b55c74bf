package notify

import (
	"github.com/bookside/bookside/adapter/domain"
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

// EventTypes are the event types of processes that an event triggers. Those for start and end are reminders
// (OsProcessJobsHelper).
var EventTypes = map[eventKind][]string{
	CustomerCreated: {"customer_created"},
	BookingCreated:  {"booking_created", bookingStart, bookingEnd},
	BookingUpdated:  {"booking_updated", bookingStart, bookingEnd},
	OrderCreated:    {"order_created"},
	OrderUpdated:    {"order_updated"},

	TransactionCreated: {"transaction_created"},
}

const (
	bookingStart = "booking_start"
	bookingEnd   = "booking_end"
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

// activityData returns the activity data of an event: the ids of the records that its messages are about. As in PHP, a
// new record has numbers where a loaded one has texts.
func (e Event) activityData() object {
	as := func(loaded bool, n int64) any {
		if loaded {
			return domain.IDText(n)
		}
		return n
	}
	updated := e.Kind == BookingUpdated || e.Kind == OrderUpdated
	customer := as(updated || !e.NewCustomer, e.After.Customer.ID)
	switch objectType, id := e.record(); objectType {
	case "customer":
		return object{{"customer_id", id}}
	case "order":
		return object{{"order_id", as(updated, id)}, {"customer_id", customer}}
	case "transaction":
		return object{{"transaction_id", id}}
	default:
		b := e.After.Booking
		return object{{"booking_id", as(updated, id)}, {"agent_id", as(updated, b.Agent.ID)}, {"service_id", as(updated, b.ServiceID())}, {"customer_id", customer}}
	}
}
