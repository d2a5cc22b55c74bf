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
)

// weakness returns why a secret can be guessed, in words that follow "it", or "".
func weakness(secret string) string {
	switch {
	case len(secret) < safeLength:
		return fmt.Sprintf("has fewer than %d characters", safeLength)
	case variety(secret) < safeVariety:
		return fmt.Sprintf("has fewer than %d different characters", safeVariety)
	case repeats(secret):
		return fmt.Sprintf("repeats a text of fewer than %d characters", safeLength)
	default:
		return ""
	}
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
