package handlers_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// exampleDayOff is the row of the time off whose id is the example of the document.
const exampleDayOff = "INSERT INTO wp_latepoint_work_periods (id, agent_id, service_id, location_id, start_time, end_time, week_day, custom_date) VALUES (206, 1, 0, 0, 0, 0, 2, '2027-03-02')"

// everyOperation has a site, and a request of each operation that succeeds there.
type everyOperation struct {
	t       *testing.T
	server  *apitest.Server
	valid   map[string]apitest.Request // by operation, where the path alone does not do
	created *int                       // number of records that requests were made for
}

func newEveryOperation(t *testing.T) *everyOperation {
	t.Helper()
	t.Parallel()
	database := fixtures.New(t, fixtures.SiteA().WithProFeatures().WithFewBookings())
	p := &everyOperation{t: t, server: apitest.NewServer(t, database), created: new(int)}
	arrangeCustomers(t, database)
	database.Execute(t, apitest.FillLocks,
		"INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status) VALUES (8004, 'u8004', 'No', 'Bookings', 'none@example.test', '', 'active')",
		"UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 11", "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 12",
		"UPDATE wp_latepoint_bookings SET status = 'payment_pending' WHERE id = 13",
		"UPDATE wp_latepoint_transactions SET status = 'failed' WHERE id = 7", "UPDATE wp_latepoint_transactions SET status = 'succeeded' WHERE id = 8")
	p.server.Write(http.MethodPost, "/coupons", `{"code":"OLD","discount_type":"percent","discount_value":5}`).Want(http.StatusCreated)
	var order, transaction int
	database.Scan(t, "SELECT order_id, id FROM wp_latepoint_transactions WHERE order_id > 0 LIMIT 1", &order, &transaction)
	timeOff := fmt.Sprint("/time-off/", p.server.Write(http.MethodPost, "/time-off", `{"agent_id":1,"date":"2027-03-08","date_to":"2027-03-09"}`).Want(http.StatusCreated).At("data", "id"))
	p.valid = map[string]apitest.Request{
		"getBooking":          {Path: "/bookings/7"},
		"createBooking":       {Path: "/bookings", Body: apitest.Friday("start_date", `"FRIDAY"`)},
		"createBookings":      {Path: "/bookings/bulk", Body: `{"bookings":[` + apitest.Friday("start_date", `"FRIDAY"`) + `]}`},
		"updateBooking":       {Path: "/bookings/7", Body: `{"notes":"other"}`},
		"approveBooking":      {Path: "/bookings/7/approve", Body: `{}`},
		"declineBooking":      {Path: "/bookings/12/decline", Body: `{}`},
		"cancelBooking":       {Path: "/bookings/12/cancel", Body: `{}`},
		"deleteBooking":       {Path: "/bookings/8", Query: "force=true"},
		"updateBusinessHours": {Path: "/business-hours", Body: `{"hours":{"monday":[{"start_time":"07:15","end_time":"12:00"}]}}`},
		"getTimeOff":          {Path: timeOff},
		"createTimeOff":       {Path: "/time-off", Body: `{"date":"FRIDAY"}`},
		"deleteTimeOff":       {Path: timeOff},
		"createHold":          {Path: "/holds", Body: apitest.Friday("start_date", `"FRIDAY"`)},
		"getHold":             {Path: "/holds/1"},
		"deleteHold":          {Path: "/holds/1"},
		"getCustomer":         {Path: "/customers/9"},
		"createCustomer":      {Path: "/customers", Body: `{"first_name":"New","last_name":"One","email":"new.NUMBER@example.test"}`},
		"updateCustomer":      {Path: "/customers/9", Body: `{"notes":"other"}`},
		"deleteCustomer":      {Path: "/customers/8004"},
		"getAgent":            {Path: "/agents/5"},
		"getService":          {Path: "/services/4"},
		"createService":       {Path: "/services", Body: `{"name":"New"}`},
		"updateService":       {Path: "/services/4", Body: `{"short_description":"other"}`},
		"getAvailability":     {Path: "/availability", Query: "service_id=4&agent_id=5&date=2027-02-05"},
		"getPayment":          {Path: "/payments/7"},
		"createPayment":       {Path: "/payments", Body: `{"order_id":1403,"amount":1}`},
		"updatePayment":       {Path: "/payments/7", Body: `{"notes":"other"}`},
		"deletePayment":       {Path: "/payments/7"},
		"getOrder":            {Path: "/orders/10"},
		"createOrder":         {Path: "/orders", Body: `{"customer_id":9,"subtotal":1,"total":1}`},
		"updateOrder":         {Path: "/orders/10", Body: `{"notes":"other"}`},
		"listInvoices":        {Path: "/orders/10/invoices"},
		"getInvoice":          {Path: "/orders/10/invoices/10"},
		"updateInvoice":       {Path: "/orders/10/invoices/10", Query: "force=true", Body: `{"charge_amount":5}`},
		"listTransactions":    {Path: fmt.Sprintf("/orders/%d/transactions", order)},
		"getTransaction":      {Path: fmt.Sprintf("/orders/%d/transactions/%d", order, transaction)},
		"getCoupon":           {Path: "/coupons/OLD"},
		"createCoupon":        {Path: "/coupons", Body: `{"code":"NEWNUMBER","discount_type":"percent","discount_value":5}`},
		"updateCoupon":        {Path: "/coupons/OLD", Body: `{"name":"other"}`},
		"deleteCoupon":        {Path: "/coupons/OLD"},

		"createWebhook":         {Path: "/webhooks", Body: `{"url":"https://example.test/","events":["*"]}`},
		"getWebhook":            {Path: "/webhooks/1"},
		"updateWebhook":         {Path: "/webhooks/1", Body: `{"name":"other"}`},
		"deleteWebhook":         {Path: "/webhooks/1"},
		"listWebhookDeliveries": {Path: "/webhooks/1/deliveries"},
		"testWebhook":           {Path: "/webhooks/1/test"},
		"rotateWebhook":         {Path: "/webhooks/1/rotate", Body: `{}`},
		"replayWebhook":         {Path: "/webhooks/1/replay", Body: `{"since":"2026-11-20T00:00:00Z"}`},
	}
	p.valid["getAgentCalendar"] = p.server.Calendar(keys.Full, domain.AgentResource, 5)
	p.valid["getLocationCalendar"] = p.server.Calendar(keys.Busy, domain.LocationResource, 1)
	p.server.Write(http.MethodPost, "/webhooks", `{"url":"https://example.test/","events":["*"]}`).Want(http.StatusCreated)
	p.server.KeepSlot(t, apitest.HoldBody("hold_minutes", `30`))
	return p
}

