package compat

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
)

// order is an order; the type of its ids differs between lists and single reads.
type order[ID string | int64] struct {
	ID                ID      `json:"id"`
	ConfirmationCode  string  `json:"confirmation_code"`
	Subtotal          string  `json:"subtotal"`
	Total             string  `json:"total"`
	TaxTotal          string  `json:"tax_total"`
	DiscountTotal     string  `json:"discount_total"`
	CouponDiscount    string  `json:"coupon_discount"`
	CouponCode        *string `json:"coupon_code"`
	Status            string  `json:"status"`
	PaymentStatus     string  `json:"payment_status"`
	FulfillmentStatus string  `json:"fulfillment_status"`
	CustomerID        ID      `json:"customer_id"`
	CustomerComment   *string `json:"customer_comment" mask:"text"`
	Notes             string  `json:"notes" mask:"text"`
	IPAddress         *string `json:"ip_address" needs:"read_orders" mask:"text"`
	SourceID          *string `json:"source_id"`
	SourceURL         *string `json:"source_url" mask:"url"`
	CreatedAt         string  `json:"created_at"`
	UpdatedAt         string  `json:"updated_at"`
}

// OrderRow is an order as lists and bookings return it, with strings as ids.
type OrderRow order[string]

// OrderDetail is an order as a single read returns it: bare, without an envelope, and with numbers as ids.
type OrderDetail struct {
	order[int64]
	Items []OrderItem `json:"items"`
}

// OrderItem is an item of an order. The plugin's items have no quantity.
type OrderItem struct {
	ID       int64  `json:"id"`
	Variant  string `json:"variant"`
	ItemData string `json:"item_data" needs:"read_bookings" mask:"text"` // the booking again
	Quantity int64  `json:"quantity"`
	Subtotal string `json:"subtotal"`
	Total    string `json:"total"`
}

var orderSorts = map[string]orders.Sort{
	"id":         orders.ByID,
	"total":      orders.ByTotal,
	"created_at": orders.ByCreation,
	"status":     orders.ByStatus,
}

// The words for the statuses of orders.
var (
	orderStatuses        = sameWords("open", "cancelled", "completed")
	orderPaymentStatuses = sameWords("not_paid", "partially_paid", "fully_paid", "processing", "refunded", "partially_refunded")
	fulfillmentStatuses  = sameWords("not_fulfilled", "partially_fulfilled", "fulfilled")
)

// OrderParameters are the parameters of the order list.
var OrderParameters = parameters(domain.InvalidParameters,
	page(func(f *orders.Filter) *int64 { return &f.Page }),
	perPage(10, func(f *orders.Filter) *int64 { return &f.PerPage }),
	optional("customer_id", id(maxInt), func(f *orders.Filter) **int64 { return &f.CustomerID }).about("Id of the customer"),
	optional("status", word(orderStatuses, "Unknown order status"), func(f *orders.Filter) **string { return &f.Status }),
	optional("payment_status", word(orderPaymentStatuses, "Unknown payment status"), func(f *orders.Filter) **string { return &f.PaymentStatus }),
	optional("fulfillment_status", word(fulfillmentStatuses, "Unknown fulfillment status"), func(f *orders.Filter) **string { return &f.FulfillmentStatus }),
	optional("coupon_code", text(), func(f *orders.Filter) **string { return &f.CouponCode }).impersonal(),
	optional("total_min", amount(), func(f *orders.Filter) **decimal.Decimal { return &f.TotalMin }),
	optional("total_max", amount(), func(f *orders.Filter) **decimal.Decimal { return &f.TotalMax }),
	optional("created_after", beginning(), func(f *orders.Filter) **time.Time { return &f.CreatedFrom }),
	optional("created_before", end(), func(f *orders.Filter) **time.Time { return &f.CreatedBefore }),
	optional("updated_from", beginning(), func(f *orders.Filter) **time.Time { return &f.UpdatedFrom }),
	optional("updated_to", end(), func(f *orders.Filter) **time.Time { return &f.UpdatedBefore }),
	optional("search", text(), func(f *orders.Filter) **string { return &f.Search }).about("Text anywhere in confirmation codes, customers' comments or coupon codes, in any letter case", "7F3K"),
	defaulted("sort", word(orderSorts, unknownSort), orders.ByCreation, func(f *orders.Filter) *orders.Sort { return &f.Sort }),
	descending(true, func(f *orders.Filter) *bool { return &f.Descending }),
)

