package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
)

// request is a request that succeeds.
type request struct {
	method, path, query, body, contentType string
	header                                 http.Header
}

// everyOperation has a site, and a request of each operation that succeeds there.
type everyOperation struct {
	t       *testing.T
	server  *server
	valid   map[string]request // by operation, where the path alone does not do
	created *int               // number of records that requests were made for
}

func newEveryOperation(t *testing.T) *everyOperation {
	t.Helper()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.SiteA().WithProFeatures().WithFewBookings())
	p := &everyOperation{t: t, server: newServer(t, database), created: new(int)}
	arrangeCustomers(t, database)
	database.Execute(t, fillLocks,
		"INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status) VALUES (8004, 'u8004', 'No', 'Bookings', 'none@example.test', '', 'active')",
		"UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 11", "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 12",
		"UPDATE wp_latepoint_bookings SET status = 'payment_pending' WHERE id = 13",
		"UPDATE wp_latepoint_transactions SET status = 'failed' WHERE id = 7", "UPDATE wp_latepoint_transactions SET status = 'succeeded' WHERE id = 8")
	p.server.write(http.MethodPost, "/coupons", `{"code":"OLD","discount_type":"percent","discount_value":5}`).want(http.StatusCreated)
	var order, transaction int
	if err := database.SQL.QueryRowContext(t.Context(), "SELECT order_id, id FROM wp_latepoint_transactions WHERE order_id > 0 LIMIT 1").Scan(&order, &transaction); err != nil {
		t.Fatal(err)
	}
	timeOff := fmt.Sprint("/time-off/", p.server.write(http.MethodPost, "/time-off", `{"agent_id":1,"date":"2027-03-08","date_to":"2027-03-09"}`).want(http.StatusCreated).at("data", "id"))
	p.valid = map[string]request{
		"getBooking":          {path: "/bookings/7"},
		"createBooking":       {path: "/bookings", body: friday("start_date", `"FRIDAY"`)},
		"createBookings":      {path: "/bookings/bulk", body: `{"bookings":[` + friday("start_date", `"FRIDAY"`) + `]}`},
		"updateBooking":       {path: "/bookings/7", body: `{"notes":"other"}`},
		"approveBooking":      {path: "/bookings/7/approve", body: `{}`},
		"declineBooking":      {path: "/bookings/12/decline", body: `{}`},
		"cancelBooking":       {path: "/bookings/12/cancel", body: `{}`},
		"deleteBooking":       {path: "/bookings/8", query: "force=true"},
		"updateBusinessHours": {path: "/business-hours", body: `{"hours":{"monday":[{"start_time":"07:15","end_time":"12:00"}]}}`},
		"getTimeOff":          {path: timeOff},
		"createTimeOff":       {path: "/time-off", body: `{"date":"FRIDAY"}`},
		"deleteTimeOff":       {path: timeOff},
		"createHold":          {path: "/holds", body: friday("start_date", `"FRIDAY"`)},
		"getHold":             {path: "/holds/1"},
		"deleteHold":          {path: "/holds/1"},
		"getCustomer":         {path: "/customers/9"},
		"createCustomer":      {path: "/customers", body: `{"first_name":"New","last_name":"One","email":"new.NUMBER@example.test"}`},
		"updateCustomer":      {path: "/customers/9", body: `{"notes":"other"}`},
		"deleteCustomer":      {path: "/customers/8004"},
		"getAgent":            {path: "/agents/5"},
		"getService":          {path: "/services/4"},
		"createService":       {path: "/services", body: `{"name":"New"}`},
		"updateService":       {path: "/services/4", body: `{"short_description":"other"}`},
		"getAvailability":     {path: "/availability", query: "service_id=4&agent_id=5&date=2027-02-05"},
		"getPayment":          {path: "/payments/7"},
		"createPayment":       {path: "/payments", body: `{"order_id":1403,"amount":1}`},
		"updatePayment":       {path: "/payments/7", body: `{"notes":"other"}`},
		"deletePayment":       {path: "/payments/7"},
		"getOrder":            {path: "/orders/10"},
		"createOrder":         {path: "/orders", body: `{"customer_id":9,"subtotal":1,"total":1}`},
		"updateOrder":         {path: "/orders/10", body: `{"notes":"other"}`},
		"listInvoices":        {path: "/orders/10/invoices"},
		"getInvoice":          {path: "/orders/10/invoices/10"},
		"updateInvoice":       {path: "/orders/10/invoices/10", query: "force=true", body: `{"charge_amount":5}`},
		"listTransactions": {
			path: fmt.Sprintf("/orders/%d/transactions", order)},
		"getTransaction": {path: fmt.Sprintf("/orders/%d/transactions/%d", order, transaction)},
		"getCoupon":      {path: "/coupons/OLD"},
		"createCoupon":   {path: "/coupons", body: `{"code":"NEWNUMBER","discount_type":"percent","discount_value":5}`},
		"updateCoupon":   {path: "/coupons/OLD", body: `{"name":"other"}`},
		"deleteCoupon":   {path: "/coupons/OLD"},

		"createWebhook":         {path: "/webhooks", body: `{"url":"https://example.test/","events":["*"]}`},
		"getWebhook":            {path: "/webhooks/1"},
		"updateWebhook":         {path: "/webhooks/1", body: `{"name":"other"}`},
		"deleteWebhook":         {path: "/webhooks/1"},
		"listWebhookDeliveries": {path: "/webhooks/1/deliveries"},
		"testWebhook":           {path: "/webhooks/1/test"},
		"rotateWebhook":         {path: "/webhooks/1/rotate", body: `{}`},
		"replayWebhook":         {path: "/webhooks/1/replay", body: `{"since":"2026-11-20T00:00:00Z"}`},
	}
	p.valid["getAgentCalendar"] = p.server.calendar(keys.Full, domain.AgentResource, 5)
	p.valid["getLocationCalendar"] = p.server.calendar(keys.Busy, domain.LocationResource, 1)
	p.server.write(http.MethodPost, "/webhooks", `{"url":"https://example.test/","events":["*"]}`).want(http.StatusCreated)
	p.server.keepSlot(t, holdBody("hold_minutes", `30`))
	return p
}

