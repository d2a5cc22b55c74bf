package records

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/automation"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/pricing"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// PriceBreakdown is the composition of an order's price, as its column stores it
// (OsOrderModel::generate_price_breakdown_rows, LatePoint 5.6.5).
type PriceBreakdown struct {
	BeforeSubtotal []BreakdownPart    `json:"before_subtotal"`
	AfterSubtotal  *breakdownOfTotals `json:"after_subtotal,omitempty"`
}

// breakdownOfTotals are discounts and taxes, as Pro Features breaks them down.
type breakdownOfTotals struct {
	Discounts *breakdownTotals `json:"discounts,omitempty"`
	Taxes     *breakdownTotals `json:"taxes,omitempty"`
}

type breakdownTotals struct {
	Items []breakdownTotal `json:"items"`
}

type breakdownTotal struct {
	Label    string `json:"label"`
	RawValue any    `json:"raw_value"` // a number where PHP negates the text
	Value    string `json:"value"`
	Badge    string `json:"badge,omitempty"`
	Type     string `json:"type,omitempty"`
}

// BreakdownPart is a part of a price breakdown that has its own heading.
type BreakdownPart struct {
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

// BreakdownOf returns the breakdown of one booking of a service, as the plugin's form for staff stores it.
// Its notes come from Pro Features, without which a booking has nothing but a price.
func BreakdownOf(w session.WriteSettings, service string, b pricing.Booking) PriceBreakdown {
	part := BreakdownPart{Heading: w.Texts.Of("Service"), Items: []breakdownItem{newBreakdownItem(service, b.ServiceAmount())}, SubItems: []breakdownItem{}}
	var notes []string
	if b.Multiplied() {
		notes = append(notes, fmt.Sprintf("(%d x %s)", b.Attendees, w.Currency.FormatExactly(b.Service)))
	}
	if b.BaseFee.IsPositive() {
		notes = append(notes, fmt.Sprintf("+ %s base fee", w.Currency.FormatExactly(b.BaseFee)))
	}
	part.Items[0].Note = strings.Join(notes, " ")
	byID := func(a, b pricing.Extra) int { return cmp.Compare(a.ID, b.ID) }
	for _, e := range slices.SortedFunc(slices.Values(b.Extras), byID) {
		item := newBreakdownItem(e.Name, b.ExtraAmount(e))
		item.Style = "sub"
		if e.Quantity > 1 {
			one := "0"
			if e.Amount.IsPositive() {
				one = w.Currency.FormatExactly(e.Amount)
			}
			item.Note = fmt.Sprintf("(%d x %s)", e.Quantity, one)
		}
		part.SubItems = append(part.SubItems, item)
	}
	return PriceBreakdown{BeforeSubtotal: []BreakdownPart{part}}
}

func newBreakdownItem(label string, amount decimal.Decimal) breakdownItem {
	return breakdownItem{Value: amount.StringFixed(2), Label: label, RawValue: domain.AmountText(amount)}
}

// WithTotals returns the breakdown with the discount of a coupon, "" for none, and with taxes, as Pro
// Features adds them at checkout.
func (b PriceBreakdown) WithTotals(w session.WriteSettings, totals pricing.Totals, coupon string) PriceBreakdown {
	var after breakdownOfTotals
	if coupon != "" {
		after.Discounts = &breakdownTotals{[]breakdownTotal{{
			Label: "Coupon", RawValue: json.Number(totals.Discount.Neg().String()), Value: "-" + w.Currency.FormatExactly(totals.Discount), Badge: coupon, Type: "credit",
		}}}
	}
	if len(totals.Taxes) > 0 {
		after.Taxes = &breakdownTotals{}
	}
	for _, tax := range totals.Taxes {
		after.Taxes.Items = append(after.Taxes.Items, breakdownTotal{
			Label: tax.Label(w.Currency.Decimal), RawValue: domain.AmountText(tax.Amount), Value: w.Currency.FormatExactly(tax.Amount),
		})
	}
	if after != (breakdownOfTotals{}) {
		b.AfterSubtotal = &after
	}
	return b
}

// LoadPriceBreakdown reads the stored price breakdown of an order; "" if it has none.
func LoadPriceBreakdown(ctx context.Context, s *session.Session, order int64) (string, error) {
	stmt := sq.Select("COALESCE(price_breakdown, '')").From(s.DB.Name(wpdb.Orders)).Where(sq.Eq{"id": order})
	stored, _, err := wpdb.One(ctx, s.DB, "read price breakdown", stmt, wpdb.Value[string])
	return stored, err
}

// WithBooking returns a stored breakdown with one booking of a service as its parts before the subtotal.
// Its other parts, such as discounts, are kept.
func WithBooking(w session.WriteSettings, stored, service string, price decimal.Decimal) (string, error) {
	parts, err := automation.EncodePHP(BreakdownOf(w, service, pricing.Booking{Service: price}).BeforeSubtotal)
	if err != nil {
		return "", err
	}
	return WithMembers(stored, []Member{{"before_subtotal", json.RawMessage(parts)}})
}

// WithService returns a stored breakdown of one booking with the label of another service. Anything else is
// unchanged: the plugin derives a breakdown that it cannot read from the order's items.
func WithService(stored, service string) (string, error) {
	label, err := automation.EncodePHP(service)
	if err != nil {
		return "", err
	}
	changed, err := withOnly(stored, "before_subtotal", func(part string) (string, error) {
		return withOnly(part, "items", func(item string) (string, error) {
			if _, err := ObjectMembers(item); err != nil {
				return "", err
			}
			return WithMembers(item, []Member{{"label", json.RawMessage(label)}})
		})
	})
	if err != nil {
		return stored, nil //nolint:nilerr // not the breakdown of one booking
	}
	return changed, nil
}

// withOnly returns a JSON object in which the only element of one of its lists has been edited. The error
// is errNoObject if there is no such list.
func withOnly(text, list string, edit func(element string) (string, error)) (string, error) {
	members, err := ObjectMembers(text)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		var elements []json.RawMessage
		if m.Key != list || json.Unmarshal(m.Value, &elements) != nil || len(elements) != 1 {
			continue
		}
		element, err := edit(string(elements[0]))
		if err != nil {
			return "", err
		}
		return WithMembers(text, []Member{{list, json.RawMessage("[" + element + "]")}})
	}
	return "", errNoObject
}
