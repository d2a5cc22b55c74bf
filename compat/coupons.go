package compat

import (
	"cmp"
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat/jsonschema"
)

// Coupon is a coupon. Only a single read includes its rules and recent orders.
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

// CouponParameters are the parameters of the coupon list.
var CouponParameters = parameters("GET /coupons", domain.InvalidParameters, func(f *payments.CouponFilter) Fields {
	return Fields{
		page(&f.Page),
		perPage(10, &f.PerPage),
		optional("status", word(activeWords, activeMessage), &f.Active),
		optional("search", plainText, &f.Search),
	}
})

// CouponList returns a page of coupons; fixed amounts are in the site's
// currency.
func (v View) CouponList(page records.Page[payments.Coupon], currency session.Currency) List[Coupon] {
	return list(page, func(c payments.Coupon) Coupon { return v.coupon(c, currency) })
}

// CouponDetail returns one coupon with the latest orders that use it.
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
		UsageCount: c.Usage.Count, TotalDiscount: jsonNumber(c.Usage.Discount), LastUsageDate: cmp.Or(v.timestamp(c.Usage.LastUsed), "n/a"),
		CreatedAt: v.timestamp(c.CreatedAt), UpdatedAt: v.timestamp(c.UpdatedAt),
	}
	if c.IsPercent() {
		record.DiscountType, record.ReadableDiscount = "percent", c.DiscountValue.String()+"%"
	}
	if c.Rules.MaxDiscountAmount != nil {
		record.MaxDiscountAmount = new(jsonNumber(*c.Rules.MaxDiscountAmount))
	}
	return record
}

// jsonNumber formats an amount as a JSON number without trailing zeros.
func jsonNumber(amount decimal.Decimal) json.Number { return json.Number(amount.String()) }

// writtenCoupon is a coupon as writes return it: its id is a number after a
// create and a string after an update.
type writtenCoupon[ID string | int64] struct {
	ID                ID           `json:"id"`
	Code              string       `json:"code"`
	Name              string       `json:"name"`
	Description       string       `json:"description"`
	DiscountType      string       `json:"discount_type"`
	DiscountValue     json.Number  `json:"discount_value"`
	Status            string       `json:"status"`
	ActiveFrom        string       `json:"active_from"`
	ActiveTo          string       `json:"active_to"`
	UsageLimit        int64        `json:"usage_limit"`
	MinOrderAmount    json.Number  `json:"min_order_amount"`
	MaxDiscountAmount *json.Number `json:"max_discount_amount"`
	CreatedAt         string       `json:"created_at"`
	UpdatedAt         string       `json:"updated_at"`
}

// The words for types and statuses of coupons, as the platform stores them.
var (
	discountTypes  = map[string]string{"percent": "percent", "fixed_amount": "fixed", "fixed": "fixed"}
	couponStatuses = map[string]string{"active": "active", "inactive": "disabled", "disabled": "disabled"}
)

// CouponFields are the fields of PUT /coupons/{code}.
var CouponFields = declare("PUT /coupons/{code}", func(c *payments.CouponPatch) Fields { return couponFields(c).changing() })

// NewCouponFields are the fields of POST /coupons.
var NewCouponFields = declare("POST /coupons", func(c *payments.NewCoupon) Fields {
	fields := append(Fields{value("code", anyText, &c.Code)}, couponFields(&c.CouponPatch)...)
	return fields.requiring("code", "discount_type", "discount_value")
})

func couponFields(c *payments.CouponPatch) Fields {
	return Fields{
		optional("name", anyText, &c.Name),
		optional("description", anyText, &c.Description),
		optional("discount_type", word(discountTypes, oneOf("percent", "fixed_amount")), &c.DiscountType),
		optional("discount_value", price, &c.DiscountValue),
		optional("status", word(couponStatuses, oneOf("active", "inactive")), &c.Status),
		clearable("active_from", dateOrNone, &c.ActiveFrom),
		clearable("active_to", dateOrNone, &c.ActiveTo),
		clearable("usage_limit", integer(0, maxInt), &c.UsageLimit),
		clearable("min_order_amount", price, &c.MinOrderAmount),
		optional("max_discount_amount", price, &c.MaxDiscountAmount).orNull(func() { c.NoMaxDiscount = true }),
	}
}

// dateOrNone is a date, or none for the zero date.
var dateOrNone = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: optionalDatePattern}), notADate, func(text string) (session.Date, bool) {
	if text == domain.ZeroDate {
		return "", true
	}
	return parseDate(text)
})

// CouponCreated is the response to POST /coupons, without its record.
var CouponCreated = successMessage[writtenCoupon[int64]]("Coupon created successfully")

// CouponCreated returns the response to POST /coupons: unset dates are empty,
// and so is an unset cap.
func (v View) CouponCreated(c payments.Coupon) SuccessMessage[writtenCoupon[int64]] {
	record := writtenCouponOf(v, c, itself)
	for _, date := range []*string{&record.ActiveFrom, &record.ActiveTo} {
		if *date == domain.ZeroDate {
			*date = ""
		}
	}
	if record.MaxDiscountAmount == nil {
		record.MaxDiscountAmount = new(json.Number("0"))
	}
	return CouponCreated.about(record)
}

// CouponUpdated is the response to PUT /coupons/{code}, without its record.
var CouponUpdated = successMessage[writtenCoupon[string]]("Coupon updated successfully")

// CouponUpdated returns the response to PUT /coupons/{code}.
func (v View) CouponUpdated(c payments.Coupon) SuccessMessage[writtenCoupon[string]] {
	return CouponUpdated.about(writtenCouponOf(v, c, domain.IDText))
}

// CouponDeleted is the response to DELETE /coupons/{code}.
var CouponDeleted = done("Coupon deleted successfully")

func writtenCouponOf[ID string | int64](v View, c payments.Coupon, id func(int64) ID) writtenCoupon[ID] {
	shown := v.coupon(c, session.Currency{})
	return writtenCoupon[ID]{
		ID: id(c.ID), Code: shown.Code, Name: shown.Name, Description: shown.Description,
		DiscountType: shown.DiscountType, DiscountValue: shown.DiscountValue, Status: shown.Status,
		ActiveFrom: shown.ActiveFrom, ActiveTo: shown.ActiveTo, UsageLimit: shown.UsageLimit,
		MinOrderAmount: shown.MinOrderAmount, MaxDiscountAmount: shown.MaxDiscountAmount,
		CreatedAt: shown.CreatedAt, UpdatedAt: shown.UpdatedAt,
	}
}
