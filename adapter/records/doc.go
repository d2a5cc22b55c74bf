// Package records has bookings, orders, customers and payments as the plugin stores them: it reads them by
// their ids, computes what is stored nowhere, such as what was paid, and locks them for a write.
//
// It may import lists and what lists may import.
package records
