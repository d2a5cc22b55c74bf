package compat

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat/numbers"
)

// input is where the values of a request come from: its query or its body.
type input interface {
	// text returns a value's trimmed text. ok is false if none was sent, if it is empty, or if it is wrong,
	// which is recorded.
	text(name string) (value string, ok bool)
	// present reports whether a value was sent that is not empty.
	present(name string) bool
	addProblem(name string, f problem) // the first problem under a name is kept
	// location returns the zone of timestamps, see View.
	location() *time.Location
}

// problem is what is wrong with a value.
type problem struct {
	message  string
	rejected bool // the value is well-formed but not allowed
}

func invalid(message string) problem { return problem{message: message} }

func rejected(message string) problem { return problem{message: message, rejected: true} }

// valueType is a type of values: how it is read, with PHP's weak typing, and described.
type valueType[V any] struct {
	description
	// read returns a value. ok is false if none was sent, if it is empty, or if it is wrong, which is
	// recorded.
	read func(in input, name string) (value V, ok bool)
	word func(V) string // returns the word for a value; nil for types without words
}

// description is what the document says about a type of values.
type description struct {
	schema func() *Schema
	// id is set if 0 counts as not sent, unless the field is required: clients fill in 0 for numbers that
	// they leave out.
	id bool
	// blank is how an empty text is read.
	blank blankText
	// anyText is set if the value is an arbitrary text, such as a search text.
	anyText bool
	invalid string // the message for a malformed value, see parsed
}

// blankText is how a field reads an empty text.
type blankText uint8

const (
	blankIsValue   blankText = iota // the type of the value decides
	blankIsText                     // a text like any other
	blankIsNothing                  // as if nothing were sent
)

// The largest ids that the plugin's columns hold.
const (
	maxMediumInt = 1<<23 - 1
	maxInt       = 1<<31 - 1
)

// maxText is longer than any number, date or word, and than any column that a parameter is compared with.
const maxText = 320

var tooLong = invalid(fmt.Sprintf("Maximum allowed length is %d characters", maxText))

// Messages about values.
const (
	required      = "Required"
	mayNotBeEmpty = "May not be empty"
	notSingle     = "Must be a single value, not a list"
	notAList      = "Must be a list"
	notAnObject   = "Must be an object"
	notAnInteger  = "Must be an integer"
	notANumber    = "Must be a number"
	notABoolean   = "Must be true or false"
	notADate      = "Must be a date in the format YYYY-MM-DD"
	notASpan      = "Must be the beginning of a timestamp, such as 2026-11 or 2026-11-21"
	notAClock     = "Invalid time format, use HH:MM"
	notATime      = "Must be a time of day as HH:MM or in minutes after midnight"
	negative      = "May not be negative"
)

// fromText returns a type whose values are parsed from text.
func fromText[V any](d description, parse func(text string) (V, *problem)) valueType[V] {
	d.blank = blankIsNothing
	return valueType[V]{description: d, read: func(in input, name string) (value V, ok bool) {
		text, ok := in.text(name)
		if !ok {
			return value, false
		}
		value, wrong := parse(text)
		if wrong != nil {
			in.addProblem(name, *wrong)
		}
		return value, wrong == nil
	}}
}

// parsed returns a type whose texts either have a value or are malformed.
func parsed[V any](d description, parse func(text string) (V, bool)) valueType[V] {
	return fromText(d, func(text string) (V, *problem) {
		value, ok := parse(text)
		if !ok {
			return value, &problem{message: d.invalid}
		}
		return value, nil
	})
}

// text is any text in a query.
func text() valueType[string] {
	return valueType[string]{
		description: description{schema: func() *Schema { return &Schema{Type: typeString, MaxLength: maxText} }, anyText: true},
		read:        func(in input, name string) (string, bool) { return in.text(name) },
	}
}

// integer is a whole number within bounds. It may be written 12.0.
func integer(least, most int64) valueType[int64] { return integerOf(least, most, rejected) }

// id is an id in a column with the given maximum. A larger one is invalid, because nothing can have it.
func id(most int64) valueType[int64] {
	k := integerOf(1, most, invalid)
	k.id = true
	return shared(k, idName)
}

// idOrNone is an id, or 0 for the records without one.
func idOrNone() valueType[int64] { return shared(integer(0, maxInt), idName) }