// OrderList returns a page of orders.
func (v View) OrderList(page records.Page[records.Order]) List[OrderRow] {
	return list(page, v.orderRow)
}

func (v View) orderRow(o records.Order) OrderRow { return OrderRow(orderWith(v, o, domain.IDText)) }

// OrderDetail returns one order with its items.
func (v View) OrderDetail(o records.Order, items []records.OrderItem) OrderDetail {
	return OrderDetail{order: orderWith(v, o, itself), Items: each(items, orderItem)}
}

func orderItem(i records.OrderItem) OrderItem {
	return OrderItem{ID: i.ID, Variant: i.Variant, ItemData: i.ItemData, Quantity: 1, Subtotal: domain.AmountText(i.Subtotal), Total: domain.AmountText(i.Total)}
}

func orderWith[ID string | int64](v View, o records.Order, id func(int64) ID) order[ID] {
	return order[ID]{
		ID: id(o.ID), ConfirmationCode: o.ConfirmationCode,
		Subtotal: domain.AmountText(o.Subtotal), Total: domain.AmountText(o.Total), TaxTotal: domain.AmountText(o.TaxTotal),
		DiscountTotal: domain.AmountText(o.DiscountTotal), CouponDiscount: domain.AmountText(o.CouponDiscount), CouponCode: o.CouponCode,
		Status: o.Status, PaymentStatus: o.DisplayPaymentStatus, FulfillmentStatus: o.FulfillmentStatus,
		CustomerID: id(o.CustomerID), CustomerComment: o.CustomerComment, Notes: o.Notes,
		IPAddress: o.IPAddress, SourceID: o.SourceID, SourceURL: o.SourceURL,
		CreatedAt: v.timestamp(o.CreatedAt), UpdatedAt: v.timestamp(o.UpdatedAt),
	}
}

// WrittenOrder is an order as writes return it: bare, without an envelope and
// without its items.
type WrittenOrder order[int64]

// forcedCoupon describes what force does to an order.
const forcedCoupon = "Stores a coupon code that the order may not use"

// OrderFields are the fields of PUT /orders/{id}.
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

// NewOrderFields are the fields of POST /orders.
var NewOrderFields = within(orderFields, func(o *orders.New) *orders.Patch { return &o.Patch }).requiring("customer_id", "subtotal", "total")

// OrderWritten returns the response to POST /orders and PUT /orders/{id}.
func (v View) OrderWritten(o records.Order) WrittenOrder {
	return WrittenOrder(orderWith(v, o, itself))
}

var invoiceStatuses = sameWords("open", "paid", "partially_paid", "draft", "void", "uncollectible")

// InvoiceChange is the body of PUT /orders/{id}/invoices/{invoice_id}.
type InvoiceChange struct {
	payments.InvoicePatch
	Force bool // marks an uncovered invoice as paid
}

// forcedInvoice describes what force does to an invoice.
const forcedInvoice = "Sets an invoice to paid that payments do not cover"

// InvoiceFields are the fields of PUT /orders/{id}/invoices/{invoice_id}.
var InvoiceFields = Fields[InvoiceChange]{
	flag("force", func(i *InvoiceChange) *bool { return &i.Force }).about(forcedInvoice),
	optional("status", word(invoiceStatuses, oneOf("open", "paid", "partially_paid", "draft", "void", "uncollectible")),
		func(i *InvoiceChange) **string { return &i.Status }),
	optional("charge_amount", price(), func(i *InvoiceChange) **decimal.Decimal { return &i.ChargeAmount }),
}.changing()

// InvoiceUpdated is the response to PUT /orders/{id}/invoices/{invoice_id}, without its record.
var InvoiceUpdated = bothMessage[Invoice]("Invoice updated successfully")

// InvoiceUpdated returns the response to PUT /orders/{id}/invoices/{invoice_id}.
func (v View) InvoiceUpdated(i payments.Invoice) BothMessage[Invoice] {
	return InvoiceUpdated.about(v.invoice(i))
}
