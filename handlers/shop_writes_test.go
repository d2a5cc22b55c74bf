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

// TestRulesOfShopWrites: what the contract forbids beyond the value of a single field is refused, and nothing is written.
func TestRulesOfShopWrites(t *testing.T) {
	t.Parallel()
	s, before := newShop(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodPost, "/services", `{"name":"x","capacity_min":9,"capacity_max":2}`, 422, `"capacity_max":`},
		{http.MethodPost, "/services", `{"name":"x","capacity_min":2}`, 422, `"capacity_min":`},
		{http.MethodPost, "/services", `{"name":"x","duration":100000}`, 422, `"duration":`},
		{http.MethodPost, "/payments", `{"order_id":1,"amount":1,"status":"complete"}`, 400, "Invalid payment status provided"},
		{http.MethodPut, "/orders/10", `{"status":"gone"}`, 422, `"status":`},
		{http.MethodPut, "/orders/10/invoices/10", `{"status":"lost"}`, 422, `"status":`},
		{http.MethodPost, "/coupons", `{"code":"old","discount_type":"percent","discount_value":1}`, 422, `"code":`},
	} {
		if a := s.write(c.method, c.path, c.body); a.status != c.status || !strings.Contains(string(a.body), c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
	wantNoWrites(t, "refused", before)
	failed := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":"0.1","status":"failed"}`).want(http.StatusCreated)
	for path, message := range map[string]string{fmt.Sprint("/payments/", failed.at("data", "id")): "Payment deleted successfully", "/coupons/OLD": "Coupon deleted successfully"} {
		if gone := s.write(http.MethodDelete, path, "").want(http.StatusOK); gone.at("message") != message {
			t.Errorf("%s", gone.body)
		}
		s.get(path).want(http.StatusNotFound)
	}
}
