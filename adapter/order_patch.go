package adapter

import (
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// OrderPatch changes an order. A nil field stays as it is. Validation has the problems
// found so far; fields named there are not checked again.
type OrderPatch struct {
	CustomerID                                       *int64
	Subtotal, Total, TaxTotal                        *decimal.Decimal
	DiscountTotal, CouponDiscount                    *decimal.Decimal
	CouponCode, CustomerComment, Notes               *string
	Status                                           *string // open, cancelled or completed
	PaymentStatus                                    *string // not_paid, partially_paid, fully_paid, processing, refunded or partially_refunded
	FulfillmentStatus                                *string // not_fulfilled, partially_fulfilled or fulfilled
	ConfirmationCode, IPAddress, SourceID, SourceURL *string
	Nulls                                            []string // columns of an existing order to clear
	Force                                            bool     // store a coupon that may not be used
	Validation                                       domain.Validation
}

// orderCancelled is the status of orders that do not count as a use of their coupon.
const orderCancelled = "cancelled"

// sanitizeOrder validates a patch by itself and sanitizes its texts.
func (s *Site) sanitizeOrder(patch OrderPatch, before Order, p *domain.Validation) OrderPatch {
	s.sanitizeField(p, "coupon_code", &patch.CouponCode, sanitize.TextField, wpdb.Orders, "coupon_code")
	s.sanitizeField(p, "customer_comment", &patch.CustomerComment, sanitize.TextareaField, wpdb.Orders, "customer_comment")
	s.sanitizeField(p, "notes", &patch.Notes, sanitize.TextareaField, wpdb.OrderMeta, "meta_value")
	s.sanitizeField(p, "confirmation_code", &patch.ConfirmationCode, sanitize.TextField, wpdb.Orders, "confirmation_code")
	s.sanitizeField(p, "ip_address", &patch.IPAddress, sanitize.TextField, wpdb.Orders, "ip_address")
	s.sanitizeField(p, "source_id", &patch.SourceID, sanitize.TextField, wpdb.Orders, "source_id")
	s.sanitizeField(p, "source_url", &patch.SourceURL, sanitize.URL, wpdb.Orders, "source_url")
	if patch.ConfirmationCode != nil && *patch.ConfirmationCode == "" && before.ConfirmationCode != "" {
		p.Reject("confirmation_code", "May not be empty")
	}
	checkAmount(p, "subtotal", patch.Subtotal)
	checkAmount(p, "total", patch.Total)
	checkAmount(p, "tax_total", patch.TaxTotal)
	checkAmount(p, "discount_total", patch.DiscountTotal)
	checkAmount(p, "coupon_discount", patch.CouponDiscount)
	checkWord(p, "status", patch.Status, before.Status, newOrderStatus, orderCancelled, "completed")
	checkWord(p, "payment_status", patch.PaymentStatus, before.PaymentStatus,
		orderNotPaid, orderPartiallyPaid, orderFullyPaid, orderProcessing, orderRefunded, orderPartiallyRefunded)
	checkWord(p, "fulfillment_status", patch.FulfillmentStatus, before.FulfillmentStatus, "not_fulfilled", "partially_fulfilled", "fulfilled")
	return patch
}

// changeset returns the changed columns.
func (patch OrderPatch) changeset(o Order) changeset {
	var e changeset
	e.number("customer_id", patch.CustomerID, o.CustomerID)
	e.amount("subtotal", patch.Subtotal, o.Subtotal)
	e.amount("total", patch.Total, o.Total)
	e.amount("tax_total", patch.TaxTotal, o.TaxTotal)
	e.amount("coupon_discount", patch.CouponDiscount, o.CouponDiscount)
	e.nullable("coupon_code", patch.CouponCode, o.CouponCode, patch.Nulls)
	e.nullable("customer_comment", patch.CustomerComment, o.CustomerComment, patch.Nulls)
	e.text("status", patch.Status, o.Status)
	e.text("payment_status", patch.PaymentStatus, o.PaymentStatus)
	e.text("fulfillment_status", patch.FulfillmentStatus, o.FulfillmentStatus)
	e.text("confirmation_code", patch.ConfirmationCode, o.ConfirmationCode)
	e.nullable("ip_address", patch.IPAddress, o.IPAddress, patch.Nulls)
	e.nullable("source_id", patch.SourceID, o.SourceID, patch.Nulls)
	e.nullable("source_url", patch.SourceURL, o.SourceURL, patch.Nulls)
	return e
}

// metas returns the changed fields without a column.
func (patch OrderPatch) metas(o Order) map[string]string {
	metas := map[string]string{}
	if patch.Notes != nil && *patch.Notes != o.Notes {
		metas["notes"] = *patch.Notes
	}
	if patch.DiscountTotal != nil && !patch.DiscountTotal.Equal(o.DiscountTotal) {
		metas["discount_total"] = ""
		if !patch.DiscountTotal.IsZero() {
			metas["discount_total"] = domain.AmountText(*patch.DiscountTotal)
		}
	}
	return metas
}
