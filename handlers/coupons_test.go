package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

var couponList = listing{path: "/coupons", from: "{coupons} k", order: "k.id DESC"}

func TestCoupons(t *testing.T) {
	s := sharedServer(t, fixtures.SiteA().WithCoupons())
	golden(t, "coupon", s.get("/coupons/WELCOME10").want(http.StatusOK).body)
	golden(t, "coupon_list", s.get("/coupons").want(http.StatusOK).body)
	couponList.pages(t, s)
	couponList.finds(t, s, []find{
		{query: ""},
		{query: "status=active", where: "k.id <> 3"},
		{query: "status=INACTIVE", where: "k.id = 3"},
		{query: "search=come1", where: "k.id = 1"},
		{query: "search=sale", where: "k.id = 3"},
		{query: "search=customers", none: true}, // is in the description
		{query: "search=e&status=inactive", where: "k.id = 3"},
		{query: "search=%25", none: true},
	})
	wantInvalidParameters(t, "the stored word", s.get("/coupons?status=disabled"), "status")
	wantInvalidParameters(t, "several", s.get("/coupons?status=foo&page=0&per_page=1000"), "status", "page", "per_page")
}

// TestCouponUsage compares the usage of each coupon with its orders, not
// counting cancelled ones.
func TestCouponUsage(t *testing.T) {
	t.Parallel()
	for name, site := range map[string]fixtures.Site{"small": fixtures.Small(now), "edge": fixtures.Edge()} {
		t.Run(name, func(t *testing.T) {
			s := sharedServer(t, site)
			want := s.texts(`SELECT CONCAT_WS(' ', k.code, COUNT(o.id), CAST(COALESCE(SUM(o.coupon_discount), 0) AS DECIMAL(20,4)), COALESCE(MAX(o.created_at), 'n/a'))
				FROM {coupons} k LEFT JOIN {orders} o ON o.coupon_code = k.code AND o.status <> 'cancelled'
				GROUP BY k.id, k.code ORDER BY k.id DESC`)
			got := []string{}
			used := 0
			for _, c := range s.get("/coupons").want(http.StatusOK).records() {
				got = append(got, fmt.Sprintf("%s %s", c["code"], usageOf(t, c)))
				if c["usage_count"] != json.Number("0") {
					used++
				}
			}
			expect.Equal(t, want, got, "usage")
			if used == 0 {
				t.Error("no coupon was used: the case proves nothing")
			}
		})
	}
}

// TestCouponUsageIgnoresAccents: the plugin accepts a code that differs from the coupon's in accents. Such
// orders count and are listed. The staff form stores discounts as negative.
func TestCouponUsageIgnoresAccents(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Edge())
	database.Execute(t, "UPDATE wp_latepoint_orders SET coupon_code = CASE id WHEN 1 THEN 'äöü' WHEN 3 THEN 'AOU' END, coupon_discount = CASE id WHEN 1 THEN 7.5 WHEN 3 THEN -2 END, created_at = '2026-11-09 10:00:00'")
	a := newServer(t, database).get("/coupons/" + url.PathEscape("ÄÖÜ")).want(http.StatusOK)
	if got := idsOf(a.at("data", "recent_orders")); a.at("data", "usage_count") != json.Number("2") || !cmp.Equal(got, []string{"3", "1"}) {
		t.Errorf("used %v times, recent orders %v", a.at("data", "usage_count"), got)
	}
	expect.Equal(t, "9.5", fmt.Sprint(a.at("data", "total_discount")), "discounts")
}

// usageOf formats the usage of a coupon like the tests' SQL.
func usageOf(t *testing.T, coupon map[string]any) string {
	t.Helper()
	discount, err := decimal.NewFromString(coupon["total_discount"].(json.Number).String())
	expect.NoError(t, err)
	return fmt.Sprintf("%s %s %s", coupon["usage_count"], discount.StringFixed(4), coupon["last_usage_date"])
}

// TestRecentOrdersOfACoupon: the ten latest orders of a coupon, as in the list
// of orders.
func TestRecentOrdersOfACoupon(t *testing.T) {
	s := smallServer(t)
	a := s.get("/coupons/WELCOME10").want(http.StatusOK)
	want := s.texts("SELECT id FROM {orders} WHERE coupon_code = 'WELCOME10' ORDER BY created_at DESC, id DESC LIMIT 10")
	expect.Equal(t, want, idsOf(a.at("data", "recent_orders")), "recent orders")
	orders := s.get("/orders?coupon_code=WELCOME10").want(http.StatusOK)
	expect.Equal(t, orders.at("data"), a.at("data", "recent_orders"), "orders differ from their list")
}

