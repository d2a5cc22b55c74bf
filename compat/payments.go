package compat

import "bookside/adapter"

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

// PaymentFilter reads the parameters of the payment list.
func (v View) PaymentFilter(q *Query) (adapter.PaymentFilter, error) {
	f := adapter.PaymentFilter{
		Paging:        q.Paging(10),
		CustomerID:    q.IDOrNone("customer_id", maxInt),
		OrderID:       q.IDOrNone("order_id", maxInt),
		Status:        q.Text("status"),
		PaymentMethod: q.Text("payment_method"),
		Processor:     q.Text("processor"),
		AmountMin:     q.Amount("amount_min"),
		AmountMax:     q.Amount("amount_max"),
		CreatedFrom:   v.from(q, "date_from"),
		CreatedBefore: v.through(q, "date_to"),
		Search:        q.Text("search"),
		Sort:          wordOr(q, "sort", paymentSorts, adapter.PaymentsByCreation, unknownSort),
		Descending:    q.descending(true),
	}
	return f, q.Err()
}

// PaymentList is a page of payments.
func (v View) PaymentList(page adapter.Page[adapter.Payment]) List { return list(page, v.payment) }

// PaymentDetail is one payment.
func (v View) PaymentDetail(p adapter.Payment) Single {
	record := v.payment(p)
	record.AccessKey = &p.AccessKey
	return single(record)
}

// Transaction is one payment as a transaction of its order.
func (v View) Transaction(p adapter.Payment) BothSingle { return bothSingle(v.payment(p)) }

func (v View) payment(p adapter.Payment) Payment {
	return Payment{
		ID: number(p.ID), Token: p.Token, InvoiceID: optionalNumber(p.InvoiceID), OrderID: valueOr(optionalNumber(p.OrderID), ""),
		BookingID: optionalNumber(p.BookingID), CustomerID: number(p.CustomerID),
		Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: p.PaymentPortion, Kind: p.Kind,
		Amount: money(p.Amount), Status: p.Status, Notes: p.Notes, ReceiptNumber: valueOr(p.ReceiptNumber, ""),
		CreatedAt: v.timestamp(p.CreatedAt), UpdatedAt: v.timestamp(p.UpdatedAt),
	}
}
