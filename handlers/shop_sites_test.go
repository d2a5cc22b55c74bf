package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

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
