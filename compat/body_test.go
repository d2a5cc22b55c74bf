package compat

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
)

const (
	typeJSON = "application/json"
	typeForm = "application/x-www-form-urlencoded"
	typeOdd  = "text/plain"
)

// parseText returns a document, or the error after a !.
func parseText(t testing.TB, contentType, sent string) string {
	t.Helper()
	document, err := ParseBody(contentType, []byte(sent))
	if err == nil {
		return string(document.JSON())
	}
	var unreadable *BodyError
	if !errors.As(err, &unreadable) || document.root != nil {
		t.Fatalf("%.100q: document %v, error %v", sent, document, err)
	}
	return "!" + unreadable.Message
}

func TestParseBody(t *testing.T) {
	t.Parallel()
	const noJSON, noUTF8, noObject = "!The request body is not valid JSON", "!The request body is not valid UTF-8", "!The request body must be a JSON object"
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct{ contentType, sent, want string }{
		"an object":                 {typeJSON, `{"a":1}`, `{"a":1}`},
		"with a character set":      {"application/json; charset=utf-8", `{"a":1}`, `{"a":1}`},
		"of a JSON type":            {"application/vnd.api+json", `{"a":1}`, `{"a":1}`},
		"with a parameter twice":    {"Application/JSON; charset=utf-8; charset=ascii", `a=1`, noJSON},
		"a list":                    {typeJSON, `[1]`, `[1]`},
		"blanks around":             {typeJSON, " \n{\"a\":1}\r\n\t", `{"a":1}`},
		"empty":                     {typeJSON, "", `{}`},
		"blank":                     {typeJSON, " \n", `{}`},
		"empty, of no type":         {"", "", `{}`},
		"empty form":                {typeForm, "", `{}`},
		"empty multipart":           {"multipart/form-data; boundary=x", "", `{}`},
		"a text":                    {typeJSON, `"a"`, noObject},
		"a number":                  {typeJSON, `1`, noObject},
		"null":                      {typeJSON, `null`, noObject},
		"broken":                    {typeJSON, `{"a":1`, noJSON},
		"something behind":          {typeJSON, `{"a":1}x`, noJSON},
		"another document behind":   {typeJSON, `{"a":1}{"a":2}`, noJSON},
		"a comma behind":            {typeJSON, `{"a":1,}`, noJSON},
		"single quotes":             {typeJSON, `{'a':1}`, noJSON},
		"a comment":                 {typeJSON, `{"a":1}//`, noJSON},
		"a byte order mark":         {typeJSON, "\ufeff{}", `{}`},
		"one of no type":            {"", "\ufeff{}", `{}`},
		"one before a form":         {typeForm, "\ufeffa=1", `{"a":"1"}`},
		"two of them":               {typeJSON, "\ufeff\ufeff{}", noJSON},
		"NUL":                       {typeJSON, "{\"a\":\"\x00\"}", noJSON},
		"NUL behind":                {typeJSON, "{}\x00", noJSON},
		"no number":                 {typeJSON, `{"a":NaN}`, noJSON},
		"a form":                    {typeJSON, `a=1`, noJSON},
		"invalid UTF-8":             {typeJSON, "{\"a\":\"\xff\"}", noUTF8},
		"UTF-16":                    {typeJSON, "{\x00}\x00", noJSON},
		"as deep as may be":         {typeJSON, deep(512), deep(512)},
		"deeper":                    {typeJSON, deep(513), noJSON},
		"deep in a text":            {typeJSON, `{"a":"\"` + strings.Repeat("[", 999) + `"}`, `{"a":"\"` + strings.Repeat("[", 999) + `"}`},
		"very deep":                 {typeJSON, strings.Repeat("[", 200_000), noJSON},
		"a form of its type":        {typeForm, `a=1&b=x+y%21`, `{"a":"1","b":"x y!"}`},
		"a form of no type":         {"", `a=1`, `{"a":"1"}`},
		"JSON as a form, like curl": {typeForm, `{"a":1}`, `{"a":1}`},
		"a JSON list as a form":     {typeForm, ` [1]`, `[1]`},
		"JSON of no type":           {"", `{"a":1}`, `{"a":1}`},
		"broken JSON as a form":     {typeForm, `{"a":1`, noJSON},
		"JSON of another type":      {typeOdd, `{"a":1}`, `{"a":1}`},
		"a form of another type":    {typeOdd, `a=1`, noJSON},
		"JSON of a broken type":     {"application/json; charset", `{"a":1}`, `{"a":1}`},
		"a form of a broken type":   {typeForm + "; x", `a=1`, `{"a":"1"}`},
		"a form in capitals":        {"Application/X-WWW-Form-URLencoded", `a=1`, `{"a":"1"}`},
		"a form, invalid UTF-8":     {typeForm, `a=%ff`, noUTF8},
		"a name, invalid UTF-8":     {typeForm, `%ff=a`, noUTF8},
		"nothing but separators":    {typeForm, `&&=&`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parseText(t, c.contentType, c.sent); got != c.want {
				t.Errorf("%.200q, want %.200q", got, c.want)
			}
		})
	}
}

