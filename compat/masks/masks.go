// Package masks is what keys that mask personal data see of it. It imports nothing of the project; which fields are personal
// is said by the tags of records.
package masks

import (
	"strings"
	"unicode"
)

// Email keeps the first character and the end of the domain: a***@***.com.
func Email(address string) string {
	name, domain, ok := strings.Cut(address, "@")
	if !ok || name == "" {
		return Text(address)
	}
	first, end := []rune(name)[0], ""
	if dot := strings.LastIndexByte(domain, '.'); dot >= 0 {
		end = domain[dot:]
	}
	return string(first) + "***@***" + end
}

// Phone keeps the last two digits and everything that is not a digit.
func Phone(number string) string {
	runes := []rune(number)
	kept := 0
	for i := len(runes) - 1; i >= 0; i-- {
		if !unicode.IsDigit(runes[i]) {
			if unicode.IsLetter(runes[i]) {
				runes[i] = '*'
			}
			continue
		}
		if kept++; kept > 2 {
			runes[i] = '*'
		}
	}
	if kept <= 4 {
		return Text(number) // the rest would reveal too much
	}
	return string(runes)
}

// URL keeps everything before query and fragment.
func URL(address string) string {
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		return address[:end+1] + Text(address[end+1:])
	}
	return address
}

// Date keeps nothing, because clients parse whatever is there as a date.
func Date(string) string { return "" }

// Text reveals only whether there is a text.
func Text(text string) string {
	if text == "" {
		return ""
	}
	return "***"
}
