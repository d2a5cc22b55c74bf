package records

import (
	"context"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/automation"
	"bookside/adapter/domain"
	"bookside/adapter/session"
	"bookside/wpdb"
)

// PriceBreakdown is the composition of an order's price, as its column stores it
// (OsOrderModel::generate_price_breakdown_rows, LatePoint 5.6.5).
type PriceBreakdown struct {
	BeforeSubtotal []BreakdownPart `json:"before_subtotal"`
}

// BreakdownPart is a part of a price breakdown with a heading of its own.
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

// BreakdownOf returns the breakdown of one booking of a service.
func BreakdownOf(w session.WriteSettings, service string, price decimal.Decimal) PriceBreakdown {
	return PriceBreakdown{BeforeSubtotal: []BreakdownPart{{
		Heading:  w.Texts.Of("Service"),
		Items:    []breakdownItem{{Value: price.StringFixed(2), Label: service, RawValue: domain.AmountText(price)}},
		SubItems: []breakdownItem{},
	}}}
}

// LoadPriceBreakdown reads the stored price breakdown of an order; "" if it has none.
func LoadPriceBreakdown(ctx context.Context, s *session.Session, order int64) (string, error) {
	stmt := sq.Select("COALESCE(price_breakdown, '')").From(s.DB.Name(wpdb.Orders)).Where(sq.Eq{"id": order})
	stored, _, err := wpdb.One(ctx, s.DB, "read price breakdown", stmt, wpdb.Value[string])
	return stored, err
}

// WithBooking returns a stored breakdown with one booking of a service as its parts before
// the subtotal. Its other parts, such as discounts, stay.
func WithBooking(w session.WriteSettings, stored, service string, price decimal.Decimal) (string, error) {
	parts, err := automation.EncodePHP(BreakdownOf(w, service, price).BeforeSubtotal)
	if err != nil {
		return "", err
	}
	return WithMembers(stored, []Member{{"before_subtotal", json.RawMessage(parts)}})
}

// WithService returns a stored breakdown of one booking with the label of another service.
// Anything else stays as it is: the plugin derives a breakdown that it cannot read from the
// order's items.
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

// withOnly returns a JSON object in which the only element of one of its lists is edited.
// The error is errNoObject if it has no such list.
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
