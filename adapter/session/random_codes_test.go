package session

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestCodeIsFair: over all bytes, every letter occurs equally often.
func TestCodeIsFair(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	site := &Session{Platform: &Platform{Random: bytes.NewReader(bytes.Repeat(all, 2))}}
	code, err := NewCode(site, 252)
	expect.NoError(t, err)
	for _, letter := range codeLetters {
		expect.Equal(t, 9, strings.Count(code, string(letter)), letter)
	}
}

func TestManageKeysAndUUIDsComeFromRandom(t *testing.T) {
	t.Parallel()
	for _, random := range [][]byte{bytes.Repeat([]byte{0}, 18), bytes.Repeat([]byte{0xff}, 18)} {
		site := &Session{Platform: &Platform{Random: bytes.NewReader(random)}}
		key, err := NewManageKey(site)
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{36}$`).MatchString(key) {
			t.Errorf("key %q, %v", key, err)
		}
		site.Platform.Random = bytes.NewReader(random)
		uuid, err := NewUUID(site)
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(uuid) {
			t.Errorf("UUID %q, %v", uuid, err)
		}
	}
}

// TestNoCodesWithoutRandomness: without randomness there are no codes, because they could be guessed.
func TestNoCodesWithoutRandomness(t *testing.T) {
	t.Parallel()
	failure := errors.New("no entropy")
	for _, source := range []io.Reader{iotest.ErrReader(failure), io.MultiReader(bytes.NewReader(make([]byte, 6)), iotest.ErrReader(failure))} {
		site := &Session{Platform: &Platform{Random: source}}
		for name, make := range map[string]func() (string, error){
			"code": func() (string, error) { return NewCode(site, BookingCodeLength) },
			"key":  func() (string, error) { return NewManageKey(site) },
			"UUID": func() (string, error) { return NewUUID(site) },
		} {
			if got, err := make(); !errors.Is(err, failure) || got != "" {
				t.Errorf("%s %q, %v", name, got, err)
			}
		}
	}
}
