package domain

import (
	"unicode"
	"unicode/utf8"
)

// Capitalize returns text with its first letter in upper case.
func Capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
