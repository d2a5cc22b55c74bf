package handlers

import (
	"context"
	"net/http"
	"time"

	"bookside/adapter"
	"bookside/adapter/availability"
	"bookside/compat"
)

// operation is what the document tells of a route beyond the route itself. Its
// functions are those that serve requests: what they read and make is what is
// described.
type operation struct {
	about   string
	query   func(*compat.Query) error // reads the parameters
	body    func(*compat.Body)        // reads the body
	require []string                  // fields of the body that the adapter misses
	answers []response                // made of empty records
	also    []also                    // what may need more than the route's permission
	refuse  []error                   // besides those of every route like it
	size    size                      // what the memory of a request grows with
	cost    cost                      // of a request, in requests; nil for one
}

// cost is how many requests one counts for, by its parameters.
type cost func(*compat.Query) int64

// requests is how many requests one of the route counts for. Parameters that are
// wrong cost no more than one.
func (r *route) requests(query *compat.Query) int64 {
	if r.operation.cost == nil || r.operation.query(query) != nil {
		return 1
	}
	return r.operation.cost(query)
}

// also is a permission that a request needs beside that of its route, where it
// does what is described. The adapter asks for it, for only there is it known.
type also struct{ permission, purpose string }

// plainView shapes the answers that are described.
var plainView compat.View

// queryOf reads parameters for what comes of it.
func queryOf[T any](read func(*compat.Query) (T, error)) func(*compat.Query) error {
	return func(q *compat.Query) error {
		_, err := read(q)
		return err
	}
}

// pageOf is an empty page.
func pageOf[T any]() adapter.Page[T] {
	return adapter.Page[T]{Paging: adapter.Paging{Page: 1, PerPage: 1}}
}

// bodyOf reads a body for what comes of it.
func bodyOf[T any](read func(*compat.Body) T) func(*compat.Body) {
	return func(b *compat.Body) { read(b) }
}

// Refusals that only some routes know.
var (
	errSlotTaken = &adapter.Error{
		Code: adapter.CodeSlotUnavailable, Message: "The requested time is not available",
		Conflict: &adapter.SlotConflict{Start: availability.Moment{Day: exampleDay, Minutes: 600}, AgentID: 3, BookingID: 53, Free: []availability.Minutes{660}},
	}
	errForceRequired    = &adapter.Error{Code: adapter.CodeForceRequired, Message: "Only pending and cancelled bookings are deleted without force=true"}
	errHasBookings      = &adapter.Error{Code: adapter.CodeCustomerHasBookings, Message: "Customer has bookings", Count: 3}
	errPaymentCompleted = &adapter.Error{Code: adapter.CodePaymentCompleted, Message: "Completed payments cannot be deleted"}
	exampleDay, _       = availability.ParseDay("2026-12-01")
)

