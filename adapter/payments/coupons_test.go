package payments

import (
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// limits are the parsed rules in a comparable form.
type limits struct {
	Total int64
	Least string
	Most  string // "" for none
}

func limitsOf(r CouponRules) limits {
	l := limits{Total: r.LimitTotal, Least: r.MinOrderAmount.String()}
	if r.MaxDiscountAmount != nil {
		l.Most = r.MaxDiscountAmount.String()
	}
	return l
}

func TestCouponRules(t *testing.T) {
	t.Parallel()
	none := limits{Least: "0"}
	tests := []struct {
		name, stored string
		want         limits
	}{
		{"column is NULL", "", none},
		{"no rules", `{}`, none},
		{"PHP's empty array", `[]`, none},
		{"null", `null`, none},
		{"a number", `7`, none},
		{"strings, as the add-on writes them", `{"limit_total":"100","limit_per_customer":"1"}`, limits{Total: 100, Least: "0"}},
		{"numbers", `{"limit_total":3,"min_order_amount":50.5,"max_discount_amount":20}`, limits{Total: 3, Least: "50.5", Most: "20"}},
		{"amounts as strings", `{"min_order_amount":"49.9900","max_discount_amount":"0.5"}`, limits{Least: "49.99", Most: "0.5"}},
		{"a cap of zero is a cap", `{"max_discount_amount":0}`, limits{Least: "0", Most: "0"}},
		{"unset values", `{"limit_total":"","min_order_amount":"","max_discount_amount":null}`, none},
		{"words", `{"limit_total":"many","max_discount_amount":"none"}`, none},
		{"other types", `{"limit_total":true,"min_order_amount":[50],"max_discount_amount":{"a":1}}`, none},
		{"a fraction of a use", `{"limit_total":"10.9"}`, limits{Total: 10, Least: "0"}},
		{"the last of two counts", `{"limit_total":1,"limit_total":2}`, limits{Total: 2, Least: "0"}},
		{"the case of names counts", `{"Limit_Total":1}`, none},
		{"cut off", `{"limit_total":"5"`, none},
		{"something behind", `{"limit_total":"5"} x`, none},
		{"two objects", `{"limit_total":"5"}{}`, none},
		{"blanks around", " {\"limit_total\":\"5\"}\n", limits{Total: 5, Least: "0"}},
		{"an exponent", `{"limit_total":"1e9","min_order_amount":1E400,"max_discount_amount":"1e999999999"}`, none},
		{"more uses than can be counted", `{"limit_total":"99999999999999999999"}`, none},
		{"as many digits as can be", `{"min_order_amount":"100000000000000000000000"}`, limits{Least: "100000000000000000000000"}},
		{"more digits than any amount", `{"min_order_amount":"1000000000000000000000000000000"}`, none},
	}
	for _, test := range tests {
		rules := CouponRules{Stored: test.stored}
		rules.parse()
		expect.Equal(t, test.want, limitsOf(rules), test.name, ": limits of ", test.stored)
		expect.Equal(t, test.stored, rules.Stored, test.name, ": the stored text became")
	}
}

func TestCouponIsPercent(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]bool{"percent": true, "fixed": false, "fixed_amount": false, "": false, "bogus": false} {
		expect.Equal(t, want, (Coupon{DiscountType: stored}).IsPercent(), stored)
	}
}
