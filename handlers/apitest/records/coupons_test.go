package records_test

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
	"github.com/bookside/bookside/handlers/apitest"
)

var couponList = listing{path: "/coupons", from: "{coupons} k", order: "k.id DESC"}

func TestCoupons(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA().WithCoupons())
	apitest.Golden(t, "coupon", s.Get("/coupons/WELCOME10").Want(http.StatusOK).Body)
	apitest.Golden(t, "coupon_list", s.Get("/coupons").Want(http.StatusOK).Body)
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
	apitest.WantInvalidParameters(t, "the stored word", s.Get("/coupons?status=disabled"), "status")
	apitest.WantInvalidParameters(t, "several", s.Get("/coupons?status=foo&page=0&per_page=1000"), "status", "page", "per_page")
}

// TestCouponUsage compares the usage of each coupon with its orders, not
// counting cancelled ones.
func TestCouponUsage(t *testing.T) {
	t.Parallel()
	for name, site := range map[string]fixtures.Site{"small": fixtures.Small(apitest.Now), "edge": fixtures.Edge()} {
		t.Run(name, func(t *testing.T) {
			s := apitest.Shared(t, site)
			want := s.Texts(`SELECT CONCAT_WS(' ', k.code, COUNT(o.id), CAST(COALESCE(SUM(o.coupon_discount), 0) AS DECIMAL(20,4)), COALESCE(MAX(o.created_at), 'n/a'))
				FROM {coupons} k LEFT JOIN {orders} o ON o.coupon_code = k.code AND o.status <> 'cancelled'
				GROUP BY k.id, k.code ORDER BY k.id DESC`)
			got := []string{}
			used := 0
			for _, c := range s.Get("/coupons").Want(http.StatusOK).Records() {
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
	a := apitest.NewServer(t, database).Get("/coupons/" + url.PathEscape("ÄÖÜ")).Want(http.StatusOK)
	if got := apitest.IDsOf(a.At("data", "recent_orders")); a.At("data", "usage_count") != json.Number("2") || !cmp.Equal(got, []string{"3", "1"}) {
		t.Errorf("used %v times, recent orders %v", a.At("data", "usage_count"), got)
	}
	expect.Equal(t, "9.5", fmt.Sprint(a.At("data", "total_discount")), "discounts")
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
	s := apitest.Small(t)
	a := s.Get("/coupons/WELCOME10").Want(http.StatusOK)
	want := s.Texts("SELECT id FROM {orders} WHERE coupon_code = 'WELCOME10' ORDER BY created_at DESC, id DESC LIMIT 10")
	expect.Equal(t, want, apitest.IDsOf(a.At("data", "recent_orders")), "recent orders")
	orders := s.Get("/orders?coupon_code=WELCOME10").Want(http.StatusOK)
	expect.Equal(t, orders.At("data"), a.At("data", "recent_orders"), "orders differ from their list")
}

// TestCouponCodes reads coupons by their code in the spellings that clients use.
func TestCouponCodes(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
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
		expect.Equal[any](t, want, s.Get("/coupons/"+path).Want(http.StatusOK).At("data", "id"), fmt.Sprintf("the coupon of %s", path))
	}
	for path, code := range map[string]string{
		"nobody":                  "NOBODY",
		"%C3%89DGE10":             "ÉDGE10", // not the code without accents
		"1":                       "1",
		"%3Cb%3E%22%5C":           `<B>\"\\`,
		"%F0%9F%8E%81":            "🎁",
		strings.Repeat("x", 8000): strings.Repeat("X", 8000),
	} {
		a := s.Get("/coupons/" + path).Want(http.StatusNotFound)
		want := `{"status":"error","error":{"code":"coupon_not_found","message":"Coupon with code ` + code + ` was not found"}}`
		expect.Equal(t, want, string(a.Body), fmt.Sprintf("%.100s: %.500s", path, a.Body))
	}
	// Invalid text, or text that no column could hold.
	for _, path := range []string{"%FF", "%C3", "A%00B", "%20", "EDGE10%0A%00"} {
		a := s.Get("/coupons/" + path).Want(http.StatusNotFound)
		expect.Equal(t, "coupon_not_found", a.At("error", "code"), fmt.Sprintf("%s: %s", path, a.Body))
	}
	// An unencoded slash separates two segments of the path.
	for _, path := range []string{"A/B%20C", "EDGE10/orders", "A%2FB%20C/orders", "EDGE10//orders", "/EDGE10"} {
		expect.Equal(t, "rest_no_route", s.Get("/coupons/"+path).Want(http.StatusNotFound).At("code"), fmt.Sprintf("%s: code", path))
	}
}

func TestCouponsOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
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
	s := apitest.Own(t, fixtures.Small(apitest.Now))
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
		s.Database.Execute(t, step.statements...)
		s.WantFields(t, "/coupons/PARK5", map[string]any{"readable_discount": step.want})
		expect.Equal[any](t, step.want, s.Get("/coupons?search=park5").At("data", 0, "readable_discount"), "in the list")
	}
	s.Database.Execute(t, "UPDATE wp_latepoint_coupons SET discount_value = 12.5000 WHERE id = 1")
	s.WantFields(t, "/coupons/WELCOME10", map[string]any{"readable_discount": "12.5%", "discount_value": json.Number("12.5")})
}
