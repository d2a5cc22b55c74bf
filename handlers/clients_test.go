package handlers_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// client sends the requests of an existing client of the API, and reads the same parts of the responses.
type client struct {
	*server
	header http.Header
	encode func(t testing.TB, document string) (contentType, body string) // encodes JSON for the request; nil sends it as JSON
}

// ask sends a request with a body of a type.
func (c client) ask(method, path, contentType, body string) answer {
	c.t.Helper()
	header := c.header.Clone()
	if c.encode != nil && contentType == jsonType && strings.HasPrefix(body, "{") {
		contentType, body = c.encode(c.t, body)
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return c.send(method, "/wp-json/latepoint-api/v1"+path, header, body)
}

// item returns the only item of a response: automation tools turn an object, or each element of a list,
// into an item.
func (c client) item(a answer) map[string]any {
	c.t.Helper()
	return a.object()
}

// formPairs returns the members of an object as names and values of a form. Lists and objects are JSON
// texts, as automation tools send them.
func formPairs(t testing.TB, document string) url.Values {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &members); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	pairs := url.Values{}
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		pairs.Set(name, text)
	}
	return pairs
}

func urlEncoded(t testing.TB, document string) (contentType, body string) {
	t.Helper()
	return formType, formPairs(t, document).Encode()
}

