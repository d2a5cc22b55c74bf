package records_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers/apitest"
)

// fieldsOfTheirOwn are fields of bodies that do not have a value like others: force, and another name for token.
var fieldsOfTheirOwn = []string{"force", "transaction_id"}

// documentedFields returns the fields of a write's body, and whether they take any text.
func documentedFields(method, path string) map[string]bool {
	c := apitest.TheContract()
	route, _, err := c.Router.FindRoute(httptest.NewRequestWithContext(context.Background(), method, "/v1"+path, nil))
	if err != nil {
		panic(err)
	}
	fields := map[string]bool{}
	for name, property := range bodyProperties(route.Operation) {
		if !slices.Contains(fieldsOfTheirOwn, name) {
			fields[name] = apitest.FreeText(property.Value)
		}
	}
	return fields
}

func bodyProperties(operation *openapi3.Operation) openapi3.Schemas {
	if operation.RequestBody == nil {
		return nil
	}
	return operation.RequestBody.Value.Content["application/json"].Schema.Value.Properties
}

// fields returns some members of data with their types.
func fields(a apitest.Answer, names ...string) map[string]any {
	a.T.Helper()
	all, ok := a.At("data").(map[string]any)
	if !ok {
		a.T.Fatalf("data is not an object: %.500s", a.Body)
	}
	some := map[string]any{}
	for _, name := range names {
		value, ok := all[name]
		if !ok {
			a.T.Fatalf("no %q: %.1000s", name, a.Body)
		}
		some[name] = fmt.Sprintf("%T %v", value, value)
	}
	return some
}

// wantFieldsOf compares types and values of some members of data.
func wantFieldsOf(t *testing.T, a apitest.Answer, want map[string]any) {
	t.Helper()
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	expect.Equal(t, want, fields(a, names...), "record")
}

// TestShopOfEverySite makes, changes and deletes records of the shop on sites of every kind.
func TestShopOfEverySite(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	for name, site := range map[string]fixtures.Site{"legacy": fixtures.Legacy(), "edge": fixtures.Edge(), "prefixed": fixtures.Prefixed(), "half hour": fixtures.HalfHour()} {
		t.Run(name, func(t *testing.T) {
			s := apitest.OwnWriter(t, site)
			created := func(path, body string) string {
				t.Helper()
				return path + "/" + fmt.Sprint(record(s.Write(http.MethodPost, path, body).Want(http.StatusCreated))["id"])
			}
			service := created("/services", `{"name":"Bath","description":"Warm","customer_limit":"3","charge_amount":"19.90"}`)
			customer := created("/customers", `{"first_name":"Rita","last_name":"Neu"}`)
			order := created("/orders", `{"customer_id":`+customer[len("/customers/"):]+`,"subtotal":20,"total":20,"notes":"inside","discount_total":1}`)
			payment := created("/payments", `{"order_id":`+order[len("/orders/"):]+`,"amount":"19.99"}`)
			for _, change := range [][2]string{{service, `{"description":"Hot","duration":90}`}, {payment, `{"amount":20,"notes":"all"}`}, {order, `{"fulfillment_status":"fulfilled"}`}} {
				s.Write(http.MethodPut, change[0], change[1]).Want(http.StatusOK)
			}
			if a := s.Get(order); a.At("payment_status") != "fully_paid" || a.At("notes") != "inside" {
				t.Errorf("order %s", a.Body)
			}
			for _, invoice := range s.Get(order + "/invoices").Want(http.StatusOK).Records() {
				s.Write(http.MethodPut, fmt.Sprintf("%s/invoices/%v", order, invoice["id"]), `{"status":"void"}`).Want(http.StatusOK)
			}
			s.Write(http.MethodPut, payment, `{"status":"failed"}`).Want(http.StatusOK)
			expect.Equal(t, "Payment deleted successfully", s.Write(http.MethodDelete, payment, "").Want(http.StatusOK).At("message"), "message")
		})
	}
}

// TestResponsesToShopWrites compares whole responses: the order of keys, and
// which numbers are texts.
func TestResponsesToShopWrites(t *testing.T) {
	s := apitest.OwnWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.OldCoupon)
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
		status := map[string]int{http.MethodPost: http.StatusCreated, http.MethodPut: http.StatusOK}[c.method]
		apitest.Golden(t, c.name, s.Write(c.method, c.path, c.body).Want(status).Body)
	}
}

