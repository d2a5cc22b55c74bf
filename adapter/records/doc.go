// Package records holds bookings, orders, customers and payments as the plugin stores them. It reads them
// by id, computes what is not stored, such as what was paid, and locks them for a write.
//
// It may import lists and what lists may import.
package records
