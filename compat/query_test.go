package compat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
)

// valueOf returns a value of a type, or nil if none was sent or it is wrong.
func valueOf[V any](s input, name string, k valueType[V]) *V {
	if value, ok := k.read(s, name); ok {
		return &value
	}
	return nil
}

// fieldOf returns what a field reads from a source.
func fieldOf[T any](s input, field func(into *T) Field) (into T) {
	f := field(&into)
	f.read(s)
	return into
}

// Err returns an error that names every wrong parameter.
func (q *Query) Err() error { return PageParameters.err(q) }

// invalidParameters returns the parameters an error names, with their messages.
func invalidParameters(t testing.TB, err error) map[string]string {
	t.Helper()
	if err == nil {
		return nil
	}
	var known *domain.Error
	if !errors.As(err, &known) || known.Code != domain.CodeInvalidParameters {
		t.Fatalf("%v is no error about parameters", err)
	}
	return known.Fields
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw, want string // want is the text of a; "" for none
		wrong     string
	}{
		"plain":                       {raw: "a=1", want: "1"},
		"nothing":                     {raw: ""},
		"another":                     {raw: "b=1"},
		"another case":                {raw: "A=1"},
		"empty":                       {raw: "a="},
		"without a value":             {raw: "a"},
		"blank":                       {raw: "a=%20+%09"},
		"trimmed":                     {raw: "a=+x+y%0A", want: "x y"},
		"the last of two":             {raw: "a=1&a=2", want: "2"},
		"the last, though empty":      {raw: "a=1&a="},
		"separators too many":         {raw: "&&a=1&&", want: "1"},
		"no semicolons":               {raw: "a=1;b=2", want: "1;b=2"},
		"a second equals sign":        {raw: "a=b=c", want: "b=c"},
		"an escaped name":             {raw: "%61=1", want: "1"},
		"an escaped separator":        {raw: "a=1%262", want: "1&2"},
		"UTF-8":                       {raw: "a=J%C3%BCrgen", want: "Jürgen"},
		"not escaped UTF-8":           {raw: "a=Jürgen", want: "Jürgen"},
		"a lonely percent":            {raw: "a=100%", want: "100%"},
		"no escape":                   {raw: "a=%zz", want: "%zz"},
		"half an escape":              {raw: "a=%4", want: "%4"},
		"an escape after none":        {raw: "a=%zz%41+%2", want: "%zzA %2"},
		"a sign is no digit":          {raw: "a=%+1", want: "% 1"},
		"a list":                      {raw: "a[]=1", wrong: "Must be a single value, not a list"},
		"an escaped list":             {raw: "a%5B%5D=1", wrong: "Must be a single value, not a list"},
		"a map":                       {raw: "a[x][y]=1", wrong: "Must be a single value, not a list"},
		"a list after a value":        {raw: "a=1&a[]=2", wrong: "Must be a single value, not a list"},
		"a value after a list":        {raw: "a[]=1&a=2", want: "2"},
		"NUL":                         {raw: "a=x%00y", wrong: "Must be valid UTF-8 without control characters"},
		"nothing but NUL":             {raw: "a=%00", wrong: "Must be valid UTF-8 without control characters"},
		"a line break inside":         {raw: "a=x%0Ay", wrong: "Must be valid UTF-8 without control characters"},
		"DEL":                         {raw: "a=%7F", wrong: "Must be valid UTF-8 without control characters"},
		"invalid UTF-8":               {raw: "a=%FF", wrong: "Must be valid UTF-8 without control characters"},
		"invalid UTF-8 and no escape": {raw: "a=%FF%zz", wrong: "Must be valid UTF-8 without control characters"},
		"a surrogate":                 {raw: "a=%ED%A0%80", wrong: "Must be valid UTF-8 without control characters"},
		"as long as may be":           {raw: "a=" + strings.Repeat("ü", 320), want: strings.Repeat("ü", 320)},
		"longer":                      {raw: "a=" + strings.Repeat("ü", 321), wrong: "Maximum allowed length is 320 characters"},
		"100 kB":                      {raw: "a=" + strings.Repeat("a", 100_000), wrong: "Maximum allowed length is 320 characters"},
		"100 kB of blanks":            {raw: "a=" + strings.Repeat("+", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := ParseQuery(c.raw)
			got := ""
			if text := valueOf(q, "a", text); text != nil {
				got = *text
			}
			if got != c.want {
				t.Errorf("a is %.50q, want %.50q", got, c.want)
			}
			var wrong map[string]string
			if c.wrong != "" {
				wrong = map[string]string{"a": c.wrong}
			}
			if diff := cmp.Diff(wrong, invalidParameters(t, q.Err())); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
		})
	}
}

