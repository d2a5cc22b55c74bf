// Package slots reads what the availability of agents is computed of, offers times, and assigns a time to a
// booking within its transaction.
//
// It may import queue, records and what records may import.
package slots
