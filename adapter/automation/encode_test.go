package automation

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncodePHPAsPHP(t *testing.T) {
	t.Parallel()
	for _, tc := range php(t).Encoded {
		for name, value := range map[string]any{"map": map[string]string{"k": tc.Text}, "object": object{{"k", tc.Text}}} {
			got, err := EncodePHP(value)
			if err != nil || got != tc.Want {
				t.Errorf("EncodePHP(%s of %q) = %s, %v, want %s", name, tc.Text, got, err, tc.Want)
			}
		}
	}
}

func TestEncodePHPOrder(t *testing.T) {
	t.Parallel()
	got, err := EncodePHP(object{{"z/", 1}, {"a", []any{"<>", nil, json.RawMessage(`{"x" : "ä"}`)}}, {"m", object(nil)}})
	if want := `{"z\/":1,"a":["<>",null,{"x":"\u00e4"}],"m":{}}`; err != nil || got != want {
		t.Errorf("EncodePHP = %s, %v, want %s", got, err, want)
	}
}

func TestEncodePHPError(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"plain": math.NaN(), "in an object": object{{"a", math.NaN()}}} {
		t.Run(name, func(t *testing.T) {
			var unsupported *json.UnsupportedValueError
			if got, err := EncodePHP(value); !errors.As(err, &unsupported) || got != "" {
				t.Errorf("%s: EncodePHP(NaN) = %q, %v, want an unsupported value", name, got, err)
			}
		})
	}
}

func FuzzEncodePHP(f *testing.F) {
	f.Add("a/b \u2028 \U0001d11e <&>")
	f.Fuzz(func(t *testing.T, value string) {
		encoded, err := EncodePHP([]string{value})
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(encoded) {
			if encoded[i] < 0x20 || encoded[i] > 0x7f {
				t.Fatalf("EncodePHP(%q) = %q, not of ASCII alone", value, encoded)
			}
		}
		var got []string
		if err := json.Unmarshal([]byte(encoded), &got); err != nil {
			t.Fatalf("EncodePHP(%q) = %q: %v", value, encoded, err)
		}
		if diff := cmp.Diff([]string{string([]rune(value))}, got); diff != "" {
			t.Errorf("EncodePHP(%q), decoded (-want +got):\n%s", value, diff)
		}
	})
}
