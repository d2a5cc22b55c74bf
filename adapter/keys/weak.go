package keys

import (
	"fmt"
	"strings"
)

// The requirements of a secret that cannot be guessed. Fewer than one in a hundred random keys of 16
// decimal digits have too little variety, and practically none in other alphabets.
const (
	safeLength  = 16
	safeVariety = 6 // different characters
	safeTail    = 4 // characters that do not repeat the beginning by accident
	safeRun     = 5 // characters in a row, such as 12345, which random keys hardly ever have
)

// weakness returns why a secret can be guessed, in words that follow "it", or "".
func weakness(secret string) string {
	switch {
	case len(secret) < safeLength:
		return fmt.Sprintf("has fewer than %d characters", safeLength)
	case len(secret)-predictable(secret) < safeLength:
		return fmt.Sprintf("has fewer than %d characters if a row such as 12345 counts as one", safeLength)
	case variety(secret) < safeVariety:
		return fmt.Sprintf("has fewer than %d different characters", safeVariety)
	case repeats(secret):
		return fmt.Sprintf("repeats a text of fewer than %d characters", safeLength)
	default:
		return ""
	}
}

// predictable returns how many bytes follow from those before, because each is the next, the previous or the same as the one
// before.
func predictable(text string) (count int) {
	run, step := 1, 0
	for i := 1; i <= len(text); i++ {
		next := 2 // no step of a row
		if i < len(text) {
			next = int(text[i]) - int(text[i-1])
		}
		if next >= -1 && next <= 1 && (run == 1 || next == step) {
			run, step = run+1, next
			continue
		}
		if run >= safeRun {
			count += run - 1
		}
		run, step = 1, 0
	}
	return count
}

// variety returns how many different bytes a text has.
func variety(text string) (different int) {
	var seen [256]bool // a map would cost every request microseconds
	for _, c := range []byte(text) {
		if !seen[c] {
			seen[c] = true
			different++
		}
	}
	return different
}

// repeats reports whether a text is a shorter one repeated: the end of passwordpassword is its own
// beginning.
func repeats(text string) bool {
	for period := 1; period < safeLength && len(text)-period >= safeTail; period++ {
		if strings.HasPrefix(text, text[period:]) {
			return true
		}
	}
	return false
}

// WeakSecret reports whether a secret is so short or so simple that it can be
// guessed.
func WeakSecret(secret string) bool { return weakness(secret) != "" }

// Weak derives from the shown parts of its secret, which is not stored, whether the key can be guessed: weak
// secrets show nothing.
func (k Key) Weak() bool { return k.Start+k.LastFour == "" }