// TestForms: names in brackets are read as in PHP.
func TestForms(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"a=1&a=2":                              `{"a":"2"}`,
		"a":                                    `{"a":""}`,
		"a=b=c":                                `{"a":"b=c"}`,
		"customer[email]=x@y.z":                `{"customer":{"email":"x@y.z"}}`,
		"customer%5Bemail%5D=x":                `{"customer":{"email":"x"}}`,
		"customer.email=x":                     `{"customer.email":"x"}`,
		"a[]=1&a[]=2":                          `{"a":["1","2"]}`,
		"a[0]=1&a[1]=2":                        `{"a":["1","2"]}`,
		"a[5]=1&a[]=2":                         `{"a":["1","2"]}`,
		"a[1]=x&a[0]=y":                        `{"a":["x","y"]}`,
		"a[01]=x":                              `{"a":{"01":"x"}}`,
		"a[x]=1&a[]=2":                         `{"a":{"x":"1","0":"2"}}`,
		"a[b][c][d]=1":                         `{"a":{"b":{"c":{"d":"1"}}}}`,
		"b[0][x]=1&b[0][y]=2&b[1][x]=3":        `{"b":[{"x":"1","y":"2"},{"x":"3"}]}`,
		"b[][x]=1&b[][x]=2":                    `{"b":[{"x":"1"},{"x":"2"}]}`,
		"a=1&a[b]=2":                           `{"a":{"b":"2"}}`,
		"a[b]=2&a=1":                           `{"a":"1"}`,
		"a[b]c=1":                              `{"a":{"b":"1"}}`,
		"a[b=1":                                `{"a[b":"1"}`,
		"a]b=1":                                `{"a]b":"1"}`,
		"+a=1":                                 `{"a":"1"}`,
		"=1":                                   `{}`,
		"0=x&1=y":                              `{"0":"x","1":"y"}`,
		"a[-1]=x":                              `{"a":["x"]}`,
		"n=<b>&m=é":                            `{"n":"<b>","m":"é"}`,
		"a" + strings.Repeat("[b]", 64) + "=1": `{"a":` + strings.Repeat(`{"b":`, 64) + `"1"` + strings.Repeat("}", 65),
	} {
		t.Run(form, func(t *testing.T) {
			if got := parseText(t, typeForm, form); got != want {
				t.Errorf("%s gives %s, want %s", form, got, want)
			}
		})
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	part := func(head, value string) string {
		return "--x\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + value + "\r\n"
	}
	const end = "--x--\r\n"
	const broken = "!The request body is not valid multipart/form-data"
	for name, c := range map[string]struct{ contentType, sent, want string }{
		"fields":            {"multipart/form-data; boundary=x", part(`name="a"`, "1") + part(`name="c[email]"`, "ü@x") + end, `{"a":"1","c":{"email":"ü@x"}}`},
		"lines":             {"multipart/form-data; boundary=x", part(`name="a"`, "1\r\n2") + end, `{"a":"1\r\n2"}`},
		"a file":            {"multipart/form-data; boundary=x", part(`name="f"; filename="x.png"`, "\xff\x00") + part(`name="a"`, "1") + end, `{"a":"1"}`},
		"no name":           {"multipart/form-data; boundary=x", part(`x="a"`, "1") + end, `{}`},
		"invalid UTF-8":     {"multipart/form-data; boundary=x", part(`name="a"`, "\xff") + end, "!The request body is not valid UTF-8"},
		"no end":            {"multipart/form-data; boundary=x", part(`name="a"`, "1"), broken},
		"no boundary":       {"multipart/form-data", part(`name="a"`, "1") + end, broken},
		"another boundary":  {"multipart/form-data; boundary=y", part(`name="a"`, "1") + end, broken},
		"JSON":              {"multipart/form-data; boundary=x", `{"a":1}`, broken},
		"a broken head":     {"multipart/form-data; boundary=x", "--x\r\nnothing\r\n\r\n1\r\n" + end, broken},
		"nothing but ended": {"multipart/form-data; boundary=x", end, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseText(t, c.contentType, c.sent); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		})
	}
}

