package adapter

import (
	"context"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Currency is how the site formats prices.
type Currency struct {
	Before, After      string
	Thousands, Decimal string
	Decimals           int32
}

// Currency reads how the site formats prices, with the plugin's defaults.
func (s *Site) Currency(ctx context.Context) (Currency, error) {
	settings, err := s.db.SettingValues(ctx, currencySettings...)
	if err != nil {
		return Currency{}, err
	}
	return currencyOf(settings), nil
}

func currencyOf(settings map[string]string) Currency {
	setting := func(name, fallback string) string {
		if value, ok := settings[name]; ok {
			return value
		}
		return fallback
	}
	decimals, err := strconv.ParseInt(setting("number_of_decimals", "2"), 10, 32)
	if err != nil || decimals < 0 || decimals > 4 {
		decimals = 2
	}
	return Currency{
		Before: setting("currency_symbol_before", "$"), After: setting("currency_symbol_after", ""),
		Thousands: setting("thousand_separator", ","), Decimal: setting("decimal_separator", "."),
		Decimals: int32(decimals),
	}
}

// Format mirrors OsMoneyHelper::format_price, LatePoint 5.6.5: decimals that are all zero
// are omitted.
func (c Currency) Format(amount decimal.Decimal) string {
	amount = amount.Round(c.Decimals)
	whole, fraction, _ := strings.Cut(amount.Abs().StringFixed(c.Decimals), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + c.Thousands + whole[i:]
	}
	if strings.Trim(fraction, "0") != "" {
		whole += c.Decimal + fraction
	}
	if amount.IsNegative() {
		whole = "-" + whole
	}
	return c.Before + whole + c.After
}
