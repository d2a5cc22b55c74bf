package domain

import (
	"encoding/hex"
	"fmt"
	"io"
)

// RandomBytes reads n bytes from a source of random bytes.
func RandomBytes(random io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	return b, nil
}

// RandomHex returns n random bytes as hexadecimal digits.
func RandomHex(random io.Reader, n int) (string, error) {
	b, err := RandomBytes(random, n)
	return hex.EncodeToString(b), err
}
