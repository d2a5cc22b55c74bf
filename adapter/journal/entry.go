package journal

import (
	"time"

	"bookside/wpdb"
)

// Resource is the type of a record, as clients write it.
type Resource string

// The resources whose changes the journal has.
const (
	Bookings  Resource = "bookings"
	Customers Resource = "customers"
	Orders    Resource = "orders"
	Payments  Resource = "payments"
	Invoices  Resource = "invoices"
	Services  Resource = "services"
	Agents    Resource = "agents"
	Locations Resource = "locations"
	Coupons   Resource = "coupons"
)

// Resources are all resources, those first whose changes matter most.
var Resources = []Resource{Bookings, Customers, Orders, Payments, Invoices, Services, Agents, Locations, Coupons}

// tables are the tables of the resources.
var tables = map[Resource]wpdb.Table{
	Bookings: wpdb.Bookings, Customers: wpdb.Customers, Orders: wpdb.Orders, Payments: wpdb.Transactions, Invoices: wpdb.OrderInvoices,
	Services: wpdb.Services, Agents: wpdb.Agents, Locations: wpdb.Locations, Coupons: wpdb.Coupons,
}

// TableOf returns the table that has the records of a resource.
func TableOf(r Resource) wpdb.Table { return tables[r] }

// ResourceOf returns the resource whose records a table has; ok is false for other tables.
func ResourceOf(table wpdb.Table) (r Resource, ok bool) {
	for resource, t := range tables {
		if t == table {
			return resource, true
		}
	}
	return "", false
}

// Kind is what happened to a record.
type Kind string

// The kinds.
const (
	Created Kind = "created"
	Updated Kind = "updated"
	Deleted Kind = "deleted"
)

// Origin is who made a change.
type Origin string

// The origins.
const (
	FromAPI  Origin = "api"   // a request to Bookside; the actor is the key
	FromSite Origin = "site"  // WordPress, as its companion told; the actor is the WordPress user
	Found    Origin = "found" // unknown: the change was found by comparing rows
)

// Change is what a writer enters: one change of one record.
type Change struct {
	Resource Resource
	ID       int64
	Kind     Kind
	Status   string // of a booking: the new status; "" if it did not change or is not known
	// To what a booking belonged before, and belongs now. Both are nil if that did not change.
	From, To *Assignment
	// Belonged is to what the bookings of a deleted customer, order, payment or invoice belonged.
	Belonged Belonged
}

// Assignment is to what a booking belongs.
type Assignment struct{ AgentID, ServiceID, LocationID, CustomerID int64 }

// Entry is a change with its place in the journal. It has no personal data.
type Entry struct {
	Number   int64
	Resource Resource
	ID       int64
	Kind     Kind
	Origin   Origin
	ActorID  int64 // a key or a WordPress user, as the origin says; 0 if unknown
	At       time.Time
	Booking  *BookingFacts // of bookings; nil for others, and if nothing is known
	// Left is set in the entry that Within makes for those who no longer cover a booking.
	Left bool
	// Belonged is to what the bookings of a deleted customer, order, payment or invoice belonged;
	// nil if that is not known, as of one that the search found.
	Belonged Belonged
}

// BookingFacts say to what a changed booking belongs; of a deleted one, to what it did
// belong.
type BookingFacts struct {
	OldStatus, NewStatus string // "" before it was created, and after it was deleted
	Assignment
	Before *Assignment // to what the booking belonged before the change; nil if that is the same, or not known
}

// Within returns the entry about a booking, or a deleted record with bookings, for somebody who
// covers only some bookings; ok is false if the entry is not for them. Who covered the booking
// only before it moved is told that it is gone, and nothing of where it went; who covers it only
// now, not whence it came.
func (e Entry) Within(covers func(Assignment) bool) (within Entry, ok bool) {
	if e.Booking == nil {
		return e, e.Kind == Deleted && e.Belonged.within(e.Resource, covers)
	}
	facts := *e.Booking
	before := facts.Before != nil && covers(*facts.Before)
	switch {
	case covers(facts.Assignment):
		if !before {
			facts.Before = nil
		}
		e.Booking = &facts
	case before:
		e.Kind, e.Left = Deleted, true
		e.Booking = &BookingFacts{OldStatus: facts.OldStatus, Assignment: *facts.Before}
	default:
		return e, false
	}
	return e, true
}

// StatusChanged reports whether the entry is about an existing booking whose status
// changed.
func (e Entry) StatusChanged() bool {
	return e.Kind == Updated && e.Booking != nil && e.Booking.OldStatus != e.Booking.NewStatus
}
