package adapter

import (
	"context"
	"strings"

	"github.com/shopspring/decimal"

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
		Items:    []breakdownItem{{Value: price.StringFixed(2), Label: service, RawValue: amountText(price)}},
		SubItems: []breakdownItem{},
	}}}
}

// insertOrder writes the order of a new booking.
func (s *Site) insertOrder(ctx context.Context, w writing, plan bookingPlan) (int64, priceBreakdown, error) {
	breakdown := breakdownOf(plan.service.name, plan.price)
	stored, err := process.EncodePHP(breakdown)
	if err != nil {
		return 0, breakdown, err
	}
	code, err := s.code(confirmationCodeLength)
	if err != nil {
		return 0, breakdown, err
	}
	var address any
	if w.settings[settingLogAddress] == on && plan.Address != "" {
		address = plan.Address
	}
	id, err := s.insert(ctx, wpdb.Orders, append(row{
		{"subtotal", amountText(plan.price)}, {"total", amountText(plan.price)},
		{"status", "open"}, {"fulfillment_status", "not_fulfilled"}, {"payment_status", "not_paid"},
		{"source_id", nil}, {"source_url", ""}, {"ip_address", address},
		{"customer_id", plan.customer.ID}, {"customer_comment", plan.notes}, {"confirmation_code", code},
		{"price_breakdown", stored}, {"coupon_code", nil}, {"coupon_discount", "0.0000"}, {"tax_total", "0.0000"},
		{"initial_payment_data", `{"time":"later"}`},
	}, s.createdNow()...))
	return id, breakdown, err
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

// insertInvoice writes the invoice of a new order
// (OsInvoicesHelper::create_invoices_for_new_order, LatePoint 5.6.5): none where
// the site makes none, or none for what is free.
func (s *Site) insertInvoice(ctx context.Context, w writing, plan bookingPlan, orderID int64, breakdown priceBreakdown) error {
	return s.invoiceOrder(ctx, w, invoicedOrder{id: orderID, customer: plan.customer, subtotal: plan.price, total: plan.price, breakdown: breakdown})
}

// invoicedOrder is what an invoice says of a new order.
type invoicedOrder struct {
	id              int64
	customer        BookingCustomer
	subtotal, total decimal.Decimal
	breakdown       priceBreakdown
}

func (s *Site) invoiceOrder(ctx context.Context, w writing, o invoicedOrder) error {
	if !w.onUnlessSet(settingInvoices) || !o.total.IsPositive() && w.settings[settingFreeInvoices] != on {
		return nil
	}
	template := func(setting, fallback string) string {
		if text, ok := w.settings[setting]; ok && text != "" {
			return text
		}
		return fallback
	}
	total := amountText(o.total)
	data, err := process.EncodePHP(invoiceData{
		Company: w.settings[settingInvoiceCompany],
		From:    w.replaceParties(template(settingInvoiceFrom, defaultInvoiceFrom), o.customer),
		To:      w.replaceParties(template(settingInvoiceTo, defaultInvoiceTo), o.customer),
		TaxID:   w.settings[settingInvoiceTaxID], PriceBreakdown: o.breakdown, Totals: invoiceTotals{Subtotal: amountText(o.subtotal), Total: total},
	})
	if err != nil {
		return err
	}
	key, err := s.uuid()
	if err != nil {
		return err
	}
	_, err = s.insert(ctx, wpdb.OrderInvoices, append(row{
		{"order_id", o.id}, {"invoice_number", nil}, {"data", data}, {"status", "open"}, {"charge_amount", total},
		{"due_at", stamp(s.Now)}, {"payment_portion", "full"}, {"access_key", key},
	}, s.createdNow()...))
	return err
}

// replaceParties fills in the variables of customer and business.
func (w writing) replaceParties(template string, c BookingCustomer) string {
	return strings.NewReplacer(
		"{{customer_full_name}}", strings.TrimSpace(c.FirstName+" "+c.LastName), "{{customer_first_name}}", c.FirstName, "{{customer_last_name}}", c.LastName,
		"{{customer_email}}", c.Email, "{{customer_phone}}", c.Phone,
		"{{business_name}}", w.settings[settingBusinessName], "{{business_address}}", w.settings[settingBusinessAddress],
		"{{business_phone}}", w.settings[settingBusinessPhone],
	).Replace(template)
}
