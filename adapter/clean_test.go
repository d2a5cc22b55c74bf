package adapter

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"bookside/fixtures"
)

func TestCleanLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"nothing to do", "Zoë O'Neill & Söhne", "Zoë O'Neill & Söhne"},
		{"nothing at all", "", ""},
		{"as recorded", "  Ríta <b>x</b>", "Ríta x"},
		{"blanks within", "a \t b\r\nc", "a b c"},
		{"a script with what it does", "<script>alert(1)</script>hi", "hi"},
		{"however it is written", "<SCRIPT type=x>alert(1)</Script\n>hi", "hi"},
		{"a script without end", "hi <script>all", "hi all"},
		{"styles", "<style>a{}</style>x", "x"},
		{"a name that begins like one", "<scripture>a</scripture>", "a"},
		{"a comment", "a<!-- <b> -->b", "ab"},
		{"a tag within a tag", "<<b>script>alert(1)<<b>/script>", "script>alert(1)/script>"},
		{"a comment within a tag", "<scr<!-- -->ipt>x", "script>x"},
		{"tags within tags", "<<<b>b>img src=x>", "b>img src=x>"},
		{"control characters within a tag", "<\x00b>x<\x1b/b>", "< b>x< /b>"},
		{"other control characters", "a\x00\u0085b\x7fc", "a b c"},
		{"a tag without end", "a <img src=x onerror=alert(1)", "a"},
		{"less than", "1 < 2, a <3 b", "1 < 2, a <3 b"},
		{"an address", "Ann <ann@example.com>", "Ann"},
		{"entities stay what they are", "&lt;b&gt;", "&lt;b&gt;"},
		{"so do per cent signs", "50%ab", "50%ab"},
		{"no UTF-8", "a\xffb<\xfe", "a\ufffdb<\ufffd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cleanLine(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"lines and indents stay", "\n a\n\n\tb  c \n", "a\n\n\tb  c"},
		{"lines of other systems", "a\r\nb\rc", "a\nb\nc"},
		{"tags", "Zeile \"2\" <b>fett</b> & \\ x", "Zeile \"2\" fett & \\ x"},
		{"a tag over lines", "a<img\nsrc=x>b", "ab"},
		{"a tag made by taking a character away", "<\x00script>x", "x"},
		{"a tag made by taking a tag away", "<<b>script>x", "script>x"},
		{"no UTF-8", "a\xff", "a\ufffd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := cleanText(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCleanPhone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0049 (170) 555x12": "0049170555", "+49 170/123-45": "+4917012345", " +1 2 ": "+12", "0170 / 12-34 567": "01701234567",
		"++1": "+1", "1+2": "12", "555 X 3": "555", "x": "", "": "", "none": "", "٣٤": "",
	} {
		if got := cleanPhone(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// onlyPHPs are addresses that PHP takes and we do not.
var onlyPHPs = map[string]bool{"a@[127.0.0.1]": true}

// TestAsPHP: where there is no more than tags, they are taken away as PHP does,
// and e-mails are told from other texts as PHP does.
func TestAsPHP(t *testing.T) {
	t.Parallel()
	php := fixtures.RequireTool(t, "php")
	texts := []string{
		"plain", "  Ríta <b>x</b>", "a < b", "a<b", "a <b", "1 < 2 > 1", "a<b and c>d", "<!-- c --> x", "<!-- open", "<?php x ?>y",
		"<!doctype html>x", "Ann <ann@example.com>", "x</b", "&lt;b&gt;", "50% off", "a%41b", "tab\there", "nl\nhere", "<\nscript>x", "<br/>x", "x<br>y", "hi <script>all",
	}
	emails := []string{
		"a@example.com", "a.b+c@example.co.uk", "A@B.COM", "a'b@c.com", "a/b@c.com", "a!#$%&'*+-/=?^_`{|}~@c.com", "a@xn--bcher-kva.example",
		"a@1b.com", "a@b.c1", "a@b.123a", "a@b.c-m", "a@b.c", "a@" + strings.Repeat("b", 63) + ".com", strings.Repeat("a", 64) + "@b.com",
		"", "a", "@b.com", "a@", "a@localhost", "a@b.1", "a@1.2", "a@-b.com", "a@b-.com", "a@b..com", "a@b.com.", ".a@b.com", "a.@b.com", "a..b@b.com",
		"a b@b.com", `"a b"@b.com`, "a@b.com ", "a@b.com\n", "<a@b.com>", "Ann <a@b.com>", "a@b@c.com", "a(c)@b.com", "a,b@c.com", `a\b@c.com`, "ä@b.com", "a@ä.com",
		"a@b_c.com", "a@" + strings.Repeat("b", 64) + ".com", strings.Repeat("a", 65) + "@b.com", "a@[127.0.0.1]",
		"a@" + strings.Repeat(strings.Repeat("b", 61)+".", 4) + "com",
	}
	const script = `$in = json_decode(stream_get_contents(STDIN));
		echo json_encode([
			array_map(fn($text) => trim(preg_replace('/\s+/', ' ', strip_tags($text))), $in[0]),
			array_map(fn($text) => filter_var($text, FILTER_VALIDATE_EMAIL) !== false, $in[1]),
		]);`
	input, err := json.Marshal([][]string{texts, emails})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), php, "-r", script)
	command.Stdin = strings.NewReader(string(input))
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var cleaned []string
	var valid []bool
	if err := json.Unmarshal(output, &[]any{&cleaned, &valid}); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if got := cleanLine(text); got != cleaned[i] {
			t.Errorf("%q becomes %q, and %q in PHP", text, got, cleaned[i])
		}
	}
	for i, email := range emails {
		if got := validEmail(email); got != (valid[i] && !onlyPHPs[email]) {
			t.Errorf("%q is valid: %t, and %t in PHP", email, got, valid[i])
		}
	}
}

// startsTag is what a browser takes for the beginning of a tag.
var startsTag = regexp.MustCompile(`<[a-zA-Z/!?]`)

// FuzzClean: no text becomes a tag, whatever is taken from it.
func FuzzClean(f *testing.F) {
	for _, text := range []string{"<<b>script>", "<scr<!---->ipt>", "<\x00b>", "a\r\n<b", "<script>x</script>", "\xff<"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, clean := range map[string]func(string) string{"line": cleanLine, "text": cleanText} {
			got := clean(text)
			if startsTag.MatchString(got) || !utf8.ValidString(got) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if again := clean(got); again != got {
				t.Errorf("%s: %q became %q, and then %q", name, text, got, again)
			}
			if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && (name == "line" || r != '\n' && r != '\t') }) {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
		if phone := cleanPhone(text); strings.Trim(strings.TrimPrefix(phone, "+"), "0123456789") != "" {
			t.Errorf("phone %q became %q", text, phone)
		}
		_ = validEmail(text)
	})
}
