package compare

import (
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestDifferences: each kind of difference is found where it is.
func TestDifferences(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, php, bookside string
		want                []string // kind and path
	}{
		{"equal", `{"a":1,"b":[{"id":"1","c":null}]}`, `{"a":1.0,"b":[{"id":"1","c":null}]}`, nil},
		{"missing key", `{"a":1,"b":2}`, `{"a":1}`, []string{"missing key $.b"}},
		{"additional key", `{"a":1}`, `{"a":1,"b c":2}`, []string{"additional key $[\"b c\"]"}},
		{"type", `{"id":"1"}`, `{"id":1}`, []string{"type $.id"}},
		{"empty list and empty object", `{"a":[]}`, `{"a":{}}`, []string{"type $.a"}},
		{"null and text", `{"a":null}`, `{"a":""}`, []string{"type $.a"}},
		{"value", `{"a":{"b":"x"}}`, `{"a":{"b":"x "}}`, []string{"value $.a.b"}},
		{"numbers beyond floats", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"value $.a"}},
		{"enormous exponent", `{"a":1e999999999}`, `{"a":1}`, []string{"value $.a"}},
		{"boolean", `{"a":true}`, `{"a":false}`, []string{"value $.a"}},
		{"order of keys", `{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		{"order of records", `[{"id":1},{"id":2}]`, `[{"id":2},{"id":1}]`, []string{"order of a list $"}},
		{"order of texts", `{"slots":["09:00","10:00"]}`, `{"slots":["10:00","09:00"]}`, []string{"order of a list $.slots"}},
		{"one record more", `{"data":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}`, `{"data":[{"id":2,"n":"x"}]}`, []string{"missing element $.data[*]", "value $.data[*].n"}},
		{"one record less", `[{"code":"A"}]`, `[{"code":"A"},{"code":"B"}]`, []string{"additional element $[*]"}},
		{"elements without ids", `[{"a":1},{"a":2}]`, `[{"a":1},{"a":3},{"a":4}]`, []string{"value $[*].a", "additional element $[*]"}},
		{"repeated ids", `[{"id":1,"a":1},{"id":1,"a":2}]`, `[{"id":1,"a":1},{"id":1,"a":3}]`, []string{"value $[*].a"}},
		{"the last of equal names counts", `{"a":1,"a":2}`, `{"a":2}`, nil},
	}
	for _, test := range tests {
		var got []string
		for _, d := range differencesOf(mustParse(t, test.php), mustParse(t, test.bookside)) {
			got = append(got, string(d.kind)+" "+d.path())
		}
		expect.Equal(t, test.want, got, test.name, ": differences")
	}
}

func mustParse(t *testing.T, text string) value {
	t.Helper()
	v, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestParseJSONRejects(t *testing.T) {
	t.Parallel()
	deep := slices.Repeat([]byte("["), 200)
	for name, text := range map[string]string{"nothing": "", "text behind it": "{} x", "HTML": "<html>", "cut off": `{"a":`, "too deep": string(deep)} {
		if v, err := parseJSON([]byte(text)); err == nil {
			t.Errorf("%s: parsed as %v", name, v)
		}
	}
}