// each calls a test with a valid request of each operation that has a method.
func (p *everyOperation) each(t *testing.T, method string, test func(t *testing.T, p *everyOperation, id string, r apitest.Request)) {
	t.Helper()
	c := apitest.TheContract()
	tested := 0
	for path, item := range c.Document.Paths.Map() {
		operation := item.GetOperation(method)
		if operation == nil {
			continue
		}
		tested++
		t.Run(operation.OperationID, func(t *testing.T) {
			server := *p.server
			server.T = t
			at := &everyOperation{t, &server, p.valid, p.created}
			test(t, at, operation.OperationID, at.request(operation.OperationID, method, path))
		})
	}
	if tested == 0 {
		t.Errorf("no operation with %s", method)
	}
}

// request returns a request for an operation that succeeds.
func (p *everyOperation) request(operation, method, path string) apitest.Request {
	p.t.Helper()
	r := p.valid[operation]
	if r.Path == "" && strings.Contains(path, "{") {
		p.t.Fatalf("no request of %s is known", operation)
	}
	if r.Path == "" {
		r.Path = path
	}
	r.Method, r.ContentType, r.Header = method, apitest.JSONType, http.Header{}
	if method == http.MethodPost { // no two requests create the same record
		*p.created++
		friday := time.Date(2027, 2, 12+7**p.created, 0, 0, 0, 0, time.UTC)
		r.Body = strings.NewReplacer("FRIDAY", friday.Format(time.DateOnly), "NUMBER", strconv.Itoa(*p.created)).Replace(r.Body)
	}
	return r
}

func (p *everyOperation) send(r apitest.Request) apitest.Answer {
	p.t.Helper()
	header := http.Header{"X-Api-Key": {p.server.Key}}
	if r.Body != "" {
		header.Set("Content-Type", r.ContentType)
	}
	maps.Copy(header, r.Header)
	return p.server.Send(r.Method, "/v1"+r.Path+"?"+r.Query, header, r.Body)
}

// TestExamplesCanBeSent sends what the viewer fills in: the examples of required parameters and bodies.
// Reads find records of the small site, and writes are accepted.
func TestExamplesCanBeSent(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	for _, o := range inOrder(described(s)) {
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
				calendar := s.Calendar(keys.Busy, domain.Resource(strings.TrimSuffix(strings.Split(o.path, "/")[1], "s")), 1)
				query += calendar.Query
			}
			if strings.HasPrefix(o.path, "/bookings/{id}/") { // the example is completed
				s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'pending' WHERE id = 1")
				defer s.Database.Execute(t, "UPDATE wp_latepoint_bookings SET status = 'completed' WHERE id = 1")
			}
			if strings.HasPrefix(o.path, "/time-off") {
				s.Database.Execute(t, exampleDayOff)
				defer s.Database.Execute(t, "DELETE FROM wp_latepoint_work_periods WHERE id >= 206") // the other examples are on that day
			}
			a := s.Send(o.method, path+query, http.Header{"X-Api-Key": {s.Key}, "Content-Type": {"application/json"}}, body)
			switch {
			case o.method == http.MethodDelete: // may be refused, for example because a customer has bookings
				if a.Status == http.StatusNotFound {
					t.Errorf("status 404: %s", a.Body)
				}
			case a.Status >= http.StatusMultipleChoices:
				t.Errorf("sent %s\nstatus %d: %s", body, a.Status, a.Body)
			case o.method == http.MethodGet && o.path != "/status" && o.path != "/changes" && !findsRows(a.Body) && !strings.Contains(string(a.Body), "BEGIN:VEVENT"):
				t.Errorf("found nothing: %s", a.Body)
			}
		})
	}
}

// described returns the document as the server serves it: the days in its examples follow the server's
// clock.
func described(s *apitest.Server) *openapi3.T {
	s.T.Helper()
	document, err := openapi3.NewLoader().LoadFromData(s.Do(http.MethodGet, "/openapi.json", nil).Want(http.StatusOK).Body)
	expect.NoError(s.T, err)
	return document
}

// TestExamplesStayAhead: the days in examples are always in the future, however long a server runs.
func TestExamplesStayAhead(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s := apitest.Small(t)
	for range 3 {
		example := described(s).Paths.Value("/availability").Get.Parameters.GetByInAndName(openapi3.ParameterInQuery, "date").Example
		day, err := time.Parse(time.DateOnly, fmt.Sprint(example))
		if ahead := day.Sub(s.Clock); err != nil || day.Weekday() != time.Tuesday || ahead < 45*24*time.Hour || ahead > 60*24*time.Hour {
			t.Errorf("on %s the example is %v", s.Clock.Format(time.DateOnly), example)
		}
		s.Clock = s.Clock.AddDate(0, 4, 3)
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
