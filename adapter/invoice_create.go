package adapter

import (
	"cmp"
	"context"
	"strings"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// invoiceSource is what an invoice shows of a new order.
type invoiceSource struct {
	id              int64
	customer        BookingCustomer
	subtotal, total decimal.Decimal
	breakdown       priceBreakdown
}

// invoiceOrder writes the invoice of a new order
// (OsInvoicesHelper::create_invoices_for_new_order, LatePoint 5.6.5), unless the site has
// invoices switched off, altogether or for free orders.
func (tx *Tx) invoiceOrder(ctx context.Context, w writeSettings, o invoiceSource) error {
	invoices, err := tx.invoiceRows(w, o)
	if err == nil {
		_, err = tx.insert(ctx, wpdb.OrderInvoices, invoices...)
	}
	return err
}

// invoiceRows returns the row of the invoice of a new order, or none where it gets none.
func (s *Site) invoiceRows(w writeSettings, o invoiceSource) ([]row, error) {
	if !w.onUnlessSet(settingInvoices) || !o.total.IsPositive() && w.settings[settingFreeInvoices] != on {
		return nil, nil
	}
	total := domain.AmountText(o.total)
	data, err := process.EncodePHP(invoiceData{
		Company: w.settings[settingInvoiceCompany],
		From:    w.replaceVariables(cmp.Or(w.settings[settingInvoiceFrom], defaultInvoiceFrom), o.customer),
		To:      w.replaceVariables(cmp.Or(w.settings[settingInvoiceTo], defaultInvoiceTo), o.customer),
		TaxID:   w.settings[settingInvoiceTaxID], PriceBreakdown: o.breakdown, Totals: invoiceTotals{Subtotal: domain.AmountText(o.subtotal), Total: total},
	})
	if err != nil {
		return nil, err
	}
	key, err := s.uuid()
	if err != nil {
		return nil, err
	}
	return []row{append(row{
		{"order_id", o.id}, {"invoice_number", nil}, {"data", data}, {"status", invoiceOpen}, {"charge_amount", total},
		{"due_at", domain.Stamp(s.Now)}, {"payment_portion", "full"}, {"access_key", key},
	}, s.newTimestamps()...)}, nil
}

// invoiceData is the content of an invoice, as it was when it was created.
type invoiceData struct {
	Company        string         `json:"company"`
	From           string         `json:"from"`
	To             string         `json:"to"`
	PriceBreakdown priceBreakdown `json:"price_breakdown"`
	TaxID          string         `json:"tax_id"`
	Totals         invoiceTotals  `json:"totals"`
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
func (w writeSettings) replaceVariables(template string, c BookingCustomer) string {
	return strings.NewReplacer(
		"{{customer_full_name}}", strings.TrimSpace(c.FirstName+" "+c.LastName), "{{customer_first_name}}", c.FirstName, "{{customer_last_name}}", c.LastName,
		"{{customer_email}}", c.Email, "{{customer_phone}}", c.Phone,
		"{{business_name}}", w.settings[settingBusinessName], "{{business_address}}", w.settings[settingBusinessAddress],
		"{{business_phone}}", w.settings[settingBusinessPhone],
	).Replace(template)
}
