package domain

import (
	"errors"
	"testing"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*Error{
		"not_found":                      {Code: CodeNotFound},
		"not_found: There is none":       {Code: CodeNotFound, Message: "There is none"},
		"not_found: gone":                {Code: CodeNotFound, Cause: errors.New("gone")},
		"not_found: There is none: gone": {Code: CodeNotFound, Message: "There is none", Cause: errors.New("gone")},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
