package notify

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/bookside/bookside/adapter/text"
)

func TestEncodePHPAsPHP(t *testing.T) {
	t.Parallel()
	for _, tc := range php(t).Encoded {
		for name, value := range map[string]any{"map": map[string]string{"k": tc.Text}, "object": object{{"k", tc.Text}}} {
			got, err := text.EncodePHP(value)
			if err != nil || got != tc.Want {
				t.Errorf("EncodePHP(%s of %q) = %s, %v, want %s", name, tc.Text, got, err, tc.Want)
			}
		}
	}
}

func TestEncodePHPOrder(t *testing.T) {
	t.Parallel()
	got, err := text.EncodePHP(object{{"z/", 1}, {"a", []any{"<>", nil, json.RawMessage(`{"x" : "ä"}`)}}, {"m", object(nil)}})
	if want := `{"z\/":1,"a":["<>",null,{"x":"\u00e4"}],"m":{}}`; err != nil || got != want {
		t.Errorf("EncodePHP = %s, %v, want %s", got, err, want)
	}
}

func TestEncodePHPError(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"plain": math.NaN(), "in an object": object{{"a", math.NaN()}}} {
		var unsupported *json.UnsupportedValueError
		if got, err := text.EncodePHP(value); !errors.As(err, &unsupported) || got != "" {
			t.Errorf("%s: text.EncodePHP(NaN) = %q, %v, want an unsupported value", name, got, err)
		}
	}
}
