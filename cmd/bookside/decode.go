package main

import (
	"strconv"
	"strings"
	"time"
)

// decodeValue converts a value to the type of example. A value of any type may
// be written as text, because the environment and flags contain nothing else. If
// the value is invalid, expected describes what to write.
func decodeValue(value, example any) (decoded any, expected string) {
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch example.(type) {
	case int:
		if _, ok := value.(int); ok {
			return value, ""
		}
		n, err := strconv.Atoi(text)
		return n, unless(err == nil, "a whole number such as 10")
	case bool:
		if _, ok := value.(bool); ok {
			return value, ""
		}
		b, err := strconv.ParseBool(text)
		return b, unless(err == nil, "true or false")
	case time.Duration:
		d, err := time.ParseDuration(text)
		return d, unless(err == nil, "a duration with its unit, such as 15s or 2m")
	case []string:
		if isText {
			return splitList(text), ""
		}
		list, ok := textList(value)
		return list, unless(ok, "a list of texts")
	default:
		return value, unless(isText, "a text, in quotes")
	}
}

func unless(ok bool, expected string) string {
	if ok {
		return ""
	}
	return expected
}

func splitList(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func textList(value any) ([]string, bool) {
	elements, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, len(elements))
	for i, element := range elements {
		if list[i], ok = element.(string); !ok {
			return nil, false
		}
	}
	return list, true
}
