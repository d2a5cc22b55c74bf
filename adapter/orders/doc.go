// Package orders lists, creates and changes orders.
//
// It imports payments, notify and what those import. It makes no bookings.
package orders
