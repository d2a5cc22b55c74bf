package payments

import (
	"cmp"
	"context"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// InvoiceSource is what an invoice shows of a new order.
type InvoiceSource struct {
	ID              int64
	Customer        records.BookingCustomer
	Subtotal, Total decimal.Decimal
	Breakdown       any // records.PriceBreakdown, or JSON
}

// InvoiceOrder writes the invoice of a new order (OsInvoicesHelper::create_invoices_for_new_order,
// LatePoint 5.6.5), unless the site has switched off invoices, altogether or for free orders.
func InvoiceOrder(ctx context.Context, tx *session.Tx, w session.WriteSettings, o InvoiceSource) error {
	invoices, err := InvoiceRows(tx.Session, w, o)
	if err == nil {
		_, err = tx.Insert(ctx, wpdb.OrderInvoices, invoices...)
	}
	return err
}

// InvoiceRows returns the row of the invoice of a new order, or nothing if it gets none.
func InvoiceRows(s *session.Session, w session.WriteSettings, o InvoiceSource) ([]session.Row, error) {
	if !w.OnUnlessSet(session.SettingInvoices) || !o.Total.IsPositive() && w.Settings[session.SettingFreeInvoices] != session.On {
		return nil, nil
	}
	total := domain.AmountText(o.Total)
	data, err := text.EncodePHP(invoiceData{
		Company: w.Settings[session.SettingInvoiceCompany],
		From:    replaceVariables(w, cmp.Or(w.Settings[session.SettingInvoiceFrom], defaultInvoiceFrom), o.Customer),
		To:      replaceVariables(w, cmp.Or(w.Settings[session.SettingInvoiceTo], defaultInvoiceTo), o.Customer),
		TaxID:   w.Settings[session.SettingInvoiceTaxID], PriceBreakdown: o.Breakdown, Totals: invoiceTotals{Subtotal: domain.AmountText(o.Subtotal), Total: total},
	})
	if err != nil {
		return nil, err
	}
	key, err := session.NewUUID(s)
	if err != nil {
		return nil, err
	}
	return []session.Row{append(session.Row{
		{Name: "order_id", Value: o.ID}, {Name: "invoice_number", Value: nil}, {Name: "data", Value: data}, {Name: "status", Value: InvoiceOpen}, {Name: "charge_amount", Value: total},
		{Name: "due_at", Value: domain.Stamp(s.Now)}, {Name: "payment_portion", Value: "full"}, {Name: "access_key", Value: key},
	}, s.NewTimestamps()...)}, nil
}

// invoiceData is the content of an invoice at the time of its creation.
type invoiceData struct {
	Company        string        `json:"company"`
	From           string        `json:"from"`
	To             string        `json:"to"`
	PriceBreakdown any           `json:"price_breakdown"`
	TaxID          string        `json:"tax_id"`
	Totals         invoiceTotals `json:"totals"`
}

type invoiceTotals struct {
	Subtotal string `json:"subtotal"`
	Total    string `json:"total"`
}

// The plugin's templates for the two addresses of an invoice.
const (
	defaultInvoiceFrom = "{{business_address}}<br>{{business_phone}}"
	defaultInvoiceTo   = "{{customer_full_name}}<br>{{customer_email}}<br>{{customer_phone}}"
)

// replaceVariables replaces the variables of customer and business in a template.
func replaceVariables(w session.WriteSettings, template string, c records.BookingCustomer) string {
	return strings.NewReplacer(
		"{{customer_full_name}}", strings.TrimSpace(c.FirstName+" "+c.LastName), "{{customer_first_name}}", c.FirstName, "{{customer_last_name}}", c.LastName,
		"{{customer_email}}", c.Email, "{{customer_phone}}", c.Phone,
		"{{business_name}}", w.Settings[session.SettingBusinessName], "{{business_address}}", w.Settings[session.SettingBusinessAddress],
		"{{business_phone}}", w.Settings[session.SettingBusinessPhone],
	).Replace(template)
}
