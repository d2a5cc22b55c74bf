package orders

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Patch changes an order. A nil field stays as it is. Validation holds the
// problems found so far; its fields are not checked again.
type Patch struct {
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
	domain.Validation
}

// sanitizeOrder validates a patch by itself and sanitizes its texts.
func sanitizeOrder(s *session.Session, patch Patch, p *domain.Validation) Patch {
	session.SanitizeField(s, p, "coupon_code", &patch.CouponCode, text.Field, wpdb.Orders, "coupon_code")
	session.SanitizeField(s, p, "customer_comment", &patch.CustomerComment, text.TextareaField, wpdb.Orders, "customer_comment")
	session.SanitizeField(s, p, "notes", &patch.Notes, text.TextareaField, wpdb.OrderMeta, "meta_value")
	session.SanitizeField(s, p, "confirmation_code", &patch.ConfirmationCode, text.Field, wpdb.Orders, "confirmation_code")
	session.SanitizeField(s, p, "ip_address", &patch.IPAddress, text.Field, wpdb.Orders, "ip_address")
	session.SanitizeField(s, p, "source_id", &patch.SourceID, text.Field, wpdb.Orders, "source_id")
	session.SanitizeField(s, p, "source_url", &patch.SourceURL, text.URL, wpdb.Orders, "source_url")
	if patch.ConfirmationCode != nil && *patch.ConfirmationCode == "" {
		p.Reject("confirmation_code", "May not be empty")
	}
	session.CheckAmount(p, "subtotal", patch.Subtotal)
	session.CheckAmount(p, "total", patch.Total)
	session.CheckAmount(p, "tax_total", patch.TaxTotal)
	session.CheckAmount(p, "discount_total", patch.DiscountTotal)
	session.CheckAmount(p, "coupon_discount", patch.CouponDiscount)
	session.CheckWord(p, "status", patch.Status, NewOrderStatus, records.OrderCancelled, "completed")
	session.CheckWord(p, "payment_status", patch.PaymentStatus,
		records.OrderNotPaid, records.OrderPartiallyPaid, records.OrderFullyPaid, records.OrderProcessing, records.OrderRefunded, records.OrderPartiallyRefunded)
	session.CheckWord(p, "fulfillment_status", patch.FulfillmentStatus, "not_fulfilled", "partially_fulfilled", "fulfilled")
	return patch
}

// changeset returns the changed columns.
func (patch Patch) changeset(o records.Order) session.Changeset {
	var e session.Changeset
	e.Number("customer_id", patch.CustomerID, o.CustomerID)
	e.Amount("subtotal", patch.Subtotal, o.Subtotal)
	e.Amount("total", patch.Total, o.Total)
	e.Amount("tax_total", patch.TaxTotal, o.TaxTotal)
	e.Amount("coupon_discount", patch.CouponDiscount, o.CouponDiscount)
	e.Nullable("coupon_code", patch.CouponCode, o.CouponCode, patch.Nulls)
	e.Nullable("customer_comment", patch.CustomerComment, o.CustomerComment, patch.Nulls)
	e.Text("status", patch.Status, o.Status)
	e.Text("payment_status", patch.PaymentStatus, o.PaymentStatus)
	e.Text("fulfillment_status", patch.FulfillmentStatus, o.FulfillmentStatus)
	e.Text("confirmation_code", patch.ConfirmationCode, o.ConfirmationCode)
	e.Nullable("ip_address", patch.IPAddress, o.IPAddress, patch.Nulls)
	e.Nullable("source_id", patch.SourceID, o.SourceID, patch.Nulls)
	e.Nullable("source_url", patch.SourceURL, o.SourceURL, patch.Nulls)
	return e
}

// changesPrice reports whether what extensions may decide is among the changes of an order.
func changesPrice(columns session.Changeset, metas map[string]string) bool {
	_, discount := metas["discount_total"]
	return discount || slices.ContainsFunc(columns, func(c session.Column) bool {
		return slices.Contains([]string{"subtotal", "total", "tax_total", "coupon_discount", "coupon_code"}, c.Name)
	})
}

// metas returns the changed fields that have no column.
func (patch Patch) metas(o records.Order) map[string]string {
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