// shared is a type whose values the document has under a name.
func shared[V any](k valueType[V], name string) valueType[V] {
	schema := k.schema
	k.schema = func() *Schema {
		s := schema()
		s.shared = name
		return s
	}
	return k
}

func integerOf(least, most int64, outside func(string) problem) valueType[int64] {
	tooSmall, tooLarge := outside(fmt.Sprintf("Minimum allowed value is %d", least)), outside(fmt.Sprintf("Maximum allowed value is %d", most))
	lowest, highest := decimal.NewFromInt(least), decimal.NewFromInt(most)
	schema := func() *Schema {
		return &Schema{Type: typeInteger, Minimum: bound(strconv.FormatInt(least, 10)), Maximum: bound(strconv.FormatInt(most, 10))}
	}
	return fromText(description{schema: schema}, func(text string) (int64, *problem) {
		n, ok := numbers.Integer(text)
		switch {
		case !ok:
			return 0, &problem{message: notAnInteger}
		case n.Cmp(lowest) < 0:
			return 0, &tooSmall
		case n.Cmp(highest) > 0:
			return 0, &tooLarge
		default:
			return n.IntPart(), nil
		}
	})
}

// anyID is an id, or 0 for the words any and -1.
func anyID() valueType[int64] {
	id := id(maxMediumInt)
	schema := func() *Schema {
		return &Schema{AnyOf: []*Schema{id.schema(), {Type: typeInteger, Const: -1}, {Type: typeString, Enum: []string{"any", "-1"}}}, shared: idOrAnyName}
	}
	return valueType[int64]{description: description{schema: schema, id: true, blank: blankIsNothing}, read: func(in input, name string) (int64, bool) {
		text, ok := in.text(name)
		if ok && (strings.EqualFold(text, "any") || text == "-1") {
			return 0, true
		}
		return id.read(in, name)
	}}
}

// zero reports whether a sent number is 0.
func zero(in input, name string) bool {
	text, ok := in.text(name)
	n, isNumber := numbers.Plain(text)
	return ok && isNumber && n.IsZero()
}

// sentID reports whether an id was sent, valid or not.
func sentID(in input, name string) bool { return in.present(name) && !zero(in, name) }

// allowZero lets the schema of an id allow 0.
func allowZero(schema *Schema) {
	if len(schema.AnyOf) > 0 {
		schema = schema.AnyOf[0]
	}
	schema.Minimum = bound("0")
}

var (
	amountOutside = rejected(fmt.Sprintf("Must be between -%s and %s", domain.MaxAmount, domain.MaxAmount))
	priceOutside  = rejected(fmt.Sprintf("Must be between 0 and %s", domain.MaxAmount))
)

// amount is a decimal number within the range of the money columns.
func amount() valueType[decimal.Decimal] {
	return fromText(description{schema: amountSchema("-" + domain.MaxAmount.String())}, func(text string) (decimal.Decimal, *problem) {
		n, ok := numbers.Exponential(text)
		switch {
		case !ok:
			return n, &problem{message: notANumber}
		case n.Abs().Cmp(domain.MaxAmount) > 0:
			return n, &amountOutside
		default:
			return n, nil
		}
	})
}

// pricePattern matches the texts that are prices. With an exponent, it does not check the bounds.
var pricePattern = fmt.Sprintf(`^(0*\d{1,16}(\.\d{1,%d}0*)?|\d+(\.\d+)?[eE][+-]?\d+)$`, domain.AmountDecimals)

// price is an amount that can be charged, as a number or as a text.
func price() valueType[decimal.Decimal] {
	schema := func() *Schema {
		return &Schema{AnyOf: []*Schema{amountSchema("0")(), {Type: typeString, Pattern: pricePattern}}, shared: priceName}
	}
	return fromText(description{schema: schema}, func(text string) (decimal.Decimal, *problem) {
		n, ok := numbers.Exponential(text)
		switch {
		case !ok:
			return n, &problem{message: notANumber}
		case n.IsNegative():
			return n, &problem{negative, true}
		case n.Cmp(domain.MaxAmount) > 0:
			return n, &priceOutside
		case !n.Equal(n.Truncate(domain.AmountDecimals)):
			return n, &problem{fmt.Sprintf("May have at most %d decimals", domain.AmountDecimals), true}
		default:
			return n, nil
		}
	})
}

func amountSchema(least string) func() *Schema {
	return func() *Schema {
		return &Schema{Type: typeNumber, Minimum: bound(least), Maximum: bound(domain.MaxAmount.String())}
	}
}

