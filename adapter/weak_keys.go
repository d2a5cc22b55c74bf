package adapter

// safeSecret is how many characters a secret needs, so that nobody guesses it.
const safeSecret = 16

// WeakSecret tells whether a secret is so short that it can be guessed.
func WeakSecret(secret string) bool { return len(secret) < safeSecret }

// Weakness says whether a stored key is so short that it can be guessed.
type Weakness int

// What a key's weakness can be.
const (
	Strong Weakness = iota
	MaybeWeak
	Weak
)

// Weakness is derived from what is shown of the key, because its length is not
// stored. Earlier versions showed 3 + 1 characters of keys with 12 to 14, and
// 4 + 1 of those with 15 to 17; today nobody gets either.
func (k Key) Weakness() Weakness {
	switch start, end := len(k.Start), len(k.LastFour); {
	case start+end < 5:
		return Weak
	case start == 4 && end == 1:
		return MaybeWeak
	default:
		return Strong
	}
}
