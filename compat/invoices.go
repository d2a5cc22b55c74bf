package compat

import (
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
)

// Invoice is an invoice of an order.
type Invoice struct {
	ID             string  `json:"id"`
	OrderID        string  `json:"order_id"`
	InvoiceNumber  string  `json:"invoice_number"`
	Status         string  `json:"status"`
	ChargeAmount   string  `json:"charge_amount"`
	PaymentPortion *string `json:"payment_portion"`
	DueAt          *string `json:"due_at"`
	Data           *string `json:"data" needs:"read_customers" mask:"text"` // name and contact data of the billed customer
	CreatedAt      string  `json:"created_at"`
	UpdatedAt      string  `json:"updated_at"`
}

// InvoiceList returns a page of invoices.
func (v View) InvoiceList(page records.Page[payments.Invoice]) List[Invoice] {
	return list(page, v.invoice)
}

// InvoiceDetail returns one invoice.
func (v View) InvoiceDetail(i payments.Invoice) BothSingle[Invoice] { return bothSingle(v.invoice(i)) }

func (v View) invoice(i payments.Invoice) Invoice {
	return Invoice{
		ID: domain.IDText(i.ID), OrderID: domain.IDText(i.OrderID), InvoiceNumber: i.Number, Status: i.Status,
		ChargeAmount: domain.AmountText(i.ChargeAmount), PaymentPortion: i.PaymentPortion, Data: i.Data, DueAt: orNil(v.timestamp(i.DueAt)),
		CreatedAt: v.timestamp(i.CreatedAt), UpdatedAt: v.timestamp(i.UpdatedAt),
	}
}
