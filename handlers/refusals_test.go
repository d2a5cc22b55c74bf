package handlers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// TestDocumentedErrorsAreReal provokes each error that the document shows for an operation, and compares
// status, code, message and form of the body with the example. All operations fail in the same ways, except
// for a few special cases.
func TestDocumentedErrorsAreReal(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	p := newProvoker(t)
	compared := 0
	for path, item := range c.document.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				number, err := strconv.Atoi(status)
				if err != nil {
					t.Fatal(err)
				}
				if number < http.StatusBadRequest {
					continue
				}
				for name, example := range response.Value.Content["application/json"].Examples {
					if name == "answer" { // not an error: the response to a bulk request that created nothing
						continue
					}
					compared++
					t.Run(fmt.Sprintf("%s/%d/%s", operation.OperationID, number, name), func(t *testing.T) {
						p.at(t).compare(documentedError{method, path, operation, number, example.Value.Value})
					})
				}
			}
		}
	}
	if compared < 380 {
		t.Errorf("only %d errors", compared)
	}
}

// documentedError is an example of an error in the document.
type documentedError struct {
	method, path string
	operation    *openapi3.Operation
	status       int
	example      any
}

// member returns a member of the example, or "".
func (d documentedError) member(path ...string) string {
	value := d.example
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func (d documentedError) code() string {
	if code := d.member("code"); code != "" {
		return code
	}
	return d.member("error", "code")
}

func (d documentedError) message() string {
	for _, path := range [][]string{{"message"}, {"error", "message"}} {
		if message := d.member(path...); message != "" {
			return message
		}
	}
	return d.member("error")
}

// details returns the messages by field, or whatever else the error reports.
func (d documentedError) details() map[string]any {
	for _, path := range [][]string{{"data", "details"}, {"error", "details"}} {
		value := d.example
		for _, name := range path {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if details, ok := value.(map[string]any); ok {
			return details
		}
	}
	return nil
}

// request is a request that succeeds unless something in it is made invalid.
type request struct {
	method, path, query, body, contentType string
	header                                 http.Header
}

// provoker has a site and several servers on it, each of which fails in one way.
type provoker struct {
	t       *testing.T
	server  *server
	limited *server                // whose key has no requests left
	failing *server                // whose statements fail
	fails   *func(statement) error // decides how they fail
	cut     *server                // whose connection is cut
	proxy   *fixtures.FaultProxy
	valid   map[string]request // by operation
	created *int               // number of records that requests were made for
	typed   bool               // requests ask for the form for generated clients
}

func newProvoker(t *testing.T) *provoker {
	t.Helper()
	fixtures.RequireServer(t)
	database := fixtures.New(t, fixtures.SiteA().WithProFeatures().WithFewBookings())
	p := &provoker{t: t, server: newServer(t, database), fails: new(func(statement) error), created: new(int)}
	p.limited = newServer(t, database, func(o *handlers.Options) {
		o.RateLimit.Enabled, o.RateLimit.Live = true, ratelimit.Limits{PerMinute: 1, PerHour: 1}
	})
	p.limited.get("/status").want(http.StatusOK)
	*p.fails = func(statement) error { return nil }
	p.failing = tappedServer(t, database, func(shown statement) error { return (*p.fails)(shown) })
	direct := *database
	direct.DSN, p.proxy = fixtures.NewFaultProxy(t, database.DSN)
	p.cut = newServer(t, &direct)
	p.cut.get("/status").want(http.StatusOK)
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
	p.failing.key, p.cut.key = p.server.key, p.server.key // a webhook belongs to its key
	return p
}

// at returns the provoker of a subtest.
func (p *provoker) at(t *testing.T) *provoker {
	of := *p
	of.t = t
	for _, s := range []**server{&of.server, &of.limited, &of.failing, &of.cut} {
		own := **s
		own.t = t
		*s = &own
	}
	return &of
}

// request returns a request for the operation that succeeds.
func (p *provoker) request(d documentedError) request {
	p.t.Helper()
	r := p.valid[d.operation.OperationID]
	if r.path == "" && strings.Contains(d.path, "{") {
		p.t.Fatalf("no request of %s is known", d.operation.OperationID)
	}
	if r.path == "" {
		r.path = d.path
	}
	r.method, r.contentType, r.header = d.method, jsonType, http.Header{}
	if d.method == http.MethodPost { // no two requests create the same record
		*p.created++
		friday := time.Date(2027, 2, 12+7**p.created, 0, 0, 0, 0, time.UTC)
		r.body = strings.NewReplacer("FRIDAY", friday.Format(time.DateOnly), "NUMBER", strconv.Itoa(*p.created)).Replace(r.body)
	}
	return r
}

func (p *provoker) send(s *server, r request) answer {
	p.t.Helper()
	header := http.Header{"X-Api-Key": {s.key}}
	if r.body != "" {
		header.Set("Content-Type", r.contentType)
	}
	maps.Copy(header, r.header)
	if p.typed {
		header.Set("X-Ids", "integer")
	}
	return s.send(r.method, "/v1"+r.path+"?"+r.query, header, r.body)
}

func (p *provoker) compare(d documentedError) {
	p.t.Helper()
	a, substitutes := p.provoke(d)
	text := strings.NewReplacer(substitutes...).Replace(string(a.body))
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		p.t.Fatalf("%q: %v", a.body, err)
	}
	example, err := json.Marshal(d.example)
	if err != nil {
		p.t.Fatal(err)
	}
	var want any // numbers as in got
	if err := json.Unmarshal(example, &want); err != nil {
		p.t.Fatal(err)
	}
	if a.status != d.status || !alike("", want, got) {
		p.t.Errorf("documented: %d %s\nanswer:     %d %s", d.status, example, a.status, a.body)
	}
}

// varying are the members whose value differs between requests.
var varying = []string{"request_id", "requested_time", "agent_id", "conflicting_booking_id", "available_slots", "booking_count", "payment_count", "etag", "record"}

// alike compares JSON values, but only the types of varying members.
func alike(name string, want, got any) bool {
	if slices.Contains(varying, name) {
		return reflect.TypeOf(want) == reflect.TypeOf(got)
	}
	wanted, object := want.(map[string]any)
	if !object {
		return reflect.DeepEqual(want, got)
	}
	found, _ := got.(map[string]any)
	if !slices.Equal(slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(found))) {
		return false
	}
	for name := range wanted {
		if !alike(name, wanted[name], found[name]) {
			return false
		}
	}
	return true
}

