package adapter

// eventKind is the kind of an event, by the code of its entry in the activity log.
type eventKind string

// The events that writes cause.
const (
	customerCreated eventKind = "customer_created"
	customerUpdated eventKind = "customer_updated"
	bookingCreated  eventKind = "booking_created"
	bookingUpdated  eventKind = "booking_updated"
	bookingDeleted  eventKind = "booking_deleted"
	orderCreated    eventKind = "order_created"
	orderUpdated    eventKind = "order_updated"

	// Payments have no entries in the activity log, as in the plugin.
	transactionCreated eventKind = "transaction_created"
)

// event is something that happened to a customer, a booking, an order or a payment.
// Its snapshots have what its kind is about.
type event struct {
	kind   eventKind
	after  snapshot  // before the deletion, of bookingDeleted
	before *snapshot // of an update; nil otherwise
	// newCustomer reports whether the customer was created together with the booking.
	newCustomer bool
	payment     *Payment // the new payment, of transactionCreated; nil otherwise
}

// record returns the record that an event is about: the platform's word for its type,
// and its id.
func (e event) record() (objectType string, id int64) {
	switch e.kind {
	case customerCreated, customerUpdated:
		return "customer", e.after.customer.ID
	case orderCreated, orderUpdated:
		return "order", e.after.order.ID
	case transactionCreated:
		return "transaction", e.payment.ID
	default:
		return "booking", e.after.booking.ID
	}
}
