package compat

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
)

// Payment is a payment. Only a single read has its access key, which may be null: the outer pointer
// distinguishes the two.
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
	Notes          *string  `json:"notes" mask:"text"`
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

// PaymentParameters are the parameters of the payment list.
var PaymentParameters = parameters(domain.InvalidParameters,
	page(func(f *payments.Filter) *int64 { return &f.Page }),
	perPage(10, func(f *payments.Filter) *int64 { return &f.PerPage }),
	optional("customer_id", id(maxInt), func(f *payments.Filter) **int64 { return &f.CustomerID }).about("Id of the customer"),
	optional("order_id", id(maxInt), func(f *payments.Filter) **int64 { return &f.OrderID }).about("Id of the order"),
	optional("status", text(), func(f *payments.Filter) **string { return &f.Status }).about("succeeded, processing or failed", "succeeded").impersonal(),
	optional("payment_method", text(), func(f *payments.Filter) **string { return &f.PaymentMethod }).impersonal(),
	optional("processor", text(), func(f *payments.Filter) **string { return &f.Processor }).impersonal(),
	optional("amount_min", amount(), func(f *payments.Filter) **decimal.Decimal { return &f.AmountMin }),
	optional("amount_max", amount(), func(f *payments.Filter) **decimal.Decimal { return &f.AmountMax }),
	optional("date_from", beginning(), func(f *payments.Filter) **time.Time { return &f.CreatedFrom }).about("First day of creation"),
	optional("date_to", end(), func(f *payments.Filter) **time.Time { return &f.CreatedBefore }).about("Last day of creation"),
	optional("updated_from", beginning(), func(f *payments.Filter) **time.Time { return &f.UpdatedFrom }),
	optional("updated_to", end(), func(f *payments.Filter) **time.Time { return &f.UpdatedBefore }),
	optional("search", text(), func(f *payments.Filter) **string { return &f.Search }).about("Text anywhere in tokens, notes or receipt numbers, in any letter case", "R-2026"),
	defaulted("sort", word(paymentSorts, unknownSort), payments.ByCreation, func(f *payments.Filter) *payments.Sort { return &f.Sort }),
	descending(true, func(f *payments.Filter) *bool { return &f.Descending }),
)

// PaymentList returns a page of payments.
func (v View) PaymentList(page records.Page[records.Payment]) List[Payment] {
	return list(page, v.payment)
}

// PaymentDetail returns one payment.
func (v View) PaymentDetail(p records.Payment) Single[Payment] {
	record := v.payment(p)
	record.AccessKey = &p.AccessKey
	return single(record)
}

// Transaction returns a payment as a transaction of its order.
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

// WrittenPayment is a payment as writes return it, with an amount without trailing zeros.
type WrittenPayment struct {
	ID             string  `json:"id"`
	BookingID      *string `json:"booking_id"`
	CustomerID     string  `json:"customer_id"`
	Processor      string  `json:"processor"`
	PaymentMethod  string  `json:"payment_method"`
	PaymentPortion string  `json:"payment_portion"`
	Kind           string  `json:"kind"`
	Amount         string  `json:"amount"`
	Status         string  `json:"status"`
	Token          *string `json:"token" needs:"read_payments"`
	Notes          *string `json:"notes" mask:"text"`
	OrderID        string  `json:"order_id"`
	InvoiceID      *string `json:"invoice_id"`
	ReceiptNumber  string  `json:"receipt_number"`
	CreatedAt      string  `json:"created_at"`
	UpdatedAt      string  `json:"updated_at"`
}

// paymentStatuses are the statuses of payments, including the words of older versions of the API and their
// clients.
var paymentStatuses = map[string]string{
	"succeeded": "succeeded", "completed": "succeeded",
	"processing": "processing", "pending": "processing",
	"failed": "failed", "refunded": "refunded",
}

// forcedRefund describes what force does to a payment.
const forcedRefund = "Records refunds that exceed the payments"

// PaymentFields are the fields of PUT /payments/{id}.
var PaymentFields = paymentPatchFields.changing("processor", "payment_method", "payment_portion", "kind", "receipt_number")

