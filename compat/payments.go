package compat

import (
	"maps"
	"slices"
	"strings"

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
var PaymentParameters = parameters("GET /payments", domain.InvalidParameters, func(f *payments.Filter) Fields {
	return Fields{
		page(&f.Page),
		perPage(10, &f.PerPage),
		optional("customer_id", id(maxInt), &f.CustomerID),
		optional("order_id", id(maxInt), &f.OrderID),
		optional("status", plainText, &f.Status),
		optional("payment_method", plainText, &f.PaymentMethod),
		optional("processor", plainText, &f.Processor),
		optional("amount_min", amount, &f.AmountMin),
		optional("amount_max", amount, &f.AmountMax),
		optional("date_from", beginning, &f.CreatedFrom),
		optional("date_to", end, &f.CreatedBefore),
		optional("updated_from", beginning, &f.UpdatedFrom),
		optional("updated_to", end, &f.UpdatedBefore),
		optional("search", text, &f.Search),
		choice("sort", paymentSorts, unknownSort, "created_at", &f.Sort),
		descending("desc", &f.Descending),
	}
})

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

// PaymentFields are the fields of PUT /payments/{id}.
var PaymentFields = declare("a payment", func(p *payments.Patch) Fields { return paymentFields(p).changing() })

// NewPaymentFields are the fields of POST /payments.
var NewPaymentFields = declare("POST /payments", func(p *payments.New) Fields {
	return append(Fields{
		optional("order_id", id(maxInt), &p.OrderID),
		optional("booking_id", id(maxInt), &p.BookingID),
		value("customer_id", id(maxMediumInt), &p.CustomerID),
	}, paymentFields(&p.Patch)...).requiring("amount")
})

func paymentFields(p *payments.Patch) Fields {
	return Fields{
		flag("force", &p.Force),
		optional("amount", price, &p.Amount),
		optional("processor", fixedText, &p.Processor),
		optional("payment_method", fixedText, &p.PaymentMethod),
		optional("payment_portion", fixedText, &p.PaymentPortion),
		optional("kind", fixedText, &p.Kind),
		optional("status", word(paymentStatuses, "Must be succeeded, processing or failed"), &p.Status),
		orNULL("transaction_id", &p.Token, "token", &p.Nulls),
		orNULL("token", &p.Token, "token", &p.Nulls),
		orNULL("notes", &p.Notes, "notes", &p.Nulls),
		optional("receipt_number", fixedText, &p.ReceiptNumber),
	}
}

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

// paymentWords are the fields of a payment, in the order in which the first wrong one is reported, with
// their own wording where they have one.
var paymentWords = []struct{ name, words string }{
	{"order_id", "order ID"}, {"booking_id", "booking ID"}, {"amount", "amount"}, {"customer_id", "customer ID"}, {"status", "payment status"},
	{"processor", "processor"}, {"payment_method", "payment method"}, {"payment_portion", "payment portion"}, {"kind", "kind"},
	{"token", "token"}, {"transaction_id", "transaction ID"}, {"notes", "notes"}, {"force", "force"}, {"receipt_number", "receipt number"},
}

// PaymentFault describes what is wrong with a payment in one sentence: all missing fields, otherwise the
// first wrong one.
func PaymentFault(fields map[string]string) string {
	var missing, wrong []string
	for _, f := range paymentWords {
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
