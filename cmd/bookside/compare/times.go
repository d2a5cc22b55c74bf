package compare

import "time"

// clockTolerance is how far apart two clocks may be that are read one after the other.
const clockTolerance = 10 * time.Second

// timeForms are those in which the API writes a moment.
var timeForms = []string{time.RFC3339, time.DateTime}

// closeTimes reports whether two texts are moments of one form, no further apart than this.
func closeTimes(a, b string, tolerance time.Duration) bool {
	for _, form := range timeForms {
		first, errFirst := time.Parse(form, a)
		second, errSecond := time.Parse(form, b)
		if errFirst == nil && errSecond == nil {
			return first.Sub(second).Abs() <= tolerance
		}
	}
	return false
}
