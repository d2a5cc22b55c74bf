package compat

import (
	"github.com/shopspring/decimal"

	"bookside/adapter/orders"
	"bookside/adapter/payments"
	"bookside/adapter/records"
)

// WrittenOrder is an order as writes return it: bare, without an envelope and
// without its items.
type WrittenOrder order[int64]

// forcedCoupon says what force does to an order.
const forcedCoupon = "Stores a coupon code that the order may not use"

// OrderFields are those of PUT /orders/{id}.
var OrderFields = orderFields.changing("confirmation_code")

var orderFields = Fields[orders.Patch]{
	flag("force", func(o *orders.Patch) *bool { return &o.Force }).about(forcedCoupon),
	optional("customer_id", id(maxMediumInt), func(o *orders.Patch) **int64 { return &o.CustomerID }),
	optional("subtotal", price(), func(o *orders.Patch) **decimal.Decimal { return &o.Subtotal }),
	optional("total", price(), func(o *orders.Patch) **decimal.Decimal { return &o.Total }),
	optional("tax_total", price(), func(o *orders.Patch) **decimal.Decimal { return &o.TaxTotal }),
	optional("discount_total", price(), func(o *orders.Patch) **decimal.Decimal { return &o.DiscountTotal }),
	optional("coupon_discount", price(), func(o *orders.Patch) **decimal.Decimal { return &o.CouponDiscount }),
	optional("coupon_code", anyText(), func(o *orders.Patch) **string { return &o.CouponCode }).
		orNull(func(o *orders.Patch) { o.Nulls = append(o.Nulls, "coupon_code") }),
	optional("customer_comment", anyText(), func(o *orders.Patch) **string { return &o.CustomerComment }).
		orNull(func(o *orders.Patch) { o.Nulls = append(o.Nulls, "customer_comment") }),
	optional("notes", anyText(), func(o *orders.Patch) **string { return &o.Notes }),
	optional("status", word(orderStatuses, oneOf("open", "cancelled", "completed")), func(o *orders.Patch) **string { return &o.Status }),
	optional("payment_status", word(orderPaymentStatuses, oneOf("not_paid", "partially_paid", "fully_paid", "processing", "refunded", "partially_refunded")),
		func(o *orders.Patch) **string { return &o.PaymentStatus }),
	optional("fulfillment_status", word(fulfillmentStatuses, oneOf("not_fulfilled", "partially_fulfilled", "fulfilled")),
		func(o *orders.Patch) **string { return &o.FulfillmentStatus }),
	optional("confirmation_code", anyText(), func(o *orders.Patch) **string { return &o.ConfirmationCode }),
	optional("ip_address", anyText(), func(o *orders.Patch) **string { return &o.IPAddress }).
		orNull(func(o *orders.Patch) { o.Nulls = append(o.Nulls, "ip_address") }),
	optional("source_id", anyText(), func(o *orders.Patch) **string { return &o.SourceID }).
		orNull(func(o *orders.Patch) { o.Nulls = append(o.Nulls, "source_id") }),
	optional("source_url", anyText(), func(o *orders.Patch) **string { return &o.SourceURL }).
		orNull(func(o *orders.Patch) { o.Nulls = append(o.Nulls, "source_url") }),
}

// NewOrderFields are those of POST /orders.
var NewOrderFields = within(orderFields, func(o *orders.New) *orders.Patch { return &o.Patch }).requiring("customer_id", "subtotal", "total")

// NewOrder reads the body of POST /orders. What is wrong with it is in the order's
// Validation.
func NewOrder(b *Body) orders.New {
	var order orders.New
	NewOrderFields.read(b, &order)
	order.Validation = *b.validation
	return order
}

// OrderPatch reads the body of PUT /orders/{id}. What is wrong with it is in the
// patch's Validation.
func OrderPatch(b *Body) orders.Patch {
	var patch orders.Patch
	OrderFields.read(b, &patch)
	patch.Validation = *b.validation
	return patch
}

// OrderWritten is the answer to POST /orders and PUT /orders/{id}.
func (v View) OrderWritten(o records.Order) WrittenOrder {
	return WrittenOrder(orderWith(v, o, itself))
}

var invoiceStatuses = sameWords("open", "paid", "partially_paid", "draft", "void", "uncollectible")

// invoiceChange is the body of PUT /orders/{id}/invoices/{invoice_id}.
type invoiceChange struct {
	payments.InvoicePatch
	force bool
}

// forcedInvoice says what force does to an invoice.
const forcedInvoice = "Sets an invoice to paid that payments do not cover"

// InvoiceFields are those of PUT /orders/{id}/invoices/{invoice_id}.
var InvoiceFields = Fields[invoiceChange]{
	flag("force", func(i *invoiceChange) *bool { return &i.force }).about(forcedInvoice),
	optional("status", word(invoiceStatuses, oneOf("open", "paid", "partially_paid", "draft", "void", "uncollectible")),
		func(i *invoiceChange) **string { return &i.Status }),
	optional("charge_amount", price(), func(i *invoiceChange) **decimal.Decimal { return &i.ChargeAmount }),
}.changing()

// InvoicePatch reads the body of PUT /orders/{id}/invoices/{invoice_id}; force
// makes an invoice paid that is not covered. What is wrong with it is in the
// patch's Validation.
func InvoicePatch(b *Body) (patch payments.InvoicePatch, force bool) {
	var change invoiceChange
	InvoiceFields.read(b, &change)
	change.Validation = *b.validation
	return change.InvoicePatch, change.force
}

// InvoiceUpdated is the answer to PUT /orders/{id}/invoices/{invoice_id}, without its record.
var InvoiceUpdated = bothMessage[Invoice]("Invoice updated successfully")

// InvoiceUpdated is the answer to PUT /orders/{id}/invoices/{invoice_id}.
func (v View) InvoiceUpdated(i payments.Invoice) BothMessage[Invoice] {
	return InvoiceUpdated.about(v.invoice(i))
}