// provoke makes the operation fail as documented. substitutes are pairs of texts: one in the response, and
// its counterpart in the example.
func (p *provoker) provoke(d documentedError) (a answer, substitutes []string) {
	p.t.Helper()
	r := p.request(d)
	calendar := strings.HasSuffix(d.path, ".ics")
	switch {
	case calendar && d.status == http.StatusUnauthorized:
		r.query = "api_key=lp_calendar_wrong"
		return p.send(p.server, r), nil
	case calendar && d.status == http.StatusTooManyRequests:
		p.send(p.limited, r)
		return p.send(p.limited, r), nil
	case calendar && d.status == http.StatusNotFound:
		of := domain.Resource(strings.TrimSuffix(d.code(), "_not_found"))
		gone := p.server.calendar(keys.Busy, of, 8000000)
		gone.method, gone.header = r.method, r.header
		return p.send(p.server, gone), []string{"8000000", "1"}
	case d.status == http.StatusUnauthorized:
		r.header.Set("X-Api-Key", "lp_wrong")
		return p.send(p.server, r), nil
	case d.code() == "personal_data_masked":
		return p.masked(d, r), nil
	case d.code() == "outside_key_limits":
		return p.outsideScope(d, r)
	case d.code() == "time_off_exists":
		r.body = `{"agent_id":1,"date":"2027-03-08","date_to":"2027-03-09"}`
		id := strings.TrimPrefix(p.valid["getTimeOff"].path, "/time-off/")
		return p.send(p.server, r), []string{"ID " + id, "ID 206", `_id":` + id, `_id":206`}
	case d.code() == "too_many_holds":
		return p.tooManyHolds(r), nil
	case d.status == http.StatusTooManyRequests:
		return p.send(p.limited, r), nil
	case d.status == http.StatusInternalServerError:
		return p.failWith(9999, r), nil
	case d.status == http.StatusServiceUnavailable && d.member("data", "written") == "unknown":
		p.proxy.Arm(fixtures.Fault{On: "\x03COMMIT", Lost: true})
		return p.send(p.cut, r), nil
	case d.status == http.StatusServiceUnavailable:
		return p.failWith(1040, r), nil
	case d.status == http.StatusForbidden:
		return p.forbid(d, r), nil
	case d.status == http.StatusPreconditionFailed:
		return p.outdated(r), nil
	case d.status == http.StatusNotFound:
		return p.notFound(d, r)
	case d.status == http.StatusHTTPVersionNotSupported:
		r.query = "per_page=501"
		r.header.Set("Accept", "text/csv")
		r.header.Set("X-Bookside-Forwarded", "1")
		return p.send(p.server, r), nil
	case d.status == http.StatusRequestEntityTooLarge:
		r.body = strings.Repeat(" ", 1<<20) + r.body
		return p.send(p.server, r), nil
	case d.code() == "idempotency_in_progress":
		return p.inProgress(p.named(r)), nil
	case d.code() == "idempotency_key_reused":
		r = p.named(r)
		if first := p.send(p.server, r); first.status >= http.StatusMultipleChoices {
			p.t.Fatalf("%d %s", first.status, first.body)
		}
		r.query += "&unknown=1"
		return p.send(p.server, r), nil
	case d.code() == "rest_invalid_json":
		r.query += strings.Repeat("&a=1", 1001)
		if strings.Contains(d.message(), "body") {
			r.query, r.body = "", "{"
		}
		return p.send(p.server, r), nil
	default:
		return p.special(d, r), nil
	}
}

