package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestPaymentsOfTheAutomationNode replays the calls of an n8n node that was made for an older version of
// the API: ids are texts, statuses have other words, and a token is a transaction id.
func TestPaymentsOfTheAutomationNode(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for name, c := range map[string]struct {
		body         string
		status, kind string
		token        string // %T %v
		order        string // payment status
	}{
		"completed":                     {`{"booking_id":"1441","customer_id":"153","amount":50,"payment_method":"cash","status":"completed"}`, "succeeded", "capture", "<nil> <nil>", "partially_paid"},
		"with the order":                {`{"booking_id":"1441","order_id":"1403","customer_id":"153","amount":135,"payment_method":"cash","status":"Completed"}`, "succeeded", "capture", "<nil> <nil>", "fully_paid"},
		"pending":                       {`{"booking_id":"1441","customer_id":"153","amount":50,"status":"pending","transaction_id":"tx-1","notes":"n"}`, "processing", "capture", "string tx-1", "processing"},
		"failed":                        {`{"booking_id":"1441","customer_id":"153","amount":"50.00","status":"failed","transaction_id":""}`, "failed", "capture", "string ", "not_paid"},
		"refunded":                      {`{"booking_id":"1441","customer_id":"153","amount":50,"status":"refunded","transaction_id":"tx-2","force":true}`, "succeeded", "refund", "string tx-2", "refunded"},
		"refunded, of another kind":     {`{"booking_id":"1441","amount":50,"kind":"capture","status":"refunded","force":true}`, "succeeded", "refund", "<nil> <nil>", "refunded"},
		"a token and a transaction id":  {`{"booking_id":"1441","amount":50,"token":"tok","transaction_id":"tx"}`, "succeeded", "capture", "string tok", "partially_paid"},
		"the words of the present ones": {`{"booking_id":"1441","amount":50,"status":"processing","token":"tok"}`, "processing", "capture", "string tok", "processing"},
	} {
		t.Run(name, func(t *testing.T) { // not parallel: they share the order
			created := s.write(http.MethodPost, "/payments", c.body).want(http.StatusCreated)
			want := map[string]any{"status": "string " + c.status, "kind": "string " + c.kind, "token": c.token, "order_id": "string 1403", "booking_id": "string 1441"}
			wantFieldsOf(t, created, want)
			read := s.get(fmt.Sprintf("/payments/%v", created.at("data", "id"))).want(http.StatusOK)
			wantFieldsOf(t, read, want)
			if got := s.get("/orders/1403").at("payment_status"); got != c.order {
				t.Errorf("the order is %v, want %s", got, c.order)
			}
			before.Restore(t)
		})
	}
	created := s.writeAs(http.MethodPost, "/payments", "application/x-www-form-urlencoded",
		url.Values{"booking_id": {"1441"}, "customer_id": {"153"}, "amount": {"135"}, "status": {"pending"}, "transaction_id": {"tx-1"}}.Encode()).want(http.StatusCreated)
	path := fmt.Sprintf("/payments/%v", created.at("data", "id"))
	for _, step := range []struct{ body, status, kind, token, amount, order string }{
		{`{"status":"completed"}`, "succeeded", "capture", "tx-1", "135", "fully_paid"},
		{`{"transaction_id":"tx-2","notes":"x","amount":"135.00","booking_id":"1441","customer_id":"1"}`, "succeeded", "capture", "tx-2", "135", "fully_paid"},
		{`{"status":"refunded"}`, "succeeded", "capture", "tx-2", "135", "refunded"},
		{`{"status":"failed","force":true}`, "failed", "capture", "tx-2", "135", "not_paid"},
	} {
		changed := s.write(http.MethodPut, path, step.body).want(http.StatusOK)
		wantFieldsOf(t, changed, map[string]any{
			"status": "string " + step.status, "kind": "string " + step.kind, "token": "string " + step.token, "amount": "string " + step.amount,
		})
		if got := s.get("/orders/1403").at("payment_status"); got != step.order {
			t.Errorf("%s: the order is %v, want %s", step.body, got, step.order)
		}
	}
	// A status that the plugin itself has stored stays unchanged.
	s.database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = 3")
	wantFieldsOf(t, s.write(http.MethodPut, "/payments/3", `{"status":"refunded","notes":"x"}`).want(http.StatusOK),
		map[string]any{"status": "string refunded", "kind": "string capture", "notes": "string x"})
	if a := s.write(http.MethodPut, "/payments/3", `{"transaction_id":[1]}`).want(http.StatusBadRequest); a.at("error") != "Invalid transaction ID provided" {
		t.Errorf("%s", a.body)
	}
}

