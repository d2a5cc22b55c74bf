// Package upkeep does and reports what no request waits for: it deletes what is over, finds what waits for
// too long, and cleans up after a restored backup.
//
// It may import slots and what slots may import.
package upkeep
