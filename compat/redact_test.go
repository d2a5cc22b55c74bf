package compat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type redactedPart struct {
	Name   string  `json:"name"`
	Secret *string `json:"secret" needs:"read_payments"`
}

type redactedRecord struct {
	redactedPart
	Text  string            `json:"text" needs:"read_orders"`
	Parts []redactedPart    `json:"parts"`
	Lists []redactedPart    `json:"lists" needs:"read_orders"`
	Words map[string]string `json:"words" needs:"read_orders"`
	More  []redactedPart    `json:"more,omitzero" needs:"read_bookings,included"`
	Inner *redactedPart     `json:"inner"`
}

// TestRedactorHides: what needs a permission is emptied, and everything else
// stays unchanged, byte for byte and in order.
func TestRedactorHides(t *testing.T) {
	t.Parallel()
	redactor := NewRedactor(single(redactedRecord{}), ListOf[redactedRecord]())
	const full = `{"success":true,"data":{"name":"<a&b>","secret":"s","text":"t","parts":[{"name":"p","secret":"s"},{"name":"q","secret":null}],` +
		`"lists":[{"name":"l","secret":"s"}],"words":{"z":"1","a":"2"},"more":[{"name":"m","secret":"s"}],"inner":{"name":"i","secret":"s"},"unknown":{"secret":1.50}}}`
	for name, c := range map[string]struct {
		answer, want string
		may          []string
	}{
		"everything": {full, full, []string{"read_payments", "read_orders", "read_bookings"}},
		"nothing": {full, `{"success":true,"data":{"name":"<a&b>","secret":null,"text":"","parts":[{"name":"p","secret":null},{"name":"q","secret":null}],` +
			`"lists":[],"words":{},"more":[],"inner":{"name":"i","secret":null},"unknown":{"secret":1.50}}}`, nil},
		"payments": {full, `{"success":true,"data":{"name":"<a&b>","secret":"s","text":"","parts":[{"name":"p","secret":"s"},{"name":"q","secret":null}],` +
			`"lists":[],"words":{},"more":[],"inner":{"name":"i","secret":"s"},"unknown":{"secret":1.50}}}`, []string{"read_payments"}},
		"within what is shown": {`{"data":{"lists":[{"secret":"s"}]}}`, `{"data":{"lists":[{"secret":null}]}}`, []string{"read_orders"}},
		"a list":               {`{"data":[{"text":"t"},{"text":"u","name":""}]}`, `{"data":[{"text":""},{"text":"","name":""}]}`, nil},
		"an empty list":        {`{"data":[]}`, `{"data":[]}`, nil},
		"null":                 {`{"data":{"inner":null,"parts":null}}`, `{"data":{"inner":null,"parts":null}}`, nil},
		"nothing in it":        {`{}`, `{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := redactor.Hide([]byte(c.answer), func(p string) bool { return slices.Contains(c.may, p) })
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
			}
		})
	}
	for _, broken := range []string{`{"data":`, `{"data":{}`, `{"data":[{]}`, `{`} {
		if got, err := redactor.Hide([]byte(broken), func(string) bool { return false }); err == nil {
			t.Errorf("%s is passed on as %s", broken, got)
		}
	}
}

// TestRedactorOfNothing: records without tags cost nothing and pass unchanged.
func TestRedactorOfNothing(t *testing.T) {
	t.Parallel()
	redactor := NewRedactor(Done{}, single(Location{}), ListOf[Location](), json.RawMessage(`{}`))
	got, err := redactor.Hide([]byte(`not JSON`), func(string) bool { return false })
	if redactor != nil || err != nil || string(got) != `not JSON` || redactor.Redacted() != nil {
		t.Errorf("%v, %s, %v", redactor, got, err)
	}
}

// TestContradictingNeeds: records that redact one member in two ways stop the
// program at start, because one of the two would be ignored.
func TestContradictingNeeds(t *testing.T) {
	t.Parallel()
	type (
		payments struct {
			Secret string `json:"secret" needs:"read_payments"`
		}
		samePayments struct {
			Secret string `json:"secret" needs:"read_payments"`
			Other  string `json:"other" needs:"read_orders"`
		}
		free struct {
			Secret string `json:"secret"`
		}
		orders struct {
			Secret string `json:"secret" needs:"read_orders"`
		}
		onRequest struct {
			Secret string `json:"secret" needs:"read_payments,included"`
		}
		list struct {
			Secret []string `json:"secret" needs:"read_payments"`
		}
	)
	for name, c := range map[string]struct {
		samples []any
		want    string // "" if they agree
	}{
		"the same":                {[]any{payments{}, samePayments{}}, ""},
		"one without":             {[]any{payments{}, free{}}, ""},
		"another permission":      {[]any{payments{}, orders{}}, `secret needs: "read_payments", else "" and "read_orders", else ""`},
		"one only if asked for":   {[]any{payments{}, onRequest{}}, `"read_payments,included"`},
		"another form":            {[]any{payments{}, list{}}, `else []`},
		"within a list":           {[]any{ListOf[payments](), ListOf[orders]()}, "secret needs"},
		"another order of these":  {[]any{orders{}, payments{}}, "secret needs"},
		"in an envelope, a third": {[]any{single(payments{}), single(samePayments{}), single(orders{})}, "secret needs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				message, panicked := recover().(string)
				if panicked != (c.want != "") || !strings.Contains(message, c.want) {
					t.Errorf("panic %q, want %q", message, c.want)
				}
			}()
			NewRedactor(c.samples...)
		})
	}
}
