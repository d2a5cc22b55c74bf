package adapter

import (
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
)

// priceBreakdown is the composition of an order's price, as its column stores it
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

// breakdownOf returns the breakdown of one booking of a service.
func breakdownOf(service string, price decimal.Decimal) priceBreakdown {
	return priceBreakdown{BeforeSubtotal: []breakdownPart{{
		Heading:  "Service",
		Items:    []breakdownItem{{Value: price.StringFixed(2), Label: service, RawValue: domain.AmountText(price)}},
		SubItems: []breakdownItem{},
	}}}
}
