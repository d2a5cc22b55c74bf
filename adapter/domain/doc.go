// Package domain has what all parts of the booking domain share: the clock, stored timestamps, the text
// forms of ids and amounts, errors with their codes ([Error]), the validation of fields ([Validation]), and how work in the background repeats and outlives its cause.
//
// It imports no other package of Bookside, so that all others may import it, and decides nothing about
// bookings.
package domain
