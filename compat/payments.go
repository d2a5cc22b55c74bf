package compat

import (
	"time"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/lists"
	"bookside/adapter/payments"
	"bookside/adapter/records"
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

var paymentSorts = map[string]payments.Sort{
	"created_at": payments.ByCreation,
	"id":         payments.ByID,
	"amount":     payments.ByAmount,
	"status":     payments.ByStatus,
}

// PaymentParameters are those of the payment list.
var PaymentParameters = parameters(domain.InvalidParameters,
	page(func(f *payments.Filter) *int64 { return &f.Page }),
	perPage(10, func(f *payments.Filter) *int64 { return &f.PerPage }),
	optional("customer_id", id(maxInt), func(f *payments.Filter) **int64 { return &f.CustomerID }).about("Id of the customer"),
	optional("order_id", id(maxInt), func(f *payments.Filter) **int64 { return &f.OrderID }).about("Id of the order"),
	optional("status", text(), func(f *payments.Filter) **string { return &f.Status }).about("succeeded, processing or failed", "succeeded"),
	optional("payment_method", text(), func(f *payments.Filter) **string { return &f.PaymentMethod }),
	optional("processor", text(), func(f *payments.Filter) **string { return &f.Processor }),
	optional("amount_min", amount(), func(f *payments.Filter) **decimal.Decimal { return &f.AmountMin }),
	optional("amount_max", amount(), func(f *payments.Filter) **decimal.Decimal { return &f.AmountMax }),
	optional("date_from", beginning(), func(f *payments.Filter) **time.Time { return &f.CreatedFrom }).about("First day of creation"),
	optional("date_to", end(), func(f *payments.Filter) **time.Time { return &f.CreatedBefore }).about("Last day of creation"),
	optional("updated_from", beginning(), func(f *payments.Filter) **time.Time { return &f.UpdatedFrom }).onlyOurs(),
	optional("updated_to", end(), func(f *payments.Filter) **time.Time { return &f.UpdatedBefore }).onlyOurs(),
	optional("search", text(), func(f *payments.Filter) **string { return &f.Search }).about("Text anywhere in tokens, notes or receipt numbers, in any letter case", "R-2026"),
	defaulted("sort", word(paymentSorts, unknownSort), payments.ByCreation, func(f *payments.Filter) *payments.Sort { return &f.Sort }),
	descending(true, func(f *payments.Filter) *bool { return &f.Descending }),
)

// PaymentFilter reads the parameters of the payment list.
func (v View) PaymentFilter(q *Query) (payments.Filter, error) {
	var f payments.Filter
	PaymentParameters.read(v, q, &f)
	return f, PaymentParameters.err(q)
}

// PaymentList is a page of payments.
func (v View) PaymentList(page lists.Page[records.Payment]) List[Payment] {
	return list(page, v.payment)
}

// PaymentDetail is one payment.
func (v View) PaymentDetail(p records.Payment) Single[Payment] {
	record := v.payment(p)
	record.AccessKey = &p.AccessKey
	return single(record)
}

// Transaction is one payment as a transaction of its order.
func (v View) Transaction(p records.Payment) BothSingle[Payment] { return bothSingle(v.payment(p)) }

func (v View) payment(p records.Payment) Payment {
	return Payment{
		ID: domain.IDText(p.ID), Token: p.Token, InvoiceID: domain.OptionalIDText(p.InvoiceID), OrderID: domain.ValueOr(domain.OptionalIDText(p.OrderID), ""),
		BookingID: domain.OptionalIDText(p.BookingID), CustomerID: domain.IDText(p.CustomerID),
		Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: p.PaymentPortion, Kind: p.Kind,
		Amount: domain.AmountText(p.DisplayAmount()), Status: p.Status, Notes: p.Notes, ReceiptNumber: domain.ValueOr(p.ReceiptNumber, ""),
		CreatedAt: v.timestamp(p.CreatedAt), UpdatedAt: v.timestamp(p.UpdatedAt),
	}
}
