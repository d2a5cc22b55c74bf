// Package bookings lists, creates, changes and deletes bookings, with the rows of orders, items, invoices and
// metadata that the plugin writes with them. It plans a write before it takes its locks, so that a
// mistake of the client costs none.
//
// It may import every package of adapter but upkeep.
package bookings
