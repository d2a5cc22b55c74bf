// Package upkeep does the work that no request waits for: it deletes expired rows, checks that tables can be read, and
// cleans up after a restored backup.
//
// It may import slots and what slots may import.
package upkeep
