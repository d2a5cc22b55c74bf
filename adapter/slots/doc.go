// Package slots reads the data that availability is computed from, offers times, and assigns a slot to a
// booking within its transaction.
//
// It may import queue, records and what records may import.
package slots
