package handlers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
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
	t.Parallel()
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
	database.Scan(t, "SELECT order_id, id FROM wp_latepoint_transactions WHERE order_id > 0 LIMIT 1", &order, &transaction)
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
		"listTransactions":    {path: fmt.Sprintf("/orders/%d/transactions", order)},
		"getTransaction":      {path: fmt.Sprintf("/orders/%d/transactions/%d", order, transaction)},
		"getCoupon":           {path: "/coupons/OLD"},
		"createCoupon":        {path: "/coupons", body: `{"code":"NEWNUMBER","discount_type":"percent","discount_value":5}`},
		"updateCoupon":        {path: "/coupons/OLD", body: `{"name":"other"}`},
		"deleteCoupon":        {path: "/coupons/OLD"},

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
	c := theContract()
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

// TestExamplesCanBeSent sends what the viewer fills in: the examples of required parameters and bodies.
// Reads find records of the small site, and writes are accepted.
func TestExamplesCanBeSent(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := ownServer(t, fixtures.Small(now))
	for _, o := range inOrder(s.described()) {
		t.Run(o.method+o.path, func(t *testing.T) {
			path, body := "/v1"+o.path, ""
			query := "?"
			for _, p := range o.Parameters {
				example := fmt.Sprint(p.Value.Example)
				switch {
				case !p.Value.Required && p.Value.Example == nil:
					continue
				case p.Value.In == openapi3.ParameterInPath:
					path = strings.Replace(path, "{"+p.Value.Name+"}", example, 1)
				case p.Value.In == openapi3.ParameterInQuery:
					query += p.Value.Name + "=" + example + "&"
				default:
					t.Errorf("the header %s would be sent with each request", p.Value.Name)
				}
			}
			if o.RequestBody != nil {
				sent, err := json.Marshal(o.RequestBody.Value.Content["application/json"].Example)
				expect.NoError(t, err)
				body = string(sent)
			}
			if strings.HasSuffix(path, ".ics") { // the viewer does not have its key
				calendar := s.calendar(keys.Busy, domain.Resource(strings.TrimSuffix(strings.Split(o.path, "/")[1], "s")), 1)
				query += calendar.query
			}
			if strings.HasPrefix(o.path, "/bookings/{id}/") { // the example is completed
				s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 1")
				defer s.database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 1")
			}
			if strings.HasPrefix(o.path, "/time-off") {
				s.database.Execute(t, exampleDayOff)
				defer s.database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE id >= 206") // the other examples are on that day
			}
			a := s.send(o.method, path+query, http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}}, body)
			switch {
			case o.method == http.MethodDelete: // may be refused, for example because a customer has bookings
				if a.status == http.StatusNotFound {
					t.Errorf("status 404: %s", a.body)
				}
			case a.status >= http.StatusMultipleChoices:
				t.Errorf("sent %s\nstatus %d: %s", body, a.status, a.body)
			case o.method == http.MethodGet && o.path != "/status" && o.path != "/changes" && !findsRows(a.body) && !strings.Contains(string(a.body), "BEGIN:VEVENT"):
				t.Errorf("found nothing: %s", a.body)
			}
		})
	}
}

// described returns the document as the server serves it: the days in its examples follow the server's
// clock.
func (s *server) described() *openapi3.T {
	s.t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(s.do(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).body)
	expect.NoError(s.t, err)
	return document
}

// TestExamplesStayAhead: the days in examples are always in the future, however long a server runs.
func TestExamplesStayAhead(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := smallServer(t)
	for range 3 {
		example := s.described().Paths.Value("/availability").Get.Parameters.GetByInAndName(openapi3.ParameterInQuery, "date").Example
		day, err := time.Parse(time.DateOnly, fmt.Sprint(example))
		if ahead := day.Sub(s.clock); err != nil || day.Weekday() != time.Tuesday || ahead < 45*24*time.Hour || ahead > 60*24*time.Hour {
			t.Errorf("on %s the example is %v", s.clock.Format(time.DateOnly), example)
		}
		s.clock = s.clock.AddDate(0, 4, 3)
	}
}

