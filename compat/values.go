package compat

import (
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
	"github.com/bookside/bookside/compat/jsonschema"
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
}

// description is what is known of a type of values without one.
type description struct {
	schema        func() *jsonschema.Schema
	null, blank   meaning // what null and an empty text are in a body
	zeroIsNothing bool    // 0 is nothing, unless the field is required: clients fill in 0 for ids that they leave out
	members       bool    // an object, whose members may be sent one by one
	personal      bool    // an arbitrary text, which may search personal data
}

// meaning is what an empty value of a body means. The table, with all other values, is in TestValueTypes:
//
//	type                            null                        ""           0
//	anyText                         nothing, in a change empty  itself       its digits
//	fixedText                       nothing                     itself       its digits
//	id, anyID, userID               nothing                     nothing      nothing
//	idList                          nothing                     an empty list
//	customFields, elements, object  nothing                     wrong
//	all others                      nothing                     nothing      a value like any other, which may be wrong
//
// A change refuses nothing, unless the field has a default. A clearable field is cleared by null, and by an empty text
// that is nothing otherwise. In a query, an empty text is always nothing.
type meaning uint8

const (
	isNothing      meaning = iota // as if it were not sent
	isValue                       // like any other value, and read
	isCleared                     // 0, an empty text or an empty list
	clearsInChange                // isCleared in a change, and otherwise isNothing
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
func fromText[V any](schema func() *jsonschema.Schema, parse func(text string) (V, *problem)) valueType[V] {
	return valueType[V]{description: description{schema: schema}, read: func(in input, name string) (value V, ok bool) {
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

// parsed returns a type whose texts either have a value or are malformed, for which message is.
func parsed[V any](schema func() *jsonschema.Schema, message string, parse func(text string) (V, bool)) valueType[V] {
	return fromText(schema, func(text string) (V, *problem) {
		value, ok := parse(text)
		if !ok {
			return value, &problem{message: message}
		}
		return value, nil
	})
}

// plain returns a function that returns copies of a schema without parts.
func plain(s jsonschema.Schema) func() *jsonschema.Schema {
	return func() *jsonschema.Schema { return new(s) }
}

// plainText is any text in a query that searches no personal data. Keys that mask personal data may send it.
var plainText = fromText(plain(jsonschema.Schema{Type: jsonschema.String, MaxLength: maxText}), func(text string) (string, *problem) { return text, nil })

// text is any text in a query that searches personal data.
var text = func(t valueType[string]) valueType[string] {
	t.personal = true
	return t
}(plainText)

// integer is a whole number within bounds. It may be written 12.0.
func integer(least, most int64) valueType[int64] { return wholeNumber("", least, most, rejected) }

// id is an id in a column with the given maximum. A larger one is invalid, because nothing can have it.
func id(most int64) valueType[int64] {
	return wholeNumber(jsonschema.IDName, 1, most, invalid).orZero()
}

// userID is the id of a WordPress user. One that does not exist is not malformed: the site has users that customers
// cannot have.
var userID = integer(1, maxInt).orZero()

// idOrNone is an id, or 0 for the records without one.
var idOrNone = wholeNumber(jsonschema.IDName, 0, maxInt, rejected)

// orZero returns the type with 0 as nothing.
func (t valueType[V]) orZero() valueType[V] {
	t.zeroIsNothing = true
	return t
}

// wholeNumber is a number that the document has under a name, if there is one. outside is the problem of one that is
// out of bounds.
func wholeNumber(shared string, least, most int64, outside func(string) problem) valueType[int64] {
	lowest, highest := decimal.NewFromInt(least), decimal.NewFromInt(most)
	schema := plain(jsonschema.Schema{Type: jsonschema.Integer, Minimum: jsonschema.Bound(lowest.String()), Maximum: jsonschema.Bound(highest.String()), Shared: shared})
	return fromText(schema, func(text string) (int64, *problem) {
		n, ok := numbers.Integer(text)
		switch {
		case !ok:
			return 0, &problem{message: notAnInteger}
		case n.Cmp(lowest) < 0:
			return 0, new(outside(fmt.Sprintf("Minimum allowed value is %d", least)))
		case n.Cmp(highest) > 0:
			return 0, new(outside(fmt.Sprintf("Maximum allowed value is %d", most)))
		default:
			return n.IntPart(), nil
		}
	})
}

// anyID is an id, or 0 for the words any and -1.
var anyID = valueType[int64]{
	description: description{zeroIsNothing: true, schema: func() *jsonschema.Schema {
		forms := []*jsonschema.Schema{id(maxMediumInt).schema(), {Type: jsonschema.Integer, Const: -1}, {Type: jsonschema.String, Enum: []string{"any", "-1"}}}
		return &jsonschema.Schema{AnyOf: forms, Shared: jsonschema.IDOrAnyName}
	}},
	read: func(in input, name string) (int64, bool) {
		text, ok := in.text(name)
		if ok && (strings.EqualFold(text, "any") || text == "-1") {
			return 0, true
		}
		return id(maxMediumInt).read(in, name)
	},
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
func allowZero(schema *jsonschema.Schema) {
	if len(schema.AnyOf) > 0 {
		schema = schema.AnyOf[0]
	}
	schema.Minimum = jsonschema.Bound("0")
}

// amount is a decimal number within the range of the money columns.
var amount = fromText(amountSchema("-"+domain.MaxAmount.String()), func(text string) (decimal.Decimal, *problem) {
	n, ok := numbers.Exponential(text)
	switch {
	case !ok:
		return n, &problem{message: notANumber}
	case n.Abs().Cmp(domain.MaxAmount) > 0:
		return n, new(rejected(fmt.Sprintf("Must be between -%s and %s", domain.MaxAmount, domain.MaxAmount)))
	default:
		return n, nil
	}
})

// pricePattern matches the texts that are prices. With an exponent, it does not check the bounds.
var pricePattern = fmt.Sprintf(`^(0*\d{1,16}(\.\d{1,%d}0*)?|\d+(\.\d+)?[eE][+-]?\d+)$`, domain.AmountDecimals)

func priceSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{amountSchema("0")(), {Type: jsonschema.String, Pattern: pricePattern}}, Shared: priceName}
}

// price is an amount that can be charged, as a number or as a text.
var price = fromText(priceSchema, func(text string) (decimal.Decimal, *problem) {
	n, ok := numbers.Exponential(text)
	switch {
	case !ok:
		return n, &problem{message: notANumber}
	case n.IsNegative():
		return n, new(rejected(negative))
	case n.Cmp(domain.MaxAmount) > 0:
		return n, new(rejected(fmt.Sprintf("Must be between 0 and %s", domain.MaxAmount)))
	case !n.Equal(n.Truncate(domain.AmountDecimals)):
		return n, new(rejected(fmt.Sprintf("May have at most %d decimals", domain.AmountDecimals)))
	default:
		return n, nil
	}
})

func amountSchema(least string) func() *jsonschema.Schema {
	return plain(jsonschema.Schema{Type: jsonschema.Number, Minimum: jsonschema.Bound(least), Maximum: jsonschema.Bound(domain.MaxAmount.String())})
}

// boolean is true or false, or one of the words for them.
var boolean = parsed(plain(jsonschema.Schema{Type: jsonschema.Boolean}), notABoolean, func(text string) (value, ok bool) {
	value, ok = jsonschema.Booleans[strings.ToLower(text)]
	return value, ok
})

var dateSchema = plain(jsonschema.Schema{Type: jsonschema.String, Format: "date"})

// date is a calendar day.
var date = parsed(dateSchema, notADate, parseDate)

func parseDate(text string) (date session.Date, ok bool) {
	day, err := time.Parse(time.DateOnly, text)
	return session.Date(text), err == nil && day.Year() >= 1000
}

// day is a date as a number of days.
var day = parsed(dateSchema, notADate, func(text string) (availability.Day, bool) {
	_, dated := parseDate(text)
	day, ok := availability.ParseDay(text)
	return day, dated && ok
})

// beginning is the first instant of a date, in the zone of timestamps.
var beginning = midnightAfter(0)

// end is the first instant after a date, so that the day itself is included.
var end = midnightAfter(1)

func midnightAfter(days int) valueType[time.Time] {
	return valueType[time.Time]{description: date.description, read: func(in input, name string) (instant time.Time, ok bool) {
		date, ok := date.read(in, name)
		if !ok {
			return instant, false
		}
		day, ok := date.Time(time.UTC)
		return View{in.location()}.instant(day.AddDate(0, 0, days)), ok
	}}
}

// span is the range of the timestamps that begin with a text, such as 2026, 2026-1, 2026-11-0 or 2026-11-21 08.
var span = valueType[records.TimeSpan]{
	description: description{schema: plain(jsonschema.Schema{Type: jsonschema.String, Pattern: spanPattern})},
	read: func(in input, name string) (records.TimeSpan, bool) {
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
	},
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
var timeOfDay = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: clockPattern}), notAClock, parseClock)

// timeOrMidnight is HH:MM, from 00:00 to 24:00.
var timeOrMidnight = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: clockOrMidnightPattern}), notAClock, func(text string) (availability.Minutes, bool) {
	if text == "24:00" {
		return maxDuration, true
	}
	return parseClock(text)
})

