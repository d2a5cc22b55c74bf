package adapter

import "context"

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

// logEvents adds events to the site's history, so that it shows what was done
// here.
func (tx *Tx) logEvents(ctx context.Context, w writeSettings, events []event) error {
	activities := make([]activity, len(events))
	for i, e := range events {
		activities[i] = tx.eventActivity(w, e)
	}
	return tx.logActivities(ctx, activities...)
}

// The descriptions of history entries.
type (
	customerEntry struct {
		Vars any `json:"customer_data_vars"`
	}
	bookingEntry struct {
		Vars any `json:"booking_data_vars"`
	}
	orderEntry struct {
		Vars any `json:"order_data_vars"`
	}
)

// eventActivity mirrors OsActivitiesHelper::create_activity for an event. A new
// record has numbers where a loaded one has texts, as in PHP.
func (s *Site) eventActivity(w writeSettings, e event) activity {
	a := activity{code: string(e.kind)}
	switch e.kind {
	case customerCreated, customerUpdated:
		a.customerID = &e.facts.Customer.ID
		vars := customerVarsOf(e.facts.Customer)
		vars.ID = e.facts.Customer.ID
		a.description = customerEntry{vars}
		if e.kind == customerUpdated {
			a.description = customerEntry{change{New: vars, Old: customerVarsOf(e.old.Customer)}}
		}
	case orderCreated, orderUpdated:
		a.orderID = &e.facts.Order.ID
		vars := s.orderVars(w, e.facts)
		vars.ID, vars.SourceURL = e.facts.Order.ID, false
		a.description = orderEntry{vars}
		if e.kind == orderUpdated {
			a.description = orderEntry{change{New: vars, Old: s.orderVars(w, e.old)}}
		}
	default:
		a.bookingID = &e.facts.ID
		vars := s.bookingVars(w, e.facts)
		if e.kind == bookingCreated {
			vars.ID, vars.Duration = e.facts.ID, e.facts.Duration
		}
		a.description = bookingEntry{vars}
		if e.kind == bookingUpdated {
			a.description = bookingEntry{change{New: vars, Old: s.bookingVars(w, e.old)}}
		}
	}
	return a
}
