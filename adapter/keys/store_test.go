package keys

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestKeyHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		granted, required string
		want              bool
	}{
		{"read", "read_bookings", true},
		{"read_bookings", "read_bookings", true},
		{"read_bookings", "read_customers", false},
		{"read", "write_bookings", false},
		{"write", "read_bookings", false},
		{"read_bookings", "", true},
		{"", "", true},
		{"", "read_bookings", false},
		{"write", "write_users", false},
	} {
		expect.Equal(t, c.want, (Key{Permissions: []string{c.granted}}).Holds(c.required), c.granted, " holds ", c.required)
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^lp_(live|test|calendar)_[0-9A-Za-z]{38}$`)
	seen := map[string]bool{}
	for range 200 {
		for _, kind := range []Kind{Live, Test, Calendar} {
			secret, err := newSecret(rand.Reader, kind)
			expect.NoError(t, err)
			if !form.MatchString(secret) || !strings.HasPrefix(secret, "lp_"+string(kind)+"_") || failsChecksum(secret) || seen[secret] {
				t.Fatalf("secret %q", secret)
			}
			seen[secret] = true
			wrong := []byte(secret)
			wrong[20] = base62[(strings.IndexByte(base62, wrong[20])+1)%62]
			if !failsChecksum(string(wrong)) {
				t.Errorf("%q passes the checksum", wrong)
			}
		}
	}
	// Bytes from 248 on are skipped; otherwise the first characters would be more
	// frequent than the others.
	fixed := bytes.NewReader(append(bytes.Repeat([]byte{255, 248, 61}, 64), make([]byte, 64)...))
	secret, err := newSecret(fixed, Live)
	if err != nil || !strings.HasPrefix(secret, "lp_live_"+strings.Repeat("z", 32)) {
		t.Errorf("%q, %v", secret, err)
	}
	if _, err := newSecret(io.LimitReader(rand.Reader, 10), Live); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without randomness: %v", err)
	}
}

// TestShownPartsOfSecrets: at most a third of a secret is shown, and nothing of a weak one.
func TestShownPartsOfSecrets(t *testing.T) {
	t.Parallel()
	const long = "lp_live_qhbvgncmoxkzdtfyrlwspjaeiu7203918465"
	for _, c := range []struct {
		secret     string
		start, end string
	}{
		{"x", "", ""},
		{"secret", "", ""},
		{long[:15], "", ""},
		{long[:16], "lp_", "cm"},
		{long[:18], "lp_l", "ox"},
		{long[:24], "lp_li", "tfy"},
		{long[:35], "lp_live", "eiu7"},
		{long[:36], "lp_live_", "iu72"},
		{long, "lp_live_", "8465"},
		{mixedText(255), "!Fk2W|Ch", "l3X}"},
		{strings.Repeat("x", 255), "", ""},
	} {
		t.Run(fmt.Sprintf("%d characters", len(c.secret)), func(t *testing.T) {
			if start, end := visibleParts(c.secret); start != c.start || end != c.end {
				t.Errorf("%q is shown as %q…%q, want %q…%q", c.secret, start, end, c.start, c.end)
			}
		})
	}
	for length := 1; length <= maxSecret; length++ {
		if start, end := visibleParts(mixedText(length)); 3*len(start+end) > length {
			t.Errorf("%d of %d characters are shown", len(start+end), length)
		}
	}
}

// mixedText returns a text of the given length without short repetitions and rows.
func mixedText(length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = '!' + byte(37*i%('~'-'!'+1))
	}
	return string(text)
}

// TestWeakSecret: texts that are short, have few different characters or repeat
// themselves can be guessed; random keys cannot.
func TestWeakSecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret string
		want   string // part of the reason; "" for a strong secret
	}{
		"nothing":                       {"", "16 characters"},
		"15 characters":                 {"mR8xQz31LkPw0aB", "16 characters"},
		"16 characters":                 {"mR8xQz31LkPw0aBc", ""},
		"one character":                 {strings.Repeat("a", 16), "a row such as 12345"},
		"one character, 255 times":      {strings.Repeat("a", 255), "a row such as 12345"},
		"digits in a row":               {"bench-key-0123456789", "12345"},
		"letters in a row":              {"abcdefghijklmnop", "12345"},
		"down and up":                   {"till-9876543210123456", "12345"},
		"a row of 5":                    {"mR8xQz31LkPw12345Bc", "12345"},
		"a row of 5 beside enough":      {"mR8xQz31LkPw0a12345Bc", ""},
		"rows of 4":                     {"1234mR8x4321LkPwaaaa", ""},
		"5 different":                   {"1112223334445555123", "different"},
		"6 different":                   {"1122334455663165", ""},
		"a word twice":                  {"passwordpassword", "repeats"},
		"a word, and its beginning":     {"135792468x135792468", "repeats"},
		"12 characters, and 4 of them":  {"mR8xQz31LkPwmR8x", "repeats"},
		"13 characters, and 3 of them":  {"mR8xQz31LkPwkmR8", ""},
		"15 characters, many times":     {strings.Repeat("mR8xQz31LkPw0aB", 17), "repeats"},
		"16 characters, twice":          {strings.Repeat("mR8xQz31LkPw0aBc", 2), ""},
		"a word twice, and another end": {"passwordpassword!", ""},
		"hexadecimal":                   {"5f4dcc3b5aa765d6", ""},
		"UUID":                          {"0f8fad5b-d9cb-469f-a165-70867728950e", ""},
		"digits":                        {"8305719264417093", ""},
	} {
		got := weakness(c.secret)
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q: %q, want %q", name, c.secret, got, c.want)
		}
		expect.Equal(t, c.want != "", WeakSecret(c.secret), name, ": WeakSecret(", c.secret, ") is")
	}
	for range 1000 {
		secret, err := newSecret(rand.Reader, Live)
		if err != nil || weakness(secret) != "" {
			t.Fatalf("%q %s, %v", secret, weakness(secret), err)
		}
	}
}

func TestMisspeltKnowsOnlyOurForm(t *testing.T) {
	t.Parallel()
	for _, foreign := range []string{"", "lp_", "lp_live_", "lp_live_short", "lp_" + strings.Repeat("a", 40), "lp_live_" + strings.Repeat("a", 39), strings.Repeat("x", 46)} {
		if failsChecksum(foreign) {
			t.Errorf("%q is mistaken for a misspelt key of ours", foreign)
		}
	}
}

// TestWeakKeys: the stored parts of a key's secret reveal whether the secret is short.
func TestWeakKeys(t *testing.T) {
	t.Parallel()
	for length := 1; length <= 255; length++ {
		start, end := visibleParts(mixedText(length))
		expect.Equal(t, length < 16, (Key{Start: start, LastFour: end}).Weak(), length, " characters")
		if n := len(start) + len(end); n > length/3 {
			t.Errorf("%d of %d characters are shown", n, length)
		}
	}
}