// TestCouponCodes reads coupons by their code in the spellings that clients use.
func TestCouponCodes(t *testing.T) {
	s := sharedServer(t, fixtures.Edge())
	for path, want := range map[string]string{
		"EDGE10":             "1",
		"edge10":             "1",
		"%20edge10%20":       "1",
		"e%64ge10":           "1",
		"EDGE10/":            "1",
		"100%25_SURE":        "4",
		"%C3%84%C3%96%C3%9C": "5",
		"A%2FB%20C":          "6",
		"A%2FB%20C?x=%2F":    "6",
	} {
		expect.Equal[any](t, want, s.get("/coupons/"+path).want(http.StatusOK).at("data", "id"), fmt.Sprintf("the coupon of %s", path))
	}
	for path, code := range map[string]string{
		"nobody":                  "NOBODY",
		"%C3%89DGE10":             "ÉDGE10", // not the code without accents
		"1":                       "1",
		"%3Cb%3E%22%5C":           `<B>\"\\`,
		"%F0%9F%8E%81":            "🎁",
		strings.Repeat("x", 8000): strings.Repeat("X", 8000),
	} {
		a := s.get("/coupons/" + path).want(http.StatusNotFound)
		want := `{"status":"error","error":{"code":"coupon_not_found","message":"Coupon with code ` + code + ` was not found"}}`
		expect.Equal(t, want, string(a.body), fmt.Sprintf("%.100s: %.500s", path, a.body))
	}
	// Invalid text, or text that no column could hold.
	for _, path := range []string{"%FF", "%C3", "A%00B", "%20", "EDGE10%0A%00"} {
		a := s.get("/coupons/" + path).want(http.StatusNotFound)
		expect.Equal(t, "coupon_not_found", a.at("error", "code"), fmt.Sprintf("%s: %s", path, a.body))
	}
	// An unencoded slash separates two segments of the path.
	for _, path := range []string{"A/B%20C", "EDGE10/orders", "A%2FB%20C/orders", "EDGE10//orders", "/EDGE10"} {
		expect.Equal(t, "rest_no_route", s.get("/coupons/"+path).want(http.StatusNotFound).at("code"), fmt.Sprintf("%s: code", path))
	}
}

func TestCouponsOfTheEdgeSite(t *testing.T) {
	s := sharedServer(t, fixtures.Edge())
	couponList.pages(t, s)
	couponList.finds(t, s, []find{
		{query: "status=active", where: "k.id <= 4"},
		{query: "search=100%25_", where: "k.id = 4"},
		{query: "search=🎁", where: "k.id = 4"},
		{query: "search=/", where: "k.id IN (4, 6)"},
	})
}

// TestReadableDiscount: fixed amounts are formatted like the site's prices.
func TestReadableDiscount(t *testing.T) {
	s := ownServer(t, fixtures.Small(now))
	set := func(name, value string) string {
		return fmt.Sprintf("UPDATE wp_latepoint_settings SET value = '%s' WHERE name = '%s'", value, name)
	}
	for _, step := range []struct {
		statements []string
		want       string
	}{
		{nil, "5 €"},
		{[]string{"UPDATE wp_latepoint_coupons SET discount_value = 1234.5 WHERE id = 2"}, "1,234.50 €"},
		{[]string{"INSERT INTO wp_latepoint_settings (name, value) VALUES ('thousand_separator', '.'), ('decimal_separator', ',')"}, "1.234,50 €"},
		{[]string{set("number_of_decimals", "0"), set("currency_symbol_after", ""), set("currency_symbol_before", "¥")}, "¥1.235"},
		{[]string{set("number_of_decimals", "many")}, "¥1.234,50"},
		{[]string{"UPDATE wp_latepoint_settings SET value = NULL"}, "1,235"},
		{[]string{set("number_of_decimals", "1"), set("currency_symbol_after", "€")}, "1,234.5€"},
		{[]string{"DELETE FROM wp_latepoint_settings"}, "$1,234.50"},
	} {
		s.database.Execute(t, step.statements...)
		s.wantFields(t, "/coupons/PARK5", map[string]any{"readable_discount": step.want})
		expect.Equal[any](t, step.want, s.get("/coupons?search=park5").at("data", 0, "readable_discount"), "in the list")
	}
	s.database.Execute(t, "UPDATE wp_latepoint_coupons SET discount_value = 12.5000 WHERE id = 1")
	s.wantFields(t, "/coupons/WELCOME10", map[string]any{"readable_discount": "12.5%", "discount_value": json.Number("12.5")})
}
