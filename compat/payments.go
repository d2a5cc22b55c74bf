package compat

import (
	"time"

	"github.com/shopspring/decimal"

	"bookside/adapter"
	"bookside/adapter/domain"
)

// Payment is a payment. Its access key, which may be null, is there only in a
// single read: the outer pointer tells.
type Payment struct {
	ID             string   `json:"id"`
	Token          *string  `json:"token" needs:"read_payments"`
	InvoiceID      *string  `json:"invoice_id"`
	OrderID        string   `json:"order_id"`
	BookingID      *string  `json:"booking_id"`
	CustomerID     string   `json:"customer_id"`
	Processor      string   `json:"processor"`
	PaymentMethod  string   `json:"payment_method"`
	PaymentPortion string   `json:"payment_portion"`
	Kind           string   `json:"kind"`
	Amount         string   `json:"amount"`
	Status         string   `json:"status"`
	Notes          *string  `json:"notes"`
	ReceiptNumber  string   `json:"receipt_number"`
	AccessKey      **string `json:"access_key,omitempty"`
	CreatedAt      string   `json:"created_at"`
	UpdatedAt      string   `json:"updated_at"`
}

var paymentSorts = map[string]adapter.PaymentSort{
	"created_at": adapter.PaymentsByCreation,
	"id":         adapter.PaymentsByID,
	"amount":     adapter.PaymentsByAmount,
	"status":     adapter.PaymentsByStatus,
}

// PaymentParameters are those of the payment list.
var PaymentParameters = parameters(domain.InvalidParameters,
	page(func(f *adapter.PaymentFilter) *int64 { return &f.Page }),
	perPage(10, func(f *adapter.PaymentFilter) *int64 { return &f.PerPage }),
	optional("customer_id", id(maxInt), func(f *adapter.PaymentFilter) **int64 { return &f.CustomerID }).about("Id of the customer"),
	optional("order_id", id(maxInt), func(f *adapter.PaymentFilter) **int64 { return &f.OrderID }).about("Id of the order"),
	optional("status", text(), func(f *adapter.PaymentFilter) **string { return &f.Status }).about("succeeded, processing or failed", "succeeded"),
	optional("payment_method", text(), func(f *adapter.PaymentFilter) **string { return &f.PaymentMethod }),
	optional("processor", text(), func(f *adapter.PaymentFilter) **string { return &f.Processor }),
	optional("amount_min", amount(), func(f *adapter.PaymentFilter) **decimal.Decimal { return &f.AmountMin }),
	optional("amount_max", amount(), func(f *adapter.PaymentFilter) **decimal.Decimal { return &f.AmountMax }),
	optional("date_from", beginning(), func(f *adapter.PaymentFilter) **time.Time { return &f.CreatedFrom }).about("First day of creation"),
	optional("date_to", end(), func(f *adapter.PaymentFilter) **time.Time { return &f.CreatedBefore }).about("Last day of creation"),
	optional("updated_from", beginning(), func(f *adapter.PaymentFilter) **time.Time { return &f.UpdatedFrom }),
	optional("updated_to", end(), func(f *adapter.PaymentFilter) **time.Time { return &f.UpdatedBefore }),
	optional("search", text(), func(f *adapter.PaymentFilter) **string { return &f.Search }).about("Text anywhere in tokens, notes or receipt numbers, in any letter case", "R-2026"),
	defaulted("sort", word(paymentSorts, unknownSort), adapter.PaymentsByCreation, func(f *adapter.PaymentFilter) *adapter.PaymentSort { return &f.Sort }),
	descending(true, func(f *adapter.PaymentFilter) *bool { return &f.Descending }),
)

// PaymentFilter reads the parameters of the payment list.
func (v View) PaymentFilter(q *Query) (adapter.PaymentFilter, error) {
	var f adapter.PaymentFilter
	PaymentParameters.read(v, q, &f)
	return f, PaymentParameters.err(q)
}

// PaymentList is a page of payments.
func (v View) PaymentList(page adapter.Page[adapter.Payment]) List[Payment] {
	return list(page, v.payment)
}

// PaymentDetail is one payment.
func (v View) PaymentDetail(p adapter.Payment) Single[Payment] {
	record := v.payment(p)
	record.AccessKey = &p.AccessKey
	return single(record)
}

// Transaction is one payment as a transaction of its order.
func (v View) Transaction(p adapter.Payment) BothSingle[Payment] { return bothSingle(v.payment(p)) }

func (v View) payment(p adapter.Payment) Payment {
	return Payment{
		ID: domain.IDText(p.ID), Token: p.Token, InvoiceID: domain.OptionalIDText(p.InvoiceID), OrderID: domain.ValueOr(domain.OptionalIDText(p.OrderID), ""),
		BookingID: domain.OptionalIDText(p.BookingID), CustomerID: domain.IDText(p.CustomerID),
		Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: p.PaymentPortion, Kind: p.Kind,
		Amount: domain.AmountText(p.DisplayAmount()), Status: p.Status, Notes: p.Notes, ReceiptNumber: domain.ValueOr(p.ReceiptNumber, ""),
		CreatedAt: v.timestamp(p.CreatedAt), UpdatedAt: v.timestamp(p.UpdatedAt),
	}
}