// getterCase is a raw value and what a getter reads from it: its text, "" for
// nothing, or a message that begins with !.
type getterCase struct{ name, raw, want string }

// runGetter calls a getter for each raw value.
func runGetter[T any](t *testing.T, get func(*Query) *T, print func(T) string, cases []getterCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := ParseQuery("a=" + c.raw)
			got := ""
			if value := get(q); value != nil {
				got = print(*value)
			}
			if message, ok := invalidParameters(t, q.Err())["a"]; ok {
				got += "!" + message // shows a value that comes with a message, too
			}
			if got != c.want {
				t.Errorf("%.50q gives %q, want %q", c.raw, got, c.want)
			}
		})
	}
}

func TestInteger(t *testing.T) {
	t.Parallel()
	const no, low, high = "!Must be an integer", "!Minimum allowed value is 0", "!Maximum allowed value is 2147483647"
	runGetter(t, func(q *Query) *int64 { return valueOf(q, "a", integer(0, maxInt)) }, func(n int64) string { return fmt.Sprint(n) }, []getterCase{
		{"plain", "12", "12"},
		{"not sent", "", ""},
		{"blank", "+", ""},
		{"blanks around", "+12%20", "12"},
		{"zero", "0", "0"},
		{"minus zero", "-0", "0"},
		{"zeros in front", "0012", "12"},
		{"a fraction of zeros", "12.0", "12"},
		{"many zeros", "12.00000", "12"},
		{"a fraction", "12.5", no},
		{"a point and nothing", "12.", no},
		{"nothing and a point", ".5", no},
		{"only a point", ".", no},
		{"two points", "1.0.0", no},
		{"a plus sign", "%2B5", no},
		{"a minus sign", "-5", low},
		{"only a sign", "-", no},
		{"two signs", "--5", no},
		{"an exponent", "1e3", no},
		{"a huge exponent", "1e999999999", no},
		{"hexadecimal", "0x10", no},
		{"octal", "0o17", no},
		{"underscores", "1_000", no},
		{"a comma", "1,000", no},
		{"a blank inside", "1+000", no},
		{"letters", "12abc", no},
		{"a word", "true", no},
		{"Arabic digits", "%D9%A1", no},
		{"full-width digits", "%EF%BC%91", no},
		{"infinite", "Infinity", no},
		{"no number", "NaN", no},
		{"the largest", "2147483647", "2147483647"},
		{"one too large", "2147483648", high},
		{"beyond 64 bits", "9223372036854775808", high},
		{"2 to the 64th", "18446744073709551616", high},
		{"beyond 64 bits below", "-9223372036854775809", low},
		{"two hundred digits", strings.Repeat("9", 200), high},
		{"four hundred digits", strings.Repeat("9", 400), "!Maximum allowed length is 320 characters"},
	})
}

func TestID(t *testing.T) {
	t.Parallel()
	runGetter(t, func(q *Query) *int64 { return valueOf(q, "a", id(maxMediumInt)) }, func(n int64) string { return fmt.Sprint(n) }, []getterCase{
		{"the least", "1", "1"},
		{"zero", "0", "!Minimum allowed value is 1"},
		{"the largest", "8388607", "8388607"},
		{"one too large", "8388608", "!Maximum allowed value is 8388607"},
	})
}