func multipartForm(t testing.TB, document string) (contentType, body string) {
	t.Helper()
	var parts strings.Builder
	writer := multipart.NewWriter(&parts)
	for name, values := range formPairs(t, document) {
		if err := writer.WriteField(name, values[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return writer.FormDataContentType(), parts.String()
}

// TestAutomationNode replays the requests of an automation tool's node for this API: with both headers for
// the key, as JSON and as both kinds of forms, with ids as texts, and with its own words where they differ
// from the contract's.
func TestAutomationNode(t *testing.T) {
	t.Parallel()
	byHeader := func(key string) http.Header { return http.Header{"X-Api-Key": {key}} }
	for name, variant := range map[string]struct {
		header func(key string) http.Header
		encode func(t testing.TB, document string) (contentType, body string)
	}{
		"key header":      {byHeader, nil},
		"bearer":          {func(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }, nil},
		"URL-encoded":     {byHeader, urlEncoded},
		"multipart forms": {byHeader, multipartForm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
			s.database.Execute(t, "DELETE FROM wp_latepoint_settings WHERE name = 'one_location_at_time'",
				"INSERT INTO wp_latepoint_settings (name, value) VALUES ('one_location_at_time', 'on')")
			c := client{s, variant.header(s.key), variant.encode}
			c.header.Set("Accept", "application/json")
			c.bookings(t)
			c.customersAndServices(t)
			c.orders(t)
			c.coupons(t)
		})
	}
}

func (c client) bookings(t *testing.T) {
	t.Helper()
	const bulk = `[{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"10:00",
		"customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"}}]`
	created := c.ask(http.MethodPost, "/bookings/bulk", jsonType, `{"bookings":`+bulk+`}`).want(http.StatusCreated)
	first := created.at("results", "success", 0).(map[string]any)
	if created.at("success") != true || fmt.Sprint(created.at("results", "summary", "successful")) != "1" || first["booking_id"] == nil || first["confirmation_sent"] != false {
		t.Errorf("bulk: %s", created.body)
	}
	// The same array without a wrapper; the slot is taken now.
	text, err := json.Marshal(bulk) // the node's field holds the list as a text
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{bulk, `{"bookings":` + string(text) + `,"send_confirmation":false}`} {
		again := c.ask(http.MethodPost, "/bookings/bulk", jsonType, body).want(http.StatusBadRequest)
		if again.at("success") != false || again.at("results", "errors", 0, "error") != "Time slot not available" {
			t.Errorf("bulk again: %s", again.body)
		}
	}

	one := c.ask(http.MethodPost, "/bookings", jsonType, `{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"13:00",
		"customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"},"status":"approved","send_confirmation":true,"description":"a booking"}`).want(http.StatusCreated)
	// A start that the bulk request booked is no longer free, and a later one is.
	free := fmt.Sprint(c.ask(http.MethodGet, "/availability?service_id=4&agent_id=5&date=2027-02-05", "", "").want(http.StatusOK).at("data", "available_slots"))
	if strings.Contains(free, "10:00") || !strings.Contains(free, "15:00") {
		t.Errorf("free slots: %s", free)
	}
	form := c.ask(http.MethodPost, "/bookings", formType, "service_id=4&agent_id=5&start_date=2027-02-05&start_time=15:00&customer_id="+fmt.Sprint(one.at("data", "customer", "id"))+"&status=pending").want(http.StatusCreated)
	for _, a := range []answer{one, form} {
		if item := c.item(a); item["status"] != "success" || item["success"] != true || a.at("data", "booking_code") == "" || a.at("data", "customer", "email") != "john@example.com" {
			t.Errorf("booking: %s", a.body)
		}
	}
	path := "/bookings/" + fmt.Sprint(form.at("data", "id"))
	if read := c.ask(http.MethodGet, path, "", "").want(http.StatusOK); read.at("success") != true || read.at("data", "status") != "pending" {
		t.Errorf("read booking: %s", read.body)
	}
	approved := c.ask(http.MethodPut, path, jsonType, `{"status":"approved"}`).want(http.StatusOK)
	if approved.at("status") != "success" || approved.at("data", "status") != "approved" {
		t.Errorf("approved booking: %s", approved.body)
	}
}

func (c client) customersAndServices(t *testing.T) {
	t.Helper()
	customer := c.ask(http.MethodPut, "/customers/9", jsonType, `{"phone":"+52 55 1234"}`).want(http.StatusOK)
	if customer.at("success") != true || customer.at("message") != "Customer updated successfully" || customer.at("data", "phone") != "+52551234" {
		t.Errorf("customer: %s", customer.body)
	}
	conflict := c.ask(http.MethodPut, "/customers/9", formType, "email=customer12@example.test").want(http.StatusBadRequest)
	if conflict.at("code") != "customer_update_failed" {
		t.Errorf("an e-mail address in use: %s", conflict.body)
	}
	service := c.ask(http.MethodPut, "/services/4", jsonType, `{"charge_amount":"150.00","duration":90}`).want(http.StatusOK)
	if service.at("success") != true || service.at("message") != "Service updated successfully" {
		t.Errorf("service: %s", service.body)
	}
	wantFieldsOf(t, service, map[string]any{"id": "json.Number 4", "charge_amount": "json.Number 150", "duration": "json.Number 90"})
}

func (c client) orders(t *testing.T) {
	t.Helper()
	const body = `{"customer_id":"9","subtotal":"45.00","total":"50.00","status":"open","payment_status":"not_paid","fulfillment_status":"not_fulfilled","customer_comment":"c","coupon_code":""}`
	created := c.ask(http.MethodPost, "/orders", jsonType, body).want(http.StatusCreated)
	id := fmt.Sprint(created.at("id"))
	read := c.ask(http.MethodGet, "/orders/"+id, "", "").want(http.StatusOK)
	for _, a := range []answer{created, read} {
		item := c.item(a) // bare, without a wrapper
		if fmt.Sprint(item["id"]) != id || item["total"] != "50.0000" || fmt.Sprint(item["customer_id"]) != "9" || item["status"] != "open" || item["success"] != nil || item["confirmation_code"] == "" {
			t.Errorf("order: %s", a.body)
		}
	}
	if items, ok := read.at("items").([]any); !ok || len(items) != 0 {
		t.Errorf("items of a new order: %s", read.body)
	}
}

func (c client) coupons(t *testing.T) {
	t.Helper()
	created := c.ask(http.MethodPost, "/coupons", formType, "code=save10&name=Ten&description=d&discount_type=fixed&discount_value=10&active_from=2027-01-01&active_to=2027-12-31&usage_limit=").want(http.StatusCreated)
	read := c.ask(http.MethodGet, "/coupons/save10", "", "").want(http.StatusOK)
	changed := c.ask(http.MethodPut, "/coupons/SAVE10", jsonType, `{"name":"Fifteen","discount_type":"percent","discount_value":15,"usage_limit":0}`).want(http.StatusOK)
	for _, c := range []struct {
		a    answer
		want map[string]any
	}{
		{created, map[string]any{"code": "string SAVE10", "discount_type": "string fixed_amount", "discount_value": "json.Number 10", "usage_limit": "json.Number 0", "active_from": "string 2027-01-01"}},
		{read, map[string]any{"code": "string SAVE10", "name": "string Ten", "status": "string active", "readable_discount": "string 10 €"}},
		{changed, map[string]any{"name": "string Fifteen", "discount_type": "string percent", "discount_value": "json.Number 15", "active_to": "string 2027-12-31"}},
	} {
		wantFieldsOf(t, c.a, c.want)
	}
	deleted := c.ask(http.MethodDelete, "/coupons/SAVE10", "", "").want(http.StatusOK)
	if deleted.at("success") != true {
		t.Errorf("deleted coupon: %s", deleted.body)
	}
	c.ask(http.MethodGet, "/coupons/SAVE10", "", "").want(http.StatusNotFound)
}
