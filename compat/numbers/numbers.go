// Package numbers reads numbers from texts, exactly, in the notations that clients send. It imports no other package of
// Bookside.
package numbers

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Integer parses an integer of any size. It may have a fraction of zeros.
func Integer(text string) (decimal.Decimal, bool) {
	n, ok := Plain(text)
	return n, ok && n.IsInteger()
}

// Plain parses plain decimal notation.
func Plain(text string) (decimal.Decimal, bool) {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	if !isDigits(whole) || hasPoint && !isDigits(fraction) {
		return decimal.Decimal{}, false
	}
	n, err := decimal.NewFromString(text)
	return n, err == nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// maxExponent bounds the accepted exponents, because a huge one would cost memory. No program writes a
// larger one for a double.
const maxExponent = 324

// Exponential parses decimal notation with or without an exponent, such as 1e+16, as some languages
// write large numbers.
func Exponential(text string) (decimal.Decimal, bool) {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return Plain(text)
	}
	n, ok := Plain(text[:at])
	exponent, err := strconv.ParseInt(text[at+1:], 10, 32)
	if !ok || err != nil || exponent < -maxExponent || exponent > maxExponent {
		return decimal.Decimal{}, false
	}
	return n.Shift(int32(exponent)), true
}