// findsRows reports whether a response has a record, alone or in a list, or free times.
func findsRows(body []byte) bool {
	var found struct {
		ID   any             `json:"id"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &found) != nil {
		return false
	}
	var slots struct {
		Times []string `json:"available_slots"`
	}
	if json.Unmarshal(found.Data, &slots) == nil && slots.Times != nil {
		return len(slots.Times) > 0
	}
	return found.ID != nil || len(found.Data) > len("[]") && string(found.Data) != "null"
}

type placedOperation struct {
	*openapi3.Operation
	method, path string
}

// inOrder returns the operations in an order in which what one creates exists for the next: holds and
// webhooks are created before they are read, and deletions come last.
func inOrder(document *openapi3.T) []placedOperation {
	var all []placedOperation
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			all = append(all, placedOperation{operation, method, path})
		}
	}
	rank := func(o placedOperation) int {
		made := strings.HasPrefix(o.path, "/holds") || strings.HasPrefix(o.path, "/webhooks")
		switch {
		case o.method == http.MethodGet && !made:
			return 0
		case strings.HasSuffix(o.path, "/test"): // creates a delivery
			return 3
		case o.method == http.MethodPost:
			return 1 + strings.Count(o.path, "/")
		case o.method == http.MethodGet:
			return 10
		case o.method == http.MethodPut:
			return 11
		default:
			return 12
		}
	}
	slices.SortFunc(all, func(a, b placedOperation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.path, b.path))
	})
	return all
}

// parameter is a query parameter as the document describes it.
type parameter struct {
	kind  string   // type of its values; see badValues
	words []string // accepted words, if these are fixed
}

// parameters returns the query parameters of the GET routes by path, with 1 for {id}, and name.
var parameters = sync.OnceValue(func() map[string]map[string]parameter {
	c := theContract()
	all := map[string]map[string]parameter{}
	for path, item := range c.document.Paths.Map() {
		if item.Get == nil {
			continue
		}
		found := map[string]parameter{}
		for _, p := range item.Get.Parameters {
			if p.Value.In == "query" && p.Value.Name != "extras" { // known only to sites with Pro Features
				found[p.Value.Name] = parameter{parameterKind(path, p.Value), fixedWords(p.Value.Schema.Value)}
			}
		}
		if len(found) > 0 {
			all[strings.ReplaceAll(path, "{id}", "1")] = found
		}
	}
	return all
})

// unlikeTheirSchema holds the types of parameters whose schema leaves open what they accept: a site adds
// its own statuses, and some take a day or a day with a time.
var unlikeTheirSchema = map[string]string{
	"page": "page", "cursor": "integer", "meta_key": "key", "start_time": "word", "created_at": "date", "updated_at": "date",
	"/bookings status": "word", "bookings_status": "word",
}

func parameterKind(path string, p *openapi3.Parameter) string {
	schema := p.Schema.Value
	switch kind := cmp.Or(unlikeTheirSchema[path+" "+p.Name], unlikeTheirSchema[p.Name]); {
	case kind != "":
		return kind
	case refersTo(p.Schema, "ID"):
		return "integer"
	case refersTo(p.Schema, "IDOrAny"):
		return "id or any"
	case schema.Format == "date":
		return "date"
	case len(fixedWords(schema)) > 0:
		return "word"
	case schema.Type.Is("string"):
		return "text"
	default:
		return schema.Type.Slice()[0] // integer, number or boolean
	}
}

// fixedWords returns the words that a schema accepts, alone or in a list.
func fixedWords(schema *openapi3.Schema) (words []string) {
	if schema.Items != nil {
		schema = schema.Items.Value
	}
	for _, word := range schema.Enum {
		if text, ok := word.(string); ok {
			words = append(words, text)
		}
	}
	return words
}

// fieldsOfTheirOwn are fields of bodies that do not have a value like others: force, and another name for token.
var fieldsOfTheirOwn = []string{"force", "transaction_id"}

// documentedFields returns the fields of a write's body, and whether they take any text.
func documentedFields(method, path string) map[string]bool {
	c := theContract()
	route, _, err := c.router.FindRoute(httptest.NewRequestWithContext(context.Background(), method, "/v1"+path, nil))
	if err != nil {
		panic(err)
	}
	fields := map[string]bool{}
	for name, property := range bodyProperties(route.Operation) {
		if !slices.Contains(fieldsOfTheirOwn, name) {
			fields[name] = freeText(property.Value)
		}
	}
	return fields
}

// refersTo reports whether a value, which may also be null, has the schema with a name.
func refersTo(value *openapi3.SchemaRef, name string) bool {
	if len(value.Value.AnyOf) == 2 && value.Ref == "" {
		value = value.Value.AnyOf[0]
	}
	return value.Ref == "#/components/schemas/"+name
}