var (
	statusRead = operation{
		about:   "The name of the site's time zone and the present time there.",
		answers: []response{ok(compat.StatusDetail(adapter.Zone{Location: time.UTC}, time.Time{}))},
	}

	bookingListing = operation{
		size:    records("per_page"),
		about:   "Bookings that match every parameter sent, a page of them.",
		query:   queryOf(func(q *compat.Query) (any, error) { return plainView.BookingFilter(context.Background(), q, nil) }),
		answers: []response{ok(plainView.BookingList(pageOf[adapter.Booking]()))},
	}
	bookingReading = operation{
		about:   "A booking with its order and payments.",
		answers: []response{ok(plainView.BookingDetail(adapter.BookingDetail{}, compat.BookingTimes{}))},
	}
	bookingMaking = operation{
		about:   "Makes a booking where the agent is free, for a customer named by id or described. The customer described is found by e-mail address, or created.",
		body:    bodyOf(compat.NewBooking),
		answers: []response{created(plainView.BookingCreated(adapter.MadeBooking{}, compat.BookingTimes{}))},
		refuse:  []error{errSlotTaken},
	}
	bulkMaking = operation{
		size:  size{each: bulkWork},
		about: "Makes each booking by itself: one that fails undoes no other. Answers 201 where all were made, 207 where some were, 400 where none was. Counts as one request for each booking. The bare list may be sent in place of the object.",
		body:  compat.DescribeBulkBookings,
		answers: []response{
			{http.StatusCreated, compat.Bulk(nil, nil)}, {http.StatusMultiStatus, compat.Bulk(nil, nil)}, {http.StatusBadRequest, compat.Bulk(nil, nil)},
		},
	}
	bookingChange = operation{
		about: "Changes what is sent and nothing else. A new time, agent or service is checked as for a new booking.",
		body:  bodyOf(compat.BookingPatch),
		also: []also{
			{"write_customers", "to change a name, e-mail address or phone number that the customer has already"},
			{"delete_bookings", "to cancel a completed booking"},
		},
		answers: []response{ok(plainView.BookingUpdated(adapter.BookingDetail{}, compat.BookingTimes{}))},
		refuse:  []error{errSlotTaken},
	}
	bookingDeletionOp = operation{
		about:   "Deletes a booking for good. One that is neither pending nor cancelled needs force.",
		query:   queryOf(force),
		answers: []response{ok(compat.BookingDeleted())},
		refuse:  []error{errForceRequired},
	}

	customerListing = operation{
		size:    records("per_page"),
		about:   "Customers that match every parameter sent, a page of them, the latest first.",
		query:   queryOf(plainView.CustomerFilter),
		answers: []response{ok(plainView.CustomerList(pageOf[adapter.Customer]()))},
	}
	customerReading = operation{
		size:    records("bookings_limit"),
		about:   "A customer, with bookings where include asks for them.",
		query:   queryOf(func(q *compat.Query) (any, error) { return plainView.CustomerIncludes(context.Background(), q, nil) }),
		answers: []response{ok(plainView.CustomerDetail(adapter.Customer{}, compat.CustomerIncludes{}, compat.CustomerBookings{}))},
	}
	customerMaking = operation{
		about:   "Creates a customer. No two have the same e-mail address.",
		body:    bodyOf(compat.NewCustomer),
		also:    []also{{"write_users", "to link the customer to a user of the site by cms_user_id"}},
		require: []string{"first_name", "last_name"},
		answers: []response{created(plainView.CustomerCreated(adapter.Customer{}))},
	}
	customerChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.CustomerPatch),
		answers: []response{ok(plainView.CustomerUpdated(adapter.Customer{}))},
	}
	customerDeletionOp = operation{
		about:   "Deletes a customer who has no bookings.",
		answers: []response{ok(plainView.CustomerDeleted(0, time.Time{}))},
		refuse:  []error{errHasBookings},
	}

	agentListing = operation{
		size:    records("per_page"),
		about:   "Agents that match every parameter sent, a page of them, with their services and locations.",
		query:   queryOf(plainView.AgentFilter),
		answers: []response{ok(plainView.AgentList(pageOf[adapter.Agent]()))},
	}
	agentReading = operation{
		about:   "An agent with their services and locations.",
		answers: []response{ok(plainView.AgentDetail(adapter.Agent{}))},
	}
	freeAgentListing = operation{
		size:    records("limit"),
		about:   "Agents who offer the service and, where date and start_time are sent, are free then.",
		query:   queryOf(plainView.AgentSlotQuery),
		answers: []response{ok(plainView.FreeAgents(adapter.AgentSlotQuery{}, nil))},
	}

	serviceListing = operation{
		size:    records("per_page"),
		about:   "Services that match every parameter sent, a page of them.",
		query:   func(q *compat.Query) error { _, _, err := plainView.ServiceFilter(q); return err },
		answers: []response{ok(plainView.ServiceList(pageOf[adapter.Service](), compat.ServiceIncludes{}, nil))},
	}
	categoryListing = operation{
		size:    records("per_page"),
		about:   "The categories of services, a page of them, in their order.",
		query:   queryOf(plainView.CategoryPaging),
		answers: []response{ok(plainView.CategoryList(pageOf[adapter.ServiceCategory]()))},
	}
	serviceReading = operation{
		about:   "A service. Its numbers are texts.",
		query:   queryOf(plainView.ServiceIncludes),
		answers: []response{ok(plainView.ServiceDetail(adapter.Service{}, compat.ServiceIncludes{}))},
	}
	serviceMaking = operation{
		about:   "Creates a service.",
		body:    bodyOf(compat.ServicePatch),
		require: []string{"name"},
		answers: []response{created(plainView.ServiceCreated(adapter.Service{}))},
	}
	serviceChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.ServicePatch),
		answers: []response{ok(plainView.ServiceUpdated(adapter.Service{}))},
	}

	locationListing = operation{
		size:    records("per_page"),
		about:   "Locations that match every parameter sent, a page of them.",
		query:   queryOf(plainView.LocationFilter),
		answers: []response{ok(plainView.LocationList(pageOf[adapter.Location]()))},
	}

	availabilityReading = operation{
		size:    days,
		cost:    (*compat.Query).Weeks,
		about:   "The starts at which a booking can be made on a day, or by day on several days where date_to is sent. Counts as one request for each week begun.",
		query:   queryOf(plainView.AvailabilityRequest),
		answers: []response{slotsOf(compat.AvailabilityRequest{}), slotsOf(compat.AvailabilityRequest{ManyDays: true})},
	}

	paymentListing = operation{
		size:    records("per_page"),
		about:   "Payments that match every parameter sent, a page of them.",
		query:   queryOf(plainView.PaymentFilter),
		answers: []response{ok(plainView.PaymentList(pageOf[adapter.Payment]()))},
	}
	paymentReading = operation{
		about:   "A payment.",
		answers: []response{ok(plainView.PaymentDetail(adapter.Payment{}))},
	}
	paymentMaking = operation{
		about:   "Records a payment of an order, named by order_id or by one of its bookings, and brings the order's payment status in step.",
		body:    bodyOf(compat.NewPayment),
		require: []string{"amount"},
		answers: []response{created(plainView.PaymentCreated(adapter.Payment{}))},
	}
	paymentChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.PaymentPatch),
		answers: []response{ok(plainView.PaymentUpdated(adapter.Payment{}))},
	}
	paymentDeletionOp = operation{
		about:   "Deletes a payment that did not succeed.",
		answers: []response{ok(compat.PaymentDeleted())},
		refuse:  []error{errPaymentCompleted},
	}

	orderListing = operation{
		size:    records("per_page"),
		about:   "Orders that match every parameter sent, a page of them.",
		query:   queryOf(plainView.OrderFilter),
		answers: []response{ok(plainView.OrderList(pageOf[adapter.Order]()))},
	}
	orderReading = operation{
		about:   "An order with its items, without an envelope.",
		answers: []response{ok(plainView.OrderDetail(adapter.Order{}, nil))},
	}
	orderMaking = operation{
		about:   "Creates an order, without items.",
		body:    bodyOf(compat.OrderPatch),
		require: []string{"customer_id", "subtotal", "total"},
		answers: []response{created(plainView.OrderWritten(adapter.Order{}))},
	}
	orderChange = operation{
		about:   "Changes what is sent and nothing else. A new customer takes the order's bookings along.",
		body:    bodyOf(compat.OrderPatch),
		answers: []response{ok(plainView.OrderWritten(adapter.Order{}))},
	}
	invoiceListing = operation{
		size:    records("per_page"),
		about:   "The invoices of an order, a page of them.",
		query:   queryOf(plainView.SubPaging),
		answers: []response{ok(plainView.InvoiceList(pageOf[adapter.Invoice]()))},
	}
	invoiceReading = operation{
		about:   "An invoice of an order.",
		answers: []response{ok(plainView.InvoiceDetail(adapter.Invoice{}))},
	}
	invoiceChange = operation{
		about:   "Changes what is sent and nothing else. An invoice that payments do not cover becomes paid with force only.",
		query:   queryOf(force),
		body:    func(b *compat.Body) { _, _ = compat.InvoicePatch(b) },
		answers: []response{ok(plainView.InvoiceUpdated(adapter.Invoice{}))},
	}
	transactionListing = operation{
		size:    records("per_page"),
		about:   "The payments of an order, a page of them.",
		query:   queryOf(plainView.SubPaging),
		answers: []response{ok(plainView.PaymentList(pageOf[adapter.Payment]()))},
	}
	transactionReading = operation{
		about:   "A payment of an order.",
		answers: []response{ok(plainView.Transaction(adapter.Payment{}))},
	}

	couponListing = operation{
		size:    records("per_page"),
		about:   "Coupons that match every parameter sent, a page of them. Sites without coupons have none.",
		query:   queryOf(plainView.CouponFilter),
		answers: []response{ok(plainView.CouponList(pageOf[adapter.Coupon](), adapter.Currency{}))},
	}
	couponReading = operation{
		about:   "A coupon with the latest orders that carry it.",
		answers: []response{ok(plainView.CouponDetail(adapter.Coupon{}, nil, adapter.Currency{}))},
	}
	couponMaking = operation{
		about:   "Creates a coupon. Codes are kept in capitals.",
		body:    bodyOf(compat.NewCoupon),
		require: []string{"discount_type", "discount_value"},
		answers: []response{created(plainView.CouponCreated(adapter.Coupon{}))},
	}
	couponChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.CouponPatch),
		answers: []response{ok(plainView.CouponUpdated(adapter.Coupon{}))},
	}
	couponDeletionOp = operation{
		about:   "Deletes a coupon.",
		answers: []response{ok(compat.CouponDeleted())},
	}
)

// slotsOf is an answer about free starts.
func slotsOf(asked compat.AvailabilityRequest) response {
	grid := adapter.SlotGrid{Days: []adapter.SlotDay{{}}}
	grid.Duration = new(int64(60))
	return ok(plainView.Availability(asked, grid, ""))
}
