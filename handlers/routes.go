package handlers

import (
	"net/http"

	"bookside/compat"
)

// route is one line of the table from which the router, the permission check
// and the form of errors are made.
type route struct {
	method     string
	path       string // below a base path
	permission string // "" for any valid key
	handle     func(*request) (response, error)
	errors     errorForm
	summary    string
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

	payment         = errorForm{failure: "Failed to retrieve payment", shape: compat.ShapeC}
	paymentCreation = errorForm{failure: "Failed to create payment", shape: compat.ShapeC}
	paymentUpdate   = errorForm{failure: "Failed to update payment", shape: compat.ShapeC}
	paymentDeletion = errorForm{failure: "Failed to delete payment", shape: compat.ShapeC}
	paymentList     = errorForm{failure: "Failed to retrieve payments", shape: compat.ShapeC, list: true}
)

// routes is the whole API.
var routes = []route{
	{http.MethodGet, "/status", "", status, plain, "Time zone and present time of the site"},

	{http.MethodGet, "/bookings", "read_bookings", listBookings, plainList, "List bookings"},
	{http.MethodGet, "/bookings/:id", "read_bookings", getBooking, plain, "Read a booking"},
	{http.MethodPost, "/bookings", "write_bookings", createBooking, bookingCreation, "Create a booking"},
	{http.MethodPost, "/bookings/bulk", "write_bookings", createBookings, bookingCreation, "Create up to 50 bookings"},
	{http.MethodPut, "/bookings/:id", "write_bookings", updateBooking, bookingUpdate, "Change a booking"},
	{http.MethodDelete, "/bookings/:id", "delete_bookings", deleteBooking, bookingDeletion, "Delete a booking"},

	{http.MethodGet, "/customers", "read_customers", listCustomers, plainList, "List customers"},
	{http.MethodGet, "/customers/:id", "read_customers", getCustomer, plain, "Read a customer"},
	{http.MethodPost, "/customers", "write_customers", createCustomer, customerCreation, "Create a customer"},
	{http.MethodPut, "/customers/:id", "write_customers", updateCustomer, customerUpdate, "Change a customer"},
	{http.MethodDelete, "/customers/:id", "delete_customers", deleteCustomer, customerDeletion, "Delete a customer"},

	{http.MethodGet, "/agents", "read_agents", listAgents, plainList, "List agents"},
	{http.MethodGet, "/agents/availability", "read_availability", listFreeAgents, plain, "Find the agents who are free"},
	{http.MethodGet, "/agents/:id", "read_agents", getAgent, plain, "Read an agent"},

	{http.MethodGet, "/services", "read_services", listServices, plainList, "List services"},
	{http.MethodGet, "/services/categories", "read_services", listCategories, plainList, "List service categories"},
	{http.MethodGet, "/services/:id", "read_services", getService, plain, "Read a service"},
	{http.MethodPost, "/services", "write_services", createService, plain, "Create a service"},
	{http.MethodPut, "/services/:id", "write_services", updateService, plain, "Change a service"},

	{http.MethodGet, "/locations", "read_locations", listLocations, plainList, "List locations"},

	{http.MethodGet, "/availability", "read_availability", getAvailability, plain, "Find the free start times of a day"},

	{http.MethodGet, "/payments", "read_payments", listPayments, paymentList, "List payments"},
	{http.MethodGet, "/payments/:id", "read_payments", getPayment, payment, "Read a payment"},
	{http.MethodPost, "/payments", "write_payments", createPayment, paymentCreation, "Record a payment"},
	{http.MethodPut, "/payments/:id", "write_payments", updatePayment, paymentUpdate, "Change a payment"},
	{http.MethodDelete, "/payments/:id", "delete_payments", deletePayment, paymentDeletion, "Delete a payment that did not succeed"},

	{http.MethodGet, "/orders", "read_orders", listOrders, plainList, "List orders"},
	{http.MethodGet, "/orders/:id", "read_orders", getOrder, plain, "Read an order"},
	{http.MethodPost, "/orders", "write_orders", createOrder, plain, "Create an order"},
	{http.MethodPut, "/orders/:id", "write_orders", updateOrder, plain, "Change an order"},
	{http.MethodGet, "/orders/:id/invoices", "read_orders", listInvoices, plainList, "List the invoices of an order"},
	{http.MethodGet, "/orders/:id/invoices/:invoice_id", "read_orders", getInvoice, plain, "Read an invoice of an order"},
	{http.MethodPut, "/orders/:id/invoices/:invoice_id", "write_orders", updateInvoice, plain, "Change an invoice of an order"},
	{http.MethodGet, "/orders/:id/transactions", "read_orders", listTransactions, plainList, "List the transactions of an order"},
	{http.MethodGet, "/orders/:id/transactions/:transaction_id", "read_orders", getTransaction, plain, "Read a transaction of an order"},

	{http.MethodGet, "/coupons", "read_coupons", listCoupons, plainList, "List coupons"},
	{http.MethodGet, "/coupons/:code", "read_coupons", getCoupon, plain, "Read a coupon"},
	{http.MethodPost, "/coupons", "write_coupons", createCoupon, plain, "Create a coupon"},
	{http.MethodPut, "/coupons/:code", "write_coupons", updateCoupon, plain, "Change a coupon"},
	{http.MethodDelete, "/coupons/:code", "delete_coupons", deleteCoupon, plain, "Delete a coupon"},
}

// RouteInfo is what the outside may know of a route.
type RouteInfo struct {
	Method, Path, Permission, Summary string
	List                              bool
}

// Routes are the routes of the API, in the order of the table. Paths stand
// below a base path and name their parameters with a colon.
func Routes() []RouteInfo {
	infos := make([]RouteInfo, len(routes))
	for i, r := range routes {
		infos[i] = RouteInfo{Method: r.method, Path: r.path, Permission: r.permission, Summary: r.summary, List: r.errors.list}
	}
	return infos
}
