package adapter

// eventKind is something that happened, by the code of its history entry.
type eventKind string

// What writes record.
const (
	customerCreated eventKind = "customer_created"
	customerUpdated eventKind = "customer_updated"
	bookingCreated  eventKind = "booking_created"
	bookingUpdated  eventKind = "booking_updated"
	bookingDeleted  eventKind = "booking_deleted"
	orderCreated    eventKind = "order_created"
	orderUpdated    eventKind = "order_updated"

	// Of payments the history says nothing, as in the plugin.
	transactionCreated eventKind = "transaction_created"
)

// event is something that happened to a booking, its order, a payment of it or
// its customer.
type event struct {
	kind  eventKind
	facts bookingFacts // afterwards; before, where it is no more
	old   bookingFacts // before, of an update
	// newCustomer says that the customer was created along with a new booking.
	newCustomer bool
	payment     Payment // that was made, of transactionCreated
}
