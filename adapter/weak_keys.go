package adapter

// safeSecret is how many characters a secret needs, so that nobody guesses it.
const safeSecret = 16

// WeakSecret tells whether a secret is so short that it can be guessed.
func WeakSecret(secret string) bool { return len(secret) < safeSecret }