// TestPriceFollowsPayments: a total above or below what was paid changes the payment
// status, unless another one is sent with it.
func TestPriceFollowsPayments(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":135}`).want(http.StatusCreated)
	for _, step := range []struct{ path, body, want string }{
		{"/bookings/1441", `{"price":"135.01"}`, "partially_paid"},
		{"/bookings/1441", `{"price":135}`, "fully_paid"},
		{"/bookings/1441", `{"price":200,"notes":"x"}`, "partially_paid"},
		{"/bookings/1441", `{"price":0}`, "partially_paid"}, // a free order keeps its status
		{"/bookings/1441", `{"price":100}`, "fully_paid"},
		{"/orders/1403", `{"total":"140"}`, "partially_paid"},
		{"/orders/1403", `{"total":"135.00"}`, "fully_paid"},
		{"/orders/1403", `{"total":150,"payment_status":"fully_paid"}`, "fully_paid"},
		{"/orders/1403", `{"total":150}`, "fully_paid"}, // no change
		{"/orders/1403", `{"subtotal":500}`, "fully_paid"},
		{"/orders/1403", `{"total":151}`, "partially_paid"},
	} {
		a := s.write(http.MethodPut, step.path, step.body).want(http.StatusOK)
		if got := a.record()["payment_status"]; got != step.want {
			t.Errorf("%s %s: answered %v, want %s", step.path, step.body, got, step.want)
		}
		if got := s.get("/orders/1403").at("payment_status"); got != step.want {
			t.Errorf("%s %s: stored %v, want %s", step.path, step.body, got, step.want)
		}
	}
}

// TestCustomerWithPaymentsStays: a customer who has paid cannot be deleted.
func TestCustomerWithPaymentsStays(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	created := s.write(http.MethodPost, "/customers", `{"first_name":"A","last_name":"B"}`).want(http.StatusCreated)
	customer := fmt.Sprint(created.at("data", "id"))
	order := fmt.Sprint(s.write(http.MethodPost, "/orders", `{"customer_id":`+customer+`,"subtotal":10,"total":10}`).want(http.StatusCreated).at("id"))
	var payments []string
	for _, body := range []string{`"amount":4`, `"amount":6`, `"amount":6,"status":"failed"`} {
		payments = append(payments, fmt.Sprint(s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,`+body+`}`).want(http.StatusCreated).at("data", "id")))
	}
	before := s.database.Snapshot(t)
	a := s.write(http.MethodDelete, "/customers/"+customer, "").want(http.StatusBadRequest)
	if want := `{"code":"customer_has_payments","message":"Cannot delete customer with existing payments","data":{"status":400,"payment_count":2}}`; string(a.body) != want {
		t.Errorf("%s, want %s", a.body, want)
	}
	wantNoWrites(t, "a customer with payments", before)
	for _, id := range payments {
		s.write(http.MethodPut, "/payments/"+id, `{"status":"failed"}`).want(http.StatusOK)
	}
	s.write(http.MethodDelete, "/customers/"+customer, "").want(http.StatusOK)
}

// TestPhonesAreFoundHoweverWritten filters by numbers with and without punctuation.
func TestPhonesAreFoundHoweverWritten(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_customers SET phone = '+49 (170) 55-66 77' WHERE id = 9", "UPDATE wp_latepoint_customers SET phone = '+49170556688' WHERE id = 12",
		"UPDATE wp_latepoint_bookings SET customer_id = 9 WHERE id = 10", "UPDATE wp_latepoint_agents SET phone = '+49 (170) 55-66 77' WHERE id = 2")
	for phone, want := range map[string][2]bool{ // customers 9 and 12
		"+491705566": {true, true}, "+49 170 5566": {true, true}, "(170)-5566": {true, true}, "1 70 55": {true, true}, "5566-7": {true, false}, "55 6688": {false, true},
		"55667_": {false, false}, "5566 %": {false, false}, "+49/170": {false, false},
	} {
		t.Run(phone, func(t *testing.T) {
			query := url.QueryEscape(phone)
			for i, id := range []string{"9", "12"} {
				if found := contains(s.get("/customers?per_page=100&phone="+query).want(http.StatusOK), id); found != want[i] {
					t.Errorf("%s: customer %s found %t", phone, id, found)
				}
			}
			if found := contains(s.get("/bookings?per_page=100&customer_id=9&customer_phone="+query).want(http.StatusOK), "10"); found != want[0] {
				t.Errorf("%s: booking found %t", phone, found)
			}
			if found := contains(s.get("/agents?per_page=100&phone="+query).want(http.StatusOK), "2"); found != want[0] {
				t.Errorf("%s: agent found %t", phone, found)
			}
		})
	}
}

// contains reports whether a list has a record.
func contains(a answer, id string) bool {
	for _, found := range idsOf(a.at("data")) {
		if found == id {
			return true
		}
	}
	return false
}