// TestBodyLimits: like PHP, forms of either kind stop at 1,000 variables and 64 levels. JSON of a bulk
// request may hold more.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	const tooMany, tooDeep = "!The request body has more than 1000 variables", "!The name of a variable in the request body nests deeper than 64 levels"
	multipart := func(parts int, head string) string {
		return strings.Repeat("--x\r\nContent-Disposition: form-data; "+head+"\r\n\r\n1\r\n", parts) + "--x--\r\n"
	}
	const typeParts = "multipart/form-data; boundary=x"
	deep := func(levels int) string { return "a" + strings.Repeat("[b]", levels) }
	values := func(n int) string { return `[` + strings.Repeat("1,", n-2) + `1]` }
	for name, c := range map[string]struct{ contentType, sent, want string }{
		"variables":                {typeForm, strings.Repeat("a=1&", 1000), ""},
		"one variable more":        {typeForm, strings.Repeat("a=1&", 1001), tooMany},
		"without values":           {typeForm, strings.Repeat("a&", 1001), tooMany},
		"nested variables":         {typeForm, strings.Repeat("a[][b]=1&", 1001), tooMany},
		"separators are none":      {typeForm, strings.Repeat("&", 5000) + "a=1", ""},
		"broken behind too many":   {typeForm, strings.Repeat("a=1&", 1001) + "b=%ff", tooMany},
		"levels":                   {typeForm, deep(64) + "=1", ""},
		"one level more":           {typeForm, deep(65) + "=1", tooDeep},
		"levels that are escaped":  {typeForm, url.QueryEscape(deep(65)) + "=1", tooDeep},
		"many levels":              {typeForm, deep(100_000) + "=1", tooDeep},
		"parts":                    {typeParts, multipart(1000, `name="a"`), ""},
		"one part more":            {typeParts, multipart(1001, `name="a"`), tooMany},
		"parts that are files":     {typeParts, multipart(1001, `name="a"; filename="b"`), tooMany},
		"parts without a name":     {typeParts, multipart(1001, `x="a"`), tooMany},
		"levels of a part":         {typeParts, multipart(1, `name="`+deep(65)+`"`), tooDeep},
		"control characters":       {typeForm, "a=" + strings.Repeat("\x01", 340_000), ""},
		"more of them":             {typeForm, "a=" + strings.Repeat("\x01", 350_000), "!The request body has too many control characters"},
		"more of them, escaped":    {typeForm, strings.Repeat("a="+strings.Repeat("%01", 1000)+"&", 350), "!The request body has too many control characters"},
		"lines are none":           {typeForm, "a=" + strings.Repeat("\r\n", 500_000), ""},
		"values of JSON":           {typeJSON, values(20_000), ""},
		"one value more":           {typeJSON, values(20_001), "!The request body has more than 20000 values"},
		"members are values":       {typeJSON, `{"a":{"b":[` + strings.Repeat(`{"c":1},`, 10_000) + `0]}}`, "!The request body has more than 20000 values"},
		"commas in texts are none": {typeJSON, `{"a":"` + strings.Repeat(`,[\"`, 20_000) + `"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseText(t, c.contentType, c.sent)
			if !strings.HasPrefix(got, "!") {
				got = ""
			}
			if got != c.want {
				t.Errorf("%.200q, want %q", got, c.want)
			}
		})
	}
}

// bodyOf reads an object.
func bodyOf(t testing.TB, text string) *Body {
	t.Helper()
	document, err := ParseBody(typeJSON, []byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	b, err := document.Body()
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return b
}

// errorFields returns the invalid fields with their messages, and whether the request was malformed or
// rejected.
func errorFields(t testing.TB, err error) (code domain.Code, fields map[string]string) {
	t.Helper()
	if err == nil {
		return "", nil
	}
	var known *domain.Error
	if !errors.As(err, &known) {
		t.Fatal(err)
	}
	return known.Code, known.Fields
}

// TestBodyValues: values that TestValueTypes does not have.
func TestBodyValues(t *testing.T) {
	t.Parallel()
	const tooLarge = "Must be between 0 and 9999999999999999.9999"
	long := strings.Repeat("<", 256<<10)
	for name, c := range map[string]struct {
		values typeCase
		want   map[string]string
	}{
		"integer": {of(integer(1, 1440), notAnInteger, "Maximum allowed value is 1440"), map[string]string{
			`60.0`: "60", `" 60 "`: "60", `-0`: "?least", `525600`: "?", `99999999999999999999999`: "?", `6e1`: "!", `1e999999999`: "!", `"6\u0000"`: "!",
			strings.Repeat("9", 320): "?", strings.Repeat("9", 321): "Maximum allowed length is 320 characters",
		}},
		"id or any": {of(anyID, notAnInteger, ""), map[string]string{
			`"any"`: "0", `"ANY"`: "0", `"-1"`: "0", `"5"`: "5", `-2`: "!least", `8388607`: "8388607", `8388608`: "Maximum allowed value is 8388607",
		}},
		"price": {of(price, notANumber, "May have at most 4 decimals"), map[string]string{
			`12.50`: "12.5", `"12.50"`: "12.5", `0.1`: "0.1", `0.30000000000000004`: "?", `12.34560`: "12.3456", `9999999999999999.9999`: "9999999999999999.9999",
			`10000000000000000`: tooLarge, `-0.01`: negative, `"12,50"`: "!", `"12 €"`: "!", `1e2`: "100", `1e-2`: "0.01", `"12.5E+1"`: "125",
			`-1e2`: negative, `-1e300`: negative, `1e+16`: tooLarge, `1e-5`: "?", `1e999999999`: "!", `"NaN"`: "!",
		}},
		"time of day": {of(timeOfDay, notAClock, ""), map[string]string{
			`"10:00"`: "600", `"9:05"`: "545", `"00:00"`: "0", `"23:59"`: "1439", `" 10:00 "`: "600",
			`"24:00"`: "!", `"25:61"`: "!", `"10:60"`: "!", `"10:5"`: "!", `"10"`: "!", `600`: "!", `"10:00:00"`: "!", `"-1:30"`: "!", `"+1:30"`: "!",
			`"10:00 am"`: "!", `"1O:00"`: "!", `"10.00"`: "!", `"010:00"`: "!",
		}},
		"text": {of(anyText, "Must be a text", "Too long"), map[string]string{
			`" x\n"`: "\" x\n\"", `12.50`: `"12.50"`, `"<b>\u0000"`: "\"<b>\x00\"", `"😀"`: `"😀"`, `"true"`: `"true"`, `"` + long + `"`: `"` + long + `"`, `"` + long + `<"`: "?",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for sent, want := range c.want {
				if got := c.values.outcome(t, sent, func(*Field, *any) {}); got != want {
					t.Errorf("%s: %.100s is %.100q, want %.100q", name, sent, got, want)
				}
			}
		})
	}
}

// TestDottedNames: names with a dot mean members of an object, and take precedence if both are sent; errors
// give the full path.
func TestDottedNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"customer":{"email":"a"}}`:                                "a",
		`{"customer.email":"a"}`:                                    "a",
		`{"customer.email":"a","customer":{"email":"b"}}`:           "a",
		`{"customer":{"email":"b"},"customer.email":"a"}`:           "a",
		`{"customer":{"phone":"1"},"customer.email":"a"}`:           "a",
		`{"customer":null,"customer.email":"a"}`:                    "a",
		`{"customer":[],"customer.email":"a"}`:                      "a",
		`{"customer":{"email":"x"},"customer":{"email":"a"}}`:       "a", // the last of repeated ones
		`{"customer.email":"x","customer.email":"a"}`:               "a",
		`{"Customer":{"email":"x"},"customer":{"email":"a","b":1}}`: "a",
	} {
		t.Run(text, func(t *testing.T) {
			got := valueOf(bodyOf(t, text).object("customer"), "email", anyText)
			if got == nil || *got != want {
				t.Errorf("%s gives %v", text, got)
			}
		})
	}
	b := bodyOf(t, `{"customer":{"email":["x"]},"customer.phone":{},"duration":0}`)
	customer := b.object("customer")
	valueOf(customer, "email", anyText)
	valueOf(customer, "phone", anyText)
	valueOf(b, "duration", integer(1, 2))
	code, fields := errorFields(t, b.Err())
	want := map[string]string{"customer.email": notSingle, "customer.phone": notSingle, "duration": "Minimum allowed value is 1"}
	if diff := cmp.Diff(want, fields); diff != "" || code != domain.CodeInvalidRequest {
		t.Errorf("%s (-want +got):\n%s", code, diff)
	}
}

