package compat

import (
	"strings"

	"bookside/adapter"
)

// WrittenOrder is an order as writes return it: bare, without an envelope and
// without its items.
type WrittenOrder order[int64]

// OrderPatch reads the body of POST /orders and PUT /orders/{id}. What is wrong
// with it is in the patch's Validation.
func OrderPatch(b *Body) adapter.OrderPatch {
	patch := adapter.OrderPatch{
		CustomerID: b.ID("customer_id", maxMediumInt),
		Subtotal:   b.price("subtotal"), Total: b.price("total"), TaxTotal: b.price("tax_total"),
		DiscountTotal: b.price("discount_total"), CouponDiscount: b.price("coupon_discount"),
		CouponCode: b.Text("coupon_code"), CustomerComment: b.Text("customer_comment"), Notes: b.Text("notes"),
		Status:            Word(b, "status", orderStatuses, oneOf("open", "cancelled", "completed")),
		PaymentStatus:     Word(b, "payment_status", orderPaymentStatuses, oneOf("not_paid", "partially_paid", "fully_paid", "processing", "refunded", "partially_refunded")),
		FulfillmentStatus: Word(b, "fulfillment_status", fulfillmentStatuses, oneOf("not_fulfilled", "partially_fulfilled", "fulfilled")),
		ConfirmationCode:  b.Text("confirmation_code"), IPAddress: b.Text("ip_address"), SourceID: b.Text("source_id"), SourceURL: b.Text("source_url"),
	}
	patch.Validation = *b.problems
	return patch
}

func oneOf(words ...string) string { return "Must be one of: " + strings.Join(words, ", ") }

// OrderWritten is the answer to POST /orders and PUT /orders/{id}.
func (v View) OrderWritten(o adapter.Order) WrittenOrder {
	return WrittenOrder(orderWith(v, o, itself))
}

var invoiceStatuses = sameWords("open", "paid", "partially_paid", "draft", "void", "uncollectible")

// InvoicePatch reads the body of PUT /orders/{id}/invoices/{invoice_id}; force
// makes an invoice paid that is not covered. What is wrong with it is in the
// patch's Validation.
func InvoicePatch(b *Body) (patch adapter.InvoicePatch, force bool) {
	force = b.Flag("force")
	patch = adapter.InvoicePatch{
		Status:       Word(b, "status", invoiceStatuses, oneOf("open", "paid", "partially_paid", "draft", "void", "uncollectible")),
		ChargeAmount: b.price("charge_amount"),
	}
	patch.Validation = *b.problems
	return patch, force
}

// InvoiceUpdated is the answer to PUT /orders/{id}/invoices/{invoice_id}.
func (v View) InvoiceUpdated(i adapter.Invoice) BothMessage {
	return bothMessage("Invoice updated successfully", v.invoice(i))
}
