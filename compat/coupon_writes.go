package compat

import (
	"encoding/json"
	"strings"

	"bookside/adapter"
)

// writtenCoupon is a coupon as writes return it: after a create its id is a
// number, after an update a string.
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

// NewCoupon reads the body of POST /coupons. What is wrong with it is in the
// coupon's Validation.
func NewCoupon(b *Body) adapter.NewCoupon {
	var coupon adapter.NewCoupon
	coupon.Code = valueOr(b.Text("code"), "")
	b.require("code")
	coupon.CouponPatch = CouponPatch(b)
	return coupon
}

// CouponPatch reads the body of PUT /coupons/{code}. What is wrong with it is in
// the patch's Validation.
func CouponPatch(b *Body) adapter.CouponPatch {
	patch := adapter.CouponPatch{
		Name: b.Text("name"), Description: b.Text("description"),
		DiscountType:  Word(b, "discount_type", discountTypes, oneOf("percent", "fixed_amount")),
		DiscountValue: b.price("discount_value"),
		Status:        Word(b, "status", couponStatuses, oneOf("active", "inactive")),
		ActiveFrom:    b.optionalDate("active_from"), ActiveTo: b.optionalDate("active_to"),
		UsageLimit:     b.Integer("usage_limit", 0, maxInt),
		MinOrderAmount: b.price("min_order_amount"), MaxDiscountAmount: b.price("max_discount_amount"),
	}
	patch.Validation = *b.problems
	return patch
}

// optionalDate is a date, or none where an empty text or the zero date was sent.
func (b *Body) optionalDate(name string) *adapter.Date {
	b.described.optionalDate(name)
	value, sent := b.sent(name)
	if !sent {
		return nil
	}
	if text, _, single := value.scalar(); single && (strings.TrimSpace(text) == "" || strings.TrimSpace(text) == unsetDate) {
		return new(adapter.Date)
	}
	return b.Date(name)
}

// CouponCreated is the answer to POST /coupons: unset dates are empty, and so is
// an unset cap.
func (v View) CouponCreated(c adapter.Coupon) SuccessMessage {
	record := writtenCouponOf(v, c, itself)
	for _, date := range []*string{&record.ActiveFrom, &record.ActiveTo} {
		if *date == unsetDate {
			*date = ""
		}
	}
	if record.MaxDiscountAmount == nil {
		record.MaxDiscountAmount = new(json.Number("0"))
	}
	return successMessage("Coupon created successfully", record)
}

// CouponUpdated is the answer to PUT /coupons/{code}.
func (v View) CouponUpdated(c adapter.Coupon) SuccessMessage {
	return successMessage("Coupon updated successfully", writtenCouponOf(v, c, number))
}

// CouponDeleted is the answer to DELETE /coupons/{code}.
func CouponDeleted() Done { return Done{Success: true, Message: "Coupon deleted successfully"} }

func writtenCouponOf[ID string | int64](v View, c adapter.Coupon, id func(int64) ID) writtenCoupon[ID] {
	shown := v.coupon(c, adapter.Currency{})
	return writtenCoupon[ID]{
		ID: id(c.ID), Code: shown.Code, Name: shown.Name, Description: shown.Description,
		DiscountType: shown.DiscountType, DiscountValue: shown.DiscountValue, Status: shown.Status,
		ActiveFrom: shown.ActiveFrom, ActiveTo: shown.ActiveTo, UsageLimit: shown.UsageLimit,
		MinOrderAmount: shown.MinOrderAmount, MaxDiscountAmount: shown.MaxDiscountAmount,
		CreatedAt: shown.CreatedAt, UpdatedAt: shown.UpdatedAt,
	}
}
