// Package domain holds what every part of the booking domain shares: the clock,
// stored timestamps, errors with their codes, and the validation of fields.
//
// It imports nothing of Bookside but adapter/availability, so that every other
// package may import it.
package domain