func TestBodyIsAnObject(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{`{}`: true, `[]`: true, `[ ]`: true, `[1]`: false, `[{}]`: false} {
		t.Run(text, func(t *testing.T) {
			document, err := ParseBody(typeJSON, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			b, err := document.Body()
			var unreadable *BodyError
			if (err == nil) != ok || err != nil && !errors.As(err, &unreadable) {
				t.Errorf("%s: %v, %v", text, b, err)
			}
		})
	}
}

// FuzzParseBody: everything becomes an object, a list or a *BodyError, and reading it as a booking never
// panics.
func FuzzParseBody(f *testing.F) {
	for _, contentType := range []string{typeJSON, typeForm, "", typeOdd, "multipart/form-data; boundary=x"} {
		for _, sent := range []string{
			`{"service_id":1,"customer":{"email":"x"},"customer.phone":[1]}`, `[{"a":1},null,[],""]`, `{"bookings":[{}]}`, "a=1&b[0][c]=2&b[]=3&[=4&]=5",
			"--x\r\nContent-Disposition: form-data; name=\"a[b]\"\r\n\r\n1\r\n--x--\r\n", "\xff", `"`, `{"a":"\ud800"}`,
		} {
			f.Add(contentType, []byte(sent))
		}
	}
	f.Fuzz(func(t *testing.T, contentType string, sent []byte) {
		document, err := ParseBody(contentType, sent)
		if err != nil {
			var unreadable *BodyError
			if !errors.As(err, &unreadable) {
				t.Fatal(err)
			}
			return
		}
		if written := document.JSON(); !json.Valid(written) || !utf8.Valid(written) || written[0] != '{' && written[0] != '[' {
			t.Fatalf("document %q", written)
		}
		if bookings, err := BulkBookings(document); err == nil {
			for i, b := range bookings {
				_ = b.Err()
				if _, err := json.Marshal(BulkRejected(i, b.Submitted(), &domain.Error{}, WriteUnknown)); err != nil {
					t.Fatal(err)
				}
			}
		}
		b, err := document.Body()
		if err != nil {
			return
		}
		booking := ReadNewBooking(b)
		_ = booking.Err()
		patch := BookingPatchFields.Read(b)
		_ = patch.Err()
	})
}

// FuzzFormsAreJSON: a form means the same as JSON with the same names.
func FuzzFormsAreJSON(f *testing.F) {
	f.Add("customer", "email", "x@example.test", "notes", "a & b\r\n<c> 😀")
	f.Add("a.b", "c d", "", "é", "%00+")
	f.Fuzz(func(t *testing.T, outer, inner, value, flat, text string) {
		for _, name := range []string{outer, inner, flat} {
			if name == "" || strings.ContainsAny(name, "[]") || strings.HasPrefix(name, " ") || !utf8.ValidString(name) || strings.Trim(name, "-0123456789") == "" {
				t.Skip("PHP gives brackets, leading spaces and indexes in a form's name a meaning that JSON has not")
			}
		}
		if outer == inner || outer == flat || outer == "list" || flat == "list" || !utf8.ValidString(value) || !utf8.ValidString(text) {
			t.Skip("two names stand for one field, or the texts are not UTF-8, which JSON cannot hold")
		}
		tree := map[string]any{
			outer: map[string]any{inner: value}, flat: text,
			"list": []any{map[string]any{inner: value}, map[string]any{inner: text, outer: map[string]any{inner: value}}},
		}
		sent, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{}
		form.Set(outer+"["+inner+"]", value)
		form.Set(flat, text)
		form.Set("list[0]["+inner+"]", value)
		form.Set("list[1]["+inner+"]", text)
		form.Set("list[1]["+outer+"]["+inner+"]", value)
		var fromForm, fromJSON any
		for into, document := range map[*any]string{&fromForm: parseText(t, typeForm, form.Encode()), &fromJSON: parseText(t, typeJSON, string(sent))} {
			if err := json.Unmarshal([]byte(document), into); err != nil {
				t.Fatalf("%s: %v", document, err)
			}
		}
		if diff := cmp.Diff(fromJSON, fromForm); diff != "" {
			t.Errorf("form %s (-JSON +form):\n%s", form.Encode(), diff)
		}
	})
}

// TestDocumentedPrices: the document's pattern matches exactly the texts that are read as a price, except
// those with an exponent.
func TestDocumentedPrices(t *testing.T) {
	t.Parallel()
	documented := regexp.MustCompile(price.schema().AnyOf[1].Pattern)
	for text, accepted := range map[string]bool{
		"0": true, "12": true, "12.5": true, "12.345600": true, "0012": true, "00000000000000000012.5": true, "9999999999999999.9999": true,
		"1e+1": true, "1E1": true, "12.5E+1": true, "1e-2": true, "9.99e15": true, "5e0001": true, "12500000e-6": true,
		"10000000000000000": false, "12.34567": false, "-1": false, "+1": false, ".5": false, "5.": false, "12,50": false,
		"1e": false, "e1": false, "1e1e1": false, "1e1.5": false, "-1e1": false, "0x1F": false, "NaN": false, "12 €": false,
	} {
		got := of(price, "", "").outcome(t, strconv.Quote(text), func(*Field, *any) {})
		if _, err := decimal.NewFromString(got); (err == nil) != accepted || documented.MatchString(text) != accepted {
			t.Errorf("%s is read as %s, and documented: %t", text, got, documented.MatchString(text))
		}
	}
}
