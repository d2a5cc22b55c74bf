package records

import "github.com/shopspring/decimal"

// BookingExtra is an extra of a booking.
type BookingExtra struct {
	ID              int64
	Name            string // "" if the extra was deleted
	Quantity        int64
	Duration        int64           // of a single one when it was booked, in minutes
	Price           decimal.Decimal // of a single one when it was booked
	PresentDuration int64           // of a single one now, in minutes; 0 if the extra was deleted
}

// ExtraMinutes returns how many minutes the booking's extras add to it, by their present durations
// (OsFeatureServiceExtrasHelper::calculated_total_duration, Pro Features 1.6).
func (b Booking) ExtraMinutes() (minutes int64) {
	for _, e := range b.Extras {
		minutes += e.PresentDuration * e.Quantity
	}
	return minutes
}
