package process

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// looseText is a text that may also stand as a number or boolean in JSON.
type looseText string

// UnmarshalJSON reads any scalar as PHP would write it as a text.
func (t *looseText) UnmarshalJSON(raw []byte) error {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	switch v := value.(type) {
	case string:
		*t = looseText(v)
	case json.Number:
		*t = looseText(v.String())
	case bool:
		if v {
			*t = "1"
		}
	}
	return err
}

func (t looseText) integer() (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(string(t)))
	return n, err == nil && n > -1_000_000 && n < 1_000_000
}

// satisfies tells whether a branch's condition holds. One on an object that the
// event is not about holds always.
func (s Subject) satisfies(property string, settings json.RawMessage) bool {
	var branch struct {
		Operator string    `json:"operator"`
		Value    looseText `json:"value"`
	}
	object, attribute, ok := strings.Cut(property, "__")
	if !ok || !readable(settings, &branch) {
		return true
	}
	values, known := s.Objects[object]
	if !known {
		return true
	}
	return s.compare(branch.Operator, object, attribute, values[attribute], string(branch.Value))
}

func (s Subject) compare(operator, object, attribute, have, want string) bool {
	switch operator {
	case "equal":
		return slices.ContainsFunc(strings.Split(want, ","), func(w string) bool { return loosely(have, w) })
	case "not_equal":
		return !slices.ContainsFunc(strings.Split(want, ","), func(w string) bool { return loosely(have, w) })
	case "greater_than":
		return number(have) > number(want)
	case "less_than":
		return number(have) < number(want)
	case "greater_or_equal":
		return number(have) >= number(want)
	case "less_or_equal":
		return number(have) <= number(want)
	case "changed":
		return s.changed(object, attribute, have)
	case "not_changed":
		return false // the plugin asks for both at once
	default:
		return true
	}
}

// changed compares an attribute of old_booking and its like with that of the
// object as it is now.
func (s Subject) changed(object, attribute, old string) bool {
	now, ok := s.Objects[strings.TrimPrefix(object, "old_")]
	return ok && !loosely(now[attribute], old)
}

// loosely is PHP's == of two texts: as numbers where both are.
func loosely(a, b string) bool {
	x, errX := strconv.ParseFloat(strings.TrimSpace(a), 64)
	y, errY := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if errX == nil && errY == nil {
		return x == y
	}
	return a == b
}

// number is PHP's cast of a text to a float: what it begins with, or 0.
func number(text string) float64 {
	text = strings.TrimSpace(text)
	for end := len(text); end > 0; end-- {
		if n, err := strconv.ParseFloat(text[:end], 64); err == nil {
			return n
		}
	}
	return 0
}
