package notify

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/fixtures/expect"
)

func TestFormatDateLetters(t *testing.T) {
	t.Parallel()
	for _, date := range php(t).Dates {
		at := time.Unix(date.Unix, date.Micro*1000).In(location(t, date.Zone))
		for letter, want := range date.Want {
			expect.Equal(t, want, text.FormatDate(at, letter), "FormatDate(", at, ", ", letter, ")")
		}
	}
}

func TestFormatDateWhole(t *testing.T) {
	t.Parallel()
	at := time.Unix(1796055305, 0).UTC()
	for _, format := range php(t).Formats {
		expect.Equal(t, format.Want, text.FormatDate(at, format.Format), "FormatDate(", format.Format, ")")
	}
	if got := text.FormatDate(at, `Y\`); got != "2026" {
		t.Errorf(`text.FormatDate("Y\") = %q, want the backslash left out`, got)
	}
}