func TestAmount(t *testing.T) {
	t.Parallel()
	const no, far = "!Must be a number", "!Must be between -9999999999999999.9999 and 9999999999999999.9999"
	runGetter(t, func(q *Query) *decimal.Decimal { return valueOf(q, "a", amount) }, decimal.Decimal.String, []getterCase{
		{"whole", "12", "12"},
		{"a fraction", "12.50", "12.5"},
		{"many decimals", "0.00001", "0.00001"},
		{"below zero", "-12.5", "-12.5"},
		{"not sent", "", ""},
		{"a comma", "12,50", no},
		{"a currency", "12.50+%E2%82%AC", no},
		{"a plus sign", "%2B5", no},
		{"an exponent", "1e3", "1000"},
		{"a signed exponent", "1.25E%2B02", "125"},
		{"a negative exponent", "-1250e-3", "-1.25"},
		{"zeros in front of an exponent", "5e0001", "50"},
		{"the largest power", "1e15", "1000000000000000"},
		{"Python's power", "1e%2B16", far},
		{"the smallest double", "5e-324", "0." + strings.Repeat("0", 323) + "5"},
		{"zero times a power", "0e300", "0"},
		{"the largest double", "1.7976931348623157e308", far},
		{"a larger exponent", "1e325", no},
		{"a huge exponent", "1e999999999", no},
		{"a huge negative exponent", "1e-999999999", no},
		{"an exponent beyond 64 bits", "1e99999999999999999999", no},
		{"an exponent of nothing", "e3", no},
		{"no exponent after e", "1e", no},
		{"a sign after e", "1e-", no},
		{"two exponents", "1e2e3", no},
		{"a fraction of an exponent", "1e1.5", no},
		{"underscores in an exponent", "1e1_0", no},
		{"a point and nothing", "12.", no},
		{"nothing and a point", ".5", no},
		{"infinite", "inf", no},
		{"no number", "nan", no},
		{"the largest", "9999999999999999.9999", "9999999999999999.9999"},
		{"too large", "10000000000000000", far},
		{"too small", "-10000000000000000", far},
		{"two hundred digits", strings.Repeat("9", 200), far},
	})
}

func TestBoolean(t *testing.T) {
	t.Parallel()
	cases := []getterCase{{"not sent", "", ""}, {"blanks around", "+yes+", "true"}}
	for _, word := range []string{"1", "true", "TRUE", "True", "yes", "YES", "on", "On"} {
		cases = append(cases, getterCase{word, word, "true"})
	}
	for _, word := range []string{"0", "false", "FALSE", "False", "no", "No", "off", "OFF"} {
		cases = append(cases, getterCase{word, word, "false"})
	}
	for _, word := range []string{"2", "-1", "01", "1.0", "t", "f", "y", "n", "null", "enabled", "true,false"} {
		cases = append(cases, getterCase{word, word, "!Must be true or false"})
	}
	runGetter(t, func(q *Query) *bool { return valueOf(q, "a", boolean) }, func(b bool) string { return fmt.Sprint(b) }, cases)
}

func TestFlag(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{"": false, "a": false, "a=": false, "a=0": false, "a=no": false, "a=1": true, "a=on": true, "a=maybe": false, "a[]=1": false} {
		t.Run(raw, func(t *testing.T) {
			if got := fieldOf(ParseQuery(raw), func(on *bool) Field { return flag("a", on) }); got != want {
				t.Errorf("%q gives %v", raw, got)
			}
		})
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	const no = "!Must be a date in the format YYYY-MM-DD"
	runGetter(t, func(q *Query) *session.Date { return valueOf(q, "a", date) }, func(d session.Date) string { return string(d) }, []getterCase{
		{"plain", "2026-11-21", "2026-11-21"},
		{"blanks around", "+2026-11-21+", "2026-11-21"},
		{"not sent", "", ""},
		{"a leap day", "2028-02-29", "2028-02-29"},
		{"no leap day", "2026-02-29", no},
		{"no leap day in a century", "2100-02-29", no},
		{"30 February", "2026-02-30", no},
		{"month 13", "2026-13-01", no},
		{"day 0", "2026-11-00", no},
		{"zero date", "0000-00-00", no},
		{"the first", "1000-01-01", "1000-01-01"},
		{"before the first", "0999-12-31", no},
		{"the last", "9999-12-31", "9999-12-31"},
		{"five digits", "10000-01-01", no},
		{"before Christ", "-2026-11-21", no},
		{"one digit", "2026-1-1", no},
		{"a month", "2026-11", no},
		{"with a time", "2026-11-21+10:00:00", no},
		{"RFC 3339", "2026-11-21T10:00:00Z", no},
		{"other separators", "2026/11/21", no},
		{"another order", "21.11.2026", no},
		{"a word", "today", no},
		{"a number", "20261121", no},
	})
}

func TestWord(t *testing.T) {
	t.Parallel()
	words := map[string]int{"start_date": 1, "id": 2}
	runGetter(t, func(q *Query) *int { return valueOf(q, "a", word(words, "Invalid sorting field")) }, func(n int) string { return fmt.Sprint(n) }, []getterCase{
		{"plain", "start_date", "1"},
		{"capitals", "START_DATE", "1"},
		{"mixed", "Id", "2"},
		{"not sent", "", ""},
		{"unknown", "price", "!Invalid sorting field"},
		{"two", "id,start_date", "!Invalid sorting field"},
		{"SQL", "id%20DESC", "!Invalid sorting field"},
		{"a dotless i", "%C4%B1d", "!Invalid sorting field"}, // lower case in Turkish, but a different letter here
	})
}

func TestChoice(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{"": 9, "a=": 9, "a=x": 1, "a=X": 1, "a=y": 9} {
		t.Run(raw, func(t *testing.T) {
			if got := fieldOf(ParseQuery(raw), func(n *int) Field { return choice("a", map[string]int{"x": 1, "z": 9}, "no", "z", n) }); got != want {
				t.Errorf("%q gives %d, want %d", raw, got, want)
			}
		})
	}
}

func TestDescending(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{"": true, "order=asc": false, "order=ASC": false, "order=Desc": true} {
		q := ParseQuery(raw)
		if got := fieldOf(q, func(on *bool) Field { return descending("desc", on) }); got != want || q.Err() != nil {
			t.Errorf("%q gives %v, %v", raw, got, q.Err())
		}
	}
	q := ParseQuery("order=down")
	fieldOf(q, func(on *bool) Field { return descending("asc", on) })
	if diff := cmp.Diff(map[string]string{"order": "Must be asc or desc"}, invalidParameters(t, q.Err())); diff != "" {
		t.Errorf("order=down (-want +got):\n%s", diff)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"":                     nil,
		"a=":                   nil,
		"a=x":                  {"x"},
		"a=X, y":               {"x", "y"},
		"a=,x,,":               {"x", ""},
		"a=x,x":                {"x"},
		"a[]=x":                nil,
		"a=" + longList("x"):   nil,
		"a=x%2Cy":              {"x", "y"},
		"a=y&a=x":              {"x"},
		"a=%20x%20,%20y%20":    {"x", "y"},
		"a=x,y&b=unknown&c[]=": {"x", "y"},
	} {
		t.Run(raw, func(t *testing.T) {
			found, _ := words("x", "y").read(ParseQuery(raw), "a")
			for _, word := range want {
				if !found[word] {
					t.Errorf("%.50q lacks %q", raw, word)
				}
			}
			if len(found) != len(want) {
				t.Errorf("%.50q gives %v", raw, found)
			}
		})
	}
	q := ParseQuery("a=x,z")
	valueOf(q, "a", words("x", "y"))
	if diff := cmp.Diff(map[string]string{"a": "Must be a list of: x, y"}, invalidParameters(t, q.Err())); diff != "" {
		t.Errorf("a=x,z (-want +got):\n%s", diff)
	}
}

// longList returns a list longer than any text may be.
func longList(word string) string { return strings.Repeat(word+",", 200) }

func pagingOf(q *Query, standard int64) (p session.Paging) {
	Fields{page(&p.Page), perPage(standard, &p.PerPage)}.read(q)
	return p
}

func TestPaging(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]session.Paging{
		"":                      {Page: 1, PerPage: 20},
		"page=3":                {Page: 3, PerPage: 20},
		"page=3&per_page=100":   {Page: 3, PerPage: 100},
		"per_page=1.0":          {Page: 1, PerPage: 1},
		"page=9007199254740992": {Page: 1 << 53, PerPage: 20},
	} {
		t.Run(raw, func(t *testing.T) {
			q := ParseQuery(raw)
			if got := pagingOf(q, 20); got != want || q.Err() != nil {
				t.Errorf("%q gives %v, %v", raw, got, q.Err())
			}
		})
	}
	for raw, want := range map[string]map[string]string{
		"page=0&per_page=0":                            {"page": "Minimum allowed value is 1", "per_page": "Minimum allowed value is 1"},
		"page=-1&per_page=101":                         {"page": "Minimum allowed value is 1", "per_page": "Maximum allowed value is 100"},
		"page=9007199254740993":                        {"page": "Maximum allowed value is 9007199254740992"},
		"page=1.5&per_page=" + strings.Repeat("9", 30): {"page": "Must be an integer", "per_page": "Maximum allowed value is 100"},
	} {
		q := ParseQuery(raw)
		pagingOf(q, 20)
		if diff := cmp.Diff(want, invalidParameters(t, q.Err())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	}
}

// TestErrNamesEveryParameter: the error names every wrong parameter, each with
// its first problem.
func TestErrNamesEveryParameter(t *testing.T) {
	t.Parallel()
	q := ParseQuery("a=x&b=x&c=2026&d=maybe&e=%00&f=fine&g[]=1")
	valueOf(q, "a", integer(1, 2))
	valueOf(q, "a", date)
	valueOf(q, "b", amount)
	valueOf(q, "c", date)
	valueOf(q, "d", boolean)
	valueOf(q, "e", text)
	valueOf(q, "f", text)
	valueOf(q, "g", text)
	want := map[string]string{
		"a": "Must be an integer", "b": "Must be a number", "c": "Must be a date in the format YYYY-MM-DD", "d": "Must be true or false",
		"e": "Must be valid UTF-8 without control characters", "g": "Must be a single value, not a list",
	}
	if diff := cmp.Diff(want, invalidParameters(t, q.Err())); diff != "" {
		t.Errorf("wrong (-want +got):\n%s", diff)
	}
}

// FuzzQuery: no query makes anything panic, and a value never comes with a message about it.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{
		"", "a=1", "a=-1", "a=12.0&a=1e3", "a=%zz%4", "a[]=1&a=2", "a=2&a[0][b]=1", "a=2026-02-30", "a=Yes", "a=%00%ff", "a=100%25_", "a=+%2B5",
		"a=99999999999999999999", "a=-0.00000", "a=x,,y,", "a=" + strings.Repeat("9", 400), "%61=%C3%BC", "a=9999-12-31", "a=2026-11", "=&==&a", "a=1;a=2",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for name, sent := range map[string]func(*Query) bool{
			"text":    func(q *Query) bool { return valueOf(q, "a", text) != nil },
			"integer": func(q *Query) bool { return valueOf(q, "a", integer(-5, maxInt)) != nil },
			"id":      func(q *Query) bool { return valueOf(q, "a", id(maxMediumInt)) != nil },
			"amount":  func(q *Query) bool { return valueOf(q, "a", amount) != nil },
			"date":    func(q *Query) bool { return valueOf(q, "a", date) != nil },
			"span":    func(q *Query) bool { return valueOf(q, "a", span) != nil },
			"from":    func(q *Query) bool { return valueOf(q, "a", beginning) != nil },
			"through": func(q *Query) bool { return valueOf(q, "a", end) != nil },
			"boolean": func(q *Query) bool { return valueOf(q, "a", boolean) != nil },
			"word":    func(q *Query) bool { return valueOf(q, "a", word(bookingSorts, "unknown")) != nil },
		} {
			q := ParseQuery(raw)
			given := sent(q)
			if wrong := invalidParameters(t, q.Err()); given && len(wrong) > 0 || len(wrong) > 1 {
				t.Errorf("%s: a value and %v", name, wrong)
			}
		}
	})
}

// TestQueryLimits: queries end where PHP's do.
func TestQueryLimits(t *testing.T) {
	t.Parallel()
	const tooMany, tooDeep = "The query has more than 1000 variables", "The name of a variable in the query nests deeper than 64 levels"
	for name, c := range map[string]struct{ raw, want string }{
		"variables":           {strings.Repeat("a=1&", 1000), ""},
		"one variable more":   {strings.Repeat("a=1&", 1001), tooMany},
		"lists":               {strings.Repeat("a[]&", 1001), tooMany},
		"separators":          {strings.Repeat("&", 5000), ""},
		"levels":              {"a" + strings.Repeat("[b]", 64) + "=1", ""},
		"one level more":      {"a" + strings.Repeat("[b]", 65) + "=1", tooDeep},
		"one that is escaped": {"a" + strings.Repeat("%5Bb%5D", 65) + "=1", tooDeep},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := ParseQuery(c.raw).Readable(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}
