package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// TestShopOfEverySite creates services, orders and payments on sites of every
// kind, and coupons if they have the add-on.
func TestShopOfEverySite(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, site := range map[string]fixtures.Site{
		"legacy": fixtures.Legacy(), "edge": fixtures.Edge(), "prefixed": fixtures.Prefixed(), "half hour": fixtures.HalfHour(), "small": fixtures.Small(now).WithCoupons(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWriter(t, site)
			created := func(path, body string) string {
				t.Helper()
				a := s.write(http.MethodPost, path, body).want(http.StatusCreated)
				return path + "/" + fmt.Sprint(a.record()["id"])
			}
			service := created("/services", `{"name":"Bath","description":"Warm","customer_limit":"3","charge_amount":"19.90"}`)
			changed := s.write(http.MethodPut, service, `{"description":"Hot","duration":90}`).want(http.StatusOK)
			wantFieldsOf(t, changed, map[string]any{"description": "string Hot", "customer_limit": "string 3", "duration": "json.Number 90", "charge_amount": "json.Number 19.9"})
			customer := fmt.Sprint(s.write(http.MethodPost, "/customers", `{"first_name":"Rita","last_name":"Neu"}`).want(http.StatusCreated).at("data", "id"))
			order := created("/orders", `{"customer_id":`+customer+`,"subtotal":20,"total":20,"notes":"inside","discount_total":1}`)
			payment := created("/payments", `{"order_id":`+order[len("/orders/"):]+`,"amount":"19.99"}`)
			if got := s.get(order).at("payment_status"); got != "partially_paid" {
				t.Errorf("the order is %v", got)
			}
			s.write(http.MethodPut, payment, `{"amount":20,"notes":"all"}`).want(http.StatusOK)
			if a := s.write(http.MethodPut, order, `{"fulfillment_status":"fulfilled","coupon_code":"X","force":true}`).want(http.StatusOK); a.at("payment_status") != "fully_paid" || a.at("notes") != "inside" {
				t.Errorf("order %s", a.body)
			}
			for _, invoice := range s.get(order + "/invoices").want(http.StatusOK).records() {
				s.write(http.MethodPut, fmt.Sprintf("%s/invoices/%v", order, invoice["id"]), `{"status":"void"}`).want(http.StatusOK)
			}
			s.write(http.MethodPut, payment, `{"status":"failed"}`).want(http.StatusOK)
			s.write(http.MethodDelete, payment, "").want(http.StatusOK)
		})
	}
}