// timeOrMinutes is HH:MM, or minutes after midnight.
var timeOrMinutes = parsed(plain(jsonschema.Schema{Type: jsonschema.String, Pattern: timeOrMinutesPattern}), notATime, parseTimeOfDay)

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
func word[V any](words map[string]V, message string) valueType[V] {
	schema := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.String, Enum: slices.Sorted(maps.Keys(words))}
	}
	return fromText(schema, func(text string) (V, *problem) {
		value, ok := words[strings.ToLower(text)]
		if !ok {
			return value, new(rejected(message))
		}
		return value, nil
	})
}

// oneWord is one of the words, in any letter case.
func oneWord(words ...string) valueType[string] { return word(sameWords(words...), oneOf(words...)) }

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
func descending(standard string, to *bool) Field {
	return choice("order", directions, "Must be asc or desc", standard, to)
}

// words is a comma-separated list of known words, in any letter case.
func words(known ...string) valueType[map[string]bool] {
	schema := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: jsonschema.Array, Items: &jsonschema.Schema{Type: jsonschema.String, Enum: known}}
	}
	return valueType[map[string]bool]{description: description{schema: schema}, read: func(in input, name string) (map[string]bool, bool) {
		text, ok := in.text(name)
		if !ok {
			return nil, false
		}
		found := map[string]bool{}
		for word := range strings.SplitSeq(strings.ToLower(text), ",") {
			word = strings.TrimSpace(word)
			if word != "" && !slices.Contains(known, word) {
				in.addProblem(name, invalid("Must be a list of: "+strings.Join(known, ", ")))
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
func page(to *int64) Field {
	return defaulted("page", unlessExported(maxPage, func(*Query) int64 { return maxExportedPage }), 1, to)
}

// perPage declares the number of records on a page.
func perPage(standard int64, to *int64) Field {
	return defaulted("per_page", unlessExported(maxPerPage, func(q *Query) int64 { return q.exported }), standard, to)
}

// unlessExported is a number from 1, with another maximum if the list is exported.
func unlessExported(most int64, exported func(*Query) int64) valueType[int64] {
	t := integer(1, most)
	ordinary := t.read
	t.read = func(in input, name string) (int64, bool) {
		if q, ok := in.(*Query); ok && q.exported > 0 {
			return integer(1, exported(q)).read(in, name)
		}
		return ordinary(in, name)
	}
	return t
}
