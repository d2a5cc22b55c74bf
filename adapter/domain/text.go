package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Capitalize returns text with its first letter in upper case.
func Capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Cut shortens a text to a number of characters.
func Cut(text string, length int) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	return string(runes[:min(len(runes), length)])
}
