package text

import (
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestTextsAsWordPressSanitizesThem compares each result with that of a real WordPress.
func TestTextsAsWordPressSanitizesThem(t *testing.T) {
	t.Parallel()
	texts, _ := fixtures.Sanitized(t)
	for _, text := range texts {
		expect.Equal(t, text.TextField, Field(text.In), text.In, ": as one line")
		expect.Equal(t, text.TextareaField, TextareaField(text.In), text.In, ": as lines")
	}
}

// TestOthersAsWordPressSanitizesThem has what the recorded texts do not: results of WordPress for URLs and for users.
func TestOthersAsWordPressSanitizesThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sanitize func(string) string
		results  map[string]string // by text
	}{
		"URL": {URL, map[string]string{
			"https://x.test/a%20b?c=d&e#f":  "https://x.test/a%20b?c=d&e#f",
			"https://x.test/\tb":            "https://x.test/ b",
			"https://x.test/<b>a</b>":       "https://x.test/a",
			"https://x.test/\"<script>x":    "https://x.test/\"x",
			"https://x.test/<script\nsrc=x": "https://x.test/&lt;script src=x",
			"https://x.test/%3Cscript%3Ex":  "https://x.test/%3Cscript%3Ex",
		}},
		"UserName": {UserName, map[string]string{
			"Zoë O'Neill":                  "Zoë O'Neill",
			`R & B "x"`:                    `R &amp; B "x"`,
			`back\slash \\ \`:              `backslash \ `,
			"a\x07b":                       "ab",
			"a<b":                          "a&lt;b",
			"1 < 2 > 0":                    "1  0",
			"< b > and < /i > < script >x": "&lt; b &gt; and &lt; /i &gt; x",
			"&#x20; &#x1F; &#xD7FF; &#xE000; &#xFFFD; &#xFFFE; &#x10000; &#x10FFFF;": "&#x20; &amp;#x1F; &#xD7FF; &#xE000; &#xFFFD; &amp;#xFFFE; &#x10000; &#x10FFFF;",
			"&#9; &#10; &#13; &#11;":                           "&#009; &#010; &#013; &amp;#11;",
			"&amp; &#39; &#x2E; &apos; &#xD800; &#1114112; &x": "&amp; &#039; &#x2E; &amp;apos; &amp;#xD800; &amp;#1114112; &amp;x",
		}},
		"UserLogin": {UserLogin, map[string]string{
			"Rita.Neu_1-x@example.test": "Rita.Neu_1-x@example.test",
			"o'neill+tag@example.test":  "oneilltag@example.test",
			"a%41b@c.co":                "ab@c.co",
			"a&b;c@c.co":                "ac@c.co",
			"{}@c.co":                   "@c.co",
		}},
	} {
		for text, want := range test.results {
			expect.Equal(t, want, test.sanitize(text), name+" "+text, ": becomes")
		}
	}
}
