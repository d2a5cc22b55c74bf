package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
)

// fields returns some members of data with their types.
func (a answer) fields(names ...string) map[string]any {
	a.t.Helper()
	all, ok := a.at("data").(map[string]any)
	if !ok {
		a.t.Fatalf("data is not an object: %.500s", a.body)
	}
	some := map[string]any{}
	for _, name := range names {
		value, ok := all[name]
		if !ok {
			a.t.Fatalf("no %q: %.1000s", name, a.body)
		}
		some[name] = fmt.Sprintf("%T %v", value, value)
	}
	return some
}

// wantFieldsOf compares types and values of some members of data.
func wantFieldsOf(t *testing.T, a answer, want map[string]any) {
	t.Helper()
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	if diff := cmp.Diff(want, a.fields(names...)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestServiceWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	created := s.write(http.MethodPost, "/services", `{"name":"Sauna <b>hot</b>","duration":"45","charge_amount":"19.90","capacity_max":4}`).want(http.StatusCreated)
	wantFieldsOf(t, created, map[string]any{
		"name": "string Sauna hot", "duration": "json.Number 45", "charge_amount": "json.Number 19.9", "capacity_max": "json.Number 4",
		"category_id": "<nil> <nil>", "status": "string active", "visibility": "string visible", "description": "string ", "order_number": "json.Number 0",
	})
	if created.at("message") != "Service created successfully" || created.at("success") != true {
		t.Errorf("envelope %s", created.body)
	}
	id := fmt.Sprint(created.at("data", "id"))
	changed := s.write(http.MethodPut, "/services/"+id, `{"description":"Long","category_id":2,"status":"disabled"}`).want(http.StatusOK)
	wantFieldsOf(t, changed, map[string]any{"description": "string Long", "category_id": "json.Number 2", "status": "string disabled", "name": "string Sauna hot"})
	s.get("/services/" + id).want(http.StatusOK)

	before := s.database.Snapshot(t)
	for body, details := range map[string][]string{
		`{}`: {"name"},
		`{"name":"x","duration":0,"charge_amount":-1,"status":"on"}`:        {"duration", "charge_amount", "status"},
		`{"name":"x","duration":100000}`:                                    {"duration"},
		`{"name":"x","capacity_min":9,"capacity_max":2}`:                    {"capacity_max"},
		`{"name":"x","capacity_min":2}`:                                     {"capacity_min"},
		`{"name":["x"],"price_min":"1e","category_id":99999,"duration":{}}`: {"name", "price_min", "category_id", "duration"},
	} {
		a := s.write(http.MethodPost, "/services", body)
		if a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d", body, a.status)
			continue
		}
		got, _ := a.at("error", "details").(map[string]any)
		for _, field := range details {
			if got[field] == nil {
				t.Errorf("%s: %s is not named: %s", body, field, a.body)
			}
		}
	}
	s.write(http.MethodPut, "/services/99999", `{"name":"x"}`).want(http.StatusNotFound)
	wantNoWrites(t, "bad services", before)
}

func TestPaymentWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	booking := s.write(http.MethodPost, "/bookings", `{"service_id":4,"agent_id":5,"location_id":1,"start_date":"2027-02-05","start_time":"10:00","customer_id":9}`).want(http.StatusCreated)
	order := fmt.Sprint(booking.at("data", "order", "id"))
	created := s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":50.00,"token":"tok","notes":"cash"}`).want(http.StatusCreated)
	wantFieldsOf(t, created, map[string]any{
		"amount": "string 50", "customer_id": "string 9", "processor": "string manual", "payment_method": "string other", "payment_portion": "string full",
		"kind": "string capture", "status": "string succeeded", "token": "string tok", "order_id": "string " + order, "booking_id": "string " + fmt.Sprint(booking.at("data", "id")),
	})
	if got := s.get("/orders/" + order).at("payment_status"); got != "partially_paid" {
		t.Errorf("the order is %v", got)
	}
	id := fmt.Sprint(created.at("data", "id"))
	changed := s.write(http.MethodPut, "/payments/"+id, `{"amount":"85","status":"succeeded"}`).want(http.StatusOK)
	wantFieldsOf(t, changed, map[string]any{"amount": "string 85"})
	if got := s.get("/orders/" + order).at("payment_status"); got != "fully_paid" {
		t.Errorf("the order is %v", got)
	}

	before := s.database.Snapshot(t)
	for request, want := range map[string]string{
		"POST /payments {}": "Missing required fields: order_id, amount",
		"POST /payments {\"order_id\":999999,\"amount\":1}":                    "Invalid order ID provided",
		"POST /payments {\"booking_id\":999999,\"amount\":1}":                  "Invalid booking ID provided",
		"POST /payments {\"order_id\":1,\"amount\":\"12,50\"}":                 "Invalid amount provided",
		"POST /payments {\"order_id\":1,\"amount\":\"1e\"}":                    "Invalid amount provided",
		"POST /payments {\"order_id\":1,\"amount\":-5}":                        "Invalid amount provided",
		"POST /payments {\"order_id\":1,\"amount\":\"1.23456\"}":               "Invalid amount provided",
		"POST /payments {\"order_id\":1,\"amount\":1,\"status\":\"complete\"}": "Invalid payment status provided",
		"PUT /payments/999999 {}":                                              "Payment not found",
		"DELETE /payments/" + id + " ":                                         "Cannot delete payment with completed status. Please refund first.",
	} {
		t.Run(request, func(t *testing.T) {
			var method, path, body string
			if _, err := fmt.Sscanf(request, "%s %s %s", &method, &path, &body); err != nil && method != http.MethodDelete {
				t.Fatal(err)
			}
			a := s.write(method, path, body)
			if a.at("success") != false || a.at("error") != want {
				t.Errorf("%s: %d %s, want %s", request, a.status, a.body, want)
			}
		})
	}
	wantNoWrites(t, "bad payments", before)
	failed := s.write(http.MethodPost, "/payments", `{"order_id":`+order+`,"amount":"0.1","status":"failed"}`).want(http.StatusCreated)
	gone := s.write(http.MethodDelete, "/payments/"+fmt.Sprint(failed.at("data", "id")), "").want(http.StatusOK)
	if gone.at("message") != "Payment deleted successfully" {
		t.Errorf("%s", gone.body)
	}
}

func TestOrderAndInvoiceWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	created := s.write(http.MethodPost, "/orders", `{"customer_id":9,"subtotal":45,"total":"50.00","tax_total":5,"notes":"internal","confirmation_code":"AB39CD"}`).want(http.StatusCreated)
	for name, want := range map[string]string{
		"subtotal": "45.0000", "total": "50.0000", "tax_total": "5.0000", "status": "open", "payment_status": "not_paid", "notes": "internal", "confirmation_code": "AB39CD",
	} {
		t.Run(name, func(t *testing.T) {
			if got := created.at(name); got != want {
				t.Errorf("%s: %v, want %s", name, got, want)
			}
		})
	}
	id := fmt.Sprint(created.at("id"))
	changed := s.write(http.MethodPut, "/orders/"+id, `{"status":"completed","customer_id":12,"discount_total":"1.5"}`).want(http.StatusOK)
	if changed.at("status") != "completed" || fmt.Sprint(changed.at("customer_id")) != "12" || changed.at("discount_total") != "1.5000" {
		t.Errorf("%s", changed.body)
	}
	invoices := s.get("/orders/" + id + "/invoices").want(http.StatusOK).records()
	if len(invoices) != 1 {
		t.Fatalf("%d invoices, want 1", len(invoices))
	}
	invoice := "/orders/" + id + "/invoices/" + invoices[0]["id"].(string)
	s.write(http.MethodPut, invoice, `{"status":"paid"}`).want(http.StatusUnprocessableEntity)
	forced := s.write(http.MethodPut, invoice, `{"status":"paid","force":true,"charge_amount":55.00}`).want(http.StatusOK)
	wantFieldsOf(t, forced, map[string]any{"status": "string paid", "charge_amount": "string 55.0000"})

	before := s.database.Snapshot(t)
	s.write(http.MethodPost, "/orders", `{}`).want(http.StatusBadRequest)
	s.write(http.MethodPut, "/orders/"+id, `{"total":-1,"status":"gone","customer_id":8388607}`).want(http.StatusBadRequest)
	s.write(http.MethodPut, "/orders/1/invoices/"+invoices[0]["id"].(string), `{"status":"void"}`).want(http.StatusNotFound)
	s.write(http.MethodPut, invoice, `{"status":"lost"}`).want(http.StatusUnprocessableEntity)
	wantNoWrites(t, "bad orders", before)
}

func TestCouponWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	created := s.write(http.MethodPost, "/coupons", `{"code":" test2026 ","name":"N","description":"D","discount_type":"fixed_amount","discount_value":15,"status":"inactive"}`).want(http.StatusCreated)
	wantFieldsOf(t, created, map[string]any{
		"code": "string TEST2026", "discount_type": "string fixed_amount", "discount_value": "json.Number 15", "status": "string inactive",
		"active_from": "string ", "active_to": "string ", "usage_limit": "json.Number 0", "max_discount_amount": "json.Number 0",
	})
	if _, isText := created.at("data", "id").(string); isText {
		t.Error("the id of a new coupon is a string")
	}
	changed := s.write(http.MethodPut, "/coupons/test2026", `{"usage_limit":3,"active_to":"2027-01-31"}`).want(http.StatusOK)
	wantFieldsOf(t, changed, map[string]any{
		"usage_limit": "json.Number 3", "active_from": "string 0000-00-00", "active_to": "string 2027-01-31", "max_discount_amount": "<nil> <nil>",
	})
	if _, isText := changed.at("data", "id").(string); !isText {
		t.Error("the id of a changed coupon is not a string")
	}
	before := s.database.Snapshot(t)
	s.write(http.MethodPost, "/coupons", `{"code":"TEST2026","discount_type":"percent","discount_value":1}`).want(http.StatusUnprocessableEntity)
	s.write(http.MethodPost, "/coupons", `{}`).want(http.StatusBadRequest)
	s.write(http.MethodPut, "/coupons/nobody", `{"name":"x"}`).want(http.StatusNotFound)
	wantNoWrites(t, "bad coupons", before)
	s.write(http.MethodDelete, "/coupons/TEST2026", "").want(http.StatusOK)
	s.get("/coupons/TEST2026").want(http.StatusNotFound)
}

// TestRepeatedShopWritesRunOnce repeats every POST with its Idempotency-Key.
func TestRepeatedShopWritesRunOnce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	for path, body := range map[string]string{
		"/services": `{"name":"Once"}`, "/payments": `{"order_id":1,"amount":1}`, "/orders": `{"customer_id":9,"subtotal":1,"total":1}`,
		"/coupons": `{"code":"ONCE","discount_type":"percent","discount_value":5}`,
	} {
		if a := s.write(http.MethodPost, path, body, "Idempotency-Key", "").want(http.StatusBadRequest); !strings.Contains(string(a.body), "Idempotency-Key") {
			t.Errorf("%s: an empty key: %s", path, a.body)
		}
		s.write(http.MethodPost, path, "{}", "Idempotency-Key", "k"+path).want(http.StatusBadRequest) // a rejection is not stored
		first := s.write(http.MethodPost, path, body, "Idempotency-Key", "k"+path).want(http.StatusCreated)
		before := s.database.Snapshot(t)
		s.write(http.MethodPost, path, body, "Idempotency-Key", "k"+path).wantReplayOf(t, first)
		s.write(http.MethodPost, path, body[:len(body)-1]+`,"x":1}`, "Idempotency-Key", "k"+path).want(http.StatusUnprocessableEntity)
		wantNoWrites(t, path, before)
	}
}