// special provokes errors that few operations have, and those about parameters
// and fields.
func (p *provoker) special(d documentedError, r request) answer {
	p.t.Helper()
	if _, named := d.details()["Idempotency-Key"]; named {
		r.header.Set("Idempotency-Key", "x")
		return p.send(p.server, r)
	}
	if _, mistyped := d.details()["agentid"]; mistyped {
		r.query += "&agentid=3"
		r.header.Set("Prefer", "handling=strict")
		return p.send(p.server, r)
	}
	switch d.operation.OperationID + " " + d.code() {
	case "createBooking time_slot_unavailable":
		if strings.Contains(d.message(), "hold") {
			r.body = strings.Replace(r.body, "{", `{"hold_id":999999,`, 1)
			return p.send(p.server, r)
		}
		r.body = p.bookedStart()
		return p.send(p.server, r)
	case "getAvailability validation_failed":
		r.query += "&extras[0][id]=99"
		return p.send(p.server, r)
	case "createHold time_slot_unavailable":
		r.body = p.bookedStart()
		return p.send(p.server, r)
	case "updateBooking time_slot_unavailable":
		r.body = p.bookedStart()
		return p.send(p.server, r)
	case "approveBooking time_slot_unavailable": // a booking whose slot somebody else got
		p.bookedStart()
		p.server.database.Execute(p.t, "UPDATE wp_latepoint_bookings SET status = 'cancelled' WHERE start_date = '2027-02-12' AND start_time = 600 ORDER BY id LIMIT 1")
		cancelled := p.server.texts("SELECT MIN(id) FROM wp_latepoint_bookings WHERE start_date = '2027-02-12' AND start_time = 600 AND status = 'cancelled'")
		p.bookedStart()
		r.path = "/bookings/" + cancelled[0] + "/approve"
		return p.send(p.server, r)
	case "approveBooking validation_failed":
		r.path = "/bookings/11/approve"
		return p.send(p.server, r)
	case "declineBooking validation_failed":
		r.path = "/bookings/7/decline"
		return p.send(p.server, r)
	case "cancelBooking validation_failed":
		r.path = "/bookings/13/cancel"
		return p.send(p.server, r)
	case "updateBusinessHours validation_failed":
		r.body = `{"hours":null}`
		return p.send(p.server, r)
	case "createTimeOff validation_failed":
		r.body = `{"date":"2026-01-05"}`
		return p.send(p.server, r)
	case "deleteBooking force_required":
		r.query = ""
		return p.send(p.server, r)
	case "deleteCustomer customer_has_bookings":
		r.path = "/customers/8001"
		return p.send(p.server, r)
	case "deleteCustomer customer_has_payments":
		r.path = "/customers/8044"
		return p.send(p.server, r)
	case "listChanges cursor_expired":
		r.query = "cursor=999999999"
		return p.send(p.server, r)
	case "createPayment ", "updatePayment ":
		if d.operation.OperationID == "updatePayment" {
			r.path = "/payments/8" // a successful one
		}
		if strings.Contains(d.message(), "exceed") {
			r.body = `{"order_id":1403,"amount":1000,"status":"refunded"}`
			return p.send(p.server, r)
		}
		if strings.Contains(d.message(), "takes money") {
			r.body = `{"order_id":1403,"amount":1,"status":"refunded","kind":"authorization"}`
			return p.send(p.server, r)
		}
	case "deletePayment ":
		if strings.Contains(d.message(), "completed") {
			r.path = "/payments/8"
			return p.send(p.server, r)
		}
	}
	if d.operation.RequestBody == nil || len(d.details()) == 1 && d.operation.Parameters.GetByInAndName("query", slices.Collect(maps.Keys(d.details()))[0]) != nil {
		return p.wrongParameter(d, r)
	}
	return p.wrongField(d, r)
}

