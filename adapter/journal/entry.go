package journal

import (
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Resource is the type of a record, as clients name it.
type Resource string

// The resources whose changes are in the journal.
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

// Resources are all resources, the most important first.
var Resources = []Resource{Bookings, Customers, Orders, Payments, Invoices, Services, Agents, Locations, Coupons}

// tables are the tables of the resources.
var tables = map[Resource]wpdb.Table{
	Bookings: wpdb.Bookings, Customers: wpdb.Customers, Orders: wpdb.Orders, Payments: wpdb.Transactions, Invoices: wpdb.OrderInvoices,
	Services: wpdb.Services, Agents: wpdb.Agents, Locations: wpdb.Locations, Coupons: wpdb.Coupons,
}

// ResourceOf returns the resource whose records a table holds; ok is false for other tables.
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
	FromSite Origin = "site"  // WordPress, as the companion reported or asked; the actor is the WordPress user
	Found    Origin = "found" // unknown: the change was found by comparing rows
)

// Change is one change of one record, as a writer enters it.
type Change struct {
	Resource Resource
	ID       int64
	Kind     Kind
	Status   string // of a booking: the new status; "" if it did not change or is not known
	// The assignments of a booking before and now, both nil if unchanged.
	From, To *Assignment
}

// Assignment is what a booking is assigned to.
type Assignment struct{ AgentID, ServiceID, LocationID, CustomerID int64 }

// Entry is a change with its place in the journal. It has no personal data.
type Entry struct {
	Number   int64
	Resource Resource
	ID       int64
	Kind     Kind
	Origin   Origin
	ActorID  int64 // a key or a WordPress user, depending on the origin; 0 if unknown
	// RequestID is the id of the request to the API that made the change; "" for others.
	RequestID string
	At        time.Time
	Booking   *BookingFacts // for bookings; nil for others, or if nothing is known
	// Left is set in the entry that Within returns to readers who no longer cover a booking.
	Left bool
}

// BookingFacts are the assignment of a changed booking, or the last one of a deleted booking.
type BookingFacts struct {
	OldStatus, NewStatus string // "" before it was created, and after it was deleted
	Assignment
	Before *Assignment // the assignment before the change; nil if unchanged or unknown
}

// Within returns the entry about a booking as a reader sees it who covers only some bookings; ok is false if
// it does not concern them. If they covered the booking only
// before it moved, the entry says that it is gone, but not where it went; if they cover it only now, not
// where it came from.
func (e Entry) Within(covers func(Assignment) bool) (within Entry, ok bool) {
	if e.Booking == nil {
		return e, false
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

// Visible returns the entries that a key with a scope sees: those about bookings that were in scope before or
// after the change, see Within, and those about agents, services and locations that the scope names.
func Visible(entries []Entry, scope domain.Scope) []Entry {
	if scope.Unlimited() {
		return entries
	}
	named := map[Resource][]int64{Agents: scope.Agents, Services: scope.Services, Locations: scope.Locations}
	visible := []Entry{}
	for _, e := range entries {
		within, ok := e.Within(func(a Assignment) bool { return scope.Covers(a.AgentID, a.ServiceID, a.LocationID) })
		if ok || slices.Contains(named[e.Resource], e.ID) {
			visible = append(visible, within)
		}
	}
	return visible
}

// StatusChanged reports whether the entry is about an existing booking whose status
// changed.
func (e Entry) StatusChanged() bool {
	return e.Kind == Updated && e.Booking != nil && e.Booking.OldStatus != e.Booking.NewStatus
}
