package notify

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/text"
)

func TestFormatDateLetters(t *testing.T) {
	t.Parallel()
	for _, date := range php(t).Dates {
		at := time.Unix(date.Unix, date.Micro*1000).In(location(t, date.Zone))
		for letter, want := range date.Want {
			if got := text.FormatDate(at, letter); got != want {
				t.Errorf("FormatDate(%s, %q) = %q, want %q", at, letter, got, want)
			}
		}
	}
}

func TestFormatDateWhole(t *testing.T) {
	t.Parallel()
	at := time.Unix(1796055305, 0).UTC()
	for _, format := range php(t).Formats {
		if got := text.FormatDate(at, format.Format); got != format.Want {
			t.Errorf("FormatDate(%q) = %q, want %q", format.Format, got, format.Want)
		}
	}
	if got := text.FormatDate(at, `Y\`); got != "2026" {
		t.Errorf(`text.FormatDate("Y\") = %q, want the backslash left out`, got)
	}
}
