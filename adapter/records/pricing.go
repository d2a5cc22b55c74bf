package records

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
)

// PricedItem is an item of an order.
type PricedItem struct{ Subtotal, Discount decimal.Decimal }

// Total returns what the item costs after its discount, before taxes.
func (i PricedItem) Total() decimal.Decimal { return i.Subtotal.Sub(i.Discount) }

// PricedCoupon is the part of a coupon that affects prices.
type PricedCoupon struct {
	Percent  bool
	Value    decimal.Decimal  // a percentage, or an amount
	Most     *decimal.Decimal // nil for no limit; the add-on has no such limit
	PerOrder int64            // how many items of an order it applies to; 0 for all
}

// Apply gives each item the discount of a coupon that is valid for them; even a fixed amount applies to
// each item (OsFeatureCouponsHelper::apply_coupons_to_cart_calculations).
func (c PricedCoupon) Apply(items []PricedItem) {
	applied := int64(0)
	for i := range items {
		if c.PerOrder > 0 && applied >= c.PerOrder {
			return
		}
		discount := c.Value
		if c.Percent {
			discount = items[i].Subtotal.Mul(c.Value).Shift(-2).Round(domain.AmountDecimals)
		}
		if c.Most != nil {
			discount = decimal.Min(discount, *c.Most)
		}
		if discount = decimal.Min(discount, items[i].Subtotal); discount.IsPositive() {
			items[i].Discount = discount
			applied++
		}
	}
}

// Tax is a tax of the site.
type Tax struct {
	ID, Name string
	Fixed    bool
	Value    decimal.Decimal // an amount per order, or a percentage of its price
}

// amount returns the tax on an amount. It is rounded only when stored.
func (t Tax) amount(on decimal.Decimal) decimal.Decimal {
	switch {
	case !t.Value.IsPositive():
		return decimal.Zero
	case t.Fixed:
		return t.Value
	default:
		return on.Mul(t.Value).Shift(-2)
	}
}

// Label returns the tax's label in a price breakdown. PHP adds 0 to the percentage after formatting it with
// the site's separator, and so drops everything after a comma.
func (t Tax) Label(decimalSeparator string) string {
	if t.Fixed {
		return t.Name
	}
	percent := t.Value.Round(3)
	if decimalSeparator != "." {
		percent = percent.Truncate(0)
	}
	return t.Name + " (" + percent.String() + "%)"
}

// ParseTaxes reads the setting with the taxes of a site: a JSON object of taxes by id, in its order. A
// later tax replaces an earlier one with the same id. Anything that is not such an object has no taxes.
func ParseTaxes(setting string) []Tax {
	decoder := json.NewDecoder(strings.NewReader(setting))
	opening, err := decoder.Token()
	if err != nil || opening != json.Delim('{') && opening != json.Delim('[') {
		return nil
	}
	var taxes []Tax
	for decoder.More() {
		if opening == json.Delim('{') {
			if _, err := decoder.Token(); err != nil {
				return nil
			}
		}
		var stored struct{ ID, Name, Type, Value any }
		if err := decoder.Decode(&stored); err != nil {
			return nil
		}
		tax := Tax{ID: storedText(stored.ID), Name: storedText(stored.Name), Fixed: stored.Type == "fixed", Value: AmountFrom(stored.Value)}
		if stored.Type != "fixed" && stored.Type != "percentage" {
			tax.Value = decimal.Zero
		}
		if at := slices.IndexFunc(taxes, func(t Tax) bool { return t.ID == tax.ID }); at >= 0 {
			taxes[at] = tax
		} else {
			taxes = append(taxes, tax)
		}
	}
	return taxes
}

// storedText returns a text from a setting, which PHP may have stored as a number, or "" for anything else.
func storedText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// AmountFrom returns an amount from a setting or meta, given as a text or a number, or 0 for anything else.
func AmountFrom(value any) decimal.Decimal {
	switch v := value.(type) {
	case float64:
		return decimal.NewFromFloat(v)
	case string:
		if amount, err := decimal.NewFromString(strings.TrimSpace(v)); err == nil && len(v) <= 24 {
			return amount
		}
	}
	return decimal.Zero
}

// TaxAmount is a tax of an order, with its amount.
type TaxAmount struct {
	Tax
	Amount decimal.Decimal
}

// Totals are the sums of an order.
type Totals struct {
	Subtotal, Discount, Tax, Total decimal.Decimal
	Taxes                          []TaxAmount
}

// TotalsOf adds up an order: its items less their discounts, and the taxes on that, each computed without the
// others (OsCartModel::calculate_prices with OsTaxesHelper::calculate_taxes_for_cart).
func TotalsOf(items []PricedItem, taxes []Tax) Totals {
	var t Totals
	for _, item := range items {
		t.Subtotal, t.Discount = t.Subtotal.Add(item.Subtotal), t.Discount.Add(item.Discount)
	}
	net := t.Subtotal.Sub(t.Discount)
	for _, tax := range taxes {
		amount := tax.amount(net)
		t.Taxes = append(t.Taxes, TaxAmount{tax, amount.Round(domain.AmountDecimals)})
		t.Tax = t.Tax.Add(amount)
	}
	t.Total = net.Add(t.Tax).Round(domain.AmountDecimals)
	t.Tax = t.Tax.Round(domain.AmountDecimals)
	return t
}