func bound(n string) *json.Number { return new(json.Number(n)) }

// booleans are the words for true and false, in any letter case.
var booleans = map[string]bool{
	"1": true, "true": true, "yes": true, "on": true,
	"0": false, "false": false, "no": false, "off": false,
}

// boolean is true or false, or one of the words for them.
func boolean() valueType[bool] {
	schema := func() *Schema { return &Schema{Type: typeBoolean} }
	return parsed(description{schema: schema, invalid: notABoolean}, func(text string) (value, ok bool) {
		value, ok = booleans[strings.ToLower(text)]
		return value, ok
	})
}

// flag declares a boolean that is false by default.
func flag[T any](name string, at func(*T) *bool) Field[T] {
	return defaulted(name, boolean(), false, at)
}

var dateDescription = description{schema: func() *Schema { return &Schema{Type: typeString, Format: "date"} }, invalid: notADate}

// date is a calendar day.
func date() valueType[session.Date] { return parsed(dateDescription, parseDate) }

func parseDate(text string) (date session.Date, ok bool) {
	day, err := time.Parse(time.DateOnly, text)
	return session.Date(text), err == nil && day.Year() >= 1000
}

// day is a date as a number of days.
func day() valueType[availability.Day] {
	return parsed(dateDescription, func(text string) (availability.Day, bool) {
		_, dated := parseDate(text)
		day, ok := availability.ParseDay(text)
		return day, dated && ok
	})
}

// beginning is the first instant of a date, in the zone of timestamps.
func beginning() valueType[time.Time] { return midnightAfter(0) }

// end is the first instant after a date, so that the day itself is included.
func end() valueType[time.Time] { return midnightAfter(1) }

func midnightAfter(days int) valueType[time.Time] {
	date := date()
	return valueType[time.Time]{description: dateDescription, read: func(in input, name string) (instant time.Time, ok bool) {
		date, ok := date.read(in, name)
		if !ok {
			return instant, false
		}
		day, ok := date.Time(time.UTC)
		return View{in.location()}.instant(day.AddDate(0, 0, days)), ok
	}}
}

// span is the range of the timestamps that begin with a text, such as 2026, 2026-1, 2026-11-0 or 2026-11-21 08.
func span() valueType[records.TimeSpan] {
	schema := func() *Schema { return &Schema{Type: typeString, Pattern: spanPattern} }
	return valueType[records.TimeSpan]{description: description{schema: schema}, read: func(in input, name string) (records.TimeSpan, bool) {
		text, ok := in.text(name)
		if !ok {
			return records.TimeSpan{}, false
		}
		first, last, ok := timestampsFrom(text)
		if !ok {
			in.addProblem(name, invalid(notASpan))
			return records.TimeSpan{}, false
		}
		view := View{in.location()}
		return records.TimeSpan{From: view.instant(first), Before: view.instant(last.Add(time.Second))}, true
	}}
}

var spanForm = regexp.MustCompile(spanPattern)

// timestampsFrom returns the first and the last timestamp that begin with a text; ok is false if none does.
func timestampsFrom(text string) (first, last time.Time, ok bool) {
	if !spanForm.MatchString(text) {
		return first, last, false
	}
	complete := func(digits string) time.Time {
		padded := text + digits[len(text):]
		part := func(from, to, least, most int) int {
			n, _ := strconv.Atoi(padded[from:to]) // digits, by the form
			return min(max(n, least), most)
		}
		year, month := part(0, 4, 1000, 9999), part(5, 7, 1, 12)
		days := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		return time.Date(year, time.Month(month), part(8, 10, 1, days), part(11, 13, 0, 23), part(14, 16, 0, 59), part(17, 19, 0, 59), 0, time.UTC)
	}
	first, last = complete("0000-00-00 00:00:00"), complete("9999-99-99 99:99:99")
	begins := func(t time.Time) bool { return strings.HasPrefix(t.Format(time.DateTime), text) }
	return first, last, begins(first) && begins(last)
}

// timeOfDay is HH:MM, from 00:00 to 23:59.
func timeOfDay() valueType[availability.Minutes] {
	schema := func() *Schema { return &Schema{Type: typeString, Pattern: clockPattern} }
	return parsed(description{schema: schema, invalid: notAClock}, parseClock)
}

