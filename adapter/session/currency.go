package session

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Currency is how the site formats prices.
type Currency struct {
	Before, After      string
	Thousands, Decimal string
	Decimals           int32
}

// Format mirrors OsMoneyHelper::format_price, LatePoint 5.6.5: decimals that are all zero
// are omitted.
func (c Currency) Format(amount decimal.Decimal) string { return c.format(amount, true) }

// FormatExactly is like Format, with all decimals.
func (c Currency) FormatExactly(amount decimal.Decimal) string { return c.format(amount, false) }

func (c Currency) format(amount decimal.Decimal, hideZeros bool) string {
	amount = amount.Round(c.Decimals)
	whole, fraction, _ := strings.Cut(amount.Abs().StringFixed(c.Decimals), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + c.Thousands + whole[i:]
	}
	if fraction != "" && !hideZeros || strings.Trim(fraction, "0") != "" {
		whole += c.Decimal + fraction
	}
	if amount.IsNegative() {
		whole = "-" + whole
	}
	return c.Before + whole + c.After
}
