// Package lists finds one page of a list, counts it, and looks ahead for exports. A list is a filter, an
// order and what reads its records; it costs the same number of statements however long it is.
//
// It may import session and what session may import.
package lists
