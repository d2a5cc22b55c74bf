package text

import (
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestTextsAsWordPressSanitizesThem compares each result with that of a real WordPress.
func TestTextsAsWordPressSanitizesThem(t *testing.T) {
	t.Parallel()
	texts, _ := fixtures.Sanitized(t)
	for _, text := range texts {
		t.Run(text.In, func(t *testing.T) {
			t.Parallel()
			if got := Field(text.In); got != text.TextField {
				t.Errorf("as one line %q, want %q", got, text.TextField)
			}
			if got := TextareaField(text.In); got != text.TextareaField {
				t.Errorf("as lines %q, want %q", got, text.TextareaField)
			}
		})
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"https://x.test/a%20b?c=d&e#f":  "https://x.test/a%20b?c=d&e#f",
		"https://x.test/\tb":            "https://x.test/ b",
		"https://x.test/<b>a</b>":       "https://x.test/a",
		"https://x.test/\"<script>x":    "https://x.test/\"x",
		"https://x.test/<script\nsrc=x": "https://x.test/&lt;script src=x",
		"https://x.test/%3Cscript%3Ex":  "https://x.test/%3Cscript%3Ex",
	} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			if got := URL(sent); got != want {
				t.Errorf("becomes %q, want %q", got, want)
			}
		})
	}
}

func TestUserName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := UserName(name); got != want {
				t.Errorf("becomes %q, want %q", got, want)
			}
		})
	}
}

func TestUserLogin(t *testing.T) {
	t.Parallel()
	for email, want := range map[string]string{
		"Rita.Neu_1-x@example.test": "Rita.Neu_1-x@example.test",
		"o'neill+tag@example.test":  "oneilltag@example.test",
		"a%41b@c.co":                "ab@c.co",
		"a&b;c@c.co":                "ac@c.co",
		"{}@c.co":                   "@c.co",
	} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			if got := UserLogin(email); got != want {
				t.Errorf("becomes %q, want %q", got, want)
			}
		})
	}
}