// shopBody is a body of services, payments, orders, invoices or coupons.
type shopBody struct {
	method, path string
	least        string          // the required fields of a new record
	fields       map[string]bool // whether they take any text
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

// paymentWords are the names that responses use for fields of a payment.
var paymentWords = map[string]string{
	"order_id": "order ID", "booking_id": "booking ID", "customer_id": "customer ID", "status": "payment status",
	"payment_method": "payment method", "payment_portion": "payment portion", "receipt_number": "receipt number",
}

// wantRejection checks for a rejection in the endpoint's own shape: payments report only the first
// field.
func (b shopBody) wantRejection(t testing.TB, where string, a apitest.Answer, want apitest.Rejection) {
	t.Helper()
	if !strings.HasPrefix(b.path, "/payments") {
		want.Check(t, where, a)
		return
	}
	word := want.Fields[0]
	if other, ok := paymentWords[word]; ok {
		word = other
	}
	if body := `{"success":false,"error":"Invalid ` + word + ` provided"}`; a.Status != http.StatusBadRequest || string(a.Body) != body {
		t.Errorf("%s: %d %.500s, want %s", where, a.Status, a.Body, body)
	}
}

// of returns the body with a field.
func (b shopBody) of(t testing.TB, field string) string { return mergeObjects(t, b.least, field) }

// record returns the record in a response, wrapped or bare.
func record(a apitest.Answer) map[string]any {
	a.T.Helper()
	all := a.Object()
	if data, ok := all["data"].(map[string]any); ok {
		return data
	}
	return all
}

// mergeObjects returns an object with the members of both; the second one's win.
func mergeObjects(t testing.TB, first, second string) string {
	t.Helper()
	members := map[string]json.RawMessage{}
	for _, text := range []string{first, second} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &members); err != nil {
			t.Fatalf("{%s}: %v", text, err)
		}
	}
	text, err := json.Marshal(members)
	expect.NoError(t, err)
	return string(text)
}

// newShop returns a writer on a site with a coupon, and a snapshot of its
// database.
func newShop(t *testing.T) (*apitest.Server, *fixtures.Snapshot) {
	t.Helper()
	t.Parallel()
	s := apitest.NewWriter(t, fixtures.SiteA().WithCoupons().WithFewBookings())
	s.Database.Execute(t, apitest.OldCoupon)
	return s, s.Database.Snapshot(t)
}

// TestInvalidShopFieldsAreNamed sends an invalid value in each field: the response names only that field, in the
// endpoint's own shape, and nothing is written.
func TestInvalidShopFieldsAreNamed(t *testing.T) {
	s, before := newShop(t)
	for name, body := range shopBodies() {
		for field := range body.fields {
			body.wantRejection(t, name+" "+field, s.Write(body.method, body.path, body.of(t, fmt.Sprintf("%q:[1]", field))), apitest.BadRequest(field))
		}
	}
	apitest.WantNoWrites(t, "invalid fields", before)
}

// TestShopTexts: texts are stored without tags, except harmless ones in the descriptions of a service.
func TestShopTexts(t *testing.T) {
	fixtures.SkipUnderRace(t)
	s, before := newShop(t)
	const sent = `"<script>alert(1)</script><i onclick=x>a</i>\u0000\u0007\r\nb <img src=x onerror=alert(1)>"`
	lines := map[string]bool{"customer_comment": true, "notes": true}
	for name, body := range shopBodies() {
		for field, text := range body.fields {
			if !text {
				continue
			}
			want := "a\a b"
			switch {
			case strings.HasSuffix(name, "service") && strings.HasSuffix(field, "description"):
				want = "<i>a</i>\nb <img src=\"x\">"
			case field == "code":
				want = "A\a B"
			case lines[field], strings.HasSuffix(name, "coupon") && field == "description":
				want = "a\a\r\nb"
			}
			a := s.Write(body.method, body.path, body.of(t, fmt.Sprintf("%q:%s", field, sent)))
			expect.Equal[any](t, want, record(a)[field], fmt.Sprintf("%s %s", name, field))
			before.Restore(t)
		}
	}
}
