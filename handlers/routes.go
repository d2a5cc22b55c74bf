package handlers

import (
	"net/http"

	"github.com/bookside/bookside/compat"
)

// route says where an operation is served and which permission it needs.
// Router, permission check, rate limit, method matrix and OpenAPI document are
// all generated from the table of routes.
type route struct {
	tag        string // the resource that the document lists it under
	method     string
	path       string // below a base path
	permission string // "" for any valid key
	operation  operation
	traits     traits
	cost       func(*compat.Query) int64 // of a request, in requests; nil for one
}

// traits are what holds for few routes.
type traits uint

const (
	untagged      traits = 1 << iota // a response is outdated when it arrives, and has no tag
	ofCalendar                       // opened by the secret of the calendar of its path, and not by an API key
	strict                           // an unknown field is a mistake: a body without an id is for all
	changesRecord                    // a POST to a path below that of the record that it changes
	decided                          // a write that the site's extensions may decide about, see session.CheckExtensions
	warns                            // its response may have a Warning, as that of decided writes
	unrepeatable                     // a write without support for Idempotency-Key, because its response must not be stored
)

// is reports whether a route has any of some traits.
func (r *route) is(any traits) bool { return r.traits&any != 0 }

// routes is the whole API. An operation is in its resource's file.
var routes = []route{
	{tag: "status", method: http.MethodGet, path: "/status", operation: status, traits: untagged},
	{tag: "status", method: http.MethodGet, path: "/site", operation: site},

	{tag: "bookings", method: http.MethodGet, path: "/bookings", permission: "read_bookings", operation: listBookings},
	{tag: "bookings", method: http.MethodGet, path: "/bookings/:id", permission: "read_bookings", operation: getBooking},
	{tag: "bookings", method: http.MethodPost, path: "/bookings", permission: "write_bookings", operation: createBooking, traits: decided},
	{tag: "bookings", method: http.MethodPost, path: "/bookings/bulk", permission: "write_bookings", operation: createBookings, traits: decided},
	{tag: "bookings", method: http.MethodPut, path: "/bookings/:id", permission: "write_bookings", operation: updateBooking, traits: decided},
	{tag: "bookings", method: http.MethodPost, path: "/bookings/:id/approve", permission: "write_bookings", operation: approveBooking, traits: decided | changesRecord},
	{tag: "bookings", method: http.MethodPost, path: "/bookings/:id/decline", permission: "write_bookings", operation: declineBooking, traits: decided | changesRecord},
	{tag: "bookings", method: http.MethodPost, path: "/bookings/:id/cancel", permission: "write_bookings", operation: cancelBooking, traits: decided | changesRecord},
	{tag: "bookings", method: http.MethodDelete, path: "/bookings/:id", permission: "delete_bookings", operation: deleteBooking},

	{tag: "holds", method: http.MethodPost, path: "/holds", permission: "write_bookings", operation: createHold, traits: decided},
	{tag: "holds", method: http.MethodGet, path: "/holds/:id", permission: "write_bookings", operation: getHold},
	{tag: "holds", method: http.MethodDelete, path: "/holds/:id", permission: "write_bookings", operation: deleteHold},

	{tag: "customers", method: http.MethodGet, path: "/customers", permission: "read_customers", operation: listCustomers},
	{tag: "customers", method: http.MethodGet, path: "/customers/:id", permission: "read_customers", operation: getCustomer},
	{tag: "customers", method: http.MethodPost, path: "/customers", permission: "write_customers", operation: createCustomer},
	{tag: "customers", method: http.MethodPut, path: "/customers/:id", permission: "write_customers", operation: updateCustomer},
	{tag: "customers", method: http.MethodDelete, path: "/customers/:id", permission: "delete_customers", operation: deleteCustomer},

	{tag: "agents", method: http.MethodGet, path: "/agents", permission: "read_agents", operation: listAgents},
	{tag: "agents", method: http.MethodGet, path: "/agents/availability", permission: "read_availability", operation: listFreeAgents, traits: warns},
	{tag: "agents", method: http.MethodGet, path: "/agents/:id", permission: "read_agents", operation: getAgent},

	{tag: "services", method: http.MethodGet, path: "/services", permission: "read_services", operation: listServices},
	{tag: "services", method: http.MethodGet, path: "/services/categories", permission: "read_services", operation: listCategories},
	{tag: "services", method: http.MethodGet, path: "/services/:id", permission: "read_services", operation: getService},
	{tag: "services", method: http.MethodPost, path: "/services", permission: "write_services", operation: createService},
	{tag: "services", method: http.MethodPut, path: "/services/:id", permission: "write_services", operation: updateService},

	{tag: "locations", method: http.MethodGet, path: "/locations", permission: "read_locations", operation: listLocations},

	{tag: "calendars", method: http.MethodGet, path: "/agents/:id/calendar.ics", operation: getAgentCalendar, traits: ofCalendar},
	{tag: "calendars", method: http.MethodGet, path: "/locations/:id/calendar.ics", operation: getLocationCalendar, traits: ofCalendar},

	{tag: "availability", method: http.MethodGet, path: "/availability", permission: "read_availability", operation: getAvailability, traits: warns, cost: compat.AvailabilityCost},

	{tag: "business-hours", method: http.MethodGet, path: "/business-hours", permission: "read_availability", operation: getBusinessHours},
	{tag: "business-hours", method: http.MethodPut, path: "/business-hours", permission: "write_availability", operation: updateBusinessHours, traits: strict},

	{tag: "time-off", method: http.MethodGet, path: "/time-off", permission: "read_availability", operation: listTimeOff},
	{tag: "time-off", method: http.MethodGet, path: "/time-off/:id", permission: "read_availability", operation: getTimeOff},
	{tag: "time-off", method: http.MethodPost, path: "/time-off", permission: "write_availability", operation: createTimeOff, traits: strict | warns},
	{tag: "time-off", method: http.MethodDelete, path: "/time-off/:id", permission: "delete_availability", operation: deleteTimeOff},

	{tag: "payments", method: http.MethodGet, path: "/payments", permission: "read_payments", operation: listPayments},
	{tag: "payments", method: http.MethodGet, path: "/payments/:id", permission: "read_payments", operation: getPayment},
	{tag: "payments", method: http.MethodPost, path: "/payments", permission: "write_payments", operation: createPayment},
	{tag: "payments", method: http.MethodPut, path: "/payments/:id", permission: "write_payments", operation: updatePayment},
	{tag: "payments", method: http.MethodDelete, path: "/payments/:id", permission: "delete_payments", operation: deletePayment},

	{tag: "orders", method: http.MethodGet, path: "/orders", permission: "read_orders", operation: listOrders},
	{tag: "orders", method: http.MethodGet, path: "/orders/:id", permission: "read_orders", operation: getOrder},
	{tag: "orders", method: http.MethodPost, path: "/orders", permission: "write_orders", operation: createOrder, traits: decided},
	{tag: "orders", method: http.MethodPut, path: "/orders/:id", permission: "write_orders", operation: updateOrder, traits: decided},
	{tag: "orders", method: http.MethodGet, path: "/orders/:id/invoices", permission: "read_orders", operation: listInvoices},
	{tag: "orders", method: http.MethodGet, path: "/orders/:id/invoices/:invoice_id", permission: "read_orders", operation: getInvoice},
	{tag: "orders", method: http.MethodPut, path: "/orders/:id/invoices/:invoice_id", permission: "write_orders", operation: updateInvoice},
	{tag: "orders", method: http.MethodGet, path: "/orders/:id/transactions", permission: "read_orders", operation: listTransactions},
	{tag: "orders", method: http.MethodGet, path: "/orders/:id/transactions/:transaction_id", permission: "read_orders", operation: getTransaction},

	{tag: "changes", method: http.MethodGet, path: "/changes", permission: "read_changes", operation: listChanges},

	{tag: "coupons", method: http.MethodGet, path: "/coupons", permission: "read_coupons", operation: listCoupons},
	{tag: "coupons", method: http.MethodGet, path: "/coupons/:code", permission: "read_coupons", operation: getCoupon},
	{tag: "coupons", method: http.MethodPost, path: "/coupons", permission: "write_coupons", operation: createCoupon},
	{tag: "coupons", method: http.MethodPut, path: "/coupons/:code", permission: "write_coupons", operation: updateCoupon},
	{tag: "coupons", method: http.MethodDelete, path: "/coupons/:code", permission: "delete_coupons", operation: deleteCoupon},

	{tag: "webhooks", method: http.MethodGet, path: "/webhooks", permission: "write_webhooks", operation: listWebhooks},
	{tag: "webhooks", method: http.MethodPost, path: "/webhooks", permission: "write_webhooks", operation: createWebhook, traits: unrepeatable},
	{tag: "webhooks", method: http.MethodGet, path: "/webhooks/:id", permission: "write_webhooks", operation: getWebhook},
	{tag: "webhooks", method: http.MethodPut, path: "/webhooks/:id", permission: "write_webhooks", operation: updateWebhook, traits: unrepeatable},
	{tag: "webhooks", method: http.MethodDelete, path: "/webhooks/:id", permission: "write_webhooks", operation: deleteWebhook, traits: unrepeatable},
	{tag: "webhooks", method: http.MethodGet, path: "/webhooks/:id/deliveries", permission: "write_webhooks", operation: listWebhookDeliveries},
	{tag: "webhooks", method: http.MethodPost, path: "/webhooks/:id/test", permission: "write_webhooks", operation: testWebhook, traits: unrepeatable},
	{tag: "webhooks", method: http.MethodPost, path: "/webhooks/:id/rotate", permission: "write_webhooks", operation: rotateWebhook, traits: unrepeatable},
	{tag: "webhooks", method: http.MethodPost, path: "/webhooks/:id/replay", permission: "write_webhooks", operation: replayWebhook, traits: unrepeatable},
}

// Reads returns the path of every GET, below a base path, such as /bookings/{id}.
func Reads() []string {
	var paths []string
	for _, r := range routes {
		if r.method == http.MethodGet {
			paths = append(paths, placeholders.ReplaceAllString(r.path, "{$1}"))
		}
	}
	return paths
}
