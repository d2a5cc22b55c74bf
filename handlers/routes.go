package handlers

import (
	"net/http"

	"bookside/compat"
)

// route is one line of the table from which the router, the permission check,
// the form of errors and the OpenAPI document are made.
type route struct {
	method     string
	path       string // below a base path
	permission string // "" for any valid key
	handle     func(*request) (response, error)
	errors     errorForm
	summary    string
	operation  operation // what else the document tells
}

// errorForm is how a route fails.
type errorForm struct {
	list    bool         // a list: a refused key is answered in shape A
	shape   compat.Shape // of everything that has no shape of its own
	failure string       // message of a failure of ours
	code    string       // of a failure of ours; "" for server_error
	refusal string       // code of what is wrong with fields, in shape A; "" for shape B
}

var (
	plain           = errorForm{failure: "Internal server error"}
	plainList       = errorForm{failure: "Internal server error", list: true}
	bookingCreation = errorForm{failure: "Failed to create booking"}
	bookingUpdate   = errorForm{failure: "Failed to update booking"}
	bookingDeletion = errorForm{failure: "Failed to delete booking", code: "delete_error"}

	customerCreation = errorForm{failure: "Failed to create customer"}
	customerUpdate   = errorForm{failure: "Error updating customer", shape: compat.ShapeA, refusal: "customer_update_failed"}
	customerDeletion = errorForm{failure: "Error deleting customer", shape: compat.ShapeA, code: "delete_error"}

	couponDeletion = errorForm{failure: "Failed to delete coupon", code: "delete_error"}

	payment         = errorForm{failure: "Failed to retrieve payment", shape: compat.ShapeC}
	paymentCreation = errorForm{failure: "Failed to create payment", shape: compat.ShapeC}
	paymentUpdate   = errorForm{failure: "Failed to update payment", shape: compat.ShapeC}
	paymentDeletion = errorForm{failure: "Failed to delete payment", shape: compat.ShapeC}
	paymentList     = errorForm{failure: "Failed to retrieve payments", shape: compat.ShapeC, list: true}
)

// routes is the whole API.
var routes = []route{
	{http.MethodGet, "/status", "", status, plain, "Time zone and present time of the site", statusRead},

	{http.MethodGet, "/bookings", "read_bookings", listBookings, plainList, "List bookings", bookingListing},
	{http.MethodGet, "/bookings/:id", "read_bookings", getBooking, plain, "Read a booking", bookingReading},
	{http.MethodPost, "/bookings", "write_bookings", createBooking, bookingCreation, "Create a booking", bookingMaking},
	{http.MethodPost, "/bookings/bulk", "write_bookings", createBookings, bookingCreation, "Create up to 50 bookings", bulkMaking},
	{http.MethodPut, "/bookings/:id", "write_bookings", updateBooking, bookingUpdate, "Change a booking", bookingChange},
	{http.MethodDelete, "/bookings/:id", "delete_bookings", deleteBooking, bookingDeletion, "Delete a booking", bookingDeletionOp},

	{http.MethodGet, "/customers", "read_customers", listCustomers, plainList, "List customers", customerListing},
	{http.MethodGet, "/customers/:id", "read_customers", getCustomer, plain, "Read a customer", customerReading},
	{http.MethodPost, "/customers", "write_customers", createCustomer, customerCreation, "Create a customer", customerMaking},
	{http.MethodPut, "/customers/:id", "write_customers", updateCustomer, customerUpdate, "Change a customer", customerChange},
	{http.MethodDelete, "/customers/:id", "delete_customers", deleteCustomer, customerDeletion, "Delete a customer", customerDeletionOp},

	{http.MethodGet, "/agents", "read_agents", listAgents, plainList, "List agents", agentListing},
	{http.MethodGet, "/agents/availability", "read_availability", listFreeAgents, plain, "Find the agents who are free", freeAgentListing},
	{http.MethodGet, "/agents/:id", "read_agents", getAgent, plain, "Read an agent", agentReading},

	{http.MethodGet, "/services", "read_services", listServices, plainList, "List services", serviceListing},
	{http.MethodGet, "/services/categories", "read_services", listCategories, plainList, "List service categories", categoryListing},
	{http.MethodGet, "/services/:id", "read_services", getService, plain, "Read a service", serviceReading},
	{http.MethodPost, "/services", "write_services", createService, plain, "Create a service", serviceMaking},
	{http.MethodPut, "/services/:id", "write_services", updateService, plain, "Change a service", serviceChange},

	{http.MethodGet, "/locations", "read_locations", listLocations, plainList, "List locations", locationListing},

	{http.MethodGet, "/availability", "read_availability", getAvailability, plain, "Find the free start times of a day", availabilityReading},

	{http.MethodGet, "/payments", "read_payments", listPayments, paymentList, "List payments", paymentListing},
	{http.MethodGet, "/payments/:id", "read_payments", getPayment, payment, "Read a payment", paymentReading},
	{http.MethodPost, "/payments", "write_payments", createPayment, paymentCreation, "Record a payment", paymentMaking},
	{http.MethodPut, "/payments/:id", "write_payments", updatePayment, paymentUpdate, "Change a payment", paymentChange},
	{http.MethodDelete, "/payments/:id", "delete_payments", deletePayment, paymentDeletion, "Delete a payment that did not succeed", paymentDeletionOp},

	{http.MethodGet, "/orders", "read_orders", listOrders, plainList, "List orders", orderListing},
	{http.MethodGet, "/orders/:id", "read_orders", getOrder, plain, "Read an order", orderReading},
	{http.MethodPost, "/orders", "write_orders", createOrder, plain, "Create an order", orderMaking},
	{http.MethodPut, "/orders/:id", "write_orders", updateOrder, plain, "Change an order", orderChange},
	{http.MethodGet, "/orders/:id/invoices", "read_orders", listInvoices, plainList, "List the invoices of an order", invoiceListing},
	{http.MethodGet, "/orders/:id/invoices/:invoice_id", "read_orders", getInvoice, plain, "Read an invoice of an order", invoiceReading},
	{http.MethodPut, "/orders/:id/invoices/:invoice_id", "write_orders", updateInvoice, plain, "Change an invoice of an order", invoiceChange},
	{http.MethodGet, "/orders/:id/transactions", "read_orders", listTransactions, plainList, "List the transactions of an order", transactionListing},
	{http.MethodGet, "/orders/:id/transactions/:transaction_id", "read_orders", getTransaction, plain, "Read a transaction of an order", transactionReading},

	{http.MethodGet, "/coupons", "read_coupons", listCoupons, plainList, "List coupons", couponListing},
	{http.MethodGet, "/coupons/:code", "read_coupons", getCoupon, plain, "Read a coupon", couponReading},
	{http.MethodPost, "/coupons", "write_coupons", createCoupon, plain, "Create a coupon", couponMaking},
	{http.MethodPut, "/coupons/:code", "write_coupons", updateCoupon, plain, "Change a coupon", couponChange},
	{http.MethodDelete, "/coupons/:code", "delete_coupons", deleteCoupon, couponDeletion, "Delete a coupon", couponDeletionOp},
}
