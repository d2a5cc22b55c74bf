package domain

import "time"

// Clock returns the present instant. Programs pass time.Now, tests a fixed one.
type Clock func() time.Time

// Timestamp is a stored instant, YYYY-MM-DD HH:MM:SS in UTC; "" where the
// column is NULL.
type Timestamp string

// Time returns the instant; ok is false for NULL and zero dates.
func (t Timestamp) Time() (instant time.Time, ok bool) {
	instant, err := time.Parse(stampLayout, string(t))
	return instant, err == nil
}