// bookedStart creates a booking, unless it exists, and returns the body of another one at the same time.
func (p *provoker) bookedStart() string {
	p.t.Helper()
	if a := p.send(p.server, request{method: http.MethodPost, path: "/bookings", body: friday("start_date", `"2027-02-12"`), contentType: jsonType}); a.status != http.StatusCreated {
		a.want(http.StatusConflict)
	}
	return friday("start_date", `"2027-02-12"`)
}

// masked sends personal data with a key that masks it.
func (p *provoker) masked(d documentedError, r request) answer {
	p.t.Helper()
	masked := *p.server
	masked.key = masked.maskedKey()
	name := d.message()[strings.LastIndex(d.message(), " ")+1:]
	if d.operation.Parameters.GetByInAndName("query", name) != nil {
		r.query = name + "=a"
	} else {
		r.body = `{"` + name + `":"a"}`
	}
	return p.send(&masked, r)
}

// outsideScope sends a request with a key that is limited to something other than what it names.
func (p *provoker) outsideScope(d documentedError, r request) (a answer, substitutes []string) {
	p.t.Helper()
	limited := *p.server
	scope := domain.Scope{Agents: []int64{1}}
	switch d.operation.OperationID {
	case "updateBooking":
		if err := limited.database.SQL.QueryRowContext(p.t.Context(), "SELECT agent_id FROM wp_latepoint_bookings WHERE id = 7").Scan(&scope.Agents[0]); err != nil {
			p.t.Fatal(err)
		}
		r.body, substitutes = `{"agent_id":99}`, []string{"agent_id 99", "agent_id 5"}
	case "createOrder":
		var customer int64 // a customer that the key sees
		if err := limited.database.SQL.QueryRowContext(p.t.Context(), "SELECT agent_id, customer_id FROM wp_latepoint_bookings ORDER BY id DESC LIMIT 1").Scan(&scope.Agents[0], &customer); err != nil {
			p.t.Fatal(err)
		}
		r.body = fmt.Sprintf(`{"customer_id":%d,"subtotal":1,"total":1}`, customer)
	case "updateCustomer", "deleteCustomer": // of a customer who also books with agents outside the scope
		var customer int64
		row := limited.database.SQL.QueryRowContext(p.t.Context(), "SELECT MIN(agent_id), customer_id FROM wp_latepoint_bookings GROUP BY customer_id HAVING MIN(agent_id) < MAX(agent_id) LIMIT 1")
		if err := row.Scan(&scope.Agents[0], &customer); err != nil {
			p.t.Fatal(err)
		}
		r.path, r.body = fmt.Sprint("/customers/", customer), `{"notes":"not written"}`
	case "updateService":
		r.body = `{"short_description":"not written"}`
	case "createWebhook", "updateWebhook":
		r.body = `{"url":"https://example.com/","events":["*"],"agents":[1,5]}`
	case "getBusinessHours":
		r.query = "agent_id=5"
	case "listFreeAgents":
		scope = domain.Scope{Services: []int64{2}}
		r.query, substitutes = "service_id=4", []string{"service_id 4", "agent_id 5"}
	}
	limited.key = limited.limitedKey(scope)
	return p.send(&limited, r), substitutes
}

