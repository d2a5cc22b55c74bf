package session

import (
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestCurrencyFormat(t *testing.T) {
	t.Parallel()
	var (
		dollar  = Currency{Before: "$", Thousands: ",", Decimal: ".", Decimals: 2}
		euro    = Currency{After: " €", Thousands: ".", Decimal: ",", Decimals: 2}
		yen     = Currency{Before: "¥", Thousands: ",", Decimal: ".", Decimals: 0}
		dinar   = Currency{After: " KD", Thousands: ",", Decimal: ".", Decimals: 3}
		swiss   = Currency{Before: "CHF ", Thousands: "’", Decimal: ".", Decimals: 2}
		plain   = Currency{Decimal: ".", Decimals: 2}
		precise = Currency{Before: "$", Thousands: ",", Decimal: ".", Decimals: 4}
	)
	tests := []struct {
		name     string
		currency Currency
		amount   string
		want     string
	}{
		{"decimals of zeros are left out", dollar, "85.0000", "$85"},
		{"decimals stay whole", dollar, "1045.5000", "$1,045.50"},
		{"symbol behind", euro, "85.0000", "85 €"},
		{"separators of the site", euro, "1234567.8900", "1.234.567,89 €"},
		{"nothing", dollar, "0.0000", "$0"},
		{"cents", dollar, "0.0500", "$0.05"},
		{"three digits have no separator", dollar, "999", "$999"},
		{"four have one", dollar, "1000", "$1,000"},
		{"seven have two", dollar, "1000000", "$1,000,000"},
		{"half a cent is rounded up", dollar, "0.0050", "$0.01"},
		{"less than half a cent is dropped", dollar, "0.0049", "$0"},
		{"rounded into the next thousand", dollar, "999.9950", "$1,000"},
		{"below zero", dollar, "-5.0000", "$-5"},
		{"below zero, rounded away from it", dollar, "-0.0050", "$-0.01"},
		{"zero has no sign", dollar, "-0.0001", "$0"},
		{"thousands below zero", dollar, "-123456.7000", "$-123,456.70"},
		{"three digits below zero have no separator", dollar, "-123.0000", "$-123"},
		{"no decimals", yen, "1234.5000", "¥1,235"},
		{"three decimals", dinar, "1.2500", "1.250 KD"},
		{"four decimals", precise, "1.0050", "$1.0050"},
		{"separator of several bytes", swiss, "1234567.8000", "CHF 1’234’567.80"},
		{"no separator", plain, "1234567.8900", "1234567.89"},
		{"largest amount of the column", dollar, "9999999999999999.9999", "$10,000,000,000,000,000"},
	}
	for _, test := range tests {
		expect.Equal(t, test.want, test.currency.Format(decimal.RequireFromString(test.amount)), test.name, ": ", test.amount, " is")
	}
}
