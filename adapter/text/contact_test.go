package text

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestTextField has cases beyond fixtures.Sanitized, which the package's own
// tests use.
func TestTextField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"nothing to do", "Zoë O'Neill & Söhne", "Zoë O'Neill & Söhne"},
		{"nothing at all", "", ""},
		{"as recorded", "  Ríta <b>x</b>", "Ríta x"},
		{"blanks within", "a \t b\r\nc", "a b c"},
		{"a script with what it does", "<script>alert(1)</script>hi", "hi"},
		{"in capitals", "<SCRIPT type=x>alert(1)</Script>hi", "hi"},
		{"a script that is ended otherwise", "<script>alert(1)</script\n>hi", "alert(1)hi"},
		{"a script without end", "hi <script>all", "hi all"},
		{"styles", "<style>a{}</style>x", "x"},
		{"a name that begins like one", "<scripture>a</scripture>", "a"},
		{"letters that only look like it", "<\u017fcript>a</\u017fcript>", "a"},
		{"a comment", "a<!-- <b> -->b", "a&lt;!-- -->b"},
		{"a tag within a tag", "<<b>script>alert(1)<<b>/script>", "&lt;script>alert(1)&lt;/script>"},
		{"a comment within a tag", "<scr<!-- -->ipt>x", "&lt;script>x"},
		{"control characters within a tag", "<\x00b>x<\x1b/b>", "x"},
		{"other control characters", "a\x00\u0085b\x7fc", "a\x00\u0085b\x7fc"},
		{"a tag without end", "a <img src=x onerror=alert(1)", "a &lt;img src=x onerror=alert(1)"},
		{"less than", "1 < 2, a <3 b", "1 &lt; 2, a &lt;3 b"},
		{"an address", "Ann <ann@example.com>", "Ann"},
		{"entities stay what they are", "&lt;b&gt;", "&lt;b&gt;"},
		{"percent-encoded characters", "50%ab %%4141 5%", "50 5%"},
		{"the first and last digits of those", "a%00b%99c%aad%FFe%0gf", "abcde%0gf"},
		{"no UTF-8", "a\xffb<\xfe", "a\ufffdb&lt;\ufffd"},
	} {
		expect.Equal(t, tt.want, Field(tt.text), tt.name)
	}
}

func TestTextareaField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"lines and indents stay", "\n a\n\n\tb  c \n", "a\n\n\tb  c"},
		{"lines of other systems stay", "a\r\nb\rc", "a\r\nb\rc"},
		{"tags", "Zeile \"2\" <b>fett</b> & \\ x", "Zeile \"2\" fett & \\ x"},
		{"a tag over lines", "a<img\nsrc=x>b", "ab"},
		{"a tag made by taking a character away", "<\x00script>x", "x"},
		{"a tag made by taking a tag away", "<<b>script>x", "&lt;script>x"},
		{"nothing behind an open tag is lost", "pain<neck\nand shoulder", "pain&lt;neck\nand shoulder"},
		{"no UTF-8", "a\xff", "a\ufffd"},
	} {
		expect.Equal(t, tt.want, TextareaField(tt.text), tt.name)
	}
}

func TestPhone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0049 (170) 555x12": "0049170555", "+49 170/123-45": "+4917012345", " +1 2 ": "+12", "0170 / 12-34 567": "01701234567",
		"++1": "+1", "1+2": "12", "555 X 3": "555", "x": "", "x12": "", "+": "", "+x1": "", "0": "", "+0": "", "00": "00", "": "", "none": "", "٣٤": "",
	} {
		expect.Equal(t, want, Phone(text), text, " becomes")
	}
}

// TestValidEmail: an address is accepted if a real WordPress accepts it,
// unchanged except for blanks around it.
func TestValidEmail(t *testing.T) {
	t.Parallel()
	_, emails := fixtures.Sanitized(t)
	for _, email := range emails {
		// Blanks around an address do no harm, and WordPress removes them too.
		blanks := strings.TrimSpace(email.In) != email.In && email.SanitizeEmail == strings.TrimSpace(email.In)
		got := TrimEmail(email.In)
		expect.Equal(t, email.Valid() || blanks, ValidEmail(got), email.In, " is valid")
		if ValidEmail(got) && got != email.SanitizeEmail {
			t.Errorf("%q is stored as %q, want %q", email.In, got, email.SanitizeEmail)
		}
	}
	for email, want := range map[string]bool{
		"a@example.com": true, "a.b+c@example.co.uk": true, "a@xn--bcher-kva.example": true, "a@b.c1": true, "a@1b.com": true, "a@b.test": true,
		"a!#$%&'*+-/=?^_`{|}~@c.com": true, strings.Repeat("a", 65) + "@b.com": true, "a@" + strings.Repeat("b", 64) + ".com": true,
		"a@" + strings.Repeat("b", 248) + ".com": true, "a@" + strings.Repeat("b", 249) + ".com": false,
		"a": false, "a@localhost": false, "Ann <a@b.com>": false, "a@b.com,c@d.com": false, "a@b.com\nBcc: c@d.com": false, "a\n@b.com": false,
		"<b>a@b.com</b>": false, "a@\u212aelvin.com": false, "a@b.com\u00a0": false,
		"a%41@b.com": false, // would be sanitized to a@b.com
		"a%4@b.com":  true,
	} {
		expect.Equal(t, want, ValidEmail(email), email, " is valid")
	}
}

// startsTag matches what a browser treats as the beginning of a tag.
var startsTag = regexp.MustCompile(`<[a-zA-Z/!?]`)

// FuzzSanitize: no text becomes a tag, whatever is removed from it.
func FuzzSanitize(f *testing.F) {
	for _, text := range []string{"<<b>script>", "<scr<!---->ipt>", "<\x00b>", "a\r\n<b", "<script>x</script>", "\xff<", "< %41b>", "<\v%41b>", "<%%3C%3Cb>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, clean := range map[string]func(string) string{"line": Field, "text": TextareaField} {
			got := clean(text)
			if startsTag.MatchString(got) || !utf8.ValidString(got) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if name == "line" && strings.ContainsAny(got, "\r\n\t") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
		expect.Equal(t, "", strings.Trim(strings.TrimPrefix(Phone(text), "+"), "0123456789"), "phone ", text)
		_ = ValidEmail(text)
	})
}
