package handlers_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

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
		noError(t, writer.WriteField(name, values[0]))
	}
	noError(t, writer.Close())
	return writer.FormDataContentType(), parts.String()
}

// nodeRequests are requests of an automation tool's node for this API, with ids as texts and its own words where they differ from the
// contract's, as JSON unless they begin with a name.
var nodeRequests = []struct {
	method, path, body string
	status             int
}{
	{http.MethodPost, "/bookings/bulk", `{"bookings":` + nodeBookings + `}`, http.StatusCreated},
	{http.MethodPost, "/bookings/bulk", nodeBookings, http.StatusBadRequest}, // without a wrapper; the slot is taken now
	{http.MethodPost, "/bookings/bulk", `{"bookings":` + strconv.Quote(nodeBookings) + `,"send_confirmation":false}`, http.StatusBadRequest},
	{http.MethodPost, "/bookings", `{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"13:00",` +
		`"customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"},"status":"approved","send_confirmation":true,"description":"a booking"}`, http.StatusCreated},
	{http.MethodGet, "/availability?service_id=4&agent_id=5&date=2027-02-05", "", http.StatusOK},
	{http.MethodPost, "/bookings", "service_id=4&agent_id=5&start_date=2027-02-05&start_time=15:00&customer_id=9&status=pending", http.StatusCreated},
	{http.MethodGet, "/bookings/{id}", "", http.StatusOK},
	{http.MethodPut, "/bookings/{id}", `{"status":"approved"}`, http.StatusOK},
	{http.MethodPut, "/customers/9", `{"phone":"+52 55 1234"}`, http.StatusOK},
	{http.MethodPut, "/customers/9", "email=customer12@example.test", http.StatusBadRequest},
	{http.MethodPut, "/services/4", `{"charge_amount":"150.00","duration":90}`, http.StatusOK},
	{http.MethodPost, "/orders", `{"customer_id":"9","subtotal":"45.00","total":"50.00","status":"open","payment_status":"not_paid","fulfillment_status":"not_fulfilled","customer_comment":"c","coupon_code":""}`, http.StatusCreated},
	{http.MethodGet, "/orders/{id}", "", http.StatusOK},
	{http.MethodPost, "/payments", "booking_id=1441&customer_id=153&amount=135&status=pending&transaction_id=tx-1", http.StatusCreated},
	{http.MethodPut, "/payments/{id}", `{"status":"completed"}`, http.StatusOK},
	{http.MethodPut, "/payments/{id}", `{"transaction_id":"tx-2","notes":"x","amount":"135.00","booking_id":"1441","customer_id":"1"}`, http.StatusOK},
	{http.MethodPut, "/payments/{id}", `{"status":"refunded"}`, http.StatusOK},
	{http.MethodPost, "/coupons", "code=save10&name=Ten&description=d&discount_type=fixed&discount_value=10&active_from=2027-01-01&active_to=2027-12-31&usage_limit=", http.StatusCreated},
	{http.MethodGet, "/coupons/save10", "", http.StatusOK},
	{http.MethodPut, "/coupons/SAVE10", `{"name":"Fifteen","discount_type":"percent","discount_value":15,"usage_limit":0}`, http.StatusOK},
	{http.MethodDelete, "/coupons/SAVE10", "", http.StatusOK},
	{http.MethodGet, "/coupons/SAVE10", "", http.StatusNotFound},
}

const nodeBookings = `[{"service_id":"4","agent_id":"5","start_date":"2027-02-05","start_time":"10:00","customer":{"first_name":"John","last_name":"Doe","email":"john@example.com"}}]`

// TestAutomationNode replays the requests of the node with both headers for the key, as JSON and as both kinds of forms: the answers are the same.
func TestAutomationNode(t *testing.T) {
	t.Parallel()
	for name, variant := range map[string]struct {
		bearer bool
		encode func(t testing.TB, document string) (contentType, body string) // encodes JSON for the request; nil sends it as JSON
	}{
		"key header":      {},
		"bearer":          {bearer: true},
		"URL-encoded":     {encode: urlEncoded},
		"multipart forms": {encode: multipartForm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
			s.database.Execute(t, setting("one_location_at_time", "on"))
			var answers []string
			id := ""
			for _, r := range nodeRequests {
				header := http.Header{"X-Api-Key": {s.key}, "Accept": {"application/json"}, "Content-Type": {jsonType}}
				if variant.bearer {
					header.Del("X-Api-Key")
					header.Set("Authorization", "Bearer "+s.key)
				}
				body := r.body
				switch {
				case body != "" && !strings.ContainsAny(body[:1], "{["):
					header.Set("Content-Type", formType)
				case variant.encode != nil && strings.HasPrefix(body, "{"):
					var contentType string
					contentType, body = variant.encode(t, body)
					header.Set("Content-Type", contentType)
				}
				a := s.send(r.method, "/wp-json/latepoint-api/v1"+strings.Replace(r.path, "{id}", id, 1), header, body).want(r.status)
				if record := a.record(); record["id"] != nil {
					id = fmt.Sprint(record["id"])
				}
				answers = append(answers, string(a.body))
			}
			golden(t, "automation_node", []byte("["+strings.Join(answers, ",")+"]"))
		})
	}
}
