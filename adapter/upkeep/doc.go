// Package upkeep does and reports the work that no request waits for: it deletes expired rows, finds work
// that has waited too long, and cleans up after a restored backup.
//
// It may import slots and what slots may import.
package upkeep
