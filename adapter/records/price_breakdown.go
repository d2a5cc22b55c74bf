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

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// PriceBreakdown is the composition of an order's price, as a visitor's checkout stores it in the order and
// its invoice (OsCartModel::generate_price_breakdown_rows, LatePoint 5.6.5). The sums are computed when they
// are shown.
type PriceBreakdown struct {
	BeforeSubtotal []BreakdownPart `json:"before_subtotal"`
	Subtotal       [0]string       `json:"subtotal"`
	AfterSubtotal  any             `json:"after_subtotal"` // an empty list, or breakdownOfTotals
	Total          [0]string       `json:"total"`
	Balance        [0]string       `json:"balance"`
}

// breakdownOfTotals are discounts and taxes, as Pro Features breaks them down.
type breakdownOfTotals struct {
	Discounts *breakdownTotals `json:"discounts,omitempty"`
	Taxes     *breakdownTotals `json:"taxes,omitempty"`
}

type breakdownTotals struct {
	Items []breakdownItem `json:"items"`
}

// BreakdownPart is a part of a price breakdown that has its own heading.
type BreakdownPart struct {
	Heading  string          `json:"heading"`
	Items    []breakdownItem `json:"items"`
	SubItems []breakdownItem `json:"sub_items,omitempty"`
}

// breakdownItem is a line of a price breakdown. Value is RawValue as customers read it.
type breakdownItem struct {
	Style    string `json:"style,omitempty"`
	Label    string `json:"label"`
	RawValue string `json:"raw_value"`
	Value    string `json:"value"`
	Note     string `json:"note,omitempty"`
	Badge    string `json:"badge,omitempty"`
	Type     string `json:"type,omitempty"`
}

// NewPriceBreakdown returns the breakdown of parts without discounts and taxes.
func NewPriceBreakdown(parts ...BreakdownPart) PriceBreakdown {
	return PriceBreakdown{BeforeSubtotal: append([]BreakdownPart{}, parts...), AfterSubtotal: [0]string{}}
}

// BreakdownOf returns the breakdown of one booking of a service. Its notes and sub-items come from Pro
// Features, without which a booking has nothing but a price.
func BreakdownOf(w session.WriteSettings, service string, b PricedBooking) PriceBreakdown {
	part := BreakdownPart{Heading: w.Texts.Of("Service"), Items: []breakdownItem{newBreakdownItem(w, service, b.ServiceAmount())}}
	var notes []string
	if b.Multiplied() {
		notes = append(notes, fmt.Sprintf("(%d x %s)", b.Attendees, w.Currency.FormatExactly(b.Service)))
	}
	if b.BaseFee.IsPositive() {
		notes = append(notes, fmt.Sprintf("+ %s base fee", w.Currency.FormatExactly(b.BaseFee)))
	}
	part.Items[0].Note = strings.Join(notes, " ")
	byID := func(a, b PricedExtra) int { return cmp.Compare(a.ID, b.ID) }
	for _, e := range slices.SortedFunc(slices.Values(b.Extras), byID) {
		item := newBreakdownItem(w, e.Name, b.ExtraAmount(e))
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
	return NewPriceBreakdown(part)
}

func newBreakdownItem(w session.WriteSettings, label string, amount decimal.Decimal) breakdownItem {
	return breakdownItem{Label: label, RawValue: domain.AmountText(amount), Value: w.Currency.FormatExactly(amount)}
}

// WithTotals returns the breakdown with the discount of a coupon, "" for none, and with taxes, as Pro
// Features adds them at checkout.
func (b PriceBreakdown) WithTotals(w session.WriteSettings, totals Totals, coupon string) PriceBreakdown {
	var after breakdownOfTotals
	if coupon != "" {
		after.Discounts = &breakdownTotals{[]breakdownItem{{
			Label: "Coupon", RawValue: domain.AmountText(totals.Discount.Neg()), Value: "-" + w.Currency.FormatExactly(totals.Discount), Badge: coupon, Type: "credit",
		}}}
	}
	if len(totals.Taxes) > 0 {
		after.Taxes = &breakdownTotals{}
	}
	for _, tax := range totals.Taxes {
		after.Taxes.Items = append(after.Taxes.Items, newBreakdownItem(w, tax.Label(w.Currency.Decimal), tax.Amount))
	}
	if after != (breakdownOfTotals{}) {
		b.AfterSubtotal = after
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
// Discounts, taxes and what others have added are kept.
func WithBooking(w session.WriteSettings, stored, service string, price decimal.Decimal) (string, error) {
	breakdown, err := text.EncodePHP(BreakdownOf(w, service, PricedBooking{Service: price}))
	if err != nil {
		return "", err
	}
	members, err := ObjectMembers(stored)
	if err != nil {
		return breakdown, nil //nolint:nilerr // nothing to keep
	}
	return WithMembers(breakdown, slices.DeleteFunc(members, func(m Member) bool {
		return slices.Contains([]string{"before_subtotal", "subtotal", "total", "balance"}, m.Key)
	}))
}

// WithService returns a stored breakdown of one booking with the label of another service. Anything else is
// unchanged: the plugin derives a breakdown that it cannot read from the order's items.
func WithService(stored, service string) (string, error) {
	label, err := text.EncodePHP(service)
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