// TestShopWithoutCoupons: a site without the add-on rejects new coupons and
// has none.
func TestShopWithoutCoupons(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithoutCoupons())
	before := s.database.Snapshot(t)
	created := s.write(http.MethodPost, "/coupons", `{"code":"NEW","discount_type":"percent","discount_value":5}`)
	if want := `{"code":"platform_not_available","message":"The coupon add-on of LatePoint is not installed on this site","data":{"status":503,"written":false}}`; created.status != http.StatusServiceUnavailable || string(created.body) != want {
		t.Errorf("POST: %d %s", created.status, created.body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		a := s.write(method, "/coupons/NEW", `{"name":"x"}`)
		if want := `{"status":"error","error":{"code":"coupon_not_found","message":"Coupon with code NEW was not found"}}`; a.status != http.StatusNotFound || string(a.body) != want {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	if n := len(s.get("/coupons").want(http.StatusOK).records()); n != 0 {
		t.Errorf("%d coupons", n)
	}
	wantNoWrites(t, "coupons", before)
}

// TestCouponsWithoutDates: a coupon table without dates stores coupons without
// dates.
func TestCouponsWithoutDates(t *testing.T) {
	t.Parallel()
	old := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	old.database.Execute(t, "ALTER TABLE wp_latepoint_coupons DROP COLUMN active_from, DROP COLUMN active_to")
	s := newServer(t, old.database)
	created := s.write(http.MethodPost, "/coupons", `{"code":"NEW","discount_type":"percent","discount_value":5,"active_from":"","active_to":"0000-00-00","usage_limit":3}`).want(http.StatusCreated)
	wantFieldsOf(t, created, map[string]any{"active_from": "string ", "active_to": "string ", "usage_limit": "json.Number 3"})
	changed := s.write(http.MethodPut, "/coupons/new", `{"min_order_amount":20}`).want(http.StatusOK)
	wantFieldsOf(t, changed, map[string]any{"active_from": "string 0000-00-00", "active_to": "string 0000-00-00", "usage_limit": "json.Number 3", "min_order_amount": "json.Number 20"})
	before := s.database.Snapshot(t)
	unprocessable("active_from", "active_to").check(t, "POST", s.write(http.MethodPost, "/coupons", `{"code":"TWO","discount_type":"percent","discount_value":5,"active_from":"2027-01-01","active_to":"2027-02-01"}`))
	unprocessable("active_to").check(t, "PUT", s.write(http.MethodPut, "/coupons/NEW", `{"active_to":"2027-02-01"}`))
	wantNoWrites(t, "dates", before)
	s.write(http.MethodDelete, "/coupons/NEW", "").want(http.StatusOK)
}

// TestResponsesToShopWrites compares whole responses: the order of keys, and
// which numbers are texts.
func TestResponsesToShopWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, aCoupon)
	for _, c := range []struct{ name, method, path, body string }{
		{"service_created_least", http.MethodPost, "/services", `{"name":"Bath"}`},
		{"service_created", http.MethodPost, "/services", `{"name":"Sauna","short_description":"Hot","description":"<p>Very hot</p>","duration":"45","price_min":"10","price_max":20.5,
			"charge_amount":"19.9000","deposit_amount":5,"capacity_min":1,"capacity_max":"4","order_number":3,"selection_image_id":12,"status":"disabled","visibility":"hidden","category_id":"2","customer_limit":3}`},
		{"service_updated", http.MethodPut, "/services/4", `{"charge_amount":"150.00","duration":90,"category_id":0}`},
		{"payment_created_least", http.MethodPost, "/payments", `{"order_id":1403,"amount":50}`},
		{"payment_created", http.MethodPost, "/payments", `{"order_id":"1403","amount":"85.00","customer_id":153,"processor":"stripe","payment_method":"card","payment_portion":"deposit",
			"kind":"capture","status":"processing","token":"tok_1","notes":"a\nb"}`},
		{"payment_updated", http.MethodPut, "/payments/7", `{"amount":75.00,"receipt_number":"R-1","notes":"later"}`},
		{"order_created", http.MethodPost, "/orders", `{"customer_id":"9","subtotal":45,"total":"50.00","tax_total":5,"discount_total":1.5,"coupon_discount":"2","coupon_code":"SAVE","force":1,"status":"open",
			"payment_method":"cash","notes":"inside","ip_address":"192.0.2.1","source_id":"s","source_url":"https://x.test/","confirmation_code":"LP39CONF","customer_comment":"c"}`},
		{"order_created_least", http.MethodPost, "/orders", `{"customer_id":9,"subtotal":0,"total":0}`},
		{"order_updated", http.MethodPut, "/orders/10", `{"total":80,"discount_total":5,"customer_comment":"","fulfillment_status":"fulfilled"}`},
		{"invoice_updated", http.MethodPut, "/orders/10/invoices/10", `{"status":"partially_paid","charge_amount":55.00}`},
		{"coupon_created_least", http.MethodPost, "/coupons", `{"code":"test2025","discount_type":"percent","discount_value":15}`},
		{"coupon_created", http.MethodPost, "/coupons", `{"code":"FIVE","name":"Five","description":"d","discount_type":"fixed_amount","discount_value":"5.50","status":"inactive","active_from":"2027-01-01",
			"active_to":"2027-12-31","usage_limit":7,"min_order_amount":20,"max_discount_amount":"9.5"}`},
		{"coupon_updated", http.MethodPut, "/coupons/old", `{"discount_value":12.5,"usage_limit":3}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := map[string]int{http.MethodPost: http.StatusCreated, http.MethodPut: http.StatusOK}[c.method]
			golden(t, c.name, s.write(c.method, c.path, c.body).want(status).body)
		})
	}
}

// TestPayingAnInvoiceByForce: an invoice that is not covered can be marked as
// paid with force, as a field or a parameter.
func TestPayingAnInvoiceByForce(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	const path = "/orders/1403/invoices/1270"
	for _, unforced := range [][2]string{{"", ""}, {"?force=false", ""}, {"", `,"force":0`}} {
		unprocessable("status").check(t, "unforced", s.write(http.MethodPut, path+unforced[0], `{"status":"paid"`+unforced[1]+`}`))
	}
	badRequest("force", "status").check(t, "maybe", s.write(http.MethodPut, path, `{"status":"paid","force":"maybe"}`))
	badRequest("force", "status").check(t, "maybe", s.write(http.MethodPut, path+"?force=maybe", `{"status":"paid"}`))
	wantNoWrites(t, "unforced", before)
	for _, forced := range [][2]string{{"?force=true", ""}, {"", `,"force":"yes"`}} {
		if a := s.write(http.MethodPut, path+forced[0], `{"status":"paid"`+forced[1]+`}`).want(http.StatusOK); a.at("data", "status") != "paid" {
			t.Errorf("%v: %s", forced, a.body)
		}
		before.Restore(t)
	}
}

// TestUnexpectedErrorsOfWrites: an unexpected error is reported in the endpoint's shape, without details, and nothing
// is written.
func TestUnexpectedErrorsOfWrites(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, aCoupon, "DELETE FROM wp_latepoint_bookings WHERE customer_id = 268", "UPDATE wp_latepoint_transactions SET status = 'failed' WHERE customer_id = 268")
	for _, table := range []string{"bookings", "customers", "services", "transactions", "orders", "order_invoices", "coupons"} {
		for _, op := range []string{"INSERT", "UPDATE", "DELETE"} {
			s.database.Execute(t, "CREATE TRIGGER fail_"+table+op+" BEFORE "+op+" ON wp_latepoint_"+table+" FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a secret'")
		}
	}
	before := s.database.Snapshot(t)
	const data = `,"data":{"status":500,"request_id":"%s"}}`
	internal := func(code, message string) string { return `{"code":"` + code + `","message":"` + message + `"` + data }
	failed := func(message string) string { return `{"success":false,"error":"` + message + `"` + data }
	plain := internal("server_error", "Internal server error")
	for name, want := range map[string]string{
		"booking": internal("server_error", "Failed to create booking"), "bookings": internal("server_error", "Failed to create booking"),
		"moved booking": internal("server_error", "Failed to update booking"), "deleted booking": internal("delete_error", "Failed to delete booking"),
		"customer": internal("server_error", "Failed to create customer"), "changed customer": internal("server_error", "Error updating customer"),
		"deleted customer": internal("delete_error", "Error deleting customer"), "service": plain, "changed service": plain,
		"payment": failed("Failed to create payment"), "changed payment": failed("Failed to update payment"), "deleted payment": failed("Failed to delete payment"),
		"order": plain, "transferred order": plain, "invoice": plain, "coupon": plain, "changed coupon": plain, "deleted coupon": internal("delete_error", "Failed to delete coupon"),
	} {
		request := writeRequests[name]
		a := s.write(request[0], request[1], request[2], "Idempotency-Key", name)
		if want = strings.ReplaceAll(want, "%s", a.header.Get("X-Request-Id")); a.status != http.StatusInternalServerError || string(a.body) != want {
			t.Errorf("%s: %d %s, want %s", name, a.status, a.body, want)
		}
	}
	bulk := s.write(http.MethodPost, "/bookings/bulk", `[`+friday()+`,{}]`).want(http.StatusBadRequest)
	if got := bulk.at("results", "errors", 0, "error"); got != "Internal error" {
		t.Errorf("bulk: %v", got)
	}
	wantNoWrites(t, "failed writes", before)
	if strings.Contains(s.log.String(), "secret") {
		t.Error("the log quotes the database")
	}
}

// shopBody is a body of services, payments, orders, invoices or coupons.
type shopBody struct {
	method, path string
	least        string            // the required fields of a new record
	fields       map[string]string // by the type of their value
}

var shopBodies = sync.OnceValue(func() map[string]shopBody {
	return map[string]shopBody{
		"new service": newShopBody(http.MethodPost, "/services", `"name":"Bath"`),
		"service":     newShopBody(http.MethodPut, "/services/4", ""),
		"new payment": newShopBody(http.MethodPost, "/payments", `"order_id":1403,"amount":1`),
		"payment":     newShopBody(http.MethodPut, "/payments/7", ""),
		"new order":   newShopBody(http.MethodPost, "/orders?force=true", `"customer_id":9,"subtotal":1,"total":1`),
		"order":       newShopBody(http.MethodPut, "/orders/10?force=true", ""),
		"invoice":     newShopBody(http.MethodPut, "/orders/10/invoices/10", ""),
		"new coupon":  newShopBody(http.MethodPost, "/coupons", `"code":"NEW","discount_type":"percent","discount_value":5`),
		"coupon":      newShopBody(http.MethodPut, "/coupons/OLD", ""),
	}
})

func newShopBody(method, path, least string) shopBody {
	route, _, _ := strings.Cut(path, "?")
	return shopBody{method, path, least, documentedFields(method, route)}
}

// forbiddenValues are values that are not allowed, by the type of the field.
var forbiddenValues = map[string]string{
	"count": "-5", "number": "-5", "id or none": "-5", "amount": "-5", "word": "-5", "text": tooLong, "needed text": tooLong, "code": tooLong,
}

var tooLong = `"` + strings.Repeat("ü", 40_000) + `"`

// paymentWords are the names that responses use for fields of a payment.
var paymentWords = map[string]string{
	"order_id": "order ID", "booking_id": "booking ID", "customer_id": "customer ID", "status": "payment status",
	"payment_method": "payment method", "payment_portion": "payment portion", "receipt_number": "receipt number",
}

// wantRejection checks for a rejection in the endpoint's own shape: payments report only the first
// field.
func (b shopBody) wantRejection(t testing.TB, where string, a answer, want rejection) {
	t.Helper()
	if !strings.HasPrefix(b.path, "/payments") {
		want.check(t, where, a)
		return
	}
	word := want.fields[0]
	if other, ok := paymentWords[word]; ok {
		word = other
	}
	if body := `{"success":false,"error":"Invalid ` + word + ` provided"}`; a.status != http.StatusBadRequest || string(a.body) != body {
		t.Errorf("%s: %d %.500s, want %s", where, a.status, a.body, body)
	}
}

// of returns the body with a field.
func (b shopBody) of(t testing.TB, field string) string { return mergeObjects(t, b.least, field) }

// newShop returns a writer on a site with a coupon, and a snapshot of its
// database.
func newShop(t testing.TB) (*server, *fixtures.Snapshot) {
	t.Helper()
	s := newWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.database.Execute(t, aCoupon)
	return s, s.database.Snapshot(t)
}

const aCoupon = "INSERT INTO wp_latepoint_coupons (id, code, discount_type, discount_value, status) VALUES (900, 'OLD', 'percent', 5, 'active')"

// TestInvalidShopFieldsAreNamed sends an invalid value in each field: the response names only that field, in the
// endpoint's own shape, and nothing is written.
func TestInvalidShopFieldsAreNamed(t *testing.T) {
	t.Parallel()
	s, before := newShop(t)
	for name, body := range shopBodies() {
		for field := range body.fields {
			body.wantRejection(t, name+" "+field, s.write(body.method, body.path, body.of(t, fmt.Sprintf("%q:[1]", field))), badRequest(field))
		}
	}
	wantNoWrites(t, "invalid fields", before)
}

// TestAllInvalidShopFieldsAreNamedTogether sends several invalid fields at the
// same time.
func TestAllInvalidShopFieldsAreNamedTogether(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, before := newShop(t)
	for name, body := range shopBodies() {
		names := slices.Sorted(maps.Keys(body.fields))
		lists, forbiddens := map[string]any{}, map[string]any{}
		var refusable []string
		for _, field := range names {
			lists[field] = []int{1}
			if value := forbiddenValues[body.fields[field]]; value != "" {
				forbiddens[field] = json.RawMessage(value)
				refusable = append(refusable, field)
			}
		}
		send := func(fields map[string]any) answer {
			t.Helper()
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			return s.write(body.method, body.path, mergeObjects(t, body.least, strings.Trim(string(text), "{}")))
		}
		if strings.HasPrefix(body.path, "/payments") {
			first := map[bool]string{true: "order_id", false: "amount"}[body.least != ""]
			body.wantRejection(t, name+": lists", send(lists), badRequest(first))
			body.wantRejection(t, name+": forbidden", send(forbiddens), badRequest("amount"))
			continue
		}
		badRequest(names...).check(t, name+": lists", send(lists))
		unprocessable(refusable...).check(t, name+": forbidden", send(forbiddens))
		forbiddens["status"] = []int{1}
		badRequest(refusable...).check(t, name+": both", send(forbiddens))
	}
	wantNoWrites(t, "bad bodies", before)
}

// TestReferencesToUnknownRecords: an id that does not exist is invalid, and so
// is one that does not fit its column.
func TestReferencesToUnknownRecords(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for _, c := range []struct{ body, field string }{
		{"new service", "category_id"}, {"service", "category_id"}, {"new order", "customer_id"}, {"order", "customer_id"},
		{"new payment", "order_id"}, {"new payment", "booking_id"}, {"new payment", "customer_id"},
	} {
		t.Run(c.body+" "+c.field, func(t *testing.T) {
			body := shopBodies()[c.body]
			for _, id := range []string{"999999", `"8388607"`} {
				a := s.write(body.method, body.path, body.of(t, fmt.Sprintf("%q:%s", c.field, id)))
				body.wantRejection(t, c.body+" "+c.field+" "+id, a, badRequest(c.field))
			}
		})
	}
	// A booking of an order other than the named one.
	if a := s.write(http.MethodPost, "/payments", `{"order_id":1403,"booking_id":10,"amount":1}`); string(a.body) != `{"success":false,"error":"Invalid booking ID provided"}` {
		t.Errorf("another order's booking: %s", a.body)
	}
	wantNoWrites(t, "unknown records", before)
}

// clearable are the fields that null clears; see TestNullIsNeverConfirmedInVain.
var clearable = []string{
	"token", "transaction_id", "coupon_code", "customer_comment", "ip_address", "source_id", "source_url",
	"max_discount_amount", "active_from", "active_to", "category_id", "description",
}

// TestNullEqualsNoField: in a new record, null is treated like a missing field, unless it clears the
// field; TestNullIsNeverConfirmedInVain has the changes.
func TestNullEqualsNoField(t *testing.T) {
	t.Parallel()
	s, before := newShop(t)
	for name, body := range shopBodies() {
		nulls := map[string]any{}
		for field := range body.fields {
			if !slices.Contains(clearable, field) && (field != "notes" || body.path != "/payments/7") {
				nulls[field] = nil
			}
		}
		text, err := json.Marshal(nulls)
		if err != nil {
			t.Fatal(err)
		}
		if body.least == "" {
			for _, nothing := range []string{"", "{}", "[]", `{"unknown":1}`} {
				if a := s.write(body.method, body.path, nothing).want(http.StatusOK); a.record()["id"] == nil {
					t.Errorf("%s: no record: %s", name, a.body)
				}
			}
			continue
		}
		var required map[string]any
		if err := json.Unmarshal([]byte("{"+body.least+"}"), &required); err != nil {
			t.Fatal(err)
		}
		for _, nothing := range []string{string(text), "", "{}"} {
			a := s.write(body.method, body.path, nothing)
			if body.path == "/payments" {
				if string(a.body) != `{"success":false,"error":"Missing required fields: order_id, amount"}` || a.status != http.StatusBadRequest {
					t.Errorf("%s: %d %s", name, a.status, a.body)
				}
				continue
			}
			badRequest(slices.Sorted(maps.Keys(required))...).check(t, name, a)
		}
	}
	wantNoWrites(t, "nothing", before)
}

// TestLongestTexts: a text that fills its column is stored, and one with one character more is rejected.
func TestLongestTexts(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	columns := map[string]map[string]string{
		"service": {
			"name": "latepoint_services.name", "short_description": "latepoint_services.short_description",
			"description": "latepoint_service_meta.meta_value", "customer_limit": "latepoint_service_meta.meta_value",
		},
		"payment": {
			"processor": "latepoint_transactions.processor", "payment_method": "latepoint_transactions.payment_method",
			"payment_portion": "latepoint_transactions.payment_portion", "kind": "latepoint_transactions.kind", "token": "latepoint_transactions.token",
			"notes": "latepoint_transactions.notes", "receipt_number": "latepoint_transactions.receipt_number",
		},
		"order": {
			"coupon_code": "latepoint_orders.coupon_code", "customer_comment": "latepoint_orders.customer_comment", "notes": "latepoint_order_meta.meta_value",
			"confirmation_code": "latepoint_orders.confirmation_code", "ip_address": "latepoint_orders.ip_address",
			"source_id": "latepoint_orders.source_id", "source_url": "latepoint_orders.source_url",
		},
		"coupon": {"code": "latepoint_coupons.code", "name": "latepoint_coupons.name", "description": "latepoint_coupons.description"},
	}
	s, before := newShop(t)
	for name, fields := range columns {
		for field, column := range fields {
			table, column, _ := strings.Cut(column, ".")
			var longest int
			err := s.database.SQL.QueryRowContext(t.Context(), "SELECT CHARACTER_MAXIMUM_LENGTH FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND COLUMN_NAME = ?",
				"wp_"+table, column).Scan(&longest)
			if err != nil {
				t.Fatalf("%s.%s: %v", table, column, err)
			}
			if longest > 1_000_000 {
				continue // no request can be that long
			}
			for _, which := range []string{name, "new " + name} {
				body, ok := shopBodies()[which]
				if _, takes := body.fields[field]; !ok || !takes {
					continue
				}
				where := fmt.Sprintf("%s %s of %d", which, field, longest)
				fits := s.write(body.method, body.path, body.of(t, fmt.Sprintf("%q:%q", field, strings.Repeat("x", longest))))
				if got := s.longest(t, table, column); fits.status >= http.StatusBadRequest || got != longest {
					t.Errorf("%s: %d, %d characters stored: %.300s", where, fits.status, got, fits.body)
				}
				before.Restore(t)
				body.wantRejection(t, where+" and one", s.write(body.method, body.path, body.of(t, fmt.Sprintf("%q:%q", field, strings.Repeat("x", longest+1)))), unprocessable(field))
				wantNoWrites(t, where, before)
			}
		}
	}
}

// longest returns the length of the longest text in a column.
func (s *server) longest(t testing.TB, table, column string) (n int) {
	t.Helper()
	s.database.Scan(t, "SELECT COALESCE(MAX(CHAR_LENGTH("+column+")), 0) FROM wp_"+table, &n)
	return n
}

// TestShopEmoji: emoji are stored if the columns can hold them, and rejected
// by tables with an older character set.
func TestShopEmoji(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, before := newShop(t)
	for name, body := range shopBodies() {
		for field, kind := range body.fields {
			if strings.Contains(kind, "text") {
				if a := s.write(body.method, body.path, body.of(t, fmt.Sprintf(`%q:"🎁 ü"`, field))); a.status >= http.StatusBadRequest {
					t.Errorf("%s %s: %s", name, field, a.body)
				}
				before.Restore(t)
			}
		}
	}
	for _, table := range []string{"services", "service_meta", "transactions", "orders", "order_meta", "coupons"} {
		s.database.Execute(t, "ALTER TABLE wp_latepoint_"+table+" CONVERT TO CHARACTER SET utf8mb3")
	}
	old := newServer(t, s.database)
	old.get("/status").want(http.StatusOK)
	before = old.database.Snapshot(t)
	for name, body := range shopBodies() {
		for field, kind := range body.fields {
			if strings.Contains(kind, "text") || kind == "code" {
				body.wantRejection(t, name+" "+field, old.write(body.method, body.path, body.of(t, fmt.Sprintf(`%q:"🎁"`, field))), unprocessable(field))
			}
		}
	}
	wantNoWrites(t, "emoji", before)
}

// TestShopTexts: texts are stored without tags, except harmless ones in the descriptions of a service.
func TestShopTexts(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, before := newShop(t)
	const sent = `"<script>alert(1)</script><i onclick=x>a</i>\u0000\u0007\r\nb <img src=x onerror=alert(1)>"`
	lines := map[string]bool{"customer_comment": true, "notes": true}
	for name, body := range shopBodies() {
		for field, kind := range body.fields {
			if !strings.Contains(kind, "text") {
				continue
			}
			want := "a\a b"
			switch {
			case strings.HasSuffix(name, "service") && strings.HasSuffix(field, "description"):
				want = "<i>a</i>\nb <img src=\"x\">"
			case lines[field], strings.HasSuffix(name, "coupon") && field == "description":
				want = "a\a\r\nb"
			}
			a := s.write(body.method, body.path, body.of(t, fmt.Sprintf("%q:%s", field, sent)))
			if got := a.record()[field]; got != want {
				t.Errorf("%s %s: %q, want %q", name, field, got, want)
			}
			before.Restore(t)
		}
	}
}

// TestPaymentAmounts: amounts are decimals from the request to the column, in
// every notation.
func TestPaymentAmounts(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	before := s.database.Snapshot(t)
	for sent, c := range map[string]struct{ stored, shown string }{
		`0.1`:                     {"0.1000", "0.1"},
		`"0.1"`:                   {"0.1000", "0.1"},
		`" 12.50 "`:               {"12.5000", "12.5"},
		`0`:                       {"0.0000", "0"},
		`0.0001`:                  {"0.0001", "0.0001"},
		`"9999999999999999.9999"`: {"9999999999999999.9999", "9999999999999999.9999"},
		`9007199254740993`:        {"9007199254740993.0000", "9007199254740993"},
		`1e3`:                     {"1000.0000", "1000"},
		`1e+15`:                   {"1000000000000000.0000", "1000000000000000"},
	} {
		t.Run(sent, func(t *testing.T) {
			for method, path := range map[string]string{http.MethodPost: "/payments", http.MethodPut: "/payments/3"} {
				a := s.write(method, path, `{"order_id":1403,"status":"failed","amount":`+sent+`}`)
				id := a.record()["id"]
				if got := a.record()["amount"]; got != c.shown {
					t.Errorf("%s %s: %v, want %s: %s", method, sent, got, c.shown, a.body)
				}
				if n := s.count("latepoint_transactions", fmt.Sprintf("id = %v AND CAST(amount AS CHAR) = '%s'", id, c.stored)); n != 1 {
					t.Errorf("%s %s is not stored as %s", method, sent, c.stored)
				}
				if read := s.get(fmt.Sprintf("/payments/%v", id)).want(http.StatusOK).at("data", "amount"); read != c.stored {
					t.Errorf("%s %s: read as %v, want %s", method, sent, read, c.stored)
				}
				before.Restore(t)
			}
		})
	}
	for _, sent := range []string{`null`, `""`, `"  "`} {
		if a := s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":`+sent+`}`); string(a.body) != `{"success":false,"error":"Missing required fields: amount"}` {
			t.Errorf("POST %s: %d %s", sent, a.status, a.body)
		}
		s.write(http.MethodPut, "/payments/3", `{"amount":`+sent+`}`).want(http.StatusBadRequest)
	}
	wantNoWrites(t, "amounts", before)
}

// TestAmountsAddUpExactly: 0.1 and 0.2 are exactly 0.3.
func TestAmountsAddUpExactly(t *testing.T) {
	t.Parallel()
	s := newWriter(t, fixtures.SiteA().WithFewBookings())
	s.database.Execute(t, "UPDATE wp_latepoint_orders SET total = 0.3 WHERE id = 1403")
	pay := func(amount, kind, want string) {
		t.Helper()
		s.write(http.MethodPost, "/payments", `{"order_id":1403,"amount":`+amount+`,"kind":"`+kind+`"}`).want(http.StatusCreated)
		if got := s.get("/orders/1403").at("payment_status"); got != want {
			t.Errorf("after %s of %s the order is %v, want %s", kind, amount, got, want)
		}
	}
	pay("0.1", "capture", "partially_paid")
	pay("0.1999", "capture", "partially_paid")
	pay("0.0001", "capture", "fully_paid")
	pay("0.1", "refund", "partially_refunded")
	pay("0.2", "refund", "refunded")
}
