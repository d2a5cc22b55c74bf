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

// priceBreakdown is how an order's price is made up, as its column holds it
// (OsOrderModel::generate_price_breakdown_rows, LatePoint 5.6.5).
type priceBreakdown struct {
	BeforeSubtotal []breakdownPart `json:"before_subtotal"`
}

type breakdownPart struct {
	Heading  string          `json:"heading"`
	Items    []breakdownItem `json:"items"`
	SubItems []breakdownItem `json:"sub_items"`
}

type breakdownItem struct {
	Value    string `json:"value"`
	Label    string `json:"label"`
	Style    string `json:"style"`
	Type     string `json:"type"`
	Note     string `json:"note"`
	Badge    string `json:"badge"`
	RawValue string `json:"raw_value"`
}

// breakdownOf is the price of one booking of a service.
func breakdownOf(service string, price decimal.Decimal) priceBreakdown {
	return priceBreakdown{BeforeSubtotal: []breakdownPart{{
		Heading:  "Service",
		Items:    []breakdownItem{{Value: price.StringFixed(2), Label: service, RawValue: domain.AmountText(price)}},
		SubItems: []breakdownItem{},
	}}}
}

// insertOrder writes the row of a new order.
func (tx *Tx) insertOrder(ctx context.Context, w writeSettings, n NewOrder, customer int64, breakdown priceBreakdown) (int64, error) {
	stored, err := process.EncodePHP(breakdown)
	if err != nil {
		return 0, err
	}
	code := domain.ValueOr(n.ConfirmationCode, "")
	if code == "" {
		if code, err = tx.code(confirmationCodeLength); err != nil {
			return 0, err
		}
	}
	address := n.IPAddress
	if address == nil && n.Address != "" && w.settings[settingLogAddress] == on {
		address = &n.Address
	}
	return tx.insert(ctx, wpdb.Orders, append(row{
		{"subtotal", orAmount(n.Subtotal)}, {"total", orAmount(n.Total)}, {"status", domain.ValueOr(n.Status, "open")},
		{"fulfillment_status", domain.ValueOr(n.FulfillmentStatus, "not_fulfilled")}, {"payment_status", domain.ValueOr(n.PaymentStatus, orderNotPaid)},
		{"source_id", n.SourceID}, {"source_url", domain.ValueOr(n.SourceURL, "")}, {"ip_address", address},
		{"customer_id", customer}, {"customer_comment", domain.ValueOr(n.CustomerComment, "")}, {"confirmation_code", code},
		{"price_breakdown", stored}, {"coupon_code", n.CouponCode}, {"coupon_discount", orAmount(n.CouponDiscount)},
		{"tax_total", orAmount(n.TaxTotal)}, {"initial_payment_data", `{"time":"later"}`},
	}, tx.newTimestamps()...))
}

// invoiceData is what an invoice says, a snapshot.
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

// invoiceSource is what an invoice says of a new order.
type invoiceSource struct {
	id              int64
	customer        BookingCustomer
	subtotal, total decimal.Decimal
	breakdown       priceBreakdown
}

// invoiceOrder writes the invoice of a new order
// (OsInvoicesHelper::create_invoices_for_new_order, LatePoint 5.6.5): none where
// the site makes none, or none for what is free.
func (tx *Tx) invoiceOrder(ctx context.Context, w writeSettings, o invoiceSource) error {
	if !w.onUnlessSet(settingInvoices) || !o.total.IsPositive() && w.settings[settingFreeInvoices] != on {
		return nil
	}
	total := domain.AmountText(o.total)
	data, err := process.EncodePHP(invoiceData{
		Company: w.settings[settingInvoiceCompany],
		From:    w.replaceVariables(cmp.Or(w.settings[settingInvoiceFrom], defaultInvoiceFrom), o.customer),
		To:      w.replaceVariables(cmp.Or(w.settings[settingInvoiceTo], defaultInvoiceTo), o.customer),
		TaxID:   w.settings[settingInvoiceTaxID], PriceBreakdown: o.breakdown, Totals: invoiceTotals{Subtotal: domain.AmountText(o.subtotal), Total: total},
	})
	if err != nil {
		return err
	}
	key, err := tx.uuid()
	if err != nil {
		return err
	}
	_, err = tx.insert(ctx, wpdb.OrderInvoices, append(row{
		{"order_id", o.id}, {"invoice_number", nil}, {"data", data}, {"status", invoiceOpen}, {"charge_amount", total},
		{"due_at", domain.Stamp(tx.Now)}, {"payment_portion", "full"}, {"access_key", key},
	}, tx.newTimestamps()...))
	return err
}

// replaceVariables fills in the variables of customer and business.
func (w writeSettings) replaceVariables(template string, c BookingCustomer) string {
	return strings.NewReplacer(
		"{{customer_full_name}}", strings.TrimSpace(c.FirstName+" "+c.LastName), "{{customer_first_name}}", c.FirstName, "{{customer_last_name}}", c.LastName,
		"{{customer_email}}", c.Email, "{{customer_phone}}", c.Phone,
		"{{business_name}}", w.settings[settingBusinessName], "{{business_address}}", w.settings[settingBusinessAddress],
		"{{business_phone}}", w.settings[settingBusinessPhone],
	).Replace(template)
}
