package handlers

import (
	"bookside/adapter/availability"
	"bookside/adapter/domain"
	"bookside/compat"
)

// operation is one thing that the API does: what the document says of it, and
// the function that does it.
type operation struct {
	id      string // in the document; clients generated from it name their functions so
	summary string
	about   string
	path    []pathParameter   // in the order of the path
	query   compat.QueryInput // nil for no parameters
	body    compat.Input      // nil for no body
	answers []response        // samples
	also    []also            // what may need more than the route's permission
	refuse  []error           // besides those of every operation like it
	errors  errorForm
	size    size // what the memory of a request grows with
	cost    cost // of a request, in requests; nil for one
	serve   func(*request) (response, error)
}

// errorForm is how an operation fails. The zero value is that of most.
type errorForm struct {
	list    bool              // a list: an invalid key is answered as a WordPressError
	shape   compat.ErrorShape // of everything that has no shape of its own
	failure string            // message of an internal error; "" for "Internal server error"
	code    string            // of an internal error; "" for server_error
	invalid string            // code of invalid fields, as a WordPressError; "" for an ObjectError
}

// pathParameter is an id, or a code, in a path.
type pathParameter struct {
	name     string
	resource domain.Resource
}

var (
	bookingID     = pathParameter{"id", domain.BookingResource}
	customerID    = pathParameter{"id", domain.CustomerResource}
	agentID       = pathParameter{"id", domain.AgentResource}
	serviceID     = pathParameter{"id", domain.ServiceResource}
	paymentID     = pathParameter{"id", domain.PaymentResource}
	orderID       = pathParameter{"id", domain.OrderResource}
	invoiceID     = pathParameter{"invoice_id", domain.InvoiceResource}
	transactionID = pathParameter{"transaction_id", domain.TransactionResource}
	couponCode    = pathParameter{"code", domain.CouponResource}
)

// cost is how many requests one counts for, by its parameters.
type cost func(*compat.Query) int64

// requests is how many requests one of the route counts for.
func (r *route) requests(query *compat.Query) int64 {
	if r.operation.cost == nil {
		return 1
	}
	return r.operation.cost(query)
}

// also is a permission that a request needs beside that of its route, where it
// does what is described. The adapter asks for it, for only there is it known.
type also struct{ permission, purpose string }

// exampleConflict is why a booking cannot have its time.
var exampleConflict = domain.SlotConflict{
	Start: availability.Moment{Day: exampleDay, Minutes: 600}, AgentID: 3, BookingID: 53, Free: []availability.Minutes{660},
}

var exampleDay, _ = availability.ParseDay("2026-12-01")
