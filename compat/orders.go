package compat

import (
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

// The words for the statuses of orders and invoices.
var (
	orderStatuses        = []string{"open", "cancelled", "completed"}
	orderPaymentStatuses = []string{"not_paid", "partially_paid", "fully_paid", "processing", "refunded", "partially_refunded"}
	fulfillmentStatuses  = []string{"not_fulfilled", "partially_fulfilled", "fulfilled"}
	invoiceStatuses      = []string{"open", "paid", "partially_paid", "draft", "void", "uncollectible"}
)

// OrderParameters are the parameters of the order list.
var OrderParameters = parameters("GET /orders", domain.InvalidParameters, func(f *orders.Filter) Fields {
	return Fields{
		page(&f.Page),
		perPage(10, &f.PerPage),
		optional("customer_id", id(maxInt), &f.CustomerID),
		optional("status", word(sameWords(orderStatuses...), "Unknown order status"), &f.Status),
		optional("payment_status", word(sameWords(orderPaymentStatuses...), "Unknown payment status"), &f.PaymentStatus),
		optional("fulfillment_status", word(sameWords(fulfillmentStatuses...), "Unknown fulfillment status"), &f.FulfillmentStatus),
		optional("coupon_code", plainText, &f.CouponCode),
		optional("total_min", amount, &f.TotalMin),
		optional("total_max", amount, &f.TotalMax),
		optional("created_after", beginning, &f.CreatedFrom),
		optional("created_before", end, &f.CreatedBefore),
		optional("updated_from", beginning, &f.UpdatedFrom),
		optional("updated_to", end, &f.UpdatedBefore),
		optional("search", text, &f.Search),
		choice("sort", orderSorts, unknownSort, "created_at", &f.Sort),
		descending("desc", &f.Descending),
	}
})

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

// OrderFields are the fields of PUT /orders/{id}.
var OrderFields = declare("an order", func(o *orders.Patch) Fields { return orderFields(o).changing() })

// NewOrderFields are the fields of POST /orders.
var NewOrderFields = declare("an order", func(o *orders.New) Fields {
	return orderFields(&o.Patch).requiring("customer_id", "subtotal", "total")
})

func orderFields(o *orders.Patch) Fields {
	return Fields{
		flag("force", &o.Force),
		optional("customer_id", id(maxMediumInt), &o.CustomerID),
		optional("subtotal", price, &o.Subtotal),
		optional("total", price, &o.Total),
		optional("tax_total", price, &o.TaxTotal),
		optional("discount_total", price, &o.DiscountTotal),
		optional("coupon_discount", price, &o.CouponDiscount),
		orNULL("coupon_code", &o.CouponCode, "coupon_code", &o.Nulls),
		orNULL("customer_comment", &o.CustomerComment, "customer_comment", &o.Nulls),
		optional("notes", anyText, &o.Notes),
		optional("status", oneWord(orderStatuses...), &o.Status),
		optional("payment_status", oneWord(orderPaymentStatuses...), &o.PaymentStatus),
		optional("fulfillment_status", oneWord(fulfillmentStatuses...), &o.FulfillmentStatus),
		optional("confirmation_code", fixedText, &o.ConfirmationCode),
		orNULL("ip_address", &o.IPAddress, "ip_address", &o.Nulls),
		orNULL("source_id", &o.SourceID, "source_id", &o.Nulls),
		orNULL("source_url", &o.SourceURL, "source_url", &o.Nulls),
	}
}

// orNULL declares a text for a column that null sets to NULL, and not to an empty text.
func orNULL(name string, to **string, column string, nulls *[]string) Field {
	return optional(name, anyText, to).orNull(func() { *nulls = append(*nulls, column) })
}

// OrderWritten returns the response to POST /orders and PUT /orders/{id}.
func (v View) OrderWritten(o records.Order) WrittenOrder {
	return WrittenOrder(orderWith(v, o, itself))
}

// InvoiceFields are the fields of PUT /orders/{id}/invoices/{invoice_id}.
var InvoiceFields = declare("PUT /orders/{id}/invoices/{invoice_id}", func(i *payments.InvoicePatch) Fields {
	return Fields{
		flag("force", &i.Force),
		optional("status", oneWord(invoiceStatuses...), &i.Status),
		optional("charge_amount", price, &i.ChargeAmount),
	}.changing()
})

// InvoiceUpdated is the response to PUT /orders/{id}/invoices/{invoice_id}, without its record.
var InvoiceUpdated = bothMessage[Invoice]("Invoice updated successfully")

// InvoiceUpdated returns the response to PUT /orders/{id}/invoices/{invoice_id}.
func (v View) InvoiceUpdated(i payments.Invoice) BothMessage[Invoice] {
	return InvoiceUpdated.about(v.invoice(i))
}
