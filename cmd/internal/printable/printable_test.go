package printable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/fixtures/expect"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"Zoë\tJürgen\n":                  "Zoë\tJürgen\n",
		"\x1b]0;x\a":                     `\u001b]0;x\u0007`,
		"\x1b[2J\r\x00":                  `\u001b[2J\u000d\u0000`,
		"\x7f\u009b31m":                  `\u007f\u009b31m`,
		"a\u202eb\u2066c\u200f\u061c":    `a\u202eb\u2066c\u200f\u061c`,
		"\u2028\u2029\ufeff\u00ad\u200b": `\u2028\u2029\ufeff\u00ad\u200b`,
		"a\U000e0041":                    `a\udb40\udc41`,
		"\x9b31m\xff é \ufffd":           `\x9b31m\xff é ` + "\ufffd",
		"👩\u200d⚕️ می\u200cخواهم \u00a0 שלום ＝": "👩\u200d⚕️ می\u200cخواهم \u00a0 שלום ＝",
	} {
		expect.Equal(t, want, printable.Text(text), text)
	}
}

// TestJSONStaysTheSame: a value that is encoded as JSON is the same after it was printed.
func TestJSONStaysTheSame(t *testing.T) {
	t.Parallel()
	want := "\x1b]0;x\a a\u202eb \u009b31m \U000e0041 \u2028"
	encoded, err := json.Marshal(want)
	expect.NoError(t, err)
	var printed strings.Builder
	if n, err := (printable.Writer{To: &printed}).Write(encoded); err != nil || n != len(encoded) {
		t.Fatalf("%d of %d bytes, %v", n, len(encoded), err)
	}
	var got string
	if err := json.Unmarshal([]byte(printed.String()), &got); err != nil || got != want || strings.ContainsAny(printed.String(), "\u202e\u009b") {
		t.Errorf("%q, %v; printed %s", got, err, printed.String())
	}
}
