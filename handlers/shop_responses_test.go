package handlers_test

import (
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

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
	badRequest("force").check(t, "maybe", s.write(http.MethodPut, path+"?force=maybe", `{"status":"paid"}`))
	wantNoWrites(t, "unforced", before)
	for _, forced := range [][2]string{{"?force=true", ""}, {"", `,"force":"yes"`}} {
		if a := s.write(http.MethodPut, path+forced[0], `{"status":"paid"`+forced[1]+`}`).want(http.StatusOK); a.at("data", "status") != "paid" {
			t.Errorf("%v: %s", forced, a.body)
		}
		before.Restore(t)
	}
}