// tooManyHolds creates a hold with a key that already has the maximum number.
func (p *provoker) tooManyHolds(r request) answer {
	p.t.Helper()
	full := *p.server
	full.key = full.newKey("write_bookings")
	full.fillHolds(p.t, full.keepSlot(p.t, holdBody("start_time", `"13:00"`)))
	return p.send(&full, r)
}

// failWith makes all statements fail except those about keys; if the request
// runs no others, those about keys too.
func (p *provoker) failWith(number uint16, r request) answer {
	p.t.Helper()
	var keysToo bool
	*p.fails = func(shown statement) error {
		if strings.Contains(shown.text, "bookside_api_keys") && !keysToo {
			return nil
		}
		return &mysql.MySQLError{Number: number}
	}
	defer func() { *p.fails = func(statement) error { return nil } }()
	a := p.send(p.failing, r)
	if a.status < http.StatusBadRequest {
		keysToo = true
		a = p.send(p.failing, r)
	}
	return a
}

func (p *provoker) forbid(d documentedError, r request) answer {
	p.t.Helper()
	var permissions []string
	for _, permission := range d.details()["current_permissions"].([]any) {
		permissions = append(permissions, permission.(string))
	}
	required := d.details()["required_permission"].(string)
	route := d.method + " " + strings.NewReplacer("{", ":", "}", "").Replace(d.path)
	for _, also := range alsoNeeded {
		if also.route == route && also.also == required {
			path, query, _ := strings.Cut(also.path, "?")
			r.path, r.query, r.body = path, cmp.Or(query, r.query), also.body
		}
	}
	if d.operation.OperationID == "getCustomer" && required == "read_bookings" {
		r.query = "include=bookings"
	}
	if verb, _, _ := strings.Cut(required, "_"); verb == "read" && (d.method == http.MethodPut || d.method == http.MethodDelete || recordOf(d.path) != d.path) {
		r.header.Set("If-Match", `"tag"`)
	}
	r.header.Set("X-Api-Key", p.server.newKey(permissions...))
	return p.send(p.server, r)
}

// recordOf returns the path of the record that a write to a path changes.
func recordOf(path string) string {
	for _, move := range []string{"/approve", "/decline", "/cancel"} {
		path = strings.TrimSuffix(path, move)
	}
	return path
}

// outdated changes a record whose tag is outdated. The response must show the record as a GET does.
func (p *provoker) outdated(r request) answer {
	p.t.Helper()
	read := p.send(p.server, request{method: http.MethodGet, path: recordOf(r.path), header: http.Header{}}).want(http.StatusOK)
	r.header.Set("If-Match", `"outdated"`)
	a := p.send(p.server, r)
	if a.status != http.StatusPreconditionFailed {
		return a
	}
	var record any = read.object()
	if inner, enveloped := read.object()["data"]; enveloped {
		record = inner
	}
	if etag := a.at("error", "details", "etag"); etag != read.header.Get("ETag") || !reflect.DeepEqual(a.at("error", "details", "record"), record) {
		p.t.Errorf("the record has the tag %s: %s\nanswer: %s", read.header.Get("ETag"), read.body, a.body)
	}
	return a
}

// notFound requests a record that does not exist: the one of the last
// parameter, or the one that the code names.
func (p *provoker) notFound(d documentedError, r request) (a answer, substitutes []string) {
	p.t.Helper()
	in := strings.Split(d.path, "/")
	parts := strings.Split(r.path, "/")
	last := -1
	for i, part := range in {
		named := strings.HasPrefix(part, "{")
		if named && (last < 0 || d.code() != "rest_no_route" && strings.Trim(part, "{}") == strings.TrimSuffix(d.code(), "_not_found")+"_id") {
			last = i
		}
	}
	if last < 0 {
		p.t.Fatal("the path has no id to replace")
	}
	unknown := "8000000"
	switch {
	case d.code() == "rest_no_route":
		unknown = "x"
	case in[last] == "{code}":
		unknown = "NOWHERE"
	}
	parts[last] = unknown
	r.path = strings.Join(parts, "/")
	example := d.operation.Parameters.GetByInAndName("path", strings.Trim(in[last], "{}")).Example
	return p.send(p.server, r), []string{unknown, fmt.Sprint(example)}
}

