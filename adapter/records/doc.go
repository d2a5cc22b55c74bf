// Package records holds bookings, orders, customers and payments as the plugin stores them. It reads them
// by id, computes what is not stored, such as prices and what was paid, and locks them for a write. A list
// is a filter, a sort order and a function that reads its records ([List]); it takes the same number of
// statements however long it is.
//
// It imports session and what session imports. It writes nothing but prices and data of order items.
package records
