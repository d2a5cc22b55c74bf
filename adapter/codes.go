package adapter

import (
	"encoding/hex"
	"fmt"
	"io"
)

// codeLetters are the letters of codes that people read out
// (OsUtilHelper::random_text, type distinct, LatePoint 5.6.5).
const codeLetters = "2345679ACDEFHJKLMNPRSTUVWXYZ"

// Lengths of codes.
const (
	bookingCodeLength      = 7
	confirmationCodeLength = 7
)

// code is a random code. The plugin does not look whether one is taken either:
// the columns have no index, and 28^7 is far beyond any table.
func (s *Site) code(length int) (string, error) {
	// The largest multiple of the alphabet's size: bytes beyond it would favour
	// its first letters.
	const fair = 256 - 256%len(codeLetters)
	code := make([]byte, 0, length)
	for len(code) < length {
		random, err := s.randomBytes(length)
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

// manageKey is a key with which a booking or order can be managed without
// logging in: 36 hexadecimal digits.
func (s *Site) manageKey() (string, error) { return s.hexDigits(18) }

func (s *Site) hexDigits(bytes int) (string, error) {
	random, err := s.randomBytes(bytes)
	return hex.EncodeToString(random), err
}

// uuid is a random UUID, version 4.
func (s *Site) uuid() (string, error) {
	b, err := s.randomBytes(16)
	if err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

func (s *Site) randomBytes(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.random, b); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	return b, nil
}
