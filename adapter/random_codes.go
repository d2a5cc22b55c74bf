package adapter

import (
	"fmt"

	"github.com/google/uuid"

	"bookside/adapter/domain"
)

// codeLetters are the letters of codes that people read out
// (OsUtilHelper::random_text, type distinct, LatePoint 5.6.5).
const codeLetters = "2345679ACDEFHJKLMNPRSTUVWXYZ"

// Lengths of codes.
const (
	bookingCodeLength      = 7
	confirmationCodeLength = 7
)

// code returns a random code. Like the plugin, it does not check whether the code exists:
// the columns have no index, and 28^7 is far more than any table has rows.
func (s *Site) code(length int) (string, error) {
	// The largest multiple of the alphabet's size: bytes beyond it would favour
	// its first letters.
	const fair = 256 - 256%len(codeLetters)
	code := make([]byte, 0, length)
	for len(code) < length {
		random, err := domain.RandomBytes(s.random, length)
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

// uuid returns a random UUID, version 4.
func (s *Site) uuid() (string, error) {
	id, err := uuid.NewRandomFromReader(s.random)
	if err != nil {
		return "", fmt.Errorf("make a UUID: %w", err)
	}
	return id.String(), nil
}
