package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// The kinds of arguments.
type (
	id    int64
	date  string // YYYY-MM-DD
	clock string // HH:MM
	count int64
	limit int64
	token string // idempotency key
)

var one, hundred = 1.0, 100.0

// valueSchemas are the schemas of the kinds of arguments.
var valueSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[id]():    {Type: "integer", Minimum: &one},
	reflect.TypeFor[count](): {Type: "integer", Minimum: &one},
	reflect.TypeFor[limit](): {Type: "integer", Minimum: &one, Maximum: &hundred},
	reflect.TypeFor[date]():  {Type: "string", Pattern: `^\d{4}-\d{2}-\d{2}$`},
	reflect.TypeFor[clock](): {Type: "string", Pattern: `^([01]\d|2[0-3]):[0-5]\d$`},
	reflect.TypeFor[token](): {Type: "string", Pattern: `^[ -~]{8,255}$`},
}

// now is part of every result, because a model knows neither the site's time zone nor the time.
type now struct {
	Timezone string `json:"timezone" jsonschema:"Time zone of the site. All dates and times in this result are local to it"`
	Now      string `json:"now" jsonschema:"Date and time at the site when this was answered"`
	today    time.Time
}

// now returns the time at the site.
func (c *call) now() (now, error) {
	zone, t, err := c.Clock()
	return now{Timezone: zone, Now: t.Format(time.RFC3339), today: t}, err
}

// orToday returns a date, or today for none.
func (n now) orToday(d date) date {
	if d != "" {
		return d
	}
	return date(n.today.Format(time.DateOnly))
}

// after returns the date some days later; an invalid date is returned as it is.
func (d date) after(days int) date {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return d
	}
	return date(t.AddDate(0, 0, days).Format(time.DateOnly))
}

// weekday returns the name of the date's weekday, "" for an invalid date.
func (d date) weekday() string {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return ""
	}
	return t.Weekday().String()
}

// parameters encodes pairs of a name and a value, omitting empty values.
func parameters(pairs ...any) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if value := reflect.ValueOf(pairs[i+1]); !value.IsZero() {
			query.Set(pairs[i].(string), fmt.Sprint(pairs[i+1]))
		}
	}
	return query
}

// orAny returns an id as operations expect it, or any.
func (i id) orAny() any {
	if i == 0 {
		return "any"
	}
	return int64(i)
}

// number is an integer of the API, which encodes some as strings, and any as a word.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	digits := string(bytes.Trim(text, `"`))
	if digits == "" || digits == "null" || digits == "any" {
		*n = 0
		return nil
	}
	value, err := strconv.ParseInt(digits, 10, 64)
	*n = number(value)
	return err
}

// amount drops the decimals that currencies do not have.
func amount(text string) string {
	whole, decimals, _ := strings.Cut(text, ".")
	if len(decimals) == 4 && strings.HasSuffix(decimals, "00") {
		return whole + "." + decimals[:2]
	}
	return text
}

// read calls an operation and decodes the response.
func read[T any](c *call, sent Call) (record T, err error) {
	answer, err := c.Call(sent)
	if err != nil {
		return record, err
	}
	return record, decode(answer, &record)
}

// page is a page of a list of the API.
type page[T any] struct {
	Data       []T `json:"data"`
	Pagination struct {
		Total int64 `json:"total"`
		More  bool  `json:"has_next_page"`
	} `json:"pagination"`
}

// single is a record of the API.
type single[T any] struct {
	Data T `json:"data"`
}

func decode(answer Answer, into any) error {
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return fmt.Errorf("read an answer of the API: %w", err)
	}
	return nil
}
