package compat

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"bookside/adapter"
	"bookside/adapter/availability"
)

// The largest ids the platform's columns hold.
const (
	maxMediumInt = 1<<23 - 1
	maxInt       = 1<<31 - 1
)

// source is where a request's named values come from: its query or its body.
type source interface {
	// text is a value's trimmed text; ok is false where none was sent, where it
	// is empty, and where it is wrong.
	text(name string) (value string, ok bool)
	note(name string, f fault)
	// reading is nil unless what is read is to be described.
	reading() *Reading
}

// fault is what is wrong with a value.
type fault struct {
	message string
	refused bool // well-formed, and still not allowed
}

func malformed(message string) fault { return fault{message: message} }

func refused(format string, args ...any) fault {
	return fault{message: fmt.Sprintf(format, args...), refused: true}
}

// values read a source with PHP's weak typing. A getter returns nil for a value
// that was not sent, was sent empty, or is wrong.
type values struct{ source }

// maxText is longer than any number, date or word, and than any column that a
// parameter is compared with.
const maxText = 320

var tooLong = malformed(fmt.Sprintf("Maximum allowed length is %d characters", maxText))

const (
	required = "Required"
	notAList = "Must be a single value, not a list"
)

// Integer is a whole number within bounds, also written 12.0.
func (v values) Integer(name string, least, most int64) *int64 {
	v.reading().integer(name, least, most)
	n, f := v.integer(name, least, most)
	if f != nil {
		v.note(name, *f)
	}
	return n
}

func (v values) integer(name string, least, most int64) (*int64, *fault) {
	text, ok := v.text(name)
	if !ok {
		return nil, nil
	}
	n, ok := parseInteger(text)
	var f fault
	switch {
	case !ok:
		f = malformed("Must be an integer")
	case n.Cmp(decimal.NewFromInt(least)) < 0:
		f = refused("Minimum allowed value is %d", least)
	case n.Cmp(decimal.NewFromInt(most)) > 0:
		f = refused("Maximum allowed value is %d", most)
	default:
		value := n.IntPart()
		return &value, nil
	}
	return nil, &f
}

// ID is an id of a column that holds at most most. One beyond it names what
// does not exist.
func (v values) ID(name string, most int64) *int64 {
	v.reading().integer(name, 1, most)
	id, f := v.integer(name, 1, most)
	if f != nil {
		v.note(name, malformed(f.message))
	}
	return id
}

// IDOrNone is an id, or 0 for the records without one.
func (v values) IDOrNone(name string, most int64) *int64 { return v.Integer(name, 0, most) }

// AnyID is an id, or 0 for the words any and -1. sent is false where the value
// is absent or wrong.
func (v values) AnyID(name string) (id int64, sent bool) {
	v.reading().anyID(name)
	text, ok := v.text(name)
	if !ok {
		return 0, false
	}
	if strings.EqualFold(text, "any") || text == "-1" {
		return 0, true
	}
	value := v.ID(name, maxMediumInt)
	if value == nil {
		return 0, false
	}
	return *value, true
}

// parseInteger reads an integer of any size, with or without a fraction of
// zeros.
func parseInteger(text string) (decimal.Decimal, bool) {
	n, ok := parseNumber(text)
	return n, ok && n.IsInteger()
}

// parseNumber reads plain decimal notation. Exponents are refused: they are no
// way to write money, and a huge one would cost memory.
func parseNumber(text string) (decimal.Decimal, bool) {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, pointed := strings.Cut(digits, ".")
	if !isDigits(whole) || pointed && !isDigits(fraction) {
		return decimal.Decimal{}, false
	}
	n, err := decimal.NewFromString(text)
	return n, err == nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// maxAmount is the largest amount a decimal(20,4) column holds.
var maxAmount = decimal.RequireFromString("9999999999999999.9999")

// Amount is a decimal number within the money columns.
func (v values) Amount(name string) *decimal.Decimal {
	v.reading().amount(name, "-"+maxAmount.String())
	text, ok := v.text(name)
	if !ok {
		return nil
	}
	n, ok := parseNumber(text)
	switch {
	case !ok:
		v.note(name, malformed("Must be a number"))
	case n.Abs().Cmp(maxAmount) > 0:
		v.note(name, refused("Must be between -%s and %s", maxAmount, maxAmount))
	default:
		return &n
	}
	return nil
}

// booleans are the words for true and false, in any letter case.
var booleans = map[string]bool{
	"1": true, "true": true, "yes": true, "on": true,
	"0": false, "false": false, "no": false, "off": false,
}

// Boolean is true or false.
func (v values) Boolean(name string) *bool {
	v.reading().boolean(name)
	text, ok := v.text(name)
	if !ok {
		return nil
	}
	value, ok := booleans[strings.ToLower(text)]
	if !ok {
		v.note(name, malformed("Must be true or false"))
		return nil
	}
	return &value
}

// Flag is a boolean that is false unless sent.
func (v values) Flag(name string) bool {
	value := v.Boolean(name)
	v.reading().standard(name, false)
	return valueOr(value, false)
}

// Date is a calendar day.
func (v values) Date(name string) *adapter.Date {
	v.reading().date(name)
	text, ok := v.text(name)
	if !ok {
		return nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1000 {
		v.note(name, malformed("Must be a date in the format YYYY-MM-DD"))
		return nil
	}
	date := adapter.Date(text)
	return &date
}

// Day is Date as the calendar counts.
func (v values) Day(name string) (day availability.Day, sent bool) {
	date := v.Date(name)
	if date == nil {
		return 0, false
	}
	return availability.ParseDay(string(*date))
}

// TimeOfDay is HH:MM, from 00:00 to 23:59.
func (v values) TimeOfDay(name string) *availability.Minutes {
	v.reading().pattern(name, clockPattern)
	text, ok := v.text(name)
	if !ok {
		return nil
	}
	minutes, ok := parseClock(text)
	if !ok {
		v.note(name, malformed("Invalid time format, use HH:MM"))
		return nil
	}
	return &minutes
}

func parseClock(text string) (minutes availability.Minutes, ok bool) {
	hour, minute, ok := strings.Cut(text, ":")
	if !ok || len(hour) > 2 || len(minute) != 2 {
		return 0, false
	}
	h, err := strconv.ParseUint(hour, 10, 8)
	if err != nil || h > 23 {
		return 0, false
	}
	m, err := strconv.ParseUint(minute, 10, 8)
	if err != nil || m > 59 {
		return 0, false
	}
	return availability.Minutes(60*h + m), true
}

// Word is one of the words of a map, in any letter case. message names the
// words.
func Word[T any](s source, name string, words map[string]T, message string) *T {
	describeWords(s.reading(), name, words)
	text, ok := s.text(name)
	if !ok {
		return nil
	}
	value, ok := words[strings.ToLower(text)]
	if !ok {
		s.note(name, fault{message: message, refused: true})
		return nil
	}
	return &value
}

// wordOr is Word with a value for one that was not sent.
func wordOr[T comparable](s source, name string, words map[string]T, fallback T, message string) T {
	if value := Word(s, name, words, message); value != nil {
		return *value
	}
	describeFallback(s.reading(), name, words, fallback)
	return fallback
}
