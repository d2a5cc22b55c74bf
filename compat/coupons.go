package compat

import (
	"cmp"
	"encoding/json"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/lists"
	"bookside/adapter/payments"
	"bookside/adapter/records"
	"bookside/adapter/session"
)

// Coupon is a coupon. Its rules and recent orders are there only in a single
// read.
type Coupon struct {
	ID                string          `json:"id"`
	Code              string          `json:"code"`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	DiscountType      string          `json:"discount_type"`
	DiscountValue     json.Number     `json:"discount_value"`
	ReadableDiscount  string          `json:"readable_discount"`
	Status            string          `json:"status"`
	ActiveFrom        string          `json:"active_from"`
	ActiveTo          string          `json:"active_to"`
	Rules             json.RawMessage `json:"rules,omitzero"`
	UsageLimit        int64           `json:"usage_limit"`
	MinOrderAmount    json.Number     `json:"min_order_amount"`
	MaxDiscountAmount *json.Number    `json:"max_discount_amount"`
	UsageCount        int64           `json:"usage_count"`
	TotalDiscount     json.Number     `json:"total_discount"`
	LastUsageDate     string          `json:"last_usage_date"`
	RecentOrders      []OrderRow      `json:"recent_orders,omitzero" needs:"read_orders"`
	CreatedAt         string          `json:"created_at"`
	UpdatedAt         string          `json:"updated_at"`
}

// CouponParameters are those of the coupon list.
var CouponParameters = parameters(domain.InvalidParameters,
	page(func(f *payments.CouponFilter) *int64 { return &f.Page }),
	perPage(10, func(f *payments.CouponFilter) *int64 { return &f.PerPage }),
	optional("status", word(activeWords, activeMessage), func(f *payments.CouponFilter) **bool { return &f.Active }),
	optional("search", text(), func(f *payments.CouponFilter) **string { return &f.Search }).about("Text anywhere in codes or names, in any letter case", "welcome"),
)

// CouponFilter reads the parameters of the coupon list.
func (v View) CouponFilter(q *Query) (payments.CouponFilter, error) {
	var f payments.CouponFilter
	CouponParameters.read(v, q, &f)
	return f, CouponParameters.err(q)
}

// CouponList is a page of coupons; fixed amounts are read in the site's
// currency.
func (v View) CouponList(page lists.Page[payments.Coupon], currency session.Currency) List[Coupon] {
	return list(page, func(c payments.Coupon) Coupon { return v.coupon(c, currency) })
}

// CouponDetail is one coupon with the latest orders that carry it.
func (v View) CouponDetail(c payments.Coupon, orders []records.Order, currency session.Currency) Single[Coupon] {
	record := v.coupon(c, currency)
	record.Rules = json.RawMessage("null")
	if rules := json.RawMessage(c.Rules.Stored); json.Valid(rules) {
		record.Rules = rules
	}
	record.RecentOrders = each(orders, v.orderRow)
	return single(record)
}

func (v View) coupon(c payments.Coupon, currency session.Currency) Coupon {
	record := Coupon{
		ID: domain.IDText(c.ID), Code: c.Code, Name: c.Name, Description: c.Description,
		DiscountType: "fixed_amount", DiscountValue: jsonNumber(c.DiscountValue), ReadableDiscount: currency.Format(c.DiscountValue),
		Status: shownStatus(c.Status), ActiveFrom: cmp.Or(string(c.ActiveFrom), domain.ZeroDate), ActiveTo: cmp.Or(string(c.ActiveTo), domain.ZeroDate),
		UsageLimit: c.Rules.LimitTotal, MinOrderAmount: jsonNumber(c.Rules.MinOrderAmount),
		UsageCount: c.Usage.Count, TotalDiscount: jsonNumber(c.Usage.Discount), LastUsageDate: "n/a",
		CreatedAt: v.timestamp(c.CreatedAt), UpdatedAt: v.timestamp(c.UpdatedAt),
	}
	if c.IsPercent() {
		record.DiscountType, record.ReadableDiscount = "percent", c.DiscountValue.String()+"%"
	}
	if c.Rules.MaxDiscountAmount != nil {
		record.MaxDiscountAmount = new(jsonNumber(*c.Rules.MaxDiscountAmount))
	}
	if c.Usage.LastUsed != "" {
		record.LastUsageDate = v.timestamp(c.Usage.LastUsed)
	}
	return record
}

// jsonNumber prints an amount as a JSON number without trailing zeros.
func jsonNumber(amount decimal.Decimal) json.Number { return json.Number(amount.String()) }
