package payments

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// TestCouponUnusable covers the add-on's conditions (OsCouponsHelper::is_coupon_code_valid) on 26 November
// 2026: once its last day has begun, a coupon has expired.
func TestCouponUnusable(t *testing.T) {
	t.Parallel()
	const (
		inactive = "This coupon is not active"
		early    = "This coupon is not valid yet"
		expired  = "This coupon has expired"
		items    = "This coupon is for other agents, services or bundles"
		small    = "The order's subtotal is too small for this coupon"
	)
	now := time.Date(2026, time.November, 26, 23, 30, 0, 0, time.UTC)
	booking := records.OrderItem{Variant: "booking", ItemData: `{"agent_id":"2","service_id":4,"bundle_id":""}`}
	bundle := records.OrderItem{Variant: records.BundleItem, ItemData: `{"bundle_id":1,"agent_id":3}`}
	for name, c := range map[string]struct {
		coupon Coupon
		rules  string
		use    CouponUse
		want   string
	}{
		"no conditions":                         {Coupon{}, "", CouponUse{}, ""},
		"in capitals":                           {Coupon{Status: "Active"}, "", CouponUse{}, ""},
		"switched off":                          {Coupon{Status: "disabled"}, "", CouponUse{}, inactive},
		"switched off, of an order that had it": {Coupon{Status: "disabled"}, "", CouponUse{Order: 1, Had: true}, ""},
		"from today":                            {Coupon{ActiveFrom: "2026-11-26"}, "", CouponUse{}, ""},
		"from tomorrow":                         {Coupon{ActiveFrom: "2026-11-27"}, "", CouponUse{}, early},
		"from tomorrow, of an old order":        {Coupon{ActiveFrom: "2026-11-27"}, "", CouponUse{Order: 1}, ""},
		"without a first day":                   {Coupon{ActiveFrom: domain.ZeroDate, ActiveTo: domain.ZeroDate}, "", CouponUse{}, ""},
		"to tomorrow":                           {Coupon{ActiveTo: "2026-11-27"}, "", CouponUse{}, ""},
		"to today":                              {Coupon{ActiveTo: "2026-11-26"}, "", CouponUse{}, expired},
		"to today, of an old order":             {Coupon{ActiveTo: "2026-11-26"}, "", CouponUse{Order: 1}, ""},
		"for the customer":                      {Coupon{}, `{"customer_ids":"3,7"}`, CouponUse{Customer: 7}, ""},
		"for the customer, and others":          {Coupon{}, `{"customer_ids":"10,90"}`, CouponUse{Customer: 90}, ""},
		"for others":                            {Coupon{}, `{"customer_ids":"3,7"}`, CouponUse{Customer: 37}, forOtherCustomers},
		"for others, of an order that had it":   {Coupon{}, `{"customer_ids":"3,7"}`, CouponUse{Customer: 37, Had: true}, forOtherCustomers},
		"for the agent":                         {Coupon{}, `{"agent_ids":"2"}`, CouponUse{Items: []records.OrderItem{booking}}, ""},
		"for another agent":                     {Coupon{}, `{"agent_ids":"3"}`, CouponUse{Items: []records.OrderItem{booking, bundle}}, items},
		"for the agent, and another service":    {Coupon{}, `{"agent_ids":"2","service_ids":[5]}`, CouponUse{Items: []records.OrderItem{booking}}, items},
		"for the service, as a list":            {Coupon{}, `{"service_ids":[5,4]}`, CouponUse{Items: []records.OrderItem{booking}}, ""},
		"for the service, as texts":             {Coupon{}, `{"service_ids":["5","4"]}`, CouponUse{Items: []records.OrderItem{booking}}, ""},
		"for the bundle":                        {Coupon{}, `{"bundle_ids":"1"}`, CouponUse{Items: []records.OrderItem{booking, bundle}}, ""},
		"for another bundle":                    {Coupon{}, `{"bundle_ids":"2"}`, CouponUse{Items: []records.OrderItem{booking, bundle}}, items},
		"for a bundle or the agent":             {Coupon{}, `{"bundle_ids":"2","agent_ids":"2"}`, CouponUse{Items: []records.OrderItem{booking, bundle}}, ""},
		"for another bundle or agent":           {Coupon{}, `{"bundle_ids":"2","agent_ids":"3"}`, CouponUse{Items: []records.OrderItem{booking, bundle}}, items},
		"for the agent, of an item without":     {Coupon{}, `{"agent_ids":"2"}`, CouponUse{Items: []records.OrderItem{{Variant: "booking", ItemData: `{}`}, {ItemData: "{"}}}, items},
		"of a subtotal that is enough":          {Coupon{}, `{"minimum_order_subtotal":"50"}`, CouponUse{Subtotal: decimal.NewFromInt(50)}, ""},
		"of a subtotal that is too small":       {Coupon{}, `{"minimum_order_subtotal":"50"}`, CouponUse{Subtotal: decimal.RequireFromString("49.9999")}, small},
		"of the greater of two least":           {Coupon{}, `{"minimum_order_subtotal":"5","min_order_amount":50}`, CouponUse{Subtotal: decimal.NewFromInt(49)}, small},
		"rules that are no JSON":                {Coupon{}, `{"customer_ids":"3"`, CouponUse{Customer: 7}, ""},
	} {
		if c.coupon.Status == "" {
			c.coupon.Status = couponActive
		}
		c.coupon.Rules.Stored = c.rules
		c.coupon.Rules.parse()
		expect.Equal(t, c.want, c.coupon.unusable(c.use, now), name)
	}
}

// TestCouponUsed: a coupon can be used as often as the rules allow, counting the other orders.
func TestCouponUsed(t *testing.T) {
	t.Parallel()
	const (
		spent = "This coupon has been used as often as it may be"
		own   = "The customer has used this coupon as often as they may"
		few   = "The customer has too few orders for this coupon"
		many  = "The customer has too many orders for this coupon"
	)
	for name, c := range map[string]struct {
		rules               string
		use                 CouponUse
		all, theirs, orders int64 // uses, uses of the customer, orders of the customer
		want                string
	}{
		"no rules":                             {`{}`, CouponUse{}, 9, 9, 9, ""},
		"the last use":                         {`{"limit_total":"3"}`, CouponUse{}, 2, 0, 0, ""},
		"one too many":                         {`{"limit_total":"3"}`, CouponUse{}, 3, 0, 0, spent},
		"of an order that had it":              {`{"limit_total":"3"}`, CouponUse{Had: true}, 3, 0, 0, ""},
		"of one that had it and was cancelled": {`{"limit_total":"3"}`, CouponUse{Had: true, Cancelled: true}, 3, 0, 0, spent},
		"the customer's last use":              {`{"limit_per_customer":"1"}`, CouponUse{}, 5, 0, 0, ""},
		"one too many of the customer":         {`{"limit_per_customer":"1"}`, CouponUse{}, 5, 1, 1, own},
		"more than one order":                  {`{"orders_more":"1"}`, CouponUse{}, 0, 0, 2, ""},
		"one order":                            {`{"orders_more":"1"}`, CouponUse{}, 0, 0, 1, few},
		"one order, of one that had it":        {`{"orders_more":"1"}`, CouponUse{Had: true}, 0, 0, 1, ""},
		"one order, of one that moves":         {`{"orders_more":"1"}`, CouponUse{Had: true, Moved: true}, 0, 0, 1, few},
		"less than two orders":                 {`{"orders_less":"2"}`, CouponUse{}, 0, 0, 1, ""},
		"two orders":                           {`{"orders_less":"2"}`, CouponUse{}, 0, 0, 2, many},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.Mock(t)
			mock.ExpectQuery("SELECT").WillReturnRows(sqlmock.NewRows([]string{"all", "theirs", "orders"}).AddRow(c.all, c.theirs, c.orders))
			rules := CouponRules{Stored: c.rules}
			rules.parse()
			got, err := couponUsed(t.Context(), &session.Session{DB: db}, Coupon{Rules: rules}, c.use)
			if got != c.want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestCouponConditions(t *testing.T) {
	t.Parallel()
	got := CouponRules{Stored: `{"limit_per_customer":"2","orders_more":3.9,"orders_less":"x","agent_ids":[],"service_ids":" 4 , 5","customer_ids":null}`}.conditions()
	want := couponConditions{services: []string{"4", "5"}, perCustomer: 2, more: 3}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(couponConditions{}), cmp.Transformer("list", func(s []string) string { return strings.Join(s, ",") })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCouponRulesToStore: what was sent changes, as text; the other rules and their order stay.
func TestCouponRulesToStore(t *testing.T) {
	t.Parallel()
	amount := func(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }
	const stored = `{"limit_total":"5","agent_ids":"2","min_order_amount":"10","max_discount_amount":"20"}`
	for name, c := range map[string]struct {
		stored string
		patch  CouponPatch
		want   string
	}{
		"nothing sent":        {stored, CouponPatch{}, stored},
		"nothing else sent":   {stored, CouponPatch{UsageLimit: new(int64(5)), MinOrderAmount: amount("10.00"), MaxDiscountAmount: amount("20.0")}, stored},
		"another limit":       {stored, CouponPatch{UsageLimit: new(int64(6))}, strings.Replace(stored, `"5"`, `"6"`, 1)},
		"no limit":            {stored, CouponPatch{UsageLimit: new(int64)}, strings.Replace(stored, `"5"`, `""`, 1)},
		"a limit of one":      {"", CouponPatch{UsageLimit: new(int64(1))}, `{"limit_total":"1"}`},
		"amounts":             {stored, CouponPatch{MinOrderAmount: amount("10.5"), MaxDiscountAmount: amount("0")}, strings.NewReplacer(`"10"`, `"10.5"`, `"20"`, `"0"`).Replace(stored)},
		"no cap":              {stored, CouponPatch{NoMaxDiscount: true}, strings.Replace(stored, `"20"`, `""`, 1)},
		"no cap, as it was":   {`{"a":1}`, CouponPatch{NoMaxDiscount: true}, `{"a":1}`},
		"a first cap":         {`{"a":1}`, CouponPatch{MaxDiscountAmount: amount("3")}, `{"a":1,"max_discount_amount":"3"}`},
		"rules are no object": {`[]`, CouponPatch{MinOrderAmount: amount("1")}, `{"min_order_amount":"1"}`},
	} {
		rules := CouponRules{Stored: c.stored}
		rules.parse()
		got, err := c.patch.rules(rules)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestCheckDiscount(t *testing.T) {
	t.Parallel()
	percent, fixed := new("percent"), new("fixed")
	amount := func(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }
	for name, c := range map[string]struct {
		patch  CouponPatch
		before Coupon
		want   string
	}{
		"all of it":                        {CouponPatch{DiscountType: percent, DiscountValue: amount("100")}, Coupon{}, ""},
		"more than all":                    {CouponPatch{DiscountType: percent, DiscountValue: amount("100.0001")}, Coupon{}, "May be at most 100 percent"},
		"more than 100 €":                  {CouponPatch{DiscountType: fixed, DiscountValue: amount("101")}, Coupon{}, ""},
		"nothing":                          {CouponPatch{DiscountType: fixed, DiscountValue: amount("0")}, Coupon{}, "Must be more than 0"},
		"less than nothing":                {CouponPatch{DiscountType: fixed, DiscountValue: amount("-1")}, Coupon{}, session.NotNegative},
		"percent of what was an amount":    {CouponPatch{DiscountType: percent}, Coupon{DiscountType: "fixed", DiscountValue: decimal.NewFromInt(101)}, "May be at most 100 percent"},
		"more of what is percent":          {CouponPatch{DiscountValue: amount("101")}, Coupon{DiscountType: "percent"}, "May be at most 100 percent"},
		"neither, of one that has nothing": {CouponPatch{}, Coupon{DiscountType: "percent", DiscountValue: decimal.NewFromInt(101)}, ""},
		"the type alone, of nothing":       {CouponPatch{DiscountType: fixed}, Coupon{}, ""},
	} {
		var p domain.Validation
		checkDiscount(&p, c.patch, c.before)
		got := ""
		if err, ok := errors.AsType[*domain.Error](p.Err()); ok {
			got = err.Fields["discount_value"]
		}
		expect.Equal(t, c.want, got, name)
	}
}

// TestStoredWord: words are stored as the add-on spells them.
func TestStoredWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, want, problem string }{
		{"fixed_amount", "fixed", ""}, {"percent", "percent", ""}, {"own", "own", "Unknown discount_type"}, {"", "", "Unknown discount_type"},
	} {
		var p domain.Validation
		sent := &c.sent
		storedWord(&p, "discount_type", &sent, discountTypes)
		if *sent != c.want || p.Has("discount_type") != (c.problem != "") {
			t.Errorf("%q becomes %q", c.sent, *sent)
		}
	}
}