// timeOrMidnight is HH:MM, from 00:00 to 24:00.
func timeOrMidnight() valueType[availability.Minutes] {
	schema := func() *Schema { return &Schema{Type: typeString, Pattern: clockOrMidnightPattern} }
	return parsed(description{schema: schema, invalid: notAClock}, func(text string) (availability.Minutes, bool) {
		if text == "24:00" {
			return maxDuration, true
		}
		return parseClock(text)
	})
}

// timeOrMinutes is HH:MM, or minutes after midnight.
func timeOrMinutes() valueType[availability.Minutes] {
	schema := func() *Schema { return &Schema{Type: typeString, Pattern: timeOrMinutesPattern} }
	return parsed(description{schema: schema, invalid: notATime}, parseTimeOfDay)
}

func parseTimeOfDay(text string) (minutes availability.Minutes, ok bool) {
	if strings.Contains(text, ":") {
		return parseClock(text)
	}
	m, err := strconv.ParseUint(text, 10, 16)
	return availability.Minutes(m), err == nil && m < maxDuration
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

// word is one of the words in a map, in any letter case. message is for all others.
func word[V comparable](words map[string]V, message string) valueType[V] {
	unknown := rejected(message)
	schema := func() *Schema { return &Schema{Type: typeString, Enum: slices.Sorted(maps.Keys(words))} }
	k := fromText(description{schema: schema}, func(text string) (V, *problem) {
		value, ok := words[strings.ToLower(text)]
		if !ok {
			return value, &unknown
		}
		return value, nil
	})
	k.word = func(value V) string {
		for _, word := range slices.Sorted(maps.Keys(words)) {
			if words[word] == value {
				return word
			}
		}
		return ""
	}
	return k
}

// oneOf returns the message for a word that is none of these.
func oneOf(words ...string) string { return "Must be one of: " + strings.Join(words, ", ") }

// sameWords maps words to themselves.
func sameWords(words ...string) map[string]string {
	same := make(map[string]string, len(words))
	for _, word := range words {
		same[word] = word
	}
	return same
}

const unknownSort = "Invalid sorting field"

var directions = map[string]bool{"asc": false, "desc": true}

// descending declares the direction of a sort.
func descending[T any](defaultValue bool, at func(*T) *bool) Field[T] {
	return defaulted("order", word(directions, "Must be asc or desc"), defaultValue, at)
}

// words is a comma-separated list of known words, in any letter case.
func words(known ...string) valueType[map[string]bool] {
	unknown := invalid("Must be a list of: " + strings.Join(known, ", "))
	schema := func() *Schema { return &Schema{Type: typeArray, Items: &Schema{Type: typeString, Enum: known}} }
	return valueType[map[string]bool]{description: description{schema: schema}, read: func(in input, name string) (map[string]bool, bool) {
		text, ok := in.text(name)
		if !ok {
			return nil, false
		}
		found := map[string]bool{}
		for word := range strings.SplitSeq(strings.ToLower(text), ",") {
			word = strings.TrimSpace(word)
			if word != "" && !slices.Contains(known, word) {
				in.addProblem(name, unknown)
			}
			found[word] = true
		}
		return found, true
	}}
}

// maxPage keeps a page's offset within 64 bits.
const maxPage = 1 << 53

// maxPerPage is the maximum number of records in a response.
const maxPerPage = 100

// MaxExported is the maximum number of records in an export, and maxExportedPage keeps the offset of a page
// of that size within 64 bits.
const (
	MaxExported     = 100_000
	maxExportedPage = 1 << 46
)

// page declares the number of a page, from 1.
func page[T any](at func(*T) *int64) Field[T] {
	return defaulted("page", unlessExported(integer(1, maxPage), func(*Query) valueType[int64] { return integer(1, maxExportedPage) }), 1, at)
}

// perPage declares the number of records on a page.
func perPage[T any](defaultValue int64, at func(*T) *int64) Field[T] {
	return defaulted("per_page", unlessExported(integer(1, maxPerPage), func(q *Query) valueType[int64] { return integer(1, q.exported) }), defaultValue, at)
}

// unlessExported is a type of number with different bounds if the list is exported.
func unlessExported(k valueType[int64], exported func(*Query) valueType[int64]) valueType[int64] {
	read := k.read
	k.read = func(in input, name string) (int64, bool) {
		if q, ok := in.(*Query); ok && q.exported > 0 {
			return exported(q).read(in, name)
		}
		return read(in, name)
	}
	return k
}
