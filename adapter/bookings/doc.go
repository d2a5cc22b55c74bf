// Package bookings lists, creates, changes and deletes bookings, with the rows of orders, items, invoices
// and metadata that the plugin writes with them. It plans a write before taking its locks, so that a
// client's mistake takes none.
//
// It imports every other resource, slots and notify. Nothing of adapter imports it.
package bookings
