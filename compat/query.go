package compat

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"bookside/adapter"
)

// The largest ids the platform's columns hold.
const (
	maxMediumInt = 1<<23 - 1
	maxInt       = 1<<31 - 1
)

// Query reads the parameters of one request and collects what is wrong with
// them. A getter returns nil for a parameter that was not sent, was sent empty,
// or is wrong; Err then names every wrong one.
type Query struct {
	values map[string]string
	lists  map[string]bool // names sent as name[]
	wrong  map[string]string
}

// ParseQuery splits a raw query as PHP does: the last of repeated names wins,
// and what is no escape stays as it is.
func ParseQuery(raw string) *Query {
	q := &Query{values: map[string]string{}, lists: map[string]bool{}, wrong: map[string]string{}}
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		if base, _, isList := strings.Cut(name, "["); isList {
			q.lists[base] = true
			continue
		}
		delete(q.lists, name)
		q.values[name] = unescape(value)
	}
	return q
}

// unescape decodes what is an escape and keeps the rest.
func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte('%')
				continue
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Err is an adapter error naming every wrong parameter, or nil.
func (q *Query) Err() error {
	if len(q.wrong) == 0 {
		return nil
	}
	return adapter.InvalidParameters(q.wrong)
}

// refuse notes what is wrong with a parameter; the first finding stays.
func (q *Query) refuse(name, format string, args ...any) {
	if _, known := q.wrong[name]; !known {
		q.wrong[name] = fmt.Sprintf(format, args...)
	}
}

// maxText is longer than any column that a text is compared with.
const maxText = 320

// text is a parameter's trimmed text; ok is false where none was sent.
func (q *Query) text(name string) (value string, ok bool) {
	if q.lists[name] {
		q.refuse(name, "Must be a single value, not a list")
		return "", false
	}
	value = strings.TrimSpace(q.values[name])
	switch {
	case value == "":
		return "", false
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		q.refuse(name, "Must be valid UTF-8 without control characters")
		return "", false
	case utf8.RuneCountInString(value) > maxText:
		q.refuse(name, "Maximum allowed length is %d characters", maxText)
		return "", false
	}
	return value, true
}

// Text is any text.
func (q *Query) Text(name string) *string {
	value, ok := q.text(name)
	if !ok {
		return nil
	}
	return &value
}

// Integer is a whole number within bounds, also written 12.0.
func (q *Query) Integer(name string, least, most int64) *int64 {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	n, ok := parseInteger(text)
	switch {
	case !ok:
		q.refuse(name, "Must be an integer")
	case n.Cmp(decimal.NewFromInt(least)) < 0:
		q.refuse(name, "Minimum allowed value is %d", least)
	case n.Cmp(decimal.NewFromInt(most)) > 0:
		q.refuse(name, "Maximum allowed value is %d", most)
	default:
		value := n.IntPart()
		return &value
	}
	return nil
}

// ID is an id of a column that holds at most most.
func (q *Query) ID(name string, most int64) *int64 { return q.Integer(name, 1, most) }

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
func (q *Query) Amount(name string) *decimal.Decimal {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	n, ok := parseNumber(text)
	switch {
	case !ok:
		q.refuse(name, "Must be a number")
	case n.Abs().Cmp(maxAmount) > 0:
		q.refuse(name, "Must be between -%s and %s", maxAmount, maxAmount)
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
func (q *Query) Boolean(name string) *bool {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	value, ok := booleans[strings.ToLower(text)]
	if !ok {
		q.refuse(name, "Must be true or false")
		return nil
	}
	return &value
}

// Flag is a boolean that is false unless sent.
func (q *Query) Flag(name string) bool {
	value := q.Boolean(name)
	return value != nil && *value
}

// Date is a calendar day.
func (q *Query) Date(name string) *adapter.Date {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1000 {
		q.refuse(name, "Must be a date in the format YYYY-MM-DD")
		return nil
	}
	date := adapter.Date(text)
	return &date
}

// Word is one of the words of a map, in any letter case. most names the words
// in a message.
func Word[T any](q *Query, name string, words map[string]T, message string) *T {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	value, ok := words[strings.ToLower(text)]
	if !ok {
		q.refuse(name, "%s", message)
		return nil
	}
	return &value
}

// wordOr is Word with a value for a parameter that was not sent.
func wordOr[T any](q *Query, name string, words map[string]T, fallback T, message string) T {
	if value := Word(q, name, words, message); value != nil {
		return *value
	}
	return fallback
}

// descending reads the direction of a sort.
func (q *Query) descending(fallback bool) bool {
	return wordOr(q, "order", map[string]bool{"asc": false, "desc": true}, fallback, "Must be asc or desc")
}

const unknownSort = "Invalid sorting field"

// words reads a comma-separated list of known words, in any letter case.
func (q *Query) words(name string, known ...string) map[string]bool {
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	found := map[string]bool{}
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		word = strings.TrimSpace(word)
		if word != "" && !slices.Contains(known, word) {
			q.refuse(name, "Must be a list of: %s", strings.Join(known, ", "))
		}
		found[word] = true
	}
	return found
}

// maxPage keeps the offset of a page within 64 bits.
const maxPage = 1 << 53

// Paging reads page and per_page.
func (q *Query) Paging(perPage int64) adapter.Paging {
	p := adapter.Paging{Page: 1, PerPage: perPage}
	if page := q.Integer("page", 1, maxPage); page != nil {
		p.Page = *page
	}
	if size := q.Integer("per_page", 1, 100); size != nil {
		p.PerPage = *size
	}
	return p
}
