package session

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/bookside/bookside/adapter/domain"
)

// codeLetters are the letters of codes that people read out
// (OsUtilHelper::random_text, type distinct, LatePoint 5.6.5).
const codeLetters = "2345679ACDEFHJKLMNPRSTUVWXYZ"

// Lengths of codes.
const (
	BookingCodeLength      = 7
	ConfirmationCodeLength = 7
)

// NewCode returns a random code. Like the plugin, it does not check whether the code exists:
// the columns have no index, and 28^7 is far more than any table has rows.
func NewCode(s *Session, length int) (string, error) {
	// The largest multiple of the alphabet's size: bytes beyond it would favour
	// its first letters.
	const fair = 256 - 256%len(codeLetters)
	code := make([]byte, 0, length)
	for len(code) < length {
		random, err := domain.RandomBytes(s.Platform.Random, length)
		if err != nil {
			return "", err
		}
		for _, b := range random {
			if int(b) < fair && len(code) < length {
				code = append(code, codeLetters[int(b)%len(codeLetters)])
			}
		}
	}
	return string(code), nil
}

// NewUUID returns a random UUID, version 4.
func NewUUID(s *Session) (string, error) {
	id, err := uuid.NewRandomFromReader(s.Platform.Random)
	if err != nil {
		return "", fmt.Errorf("make a UUID: %w", err)
	}
	return id.String(), nil
}

// NewManageKey returns a key with which a booking or order can be managed without logging
// in: 36 hexadecimal digits.
func NewManageKey(s *Session) (string, error) { return domain.RandomHex(s.Platform.Random, 18) }