// each calls a test with a valid request of each operation that has a method.
func (p *everyOperation) each(t *testing.T, method string, test func(t *testing.T, p *everyOperation, id string, r request)) {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for path, item := range c.document.Paths.Map() {
		operation := item.GetOperation(method)
		if operation == nil {
			continue
		}
		tested++
		t.Run(operation.OperationID, func(t *testing.T) {
			server := *p.server
			server.t = t
			at := &everyOperation{t, &server, p.valid, p.created}
			test(t, at, operation.OperationID, at.request(operation.OperationID, method, path))
		})
	}
	if tested == 0 {
		t.Errorf("no operation with %s", method)
	}
}

// request returns a request for an operation that succeeds.
func (p *everyOperation) request(operation, method, path string) request {
	p.t.Helper()
	r := p.valid[operation]
	if r.path == "" && strings.Contains(path, "{") {
		p.t.Fatalf("no request of %s is known", operation)
	}
	if r.path == "" {
		r.path = path
	}
	r.method, r.contentType, r.header = method, jsonType, http.Header{}
	if method == http.MethodPost { // no two requests create the same record
		*p.created++
		friday := time.Date(2027, 2, 12+7**p.created, 0, 0, 0, 0, time.UTC)
		r.body = strings.NewReplacer("FRIDAY", friday.Format(time.DateOnly), "NUMBER", strconv.Itoa(*p.created)).Replace(r.body)
	}
	return r
}

func (p *everyOperation) send(r request) answer {
	p.t.Helper()
	header := http.Header{"X-Api-Key": {p.server.key}}
	if r.body != "" {
		header.Set("Content-Type", r.contentType)
	}
	maps.Copy(header, r.header)
	return p.server.send(r.method, "/v1"+r.path+"?"+r.query, header, r.body)
}