var paymentPatchFields = Fields[payments.Patch]{
	flag("force", func(p *payments.Patch) *bool { return &p.Force }).about(forcedRefund),
	optional("amount", price(), func(p *payments.Patch) **decimal.Decimal { return &p.Amount }),
	optional("processor", anyText(), func(p *payments.Patch) **string { return &p.Processor }),
	optional("payment_method", anyText(), func(p *payments.Patch) **string { return &p.PaymentMethod }),
	optional("payment_portion", anyText(), func(p *payments.Patch) **string { return &p.PaymentPortion }),
	optional("kind", anyText(), func(p *payments.Patch) **string { return &p.Kind }),
	optional("status", word(paymentStatuses, "Must be succeeded, processing or failed"), func(p *payments.Patch) **string { return &p.Status }).
		about("succeeded, processing or failed; completed means succeeded, pending means processing. A new payment that is refunded is a successful one of kind refund; "+
			"an existing one stays, and what was not given back yet is, or up to the amount that is sent with it", "succeeded"),
	optional("transaction_id", anyText(), func(p *payments.Patch) **string { return &p.Token }).notInExample().
		orNull(func(p *payments.Patch) { p.Nulls = append(p.Nulls, "token") }).about("Another name for token, which counts if both are sent", "pi_1a2b3c"),
	optional("token", anyText(), func(p *payments.Patch) **string { return &p.Token }).
		orNull(func(p *payments.Patch) { p.Nulls = append(p.Nulls, "token") }),
	optional("notes", anyText(), func(p *payments.Patch) **string { return &p.Notes }).
		orNull(func(p *payments.Patch) { p.Nulls = append(p.Nulls, "notes") }),
	optional("receipt_number", anyText(), func(p *payments.Patch) **string { return &p.ReceiptNumber }),
}

// NewPaymentFields are the fields of POST /payments.
var NewPaymentFields = slices.Concat(Fields[payments.New]{
	optional("order_id", id(maxInt), func(p *payments.New) **int64 { return &p.OrderID }),
	optional("booking_id", id(maxInt), func(p *payments.New) **int64 { return &p.BookingID }).notInExample(),
	value("customer_id", id(maxMediumInt), func(p *payments.New) *int64 { return &p.CustomerID }).notInExample().
		about("Id of the order's customer, which need not be sent", "10"),
}, within(paymentPatchFields, func(p *payments.New) *payments.Patch { return &p.Patch })).requiring("amount")

// PaymentCreated is the response to POST /payments, without its record.
var PaymentCreated = successMessage[WrittenPayment]("Payment created successfully")

// PaymentCreated returns the response to POST /payments.
func (v View) PaymentCreated(p records.Payment) SuccessMessage[WrittenPayment] {
	return PaymentCreated.about(v.writtenPayment(p))
}

// PaymentUpdated is the response to PUT /payments/{id}, without its record.
var PaymentUpdated = successMessage[WrittenPayment]("Payment updated successfully")

// PaymentUpdated returns the response to PUT /payments/{id}.
func (v View) PaymentUpdated(p records.Payment) SuccessMessage[WrittenPayment] {
	return PaymentUpdated.about(v.writtenPayment(p))
}

// PaymentDeleted is the response to DELETE /payments/{id}.
var PaymentDeleted = done("Payment deleted successfully")

func (v View) writtenPayment(p records.Payment) WrittenPayment {
	return WrittenPayment{
		ID: domain.IDText(p.ID), BookingID: domain.OptionalIDText(p.BookingID), CustomerID: domain.IDText(p.CustomerID),
		Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: p.PaymentPortion, Kind: p.Kind,
		Amount: p.DisplayAmount().String(), Status: p.Status, Token: p.Token, Notes: p.Notes,
		OrderID: domain.ValueOr(domain.OptionalIDText(p.OrderID), ""), InvoiceID: domain.OptionalIDText(p.InvoiceID), ReceiptNumber: domain.ValueOr(p.ReceiptNumber, ""),
		CreatedAt: v.timestamp(p.CreatedAt), UpdatedAt: v.timestamp(p.UpdatedAt),
	}
}

// paymentFields are the fields of a payment, in the order in which the first wrong one is reported, with
// their own wording where they have one.
var paymentFields = []struct{ name, words string }{
	{"order_id", "order ID"}, {"booking_id", "booking ID"}, {"amount", "amount"}, {"customer_id", "customer ID"}, {"status", "payment status"},
	{"processor", "processor"}, {"payment_method", "payment method"}, {"payment_portion", "payment portion"}, {"kind", "kind"},
	{"token", "token"}, {"transaction_id", "transaction ID"}, {"notes", "notes"}, {"force", "force"}, {"receipt_number", "receipt number"},
}

// PaymentFault describes what is wrong with a payment in one sentence: all missing fields, otherwise the
// first wrong one.
func PaymentFault(fields map[string]string) string {
	var missing, wrong []string
	for _, f := range paymentFields {
		switch fields[f.name] {
		case "":
		case required:
			missing = append(missing, f.name)
		default:
			wrong = append(wrong, f.words)
		}
	}
	if len(missing) > 0 {
		return "Missing required fields: " + strings.Join(missing, ", ")
	}
	wrong = append(wrong, slices.Sorted(maps.Keys(fields))...) // not fields of the body
	return "Invalid " + wrong[0] + " provided"
}
