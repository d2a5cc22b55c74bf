// Package domain has what all parts of the booking domain share: the clock, stored
// timestamps, the text forms of ids and amounts, errors with their codes, and the
// validation of fields.
//
// It imports no package of Bookside but adapter/availability, so that all others may
// import it.
package domain