// named returns a request with an Idempotency-Key, which PUT and DELETE support only under a condition. A
// request that deletes a record gets its own record.
func (p *provoker) named(r request) request {
	p.t.Helper()
	r.header.Set("Idempotency-Key", p.t.Name())
	if r.method != http.MethodPost {
		r.header.Set("If-Match", "*")
	}
	if r.method != http.MethodDelete {
		return r
	}
	*p.created++
	resource := strings.Split(r.path, "/")[1]
	body := map[string]string{
		"bookings":  friday("start_date", fmt.Sprintf("%q", time.Date(2027, 2, 12+7**p.created, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))),
		"holds":     holdBody("start_date", fmt.Sprintf("%q", time.Date(2027, 2, 12+7**p.created, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))),
		"customers": fmt.Sprintf(`{"first_name":"New","last_name":"One","email":"new.%d@example.test"}`, *p.created),
		"payments":  `{"order_id":1403,"amount":1,"status":"failed"}`,
		"time-off":  `{"agent_id":1,"date":"2027-03-10"}`,
		"coupons":   fmt.Sprintf(`{"code":"NEW%d","discount_type":"percent","discount_value":5}`, *p.created),
	}[resource]
	made := p.server.write(http.MethodPost, "/"+resource, body).want(http.StatusCreated)
	id := made.at("data", "id")
	if resource == "coupons" {
		id = made.at("data", "code")
	}
	r.path = fmt.Sprintf("/%s/%v", resource, id)
	return r
}

// inProgress repeats a request while the first attempt is still running.
func (p *provoker) inProgress(r request) answer {
	p.t.Helper()
	reached, release, over := make(chan struct{}), make(chan struct{}), make(chan answer)
	waits := true
	*p.fails = func(shown statement) error {
		if waits && strings.HasPrefix(shown.text, "UPDATE `wp_bookside_idempotency`") { // stores the response
			waits = false
			close(reached)
			select {
			case <-release:
			case <-p.t.Context().Done():
				return context.Canceled
			}
		}
		return nil
	}
	defer func() { *p.fails = func(statement) error { return nil } }()
	go func() { over <- p.send(p.failing, r) }()
	select {
	case <-reached:
	case a := <-over:
		p.t.Fatalf("the first try wrote nothing: %d %s", a.status, a.body)
	}
	a := p.send(p.failing, r)
	close(release)
	<-over
	return a
}

// wrongParameter sends invalid parameters, one after the other, until the response is the documented one.
func (p *provoker) wrongParameter(d documentedError, r request) answer {
	p.t.Helper()
	var a answer
	for name := range d.details() {
		for _, wrong := range []string{name + "=x", name + "[]=1", name + "="} {
			asked := r
			asked.query += "&" + wrong
			if a = p.send(p.server, asked); a.status == d.status && strings.Contains(string(a.body), fmt.Sprint(d.details()[name])) {
				return a
			}
		}
	}
	return a
}

// wrongField sends invalid fields, one after the other, until the response is the documented one.
func (p *provoker) wrongField(d documentedError, r request) answer {
	p.t.Helper()
	names := slices.Sorted(maps.Keys(d.details()))
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(bodyProperties(d.operation)))
	}
	var a answer
	for _, name := range names {
		values := []string{`"x"`, "[1]", "-1", "0"}
		if strings.Contains(strings.ToLower(d.member("error")+fmt.Sprint(d.details())), "required") {
			values = []string{""} // left out
		}
		for _, wrong := range values {
			fields := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(r.body), &fields); err != nil {
				p.t.Fatal(err)
			}
			if fields[name] = json.RawMessage(wrong); wrong == "" {
				delete(fields, name)
			}
			body, err := json.Marshal(fields)
			if err != nil {
				p.t.Fatal(err)
			}
			changed := r
			changed.body = string(body)
			a = p.send(p.server, changed)
			if message, err := json.Marshal(d.message()); err == nil && a.status == d.status && strings.Contains(string(a.body), string(message)) {
				if details, err := json.Marshal(d.details()); err == nil && (len(d.details()) == 0 || strings.Contains(string(a.body), string(details))) {
					return a
				}
			}
		}
	}
	return a
}
