package main

import (
	"strconv"
	"strings"
	"time"
)

// convert makes a value the type of example. Text stands for every type,
// because the environment and flags have nothing else. Where it cannot be
// done, wanted says what to write.
func convert(value, example any) (converted any, wanted string) {
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
		return d, unless(err == nil, "a time with its unit, such as 15s or 2m")
	case []string:
		if isText {
			return splitList(text), ""
		}
		list, ok := textList(value)
		return list, unless(ok, "a list of texts")
	default:
		return value, unless(isText, "a text; put it between quotes")
	}
}

func unless(ok bool, wanted string) string {
	if ok {
		return ""
	}
	return wanted
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
