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
	query   func(compat.View, *compat.Query) // reads the parameters
	body    func(*compat.Body)               // reads the body
	require []string                         // fields of the body that the adapter misses
	answers []func(compat.View) response
	refuse  []error // besides those of every route like it
}

// answers200 is a single answer.
func answers200[T any](shape func(compat.View) T) []func(compat.View) response {
	return []func(compat.View) response{func(v compat.View) response { return ok(shape(v)) }}
}

// answers201 is the answer of a POST.
func answers201[T any](shape func(compat.View) T) []func(compat.View) response {
	return []func(compat.View) response{func(v compat.View) response { return created(shape(v)) }}
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
	exampleMinutes      = int64(60)
)

var (
	statusRead = operation{
		about: "The name of the site's time zone and the present time there.",
		answers: answers200(func(compat.View) compat.StatusSingle {
			return compat.StatusDetail(adapter.Zone{Location: time.UTC}, time.Time{})
		}),
	}

	bookingListing = operation{
		about:   "Bookings that match every parameter sent, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.BookingFilter(context.Background(), q, nil) },
		answers: answers200(func(v compat.View) compat.List { return v.BookingList(pageOf[adapter.Booking]()) }),
	}
	bookingReading = operation{
		about: "A booking with its order and payments.",
		answers: answers200(func(v compat.View) compat.Single {
			return v.BookingDetail(adapter.BookingDetail{}, compat.BookingTimes{})
		}),
	}
	bookingMaking = operation{
		about: "Makes a booking where the agent is free, for a customer named by id or described. The customer described is found by e-mail address, or created.",
		body:  bodyOf(compat.NewBooking),
		answers: answers201(func(v compat.View) compat.MadeBooking {
			return v.BookingCreated(adapter.MadeBooking{}, compat.BookingTimes{})
		}),
		refuse: []error{errSlotTaken},
	}
	bulkMaking = operation{
		about: "Makes each booking by itself: one that fails undoes no other. Answers 201 where all were made, 207 where some were, 400 where none was. The bare list may be sent in place of the object.",
		body:  compat.DescribeBulkBookings,
		answers: []func(compat.View) response{
			func(compat.View) response { return response{http.StatusCreated, compat.Bulk(nil, nil)} },
			func(compat.View) response { return response{http.StatusMultiStatus, compat.Bulk(nil, nil)} },
			func(compat.View) response { return response{http.StatusBadRequest, compat.Bulk(nil, nil)} },
		},
	}
	bookingChange = operation{
		about: "Changes what is sent and nothing else. A new time, agent or service is checked as for a new booking.",
		body:  bodyOf(compat.BookingPatch),
		answers: answers200(func(v compat.View) compat.StatusSingle {
			return v.BookingUpdated(adapter.BookingDetail{}, compat.BookingTimes{})
		}),
		refuse: []error{errSlotTaken},
	}
	bookingDeletionOp = operation{
		about:   "Deletes a booking for good. One that is neither pending nor cancelled needs force.",
		query:   func(_ compat.View, q *compat.Query) { force(q) },
		answers: answers200(func(compat.View) compat.Done { return compat.BookingDeleted() }),
		refuse:  []error{errForceRequired},
	}

	customerListing = operation{
		about:   "Customers that match every parameter sent, a page of them, the latest first.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.CustomerFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.CustomerList(pageOf[adapter.Customer]()) }),
	}
	customerReading = operation{
		about: "A customer, with bookings where include asks for them.",
		query: func(v compat.View, q *compat.Query) { _, _ = v.CustomerIncludes(context.Background(), q, nil) },
		answers: answers200(func(v compat.View) compat.StatusSingle {
			return v.CustomerDetail(adapter.Customer{}, compat.CustomerIncludes{}, compat.CustomerBookings{})
		}),
	}
	customerMaking = operation{
		about:   "Creates a customer. No two have the same e-mail address.",
		body:    bodyOf(compat.NewCustomer),
		require: []string{"first_name", "last_name"},
		answers: answers201(func(v compat.View) compat.BothMessage { return v.CustomerCreated(adapter.Customer{}) }),
	}
	customerChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.CustomerPatch),
		answers: answers200(func(v compat.View) compat.SuccessMessage { return v.CustomerUpdated(adapter.Customer{}) }),
	}
	customerDeletionOp = operation{
		about:   "Deletes a customer who has no bookings.",
		answers: answers200(func(v compat.View) compat.SuccessMessage { return v.CustomerDeleted(0, time.Time{}) }),
		refuse:  []error{errHasBookings},
	}

	agentListing = operation{
		about:   "Agents that match every parameter sent, a page of them, with their services and locations.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.AgentFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.AgentList(pageOf[adapter.Agent]()) }),
	}
	agentReading = operation{
		about:   "An agent with their services and locations.",
		answers: answers200(func(v compat.View) compat.BothSingle { return v.AgentDetail(adapter.Agent{}) }),
	}
	freeAgentListing = operation{
		about:   "Agents who offer the service and, where date and start_time are sent, are free then.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.AgentSlotQuery(q) },
		answers: answers200(func(v compat.View) compat.BothSingle { return v.FreeAgents(adapter.AgentSlotQuery{}, nil) }),
	}

	serviceListing = operation{
		about: "Services that match every parameter sent, a page of them.",
		query: func(v compat.View, q *compat.Query) { _, _, _ = v.ServiceFilter(q) },
		answers: answers200(func(v compat.View) compat.ServiceList {
			return v.ServiceList(pageOf[adapter.Service](), compat.ServiceIncludes{}, nil)
		}),
	}
	categoryListing = operation{
		about:   "The categories of services, a page of them, in their order.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.CategoryPaging(q) },
		answers: answers200(func(v compat.View) compat.CategoryList { return v.CategoryList(pageOf[adapter.ServiceCategory]()) }),
	}
	serviceReading = operation{
		about:   "A service. Its numbers are texts.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.ServiceIncludes(q) },
		answers: answers200(func(v compat.View) compat.Single { return v.ServiceDetail(adapter.Service{}, compat.ServiceIncludes{}) }),
	}
	serviceMaking = operation{
		about:   "Creates a service.",
		body:    bodyOf(compat.ServicePatch),
		require: []string{"name"},
		answers: answers201(func(v compat.View) compat.SuccessMessage { return v.ServiceCreated(adapter.Service{}) }),
	}
	serviceChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.ServicePatch),
		answers: answers200(func(v compat.View) compat.SuccessMessage { return v.ServiceUpdated(adapter.Service{}) }),
	}

	locationListing = operation{
		about:   "Locations that match every parameter sent, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.LocationFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.LocationList(pageOf[adapter.Location]()) }),
	}

	availabilityReading = operation{
		about: "The starts at which a booking can be made on a day, or by day on several days where date_to is sent.",
		query: func(v compat.View, q *compat.Query) { _, _ = v.AvailabilityRequest(q) },
		answers: []func(compat.View) response{
			func(v compat.View) response { return slotsOf(v, compat.AvailabilityRequest{}) },
			func(v compat.View) response { return slotsOf(v, compat.AvailabilityRequest{ManyDays: true}) },
		},
	}

	paymentListing = operation{
		about:   "Payments that match every parameter sent, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.PaymentFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.PaymentList(pageOf[adapter.Payment]()) }),
	}
	paymentReading = operation{
		about:   "A payment.",
		answers: answers200(func(v compat.View) compat.Single { return v.PaymentDetail(adapter.Payment{}) }),
	}
	paymentMaking = operation{
		about:   "Records a payment of an order, named by order_id or by one of its bookings, and brings the order's payment status in step.",
		body:    bodyOf(compat.NewPayment),
		require: []string{"amount"},
		answers: answers201(func(v compat.View) compat.SuccessMessage { return v.PaymentCreated(adapter.Payment{}) }),
	}
	paymentChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.PaymentPatch),
		answers: answers200(func(v compat.View) compat.SuccessMessage { return v.PaymentUpdated(adapter.Payment{}) }),
	}
	paymentDeletionOp = operation{
		about:   "Deletes a payment that did not succeed.",
		answers: answers200(func(compat.View) compat.Done { return compat.PaymentDeleted() }),
		refuse:  []error{errPaymentCompleted},
	}

	orderListing = operation{
		about:   "Orders that match every parameter sent, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.OrderFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.OrderList(pageOf[adapter.Order]()) }),
	}
	orderReading = operation{
		about:   "An order with its items, without an envelope.",
		answers: answers200(func(v compat.View) compat.OrderDetail { return v.OrderDetail(adapter.Order{}, nil) }),
	}
	orderMaking = operation{
		about:   "Creates an order, without items.",
		body:    bodyOf(compat.OrderPatch),
		require: []string{"customer_id", "subtotal", "total"},
		answers: answers201(func(v compat.View) compat.WrittenOrder { return v.OrderWritten(adapter.Order{}) }),
	}
	orderChange = operation{
		about:   "Changes what is sent and nothing else. A new customer takes the order's bookings along.",
		body:    bodyOf(compat.OrderPatch),
		answers: answers200(func(v compat.View) compat.WrittenOrder { return v.OrderWritten(adapter.Order{}) }),
	}
	invoiceListing = operation{
		about:   "The invoices of an order, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.SubPaging(q) },
		answers: answers200(func(v compat.View) compat.List { return v.InvoiceList(pageOf[adapter.Invoice]()) }),
	}
	invoiceReading = operation{
		about:   "An invoice of an order.",
		answers: answers200(func(v compat.View) compat.BothSingle { return v.InvoiceDetail(adapter.Invoice{}) }),
	}
	invoiceChange = operation{
		about:   "Changes what is sent and nothing else. An invoice that payments do not cover becomes paid with force only.",
		query:   func(_ compat.View, q *compat.Query) { force(q) },
		body:    func(b *compat.Body) { _, _ = compat.InvoicePatch(b) },
		answers: answers200(func(v compat.View) compat.BothMessage { return v.InvoiceUpdated(adapter.Invoice{}) }),
	}
	transactionListing = operation{
		about:   "The payments of an order, a page of them.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.SubPaging(q) },
		answers: answers200(func(v compat.View) compat.List { return v.PaymentList(pageOf[adapter.Payment]()) }),
	}
	transactionReading = operation{
		about:   "A payment of an order.",
		answers: answers200(func(v compat.View) compat.BothSingle { return v.Transaction(adapter.Payment{}) }),
	}

	couponListing = operation{
		about:   "Coupons that match every parameter sent, a page of them. Sites without coupons have none.",
		query:   func(v compat.View, q *compat.Query) { _, _ = v.CouponFilter(q) },
		answers: answers200(func(v compat.View) compat.List { return v.CouponList(pageOf[adapter.Coupon](), adapter.Currency{}) }),
	}
	couponReading = operation{
		about:   "A coupon with the latest orders that carry it.",
		answers: answers200(func(v compat.View) compat.Single { return v.CouponDetail(adapter.Coupon{}, nil, adapter.Currency{}) }),
	}
	couponMaking = operation{
		about:   "Creates a coupon. Codes are kept in capitals.",
		body:    bodyOf(compat.NewCoupon),
		require: []string{"discount_type", "discount_value"},
		answers: answers201(func(v compat.View) compat.SuccessMessage { return v.CouponCreated(adapter.Coupon{}) }),
	}
	couponChange = operation{
		about:   "Changes what is sent and nothing else.",
		body:    bodyOf(compat.CouponPatch),
		answers: answers200(func(v compat.View) compat.SuccessMessage { return v.CouponUpdated(adapter.Coupon{}) }),
	}
	couponDeletionOp = operation{
		about:   "Deletes a coupon.",
		answers: answers200(func(compat.View) compat.Done { return compat.CouponDeleted() }),
	}
)

// slotsOf is an answer about free starts.
func slotsOf(v compat.View, asked compat.AvailabilityRequest) response {
	grid := adapter.SlotGrid{Days: []adapter.SlotDay{{}}}
	grid.Duration = &exampleMinutes
	return ok(v.Availability(asked, grid, ""))
}
