package domain

import (
	"strconv"
	"time"

	"github.com/shopspring/decimal"
)

// OffsetLayout is RFC 3339 with a numeric offset even for UTC, as in PHP's DATE_ATOM.
const OffsetLayout = "2006-01-02T15:04:05-07:00"

// ZeroDate is how MySQL shows a date column that was never set.
const ZeroDate = "0000-00-00"

// AmountDecimals is the number of decimals that money columns hold: decimal(20,4).
const AmountDecimals = 4

// MaxAmount is the largest amount that money columns hold.
var MaxAmount = decimal.RequireFromString("9999999999999999.9999")

// AmountText returns an amount as money columns hold it, with four decimals.
func AmountText(amount decimal.Decimal) string { return amount.StringFixed(AmountDecimals) }

// IDText returns an id, or another integer, as the text in which PHP gets it from the
// database.
func IDText(id int64) string { return strconv.FormatInt(id, 10) }

// OptionalIDText returns IDText for a column that may be NULL.
func OptionalIDText(id *int64) *string {
	if id == nil {
		return nil
	}
	return new(IDText(*id))
}

// OffsetText returns a stored instant in OffsetLayout, or "" if none is stored.
func OffsetText(t Timestamp) string {
	instant, ok := t.Time()
	if !ok {
		return ""
	}
	return instant.Format(OffsetLayout)
}

// ValueOr returns the value that a pointer refers to, or the fallback if it is nil.
func ValueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

// stampLayout is how the database and the plugin write instants.
const stampLayout = time.DateTime

// Stamp formats an instant as the plugin stores it, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }
