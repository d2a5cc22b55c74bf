package notify

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// condition compares an attribute of an object.
type condition struct {
	object, attribute string
	operator, value   string
}

// orderItemCounts is the attribute of bookings and orders that is not one of their columns: the number of
// items in the order. The plugin counts them for the present record only, so for an old one it is NULL, and
// it never counts as changed.
const orderItemCounts = "order_item_counts"

// conditionOn parses a property such as booking__status.
func conditionOn(property, operator, value string) condition {
	parts := strings.SplitN(property, "__", 3)
	return condition{object: parts[0], attribute: append(parts, "")[1], operator: operator, value: value}
}

// satisfies reports whether all conditions hold
// (OsProcessModel::check_if_objects_satisfy_trigger_conditions). Conditions on objects that are not part of
// the event always hold.
func (s Subject) satisfies(conditions []condition) bool {
	return !slices.ContainsFunc(conditions, func(c condition) bool {
		attributes, known := s.Objects[c.object]
		return known && !s.holds(c, attributes[c.attribute])
	})
}

func (s Subject) holds(c condition, have string) bool {
	switch c.operator {
	case "equal":
		return inList(have, c.value)
	case "not_equal":
		return !inList(have, c.value)
	case "greater_than":
		return toFloat(have) > toFloat(c.value)
	case "less_than":
		return toFloat(have) < toFloat(c.value)
	case "greater_or_equal":
		return toFloat(have) >= toFloat(c.value)
	case "less_or_equal":
		return toFloat(have) <= toFloat(c.value)
	case "changed":
		now, known := s.Objects[strings.TrimPrefix(c.object, "old_")]
		return !known || c.attribute != orderItemCounts && !looselyEqual(have, now[c.attribute])
	case "not_changed":
		return false // the plugin also requires a change
	default:
		return true
	}
}

// inList reports whether a comma-separated list contains a value. Blanks are significant.
func inList(have, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(value string) bool { return looselyEqual(have, value) })
}

// Texts that PHP converts to numbers: the whole text, or its beginning.
var (
	numeric      = regexp.MustCompile(`^[ \t\n\r\v\f]*([+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]+)?)[ \t\n\r\v\f]*$`)
	leadingFloat = regexp.MustCompile(`^[ \t\n\r\v\f]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`)
)

// looselyEqual mirrors PHP's == for two texts, which compares them as numbers if both are numeric. Numbers
// that PHP cannot represent exactly compare as texts.
func looselyEqual(a, b string) bool {
	x, y := numeric.FindStringSubmatch(a), numeric.FindStringSubmatch(b)
	if x == nil || y == nil {
		return a == b
	}
	if isInteger(x) && isInteger(y) {
		i, errI := strconv.ParseInt(x[1], 10, 64)
		j, errJ := strconv.ParseInt(y[1], 10, 64)
		if errI != nil || errJ != nil {
			return a == b
		}
		return i == j
	}
	f, g := parseFloat(x[1]), parseFloat(y[1])
	if f == g && math.IsInf(f, 0) {
		return a == b
	}
	return f == g
}

// isInteger reports whether a match of numeric is an integer.
func isInteger(match []string) bool { return match[2] == "" && match[3] == "" && match[4] == "" }

// toFloat returns PHP's cast of a text to a float: the number at its beginning, or 0.
func toFloat(value string) float64 {
	if match := leadingFloat.FindStringSubmatch(value); match != nil {
		return parseFloat(match[1])
	}
	return 0
}

// parseFloat parses a number. A number out of range is infinite.
func parseFloat(digits string) float64 {
	value, _ := strconv.ParseFloat(digits, 64)
	return value
}
