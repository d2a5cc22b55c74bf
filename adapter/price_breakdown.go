package adapter

import (
	"context"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// priceBreakdown is the composition of an order's price, as its column stores it
// (OsOrderModel::generate_price_breakdown_rows, LatePoint 5.6.5).
type priceBreakdown struct {
	BeforeSubtotal []breakdownPart `json:"before_subtotal"`
}

// breakdownPart is a part of a price breakdown with a heading of its own.
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

// breakdownOf returns the breakdown of one booking of a service.
func (w writeSettings) breakdownOf(service string, price decimal.Decimal) priceBreakdown {
	return priceBreakdown{BeforeSubtotal: []breakdownPart{{
		Heading:  w.texts.Of("Service"),
		Items:    []breakdownItem{{Value: price.StringFixed(2), Label: service, RawValue: domain.AmountText(price)}},
		SubItems: []breakdownItem{},
	}}}
}

// priceBreakdown reads the stored price breakdown of an order; "" if it has none.
func (s *Site) priceBreakdown(ctx context.Context, order int64) (string, error) {
	stmt := sq.Select("COALESCE(price_breakdown, '')").From(s.db.Name(wpdb.Orders)).Where(sq.Eq{"id": order})
	stored, _, err := wpdb.One(ctx, s.db, "read price breakdown", stmt, wpdb.Value[string])
	return stored, err
}

// withBooking returns a stored breakdown with one booking of a service as its parts before
// the subtotal. Its other parts, such as discounts, stay.
func (w writeSettings) withBooking(stored, service string, price decimal.Decimal) (string, error) {
	parts, err := process.EncodePHP(w.breakdownOf(service, price).BeforeSubtotal)
	if err != nil {
		return "", err
	}
	return withMembers(stored, []member{{"before_subtotal", json.RawMessage(parts)}})
}

// withService returns a stored breakdown of one booking with the label of another service.
// Anything else stays as it is: the plugin derives a breakdown that it cannot read from the
// order's items.
func withService(stored, service string) (string, error) {
	label, err := process.EncodePHP(service)
	if err != nil {
		return "", err
	}
	changed, err := withOnly(stored, "before_subtotal", func(part string) (string, error) {
		return withOnly(part, "items", func(item string) (string, error) {
			if _, err := objectMembers(item); err != nil {
				return "", err
			}
			return withMembers(item, []member{{"label", json.RawMessage(label)}})
		})
	})
	if err != nil {
		return stored, nil //nolint:nilerr // not the breakdown of one booking
	}
	return changed, nil
}

// withOnly returns a JSON object in which the only element of one of its lists is edited.
// The error is errNoObject if it has no such list.
func withOnly(text, list string, edit func(element string) (string, error)) (string, error) {
	members, err := objectMembers(text)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		var elements []json.RawMessage
		if m.key != list || json.Unmarshal(m.value, &elements) != nil || len(elements) != 1 {
			continue
		}
		element, err := edit(string(elements[0]))
		if err != nil {
			return "", err
		}
		return withMembers(text, []member{{list, json.RawMessage("[" + element + "]")}})
	}
	return "", errNoObject
}
